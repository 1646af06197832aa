"""Numbers of texts that people said, of whom each said several: means, and recalls of what they are recognised by.

A mean over texts moves with each text by u_i = v_i - mean v. Unweighted average recall is the mean of
v_i = n / (C n_c) [text i of class c is recognised] (:func:`.attacker.weighted_recalls`), and moves by v_i less the mean
of v over class c: each class keeps its weight, however many texts of it other speakers have. Both go by speaker through
:func:`.statistics.means.influenced`. A speaker's texts are of several classes of valence, so that no class is drawn by
itself, and the sum over a speaker is what spreads.

Genders differ between speakers and not within. How speakers of a gender spread is known from these alone, of whom
each has a share C w_k of their weight where it has w_k of all, so that u_i grows by sqrt((1 - w_k) / (1 - C w_k)): CR2
within each class. Simulated with an intraclass correlation of 0.2, recalls of 0.5 and 0.7, and 4 to 10 speakers of
unlike sizes on each side, intervals at 95 % hold 93 to 95 %; without it 88 to 93.
"""

from typing import NamedTuple, Self

import numpy as np

from tiltmeter.operators.classifiers.privacy.attacker import weighted_recalls
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.designs.groups import MIN_SIDE
from tiltmeter.operators.statistics.flips import flips
from tiltmeter.operators.statistics.intervals import Scale
from tiltmeter.operators.statistics.means import influenced
from tiltmeter.operators.statistics.units import Inferred, TooFew, Units

VERSION = "spoken_texts/1"

_NAN = float("nan")


class Spoken(NamedTuple):
    """A number of texts, or the difference of two.

    Attributes:
        by_seed: ``[seeds, texts]``, by training, whose mean over the texts is the number; NaN where a text has none.
        values: ``[texts]``, mean over the seeds that have one.
        units: who said each text, or each text where nobody knows.
        classes: ``[texts]``, within which recalls are centred; None: of means.
        is_of_units: whether all texts of a unit are of one class, as of one gender.
        weights: ``[texts]``, what each counts for; None: alike.
    """

    by_seed: FloatArray
    values: FloatArray
    units: Units
    classes: IntArray | None = None
    is_of_units: bool = False
    weights: FloatArray | None = None

    @classmethod
    def means(cls, by_seed: FloatArray, units: Units) -> Self:
        """Of a mean over texts, each of which has its own over the seeds; arguments as the attributes."""
        return cls(by_seed, mean_of_seeds(by_seed), units)

    @classmethod
    def recalls(cls, right: BoolArray, classes: IntArray, units: Units, cells: IntArray, *, is_of_units: bool) -> Self:
        """Of an unweighted average recall.

        Args:
            right: ``[seeds, texts]``, whether the class is recognised.
            classes: ``[texts]``, the true ones.
            units: who said each.
            cells: ``[texts]``, within which it is centred where texts are the units.
            is_of_units: whether all texts of a speaker are of one class.
        """
        shares = np.stack([weighted_recalls(is_right, classes) for is_right in right])
        weights = weighted_recalls(np.ones(len(classes), dtype=bool), classes)
        has_speakers = units.kind == "speaker"
        within = classes if has_speakers else cells
        return cls(shares, shares.mean(axis=0), units, within, has_speakers and is_of_units, weights)

    def __sub__(self, other: "Spoken") -> "Spoken":
        """Of the same texts, trained with the same random numbers."""
        return self._replace(by_seed=self.by_seed - other.by_seed, values=self.values - other.values)

    @property
    def known(self) -> BoolArray:
        """Which texts have a value."""
        return np.asarray(~np.isnan(self.values))

    @property
    def influence(self) -> FloatArray:
        """``[texts]``, u_i; NaN where a text has no value."""
        known = self.known
        if self.classes is None:
            return self.values - (self.values[known].mean() if known.any() else _NAN)
        sizes = np.maximum(np.bincount(self.classes), 1)
        return self.values - (np.bincount(self.classes, weights=self.values) / sizes)[self.classes]

    @property
    def seeds(self) -> FloatArray:
        """``[seeds]``, the number by each training that has one."""
        counts = (~np.isnan(self.by_seed)).sum(axis=1)
        return np.asarray(np.nansum(self.by_seed, axis=1)[counts > 0] / counts[counts > 0])

    def inferred(self, level: float, scale: Scale) -> Inferred:
        """With its interval over other speakers and other trainings."""
        known = self.known
        value = float(self.values[known].mean()) if known.any() else _NAN
        if too_few := self._too_few_of_a_class():
            return Inferred(value, _NAN, _NAN, _NAN, _NAN, self.units.num, too_few=too_few)
        weights = None if self.weights is None else self.weights[known]
        influence, units = self.influence[known], self.units.part(known)
        if self.is_of_units and weights is not None and self.classes is not None:
            share = (units.sums(weights) / weights.sum())[units.codes]
            influence = influence * np.sqrt((1.0 - share) / (1.0 - np.unique(self.classes).size * share))
        return influenced(value, influence, units, level=level, scale=scale, seeds=self.seeds, weights=weights)

    def _too_few_of_a_class(self) -> TooFew | None:
        if not self.is_of_units or self.classes is None:
            return None
        fewest = min(np.unique(self.units.codes[self.classes == place]).size for place in np.unique(self.classes))
        return TooFew(fewest, MIN_SIDE, f"{self.units.kind} of one gender") if fewest < MIN_SIDE else None

    def p_of_none(self, inferred: Inferred) -> tuple[float, TooFew | None]:
        """Of a difference that is none, two-sided: by the signs of speakers, and by t over speakers and trainings.

        The larger of two p-values: the first says that these models, interchanged in each speaker, would differ so; the
        second, from the interval's own variance, that models trained again would. Of one training there is the first.

        Args:
            inferred: of the same.
        """
        known = self.known
        p, too_few = flips(self.values[known], self.units.part(known))
        if too_few or inferred.too_few:
            return _NAN, too_few or inferred.too_few
        return (max(p, inferred.p) if self.seeds.size > 1 else p), None


def mean_of_seeds(values: FloatArray) -> FloatArray:
    """``[seeds, texts]`` to ``[texts]``, over the seeds that have a value; NaN without any.

    >>> mean_of_seeds(np.array([[0.5, np.nan, np.nan], [1.0, 2.0, np.nan]]))
    array([0.75, 2.  ,  nan])
    """
    counts = (~np.isnan(values)).sum(axis=0)
    return np.where(counts > 0, np.nansum(values, axis=0) / np.maximum(counts, 1), np.nan)
