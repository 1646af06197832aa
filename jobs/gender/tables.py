"""The tables of gender bias."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from tiltmeter.jobs.embedding.lookup import OfReplicas
from tiltmeter.jobs.embedding.tables import MISSING_WORDS, NUM_REPLICAS, WORD, OfModel
from tiltmeter.jobs.runtime.draws import draws_of
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import Column, Int32, Number, Table, doc, ends, key, label, schemas
from tiltmeter.operators.gender.professions import Weights

_ON_AXIS = "cosine with the gender direction; positive is the female side"
_WEIGHTS = "job.weights, of the forms of a profession: 'count', 'form' or 'gender'"
_BY = {
    "count": "each form by its count in the corpus",
    "form": "every form the same",
    "gender": "every gender the same",
}


class Weighted(Number):
    """A number by the weights that the job was asked for, and by each of those that there are.

    Args:
        asked: the weights that the job was asked for.
        numbers: by weights.
    """

    def __init__(self, asked: Weights, numbers: Mapping[Weights, OfReplicas]) -> None:
        self._numbers = {"": numbers[asked], **{f"_by_{weights}": number for weights, number in numbers.items()}}

    @classmethod
    def fields(cls, about: Column) -> Iterable[pa.Field]:
        """Of the number by the weights that were asked for, and by all."""
        each = {f"{about.name}_by_{weights}": f"{about.name}, {what}" for weights, what in _BY.items()}
        for column, sentence in {about.name: about.sentence, **each}.items():
            yield from OfReplicas.fields(replace(about, name=column, sentence=sentence, ends=ends(column)))

    def cells(self, about: Column) -> Row:
        """By column, with the draws of each."""
        cells: Row = {}
        for by, number in self._numbers.items():
            column = f"{about.name}{by}"
            cells |= number.cells(replace(about, name=column, ends=ends(column)))
            cells |= {} if number.resamples is None else draws_of(column, number.resamples)
        return cells


class GenderWords(OfModel, name="gender_words"):
    word: str = key(WORD)
    list: str = key("'defining' or 'professions'")
    item: str = key("the English pair or profession that the word stands for")
    gender: str = doc("'feminine', 'masculine' or 'neutral': of the word, not of its vector")
    bias: OfReplicas = doc(_ON_AXIS, "cosine")
    count: int | None = doc("occurrences in the original corpus; null where that is not known", "occurrences")
    note: str = doc("what is doubtful about the word in the list; empty if nothing is")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class GenderProfessions(OfModel, name="gender_professions"):
    profession: str = key("the profession in English")
    weights: str = doc(_WEIGHTS)
    bias: Weighted = doc(f"weighted mean over its forms of their {_ON_AXIS}", "cosine")
    forms: list[str] = doc("its words that have a vector")
    missing_words: list[str] = doc(MISSING_WORDS)
    count: int | None = doc("occurrences of all its forms in the original corpus; null if not known", "occurrences")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class GenderLanguages(OfModel, name="gender_languages"):
    script: str = doc("script of the word lists, by its ISO 15924 code")
    weights: str = doc(_WEIGHTS)
    direct_bias: Weighted = doc(
        "DirectBias: mean over the professions of |bias|^c, each the mean over its forms", "cosine"
    )
    direct_bias_of_forms: OfReplicas = doc(
        "DirectBias with the mean over a profession's forms of |bias of the form|^c: forms on both sides do not cancel",
        "cosine",
    )
    exponent: float = doc("the c of DirectBias")
    mean_bias: Weighted = doc("mean bias over the professions, with its sign; positive is the female side", "cosine")
    female_words: OfReplicas = doc("mean bias of the female defining words", "cosine")
    male_words: OfReplicas = doc("mean bias of the male defining words", "cosine")
    first_share: OfReplicas = doc("variance of the defining pairs along the gender direction", "share")
    second_share: OfReplicas = doc("variance of the defining pairs along the second component", "share")
    gap: OfReplicas = doc("first_share less second_share", "share")
    agreement: OfReplicas = doc("pairs whose female word lies on the female side of its partner", "share")
    warning: str = doc("what makes the direction doubtful; empty if nothing does")
    num_pairs: Int32 = doc("defining pairs of which both words have a vector", "pairs")
    num_professions: Int32 = doc(
        "professions of which a form has a vector, and, by count, of which counts are known", "words"
    )
    profession_share: float | None = doc("forms of professions in all words of the corpus; null if not known", "share")
    missing_words: list[str] = doc(MISSING_WORDS)
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class GenderPairs(OfModel, name="gender_pairs"):
    pair: str = key("the defining pair that is left out, in English")
    feminine: str = doc("its female word")
    masculine: str = doc("its male word")
    direct_bias: OfReplicas = doc("DirectBias along the direction of the other pairs", "cosine")
    change: OfReplicas = doc("that less DirectBias along the direction of all pairs", "cosine")
    similarity: OfReplicas = doc("cosine of the two directions", "cosine")
    first_share: OfReplicas = doc("variance of the other pairs along their direction", "share")
    gap: OfReplicas = doc("that less their variance along the second component", "share")
    gap_change: OfReplicas = doc("that less the gap of all pairs", "share")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class LanguageCorrelation(Table, name="language_correlation"):
    """Figure 6 of Matthews et al. 2021; numbers do not depend on the names of models."""

    model_1: str = label("a corpus, file or encoder, as in model")
    language_1: str = key("its language")
    model_2: str = label("another, or the same one")
    language_2: str = key("the language of that one")
    weights: str = doc(_WEIGHTS)
    correlation: Weighted = doc("Pearson's r of the professions' bias in both; replicas paired by number")
    num_professions: Int32 = doc("professions that both have", "words")
    position_1: Int32 = doc("place of model_1 in the order of the clustering, from 0", "place")
    position_2: Int32 = doc("place of model_2 in the order of the clustering, from 0", "place")


class GenderSets(OfModel, name="gender_sets"):
    """The survey's lists against those of Bolukbasi et al. 2016, as section 2.2 of Matthews et al. 2021 has it."""

    score: str = key("'bias', or 'size' of the bias without its sign")
    original_mean: OfReplicas = doc("mean score of the original professions", "cosine")
    modified_mean: OfReplicas = doc("mean score of the survey's professions", "cosine")
    t: OfReplicas = doc("Welch's t of the two; positive where the original mean is larger")
    df: float = doc("degrees of freedom of t")
    p: float = doc("two-sided, of the original corpus: how often lists dealt by chance have so large a t, either way")
    similarity: OfReplicas = doc("cosine of the gender directions of the two lists of pairs", "cosine")
    original_professions: Int32 = doc("original professions that have a bias", "words")
    modified_professions: Int32 = doc("the survey's professions that have one", "words")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


OF_LANGUAGE = (GenderWords, GenderProfessions, GenderLanguages, GenderPairs)
TABLES = schemas(*OF_LANGUAGE)
"""Of each language."""
