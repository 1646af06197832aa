"""Ratings of sentiment systems from their scores of one data set, in one call."""

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.sentiment.deconfounding import (
    ALPHA,
    Design,
    EmptyCells,
    deconfounding_impact,
    dependence,
    largest_impact,
)
from tiltmeter.operators.sentiment.ranking import complete_order, partial_order
from tiltmeter.operators.sentiment.rejection import weighted_rejections
from tiltmeter.operators.statistics.two_samples import DEFINITION, Convention, coded, moments, pairwise_tests
from tiltmeter.operators.statistics.units import each

Measure = Literal["wrs", "die"]


class Ratings(NamedTuple):
    """Attributes:
    measure: what systems are rated by: ``wrs``, the weighted rejection score, or ``die``, the largest deconfounding
        impact in percent.
    raw_scores: ``[systems]`` float64 in its unit, small where a system is little biased; NaN where it is undefined.
    ranks: ``[systems]`` int64, 1 for the least biased; 0 without a raw score.
    levels: ``[systems]`` int64, the rating, from 1 for the least biased; 0 without a raw score.
    """

    measure: Measure
    raw_scores: FloatArray
    ranks: IntArray
    levels: IntArray


def rate(
    scores: NDArray[np.floating],
    protected: Sequence[Hashable],
    emotions: Sequence[Hashable] | None = None,
    *,
    measure: Measure | None = None,
    design: Design | None = None,
    num_levels: int = 3,
    convention: Convention = DEFINITION,
    empty_cells: EmptyCells = "renormalise",
) -> Ratings:
    """Rate systems by how far their sentiment depends on a protected attribute (Lakkaraju et al. 2023).

    Scores are taken as they are, also by :data:`.two_samples.PUBLISHED`: round those that its program has rounded.

    Args:
        scores: ``[systems, texts]``, in [-1, 1]; NaN where a system has no score.
        protected: ``[texts]``, the value of the attribute, such as a gender.
        emotions: ``[texts]``, None for a text that has none and no part in the impact; None if no text has one.
        measure: None for the impact if the emotion depends on the attribute, and the rejections if it does not.
        design: whether it does; None: the impact where a test over texts says so (:func:`.deconfounding.dependence`).
        num_levels: levels of the ratings.
        convention: of the tests, :data:`.two_samples.DEFINITION`, :data:`.two_samples.PUBLISHED` or one of your own.
        empty_cells: see :func:`.deconfounding.deconfounding_impact`.

    Raises:
        ValueError: if the shapes do not fit, a score is out of range, or the impact is asked for without emotions.

    >>> scores = np.array([[0.1, 0.2, 0.1, 0.2], [0.9, 0.8, -0.9, -0.8]])
    >>> rate(scores, ["female", "female", "male", "male"], num_levels=2)
    Ratings(measure='wrs', raw_scores=array([0. , 2.4]), ranks=array([1, 2]), levels=array([1, 2]))
    """
    rows, cells = np.asarray(scores, dtype=np.float64), coded(protected).codes
    felt = None if emotions is None else _codes(emotions)
    _check(rows, cells, felt)
    known = ~np.isnan(rows)
    measure = measure or _measure(cells, felt, design)
    if measure == "wrs":
        raw = [_rejections(row[has], cells[has], convention) for row, has in zip(rows, known, strict=True)]
    elif felt is not None:
        has_both = known & (felt >= 0)
        raw = [_impact(row[has], felt[has], cells[has], empty_cells) for row, has in zip(rows, has_both, strict=True)]
    else:
        raise ValueError(f"measure={measure!r} without emotions: give the emotion of each text, or take 'wrs'")
    raw_scores = np.array(raw, dtype=np.float64)
    return Ratings(measure, raw_scores, partial_order(raw_scores), complete_order(raw_scores, num_levels))


def _codes(emotions: Sequence[Hashable]) -> IntArray:
    """The number of each emotion; -1 for none."""
    has_emotion = np.array([emotion is not None for emotion in emotions], dtype=bool)
    felt = np.full(len(emotions), -1)
    felt[has_emotion] = coded(emotion for emotion in emotions if emotion is not None).codes
    return felt


def _check(scores: FloatArray, cells: IntArray, felt: IntArray | None) -> None:
    if scores.ndim != 2 or any(codes.shape != scores.shape[1:] for codes in (cells, *([] if felt is None else [felt]))):
        raise ValueError(
            f"scores {scores.shape} of {cells.size} protected values: must be [systems, texts], with a protected value "
            "and, if any, an emotion for each text"
        )


def _measure(cells: IntArray, felt: IntArray | None, design: Design | None) -> Measure:
    """The impact, if the emotions of the texts depend on the attribute."""
    if felt is None or not (felt >= 0).any():
        return "wrs"
    if design is not None:
        return "die" if design == "confounded" else "wrs"
    has = felt >= 0
    p, _ = dependence(felt[has], cells[has], each(int(has.sum()), "text"), seed=0, about=0)
    return "die" if p <= ALPHA else "wrs"


def _rejections(scores: FloatArray, cells: IntArray, convention: Convention) -> float:
    """NaN if no two values have 2 scores each."""
    p_values = pairwise_tests(moments(scores, cells, int(cells.max(initial=0)) + 1), convention).p
    return float(weighted_rejections(p_values, convention).score) if np.isfinite(p_values).any() else np.nan


def _impact(scores: FloatArray, felt: IntArray, cells: IntArray, empty_cells: EmptyCells) -> float:
    return float(largest_impact([deconfounding_impact(scores, felt, cells, empty_cells=empty_cells)]))
