"""Slices that got worse between two versions: max-T over which way texts moved."""

import numpy as np
from scipy.stats import binomtest

from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig
from tiltmeter.operators.classifiers.errors.slices.versions import leading_changes, worse_p

CONFIG = SliceConfig(min_size=50, num_permutations=499)


def versions(seed, worse):
    """Two versions with a fifth of errors each; the later one errs more where the first feature is."""
    rng = np.random.default_rng(seed)
    members = rng.random((4, 1500)) < np.array([0.2, 0.5, 0.4, 0.6])[:, np.newaxis]
    before = rng.random(1500) < 0.2
    return members, before, rng.random(1500) < 0.2 + worse * members[0]


def p_values_of(members, before, after):
    predicates = [Predicate(f"f{number}", "present") for number in range(len(members))]
    slices, p_values = worse_p(members, predicates, before, after, CONFIG, seed=0)
    return dict(zip(slices, p_values.tolist(), strict=True))


def test_the_slice_that_got_worse_is_named():
    p_values = p_values_of(*versions(0, worse=0.3))
    assert p_values[(0,)] == 1 / 500
    assert p_values[(1,)] > 0.05 or p_values[(1,)] >= p_values[(0,)]
    assert min(p_values, key=lambda slice_: (p_values[slice_], len(slice_))) == (0,)


def test_nothing_got_worse_where_versions_err_alike():
    assert min(p_values_of(*versions(1, worse=0.0)).values()) > 0.05


def test_one_slice_has_the_p_value_of_mcnemar():
    members, before, after = versions(2, worse=0.02)
    p_values = p_values_of(members[:1], before, after)
    worse, better = ((members[0] & one & ~other).sum() for one, other in ((after, before), (before, after)))
    exact = binomtest(int(worse), int(worse + better), alternative="greater").pvalue
    assert abs(p_values[(0,)] - exact) < 3 * np.sqrt(exact * (1 - exact) / 499) + 1 / 500


def test_versions_that_are_the_same_have_no_test():
    members, before, _ = versions(3, worse=0.0)
    assert np.isnan(list(p_values_of(members, before, before).values())).all()


def test_slices_that_say_the_same_lead_once():
    members, before, after = versions(4, worse=0.4)
    members = np.concatenate([members, members[:1] & (np.arange(1500) % 20 > 0)])
    predicates = [Predicate(f"f{number}", "present") for number in range(5)]
    slices, p_values = worse_p(members, predicates, before, after, CONFIG, seed=0)
    first = leading_changes(members, slices, p_values, before, after, 0.05)
    assert (p_values <= 0.05).sum() > 3
    assert [slices[number] for number in first] in ([(0,)], [(4,)], [(4,), (0,)])
    assert leading_changes(members, slices, np.ones(len(slices)), before, after, 0.05) == []
