"""Slices that got worse between two versions: max-T over which way texts moved."""

import numpy as np
import pytest

from tiltmeter.operators.classifiers.errors.slices.group_flips import flipped_units
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig
from tiltmeter.operators.classifiers.errors.slices.versions import leading_changes, worse_p
from tiltmeter.operators.statistics.units import each, units_of

CONFIG = SliceConfig(min_size=50, num_permutations=499)
TEXTS = each(1500, "text")


def versions(seed, worse):
    """Two versions with a fifth of errors each; the later one errs more where the first feature is."""
    rng = np.random.default_rng(seed)
    members = rng.random((4, 1500)) < np.array([0.2, 0.5, 0.4, 0.6])[:, np.newaxis]
    before = rng.random(1500) < 0.2
    return members, before, rng.random(1500) < 0.2 + worse * members[0]


def p_values_of(members, before, after, units=TEXTS):
    predicates = [Predicate(f"f{number}", "present") for number in range(len(members))]
    slices, p_values = worse_p(members, predicates, before, after, units, CONFIG, seed=3)
    return dict(zip(slices, p_values.tolist(), strict=True))


def test_the_slice_that_got_worse_is_named():
    p_values = p_values_of(*versions(0, worse=0.3))
    assert p_values[(0,)] == 1 / 500
    assert min(p_values, key=lambda slice_: (p_values[slice_], len(slice_))) == (0,)


def test_versions_that_are_the_same_have_no_test():
    members, before, _ = versions(3, worse=0.0)
    assert np.isnan(list(p_values_of(members, before, before).values())).all()


def test_slices_that_say_the_same_lead_once():
    members, before, after = versions(4, worse=0.4)
    members = np.concatenate([members, members[:1] & (np.arange(1500) % 20 > 0)])
    predicates, units = [Predicate(f"f{number}", "present") for number in range(5)], TEXTS
    slices, p_values = worse_p(members, predicates, before, after, units, CONFIG, seed=3)
    first = leading_changes(members, slices, p_values, before, after, units, 0.05)
    assert (p_values <= 0.05).sum() > 3
    assert [slices[number] for number in first] in ([(0,)], [(4,)], [(4,), (0,)])
    assert leading_changes(members, slices, np.ones(len(slices)), before, after, units, 0.05) == []


@pytest.mark.parametrize("units", [TEXTS, units_of(np.arange(1500) // 30, "group")], ids=["texts", "groups"])
def test_one_slice_has_the_p_value_of_its_draws(units):
    members, before, after = versions(2, worse=0.02)
    [p_value] = p_values_of(members[:1], before, after, units).values()
    movers, change = units.part(before != after), (after.astype(int) - before)[before != after]
    sums = movers.sums(change * members[0, before != after])
    drawn = [np.where(flipped_units(movers.num, 3, draw), -1, 1) @ sums for draw in range(499)]
    assert p_value == (1 + sum(total >= sums.sum() for total in drawn)) / 500
    assert 0.05 < p_value < 0.95


def test_texts_of_a_group_that_move_together_are_one_witness():
    """Of 1,500 texts in 50 groups, all of three groups got worse: by texts beyond doubt, by groups not."""
    groups = units_of(np.arange(1500) // 30, "group")
    members, before, _ = versions(5, worse=0.0)
    after = before | (groups.codes < 3)
    assert min(p_values_of(members, before, after).values()) == 1 / 500
    by_group = p_values_of(members, before, after, groups)
    assert np.isnan(list(by_group.values())).all()  # three of eight groups that a test needs
