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

    >>> round(float(tango_p(np.array(10), np.array(10), 1000, 0.01)), 4)
    0.0206
    """
    from scipy.special import ndtr

    linear = -(lost + won) - (2.0 * num - won + lost) * margin
    root = np.sqrt(linear**2 - 8.0 * num * lost * margin * (1.0 + margin))
    variance = num * ((root - linear) / (2.0 * num) - margin * (1.0 + margin))
    return np.where(lost + won == 0, (1.0 - margin) ** num, ndtr((lost - won - num * margin) / np.sqrt(variance)))


def margin_p(sums: FloatArray, sizes: NDArray[np.integer], margin: float) -> FloatArray:
    """p of "the mean is at most -margin", of sums of units ``[..., units]`` of so many items."""
    if _are_counts(sums, sizes):
        return tango_p((sums < 0.0).sum(axis=-1), (sums > 0.0).sum(axis=-1), sizes.size, margin)
    return one_sided_p(-sums, sizes, -margin)


def too_few(sums: FloatArray, sizes: NDArray[np.integer]) -> TooFew | None:
    """Why no decision can be made; None where one can."""
    differing = int(np.count_nonzero(sums))
    if _are_counts(sums, sizes) or (sizes.size >= MIN_UNITS and differing >= MIN_DIFFERING):
        return None
    few = sizes.size < MIN_UNITS
    return TooFew(sizes.size, MIN_UNITS, "cluster") if few else TooFew(differing, MIN_DIFFERING, "cluster that differs")


def _are_counts(sums: FloatArray, sizes: NDArray[np.integer]) -> bool:
    return bool(sizes.max() == 1 and np.isin(sums, (-1.0, 0.0, 1.0)).all())
