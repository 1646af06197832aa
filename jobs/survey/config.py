"""The config of `survey`, which has the settings of the jobs that it joins."""

from typing import ClassVar, Literal

from tiltmeter.jobs.association import config as association
from tiltmeter.jobs.association.config import AssociationConfig, MeasuredRun
from tiltmeter.jobs.embedding.config import EmbeddingsJob
from tiltmeter.jobs.gender import config as gender
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.psychophysics import config as psychophysics
from tiltmeter.jobs.psychophysics.config import PsychophysicsConfig
from tiltmeter.jobs.runtime.settings.fields import settings
from tiltmeter.operators.text.wordsets import WordSets


@settings
class SurveyJob(AssociationConfig, PsychophysicsConfig, GenderConfig, EmbeddingsJob):
    """``job=survey``"""

    name: Literal["survey"]
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


@settings
class SurveyRun(MeasuredRun):
    """A run of ``survey``."""

    job: SurveyJob
