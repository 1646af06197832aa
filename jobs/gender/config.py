"""The config of `gender_survey`: how gender bias is measured in each language."""

from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun
from tiltmeter.operators.gender.professions import Weights

NEEDED_LISTS = (("gender_survey",),)


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GenderConfig:
    """How gender bias is measured.

    Attributes:
        level: coverage of the intervals.
        exponent: the c of DirectBias (Bolukbasi et al. 2016); larger is stricter.
        weights: of the forms of a profession: ``count`` for how often each occurs in the corpus, ``form`` for the same
            weight of every form, ``gender`` for the same weight of every gender that it has forms of.
    """

    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
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
