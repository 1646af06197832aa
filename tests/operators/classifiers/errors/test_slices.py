"""Slices: bits and draws by brute force, T by hand, max-T by its definition, planted slices by their names."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom

from tiltmeter.operators.classifiers.errors.slices import losses as losses_of
from tiltmeter.operators.classifiers.errors.slices import max_t
from tiltmeter.operators.classifiers.errors.slices.bits import common_counts, members_of, packed
from tiltmeter.operators.classifiers.errors.slices.columns import days_since, predicates_of_column
from tiltmeter.operators.classifiers.errors.slices.confirmation import change_of, confirmed_p, rates_of
from tiltmeter.operators.classifiers.errors.slices.conjunctions import conjunctions_of, folded
from tiltmeter.operators.classifiers.errors.slices.group_flips import flipped_units, group_scores
from tiltmeter.operators.classifiers.errors.slices.leading import leading_slices, shortened, standardised
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate, joined, predicates_of
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig, candidates_of, hits_of, leading, plain
from tiltmeter.operators.classifiers.errors.slices.versions import leading_changes, worse_p
from tiltmeter.operators.statistics.designs.one_sided import positive_p
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.text_intervals import between
from tiltmeter.operators.statistics.units import each, units_of

TEXTS = each(2000, "text")


def unpacked(bits, num_rows):
    octets = np.ascontiguousarray(bits).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=num_rows, bitorder="little").astype(bool)


def named(members):
    return [Predicate(f"f{number}", "present") for number in range(len(members))]


def bernoulli(rng, rows, shares):
    return rng.random((len(shares), rows)) < np.array(shares)[:, np.newaxis]


@settings(max_examples=50)
@given(st.integers(1, 700) | st.just(64 * 300 + 5), st.integers(0, 2**32))
def test_bits_count_what_sets_have_in_common(num_rows, seed):
    rng = np.random.default_rng(seed)
    members, others = bernoulli(rng, num_rows, [0.5, 0.3, 0.9]), bernoulli(rng, num_rows, [0.2, 0.7])
    conjunctions = np.array([[0, -1, -1], [0, 1, -1], [0, 1, 2]])
    counts = common_counts(packed(members), conjunctions, packed(others))
    for row, conjunction in enumerate(conjunctions):
        inside = members[conjunction[conjunction >= 0]].all(axis=0)
        assert counts[row].tolist() == [(inside & other).sum() for other in others]
        assert (unpacked(members_of(packed(members), conjunctions)[row], num_rows) == inside).all()


def test_every_subset_of_a_stratum_is_drawn_as_often():
    errors, strata = np.array([True, True, False, False, True, False]), np.array([0, 0, 0, 0, 1, 1])
    layout = max_t.layout_of(strata, errors)
    draws = [unpacked(max_t.drawn_errors(layout, 0, draw), 6) for draw in range(6000)]
    assert (draws[:9] != np.array([unpacked(max_t.drawn_errors(layout, 1, draw), 6) for draw in range(9)])).any()
    assert all(drawn[:4].sum() == 2 and drawn[4:].sum() == 1 for drawn in draws)
    counts = {pair: sum(drawn[list(pair)].all() for drawn in draws) for pair in combinations(range(4), 2)}
    assert all(binomtest(count, 6000, 1 / 6).pvalue > 1e-4 for count in counts.values()), counts
    assert binomtest(int(sum(drawn[4] for drawn in draws)), 6000, 0.5).pvalue > 1e-4


def test_t_has_the_mean_and_variance_of_hypergeometric_draws_and_a_predicted_class_has_none():
    strata = np.array([0] * 6 + [1] * 4)
    errors = np.array([1, 1, 1, 0, 0, 0, 1, 0, 0, 0], dtype=bool)
    members = np.array([1, 1, 1, 0, 0, 0, 1, 0, 0, 1], dtype=bool)
    layout = max_t.layout_of(strata, errors)
    statistics = max_t.statistics_of(packed(members[np.newaxis]), np.array([[0]]), layout, errors)
    first, second = hypergeom(6, 3, 3), hypergeom(4, 1, 2)
    assert statistics.expected[0] == pytest.approx(first.mean() + second.mean())
    assert statistics.scale[0] ** 2 == pytest.approx(first.var() + second.var())
    assert statistics.value[0] == pytest.approx((4 - 2.0) / np.sqrt(first.var() + second.var()))
    everyone = np.ones(10, dtype=bool)
    assert standardised(members, errors, strata, each(10, "text"), everyone) == pytest.approx(statistics.value[0])
    of_a_class = max_t.statistics_of(packed((strata == 0)[np.newaxis]), np.array([[0]]), layout, errors)
    assert np.isnan(of_a_class.value[0])
    assert np.isnan(max_t.adjusted(np.array([0]), of_a_class.value, 9)).all()


def test_step_down_p_values_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    members, errors, strata = bernoulli(rng, 90, [0.5, 0.4, 0.3, 0.6]), rng.random(90) < 0.4, rng.integers(0, 2, 90)
    errors |= members[0] & (rng.random(90) < 0.9)
    layout, conjunctions = max_t.layout_of(strata, errors), np.array([[0, -1], [1, -1], [0, 2], [3, -1]])
    bits = packed(members[:, layout.order])
    statistics = max_t.statistics_of(bits, conjunctions, layout, errors)
    parts = [
        max_t.exceedances(bits, conjunctions, layout, statistics, 5, draws) for draws in (range(150), range(150, 199))
    ]
    p_values = max_t.adjusted(parts[0] + parts[1], statistics.value, 199)

    values = statistics.value
    drawn = np.array([unpacked(max_t.drawn_errors(layout, 5, draw), 90) for draw in range(199)])
    rows = unpacked(members_of(bits, conjunctions), 90)
    by_draw = ((rows[np.newaxis] & drawn[:, np.newaxis]).sum(axis=2) - statistics.expected) / statistics.scale
    order = np.argsort(-values, kind="stable")
    raw = [(1 + sum(draw[order[place:]].max() >= values[order[place]] for draw in by_draw)) / 200 for place in range(4)]
    assert p_values[order].tolist() == np.maximum.accumulate(raw).tolist()
    assert p_values.min() < 0.05


def test_conjunctions_are_all_those_that_are_large_enough():
    rng = np.random.default_rng(2)
    members, features = bernoulli(rng, 120, [0.6, 0.4, 0.5, 0.7, 0.3]), ["a", "a", "b", "c", "d"]
    found = [plain(row) for row in conjunctions_of(packed(members), features, most=3, min_size=15)]
    expected = [
        conjunction
        for size in (1, 2, 3)
        for conjunction in combinations(range(5), size)
        if len({features[number] for number in conjunction}) == size
        and members[list(conjunction)].all(axis=0).sum() >= 15
    ]
    assert sorted(found) == sorted(expected)
    assert list(map(len, found)) == sorted(map(len, found))


def test_slices_of_the_same_rows_fold_into_the_shortest():
    first = np.arange(40) < 20
    members = np.array([first, np.arange(40) < 30, np.arange(40) % 2 == 0])
    conjunctions = conjunctions_of(packed(members), ["a", "b", "c"], most=2, min_size=5)
    kept, num_folded = folded(packed(members), conjunctions)
    names = {plain(conjunctions[number]): int(num) for number, num in zip(kept, num_folded, strict=True)}
    assert names == {(0,): 1, (1,): 0, (2,): 0, (0, 2): 0, (1, 2): 0}


def test_predicates_say_presence_absence_quarters_and_the_predicted_class():
    counts = {"thanks": np.array([1, 0, 0, 0, 2, 0, 0, 0]), "never": np.zeros(8)}
    made = predicates_of(counts, {"num_tokens": np.arange(1.0, 9.0)}, ["x"] * 4 + ["y"] * 4, min_size=2)
    members = {predicate.name: rows.tolist() for predicate, rows in zip(made.predicates, made.members, strict=True)}
    assert members["thanks"] == [True, False, False, False, True, False, False, False]
    assert members["no thanks"] == [not there for there in members["thanks"]]
    # All texts lack "never", which tells nothing.
    quarters = [f"num_tokens in {low}..{low + 1}" for low in (1, 3, 5, 7)]
    assert sorted(members) == ["no thanks", *quarters, "predicted x", "predicted y", "thanks"]
    assert members["predicted y"] == [False] * 4 + [True] * 4
    made = predicates_of({}, {"polarity": np.array([0.0] * 6 + [0.5, 1.0])}, ["x"] * 8, min_size=1)
    assert [predicate.name for predicate in made.predicates] == ["polarity in 0..0", "polarity in 0.5..1"]


@pytest.mark.parametrize("units", [each(8, "text"), units_of(np.arange(8) // 2, "group")], ids=["texts", "groups"])
def test_of_few_texts_there_is_no_predicate_and_no_slice(units):
    made = predicates_of({"thanks": np.arange(8) % 2}, {}, ["x"] * 4 + ["y"] * 4, min_size=5)
    assert made.members.shape == (0, 8)
    errors, config = np.arange(8) % 3 == 0, SliceConfig(min_size=5)
    candidates = candidates_of(made.members, made.predicates, errors, np.arange(8) // 4, units, config)
    assert len(candidates.conjunctions) == len(hits_of(candidates, 0, range(9))) == 0
    assert worse_p(made.members, made.predicates, errors, ~errors, units, config, seed=0)[0] == []


# --- groups of texts --------------------------------------------------------------------------------------------------


def grouped_case(seed, num_groups=15):
    """Texts of groups of unlike sizes, two classes, five features of the text; the errors of a feature."""
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.integers(0, num_groups, 200))
    members, strata = bernoulli(rng, 200, [0.5, 0.4, 0.3, 0.6, 0.7]), rng.integers(0, 2, 200)
    errors = rng.random(200) < 0.2 + 0.2 * strata + 0.4 * members[0]
    shuffled = rng.permutation(200)
    return members[:, shuffled], errors[shuffled], strata[shuffled], units_of(codes[shuffled], "group")


def scores_by_hand(members, errors, strata, units, conjunctions):
    """``[groups, slices]``, U as it is defined."""
    scores = np.zeros((units.num, len(conjunctions)))
    for column, conjunction in enumerate(conjunctions):
        inside = members[list(conjunction)].all(axis=0)
        for row in range(len(errors)):
            same = strata == strata[row]
            product = (inside[row] - inside[same].mean()) * (errors[row] - errors[same].mean())
            scores[units.codes[row], column] += product
    return scores


def test_scores_of_groups_are_those_of_the_definition():
    members, errors, strata, units = grouped_case(0)
    config = SliceConfig(min_size=15, num_permutations=300)
    candidates = candidates_of(members, named(members), errors, strata, units, config)
    slices = [plain(row) for row in candidates.conjunctions]
    scores = scores_by_hand(members, errors, strata, units, slices)
    t = scores.sum(axis=0) / np.sqrt((scores**2).sum(axis=0))
    assert candidates.statistics.value == pytest.approx(t)
    found = [
        group_scores(members[list(slice_)].all(axis=0), errors, strata, strata >= 0, units)[0] for slice_ in slices
    ]
    np.testing.assert_allclose(np.transpose(found), scores, atol=1e-12)
    everyone = np.ones(200, dtype=bool)
    assert standardised(members[0], errors, strata, units, everyone) == pytest.approx(t[slices.index((0,))])

    flipped = np.stack([flipped_units(units.num, 7, draw) for draw in range(300)])
    drawn = (np.where(flipped, -1.0, 1.0) @ scores) / np.sqrt((scores**2).sum(axis=0))
    order = np.argsort(-t)
    raw = [(1 + (drawn[:, order[place:]].max(axis=1) >= t[order[place]]).sum()) / 301 for place in range(len(t))]
    hits = hits_of(candidates, 7, range(130)) + hits_of(candidates, 7, range(130, 300))  # however draws are dealt out
    p_values = max_t.adjusted(hits, candidates.statistics.value, 300)
    assert p_values[order] == pytest.approx(np.maximum.accumulate(raw))
    assert p_values.min() < 0.05


def test_few_groups_and_slices_of_few_groups_get_no_test():
    config = SliceConfig(min_size=15, num_permutations=50)
    members, *rest = grouped_case(1, num_groups=7)
    few = candidates_of(members, named(members), *rest, config)
    assert few.grouped.too_few.have == 7
    assert np.isnan(few.statistics.value).all()
    members, errors, strata, units = grouped_case(1, num_groups=30)
    members[4] = units.codes < 4
    candidates = candidates_of(members, named(members), errors, strata, units, config)
    values = dict(zip(map(plain, candidates.conjunctions), candidates.statistics.value, strict=True))
    assert all(np.isnan(value) == (4 in slice_) for slice_, value in values.items())
    p_values = max_t.adjusted(hits_of(candidates, 0, range(50)), candidates.statistics.value, 50)
    assert np.isnan(p_values).sum() == sum(4 in slice_ for slice_ in values)


# --- losses of any size -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_grouped", [False, True])
def test_losses_of_0_and_1_have_the_statistics_of_errors(is_grouped):
    members, errors, strata, units = grouped_case(2, num_groups=40)
    units = units if is_grouped else each(200, "row")
    config = SliceConfig(min_size=15)
    ours, theirs = (
        candidates_of(members, named(members), of, strata, units, config) for of in (errors.astype(float), errors)
    )
    assert ours.conjunctions.tolist() == theirs.conjunctions.tolist()
    for name in ("size", "errors", "expected", "scale", "value"):
        expected = getattr(theirs.statistics, name)
        np.testing.assert_allclose(getattr(ours.statistics, name), expected, rtol=1e-12, atol=1e-12)
    if is_grouped:
        assert hits_of(ours, 3, range(99)).tolist() == hits_of(theirs, 3, range(99)).tolist()
    some = strata == 1
    values = [standardised(members[0], of, strata, units, some) for of in (errors.astype(float), errors)]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_signed_losses_have_the_step_down_p_values_of_the_definition():
    rng = np.random.default_rng(3)
    members, strata = bernoulli(rng, 120, [0.5, 0.4, 0.3]), rng.integers(0, 2, 120)
    losses = rng.standard_normal(120) ** 3 + 0.7 * members[0] - 2.0 * strata
    candidates = candidates_of(members, named(members), losses, strata, each(120, "row"), SliceConfig(min_size=10))
    slices = [plain(row) for row in candidates.conjunctions]
    rows = np.array([members[list(slice_)].all(axis=0) for slice_ in slices])
    means = np.array([losses[strata == stratum].mean() for stratum in (0, 1)])
    variance = np.zeros(len(slices))
    for stratum in (0, 1):
        n, num = rows[:, strata == stratum].sum(axis=1), (strata == stratum).sum()
        variance += n * (num - n) / (num - 1) * losses[strata == stratum].var()
    residuals = losses - means[strata]
    t = rows @ residuals / np.sqrt(variance)
    np.testing.assert_allclose(candidates.statistics.value, t, rtol=1e-12)
    layout = candidates.layout
    drawn = []
    for draw in range(199):
        dealt = losses_of.dealt(layout, 7, draw)
        assert (strata[layout.order][dealt] == strata[layout.order]).all()
        assert sorted(dealt.tolist()) == list(range(120))
        drawn.append(rows[:, layout.order] @ residuals[layout.order][dealt] / np.sqrt(variance))
    order = np.argsort(-t)
    raw = [(1 + sum(one[order[at:]].max() >= t[order[at]] - 1e-9 for one in drawn)) / 200 for at in range(len(t))]
    hits = hits_of(candidates, 7, range(120)) + hits_of(candidates, 7, range(120, 199))
    found = max_t.adjusted(hits, candidates.statistics.value, 199)
    assert found[order] == pytest.approx(np.maximum.accumulate(raw))


@pytest.mark.long
def test_a_slice_of_three_columns_is_found_among_squared_errors_and_none_where_groups_exchange_theirs():
    """Predicates of a group's own, and losses that go with the group: rows that are dealt out would find slices."""
    rng = np.random.default_rng(4)
    groups = np.arange(2400) // 8
    members = bernoulli(rng, 300, [0.5, 0.5, 0.5, 0.4, 0.6, 0.3])[:, groups]
    noise = 1.5 * rng.standard_normal(300)[groups] + rng.standard_normal(2400)
    losses = noise**2
    units, config, strata = units_of(groups, "group"), SliceConfig(min_size=100), np.zeros(2400, dtype=int)

    def p_values(members, of, units):
        candidates = candidates_of(members, named(members), of, strata, units, config)
        hits = hits_of(candidates, 0, range(99))
        return candidates, max_t.adjusted(hits, candidates.statistics.value, 99)

    of_rows, rows = bernoulli(rng, 2400, [0.5, 0.5, 0.5, 0.4, 0.6, 0.3]), each(2400, "row")
    planted = (rng.standard_normal(2400) * (1 + of_rows[:3].all(axis=0))) ** 2
    candidates, p = p_values(of_rows, planted, rows)
    assert plain(candidates.conjunctions[np.nanargmax(candidates.statistics.value)]) == (0, 1, 2)
    assert leading(candidates, p, of_rows, planted, strata, rows, 0.05)[0] == (0, 1, 2)
    named_by_chance = [0, 0]
    for number in range(40):
        shuffled = np.random.default_rng([number, 9]).permutation(300)
        null = losses.reshape(300, 8)[shuffled].ravel()
        for place, these in enumerate((units, rows)):
            named_by_chance[place] += np.nanmin(p_values(members, null, these)[1]) <= 0.05
    assert named_by_chance[0] <= 0.07 * 40 + 2
    assert named_by_chance[1] > 0.3 * 40


def test_columns_become_predicates_that_cut_where_rows_explore():
    exploring = np.arange(40) < 20
    losses = np.arange(40.0) % 7
    ages = pl.Series([*(str(age) for age in range(20)), *["100"] * 19, None])
    made, facts = predicates_of_column("age", ages, exploring, losses, ())
    assert [one.name for one in made.predicates] == [
        *("age < 4", "age in [4, 9)", "age in [9, 14)", "age >= 14", "age is missing")
    ]
    assert (facts.type, facts.num_values, facts.num_missing, facts.edges) == ("number", 21, 1, [4.0, 9.0, 14.0])
    assert made.members.sum(axis=1).tolist() == [4, 5, 5, 25, 1]
    made, _ = predicates_of_column("age", ages, exploring, losses, (18.0,))
    assert [one.name for one in made.predicates] == ["age < 18", "age >= 18", "age is missing"]
    days = pl.Series(["2024-02-29", "2023-01-02"] * 20)
    made, facts = predicates_of_column("day", days, exploring, losses, ())
    assert facts.type == "date"
    names = [one.name for one in made.predicates]
    assert names[:4] == ["day.year = 2023", "day.year = 2024", "day.month = 1", "day.month = 2"]
    assert names[4:] == ["day.weekday = Monday", "day.weekday = Thursday", "day is missing"]
    made, _ = predicates_of_column("day", days, exploring, losses, (days_since("2024-02-29"),))
    assert [one.name for one in made.predicates][:2] == ["day < 2024-02-29", "day >= 2024-02-29"]
    assert made.members[:2].sum(axis=1).tolist() == [20, 20]
    many = pl.Series([f"v{at % 60}" for at in range(6000)])
    made, facts = predicates_of_column("many", many, np.arange(6000) < 3000, np.arange(6000.0) % 7, ())
    assert (len(made.predicates), facts.reason) == (21, "the 20 most frequent of 60 values are taken")
    high = (losses > np.median(losses)).astype(float)
    leak, _ = predicates_of_column("leak", pl.Series((1000 + losses * 3).astype(str)), exploring, losses, ())
    assert predicates_of_column("l", pl.Series((5 - losses * 1.5).astype(str)), exploring, losses, ())[1].auroc == 1.0
    assert predicates_of_column("l", pl.Series(high.astype(int).astype(str)), exploring, losses, ())[1].auroc == 1.0
    kept = joined([leak], exploring, 3)
    assert kept.members[:, exploring].sum(axis=1).min() >= 3


# --- which slices lead ------------------------------------------------------------------------------------------------


def planted(seed, effect=0.5, num_rows=2000):
    """Texts with eight features; those with the first two are wrong more often."""
    rng = np.random.default_rng(seed)
    members = bernoulli(rng, num_rows, [0.35, 0.35, 0.5, 0.9, 0.4, 0.6, 0.2, 0.95])
    strata = rng.integers(0, 2, num_rows)
    rates = 0.2 + 0.3 * strata + effect * members[:2].all(axis=0)
    return members, rng.random(num_rows) < rates, strata


def search(members, errors, strata, num_permutations=99):
    config = SliceConfig(min_size=50, num_permutations=num_permutations)
    candidates = candidates_of(members, named(members), errors, strata, each(len(errors), "text"), config)
    hits = hits_of(candidates, 0, range(num_permutations))
    p_values = max_t.adjusted(hits, candidates.statistics.value, num_permutations)
    first = leading(candidates, p_values, members, errors, strata, each(len(errors), "text"), config.alpha)
    return candidates, p_values, first


def test_two_planted_effects_lead_one_after_the_other_and_their_shadows_do_not():
    members, errors, strata = planted(6)
    errors = errors | (members[6] & (np.random.default_rng(7).random(2000) < 0.6))
    candidates, p_values, found = search(members, errors, strata)
    significant = {plain(candidates.conjunctions[number]) for number in np.flatnonzero(p_values <= 0.05)}
    assert set(found) == {(0, 1), (6,)}
    assert {(0,), (1,), (0, 1), (0, 1, 2), (6,)} <= significant
    assert leading(candidates, np.ones(len(p_values)), members, errors, strata, TEXTS, 0.05) == []


@pytest.mark.parametrize("is_loss", [False, True])
def test_the_only_significant_slice_leads_however_its_t_was_rounded(is_loss):
    """Where one slice alone is significant, its T is what others must reach."""
    config = SliceConfig(max_predicates=1, min_size=20)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        members, strata, units = rng.random((6, 900)) < 0.3, rng.integers(0, 3, 900), each(900, "text")
        losses = rng.standard_normal(900) ** 2 if is_loss else rng.random(900) < 0.2
        candidates = candidates_of(members, named(members), losses, strata, units, config)
        best = int(np.nanargmax(candidates.statistics.value))
        p_values = np.where(np.arange(len(candidates.conjunctions)) == best, 0.01, 0.5)
        led = leading(candidates, p_values, members, losses, strata, units, 0.05)
        assert led == [plain(candidates.conjunctions[best])]


def test_a_predicate_that_adds_nothing_goes():
    members, errors, strata = planted(8)
    everyone = np.ones(2000, dtype=bool)
    significant = [(0, 1), (0, 1, 7)]
    assert shortened((0, 1, 7), members, errors, strata, TEXTS, everyone, 3.0, significant) == (0, 1)
    pairs = [(0, 1), (0, 7), (1, 7)]
    added = {
        pair: standardised(members[[0, 1, 7]].all(0), errors, strata, TEXTS, members[[*pair]].all(0)) for pair in pairs
    }
    assert min(added, key=added.get) == (0, 1) != max(added, key=added.get)
    assert shortened((0, 1, 7), members, errors, strata, TEXTS, everyone, 1e9, [*pairs, (0, 1, 7)]) == (0, 1)
    assert leading_slices(members, significant, errors, strata, TEXTS, 4.0, 3.0) == [(0, 1)]
    assert leading_slices(members, [(4,)], errors, strata, TEXTS, 4.0, 3.0) == []


def test_a_slice_is_not_shortened_to_one_that_is_not_significant():
    members, errors, strata = planted(8, effect=0.15)
    everyone = np.ones(2000, dtype=bool)
    assert shortened((0, 1), members, errors, strata, TEXTS, everyone, 9.0, [(0, 1)]) == (0, 1)
    assert shortened((0, 1), members, errors, strata, TEXTS, everyone, 9.0, [(0,), (0, 1)]) == (0,)
    candidates, p_values, found = search(members, errors, strata)
    significant = {plain(candidates.conjunctions[number]) for number in np.flatnonzero(p_values <= 0.05)}
    assert found
    assert set(found) <= significant


# --- changes and confirmation ----------------------------------------------------------------------------------------


def test_a_change_is_the_paired_difference_of_units():
    before, after = np.arange(10) < 2, (np.arange(10) > 0) & (np.arange(10) < 9)
    inside, units = np.arange(10) != 4, units_of(list(np.arange(10) // 2), "group")
    found = change_of(inside, before, after, units, 0.8)
    differences = (after.astype(int) - before)[inside]
    assert (found.before, found.after) == (2 / 9, 7 / 9)
    assert found.change == mean(differences, units.part(inside), level=0.8, scale=between(-1.0, 1.0))
    assert change_of(before, before, before, each(10, "text"), 0.95).change.too_few
    still = change_of(inside, before, before, each(10, "text"), 0.95).change
    assert still.low < 0.0 == still.value < still.high  # nothing moved, and others might


def test_slices_are_confirmed_by_the_scores_of_units_and_by_how_many_were_chosen():
    members, errors, strata = planted(9)
    for units in (TEXTS, units_of(np.arange(2000) // 100, "group"), units_of(np.arange(2000) // 500, "group")):
        known = []
        for slice_ in ((0, 1), (4,)):
            scores = group_scores(members[list(slice_)].all(axis=0), errors, strata, strata >= 0, units)
            known.append(positive_p(*scores, units.kind)[0])
        found = confirmed_p(members, [(0, 1), (4,)], errors, strata, units)
        np.testing.assert_array_equal(found, holm(np.array(known)))
    assert np.isnan(found).all()  # by four groups


# --- versions: max-T over which way texts moved ----------------------------------------------------------------------

CONFIG = SliceConfig(min_size=50, num_permutations=499)
MOVED = each(1500, "text")


def versions(seed, worse):
    """Two versions with a fifth of errors each; the later one errs more where the first feature is."""
    rng = np.random.default_rng(seed)
    members = rng.random((4, 1500)) < np.array([0.2, 0.5, 0.4, 0.6])[:, np.newaxis]
    before = rng.random(1500) < 0.2
    return members, before, rng.random(1500) < 0.2 + worse * members[0]


def p_values_of(members, before, after, units=MOVED):
    slices, p_values = worse_p(members, named(members), before, after, units, CONFIG, seed=3)
    return dict(zip(slices, p_values.tolist(), strict=True))


def test_slices_that_got_worse_and_say_the_same_lead_once_and_versions_that_are_the_same_have_no_test():
    members, before, after = versions(4, worse=0.4)
    members = np.concatenate([members, members[:1] & (np.arange(1500) % 20 > 0)])
    slices, p_values = worse_p(members, named(members), before, after, MOVED, CONFIG, seed=3)
    first = leading_changes(members, slices, p_values, before, after, MOVED, 0.05)
    assert p_values[slices.index((0,))] == 1 / 500
    assert (p_values <= 0.05).sum() > 3
    assert [slices[number] for number in first] in ([(0,)], [(4,)], [(4,), (0,)])
    assert leading_changes(members, slices, np.ones(len(slices)), before, after, MOVED, 0.05) == []
    assert np.isnan(list(p_values_of(members, before, before).values())).all()


@pytest.mark.parametrize("units", [MOVED, units_of(np.arange(1500) // 30, "group")], ids=["texts", "groups"])
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


# --- five slices that are planted among many: found, named exactly, and confirmed intervals hold the planted rate ----

NUM_PLANTED, SIZE, EFFECT, NUM_ROWS = 5, 600, 0.25, 14_000
"""Half of the 600 texts of a slice explore: 300 rows are searched, as rows are counted wherever slices are."""
HALVED = 300
"""Texts of both halves, of which 150 explore."""
CLASS_RATES = np.array([0.2, 0.4, 0.5])


def five_planted(seed, size):
    """Texts of both halves with 30 features, pairs of which five times so many have, that are wrong more often."""
    rng = np.random.default_rng(seed)
    members = rng.random((30, NUM_ROWS)) < rng.uniform(0.1, 0.5, 30)[:, np.newaxis]
    free = np.ones(NUM_ROWS, dtype=bool)
    slices = [(2 * number, 2 * number + 1) for number in range(NUM_PLANTED)]
    for first, second in slices:  # those that have both by chance lose one; others get both
        both = members[first] & members[second]
        members[second] &= ~both
        chosen = rng.choice(np.flatnonzero(free), size, replace=False)
        members[[[first], [second]], chosen] = True
        free[chosen] = False
    strata = rng.integers(0, 3, NUM_ROWS)
    inside = np.any([members[list(slice_)].all(axis=0) for slice_ in slices], axis=0)
    return members, rng.random(NUM_ROWS) < CLASS_RATES[strata] + EFFECT * inside, strata, slices


def found(seed, size=SIZE):
    """Which planted slices lead, how many others do, and whether confirmed intervals hold the planted rates."""
    members, errors, strata, slices = five_planted(seed, size)
    exploring = np.random.default_rng(seed + 10_000).random(NUM_ROWS) < 0.5
    config = SliceConfig(min_size=100, num_permutations=299)
    half = members[:, exploring], errors[exploring], strata[exploring]
    texts = each(len(half[1]), "text")
    candidates = candidates_of(half[0], named(members), half[1], half[2], texts, config)
    p_values = max_t.adjusted(hits_of(candidates, seed, range(299)), candidates.statistics.value, 299)
    first = leading(candidates, p_values, *half, texts, config.alpha)
    holds = []
    for slice_ in set(first) & set(slices):
        inside = members[list(slice_)].all(axis=0) & ~exploring
        rates = rates_of(inside[np.newaxis], errors, each(NUM_ROWS, "text"), 0.95)
        rate = (CLASS_RATES[strata[inside]] + EFFECT).mean()
        holds.append(bool(rates.low[0] <= rate <= rates.high[0]))
    return len(set(first) & set(slices)), len(set(first) - set(slices)), holds


@pytest.mark.slow
@pytest.mark.parametrize(("size", "named"), [(SIZE, 0.95), (HALVED, 0.85)])
def test_planted_slices_are_named_exactly_and_their_intervals_hold(size, named):
    results = [found(seed, size) for seed in range(40)]
    assert sum(num for num, _, _ in results) >= named * 40 * NUM_PLANTED
    assert sum(others for _, others, _ in results) <= 0.1 * 40 * NUM_PLANTED
    holds = [hold for _, _, part in results for hold in part]
    assert np.mean(holds) >= 0.93
