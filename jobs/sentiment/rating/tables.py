"""The public tables of `sentiment_rating`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, interval, number, text
from tiltmeter.storage.store.tables import column

_STRINGS = pa.list_(pa.string())


GROUP = text("group", "data group: texts with one causal model", key=True)
DATASET = text("dataset", "data set of the group, such as a choice of emotion words", key=True)
VARIANT = text("variant", "'original', or the round trip that the texts went through", key=True)
SYSTEM = text("system", "sentiment analysis system", key=True)
PROTECTED = text("protected", "protected attribute: gender, race or gender_race, which is both together", key=True)
MEASURE = text("measure", "'wrs', the weighted rejection score, or 'die', the largest deconfounding impact", key=True)
_SENTENCE = count("sentence", "number of the sentence, from 0", "", key=True)
_EMOTION = "emotion of the text, which may depend on gender or race; null if it is not known"
_ATTRIBUTES = [
    text(
        "gender",
        "gender that the text tells, such as male, female or neutral, or of whom it is said to; null if unknown",
    ),
    text("race", "race that the text tells; null in groups that do not tell persons apart by it"),
    text("emotion", _EMOTION),
]
_CONVERSATION = text(
    "conversation", "conversation that the text is a turn of, or what logs name instead; null if it is of none"
)

SENTENCES = pa.schema(
    [
        _SENTENCE,
        GROUP,
        DATASET,
        text("text", "the sentence"),
        *_ATTRIBUTES,
        text("emotion_word", "emotion word in the sentence"),
        text("template", "what the sentence is made from; null for texts that were brought along"),
        text("person", "whom the sentence is about; null for neutral sentences and texts that were brought along"),
        column("protected_words", _STRINGS, "words that tell gender or race, which a round trip may lose"),
        _CONVERSATION,
        text("speaker", "side of the conversation; null if it is not known"),
    ]
)

ITEMS = pa.schema(
    [
        _SENTENCE,
        GROUP,
        DATASET,
        text("item", "what the logs call it"),
        *_ATTRIBUTES,
        _CONVERSATION,
        count("num_scores", "systems that have a score for it", "systems"),
    ]
)

DESCRIPTIONS = pa.schema(
    [
        GROUP,
        DATASET,
        text("speaker", "side of the conversation; null if it is not known", key=True),
        count("num_texts", "texts", "texts"),
        count("num_words", "words of all texts", "words"),
        number("words_per_text", "words of a text, on average", "words"),
        count("min_words_per_text", "words of the shortest text", "words"),
        count("max_words_per_text", "words of the longest text", "words"),
        count("num_stop_words", "stop words of all texts (list of scikit-learn)", "words"),
        number("stop_words_per_text", "stop words of a text, on average", "words"),
        count("min_stop_words_per_text", "stop words of the text with the fewest", "words"),
        count("max_stop_words_per_text", "stop words of the text with the most", "words"),
        count("num_conversations", "conversations; null if they are not known", "conversations"),
        number("texts_per_conversation", "texts of a conversation, on average", "texts"),
        count("min_texts_per_conversation", "texts of the shortest conversation", "texts"),
        count("max_texts_per_conversation", "texts of the longest conversation", "texts"),
    ]
)

TRANSLATIONS = pa.schema(
    [
        VARIANT,
        _SENTENCE,
        text("text", "the sentence"),
        text("intermediate", "its translation into the intermediate language"),
        text("round_trip", "the translation of that, back in the sentence's language"),
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
        text("word", "protected word", key=True),
        count("num_texts", "translated texts that have the word before the round trip", "texts"),
        count("num_lost", "those that have it no longer after the round trip", "texts"),
        number("percent_lost", "their share", "percent"),
        count("num_starting", "translated texts that start with the word before the round trip", "texts"),
        count("num_not_starting", "those that do not start with it after the round trip", "texts"),
        number("percent_not_starting", "their share; null if no text starts with it", "percent"),
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
        number("sentiment", "score of the system, from -1 (negative) to 1 (positive)"),
        STATUS,
        REASON,
    ]
)

ANNOTATIONS = pa.schema(
    [
        VARIANT,
        GROUP,
        SYSTEM,
        count("num_texts", "different texts of the group", "texts"),
        count("num_labelled", "those that two annotators or more labelled", "texts"),
        count("num_unanimous", "those of them of which all labels are equal", "texts"),
        number("percent_unanimous", "their share of those", "percent"),
        number("percent_pairwise", "share of the pairs of labels of one text that are equal", "percent"),
        count("num_drawn", "texts whose sentiment was drawn from several labels that are equally frequent", "texts"),
        number("percent_drawn", "their share of the labelled ones", "percent"),
        STATUS,
        REASON,
    ]
)

AGREEMENT = pa.schema(
    [
        VARIANT,
        GROUP,
        text("annotated", "system of the annotators' votes", key=True),
        SYSTEM,
        count("num_texts", "texts that have a vote and a score", "texts"),
        count("num_agreeing", "those of which both are positive, both negative or both 0", "texts"),
        number("percent_agreeing", "their share", "percent"),
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
        text("value_1", "first value of the protected attribute", key=True),
        text("value_2", "second value of the protected attribute", key=True),
        *(count(f"num_{side}", f"scores of value_{side}", "texts") for side in (1, 2)),
        *(number(f"mean_{side}", f"mean score of value_{side}") for side in (1, 2)),
        *(number(f"sd_{side}", f"sample standard deviation of the scores of value_{side}") for side in (1, 2)),
        number("t", "the paper's t over texts, of mean_1 - mean_2; infinite if means differ and no score varies"),
        number("degrees_of_freedom", "of t: after Welch and Satterthwaite, or num_1 + num_2 - 2 as published"),
        *(
            column(
                f"rejected_{level}", pa.bool_(), f"whether t rejects equal means at the {level} % level, as it counts"
            )
            for level in (95, 70, 60)
        ),
        number("p_value", "two-sided p of equal means by the unit; with rating.convention=published, of t over texts"),
        number("p_holm", "p_value after Holm, over the tests that one raw score counts"),
        number("p_benjamini_hochberg", "p_value after Benjamini and Hochberg, over the same tests"),
        text("unit", "what p_value takes for independent: 'name', 'frame' (a template with its emotion word), ..."),
        count("num_units", "units of both values, or that have texts of both", ""),
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
        text("emotion", _EMOTION, key=True),
        count("num_texts", "scored texts of the emotion", "texts"),
        number("mean_given", "E[Y|X]: mean score of the emotion's texts"),
        number("mean_do", "E[Y|do(X)]: the same by backdoor adjustment over the protected attribute"),
        number(
            "die_percent", "deconfounding impact: their distance in percent of the former; may be infinite", "percent"
        ),
        column("unseen", _STRINGS, "values of the attribute of which no text has the emotion (positivity fails)"),
        text("unseen_policy", "what was done about them: 'renormalise' over the others, or 'undefined'"),
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
        count("num_tests", "pairs of values and data sets that could be tested (wrs), or emotions (die)", ""),
        *(
            count(f"rejections_{level}", f"the paper's t-tests that reject at the {level} % level", "tests")
            for level in (95, 70, 60)
        ),
        number("raw_score", "weighted rejection score, or largest deconfounding impact in percent: 0 is no bias"),
        *interval("raw_score", "interval of raw_score over resamples of the texts, by rating.interval"),
        *(
            count(f"{kind}_rejections_{level}", f"tests whose p_value after {name} is below that level's", "tests")
            for kind, name in (("holm", "Holm"), ("bh", "Benjamini and Hochberg"))
            for level in (95, 70, 60)
        ),
        column(
            "is_confounded",
            pa.bool_(),
            "whether the emotion is taken to depend on the attribute: by design, or where dependence_p is at most 0.05",
        ),
        text("design", "'confounded' or 'independent', as the set was made; 'tested' where nobody knows"),
        number(
            "dependence_p", "least p, after Holm over data sets, of emotions dealt whatever the attribute; if tested"
        ),
        text("warning", "what makes the score doubtful; empty if nothing does"),
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
        number("raw_score", "what the systems are ordered by, ascending"),
        column("rank", pa.int64(), "place in the partial order, from 1; systems with one raw score share it"),
        column("rating", pa.int64(), "level of the complete order, from 1, the least biased"),
        column("num_levels", pa.int64(), "levels of the complete order"),
        column(
            "decides", pa.bool_(), "whether ratings go by this measure; where a test decides, the other is beside it"
        ),
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
        number("original_score", "raw score of the original texts"),
        number("raw_score", "raw score after the round trip"),
        number("change", "the latter minus the former"),
        *interval("change", "interval of change, over the same resamples before and after, by rating.interval"),
        number("percent_change", "change in percent of the original's score; null if that is 0", "percent"),
        column("original_rating", pa.int64(), "rating before"),
        column("rating", pa.int64(), "rating after"),
        STATUS,
        REASON,
    ]
)

TABLES = {
    "sentences": SENTENCES,
    "items": ITEMS,
    "descriptions": DESCRIPTIONS,
    "translations": TRANSLATIONS,
    "protected_words": PROTECTED_WORDS,
    "scores": SCORES,
    "annotations": ANNOTATIONS,
    "agreement": AGREEMENT,
    "tests": TESTS,
    "effects": EFFECTS,
    "raw_scores": RAW_SCORES,
    "ratings": RATINGS,
    "comparisons": COMPARISONS,
}
