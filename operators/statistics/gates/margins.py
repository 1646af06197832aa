"""One decision: is a system at most so much worse than another, or as good within a margin?

Of items that are right or wrong and share nothing, b lost and c won of n, at the margin m, Tango 1998 (*Equivalence
test and confidence interval for the difference in proportions for the paired-sample design*): with d = -m,

    z = (c - b - n d) / sqrt(n (2 q + d (1 - d))),  q = (sqrt(B^2 - 8 n C) - B) / (4 n),
    B = -(b + c) + (2 n - c + b) d,  C = -b d (1 - d).

Where none is lost or won, p = (1 - m)^n: the upper end of Clopper and Pearson's 1934 interval of the share lost lies
below m where that is below the level. Other scores, and clusters, go by Student's t over clusters: 30 at least, and 10
that differ.
"""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.gates.nightly import one_sided_p
from tiltmeter.operators.statistics.units import TooFew

MIN_UNITS, MIN_DIFFERING = 30, 10


def tango_p(lost: NDArray[np.integer], won: NDArray[np.integer], num: int, margin: float) -> FloatArray:
    """p of "lost less won is a share of at least the margin", each of ``[...]``, of ``num`` items.

    >>> round(float(tango_p(np.array(10), np.array(10), 1000, 0.01)), 4), float(tango_p(0, 0, 2, 0.5))
    (0.0206, 0.25)
    """
    from scipy.special import ndtr

    lost, won = np.asarray(lost, dtype=np.float64), np.asarray(won, dtype=np.float64)
    linear = -(lost + won) - (2.0 * num - won + lost) * margin
    constant = lost * margin * (1.0 + margin)
    q = (np.sqrt(np.maximum(linear**2 - 8.0 * num * constant, 0.0)) - linear) / (4.0 * num)
    z = (won - lost + num * margin) / np.sqrt(num * (2.0 * q - margin * (1.0 + margin)))
    return np.asarray(np.where(lost + won == 0, (1.0 - margin) ** num, ndtr(-z)))


def margin_p(sums: NDArray[np.floating], sizes: NDArray[np.integer], margin: float) -> FloatArray:
    """p of "the mean is at most -margin", of sums of units ``[..., units]`` of so many items."""
    if _are_counts(sums, sizes):
        return tango_p((sums < 0.0).sum(axis=-1), (sums > 0.0).sum(axis=-1), sizes.size, margin)
    return one_sided_p(-np.asarray(sums), sizes, -margin)


def too_few(sums: NDArray[np.floating], sizes: NDArray[np.integer], kind: str) -> TooFew | None:
    """Why no decision can be made; ``kind`` is what the units are."""
    differing = int(np.count_nonzero(sums))
    if _are_counts(sums, sizes) or (sizes.size >= MIN_UNITS and differing >= MIN_DIFFERING):
        return None
    return (
        TooFew(differing, MIN_DIFFERING, f"{kind} that differs")
        if sizes.size >= MIN_UNITS
        else TooFew(sizes.size, MIN_UNITS, kind)
    )


def chance_if_equal(square: float, num: int, margin: float, level: float) -> float:
    """About how often an equal system is shown to be at most the margin worse: Phi(margin / sd - z).

    >>> round(chance_if_equal(0.2, 1000, 0.01, 0.05), 2)
    0.17
    """
    from scipy.special import ndtr, ndtri

    spread = (square / num) ** 0.5
    return float(ndtr(margin / spread + ndtri(level))) if spread > 0.0 else 1.0


def _are_counts(sums: NDArray[np.floating], sizes: NDArray[np.integer]) -> bool:
    return bool(sizes.max() == 1 and np.isin(sums, (-1.0, 0.0, 1.0)).all())
