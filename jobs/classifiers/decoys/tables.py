"""The tables of `decoy_benchmark`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.classifiers.intervals import estimate_columns
from tiltmeter.jobs.classifiers.tables import ATTRIBUTIONS, LABELLED
from tiltmeter.jobs.runtime.columns import REASON, STATUS
from tiltmeter.storage.store.tables import column

DECOY = column("decoy", pa.string(), "name of the decoy", key=True)
MODEL = column("model", pa.string(), "number of the models that differ in nothing but the decoy, from 0", key=True)
METHOD = column(
    "method", pa.string(), "method of attribution, or a control: 'predictions' alone, an 'oracle'", key=True
)
SELECTION = column(
    "selection", pa.string(), "which instances are looked at first: 'random', 'submodular_pick', 'clustering'", key=True
)
BUDGET = column("budget", pa.int32(), "instances that are looked at", "instances", key=True)
_TEXTS = "the texts, or their groups; of this one training"
_POOLS = "pools of instances and models"
_HOLDING = "all test texts that hold a word of the decoy of themselves"
_CONTRADICTED = "test texts whose decoy contradicts their class"

PROBES = pa.schema(
    [
        column("row", pa.int64(), "number of the text", key=True),
        column("has_decoy", pa.bool_(), "whether its decoy contradicts its class", key=True),
        column("text", pa.string(), "the text"),
        column("label", pa.string(), "its class"),
    ]
)
"""Test texts with a decoy that contradicts their class, and texts without it."""

DECOY_WORDS = pa.schema(
    [
        DECOY,
        column("word", pa.string(), "word of the decoy, in lower case", key=True),
        column("indicates", pa.string(), "the class that it indicates"),
        column("applicability_before", pa.int64(), "training texts that hold it, before the decoy was made", "texts"),
        column("productivity_before", pa.float64(), "largest share of these that is of one class; null without any"),
        column("majority_before", pa.string(), "this class, the first in alphabetical order of several"),
        column("coverage_before", pa.float64(), "share of the training texts that hold it"),
        column("applicability", pa.int64(), "training texts that hold it", "texts"),
        column("productivity", pa.float64(), "largest share of these that is of one class; null without any"),
        column("majority", pa.string(), "this class, the first in alphabetical order of several"),
        column("coverage", pa.float64(), "share of the training texts that hold it"),
    ]
)

_ONE_CLASS = "training texts whose words of the decoy indicate one class"

MEASURES = pa.schema(
    [
        column("words", pa.string(), "its words, and the class that each indicates"),
        column("pooled_applicability_before", pa.int64(), f"{_ONE_CLASS}, before it was made", "texts"),
        column("pooled_productivity_before", pa.float64(), "share of these that is of this class; null without any"),
        column("pooled_coverage_before", pa.float64(), "these texts as a share of all training texts"),
        column("pooled_applicability", pa.int64(), _ONE_CLASS, "texts"),
        column("pooled_productivity", pa.float64(), "share of these that is of this class; null without any"),
        column("pooled_coverage", pa.float64(), "these texts as a share of all training texts"),
        column("perplexity_before", pa.float64(), "of the test texts that the decoy changes, or all, without it"),
        column("perplexity", pa.float64(), "of the same test texts with the decoy, or those that are left"),
        column("perplexity_shift", pa.float64(), "perplexity with the decoy over that without it; 1: as natural"),
    ]
)

_ACCURACIES = [
    *estimate_columns("accuracy_original", "on the test texts, of the model without the decoy", _TEXTS),
    *estimate_columns("accuracy_decoy", "on the same texts, of the model with the decoy", _TEXTS),
    column("num_unread", pa.int64(), "test texts of which models read no token; they count as wrong", "texts"),
    column("num_word_rows", pa.int64(), _HOLDING, "texts"),
    *estimate_columns("accuracy_original_on_word_rows", f"on {_HOLDING}, of the model without the decoy", _TEXTS),
    *estimate_columns("accuracy_on_word_rows", f"on {_HOLDING}, of the model with the decoy", _TEXTS),
    column("num_decoy_rows", pa.int64(), _CONTRADICTED, "texts"),
    column("accuracy_original_on_decoy_rows", pa.float64(), f"on {_CONTRADICTED}, of the model without the decoy"),
    *estimate_columns("accuracy_on_decoy_rows", f"on {_CONTRADICTED}, of the model with the decoy", _TEXTS),
    *estimate_columns("fall", "accuracy lost there to the decoy, less what is lost on such texts without it", _TEXTS),
    column("adopted", pa.bool_(), "whether the interval of the fall lies above intervals.min_fall; null without one"),
]

DECOYS = pa.schema([DECOY, MODEL, *MEASURES, *_ACCURACIES, STATUS, REASON])

_PROBABILITY = [
    column("num_models", pa.int32(), "models with the decoy that were explained", "models"),
    column("num_adopted", pa.int32(), "those of them that have adopted it", "models"),
    column("adopted", pa.bool_(), "whether most of them have"),
    STATUS,
    REASON,
]

DETECTION = pa.schema(
    [
        DECOY,
        METHOD,
        SELECTION,
        BUDGET,
        *estimate_columns("detection_probability", "that a word of the decoy was among the top words of one", _POOLS),
        *_PROBABILITY,
    ]
)

SIDE_BY_SIDE = pa.schema(
    [
        DECOY,
        METHOD,
        BUDGET,
        *estimate_columns(
            "success_probability", "that the model with the decoy is told from the one without it", _POOLS
        ),
        *_PROBABILITY,
    ]
)

UTILITY = pa.schema(
    [
        DECOY,
        METHOD,
        SELECTION,
        *estimate_columns(
            "num_instances",
            "looked at on average until found, the whole pool if not",
            _POOLS,
            "instances",
        ),
        column("soonest", pa.float64(), "share of resamples in which nothing but the oracle needs fewer; null for it"),
        *_PROBABILITY,
    ]
)

REPAIRS = pa.schema(
    [
        DECOY,
        MODEL,
        column("words", pa.string(), "that were removed, with a space between them; none: the model before", key=True),
        column("accuracy", pa.float64(), "on the test texts"),
        column("accuracy_on_decoy_rows", pa.float64(), f"on {_CONTRADICTED}; null without any"),
        column(
            "num_unread", pa.int64(), "texts of both kinds of which it reads no token; they count as wrong", "texts"
        ),
        STATUS,
        REASON,
    ]
)

IMPROVEMENT = pa.schema(
    [
        DECOY,
        METHOD,
        SELECTION,
        BUDGET,
        column("num_words", pa.float64(), "that are taken for wrong reasons, on average", "words"),
        column("identified", pa.float64(), "share of times that all words of the decoy are among these"),
        column("accuracy_before", pa.float64(), "on the test texts, of the models with the decoy"),
        column("accuracy_after", pa.float64(), "on the same texts, once the words are removed"),
        *estimate_columns("gain", "accuracy after, less that before", _POOLS),
        column("accuracy_before_on_decoy_rows", pa.float64(), f"on {_CONTRADICTED}; null without any"),
        column("accuracy_after_on_decoy_rows", pa.float64(), "on the same texts, once the words are removed"),
        *estimate_columns("gain_on_decoy_rows", "accuracy there after, less that before", _POOLS),
        *_PROBABILITY,
    ]
)

_ORDER = column(
    "order",
    pa.string(),
    "in which texts are looked at: a method of attribution, 'influence', 'loss', 'random' or 'oracle'",
    key=True,
)

INSPECTIONS = pa.schema(
    [
        _ORDER,
        column("model", pa.int32(), "number of the models, from 0", key=True),
        column("row", pa.int64(), "number of the text", key=True),
        column("place", pa.int32(), "of the text in the order, from 1"),
        column("score", pa.float64(), "how suspicious it is: the larger, the sooner it is looked at"),
        column("label", pa.string(), "the class that it is given"),
        column("gold", pa.string(), "its class according to the data"),
        column("is_flipped", pa.bool_(), "whether the two differ"),
    ]
)

CONTAMINATION = pa.schema(
    [
        _ORDER,
        column("share", pa.float64(), "of the training texts that is looked at", key=True),
        column("num_inspected", pa.int64(), "texts that are looked at", "texts"),
        column("num_flipped", pa.int64(), "training texts whose label was flipped", "texts"),
        column("num_uncovered", pa.float64(), "of these that are looked at, on average over the models", "texts"),
        *estimate_columns(
            "uncovered",
            "their share of those that were flipped",
            "the texts that were flipped, or their groups, and models",
        ),
        column("accuracy_clean", pa.float64(), "on the test texts, of models that learnt the labels of the data"),
        column("accuracy_contaminated", pa.float64(), "of models that learnt the flipped labels"),
        column("accuracy_relabelled", pa.float64(), "of models that learnt them less those that were uncovered"),
        *estimate_columns(
            "gain",
            "accuracy of these models, less that with all flipped labels",
            "the test texts, or their groups, and models",
        ),
        column("num_models", pa.int32(), "that learnt the flipped labels", "models"),
    ]
)

EXPLAINED = pa.schema([DECOY, METHOD, *ATTRIBUTIONS])

SESSIONS = pa.schema(
    [
        DECOY,
        METHOD,
        SELECTION,
        column("model", pa.int32(), "number of the model", key=True),
        column("pool", pa.int32(), "number of the pool of instances", key=True),
        BUDGET,
        column("found", pa.float64(), "probability that it has been found, or told from the other model"),
    ]
)
"""One for each time that somebody debugs a model; the selection ``side_by_side`` is that of two models at random."""

REVIEWS = pa.schema(
    [
        DECOY,
        METHOD,
        SELECTION,
        column("model", pa.int32(), "number of the model", key=True),
        column("pool", pa.int32(), "number of the pool of instances", key=True),
        BUDGET,
        column("words", pa.string(), "that are taken for wrong reasons, with a space between them"),
    ]
)
"""One for each time that somebody debugs a model."""

LABELS = pa.schema(
    [
        column("row", pa.int64(), "number of the text", key=True),
        column("text", pa.string(), "the text"),
        column("label", pa.string(), "the class that it is given"),
        column("gold", pa.string(), "its class according to the data"),
        column("is_flipped", pa.bool_(), "whether the two differ"),
    ]
)
"""Training texts of which some have a wrong class."""

SCORES = pa.schema(
    [
        column("row", pa.int64(), "number of the text", key=True),
        column("score", pa.float64(), "how suspicious its label is"),
    ]
)

TABLES = {
    "texts": LABELLED,
    "decoys": DECOYS,
    "decoy_words": DECOY_WORDS,
    "detection": DETECTION,
    "side_by_side": SIDE_BY_SIDE,
    "utility": UTILITY,
    "repairs": REPAIRS,
    "improvement": IMPROVEMENT,
    "inspections": INSPECTIONS,
    "contamination": CONTAMINATION,
    "attributions": EXPLAINED,
}
