"""The config of `gender_survey`: how gender bias is measured in each language."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun
from tiltmeter.jobs.runtime.settings.fields import settings
from tiltmeter.operators.gender.professions import Weights
from tiltmeter.operators.statistics.intervals import IntervalSettings

NEEDED_LISTS = (("gender_survey",),)


@settings
class GenderConfig(IntervalSettings):
    """How gender bias is measured; the exponent is the c of DirectBias (Bolukbasi et al. 2016)."""

    exponent: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    weights: Weights


@settings
class GenderSurveyJob(GenderConfig, EmbeddingsJob):
    """``job=gender_survey``"""

    name: Literal["gender_survey"]
    needed_lists: ClassVar = NEEDED_LISTS


@settings
class GenderSurveyRun(EmbeddingsRun):
    """A run of ``gender_survey``."""

    job: GenderSurveyJob
