"""The tables of the psychophysics."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.jobs.association.tables import Associations, Validation
from tiltmeter.jobs.embedding.tables import (
    NUM_REPLICAS,
    WOMEN,
    WORD,
    OfModel,
    monte_carlo,
    percentiles,
    shift,
    spread,
    with_interval,
)
from tiltmeter.jobs.runtime.columns import interval, number
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import Column, Int32, Number, doc, key, schemas

_CUE = "the {} cue of the pair: the {} one of a gender pair"


class OfRow(Number):
    """A number and its intervals, which an operator's results or its replicas gave to the row, by column."""

    def __init__(self, cells: Row, resamples: NDArray[np.float64] | None = None) -> None:
        self._cells, self.resamples = cells, resamples

    def cells(self, about: Column) -> Row:
        """Its own of the row's."""
        return {one.name: self._cells[one.name] for one in self.fields(about)}


class Jnd(OfRow):
    """With its intervals by resampling the replicas, as it is itself how far these spread."""

    @classmethod
    def fields(cls, about: Column) -> Iterable[pa.Field]:
        """The number, and its interval by the method and by percentiles."""
        name, unit, again = about.name, about.unit, "for other replicas of this corpus, by job.interval"
        ends = interval(name, f"interval of {name} {again}", unit)
        return [number(name, about.sentence, unit), *ends, *percentiles(name, f"resamples' {name}", unit)]


class FittedPse(OfRow):
    """With its interval for the corpus, and how well so many replicas fix it."""

    @classmethod
    def fields(cls, about: Column) -> Iterable[pa.Field]:
        """The number and its two intervals."""
        name, unit = about.name, about.unit
        again = interval(name, f"interval of {name} for this corpus drawn again, by job.interval", unit)
        return [number(name, about.sentence, unit), *again, *monte_carlo(name, unit)]


class Pse(OfRow):
    """A mean of the replicas' own flips, beside which the original corpus has its flip."""

    @classmethod
    def fields(cls, about: Column) -> Iterable[pa.Field]:
        """All that is said of a number with replicas, and how well so many fix it."""
        of_replicas = with_interval(about.name, about.sentence, about.unit, original="flip_original")
        return [*of_replicas, *monte_carlo(about.name, about.unit)]


class PooledPse(OfRow):
    """A mean over cue pairs, with an interval for other pairs too."""

    @classmethod
    def fields(cls, about: Column) -> Iterable[pa.Field]:
        """The number, its two intervals, and what is said of the replicas."""
        name, unit, whose = about.name, about.unit, f"interval of {about.name} for"
        return [
            number(name, about.sentence, unit),
            *interval(name, f"{whose} this corpus drawn again and other cue pairs, by the model", unit),
            *interval(f"{name}_cues", f"{whose} other cue pairs, with these replicas for observers", unit),
            shift(name, "the original corpus' mean over the pairs"),
            *spread(name, "the replicas' own means over the pairs", unit),
        ]


class OfPair(OfModel):
    word: str = key(WORD)
    cue_1: str = key(_CUE.format("first", "female"))
    cue_2: str = key(_CUE.format("second", "male"))


class Psychometrics(OfPair, name="psychometrics"):
    is_gender: bool = doc("whether the cues are female and male")
    pse: Pse = doc("point of subjective equality: mean mixture at which replicas flip to cue_2", "mixture")
    jnd: Jnd = doc("just noticeable difference: 1.349 standard deviations of the flips", "mixture")
    pse_curve: float = doc("mixture at which the share of replicas that answer cue_2 reaches 50 %", "mixture")
    jnd_curve: float = doc("width of the window around it in which half of the replicas flip", "mixture")
    pse_fit: FittedPse = doc("50 % point of a cumulative normal fitted to the share", "mixture")
    jnd_fit: Jnd = doc("distance between the 25 % and the 75 % point of the fit", "mixture")
    pse_logistic: float = doc("50 % point of a logistic curve fitted to the share", "mixture")
    jnd_logistic: float = doc("distance between the 25 % and the 75 % point of that curve", "mixture")
    flip_sd: float = doc("sample standard deviation of the replicas' flips", "mixture")
    flip_original: float = doc("mixture at which the original corpus flips", "mixture")
    num_outside: Int32 = doc("replicas that flip outside of [0, 1]; they count with that mixture", "replicas")
    percent_women: float = doc(WOMEN, "percent")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class PsychometricPoints(OfPair, name="psychometric_points", has_status=False):
    alpha: float = key("weight of cue_2 in the mixture", "mixture")
    share: float = doc("share of replicas that answer cue_2", "share")


class PooledPsychometrics(OfModel, name="pooled_psychometrics"):
    word: str = key(WORD)
    pse: PooledPse = doc("mean flip over gender cue pairs and replicas, both taken as random effects", "mixture")
    jnd: float = doc("1.349 standard deviations of the flips within a cue pair", "mixture")
    sd_pairs: float = doc("standard deviation between cue pairs", "mixture")
    sd_replicas: float = doc("standard deviation between replicas that all pairs share", "mixture")
    sd_rest: float = doc("standard deviation of what neither explains", "mixture")
    percent_women: float = doc(WOMEN, "percent")
    num_pairs: Int32 = doc("gender cue pairs that are measured", "pairs")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class OccupationContrast(Associations, name="occupation_contrast"):
    """The association test that has the occupations themselves as targets."""


MAKES = (Psychometrics, PsychometricPoints, PooledPsychometrics, Validation, OccupationContrast)
TABLES = schemas(*MAKES)
