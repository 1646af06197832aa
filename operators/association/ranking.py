"""Numbers by which embeddings are ranked: how far measures of bias lie from an embedding without it; and WEFE's."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

Aggregation = Literal["sum", "avg", "abs_sum", "abs_avg"]

RELATIVE = ("rnsb", "rnsb_penalised")
"""Measures whose largest value is ln n."""


def distance_from_ideal(values: NDArray[np.floating], measure: str, neutral: float, num_compared: int) -> FloatArray:
    """|value - neutral|, which is 0 without the bias; of RNSB divided by ln n, its largest value.

    Args:
        values: of a measure, any shape.
        measure: its name.
        neutral: its value without the bias.
        num_compared: n, words of both targets.

    >>> distance_from_ideal(np.array([0.25, 1.0]), "ect", 1.0, 4), distance_from_ideal(np.array([0.5]), "rnsb", 0.0, 4)
    (array([0.75, 0.  ]), array([0.36067376]))
    """
    largest = math.log(num_compared) if measure in RELATIVE else 1.0
    return np.asarray(np.abs(values - neutral) / largest, dtype=np.float64)


def as_wefe(values: NDArray[np.floating], aggregation: Aggregation) -> FloatArray:
    """WEFE's number of each model, by which it ranks them in ascending order (Badilla, Bravo-Marquez and Perez 2020).

    A query without an answer counts for nothing: as no bias in a sum, and not at all in a mean. And a small number is
    the first, whatever it says: of ECT the most biased.

    Args:
        values: ``[models, queries]``, NaN where a model has no answer.
        aggregation: of the values, or of their sizes.

    >>> values = np.array([[-2.271961, -1.798822], [np.nan, -1.798822]])
    >>> as_wefe(values, "abs_sum"), as_wefe(values, "avg").round(6)
    (array([4.070783, 1.798822]), array([-2.035392, -1.798822]))
    """
    sizes = np.abs(values) if aggregation.startswith("abs") else values
    sums, num = np.nansum(sizes, axis=1), np.isfinite(values).sum(axis=1)
    return np.asarray(sums / np.where(num > 0, num, np.nan) if aggregation.endswith("avg") else sums)
