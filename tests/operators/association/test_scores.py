"""WEAT and WEFAT: scores and effect sizes by hand and by plain loops, and a whole test in one call."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.association import weat
from tiltmeter.operators.association.covariance import precision
from tiltmeter.operators.association.scores import associations, effect_scale, effect_size, weat_score, wefat
from tiltmeter.operators.embedding.similarity import Measure, pairwise
from tiltmeter.operators.statistics.partitions.permutation import permutation_p_value

_MEASURES: tuple[Measure, ...] = ("cosine", "manhattan")


def _random(seed, replicas=3):
    """Measures of 8 words, 4 of them targets X, to 3 attributes A and 6 attributes B."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 5, (replicas, 8, 3)), rng.uniform(0, 5, (replicas, 8, 6))


def _scores(seed):
    return associations(*_random(seed), "mean", "cosine")


@pytest.mark.parametrize(("statistic", "difference"), [("mean", 1.0), ("median", 1.75), ("min", -0.5), ("max", 2.0)])
def test_statistics_by_hand(statistic, difference):
    # A: mean 4, median 5, 1 to 6. B: mean 3, median 3.25, 1.5 to 4.
    to_a, to_b = np.array([[[5.0, 1.0, 6.0]]]), np.array([[[3.0, 1.5, 4.0, 3.5]]])
    assert associations(to_a, to_b, statistic, "cosine")[0, 0] == pytest.approx(difference)
    assert associations(to_a, to_b, statistic, "manhattan")[0, 0] == pytest.approx(-difference)


@pytest.mark.parametrize(("measure", "scale"), [("euclidean", 1.0), ("manhattan", 1.0), ("mahalanobis", 2.0)])
@pytest.mark.parametrize(("ddof", "effect"), [(1, 2 / math.sqrt(8 / 5)), (0, 2 / math.sqrt(8 / 6))])
@pytest.mark.parametrize(("alternative", "num_partitions"), [("greater", 1), ("less", 20), ("two-sided", 2)])
def test_equation_2_by_hand_on_a_line(measure, scale, ddof, effect, alternative, num_partitions):
    """Three words each: X at 4, 10 and 22, Y at 1, 15 and 0.5, A at 0, 8 and 20, B at 3, 30 and 50.

    The word at 4 has the distances 4, 4, 16 and 1, 26, 46, of which 4 and 1 are nearest to each other: its gap is 3.
    The gaps are 3, 3, 3 and 1, 0, 2, so of 20 partitions only the given one has a sum of 9, and one a sum of 3.
    """
    places = [4, 10, 22, 1, 15, 0.5], [0, 8, 20], [3, 30, 50]
    targets, a, b = (np.stack([row, np.zeros(len(row))], axis=1)[np.newaxis] for row in places)
    precision = scale**2 * np.eye(2)[np.newaxis] if measure == "mahalanobis" else None
    scores = associations(
        pairwise(targets, a, measure, precision), pairwise(targets, b, measure, precision), "smallest_gap", measure
    )
    np.testing.assert_allclose(scores, scale * np.array([[3.0, 3.0, 3.0, 1.0, 0.0, 2.0]]), atol=1e-12)
    assert weat_score(scores, 3)[0] == pytest.approx(scale * 6.0)
    assert effect_size(scores, 3, ddof)[0] == pytest.approx(effect)
    p = permutation_p_value(scores[0, :3], scores[0, 3:], alternative=alternative)
    assert p.value == pytest.approx(num_partitions / 20)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize(("num_x", "num_y"), [(1, 1), (3, 3), (2, 7)])
def test_no_effect_size_exceeds_its_scale_and_sets_that_differ_in_nothing_else_reach_it(ddof, num_x, num_y):
    scale = effect_scale(num_x, num_y, ddof)
    apart = np.repeat([1.0, -1.0], [num_x, num_y])[np.newaxis]
    assert effect_size(apart, num_x, ddof)[0] == pytest.approx(scale.high)
    scores = np.random.default_rng(0).normal(size=(500, num_x + num_y))
    assert np.abs(effect_size(scores, num_x, ddof)).max() <= scale.high * (1 + 1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(_MEASURES), st.integers(0, 2))
def test_smallest_gaps_are_those_of_all_pairs_and_have_no_direction(seed, measure, digits):
    to_a, to_b = (values.round(digits) for values in _random(seed))
    found = associations(to_a, to_b, "smallest_gap", measure)
    all_pairs = np.abs(to_a[..., :, np.newaxis] - to_b[..., np.newaxis, :])
    np.testing.assert_array_equal(found, all_pairs.min(axis=(2, 3)))
    np.testing.assert_array_equal(found, associations(to_b, to_a, "smallest_gap", measure))


@pytest.mark.long
@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_effect_sizes_agree_with_plain_loops(seed, num_x):
    (to_a, to_b), scores = _random(seed), _scores(seed)
    for ddof, sd in ((0, statistics.pstdev), (1, statistics.stdev)):

        def apart(one, other, sd=sd):
            return (statistics.fmean(one) - statistics.fmean(other)) / sd([*one, *other])

        expected = [apart(row[:num_x], row[num_x:]) for row in scores.tolist()]
        np.testing.assert_allclose(effect_size(scores, num_x, ddof), expected, rtol=1e-9, atol=1e-12)
        words = [list(map(apart, *rows)) for rows in zip(to_a.tolist(), to_b.tolist(), strict=True)]
        np.testing.assert_allclose(wefat(to_a, to_b, "cosine", ddof), words, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(wefat(to_a, to_b, "euclidean", ddof), -wefat(to_a, to_b, "cosine", ddof))


@pytest.mark.parametrize("statistic", ["mean", "median", "min", "max", "smallest_gap"])
def test_missing_words_and_attributes_leave_the_other_associations(statistic):
    to_a, to_b = _random(3, replicas=4)
    to_a[1, 2] = to_b[1, 2] = np.nan  # a word
    to_a[2, :, 2] = to_b[3, :, 2] = np.nan  # an attribute
    missing = np.zeros((4, 8), dtype=bool)
    missing[1, 2] = missing[2:] = True
    scores = associations(to_a, to_b, statistic, "euclidean")
    np.testing.assert_array_equal(np.isnan(scores), missing)
    np.testing.assert_array_equal(np.isnan(wefat(to_a, to_b, "euclidean")), missing)
    assert np.isnan(weat_score(scores, 4)).tolist() == [False, True, True, True]
    assert np.isnan(effect_size(scores, 4)).tolist() == [False, True, True, True]


def test_what_does_not_vary_has_no_effect_size():
    scores = np.array([[0.1 + 0.2, 0.3, 0.3], [1e-17, 0.0, -1e-17], [1e6, 1e6 + 1e-9, 1e6], [1.0, 1.0, -1.0]])
    assert np.isnan(effect_size(scores, 1)).tolist() == [True, True, True, False]
    radians = np.radians([[45.0, 40.0]])
    to_axes = np.cos(radians)[..., np.newaxis], np.sin(radians)[..., np.newaxis]
    assert np.isnan(wefat(*to_axes, "cosine")).tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda a, b: associations(a, b, "mode", "cosine"), "statistic='mode': must be one of mean, .*, smallest_gap"),
        (lambda a, b: associations(a, b, "mean", "dot"), "measure='dot': must be one of cosine"),
        (lambda a, b: associations(a, b[:, :, :0], "mean", "cosine"), r"to_b has shape \(3, 8, 0\)"),
        (lambda a, b: wefat(a, b[:1], "cosine"), "must share their replicas and words"),
        (lambda a, b: wefat(a, b, "cosine", ddof=2), "ddof=2: must be 1"),
        (lambda *_: effect_size(_scores(5), 4, ddof=2), "ddof=2: must be 1"),
        (lambda *_: effect_size(_scores(5), 8), r"num_x=8 of scores \(3, 8\)"),
        (lambda *_: weat_score(_scores(5), 0), "num_x=0"),
    ],
)
def test_refusals(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(*_random(5))


@pytest.fixture
def sets():
    """X, Y, A and B, ``[replicas, words, dims]``."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=(3, num, 6)) for num in (5, 4, 3, 7)]


@pytest.mark.parametrize(
    ("similarity", "statistic"),
    [("cosine", "mean"), ("manhattan", "median"), ("euclidean", "min"), ("mahalanobis", "max")],
)
def test_all_is_what_the_functions_give_one_by_one(sets, similarity, statistic):
    x, y, *sides = sets
    matrices = [np.stack([precision(replica) for replica in side]) for side in sides]
    matrices = matrices if similarity == "mahalanobis" else [None, None]
    targets = np.concatenate([x, y], axis=1)
    near = [pairwise(targets, side, similarity, matrix) for side, matrix in zip(sides, matrices, strict=True)]
    scores = associations(*near, statistic, similarity)
    precisions = tuple(matrices) if similarity == "mahalanobis" else None
    test = weat(*sets, similarity, statistic, ddof=0, precisions=precisions)
    assert np.array_equal(test.scores, scores)
    assert np.array_equal(test.effect_size, effect_size(scores, 5, 0))
    assert np.array_equal(test.score, weat_score(scores, 5))
    for row, value, low in zip(scores, test.p_value, test.p_low, strict=True):
        p = permutation_p_value(row[:5], row[5:], 0.005)
        assert (value, low) == (p.value, p.low)


def test_vectors_without_replicas_give_numbers_and_a_replica_that_lacks_a_word_none(sets):
    whole, alone = weat(*sets), weat(*(vectors[1] for vectors in sets))
    sets[0][1, 0] = np.nan
    lacking = weat(*sets)
    assert np.isnan([lacking.effect_size[1], lacking.p_value[1], lacking.p_low[1], lacking.score[1]]).all()
    assert np.isfinite([lacking.effect_size[0], lacking.p_value[2]]).all()
    assert alone.scores.shape == (9,)
    assert [float(value) for value in alone[:4]] == [float(value[1]) for value in whole[:4]]


def test_mahalanobis_takes_a_matrix_for_each_attribute_set(sets):
    matrices = tuple(precision(vectors[0]) for vectors in sets[2:])
    alone = weat(*(vectors[0] for vectors in sets), "mahalanobis", precisions=matrices)
    whole = weat(*sets, "mahalanobis", precisions=tuple(np.stack([matrix] * 3) for matrix in matrices))
    assert alone.effect_size == whole.effect_size[0]
    with pytest.raises(ValueError, match="precision"):
        weat(*sets, "mahalanobis")


def test_bounds_of_p_are_as_near_to_each_other_as_is_asked_for():
    rng = np.random.default_rng(1)
    test = weat(*(rng.normal(size=(num, 6)) for num in (24, 20, 3, 7)), relative_width=0.002)
    p = permutation_p_value(test.scores[:24], test.scores[24:], 0.002)
    assert (test.p_value, test.p_low) == (p.value, p.low)
    assert test.p_low < test.p_value < test.p_low * 1.00201
