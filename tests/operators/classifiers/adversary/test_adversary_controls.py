"""Directions, candidates along them, rates, and what an excess over controls means."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from tiltmeter.operators.classifiers.adversary import candidates, controls, rates
from tiltmeter.operators.classifiers.adversary.candidates import shifted_candidates
from tiltmeter.operators.classifiers.adversary.controls import asymmetry, excess, matched_pairs, sphere_directions
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import mean, share
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.units import each, units_of

VECTORS = np.random.default_rng(0).normal(size=(60, 8))
UNIT = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
GENDERS = np.zeros(60, dtype=np.int8)
GENDERS[[3, 7, 20]], GENDERS[[5, 9, 30]] = 1, -1


@pytest.mark.parametrize("pool", [None, [1, 3, 5, 9, 20, 30, 31, 40]], ids=["all", "some"])
@pytest.mark.parametrize("crossings", ["excluded", "kept", "barred"])
@pytest.mark.parametrize(("top", "exclude"), [(2, 4), (3, 1), (5, 5), (7, 2), (3, 9)])
def test_candidates_are_near_the_shifted_word_and_not_near_the_word(top, exclude, crossings, pool):
    """By sorting all words that there are to choose from, one word at a time; others are replaced all the same."""
    shifts = np.random.default_rng(1).normal(size=(2, 8))
    options = {"top": top, "exclude": exclude, "genders": GENDERS, "crossings": crossings}
    rows = None if pool is None else np.array(pool)
    every = shifted_candidates(VECTORS, np.arange(60), shifts, pool=rows, **options)
    found = candidates.Candidates(*(part[1] for part in every))
    for word in range(60):
        moved, crosses = VECTORS[word] + shifts[1], GENDERS * GENDERS[word] == -1
        cosines = UNIT @ moved / np.linalg.norm(moved)
        order = sorted(pool or range(60), key=lambda c: -cosines[c])
        near = set(sorted(pool or range(60), key=lambda c: -(UNIT[c] @ UNIT[word]))[:exclude])
        if crossings == "kept":
            near -= set(np.flatnonzero(crosses).tolist())
        if crossings == "barred":
            order = [c for c in order if not crosses[c]]
        kept = [c for c in order[:top] if c not in near]
        assert found.words[word].tolist() == kept + [candidates.NONE] * (top - len(kept))
        np.testing.assert_allclose(found.cosines[word, : len(kept)], cosines[kept])
        assert found.num_excluded[word] == top - len(kept)


def test_without_a_shift_nothing_is_a_candidate_and_of_words_that_are_equally_near_the_first_is():
    """What is nearest without one is the word itself and its synonyms, which are left out."""
    assert (shifted_candidates(VECTORS, np.arange(60), np.zeros((1, 8))).words == candidates.NONE).all()
    assert shifted_candidates(VECTORS, np.arange(0), np.zeros((3, 8))).words.shape == (3, 0, 2)
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    shifted = shifted_candidates(vectors, np.array([0]), np.array([[0.0, 5.0]]), top=2, exclude=1)
    assert shifted.words[0].tolist() == [[1, 2]]


def test_directions_without_gender_are_orthogonal_to_all_of_it_and_as_long_as_before():
    gender = np.stack([VECTORS[0], VECTORS[1], VECTORS[0] + VECTORS[1]])
    rest = controls.without_gender(VECTORS[2:], gender)
    np.testing.assert_allclose(rest @ gender.T, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(rest, axis=1), np.linalg.norm(VECTORS[2:], axis=1))
    basis = np.linalg.qr(gender[:2].T)[0]
    projected = VECTORS[2] - basis @ (basis.T @ VECTORS[2])
    np.testing.assert_allclose(rest[0], projected * np.linalg.norm(VECTORS[2]) / np.linalg.norm(projected))
    np.testing.assert_array_equal(controls.without_gender(VECTORS[:1], gender), np.zeros((1, 8)))


def test_neighbours_are_the_nearest_words_without_the_word():
    near = candidates.nearest_candidates(VECTORS, np.array([7, 3]), top=5).words[0]
    for row, word in zip(near.tolist(), (7, 3), strict=True):
        assert row == sorted(set(range(60)) - {word}, key=lambda c: -(UNIT[c] @ UNIT[word]))[:5]


def test_directions_of_pairs():
    starts = np.array([[0.0, 0.0], [0.0, 5.0]])
    for kind, end in (("mean", [2.0, 0.0]), ("principal_component", [-2.0, 0.0])):
        np.testing.assert_allclose(candidates.pair_direction(starts + np.array(end), starts, kind), end)
    with pytest.raises(ValueError, match="2 pairs have no direction in common"):
        candidates.pair_direction(starts, starts)


def test_controls_have_the_length_of_what_they_control_and_depend_on_their_number_alone():
    drawn = sphere_directions(5, 8, 3.0, seed=1)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 3.0)
    np.testing.assert_array_equal(sphere_directions(3, 8, 3.0, seed=1), drawn[:3])
    assert not np.allclose(sphere_directions(5, 8, 3.0, seed=2), drawn)


def test_control_pairs_are_as_frequent_as_the_pair_and_of_two_words():
    pool = np.setdiff1d(np.arange(1000), [100, 400])
    pairs = matched_pairs(200, (100, 400), pool, window=20, seed=0)
    assert np.abs(pairs - [100, 400]).max() <= 11
    assert len(np.unique(pairs, axis=0)) > 100
    np.testing.assert_array_equal(matched_pairs(7, (100, 400), pool, window=20, seed=0), pairs[:7])
    assert (matched_pairs(200, (100, 400), pool, window=20, seed=1) != pairs).any()
    assert (np.diff(matched_pairs(50, (5, 5), np.arange(10), window=3, seed=0)) != 0).all()
    with pytest.raises(ValueError, match=r"controls\.window=1: must be at least 2"):
        matched_pairs(1, (0, 1), pool, window=1, seed=0)


def test_p_is_the_rank_among_the_controls():
    """Whether directions of gender are like these is no matter of ranks: ``benchmarks.calibration`` tries."""
    rates = np.random.default_rng(5).normal(size=99)
    assert excess(9.0, rates).p_value == 1 / 100
    assert excess(float(np.sort(rates)[-3]), rates).p_value == 4 / 100
    assert excess(-9.0, rates).p_value == 1.0
    with pytest.raises(ValueError, match=r"controls\.number=0"):
        excess(0.5, np.array([]))


def test_asymmetry_is_the_binomial_tail_of_texts_that_one_direction_alone_flips():
    first, second, texts = np.zeros(40, bool), np.zeros(40, bool), each(40, "text")
    first[:12], second[10:15] = True, True
    result = asymmetry(first, second, texts)
    assert (result.difference, result.p_value) == pytest.approx((7 / 40, 2 * binom.cdf(3, 13, 0.5)))
    assert asymmetry(second, first, texts).difference == -result.difference
    same = asymmetry(first, first, texts)
    assert (same.difference, same.p_value != same.p_value, same.too_few) == (0.0, True, (0, 6, "text that differs"))


def test_texts_of_one_author_differ_together():
    """8 authors with 5 texts each, of whom 7 flip one way: 2 (1 + 8) / 2^8, not the binomial tail of 40 texts."""
    authors = np.repeat(np.arange(8), 5)
    first = authors < 7
    result = asymmetry(first, ~first, units_of(authors, "author"))
    assert result.p_value == pytest.approx(18 / 256)
    assert asymmetry(first, ~first, each(40, "text")).p_value < 1e-5


def test_controls_that_come_to_the_same_count_however_their_numbers_are_rounded_and_two_sided_ones_by_size():
    """3 of 10 texts less 1 of 10 is 2 of 10, though 0.3 - 0.1 < 0.2; sums in another order differ as much."""
    less = np.array([0.3 - 0.1])
    assert controls.two_sided(0.2, less) == controls.two_sided(-0.2, less) == 1.0
    assert controls.two_sided(-0.2, np.array([0.1, -0.3, 0.2, 0.0])) == 3 / 5
    falls = np.random.default_rng(0).random((7, 50))
    backwards = np.asfortranarray(np.repeat(falls[:1], 3, axis=0)[:, ::-1])
    assert excess(falls[0].mean(), backwards.mean(axis=1)).p_value == 1.0


def test_of_words_as_frequent_the_nearest_is_taken():
    """Counts of capitals are those of small letters; words that the texts lack count 0."""
    columns = ("row", "direction", "control", "replica", "position", "rank", "candidate", "is_likely")
    counts = {"word": ["queen", "grand", "crown", "sea", "duke", "tall"], "count": [100, 7, 90, 1, 120, 6]}
    along = [(0, "pair_to_male", -1, 0, 0, 0, "Queen", True)]
    near = [(0, "pair_to_male", 3, 0, 0, rank, word, True) for rank, word in enumerate(("sea", "Crown", "crown"))]
    options = pl.DataFrame([*along, *near], schema=columns, orient="row")
    found = controls.equalised(options, pl.DataFrame(counts))
    assert found.filter(control=3)["candidate"].to_list() == ["Crown"]


# --- rates, by texts or groups of them, and over embeddings -----------------------------------------------------------


TEXTS, AUTHORS = each(50, "text"), units_of(np.arange(50) // 5, "author")
BARE = np.zeros((0, 50))


def drawn(shape, chance, seed=0):
    return (np.random.default_rng(seed).random(shape) < chance).astype(np.float64)


@pytest.mark.parametrize("units", [TEXTS, AUTHORS])
def test_rates_and_excess_are_means_over_texts_and_controls(units):
    flips, beside = drawn((1, 50), 0.4), drawn((19, 50), 0.2, 1)
    found = rates.flip_rates(flips, beside, units, level=0.9)
    assert found.p_value == (1 + (beside.mean(axis=1) >= flips.mean()).sum()) / 20
    assert found.rate == share(flips[0], units, level=0.9)
    assert found.excess == mean(flips[0] - beside.mean(axis=0), units, level=0.9, scale=FISHER)


def test_replicas_add_their_variance_and_leave_the_number():
    """The original is one embedding of those that could have been, so that it has the whole variance of one."""
    flips, beside = np.concatenate([drawn((1, 50), 0.4), drawn((4, 50), 0.4, 1)]), drawn((19, 50), 0.2, 1)
    found, alone, same = (
        rates.flip_rates(values, BARE, TEXTS, level=0.95).rate
        for values in (flips, flips[:1], np.repeat(flips[:1], 4, axis=0))
    )
    of_texts, spread = flips[0].var(ddof=1) / 50, flips[1:].mean(axis=1).var(ddof=1)
    assert found.value == alone.value == flips[0].mean()
    assert (found.variance, same.variance) == pytest.approx((of_texts + spread, of_texts))
    assert found.df == pytest.approx(found.variance**2 / (of_texts**2 / 49 + spread**2 / 3))
    seeds = 2.0 * flips[1:].mean(axis=1)
    assert found == mean(flips[0], TEXTS, level=0.95, scale=LOGIT, seeds=seeds)
    expected = mean(flips[0] - beside.mean(axis=0), TEXTS, level=0.95, scale=FISHER, seeds=seeds)
    assert rates.flip_rates(flips, beside, TEXTS, level=0.95).excess == expected


def test_each_resample_is_of_the_next_replica():
    flips, controls = drawn((4, 50), 0.4), drawn((19, 50), 0.2, 1)
    counts = np.concatenate(list(resampled_counts(np.zeros(50, np.int64), 0, 1, 200))).astype(np.float64)
    found, beyond = rates.resampled_rates(flips, controls, counts)
    expected = [np.average(flips[1 + number % 3], weights=row) for number, row in enumerate(counts)]
    beside = [np.average(controls.mean(axis=0), weights=row) for row in counts]
    assert found == pytest.approx(expected)
    assert beyond == pytest.approx(np.array(expected) - beside)
    single, nothing = rates.resampled_rates(flips[:1], BARE, counts)
    assert single == pytest.approx([np.average(flips[0], weights=row) for row in counts])
    assert np.isnan(nothing).all()


def test_without_controls_there_is_no_excess_and_too_few_groups_have_no_interval():
    bare = rates.flip_rates(drawn((1, 50), 0.5), BARE, TEXTS, level=0.95)
    assert (bare.excess, np.isnan(bare.p_value)) == (None, True)
    assert np.isnan(rates.share_of(np.zeros(0), np.zeros(0, bool)))
    halves = units_of(np.arange(50) // 25, "author")
    few = rates.flip_rates(drawn((1, 50), 0.5), drawn((19, 50), 0.2), halves, level=0.95)
    assert np.isnan([few.excess.low, few.excess.high]).all()
    assert (few.excess.too_few, few.p_value > 0.0) == ((2.0, 4, "author"), True)


def test_rates_that_follow_their_sizes_have_no_excess_at_equal_size():
    """A = 0.1 + 0.2 size for controls and direction alike, but for a jump of 0.05."""
    sizes = np.array([1.0, 1.5, 2.0, 2.5, 3.0])
    for jump in (0.0, 0.05):
        result = rates.sized_excess(0.1 + 0.2 * 3.5 + jump, 3.5, 0.1 + 0.2 * sizes, sizes)
        line = np.polyfit([3.5, *sizes], [0.8 + jump, *(0.1 + 0.2 * sizes)], 1)
        rest = np.array([0.8 + jump, *(0.1 + 0.2 * sizes)]) - np.polyval(line, [3.5, *sizes])
        assert result.slope == pytest.approx(line[0])
        assert result.excess == pytest.approx(rest[0] - rest[1:].mean(), abs=1e-12)
    assert result.p_value == 1 / 6
