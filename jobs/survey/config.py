"""The config of `survey`, which has the settings of the jobs that it joins."""

from typing import ClassVar, Literal

import pydantic
from pydantic import ConfigDict

from tiltmeter.jobs.association import config as association
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun
from tiltmeter.jobs.gender import config as gender
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.psychophysics import config as psychophysics
from tiltmeter.jobs.psychophysics.config import PsychophysicsConfig
from tiltmeter.operators.text.wordsets import WordSets


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SurveyJob(AssociationConfig, PsychophysicsConfig, GenderConfig, EmbeddingsJob):
    """``job=survey``"""

    name: Literal["survey"] = "survey"
    needed_lists: ClassVar = (
        *association.NEEDED_LISTS,
        *psychophysics.NEEDED_LISTS,
        ("gender",),
        *gender.NEEDED_LISTS,
    )

    def check_words(self, wordset: WordSets | None, language: str) -> None:
        """Refuse a language without any word list of the job."""
        super().check_words(wordset, language)
        self.check_synonyms(wordset, language)


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class SurveyRun(EmbeddingsRun):
    """A run of ``survey``."""

    job: SurveyJob
