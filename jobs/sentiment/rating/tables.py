"""The public tables of `sentiment_rating`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.embedding.tables import REASON, STATUS
from tiltmeter.storage.store.tables import column

_STRINGS = pa.list_(pa.string())


def _text(name: str, sentence: str, *, key: bool = False) -> pa.Field:
    return column(name, pa.string(), sentence, key=key)


def _number(name: str, sentence: str, unit: str = "") -> pa.Field:
    return column(name, pa.float64(), sentence, unit)


def _count(name: str, sentence: str, unit: str, *, key: bool = False) -> pa.Field:
    return column(name, pa.int64(), sentence, unit, key=key)


GROUP = _text("group", "data group: texts with one causal model", key=True)
DATASET = _text("dataset", "data set of the group, such as a choice of emotion words", key=True)
VARIANT = _text("variant", "'original', or the round trip that the texts went through", key=True)
SYSTEM = _text("system", "sentiment analysis system", key=True)
PROTECTED = _text("protected", "protected attribute: gender, race or gender_race, which is both together", key=True)
MEASURE = _text("measure", "'wrs', the weighted rejection score, or 'die', the largest deconfounding impact", key=True)
_SENTENCE = _count("sentence", "number of the sentence, from 0", "", key=True)
_EMOTION = "emotion of the text, which may depend on gender or race; null if it is not known"
_ATTRIBUTES = [
    _text("gender", "gender that the text tells, such as male, female or neutral; null if it is not known"),
    _text("race", "race that the text tells; null in groups that do not tell persons apart by it"),
    _text("emotion", _EMOTION),
]
_CONVERSATION = _text("conversation", "conversation that the text is a turn of; null if it is of none")

SENTENCES = pa.schema(
    [
        _SENTENCE,
        GROUP,
        DATASET,
        _text("text", "the sentence"),
        *_ATTRIBUTES,
        _text("emotion_word", "emotion word in the sentence"),
        _text("template", "what the sentence is made from; null for texts that were brought along"),
        _text("person", "whom the sentence is about; null for neutral sentences and texts that were brought along"),
        column("protected_words", _STRINGS, "words that tell gender or race, which a round trip may lose"),
        _CONVERSATION,
        _text("speaker", "side of the conversation; null if it is not known"),
    ]
)

DESCRIPTIONS = pa.schema(
    [
        GROUP,
        DATASET,
        _text("speaker", "side of the conversation; null if it is not known", key=True),
        _count("num_texts", "texts", "texts"),
        _count("num_words", "words of all texts", "words"),
        _number("words_per_text", "words of a text, on average", "words"),
        _count("num_stop_words", "stop words of all texts (list of scikit-learn)", "words"),
        _number("stop_words_per_text", "stop words of a text, on average", "words"),
        _count("num_conversations", "conversations; null if they are not known", "conversations"),
        _number("texts_per_conversation", "texts of a conversation, on average", "texts"),
    ]
)

TRANSLATIONS = pa.schema(
    [
        VARIANT,
        _SENTENCE,
        _text("text", "the sentence"),
        _text("intermediate", "its translation into the intermediate language"),
        _text("round_trip", "the translation of that, back in the sentence's language"),
        column("lost_words", _STRINGS, "protected words that the round trip has not; null if there is none"),
        column(
            "survived",
            pa.bool_(),
            "whether it has all of them; null if there are none, or no round trip",
        ),
        STATUS,
        REASON,
    ]
)

PROTECTED_WORDS = pa.schema(
    [
        VARIANT,
        GROUP,
        DATASET,
        _text("word", "protected word", key=True),
        _count("num_texts", "translated texts that have the word before the round trip", "texts"),
        _count("num_lost", "those that have it no longer after the round trip", "texts"),
        _number("percent_lost", "their share", "percent"),
    ]
)

SCORES = pa.schema(
    [
        VARIANT,
        SYSTEM,
        _SENTENCE,
        GROUP,
        DATASET,
        *_ATTRIBUTES,
        _CONVERSATION,
        _number("sentiment", "score of the system, from -1 (negative) to 1 (positive)"),
        STATUS,
        REASON,
    ]
)

TESTS = pa.schema(
    [
        VARIANT,
        GROUP,
        DATASET,
        PROTECTED,
        SYSTEM,
        _text("value_1", "first value of the protected attribute", key=True),
        _text("value_2", "second value of the protected attribute", key=True),
        *(_count(f"num_{side}", f"scores of value_{side}", "texts") for side in (1, 2)),
        *(_number(f"mean_{side}", f"mean score of value_{side}") for side in (1, 2)),
        *(_number(f"sd_{side}", f"sample standard deviation of the scores of value_{side}") for side in (1, 2)),
        _number("t", "Student's t of mean_1 - mean_2; infinite if means differ and no score varies"),
        _number("degrees_of_freedom", "of t: after Welch and Satterthwaite, or num_1 + num_2 - 2 as published"),
        _number("p_value", "two-sided probability of such a t if the means were equal"),
        _number("p_holm", "after Holm, over the tests that one raw score counts"),
        _number("p_benjamini_hochberg", "after Benjamini and Hochberg, over the same tests"),
        *(
            column(f"rejected_{level}", pa.bool_(), f"whether equal means are rejected at the {level} % level")
            for level in (95, 70, 60)
        ),
        STATUS,
        REASON,
    ]
)

EFFECTS = pa.schema(
    [
        VARIANT,
        GROUP,
        DATASET,
        PROTECTED,
        SYSTEM,
        _text("emotion", _EMOTION, key=True),
        _count("num_texts", "scored texts of the emotion", "texts"),
        _number("mean_given", "E[Y|X]: mean score of the emotion's texts"),
        _number("mean_do", "E[Y|do(X)]: the same by backdoor adjustment over the protected attribute"),
        _number(
            "die_percent", "deconfounding impact: their distance in percent of the former; may be infinite", "percent"
        ),
        column("unseen", _STRINGS, "values of the attribute of which no text has the emotion (positivity fails)"),
        _text("unseen_policy", "what was done about them: 'renormalise' over the others, or 'undefined'"),
        STATUS,
        REASON,
    ]
)

RAW_SCORES = pa.schema(
    [
        VARIANT,
        GROUP,
        PROTECTED,
        SYSTEM,
        MEASURE,
        _count("num_tests", "pairs of values and data sets that could be tested (wrs), or emotions (die)", ""),
        *(
            _count(f"rejections_{level}", f"tests that reject at the {level} % level", "tests")
            for level in (95, 70, 60)
        ),
        _number("raw_score", "weighted rejection score, or largest deconfounding impact in percent: 0 is no bias"),
        _number(
            "raw_score_low",
            "lower end of its bootstrap interval, which lies above a score near 0 if there are few texts",
        ),
        _number("raw_score_high", "upper end of its bootstrap interval"),
        *(
            _count(f"{kind}_rejections_{level}", f"the same count of p-values corrected after {name}", "tests")
            for kind, name in (("holm", "Holm"), ("bh", "Benjamini and Hochberg"))
            for level in (95, 70, 60)
        ),
        column("is_confounded", pa.bool_(), "whether the emotion depends on the protected attribute in a data set"),
        _text("warning", "what makes the score doubtful; empty if nothing does"),
        STATUS,
        REASON,
    ]
)

RATINGS = pa.schema(
    [
        VARIANT,
        GROUP,
        PROTECTED,
        SYSTEM,
        MEASURE,
        _number("raw_score", "what the systems are ordered by, ascending"),
        column("rank", pa.int64(), "place in the partial order, from 1; systems with one raw score share it"),
        column("rating", pa.int64(), "level of the complete order, from 1, the least biased"),
        column("num_levels", pa.int64(), "levels of the complete order"),
        STATUS,
        REASON,
    ]
)

COMPARISONS = pa.schema(
    [
        VARIANT,
        GROUP,
        PROTECTED,
        SYSTEM,
        MEASURE,
        _number("original_score", "raw score of the original texts"),
        _number("raw_score", "raw score after the round trip"),
        _number("change", "the latter minus the former"),
        _number("change_low", "lower end of its bootstrap interval, of the same resamples before and after"),
        _number("change_high", "upper end of its bootstrap interval"),
        _number("percent_change", "change in percent of the original's score; null if that is 0", "percent"),
        column("original_rating", pa.int64(), "rating before"),
        column("rating", pa.int64(), "rating after"),
        STATUS,
        REASON,
    ]
)

TRAINING = pa.schema(
    [
        _count("epoch", "pass over the training texts, from 1", "", key=True),
        _number("loss", "mean cross entropy of the training texts during the pass", "nats"),
        _number("development_loss", "that of the development texts after it", "nats"),
        _number("development_accuracy", "share of the development texts whose class is the most probable one"),
    ]
)

EVALUATION = pa.schema(
    [
        _text("part", "training, development or test", key=True),
        _count("num_texts", "texts", "texts"),
        _number("sign_agreement", "share of the texts not labelled neutral whose score has the sign of its value"),
        _number("mean_absolute_error", "mean distance between score and the label's value"),
    ]
)
