import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tiltmeter.operators.statistics.partitions import permutation, subset_sums
from tiltmeter.operators.statistics.partitions.permutation import monte_carlo_p_value, permutation_p_value

seeds = st.integers(0, 2**32 - 1)
whole_numbers = st.lists(st.integers(-30, 30), min_size=1, max_size=6).map(np.array)


def _normal(seed, num_x, num_y, shift=0.5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=num_x) + shift, rng.normal(size=num_y)


def _enumerated(x, y):
    """p of whole numbers, subset by subset."""
    scores: list[int] = [*x.tolist(), *y.tolist()]
    num_reaching = sum(sum(subset) >= int(x.sum()) for subset in combinations(scores, len(x)))
    return num_reaching / math.comb(len(scores), len(x))


def _width(found):
    return (found.high - found.low) / found.high


@pytest.fixture
def without_sorted_sums(monkeypatch):
    monkeypatch.setattr(permutation, "_MAX_SUMS", 0)


def _two_sided(x, y):
    """Enumerated in fractions: how often the means of two parts lie as far apart as those of X and Y."""
    scores = [*map(int, x), *map(int, y)]

    def gap(part):
        return abs(Fraction(sum(part), len(x)) - Fraction(sum(scores) - sum(part), len(y)))

    parts = list(combinations(scores, len(x)))
    return sum(gap(part) >= gap(tuple(scores[: len(x)])) for part in parts) / len(parts)


@pytest.mark.long
@given(seeds, st.integers(1, 7), st.integers(1, 7), st.floats(0.001, 0.9))
@pytest.mark.usefixtures("without_sorted_sums")
def test_certified_bounds_of_both_directions(seed, num_x, num_y, relative_width):
    x, y = (scores.round(2) for scores in _normal(seed, num_x, num_y))
    found = permutation_p_value(x, y, relative_width, "two-sided")
    assert found.low <= _two_sided(np.rint(100 * x), np.rint(100 * y)) <= found.high <= 1


def test_drawn_partitions_count_both_directions():
    x, y = _normal(6, 4, 6, shift=0.3)
    found = monte_carlo_p_value(x, y, 20_000, seed=1, test_key=2, alternative="two-sided")
    exact = permutation_p_value(x, y, alternative="two-sided").value
    assert found.value == pytest.approx(exact, abs=5 * found.standard_error)
    assert exact > min(permutation_p_value(x, y).value, permutation_p_value(y, x).value)


@pytest.mark.long
@given(whole_numbers, whole_numbers, st.integers(-300, 300), st.integers(-1000, 1000))
def test_all_partitions_are_counted_whatever_their_scale_and_zero(x, y, exponent, shift):
    moved = [(scores + shift) * 10.0**exponent for scores in (x, y)]
    assert permutation_p_value(*moved).value == _enumerated(x, y)
    assert permutation_p_value(*moved, alternative="less") == permutation_p_value(*moved[::-1])
    assert permutation_p_value(*moved, alternative="two-sided").value == _two_sided(x, y)


@given(seeds, st.integers(1, 6), st.integers(1, 6))
def test_enumeration_of_generic_scores(seed, num_x, num_y):
    x, y = _normal(seed, num_x, num_y)
    sums = [math.fsum(subset) for subset in combinations([*x, *y], num_x)]
    assert permutation_p_value(x, y).value == np.mean(np.array(sums) >= math.fsum(x) - 1e-12)


def test_sums_that_differ_by_rounding_are_ties():
    assert 0.1 + 0.2 > 0.3
    assert permutation_p_value(np.array([0.1, 0.2]), np.array([0.3, 0.0])).value == 4 / 6


@pytest.mark.long
@pytest.mark.parametrize(
    ("num_x", "num_y"), [(1, 1), (8, 8), (18, 18), (20, 21), (32, 32), (32, 20), (25, 60), (50, 50)]
)
def test_clear_separation_leaves_one_partition(num_x, num_y):
    x, y = _normal(0, num_x, num_y, shift=10.0)
    assert permutation_p_value(x, y)[:4] == (*[1 / math.comb(num_x + num_y, num_x)] * 3, "exact")
    assert permutation_p_value(y, x)[:4] == (1.0, 1.0, 1.0, "exact")


@pytest.mark.parametrize("num_words", [30, 100, 500])
def test_equal_scores_tie_in_every_partition(num_words):
    assert permutation_p_value(np.full(num_words, 0.3), np.full(num_words, 0.3))[:4] == (1.0, 1.0, 1.0, "exact")
    assert permutation_p_value(np.zeros(num_words), np.zeros(num_words)).value == 1.0


@pytest.mark.parametrize(("num_x", "num_y"), [(18, 18), (32, 32), (50, 50), (300, 300)])
def test_two_values_have_a_hypergeometric_sum(num_x, num_y):
    rng = np.random.default_rng(num_x)
    x, y = rng.random(num_x) < 0.7, rng.random(num_y) < 0.4
    found = permutation_p_value(0.1 + 0.3 * x, 0.1 + 0.3 * y)
    p = stats.hypergeom.sf(x.sum() - 1, num_x + num_y, x.sum() + y.sum(), num_x)
    assert found.value == pytest.approx(p, rel=1e-9)
    assert _width(found) < 1e-10
    assert found.method == "exact" or num_x > 33


@pytest.mark.parametrize(("num_x", "num_y"), [(18, 17), (25, 25), (32, 32), (50, 40)])
def test_ranks_have_the_p_value_of_mann_and_whitney(num_x, num_y):
    x, y = _normal(num_x, num_x, num_y)
    ranks = stats.rankdata(np.append(x, y))
    found = permutation_p_value(ranks[:num_x] / 7, ranks[num_x:] / 7)
    reference = stats.mannwhitneyu(x, y, alternative="greater", method="exact")
    assert found.value == pytest.approx(reference.pvalue, rel=1e-9)
    assert _width(found) < 1e-9


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=14),
    st.integers(1, 13),
    st.integers(1, 10**6),
    st.integers(0, 9),
)
def test_bounds_hold_the_count(numbers, size, step, slack):
    size = min(size, len(numbers) - 1)
    values, observed = np.sort(numbers), np.array(numbers[:size])
    limit = int(observed.sum()) + slack
    num_within = sum(sum(subset) <= limit for subset in combinations(numbers, size))
    assert subset_sums.count(values, size, limit) == num_within
    assert subset_sums.bounds(values, observed, limit, step=1) == (num_within, num_within)
    low, high = subset_sums.bounds(values, observed, limit, step)
    assert 1 <= low <= num_within <= high


@pytest.mark.parametrize("seed", range(12))
def test_certified_bounds_hold_the_exact_p_value(seed, monkeypatch):
    x, y = _normal(seed, 14 + seed % 5, 18, shift=seed / 4)
    exact = permutation_p_value(x, y)
    monkeypatch.setattr(permutation, "_MAX_SUMS", 0)
    monkeypatch.setattr(permutation, "_FIRST_COUNTS", 1000)
    for relative_width in (0.5, 0.1, 0.01, 0.001):
        found = permutation_p_value(x, y, relative_width)
        assert found.low <= exact.value <= found.high == found.value
        assert _width(found) <= relative_width
    assert exact.method == "exact"


@pytest.mark.parametrize(("num_words", "shift"), [(25, 0.0), (32, 1.0), (40, 3.0)])
def test_narrow_bounds_lie_within_wide_ones(num_words, shift):
    x, y = _normal(7, num_words, num_words, shift)
    wide, narrow = permutation_p_value(x, y), permutation_p_value(x, y, relative_width=0.005)
    assert _width(wide) <= 0.01
    assert _width(narrow) <= 0.005
    assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_bounds_stay_certain_where_memory_ends(monkeypatch):
    x, y = _normal(1, 32, 32, shift=0.6)
    close = permutation_p_value(x, y, relative_width=0.001)
    monkeypatch.setattr(permutation, "_MAX_COUNTS", 20_000)
    found = permutation_p_value(x, y, relative_width=0.001)
    assert found.method == "certified"
    assert found.low <= close.low <= close.high <= found.high
    assert _width(found) > 0.001


@pytest.mark.parametrize("outlier", [1e6, -1e6])
def test_outlier_leaves_what_is_certain(outlier):
    # The outlier decides alone, and half of all partitions have it in X.
    x, y = _normal(3, 32, 32)
    x[0] = outlier
    found = permutation_p_value(x, y)
    assert (found.high <= 0.5) if outlier > 0 else (found.low >= 0.5)


def test_tables_keep_to_their_memory():
    x, y = _normal(4, 200, 200)
    test = permutation._as_test(x, y)
    num_counts = subset_sums.num_counts(test.values, 200, test.limit)
    step = math.ceil(num_counts / permutation._MAX_COUNTS)
    assert subset_sums.num_counts(test.values // step, 200, test.limit // step) * 8 < 64e6


def test_draws_estimate_the_exact_value():
    x, y = _normal(7, 18, 18)
    exact = permutation_p_value(x, y).value
    found = [monte_carlo_p_value(x, y, 1000, seed=0, test_key=key) for key in range(100)]
    shares = np.array([(1001 * estimate.value - 1) / 1000 for estimate in found])
    standard_error = math.sqrt(exact * (1 - exact) / 1000)
    assert shares.mean() == pytest.approx(exact, abs=4 * standard_error / 10)
    assert shares.std() == pytest.approx(standard_error, rel=0.3)
    assert sum(estimate.low <= exact <= estimate.high for estimate in found) >= 90


def test_interval_of_clopper_and_pearson():
    x, y = _normal(5, 18, 18)
    found = monte_carlo_p_value(x, y, 500, seed=3, test_key=4)
    hits = round(found.value * 501) - 1
    interval = stats.binomtest(hits, 500).proportion_ci(method="exact")
    assert found.method == "monte_carlo"
    assert [found.low, found.high] == pytest.approx([interval.low, interval.high])
    assert found.standard_error == pytest.approx(math.sqrt(found.value * (1 - found.value) / 500))


def test_draws_depend_on_their_key_alone():
    x, y = _normal(5, 18, 18)
    found = monte_carlo_p_value(x, y, 1000, seed=0, test_key=0)
    assert monte_carlo_p_value(x[::-1], y[::-1], 1000, seed=0, test_key=0) == found
    assert monte_carlo_p_value(x, y, 1000, seed=1, test_key=0).value != found.value
    assert monte_carlo_p_value(x, y, 1000, seed=0, test_key=1).value != found.value


THREE = np.array([0.5, -0.25, 1.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *[((THREE, THREE, width), "relative_width=.*strictly between 0 and 1") for width in (0.0, 1.0, math.nan)],
        ((THREE[:0], THREE), r"scores_x has shape \(0,\): must be \[words\] with at least one word"),
        ((THREE, THREE[np.newaxis]), r"scores_y has shape \(1, 3\)"),
        ((THREE, np.array([0.0, np.nan])), "scores_y has scores that are not finite"),
        ((THREE, THREE, 0.01, "both"), "alternative='both': must be one of greater, less, two-sided"),
        ((np.ones(502), np.ones(502)), "1004 words: must be 1000 or fewer"),
    ],
)
def test_what_has_no_p_value_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        permutation_p_value(*arguments)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((0, 0, 0), "num_draws=0: must be 1 or more"),
        ((10, -1, 0), r"seed=-1: must lie in 0\.\."),
        ((10, 0, 2**64), "test_key=18446744073709551616: must lie in"),
    ],
)
def test_draws_that_cannot_be_made_are_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        monte_carlo_p_value(THREE, THREE, *asked)
