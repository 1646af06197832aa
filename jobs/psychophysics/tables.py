"""The tables of the psychophysics."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.association.tables import Associations, Validation
from tiltmeter.jobs.embedding.tables import (
    DRAWN_AGAIN,
    MONTE_CARLO,
    NUM_REPLICAS,
    OF_REPLICAS,
    WOMEN,
    WORD,
    OfModel,
    Uncertain,
    interval,
    percentiles,
    shift,
    spread,
)
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import Column, Int32, doc, key, schemas

_CUE = "the {} cue of the pair: the {} one of a gender pair"
_OTHER_REPLICAS = "interval of {} for other replicas of this corpus, by job.interval"


class OfRow(Uncertain):
    """A number and its intervals, which an operator's results or its replicas gave to the row, by column."""

    def __init__(self, cells: Row, resamples: NDArray[np.float64] | None = None) -> None:
        self._cells, self.resamples = cells, resamples

    def cells(self, about: Column) -> Row:
        """Its own of the row's."""
        return {one.name: self._cells[one.name] for one in self.fields(about)}


class Jnd(OfRow):
    """With its intervals by resampling the replicas, as it is itself how far these spread."""

    others = interval(_OTHER_REPLICAS) | percentiles("resamples' {}")


class FittedPse(OfRow):
    """With its interval for the corpus, and how well so many replicas fix it."""

    others = DRAWN_AGAIN | MONTE_CARLO


class Pse(OfRow):
    """A mean of the replicas' own flips, beside which the original corpus has its flip."""

    others = OF_REPLICAS | shift("flip_original") | MONTE_CARLO


class PooledPse(OfRow):
    """A mean over cue pairs, with an interval for other pairs too."""

    others = (
        interval("interval of {} for this corpus drawn again and other cue pairs, by the model")
        | interval("interval of {} for other cue pairs, with these replicas for observers", "_cues")
        | shift("the original corpus' mean over the pairs")
        | spread("the replicas' own means over the pairs")
    )


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
