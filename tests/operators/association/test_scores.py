import math
import statistics
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.association.scores import (
    Statistic,
    associations,
    effect_scale,
    effect_size,
    weat_score,
    wefat,
)
from tiltmeter.operators.embedding.similarity import Measure, pairwise
from tiltmeter.operators.statistics.partitions.permutation import Alternative, permutation_p_value

_MEASURES: tuple[Measure, ...] = ("cosine", "manhattan")


def _random(seed: int, replicas: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Measures of 8 words, 4 of them targets X, to 3 attributes A and 6 attributes B."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 5, (replicas, 8, 3)), rng.uniform(0, 5, (replicas, 8, 6))


def _scores(seed: int) -> np.ndarray:
    return associations(*_random(seed), "mean", "cosine")


def _at(*degrees: float) -> np.ndarray:
    """One replica of words in the plane, ``[1, words, 2]``."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)[np.newaxis]


def _to_axes(*degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Cosines with attribute A, at 0 degrees, and B, at 90."""
    return pairwise(_at(*degrees), _at(0), "cosine"), pairwise(_at(*degrees), _at(90), "cosine")


@pytest.mark.parametrize(("statistic", "difference"), [("mean", 1.0), ("median", 1.75), ("min", -0.5), ("max", 2.0)])
def test_statistics_by_hand(statistic: Statistic, difference: float) -> None:
    # A: mean 4, median 5, 1 to 6. B: mean 3, median 3.25, 1.5 to 4.
    to_a, to_b = np.array([[[5.0, 1.0, 6.0]]]), np.array([[[3.0, 1.5, 4.0, 3.5]]])
    assert associations(to_a, to_b, statistic, "cosine")[0, 0] == pytest.approx(difference)
    assert associations(to_a, to_b, statistic, "manhattan")[0, 0] == pytest.approx(-difference)


@pytest.mark.parametrize(("measure", "scale"), [("euclidean", 1.0), ("manhattan", 1.0), ("mahalanobis", 2.0)])
@pytest.mark.parametrize(("ddof", "effect"), [(1, 2 / math.sqrt(8 / 5)), (0, 2 / math.sqrt(8 / 6))])
@pytest.mark.parametrize(("alternative", "num_partitions"), [("greater", 1), ("less", 20), ("two-sided", 2)])
def test_equation_2_by_hand_on_a_line(
    measure: Measure, scale: float, ddof: int, effect: float, alternative: Alternative, num_partitions: int
) -> None:
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
def test_smallest_gaps_are_those_of_all_pairs_and_have_no_direction(seed: int, measure: Measure, digits: int) -> None:
    to_a, to_b = (values.round(digits) for values in _random(seed))
    found = associations(to_a, to_b, "smallest_gap", measure)
    all_pairs = np.abs(to_a[..., :, np.newaxis] - to_b[..., np.newaxis, :])
    np.testing.assert_array_equal(found, all_pairs.min(axis=(2, 3)))
    np.testing.assert_array_equal(found, associations(to_b, to_a, "smallest_gap", measure))


@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_effect_sizes_agree_with_plain_loops(seed: int, num_x: int) -> None:
    (to_a, to_b), scores = _random(seed), _scores(seed)
    for ddof, sd in ((0, statistics.pstdev), (1, statistics.stdev)):

        def apart(one: list[float], other: list[float], sd=sd) -> float:
            return (statistics.fmean(one) - statistics.fmean(other)) / sd([*one, *other])

        expected = [apart(row[:num_x], row[num_x:]) for row in scores.tolist()]
        np.testing.assert_allclose(effect_size(scores, num_x, ddof), expected, rtol=1e-9, atol=1e-12)
        words = [list(map(apart, *rows)) for rows in zip(to_a.tolist(), to_b.tolist(), strict=True)]
        np.testing.assert_allclose(wefat(to_a, to_b, "cosine", ddof), words, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(wefat(to_a, to_b, "euclidean", ddof), -wefat(to_a, to_b, "cosine", ddof))


@pytest.mark.parametrize("statistic", get_args(Statistic))
def test_missing_words_and_attributes_leave_the_other_associations(statistic: Statistic) -> None:
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


def test_what_does_not_vary_has_no_effect_size() -> None:
    scores = np.array([[0.1 + 0.2, 0.3, 0.3], [1e-17, 0.0, -1e-17], [1e6, 1e6 + 1e-9, 1e6], [1.0, 1.0, -1.0]])
    assert np.isnan(effect_size(scores, 1)).tolist() == [True, True, True, False]
    assert np.isnan(wefat(*_to_axes(45, 40), "cosine")).tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda a, b: associations(a, b, "mode", "cosine"),
            "statistic='mode': must be one of mean, .*, smallest_gap",
        ),
        (lambda a, b: associations(a, b, "mean", "dot"), "measure='dot': must be one of cosine"),
        (lambda a, b: associations(a, b[:, :, :0], "mean", "cosine"), r"to_b has shape \(3, 8, 0\)"),
        (lambda a, b: wefat(a, b[:1], "cosine"), "must share their replicas and words"),
        (lambda a, b: wefat(a, b, "cosine", ddof=2), "ddof=2: must be 1"),
        (lambda *_: effect_size(_scores(5), 4, ddof=2), "ddof=2: must be 1"),
        (lambda *_: effect_size(_scores(5), 8), r"num_x=8 of scores \(3, 8\)"),
        (lambda *_: weat_score(_scores(5), 0), "num_x=0"),
    ],
)
def test_refusals(ask, message) -> None:
    with pytest.raises(ValueError, match=message):
        ask(*_random(5))
