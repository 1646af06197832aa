"""Error rates of slices with their intervals, and whether texts that did not choose a slice confirm it."""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.shares import clopper_pearson

VERSION = "slice_rates/1"


def confirmed_p(values: FloatArray) -> FloatArray:
    """One-sided normal p-values of T on texts that did not choose the slices, by Holm over these; NaN counts as 1.

    >>> confirmed_p(np.array([3.0, 0.0, np.nan])).round(4)
    array([0.004, 1.   , 1.   ])
    """
    from scipy.special import ndtr

    return holm(np.where(np.isnan(values), 1.0, ndtr(-values)))


def sliceline_score(
    errors: IntArray, sizes: IntArray, num_errors: int, num_rows: int, alpha: float = 0.95
) -> FloatArray:
    """The score by which SliceLine ranks (Sagadeeva and Boehm 2021, equation 1), with errors of 0 or 1.

        alpha (e_S / |S| / (e / n) - 1) - (1 - alpha) (n / |S| - 1),

    which weighs how much worse a slice is against how small it is; it says nothing of chance.

    >>> sliceline_score(np.array([50]), np.array([100]), 250, 1000).round(3)
    array([0.5])
    """
    worse = (errors / sizes) / (num_errors / num_rows) - 1
    return np.asarray(alpha * worse - (1 - alpha) * (num_rows / sizes - 1))


class Change(NamedTuple):
    """How much worse a version of a model is than the one before, of each slice.

    Attributes:
        before, after: error rates.
        change: after less before.
        low, high: its interval.
    """

    before: FloatArray
    after: FloatArray
    change: FloatArray
    low: FloatArray
    high: FloatArray


def changes_of(members: BoolArray, before: BoolArray, after: BoolArray, level: float = 0.95) -> Change:
    """Changes of error rates on the same texts.

    Of a slice's n texts, b became wrong and c became right. Given b + c, b is binomial with a share s; the change is
    (b + c) (2 s - 1) / n, and the interval is that of s by Clopper and Pearson (McNemar's exact test, turned round).

    Args:
        members: ``[slices, texts]``.
        before, after: ``[texts]``, errors of each version.

    >>> members = np.ones((1, 10), dtype=bool)
    >>> changes = changes_of(members, np.arange(10) < 2, np.arange(10) < 6)
    >>> [round(float(values[0]), 3) for values in changes]
    [0.2, 0.6, 0.4, -0.082, 0.4]
    """
    sizes = members.sum(axis=1)
    worse, better = (members & after & ~before).sum(axis=1), (members & before & ~after).sum(axis=1)
    moved = worse + better
    share = clopper_pearson(worse, moved, level)
    ends = [np.where(moved > 0, moved * (2 * end - 1) / sizes, 0.0) for end in (share.low, share.high)]
    return Change(
        (members & before).sum(axis=1) / sizes, (members & after).sum(axis=1) / sizes, (worse - better) / sizes, *ends
    )
