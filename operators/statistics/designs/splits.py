"""Numbers over repeated splits of the same units (Nadeau and Bengio 2003, *Inference for the generalization error*).

J splits that each test on a share t of the units share most of what they train and test on. The variance of their mean
is (1 / J + t / (1 - t)) s^2, with Student's t of J - 1 degrees of freedom; s^2 / J alone rejects true hypotheses in 14
to 48 % of cases. Splits that agree are no certainty: a mean between two borders spreads at least as much as one of all
units that were tested.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.statistics.intervals import Scale, check_level
from tiltmeter.operators.statistics.text_intervals import is_bounded, score_interval

VERSION = "splits/1"

_NAN = float("nan")

MIN_SPLITS = 2
ADVISED_SPLITS = 5


class Repeated(NamedTuple):
    """Attributes:
    mean, low, high: of the number over splits, with its interval.
    sd: between splits.
    df: degrees of freedom.
    p: of a mean of 0, two-sided.
    num: splits with a number.
    """

    mean: float
    low: float
    high: float
    sd: float
    df: float
    p: float
    num: int


def num_tested(num_units: float, test_share: float, num_splits: int) -> float:
    """How many different units so many splits test on, on average: n (1 - (1 - t)^J).

    >>> round(num_tested(100, 0.2, 5), 1)
    67.2
    """
    return num_units * (1.0 - (1.0 - test_share) ** num_splits)


def repeated(
    values: NDArray[np.floating], *, test_share: float, tested_units: float, level: float, scale: Scale
) -> Repeated:
    """The mean over splits, as above.

    Args:
        values: ``[splits]``; NaN where a split has none.
        test_share: t, of the units that each split tests on, strictly between 0 and 1.
        tested_units: that any split tested on, by :func:`num_tested`; for P@K at most K J.
        level: of the interval.
        scale: of the number, with its borders.

    Returns:
        NaN for all but the mean with fewer than two splits.

    Raises:
        ValueError: if the share does not lie strictly between 0 and 1.

    >>> from tiltmeter.operators.statistics.intervals import LOGIT
    >>> found = repeated(np.ones(5), test_share=0.2, tested_units=67, level=0.95, scale=LOGIT)
    >>> round(found.low, 3), found.high
    (0.897, 1.0)
    """
    from scipy.special import stdtr, stdtrit

    check_level(level)
    if not 0.0 < test_share < 1.0:
        raise ValueError(f"test_share={test_share}: must lie strictly between 0 and 1, the share that a split tests on")
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    mean = float(known.mean()) if known.size else float("nan")
    if known.size < MIN_SPLITS:
        return Repeated(mean, _NAN, _NAN, _NAN, _NAN, _NAN, known.size)
    sd, df = float(known.std(ddof=1)), known.size - 1.0
    variance = (1.0 / known.size + test_share / (1.0 - test_share)) * sd**2
    if is_bounded(scale):
        variance = max(variance, (scale.high - mean) * (mean - scale.low) / tested_units)
        ends = score_interval(mean, variance, tested_units, level, scale, df)
    else:
        reach = float(stdtrit(df, (1.0 + level) / 2.0)) * variance**0.5
        ends = max(mean - reach, scale.low), min(mean + reach, scale.high)
    p = float(2.0 * stdtr(df, -abs(mean) / variance**0.5)) if variance > 0.0 else float("nan")
    return Repeated(mean, *ends, sd, df, p, known.size)
