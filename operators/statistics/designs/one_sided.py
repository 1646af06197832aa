"""One-sided tests of sums of independent scores, such as those of groups of texts."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.statistics.means import MIN_KISH
from tiltmeter.operators.statistics.units import TooFew, kish

VERSION = "one_sided/1"


def positive_p(scores: NDArray[np.floating], weights: NDArray[np.floating], kind: str) -> tuple[float, TooFew | None]:
    """Whether independent scores are larger than 0 on average: Student's t of K* - 1, K* of :func:`.kish`.

    t = sum U / sqrt(K s^2), s^2 the variance of the K scores. No p lies below 2^-k of k scores that are not 0, which is
    how often all their signs agree by chance.

    Args:
        scores: ``[units]``, U; null: each is as likely to be -U.
        weights: ``[units]``, how much each says, such as its texts.
        kind: of the units.

    Returns:
        NaN, and why, with fewer than four units of one weight.

    >>> p, _ = positive_p(np.array([1.0, 2.0, 3.0, 2.0, 2.0]), np.ones(5), "speaker")
    >>> round(p, 5), positive_p(np.ones(2), np.ones(2), "speaker")[1]
    (0.03125, TooFew(have=2.0, need=4, kind='speaker'))
    """
    from scipy.special import stdtr

    effective, num = kish(weights), scores.size
    if effective < MIN_KISH:
        return float("nan"), TooFew(effective, MIN_KISH, kind)
    error = float(scores.std(ddof=1)) * num**0.5
    total, differing = float(scores.sum()), int(np.count_nonzero(scores))
    if not error > 0.0:
        return 1.0 if total <= 0.0 else 2.0 ** -min(differing, 1074), None
    return max(float(stdtr(effective - 1.0, -total / error)), 2.0 ** -min(differing, 1074)), None
