"""Numbers of texts with their intervals, as columns."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.jobs.runtime.columns import interval, number
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.intervals import Scale
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts, resampled_mean
from tiltmeter.operators.statistics.text_intervals import ResampleSettings


def estimate_columns(name: str, sentence: str, draws: str, unit: str = "") -> list[pa.Field]:
    """The columns of a number with its interval.

    Args:
        name: of the number.
        sentence: what it is.
        draws: what is resampled.
        unit: of the number.
    """
    return [
        number(name, sentence, unit),
        *interval(name, f"interval of {name} over resamples of {draws}, by intervals.interval", unit),
    ]


def mean_of_texts(
    name: str, values: NDArray[np.float64], config: Mapping[str, Any], scale: Scale
) -> dict[str, float | None]:
    """A mean over texts, with its interval over resamples that are keyed by its name.

    Args:
        name: of the mean.
        values: ``[texts]``, at least one.
        config: of the unit: ``seed`` and ``intervals``.
        scale: of the mean.
    """
    intervals, strata = config["intervals"], np.zeros(len(values), dtype=np.int64)
    blocks = resampled_counts(strata, config["seed"], document_key(name), intervals.num_resamples)
    return with_interval(name, resampled_mean(values, np.concatenate(list(blocks))), intervals, scale)


def with_interval(name: str, estimate: Estimate, intervals: ResampleSettings, scale: Scale) -> dict[str, float | None]:
    """A number and the ends of its interval.

    Args:
        name: of the number.
        estimate: over the texts, or pools of them.
        intervals: how they are made.
        scale: of the number.
    """
    low, high, _ = intervals.over(estimate, scale)
    return with_ends(name, float(estimate.value), float(low), float(high))


def with_ends(name: str, value: float, low: float, high: float) -> dict[str, float | None]:
    """The columns of a number with an interval; None for NaN."""
    columns = {name: value, f"{name}_low": low, f"{name}_high": high}
    return {key: None if math.isnan(end) else end for key, end in columns.items()}
