"""Directions, candidates along them, and what an excess over controls means."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from tiltmeter.operators.classifiers.adversary.candidates import (
    NONE,
    Candidates,
    nearest_candidates,
    pair_direction,
    shifted_candidates,
)
from tiltmeter.operators.classifiers.adversary.controls import (
    asymmetry,
    equalised,
    excess,
    matched_pairs,
    sphere_directions,
    two_sided,
    without_gender,
)
from tiltmeter.operators.statistics.units import each, units_of

VECTORS = np.random.default_rng(0).normal(size=(60, 8))


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
    candidates = Candidates(*(part[1] for part in every))
    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    for word in range(60):
        moved, crosses = VECTORS[word] + shifts[1], GENDERS * GENDERS[word] == -1
        cosines = unit @ moved / np.linalg.norm(moved)
        order = sorted(pool or range(60), key=lambda c: -cosines[c])
        near = set(sorted(pool or range(60), key=lambda c: -(unit[c] @ unit[word]))[:exclude])
        if crossings == "kept":
            near -= set(np.flatnonzero(crosses).tolist())
        if crossings == "barred":
            order = [c for c in order if not crosses[c]]
        kept = [c for c in order[:top] if c not in near]
        assert candidates.words[word].tolist() == kept + [NONE] * (top - len(kept))
        np.testing.assert_allclose(candidates.cosines[word, : len(kept)], cosines[kept])
        assert candidates.num_excluded[word] == top - len(kept)


def test_without_a_shift_nothing_is_a_candidate():
    """What is nearest is the word itself and its synonyms, which are left out."""
    assert (shifted_candidates(VECTORS, np.arange(60), np.zeros((1, 8))).words == NONE).all()
    assert shifted_candidates(VECTORS, np.arange(0), np.zeros((3, 8))).words.shape == (3, 0, 2)


def test_directions_without_gender_are_orthogonal_to_all_of_it_and_as_long_as_before():
    gender = np.stack([VECTORS[0], VECTORS[1], VECTORS[0] + VECTORS[1]])
    rest = without_gender(VECTORS[2:], gender)
    np.testing.assert_allclose(rest @ gender.T, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(rest, axis=1), np.linalg.norm(VECTORS[2:], axis=1))
    basis = np.linalg.qr(gender[:2].T)[0]
    projected = VECTORS[2] - basis @ (basis.T @ VECTORS[2])
    np.testing.assert_allclose(rest[0], projected * np.linalg.norm(VECTORS[2]) / np.linalg.norm(projected))
    np.testing.assert_array_equal(without_gender(VECTORS[:1], gender), np.zeros((1, 8)))


def test_neighbours_are_the_nearest_words_without_the_word():
    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    near = nearest_candidates(VECTORS, np.array([7, 3]), top=5).words[0]
    for row, word in zip(near.tolist(), (7, 3), strict=True):
        assert row == sorted(set(range(60)) - {word}, key=lambda c: -(unit[c] @ unit[word]))[:5]


def test_of_words_that_are_equally_near_the_first_is_taken():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    shifted = shifted_candidates(vectors, np.array([0]), np.array([[0.0, 5.0]]), top=2, exclude=1)
    assert shifted.words[0].tolist() == [[1, 2]]


def test_directions_of_pairs():
    starts = np.array([[0.0, 0.0], [0.0, 5.0]])
    for kind, end in (("mean", [2.0, 0.0]), ("principal_component", [-2.0, 0.0])):
        np.testing.assert_allclose(pair_direction(starts + np.array(end), starts, kind), end)
    with pytest.raises(ValueError, match="2 pairs have no direction in common"):
        pair_direction(starts, starts)


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
    first, second = np.zeros(40, bool), np.zeros(40, bool)
    first[:12], second[10:15] = True, True
    result = asymmetry(first, second, each(40, "text"))
    assert result.difference == pytest.approx(7 / 40)
    assert result.p_value == pytest.approx(2 * binom.cdf(3, 13, 0.5))
    assert asymmetry(second, first, each(40, "text")).difference == -result.difference
    same = asymmetry(first, first, each(40, "text"))
    assert np.isnan(same.p_value)
    assert (same.difference, same.too_few) == (0.0, (0, 6, "text that differs"))


def test_texts_of_one_author_differ_together():
    """8 authors with 5 texts each, of whom 7 flip one way: 2 (1 + 8) / 2^8, not the binomial tail of 40 texts."""
    authors = np.repeat(np.arange(8), 5)
    first = authors < 7
    result = asymmetry(first, ~first, units_of(authors, "author"))
    assert result.p_value == pytest.approx(18 / 256)
    assert asymmetry(first, ~first, each(40, "text")).p_value < 1e-5


def test_controls_that_come_to_the_same_count_however_their_numbers_are_rounded():
    """3 of 10 texts less 1 of 10 is 2 of 10, though 0.3 - 0.1 < 0.2; sums in another order differ as much."""
    assert 0.3 - 0.1 < 0.2
    assert two_sided(0.2, np.array([0.3 - 0.1])) == two_sided(-0.2, np.array([0.3 - 0.1])) == 1.0
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
    found = equalised(options, pl.DataFrame(counts))
    assert found.filter(control=3)["candidate"].to_list() == ["Crown"]
