"""The tables of `privacy_metrics`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.classifiers.intervals import estimate_columns
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
    "ep": "EP against General, equation 1, mean over the sentences that have one; higher is more private",
    "ep_random": "EP with random words in the place of those that give gender away, mean over the lists",
    "eg": "EG, equation 2, mean over the sentences that General gets right; higher generalises better",
    "listed_share": "share of the attribution that falls on words that give gender away; lower is more private",
    "right_sign_share": "share that falls on words of the valence lexicon, with the right sign; null without a lexicon",
    "lexicon_share": "share that falls on words of the valence lexicon, with any sign; null without a lexicon",
}
"""What the table ``models`` says of each."""

EXPLAINED = tuple(MEASURES)[2:]
"""Those that come from attributions."""

RANDOM_LISTS = "random lists"
"""In the place of a model that EP is compared with: EP with random words in the place of the listed ones."""

EP_STATUSES = {
    "ok": "",
    "is_general": "EP compares with General, and so General has none",
    "no_general": "EP compares with General, which is not among the models",
    "no_attribution": "no word of the sentence has an attribution other than 0",
    "no_denominator": "General's explanation has none of the words that equation 1 divides by",
}
"""Why there is no EP."""

EG_STATUSES = {
    "ok": "",
    "no_lexicon": "there is no valence lexicon",
    "no_general": "EG is of sentences that General gets right, which is not among the models",
    "no_attribution": "no word of the sentence has an attribution other than 0",
    "general_wrong": "General gets the sentence wrong",
}
"""Why there is no EG."""

_WHY = [
    column("ep_status", pa.string(), "'ok', or why there is no EP, in a word"),
    column("ep_reason", pa.string(), "why there is no EP, in a sentence; empty if there is one"),
    column("eg_status", pa.string(), "'ok', or why there is no EG, in a word"),
    column("eg_reason", pa.string(), "why there is no EG, in a sentence; empty if there is one"),
]

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
        column("ep", pa.float64(), "EP of the sentence against General with the same seed"),
        column("ep_random", pa.float64(), "EP of random lists, mean over those that it has a value of"),
        column("eg", pa.float64(), "EG of the sentence"),
        *_WHY,
        column("num_general", pa.int32(), "G of equation 1: words that EP is divided by; null without an EP", "words"),
        column("num_avoided", pa.int32(), "listed words that General's explanation alone has; null likewise", "words"),
        column("num_added", pa.int32(), "listed words that this model's alone has; null likewise", "words"),
        column(
            "num_against", pa.int32(), "words that speak against the class, though of its bin; null without", "words"
        ),
        column("num_opposite", pa.int32(), "words that speak for the class, though of the opposite bin", "words"),
        column("listed_share", pa.float64(), "share of words that give gender away; null without an attribution"),
        column("right_sign_share", pa.float64(), "share of words of the lexicon with the right sign"),
        column("lexicon_share", pa.float64(), "share of words of the lexicon with any sign"),
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
        column("part", pa.float64(), "what it adds to the sentence's EP; null where that has none"),
        column("num_avoided", pa.int32(), "words of it that General's explanation alone has; null likewise", "words"),
        column("num_added", pa.int32(), "words of it that this model's alone has; null likewise", "words"),
    ]
)
"""What each listed word of each sentence has of its attribution."""


_UNITS = column("num_units", pa.int64(), "speakers of the explained texts, or the texts where nothing says who speaks")


def _with_interval(name: str, sentence: str) -> list[pa.Field]:
    return estimate_columns(name, sentence, "speakers, or texts where nothing says who speaks, and seeds")


MODELS = pa.schema(
    [
        MODEL,
        SEED,
        CORPUS,
        *(field for name, sentence in MEASURES.items() for field in _with_interval(name, sentence)),
        column("num_rows", pa.int64(), "texts that it was tested on", "texts"),
        _UNITS,
        column("num_explained", pa.int64(), "texts that were explained", "texts"),
        column("num_ep", pa.int64(), "texts that have an EP, with one seed at least", "texts"),
        column("num_eg", pa.int64(), "texts that have an EG, with one seed at least", "texts"),
        *_WHY,
        STATUS,
        REASON,
    ]
)

ORDERINGS = pa.schema(
    [
        MODEL,
        column("against", pa.string(), f"the other model; or '{RANDOM_LISTS}', of EP", key=True),
        CORPUS,
        column("measure", pa.string(), "a column of the table models", key=True),
        *_with_interval("difference", "mean over the texts of the model, less that of the other; General's EP is 0"),
        _UNITS,
        column("sd_training", pa.float64(), "standard deviation of the difference between seeds; null of one seed"),
        column(
            "p",
            pa.float64(),
            "two-sided, of no difference: the larger of that by the signs of speakers, in each of whom the two may be "
            "interchanged, and that by Student's t over speakers and seeds; of one seed the first; null of too few",
        ),
        column("p_holm", pa.float64(), "after Holm, over the rows of the same corpus and measure"),
        column("p_benjamini_hochberg", pa.float64(), "after Benjamini and Hochberg, over the same rows"),
        column("expected", pa.string(), "'lower' or 'higher': what the paper expects; null: nothing"),
        column(
            "found",
            pa.bool_(),
            "whether the interval lies on that side of 0; null where nothing is expected, and without an interval",
        ),
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
        column("part", pa.float64(), "what it adds to EP; null where there is none"),
        column("num_avoided", pa.int64(), "words of it in General's explanations alone, over all seeds", "words"),
        column("num_added", pa.int64(), "words of it in this model's alone, over all seeds", "words"),
        column("share", pa.float64(), "its part of the listed share: of the attribution, mean over all sentences"),
        column("share_where_used", pa.float64(), "its share of the attribution, mean over sentences that have it"),
        column("share_general", pa.float64(), "share of the model General; null of General itself, and without it"),
        *_with_interval("change", "share, less that of General; null as for share_general"),
        column(
            "stopped",
            pa.bool_(),
            "whether the interval of change lies below 0 and share is at most half; null without one",
        ),
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
        column("highlighted", pa.bool_(), "whether the interval of share lies above even_share; null without one"),
        column("num_texts", pa.int64(), "explained texts that have an artificial word", "texts"),
        _UNITS,
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
