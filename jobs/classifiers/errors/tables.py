"""Tables of `error_characterisation`."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, interval, number, text
from tiltmeter.storage.store.tables import column

_ROW = count("row", "number of the row in its file, from 0", key=True)
_SCORE = text("score", "what texts are ranked by", key=True)
_SPLIT = text("split", "number of the split, from 0; 'all': the mean over them", key=True)


def _interval(what: str) -> list[pa.Field]:
    """Of the column before."""
    return [
        number("low", f"lower end of the interval of {what}"),
        number("high", f"upper end of the interval of {what}"),
    ]


def _band(name: str) -> list[pa.Field]:
    return [
        number(f"{name}_band_low", f"lower end of what holds the {name} of one more split; null for one, or few units"),
        number(f"{name}_band_high", f"upper end of what holds the {name} of one more split"),
    ]


TEXTS = pa.schema(
    [
        _ROW,
        text("text", "the text; empty if there is none"),
        text("label", "its class; null if it has none"),
        text("group", "what ties it to others: they are never in two parts"),
        text("id", "by which a parse names it"),
        text(
            "half",
            "'exploration' or 'confirmation': whether it helps to find slices, or to confirm; null: neither",
        ),
        STATUS,
        REASON,
    ]
)

READ = pa.schema(
    [
        *(field for field in TEXTS if field.name not in ("half",)),
        text("prediction", "what the model has predicted; null without a column"),
        text("previous", "what its version before has predicted; null without a column"),
        column("probabilities", pa.list_(pa.float64()), "of the classes, in the order of the settings"),
    ]
)
"""The rows of the file."""

PREDICTIONS = pa.schema(
    [
        _ROW,
        text("predicted", "what the model has predicted; null where it reads no token"),
        column("is_error", pa.bool_(), "whether that is not the label; null without one"),
        text("previous", "what its version before has predicted; null without one"),
        column("probabilities", pa.list_(pa.float64()), "of the classes in alphabetical order; null if unknown"),
        number("least_confidence", "1 less the largest probability"),
        number("margin", "the second largest probability less the largest"),
        number("entropy", "of the probabilities", "nats"),
        number("error_score", "probability of an error, by a forest that was trained without the text's group"),
        count("rank", "place by that, from 1: the text that is most likely wrong"),
        column(
            "reasons",
            pa.list_(pa.string()),
            "what moves that probability most from the mean: features, or that they are not there, and by how much",
        ),
        number(
            "in_domain_disagreement", "1 less what a model of words, trained without the text, gives the prediction"
        ),
        column("is_label_suspected", pa.bool_(), "whether that model is sure of another label, by confident learning"),
        STATUS,
        REASON,
    ]
)

FEATURES = pa.schema(
    [
        _ROW,
        text("feature", "the feature", key=True),
        number("count", "how often the text has it; its value where it is no count"),
        number("value", "the count divided by the number of tokens; the value where it is no count"),
    ]
)

ERROR_MODELS = pa.schema(
    [
        _SCORE,
        _SPLIT,
        text(
            "measure",
            "'auroc', 'aurc' (area under the risk-coverage curve) or 'error_rate' of the test texts",
            key=True,
        ),
        number("value", "the measure, on texts that nothing was trained with"),
        *_interval("the mean, after Nadeau and Bengio; null for a split"),
        *_band("value"),
    ]
)

PRECISION_AT_K = pa.schema(
    [
        _SCORE,
        _SPLIT,
        count("k", "how many texts are looked at", "texts", key=True),
        number("precision", "share of errors among the texts of the highest scores; equal scores in no order"),
        *_interval("the precision: of a split by the groups of these texts, of the mean after Nadeau and Bengio"),
        *_band("precision"),
    ]
)

PRECISION_DIFFERENCES = pa.schema(
    [
        _SCORE,
        text("baseline", "what it is compared with, on the same test texts", key=True),
        count("k", "how many texts are looked at", "texts", key=True),
        number("difference", "mean over splits of the precision less that of the baseline"),
        *interval("difference", "interval of the difference, after Nadeau and Bengio"),
    ]
)

RISK_COVERAGE = pa.schema(
    [
        _SCORE,
        number("coverage", "share of the texts that are kept, those of the lowest scores").with_metadata(
            {"description": "share of the texts that are kept, those of the lowest scores", "unit": "", "key": "true"}
        ),
        number("risk", "error rate among them, as the mean over splits"),
    ]
)

FEATURE_POWER = pa.schema(
    [
        text("feature", "the feature", key=True),
        number("share", "of the texts that have it"),
        number("auroc", "of the feature alone, as the mean over splits: 0.5 says nothing, below it goes with hits"),
        *interval("auroc", "interval of the AUROC, after Nadeau and Bengio"),
        text("part", "features that correlate with it are shuffled with it; the name of their first"),
        number("importance", "fall of the forest's AUROC when the part is shuffled among test texts"),
        *interval("importance", "interval of the importance, after Nadeau and Bengio"),
        number("gini_importance", "as published, from the forest's own training; it favours features of many values"),
    ]
)

SLICES = pa.schema(
    [
        text("slice", "its predicates, joined by 'and'", key=True),
        count("num_predicates", "how many there are"),
        column("predicates", pa.list_(pa.string()), "each of them"),
        count("size", "texts that have them all, of those that explore", "texts"),
        count("num_groups", "units that these are of: values of data.group, or texts that say the same"),
        number("error_rate", "share of errors among these"),
        *_interval("the error rate, by groups (Korn and Graubard; of single texts Clopper and Pearson)"),
        number("lift", "the error rate over that of all texts that explore"),
        number("difference", "the error rate less what the predicted classes of its texts let expect"),
        number("t", "that difference in standard deviations: of drawn errors or, of groups, of their scores' signs"),
        number("p_value", "that errors are as likely outside, given the class, adjusted for all slices by max-T"),
        number("score", "what slices are ordered by: T, or SliceLine's score"),
        count("leading", "place among the slices that say what all say, from 1; null for the others"),
        count("num_folded", "longer slices that have the same texts"),
        count("confirmed_size", "texts that have them all, of those that confirm", "texts"),
        number("confirmed_rate", "share of errors among these"),
        number("confirmed_low", "lower end of the interval of the confirmed rate, by groups"),
        number("confirmed_high", "upper end of the interval of the confirmed rate"),
        number("confirmed_difference", "the confirmed rate less what the predicted classes let expect there"),
        number("confirmed_p", "of it, one-sided t of groups' scores, by Holm over the leading slices; null for others"),
        number("suspected_share", "share of its errors, in both halves, whose label is suspected"),
        STATUS,
        REASON,
    ]
)

VERSIONS = pa.schema(
    [
        text("slice", "its predicates, joined by 'and'; 'all texts'", key=True),
        column("predicates", pa.list_(pa.string()), "each of them"),
        count("size", "texts that have them all", "texts"),
        count("num_moved", "groups with texts of them that one version alone gets right"),
        number("before", "error rate of the version before"),
        number("after", "error rate of the model"),
        number("change", "after less before"),
        *interval("change", "interval of the change, by groups, for one slice"),
        number("p_value", "that either way is as likely for each group, adjusted for all slices by max-T"),
        count("leading", "place among the slices that say what all say that got worse, from 1; null for the others"),
        STATUS,
        REASON,
    ]
)

_PROMISE = text("promise", "'missed': share of errors outside the flagged set; 'unflagged': error rate there", key=True)
_AT_MOST = number("level", "at most which").with_metadata({"description": "at most which", "unit": "", "key": "true"})

GUARANTEES = pa.schema(
    [
        _PROMISE,
        _AT_MOST,
        number("delta", "probability that any of the promises made together is broken"),
        count("num_joint", "how many are made together: all, or each by itself"),
        number("achieved_delta", "exact probability that this one is broken; null where no more is known than a bound"),
        text("flags", "'all' texts are flagged, as nothing less can be promised; 'some'; or 'none' need be"),
        number(
            "threshold", "texts with at least this score by error_forest are flagged; null where flags says all or none"
        ),
        number("flagged_share", "share of the calibration texts that are flagged"),
        number("missed", "share of the errors, of the calibration texts, outside the flagged set"),
        number("unflagged_rate", "error rate of the calibration texts outside; null if all are flagged"),
        number("unflagged_most", "one-sided bound (1 - delta / num_joint) of that rate, by texts that chose nothing"),
        count("num_calibration", "texts by which the threshold is chosen", "texts"),
        count("num_errors", "errors among them, one of each group"),
        count("allowed", "of these, so many lie below the threshold"),
        STATUS,
        REASON,
    ]
)

FLAGS = pa.schema(
    [
        _ROW,
        _PROMISE,
        _AT_MOST,
        number("score", "probability of an error, by error_forest, which was trained without the text's group"),
        column("is_flagged", pa.bool_(), "whether it is at least the promise's threshold"),
    ]
)

CHECKS = pa.schema(
    [
        _PROMISE,
        _AT_MOST,
        number("threshold", "of the earlier run; null where flags says all or none"),
        text("flags", "'all', 'some' or 'none' of the texts, by the promise"),
        number("flagged_share", "share of the new texts that are flagged"),
        count("num_errors", "errors among those that have a label, one of each group"),
        number("missed", "share of these that are not flagged"),
        number("unflagged_rate", "error rate of the new texts that have a label and are not flagged"),
        number("exchangeable_p", "that as many are missed where texts are of the kind that chose the threshold"),
        STATUS,
        REASON,
    ]
)

ERROR_FOREST = pa.schema(
    [
        count("node", "number of the node, from 0, one tree after the other", key=True),
        count("tree", "number of its tree, from 0"),
        text("feature", "what it looks at; null: it is a leaf"),
        number("threshold", "a text goes to the left where the feature is at most this, in single precision"),
        count("left", "number of the node to the left; -1 of a leaf"),
        count("right", "number of the node to the right; -1 of a leaf"),
        number("share", "share of errors among the training texts there; a text's score is the mean at its leaves"),
    ]
)

ROUNDS = pa.schema(
    [
        text("strategy", "by which texts are chosen", key=True),
        count("round", "number of the round; 0: before the first choice", key=True),
        count("num_labels", "texts that are labelled by then", "texts"),
        number("accuracy", "on texts that are never labelled, as the mean over seeds"),
        *interval("accuracy", "interval of the accuracy over seeds, which share texts, after Nadeau and Bengio"),
        number("over_random", "mean over seeds of the accuracy less that of random choices"),
        *interval("over_random", "interval of the difference of paired seeds, after Nadeau and Bengio"),
        number("errors_found", "share of errors of the model among the texts that were chosen last"),
        count("num_seeds", "that are averaged"),
    ]
)

TABLES = {
    "predictions": PREDICTIONS,
    "features": FEATURES,
    "error_models": ERROR_MODELS,
    "precision_at_k": PRECISION_AT_K,
    "precision_differences": PRECISION_DIFFERENCES,
    "risk_coverage": RISK_COVERAGE,
    "feature_power": FEATURE_POWER,
    "slices": SLICES,
    "versions": VERSIONS,
    "guarantees": GUARANTEES,
    "error_forest": ERROR_FOREST,
    "flags": FLAGS,
    "checks": CHECKS,
    "rounds": ROUNDS,
    "texts": TEXTS,
}
