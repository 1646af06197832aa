"""Rows of the table ``validation``: what was measured of occupations, held against a number known of each."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.operators.statistics.correlation import correlation, replicated
from tiltmeter.operators.statistics.intervals import percentile_interval

_MIN_OCCUPATIONS = 3


def validated(
    key: Mapping[str, Any],
    values: NDArray[np.float64],
    against: NDArray[np.float64],
    level: float,
    replicas: NDArray[np.float64] | None = None,
    replicas_against: NDArray[np.float64] | None = None,
) -> Row:
    """Both correlations over occupations.

    Args:
        key: ``measure``, ``against`` and the other columns that identify the row.
        values: ``[occupations]``, the point estimates; NaN where an occupation has none.
        against: ``[occupations]``.
        level: coverage of the intervals.
        replicas: ``[replicas, occupations]``, the replicas' own values, from which the intervals come.
        replicas_against: the same of the other side, where it differs between replicas.
    """
    result = correlation(values, against)
    row = {
        **key,
        **result._asdict(),
        "num_occupations": result.num,
        **_intervals(replicas, replicas_against, against, level),
    }
    del row["num"]
    if result.num < _MIN_OCCUPATIONS:
        return row | failed("too_few_occupations", f"{result.num} occupations have both, {_MIN_OCCUPATIONS} are needed")
    if np.isnan(result.pearson):
        return row | failed("constant", "all occupations have the same value on one side")
    return row | OK


def _intervals(
    replicas: NDArray[np.float64] | None,
    replicas_against: NDArray[np.float64] | None,
    against: NDArray[np.float64],
    level: float,
) -> Row:
    if replicas is None or not len(replicas):
        return {}
    other = against if replicas_against is None else replicas_against
    row: Row = {}
    for kind in ("pearson", "spearman"):
        interval = percentile_interval(replicated(replicas, other, kind), level)
        row |= {f"{kind}_low": float(interval.low), f"{kind}_high": float(interval.high)}
    return row
