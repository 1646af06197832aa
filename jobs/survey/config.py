"""The config of `survey`, which has the settings of the jobs that it joins, and its control."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from tiltmeter.jobs.association import config as association
from tiltmeter.jobs.association.config import AssociationConfig, MeasuredRun
from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsJob
from tiltmeter.jobs.embedding.corpora import Corpus
from tiltmeter.jobs.gender import config as gender
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.psychophysics import config as psychophysics
from tiltmeter.jobs.psychophysics.config import PsychophysicsConfig
from tiltmeter.jobs.runtime.settings.fields import Count, UniqueWords, settings
from tiltmeter.operators.text.wordsets import WordSets, word_lists

_SAMPLE, _SAMPLE_WORDS = "package://", ("time", "number")
"""Where the built-in sample lies, and two frequent nouns of it that no list has."""


def _two_or_none(words: tuple[str, ...]) -> tuple[str, ...]:
    if len(words) not in (0, 2):
        raise ValueError("must be two words, one that gets a lean and one that gets none, or [] for no control")
    return words


@settings
class ControlConfig:
    """A lean that is put into a copy of a corpus, to be found there."""

    words: Literal["auto"] | Annotated[UniqueWords, AfterValidator(_two_or_none)]
    share: Annotated[float, Field(gt=0.0, le=1.0)]
    num_replicas: Annotated[int, Field(ge=2, le=4096)]
    min_count: Count


@settings
class SurveyJob(AssociationConfig, PsychophysicsConfig, GenderConfig, EmbeddingsJob):
    """``job=survey``"""

    name: Literal["survey"]
    control: ControlConfig
    needed_lists: ClassVar = (
        *association.NEEDED_LISTS,
        *psychophysics.NEEDED_LISTS,
        ("gender",),
        *gender.NEEDED_LISTS,
    )

    @property
    def has_named_control(self) -> bool:
        """Whether the words of the control are named."""
        return self.control.words not in ("auto", ())

    def check_embedding(self, embedding: Any) -> None:
        """Refuse a control without a corpus that is trained on.

        Raises:
            ValueError: saying what to choose.
        """
        if self.has_named_control and not isinstance(embedding, EmbeddingConfig):
            raise ValueError(
                f"job.control.words={list(self.control.words)}: leans are put into texts that are trained on, which "
                f"embedding={embedding.kind} has not; leave it out, or take embedding=glove"
            )

    def check_words(self, wordset: WordSets | None, language: str) -> None:
        """Refuse a language without any word list of the job, and a control with words of the lists."""
        super().check_words(wordset, language)
        self.check_synonyms(wordset, language)
        if self.has_named_control and wordset:
            self._check_control(wordset, language)

    def _check_control(self, wordset: WordSets, language: str) -> None:
        words = self.control.words
        if not wordset.cue_pairs:
            raise ValueError(
                f"job.control.words={list(words)}: cues of wordset.{language}.cue_pairs are put beside them, and that "
                "language has none; leave it out, or write a word set with some"
            )
        for name, listed in word_lists(wordset).items():
            if known := [word for word in words if word in listed]:
                raise ValueError(
                    f"job.control.words={list(words)}: '{known[0]}' is a word of wordset.{language}.{name}, and a "
                    "control takes words of no list, of which nothing is expected"
                )


@settings
class SurveyRun(MeasuredRun):
    """A run of ``survey``."""

    job: SurveyJob

    def control_words(self, corpus: Corpus | None) -> tuple[str, ...]:
        """The word that gets a lean in a copy of a corpus and the one that gets none; nothing where no copy is made."""
        if corpus is None or corpus.text.slice or not self.wordset[corpus.language].cue_pairs:
            return ()
        is_sample = all(path.startswith(_SAMPLE) for path in corpus.text.corpus.paths)
        usual = _SAMPLE_WORDS if is_sample else ()
        return usual if self.job.control.words == "auto" else self.job.control.words
