"""The config of `gender_survey`: how gender bias is measured in each language."""

from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun
from tiltmeter.operators.gender.professions import Weights
from tiltmeter.operators.statistics.intervals import IntervalSettings

NEEDED_LISTS = (("gender_survey",),)


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GenderConfig(IntervalSettings):
    """How gender bias is measured.

    Attributes:
        exponent: the c of DirectBias (Bolukbasi et al. 2016); larger is stricter.
        weights: of the forms of a profession: ``count`` for how often each occurs in the corpus, ``form`` for the same
            weight of every form, ``gender`` for the same weight of every gender that it has forms of.
    """

    exponent: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    weights: Weights = "count"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GenderSurveyJob(GenderConfig, EmbeddingsJob):
    """``job=gender_survey``"""

    name: Literal["gender_survey"] = "gender_survey"
    needed_lists: ClassVar = NEEDED_LISTS


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class GenderSurveyRun(EmbeddingsRun):
    """A run of ``gender_survey``."""

    job: GenderSurveyJob
