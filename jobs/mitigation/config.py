"""The config of `mitigation`: what erases gender, from which words, and what is measured before and after."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from tiltmeter.jobs.association.config import MeasuredRun
from tiltmeter.jobs.embedding.config import EmbeddingsJob
from tiltmeter.jobs.runtime.config import each_once
from tiltmeter.jobs.runtime.settings.fields import Count, UniqueWords, settings
from tiltmeter.operators.association.erasers import EraserSettings, Method
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.vectors.files import ExportFormat

Similarity = Literal["wordsim353", "simlex999"]

LEAST_EXTREMES = 8
"""Words of each side: with fewer there is nothing to fit to a half of them, and to ask of the other."""


@settings
class MitigationJob(EraserSettings, IntervalSettings, EmbeddingsJob):
    """``job=mitigation``"""

    name: Literal["mitigation"]
    methods: Annotated[tuple[Method, ...], Field(min_length=1), AfterValidator(each_once)]
    num_words: Annotated[int, Field(ge=4 * LEAST_EXTREMES)] | None
    num_extremes: Annotated[int, Field(ge=LEAST_EXTREMES)]
    specific: UniqueWords
    similarity: Annotated[tuple[Similarity, ...], AfterValidator(each_once)]
    min_words: Count
    min_share: Annotated[float, Field(ge=0, le=1)]
    export: Annotated[tuple[ExportFormat, ...], AfterValidator(each_once)]
    needed_lists: ClassVar = (("gender",), ("gender_survey",))


@settings
class MitigationRun(MeasuredRun):
    """A run of ``mitigation``."""

    job: MitigationJob


def defining_pairs(wordset: WordSets) -> tuple[tuple[str, str], ...]:
    """(female, male) pairs: of the list for the gender direction, or else of the gender survey."""
    if wordset.gender:
        return wordset.gender.definitional_pairs
    return tuple(pair.words for pair in wordset.gender_survey.defining.values()) if wordset.gender_survey else ()


def words_of_gender(wordset: WordSets, more: UniqueWords) -> tuple[str, ...]:
    """Words that have a gender by meaning: of all pairs of the word set, and more; sorted."""
    pairs = (*defining_pairs(wordset), *wordset.cue_pairs)
    return tuple(sorted({*more, *(word for pair in pairs for word in pair)}))
