"""Rows of the table ``validation``: what was measured of occupations, held against a number known of each."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.embedding.lookup import estimate
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.operators.statistics.correlation import Kind, correlation, replicated
from tiltmeter.operators.statistics.intervals import FISHER, IntervalSettings
from tiltmeter.operators.statistics.replicas import Replicated

_MIN_OCCUPATIONS = 3


def validated(
    key: Mapping[str, Any],
    values: NDArray[np.float64] | Replicated,
    against: NDArray[np.float64] | Replicated,
    intervals: IntervalSettings,
) -> Row:
    """Both correlations over occupations.

    Args:
        key: ``measure``, ``against`` and the other columns that identify the row.
        values: ``[occupations]``, the point estimates, or with those of each embedding ``[embeddings, occupations]``,
            from which intervals come; NaN where an occupation has none.
        against: the same of the other side, or ``[occupations]`` where it is the same in all embeddings.
        intervals: how they are made.
    """
    result = correlation(_original(values), _original(against))
    row = {**key, **result._asdict(), "num_occupations": result.num}
    if isinstance(values, Replicated):
        row |= _intervals(result.pearson, "pearson", values, against, intervals)
        row |= _intervals(result.spearman, "spearman", values, against, intervals)
    del row["num"]
    if result.num < _MIN_OCCUPATIONS:
        return row | failed("too_few_occupations", f"{result.num} occupations have both, {_MIN_OCCUPATIONS} are needed")
    if np.isnan(result.pearson):
        return row | failed("constant", "all occupations have the same value on one side")
    return row | OK


def _original(values: NDArray[np.float64] | Replicated) -> NDArray[np.float64]:
    return values.original if isinstance(values, Replicated) else values


def _intervals(
    value: float, kind: Kind, values: Replicated, against: NDArray[np.float64] | Replicated, intervals: IntervalSettings
) -> Row:
    other = against if isinstance(against, Replicated) else Replicated(against, against, against)
    replicas, starts = (
        replicated(getattr(values, part), getattr(other, part), kind) for part in ("replicas", "starts")
    )
    return estimate(kind, Replicated(np.array(value), replicas, starts), intervals, FISHER)
