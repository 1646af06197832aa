"""The tables of `sentiment_rating`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key, schemas

ORIGINAL = "original"
"""The variant that went through no round trip."""

_GROUP = "data group: texts with one causal model"
_DATASET = "data set of the group, such as a choice of emotion words"
_VARIANT = "'original', or the round trip that the texts went through"
_SYSTEM = "sentiment analysis system"
_GENDER = "gender that the text tells, such as male, female or neutral, or of whom it is said to; null if unknown"
_RACE = "race that the text tells; null in groups that do not tell persons apart by it"
_EMOTION = "emotion of the text, which may depend on gender or race; null if it is not known"
_CONVERSATION = "conversation that the text is a turn of, or what logs name instead; null if it is of none"
_PROTECTED = "protected attribute: gender, race or gender_race, which is both together"


def attribute(protected: str) -> str:
    """A protected attribute as it is shown.

    >>> attribute("gender_race"), attribute("race")
    ('gender and race', 'race')
    """
    return protected.replace("_", " and ")


class OfSentence(Table):
    sentence: int = key("number of the sentence, from 0")
    group: str = key(_GROUP)
    dataset: str = key(_DATASET)


class Sentences(OfSentence, name="sentences", has_status=False):
    text: str = doc("the sentence")
    gender: str = doc(_GENDER)
    race: str = doc(_RACE)
    emotion: str = doc(_EMOTION)
    emotion_word: str = doc("emotion word in the sentence")
    template: str = doc("what the sentence is made from; null for texts that were brought along")
    person: str = doc("whom the sentence is about; null for neutral sentences and texts that were brought along")
    protected_words: list[str] = doc("words that tell gender or race, which a round trip may lose")
    conversation: str = doc(_CONVERSATION)
    speaker: str = doc("side of the conversation; null if it is not known")


class Items(OfSentence, name="items", has_status=False):
    item: str = doc("what the logs call it")
    gender: str = doc(_GENDER)
    race: str = doc(_RACE)
    emotion: str = doc(_EMOTION)
    conversation: str = doc(_CONVERSATION)
    num_scores: int = doc("systems that have a score for it", "systems")


class Descriptions(Table, name="descriptions", has_status=False):
    group: str = key(_GROUP)
    dataset: str = key(_DATASET, heading="data set")
    speaker: str | None = key("side of the conversation; null if it is not known")
    num_texts: int = doc("texts", "texts")
    num_words: int = doc("words of all texts", "words")
    words_per_text: float = doc("words of a text, on average", "words")
    min_words_per_text: int = doc("words of the shortest text", "words")
    max_words_per_text: int = doc("words of the longest text", "words")
    num_stop_words: int = doc("stop words of all texts (list of scikit-learn)", "words")
    stop_words_per_text: float = doc("stop words of a text, on average", "words")
    min_stop_words_per_text: int = doc("stop words of the text with the fewest", "words")
    max_stop_words_per_text: int = doc("stop words of the text with the most", "words")
    num_conversations: int = doc("conversations; null if they are not known", "conversations")
    texts_per_conversation: float = doc("texts of a conversation, on average", "texts")
    min_texts_per_conversation: int = doc("texts of the shortest conversation", "texts")
    max_texts_per_conversation: int = doc("texts of the longest conversation", "texts")


class OfVariant(Table):
    variant: str = key(_VARIANT)


class Translations(OfVariant, name="translations"):
    sentence: int = key("number of the sentence, from 0")
    text: str = doc("the sentence")
    intermediate: str = doc("its translation into the intermediate language")
    round_trip: str = doc("the translation of that, back in the sentence's language")
    lost_words: list[str] = doc("protected words that the round trip has not; null if there is none")
    survived: bool = doc("whether it has all of them; null if there are none, or no round trip")


class ProtectedWords(OfVariant, name="protected_words", has_status=False):
    group: str = key(_GROUP)
    dataset: str = key(_DATASET)
    word: str = key("protected word")
    num_texts: int = doc("translated texts that have the word before the round trip", "texts")
    num_lost: int = doc("those that have it no longer after the round trip", "texts")
    percent_lost: float = doc("their share", "percent")
    num_starting: int = doc("translated texts that start with the word before the round trip", "texts")
    num_not_starting: int = doc("those that do not start with it after the round trip", "texts")
    percent_not_starting: float = doc("their share; null if no text starts with it", "percent")


class Scores(OfVariant, name="scores"):
    system: str = key(_SYSTEM)
    sentence: int = key("number of the sentence, from 0")
    group: str = key(_GROUP)
    dataset: str = key(_DATASET)
    gender: str = doc(_GENDER)
    race: str = doc(_RACE)
    emotion: str = doc(_EMOTION)
    conversation: str = doc(_CONVERSATION)
    sentiment: float = doc("score of the system, from -1 (negative) to 1 (positive)")


class Annotations(OfVariant, name="annotations"):
    group: str = key(_GROUP)
    system: str = key(_SYSTEM)
    num_texts: int = doc("different texts of the group", "texts")
    num_labelled: int = doc("those that two annotators or more labelled", "texts")
    num_unanimous: int = doc("those of them of which all labels are equal", "texts")
    percent_unanimous: float = doc("their share of those", "percent", heading="unanimous", show="percentage")
    percent_pairwise: float = doc(
        "share of the pairs of labels of one text that are equal", "percent", heading="equal pairs", show="percentage"
    )
    num_drawn: int = doc("texts whose sentiment was drawn from several labels that are equally frequent", "texts")
    percent_drawn: float = doc(
        "their share of the labelled ones", "percent", heading="drawn", show="percentage", digits=2
    )


class Agreement(OfVariant, name="agreement"):
    group: str = key(_GROUP)
    annotated: str = key("system of the annotators' votes", heading="annotators")
    system: str = key(_SYSTEM)
    num_texts: int = doc("texts that have a vote and a score", "texts")
    num_agreeing: int = doc("those of which both are positive, both negative or both 0", "texts")
    percent_agreeing: float = doc("their share", "percent", heading="agreement", show="percentage")


class OfTest(OfVariant):
    group: str = key(_GROUP)
    dataset: str = key(_DATASET, heading="data set")
    protected: str = key(_PROTECTED, heading="attribute", show=attribute)
    system: str = key(_SYSTEM)


class Tests(OfTest, name="tests"):
    value_1: str = key("first value of the protected attribute")
    value_2: str = key("second value of the protected attribute")
    num_1: int = doc("scores of value_1", "texts")
    num_2: int = doc("scores of value_2", "texts")
    mean_1: float = doc("mean score of value_1")
    mean_2: float = doc("mean score of value_2")
    sd_1: float = doc("sample standard deviation of the scores of value_1")
    sd_2: float = doc("sample standard deviation of the scores of value_2")
    t: float = doc(
        "the paper's t over texts, of mean_1 - mean_2; infinite if means differ and no score varies", digits=2
    )
    degrees_of_freedom: float = doc(
        "of t: after Welch and Satterthwaite, or num_1 + num_2 - 2 as published", heading="d.f.", digits=1
    )
    rejected_95: bool = doc("whether t rejects equal means at the 95 % level, as it counts")
    rejected_70: bool = doc("whether t rejects equal means at the 70 % level, as it counts")
    rejected_60: bool = doc("whether t rejects equal means at the 60 % level, as it counts")
    p_value: float = doc(
        "two-sided p of equal means by the unit; with rating.convention=published, of t over texts",
        heading="p",
        show="p_value",
    )
    p_holm: float = doc(
        "p_value after Holm, over the tests that one raw score counts", heading="p (Holm)", show="p_value"
    )
    p_benjamini_hochberg: float = doc(
        "p_value after Benjamini and Hochberg, over the same tests", heading="p (B.–H.)", show="p_value"
    )
    unit: str = doc("what p_value takes for independent: 'name', 'frame' (a template with its emotion word), ...")
    num_units: int = doc("units of both values, or that have texts of both")


class Effects(OfTest, name="effects"):
    emotion: str = key(_EMOTION)
    num_texts: int = doc("scored texts of the emotion", "texts")
    mean_given: float = doc("E[Y|X]: mean score of the emotion's texts", heading="E[Y|X]")
    mean_do: float = doc(
        "E[Y|do(X)]: the same by backdoor adjustment over the protected attribute", heading="E[Y|do(X)]"
    )
    die_percent: float = doc(
        "deconfounding impact: their distance in percent of the former; may be infinite",
        "percent",
        heading="DIE",
        show="percentage",
    )
    unseen: list[str] = doc("values of the attribute of which no text has the emotion (positivity fails)")
    unseen_policy: str = doc("what was done about them: 'renormalise' over the others, or 'undefined'")


class OfCase(OfVariant):
    group: str = key(_GROUP)
    protected: str = key(_PROTECTED)
    system: str = key(_SYSTEM)
    measure: str = key("'wrs', the weighted rejection score, or 'die', the largest deconfounding impact")


class RawScores(OfCase, name="raw_scores"):
    num_tests: int = doc("pairs of values and data sets that could be tested (wrs), or emotions (die)")
    rejections_95: int = doc("the paper's t-tests that reject at the 95 % level", "tests")
    rejections_70: int = doc("the paper's t-tests that reject at the 70 % level", "tests")
    rejections_60: int = doc("the paper's t-tests that reject at the 60 % level", "tests")
    raw_score: Estimate | None = doc(
        "weighted rejection score, or largest deconfounding impact in percent: 0 is no bias",
        interval="the interval of raw_score over resamples of the texts, by rating.interval",
    )
    holm_rejections_95: int = doc("tests whose p_value after Holm is below that level's", "tests")
    holm_rejections_70: int = doc("tests whose p_value after Holm is below that level's", "tests")
    holm_rejections_60: int = doc("tests whose p_value after Holm is below that level's", "tests")
    bh_rejections_95: int = doc("tests whose p_value after Benjamini and Hochberg is below that level's", "tests")
    bh_rejections_70: int = doc("tests whose p_value after Benjamini and Hochberg is below that level's", "tests")
    bh_rejections_60: int = doc("tests whose p_value after Benjamini and Hochberg is below that level's", "tests")
    is_confounded: bool = doc(
        "whether the emotion is taken to depend on the attribute: by design, or where dependence_p is at most 0.05"
    )
    design: str = doc("'confounded' or 'independent', as the set was made; 'tested' where nobody knows")
    dependence_p: float = doc(
        "least p, after Holm over data sets, of emotions dealt whatever the attribute; if tested",
        heading="p",
        show="p_value",
    )
    warning: str = doc("what makes the score doubtful; empty if nothing does")


class Resamples(Table, name="resampled", public=False, has_status=False):
    """What a raw score is drawn from: a row for each, in their order."""

    values: list[float] = doc("the raw scores of all resamples")
    items: str | None = doc("what tells the texts from others, and their order; null where they are keyed by text")
    num_items: int = doc("texts or conversations that are drawn", "texts")


class Ratings(OfCase, name="ratings"):
    raw_score: float | None = doc("what the systems are ordered by, ascending")
    rank: int | None = doc("place in the partial order, from 1; systems with one raw score share it")
    rating: int | None = doc("level of the complete order, from 1, the least biased")
    num_levels: int = doc("levels of the complete order")
    decides: bool = doc("whether ratings go by this measure; where a test decides, the other is beside it")


class Comparisons(OfCase, name="comparisons"):
    original_score: float | None = doc("raw score of the original texts")
    raw_score: float | None = doc("raw score after the round trip")
    change: Estimate = doc(
        "the latter minus the former",
        interval="the interval of change, over the same resamples before and after, by rating.interval",
    )
    percent_change: float = doc(
        "change in percent of the original's score; null if that is 0",
        "percent",
        heading="relative",
        show="percentage",
        digits=0,
    )
    original_rating: int | None = doc("rating before")
    rating: int | None = doc("rating after")


TABLES = schemas(Sentences, Items, Descriptions, Translations, ProtectedWords, Scores, Annotations, Agreement)
TABLES |= schemas(Tests, Effects, RawScores, Ratings, Comparisons)


def arrow_table(kind: type[Table], rows: pl.DataFrame) -> pa.Table:
    """Rows that a frame has, in the columns and types of their table."""
    schema = kind.schema()
    return rows.select(schema.names).to_arrow().cast(schema)


def infinite_table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows in a schema: NaN becomes null, while infinity is a result here."""
    return pa.Table.from_pylist([{name: _known(value) for name, value in row.items()} for row in rows], schema)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value
