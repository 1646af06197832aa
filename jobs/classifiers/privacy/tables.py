"""The tables of `privacy_metrics`: every column with its type, its unit and a sentence."""

from collections.abc import Iterator

import pyarrow as pa

from tiltmeter.jobs.classifiers.tables import ATTRIBUTIONS
from tiltmeter.jobs.runtime.columns import REASON, STATUS
from tiltmeter.storage.store.tables import column

MODEL = column("model", pa.string(), "the model", key=True)
SEED = column("seed", pa.int32(), "number of the seed, from 0; null: mean over the seeds", key=True)
CORPUS = column(
    "corpus",
    pa.string(),
    "'within': the test part of the data; 'across': the other corpus; 'noisy': the test part with artificial words",
    key=True,
)
SENTENCE = column(
    "sentence", pa.int64(), "number of the sentence, as in the tables texts, noisy_texts and attributions", key=True
)

MEASURES = {
    "valence_uar": "unweighted average recall of valence",
    "gender_uar": "unweighted average recall of gender, by an attacker on the frozen representation",
    "ep": "EP: share of the attribution that falls on words that give gender away, mean over the sentences",
    "eg": "EG: share that falls on words of the valence lexicon, with the right sign; null without a lexicon",
    "lexicon_share": "share that falls on words of the valence lexicon, with any sign; null without a lexicon",
}
"""What the table ``models`` says of each."""

EXPLAINED = ("ep", "eg", "lexicon_share")
"""Those that come from attributions."""

TEXTS = pa.schema(
    [
        SENTENCE,
        column("part", pa.string(), "'training', 'development', 'test', 'across' or 'unbiased'"),
        column("file", pa.string(), "the file it is from: 'training', 'development', 'test', 'across' or 'unbiased'"),
        column("row", pa.int64(), "number of the row in its file, from 0"),
        column("text", pa.string(), "the text; empty if there is none"),
        column("valence", pa.string(), "its class; null if it has none"),
        column("gender", pa.string(), "the gender of who speaks; null if nothing says"),
        column("group", pa.string(), "who speaks; null if nothing says"),
        STATUS,
        REASON,
    ]
)

NOISY_TEXTS = pa.schema(
    [
        SENTENCE,
        column("original", pa.int64(), "number of the sentence that it is a copy of"),
        column("text", pa.string(), "the copy"),
        column("noise", pa.string(), "the artificial word that was added; null if none was"),
        column("valence", pa.string(), "its class"),
        column("gender", pa.string(), "the gender of who speaks"),
    ]
)

OUTCOMES = pa.schema(
    [
        MODEL,
        SEED,
        CORPUS,
        SENTENCE,
        column("valence", pa.string(), "true class"),
        column("gender", pa.string(), "true gender"),
        column("found_valence", pa.string(), "class by the model"),
        column("found_gender", pa.string(), "gender by the attacker"),
    ]
)
"""What each model finds in each text that it is tested on."""

SAMPLES = pa.schema(
    [
        MODEL,
        SEED,
        CORPUS,
        SENTENCE,
        column("ep", pa.float64(), "EP of the sentence; null without an attribution"),
        column("eg", pa.float64(), "EG of the sentence; null without an attribution or a lexicon"),
        column("lexicon_share", pa.float64(), "share of words of the lexicon with any sign; null as for eg"),
        column("num_words", pa.int32(), "words that the model read", "words"),
        column("num_unread", pa.int32(), "words that it did not read, as beyond its limit", "words"),
        STATUS,
        REASON,
    ]
)

WORD_SHARES = pa.schema(
    [
        MODEL,
        SEED,
        CORPUS,
        SENTENCE,
        column("word", pa.string(), "entry of a list", key=True),
        column("list", pa.string(), "name of the list", key=True),
        column("num", pa.int32(), "times that the sentence has it", "occurrences"),
        column("share", pa.float64(), "share of the sentence's attribution that falls on it"),
    ]
)
"""What each listed word of each sentence has of its attribution."""


def _with_interval(name: str, sentence: str) -> Iterator[pa.Field]:
    yield column(name, pa.float64(), sentence)
    yield column(f"{name}_low", pa.float64(), "low end of its interval, over texts")
    yield column(f"{name}_high", pa.float64(), "high end of its interval")


MODELS = pa.schema(
    [
        MODEL,
        SEED,
        CORPUS,
        *(field for name, sentence in MEASURES.items() for field in _with_interval(name, sentence)),
        column("num_rows", pa.int64(), "texts that it was tested on", "texts"),
        column("num_explained", pa.int64(), "texts that were explained", "texts"),
        STATUS,
        REASON,
    ]
)

ORDERINGS = pa.schema(
    [
        MODEL,
        column("against", pa.string(), "the other model", key=True),
        CORPUS,
        column("measure", pa.string(), "a column of the table models", key=True),
        *_with_interval("difference", "mean over the seeds of the model, less that of the other"),
        column("expected", pa.string(), "'lower' or 'higher': what the approach promises; null: nothing"),
        column("found", pa.bool_(), "whether the interval lies on that side of 0; null where nothing is promised"),
        STATUS,
        REASON,
    ]
)

EP_WORDS = pa.schema(
    [
        MODEL,
        column("word", pa.string(), "entry of a list of words that give gender away", key=True),
        column("list", pa.string(), "name of the list", key=True),
        CORPUS,
        column("num_occurrences", pa.int64(), "times that the explained sentences have it", "occurrences"),
        column("num_sentences", pa.int64(), "explained sentences that have it", "sentences"),
        column("share", pa.float64(), "its part of EP: its share of the attribution, mean over all sentences"),
        column("share_where_used", pa.float64(), "its share of the attribution, mean over sentences that have it"),
        column("share_general", pa.float64(), "share of the model General; null of General itself, and without it"),
        *_with_interval("change", "share, less that of General; null as for share_general"),
        column("stopped", pa.bool_(), "whether the interval of change lies below 0 and share is at most half"),
        STATUS,
        REASON,
    ]
)

NOISE = pa.schema(
    [
        MODEL,
        SEED,
        column("word", pa.string(), "artificial word, of a class and a gender; null: of all", key=True),
        *_with_interval("share", "share of the attribution that falls on the artificial word, mean over the texts"),
        *_with_interval("first", "share of the texts in which no other word has a larger attribution"),
        column("even_share", pa.float64(), "both, were the attributions of all words as large"),
        column("highlighted", pa.bool_(), "whether the interval of share lies above even_share"),
        column("num_texts", pa.int64(), "explained texts that have an artificial word", "texts"),
        STATUS,
        REASON,
    ]
)

TABLES = {
    "texts": TEXTS,
    "noisy_texts": NOISY_TEXTS,
    "models": MODELS,
    "orderings": ORDERINGS,
    "ep_words": EP_WORDS,
    "noise": NOISE,
    "samples": SAMPLES,
    "attributions": ATTRIBUTIONS,
}
