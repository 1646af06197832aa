"""The tables of `word_influence`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.classifiers.tables import TAGGED
from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, interval, number, text
from tiltmeter.storage.store.tables import column

_TEACHER = text("model", "the teacher: the number of a trained one, or the name of a checkpoint", key=True)
_SEED = count("seed", "number of the student, from 0", key=True)
_ROW = count("row", "number of the text among all that were read", key=True)
_PLACE = count("place", "of the word in its text, from 0", key=True)
_WORD = text("word", "that stands in the place")
_TAG = text("part_of_speech", "of the universal tags")
_LABEL = text("label", "the teacher's class of the text as it is")

PREPARED = pa.schema(
    [
        _ROW,
        text("part", "'training', 'development' or 'test'"),
        text("label", "its class"),
        text("text", "as it stands, up to its last word"),
        column("words", pa.list_(pa.string()), "of the text, as they are written there"),
        column("tags", pa.list_(pa.string()), "the part of speech of each"),
        count("cluster", "number of the text that it is a part of, or of who speaks"),
    ]
)
"""Texts with a class, as words."""

STUDENTS = pa.schema(
    [
        _TEACHER,
        _SEED,
        text("split", "'development' or 'test', and, behind a colon, a length in words or a part of speech", key=True),
        text(
            "measure",
            "'all_correct' and 'per_word': share of texts, or places, where the student has the teacher's class; with "
            "'_context_only', by the text without the word; with '_gold', of the class of the data; 'teacher_accuracy' "
            "and 'teacher_accuracy_masked'; 'calibration_error', how far the student's sureness is from its share of "
            "right places; with '_published', the same of p''",
            key=True,
        ),
        number("value", "the share"),
        number("low", "lower end of its interval, over sentences or groups by data.group"),
        number("high", "upper end of its interval"),
        count("num", "texts, or places", "rows"),
        STATUS,
        REASON,
    ]
)

INFLUENCES = pa.schema(
    [
        _TEACHER,
        _ROW,
        _PLACE,
        _WORD,
        _TAG,
        _LABEL,
        number("score", "2 softmax(C r) - 1 of the second of two classes; of more, the log odds of the text's class"),
        number("support", "the score in support of the text's class"),
    ]
)

UNLIKE_RATIOS = pa.schema(
    [
        _TEACHER,
        _ROW,
        _PLACE,
        _WORD,
        _TAG,
        _LABEL,
        number("ratio", "share of other words that change the class, by the student"),
        number("teacher_ratio", "the same by the teacher, or what a sample says of it"),
        number(
            "teacher_low",
            "lower end of its interval for these very words, by the hypergeometric distribution of the sample; where "
            "the teacher judged all, itself",
        ),
        number("teacher_high", "upper end of its interval"),
        count("num_words", "words of the part of speech", "words"),
        count("num_checked", "words that the teacher judged", "words"),
        number("agreement", "share of the words that the teacher judged for which both have one class"),
        STATUS,
        REASON,
    ]
)

COUNTERFACTUALS = pa.schema(
    [
        _TEACHER,
        _ROW,
        _PLACE,
        _WORD,
        _TAG,
        _LABEL,
        column("words", pa.list_(pa.string()), "the student's surest counterfactuals, the surest first"),
        count("num", "words that the student calls counterfactuals", "words"),
        count("num_sure", "of these, that it is sure of, by ratios.sureness", "words"),
        number("accuracy", "share of the surest ones that the teacher confirms"),
        number("accuracy_published", "the same if all are taken for sure; null where the teacher does not judge all"),
        number("accuracy_all", "share of all of them that it confirms; null where it does not judge all"),
        number("chance", "share of the words that change the class, whatever the student says: the teacher's ratio"),
        STATUS,
        REASON,
    ]
)

MASKING = pa.schema(
    [
        _TEACHER,
        _SEED,
        text(
            "method",
            "'influence', 'unlike_ratios', 'hybrid', 'hybrid_sum', 'hybrid_of_texts', 'lime' or 'random'",
            key=True,
        ),
        count("budget", "words that may be left out", "words", key=True),
        number("coverage", "share of the texts that the teacher gets wrong whose class changes"),
        *interval("coverage", "interval, over sentences or groups by data.group"),
        number("mean_masked", "words left out in these", "words"),
        number("less_lime", "coverage less that of LIME on the same texts"),
        *interval("less_lime", "interval of the paired differences"),
        count("num_texts", "that the teacher gets wrong", "texts"),
        STATUS,
        REASON,
    ]
)

PROBES = pa.schema(
    [
        _TEACHER,
        text("control", "the control word", key=True),
        text("probe", "the probe", key=True),
        text("part_of_speech", "of the words that they replace"),
        count("num_contexts", "contexts after the filter", "contexts"),
        count("num_clusters", "sentences that they are from, or groups by data.group", "sentences"),
        count("num_checked", "contexts that the teacher judged", "contexts"),
        number("rate", "share that is positive with the control and not with the probe, of the teacher"),
        number("low", "lower end of its interval, for other sentences of this kind"),
        number("high", "upper end of its interval"),
        number("rate_reversed", "share that is positive with the probe and not with the control, of the teacher"),
        number("difference", "rate less rate_reversed"),
        *interval("difference", "interval of the difference, for other sentences of this kind"),
        number("student_rate", "as rate, of the student in all contexts"),
        number("student_rate_reversed", "as rate_reversed, of the student"),
        count("num_differing", "of the sentences judged, those in which the two words are not level", "sentences"),
        number(
            "p_value",
            "of the two words being interchangeable in each sentence: by signs of sentences where all were judged, by "
            "Student's t in two phases of a sample; null where fewer than six sentences differ",
        ),
        number("p_holm", "the same for all pairs of the teacher, by Holm"),
        count("num_random", "random words of the part of speech that the teacher judged in the same contexts", "words"),
        number("p_random", "chance that two of these differ as much, by the teacher; null with fewer than 50"),
        number("p_random_holm", "the same for all pairs of the teacher, by Holm"),
        count("num_claims", "the student's surest contexts that are positive with the control and not the probe"),
        number("accuracy_control", "share of these that is positive with the control, by the teacher"),
        number("accuracy_probe", "share that is not with the probe"),
        number("accuracy_joint", "share of which both are true: the claim itself"),
        *interval("accuracy_joint", "interval over their sentences, by Korn and Graubard"),
        count("count_control", "training texts' places with the control", "places"),
        count("count_probe", "training texts' places with the probe", "places"),
        STATUS,
        REASON,
    ]
)

PROBE_CONTEXTS = pa.schema(
    [
        _TEACHER,
        text("part_of_speech", "of the words that are replaced", key=True),
        text("step", "of the filter, after which they are counted", key=True),
        count("num_contexts", "that are left", "contexts"),
    ]
)

VOCABULARIES = pa.schema(
    [
        _TEACHER,
        text("part_of_speech", "of the universal tags", key=True),
        text("word", "in lower case", key=True),
        text("written", "as training texts mostly write it, and as it is put into others"),
        count("count", "places of training texts that have it as this part of speech", "places"),
        STATUS,
        REASON,
    ]
)

FLAGS = pa.schema(
    [
        count("context", "number of the context", key=True),
        count("cluster", "its sentence"),
        text("step", "the last step of the filter that it passed"),
        column("student", pa.list_(pa.bool_()), "whether it is positive with each word, by the student"),
        column("teacher", pa.list_(pa.bool_()), "the same by the teacher; null where it was not asked"),
        column(
            "odds",
            pa.list_(pa.float32()),
            "log odds of positive with each word, by the student, or of the teacher having it",
        ),
        column("random", pa.list_(pa.bool_()), "whether it is positive with each random word"),
    ]
)
"""What a shard of contexts gives, for the probes."""

TABLES = {
    "texts": TAGGED,
    "students": STUDENTS,
    "influences": INFLUENCES,
    "unlike_ratios": UNLIKE_RATIOS,
    "counterfactuals": COUNTERFACTUALS,
    "masking": MASKING,
    "probes": PROBES,
    "probe_contexts": PROBE_CONTEXTS,
    "vocabularies": VOCABULARIES,
}
