"""Whether a model has adopted a decoy: by how much it falls for it, against a model that never met it.

Of texts whose decoy contradicts their class, let d_i be 1 where the model that was trained without the decoy is right,
less 1 where the model that was trained with it is; and e_j the same of texts of these classes without the decoy. Then

    fall = mean_i d_i - mean_j e_j,

the accuracy that is lost where the decoy stands, beyond what is lost where it does not: a model that is worse for other
reasons has not adopted it. Idahl et al. 2021, section 3.2, verify adoption by the accuracies of both models on the
original data; that it is the fall which decides is ours.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.operators.statistics.means import influenced
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts
from tiltmeter.operators.statistics.text_intervals import ResampleSettings
from tiltmeter.operators.statistics.units import Inferred, Units, kish

VERSION = "decoy_adoption/3"


class Fall(NamedTuple):
    """Attributes:
    inferred: the fall, as above, with its interval.
    estimate: the same with its resamples.
    """

    inferred: Inferred
    estimate: Estimate


def fall(
    falls: NDArray[np.floating],
    others: NDArray[np.floating],
    units: Units,
    seed: int,
    about: int,
    *,
    is_paired: bool,
    intervals: ResampleSettings,
    keys: NDArray[np.uint64] | None = None,
) -> Fall | None:
    """The fall; None without texts of both kinds.

    Args:
        falls: d, -1, 0 or 1 for each text with the decoy.
        others: e, of texts without it.
        units: of both, one after the other, or of the pairs; whoever has texts of both is drawn with all of them.
        seed, about: what the resamples are keyed by; see :func:`.resampling.resampled_counts`.
        is_paired: whether both are of the same texts in one order.
        intervals: how many resamples, and at which level.
        keys: of the units; None: their places tell them apart.

    >>> from tiltmeter.operators.statistics.units import each
    >>> how = {"is_paired": True, "intervals": ResampleSettings(num_resamples=2)}
    >>> found, _ = fall(np.ones(50), np.zeros(50), each(50, "text"), 0, 0, **how)
    >>> found.value, round(found.low, 2), found.high
    (1.0, 0.85, 1.0)
    """
    if not len(falls) or not len(others):
        return None
    first, second = np.asarray(falls, float), np.asarray(others, float)
    if is_paired:
        sides = [_Side(first - second, units)]
    else:
        codes = np.split(units.codes, [first.size])
        sides = [
            _Side(values, Units(separate, units.num, units.kind))
            for values, separate in zip((first, -second), codes, strict=True)
        ]
    value = float(sum(side.mean for side in sides))
    fewest = min(sides, key=lambda side: side.effective)
    total = sum(side.values.size for side in sides)
    result = influenced(
        value,
        np.concatenate([(side.values - side.mean) * (total / side.values.size) for side in sides]),
        Units(np.concatenate([side.units.codes for side in sides]), units.num, units.kind),
        level=intervals.level,
        scale=FISHER,
        weights=np.concatenate([np.full(side.values.size, float(side is fewest)) for side in sides]),
    )
    # Kinds of texts keep their numbers where each text is drawn by itself.
    alone = units.num == units.codes.size
    strata = (
        np.repeat(np.arange(len(sides)), [side.values.size for side in sides]) if alone else np.zeros(units.num, int)
    )
    counts = np.concatenate(list(resampled_counts(strata, seed, about, intervals.num_resamples, keys=keys)))
    with np.errstate(invalid="ignore"):
        resamples = sum(side.means(counts) for side in sides)
    return Fall(result, Estimate(value, np.asarray(resamples), fewest.effective))


class _Side(NamedTuple):
    values: FloatArray
    units: Units

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def effective(self) -> float:
        return kish(self.units.sizes)

    def means(self, counts: NDArray[np.integer]) -> FloatArray:
        """Of resamples ``[resamples, units]``; sums of whole numbers are exact, so that equal means differ by 0."""
        return np.asarray((counts @ self.units.sums(self.values)) / (counts @ self.units.sizes))
