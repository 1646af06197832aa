"""Whether a model has adopted a decoy: by how much it falls for it, against a model that never met it.

Of texts whose decoy contradicts their class, let d_i be 1 where the model that was trained without the decoy is right,
less 1 where the model that was trained with it is; and e_j the same of texts of these classes without the decoy. Then

    fall = mean_i d_i - mean_j e_j,

the accuracy that is lost where the decoy stands, beyond what is lost where it does not: a model that is worse for other
reasons has not adopted it. Idahl et al. 2021, section 3.2, verify adoption by the accuracies of both models on the
original data; that it is the fall which decides is ours.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts
from tiltmeter.operators.statistics.text_intervals import ResampleSettings, spread_out

VERSION = "decoy_adoption/2"

_DEFAULT = ResampleSettings()

_Keys = Sequence[NDArray[np.uint64]] | None


class Adoption(NamedTuple):
    """Attributes:
    fall: as above; NaN if there are no texts of either kind.
    low, high: ends of its interval; NaN with fewer than 2 texts of either kind.
    adopted: whether the whole interval lies above what is asked for.
    resamples: of the fall, which spread as it does; none if it is NaN.
    """

    fall: float
    low: float
    high: float
    adopted: bool
    resamples: FloatArray


def adoption(
    falls: NDArray[np.floating],
    others: NDArray[np.floating],
    seed: int,
    about: int,
    *,
    is_paired: bool,
    min_fall: float = 0.0,
    intervals: ResampleSettings = _DEFAULT,
    keys: _Keys = None,
) -> Adoption:
    """The fall with its bootstrap interval.

    Args:
        falls: d, -1, 0 or 1 for each text with the decoy.
        others: e, of texts without it.
        seed, about: what the resamples are keyed by; see :func:`.resampling.resampled_counts`.
        is_paired: whether both are of the same texts in one order, which are then drawn together.
        min_fall: what the interval must lie above.
        intervals: how the interval is made.
        keys: of the texts with the decoy, and of those without; None: their places tell them apart.

    >>> result = adoption(np.ones(50), np.zeros(50), 0, 0, is_paired=True)
    >>> result.fall, round(result.low, 2), result.high, result.adopted
    (1.0, 0.85, 1.0, True)
    """
    if not len(falls) or not len(others):
        return Adoption(np.nan, np.nan, np.nan, False, np.empty(0))
    drawn = _paired if is_paired else _apart
    values = np.asarray(falls, float), np.asarray(others, float)
    estimate = drawn(*values, seed, about, intervals.num_resamples, keys)
    low, high, _ = intervals.over(estimate, FISHER)
    return Adoption(float(estimate.value), float(low), float(high), bool(low > min_fall), spread_out(estimate))


def _paired(falls: FloatArray, others: FloatArray, seed: int, about: int, num: int, keys: _Keys) -> Estimate:
    beyond = falls - others
    unit_keys = None if keys is None else keys[0]
    counts = np.concatenate(list(resampled_counts(np.zeros(beyond.size, int), seed, about, num, keys=unit_keys)))
    return Estimate(float(beyond.mean()), counts @ beyond / beyond.size, beyond.size)


def _apart(falls: FloatArray, others: FloatArray, seed: int, about: int, num: int, keys: _Keys) -> Estimate:
    strata = np.repeat([0, 1], [falls.size, others.size])
    unit_keys = None if keys is None else np.concatenate(keys)
    counts = np.concatenate(list(resampled_counts(strata, seed, about, num, keys=unit_keys)))
    # Sums of whole numbers are exact: two means that are equal differ by 0 and not by rounding.
    first, second = counts[:, : falls.size] @ falls, counts[:, falls.size :] @ others
    value = float(falls.mean() - others.mean())
    return Estimate(value, first / falls.size - second / others.size, min(falls.size, others.size))
