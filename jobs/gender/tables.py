"""The tables of gender bias: every column with its type, its unit and a sentence."""

from functools import partial
from itertools import chain

import pyarrow as pa

from tiltmeter.jobs.embedding import tables as embedding
from tiltmeter.jobs.embedding.tables import OfModel, Vocabulary, with_interval
from tiltmeter.jobs.runtime import columns
from tiltmeter.jobs.runtime.columns import REASON, STATUS, number
from tiltmeter.storage.store.tables import column

count = partial(columns.count, type=pa.int32())
MODEL, LANGUAGE = map(OfModel.schema().field, ("model", "language"))
WORD = Vocabulary.schema().field("word")
MISSING_WORDS = column("missing_words", pa.list_(pa.string()), embedding.MISSING_WORDS)
NUM_REPLICAS = count("num_replicas", embedding.NUM_REPLICAS, "replicas")

_ON_AXIS = "cosine with the gender direction; positive is the female side"
_BY = {
    "count": "each form by its count in the corpus",
    "form": "every form the same",
    "gender": "every gender the same",
}


def _weighted(name: str, sentence: str, unit: str = "") -> list[pa.Field]:
    """A number by the weights that the job was asked for, and by each of those that there are."""
    each = (with_interval(f"{name}_by_{weights}", f"{name}, {what}", unit) for weights, what in _BY.items())
    return [*with_interval(name, sentence, unit), *chain.from_iterable(each)]


_WEIGHTS = column("weights", pa.string(), "job.weights, of the forms of a profession: 'count', 'form' or 'gender'")

GENDER_WORDS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        WORD,
        column("list", pa.string(), "'defining' or 'professions'", key=True),
        column("item", pa.string(), "the English pair or profession that the word stands for", key=True),
        column("gender", pa.string(), "'feminine', 'masculine' or 'neutral': of the word, not of its vector"),
        *with_interval("bias", _ON_AXIS, "cosine"),
        column("count", pa.int64(), "occurrences in the original corpus; null where that is not known", "occurrences"),
        column("note", pa.string(), "what is doubtful about the word in the list; empty if nothing is"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

GENDER_PROFESSIONS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("profession", pa.string(), "the profession in English", key=True),
        _WEIGHTS,
        *_weighted("bias", f"weighted mean over its forms of their {_ON_AXIS}", "cosine"),
        column("forms", pa.list_(pa.string()), "its words that have a vector"),
        MISSING_WORDS,
        column(
            "count", pa.int64(), "occurrences of all its forms in the original corpus; null if not known", "occurrences"
        ),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

GENDER_LANGUAGES = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("script", pa.string(), "script of the word lists, by its ISO 15924 code"),
        _WEIGHTS,
        *_weighted(
            "direct_bias", "DirectBias: mean over the professions of |bias|^c, each the mean over its forms", "cosine"
        ),
        *with_interval(
            "direct_bias_of_forms",
            "DirectBias with the mean over a profession's forms of |bias of the form|^c: forms on both sides do not "
            "cancel",
            "cosine",
        ),
        number("exponent", "the c of DirectBias"),
        *_weighted("mean_bias", "mean bias over the professions, with its sign; positive is the female side", "cosine"),
        *with_interval("female_words", "mean bias of the female defining words", "cosine"),
        *with_interval("male_words", "mean bias of the male defining words", "cosine"),
        *with_interval("first_share", "variance of the defining pairs along the gender direction", "share"),
        *with_interval("second_share", "variance of the defining pairs along the second component", "share"),
        *with_interval("gap", "first_share less second_share", "share"),
        *with_interval("agreement", "pairs whose female word lies on the female side of its partner", "share"),
        column("warning", pa.string(), "what makes the direction doubtful; empty if nothing does"),
        count("num_pairs", "defining pairs of which both words have a vector", "pairs"),
        count(
            "num_professions",
            "professions of which a form has a vector, and, by count, of which counts are known",
            "words",
        ),
        number("profession_share", "forms of professions in all words of the corpus; null if not known", "share"),
        MISSING_WORDS,
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

GENDER_PAIRS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("pair", pa.string(), "the defining pair that is left out, in English", key=True),
        column("feminine", pa.string(), "its female word"),
        column("masculine", pa.string(), "its male word"),
        *with_interval("direct_bias", "DirectBias along the direction of the other pairs", "cosine"),
        *with_interval("change", "that less DirectBias along the direction of all pairs", "cosine"),
        *with_interval("similarity", "cosine of the two directions", "cosine"),
        *with_interval("first_share", "variance of the other pairs along their direction", "share"),
        *with_interval("gap", "that less their variance along the second component", "share"),
        *with_interval("gap_change", "that less the gap of all pairs", "share"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

LANGUAGE_CORRELATION = pa.schema(
    [
        column("model_1", pa.string(), "a corpus, file or encoder, as in model", key=True),
        column("language_1", pa.string(), "its language", key=True),
        column("model_2", pa.string(), "another, or the same one", key=True),
        column("language_2", pa.string(), "the language of that one", key=True),
        _WEIGHTS,
        *_weighted("correlation", "Pearson's r of the professions' bias in both; replicas paired by number"),
        count("num_professions", "professions that both have", "words"),
        count("position_1", "place of model_1 in the order of the clustering, from 0", "place"),
        count("position_2", "place of model_2 in the order of the clustering, from 0", "place"),
        STATUS,
        REASON,
    ]
)
"""Figure 6 of Matthews et al. 2021."""

GENDER_SETS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("score", pa.string(), "'bias', or 'size' of the bias without its sign", key=True),
        *with_interval("original_mean", "mean score of the original professions", "cosine"),
        *with_interval("modified_mean", "mean score of the survey's professions", "cosine"),
        *with_interval("t", "Welch's t of the two; positive where the original mean is larger"),
        number("df", "degrees of freedom of t"),
        number("p", "two-sided, of the original corpus: how often lists dealt by chance have so large a t, either way"),
        *with_interval("similarity", "cosine of the gender directions of the two lists of pairs", "cosine"),
        count("original_professions", "original professions that have a bias", "words"),
        count("modified_professions", "the survey's professions that have one", "words"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)
"""The survey's lists against those of Bolukbasi et al. 2016, where a language has both (Matthews et al. 2021, 2.2)."""

TABLES = {
    "gender_words": GENDER_WORDS,
    "gender_professions": GENDER_PROFESSIONS,
    "gender_languages": GENDER_LANGUAGES,
    "gender_pairs": GENDER_PAIRS,
}
"""Of each language."""
