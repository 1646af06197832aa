"""Tables of `error_characterisation`, and how its pages say a slice."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.jobs.report.wording import listed, phrase
from tiltmeter.jobs.runtime import table
from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key, schemas
from tiltmeter.storage.store.tables import column

STRATEGIES = {
    "errors": "likely errors",
    "random": "chance",
    "least_confidence": "least confidence",
    "in_domain_disagreement": "in-domain disagreement",
}
_PROMISES = {"missed": "share of errors that is missed", "unflagged": "error rate of the others"}
_NOUNS = {
    "numbers": "a number",
    "times": "a time",
    "mentions": "a name that is addressed",
    "hashtags": "a hashtag",
    "links": "a link",
    "ellipses": "an ellipsis",
    "capitals": "a word in capitals",
    "exclamation_marks": "an exclamation mark",
    "question_marks": "a question mark",
    "question_yesno": "a question that begins with a verb",
    "question_wh": "a question that begins with a question word",
    "greeting": "a greeting",
    "thanks": "thanks",
    "apology": "an apology",
    "second_person": "“you”",
    "first_person": "“I” or “we”",
    "no": "“no”",
    "contrast": "a “but”",
    "negations": "a negation",
    "boosters": "a word such as “very”",
    "positive_words": "a word of praise",
    "negative_words": "a word of blame",
}
_DENSE = {
    "num_tokens": "{} words and marks",
    "polarity": "polarity {}",
    "valence": "valence {}",
    "confidence": "confidence {}",
}
_OWN = re.compile(r" (?:= |< |>= |in \[|is missing$)")
"""What predicates of the user's own columns have, and no other."""
_CLASSES = {"predicted ": "that the model calls", "labelled ": "whose label is"}


def in_words(predicates: Sequence[str]) -> str:
    """A slice in words, of the names of its predicates.

    >>> in_words(["predicted neutral", "numbers", "no thanks", "num_tokens in 20..40"])
    'texts with a number and 20 to 40 words and marks, without thanks, that the model calls neutral'
    >>> in_words(["polarity in -0.01471..0"])
    'texts with polarity −0.01 to 0'
    >>> in_words(["labelled neutral", "thanks"])
    'texts with thanks, whose label is neutral'
    >>> in_words(["numbers", "age in [18, 30)", "country = DE"])
    'texts with a number, where age in [18, 30) and country = DE'
    """
    of_columns = [name for name in predicates if _OWN.search(name) and not name.startswith(tuple(_CLASSES))]
    if of_columns:
        of_texts = in_words([name for name in predicates if name not in of_columns])
        return f"{of_texts}{',' if of_texts != 'texts' else ''} where {' and '.join(of_columns)}"
    ends = [
        f"{end} {name.removeprefix(start)}"
        for start, end in _CLASSES.items()
        for name in predicates
        if name.startswith(start)
    ]
    others = [name for name in predicates if not name.startswith(tuple(_CLASSES))]
    with_, without = (
        [_noun(name.removeprefix("no ")) for name in others if name.startswith("no ") == lacks]
        for lacks in (False, True)
    )
    parts = ["texts", *([f"with {listed(with_)}"] if with_ else [])]
    text = " ".join(parts) + (f"{',' if with_ else ''} without {listed(without, 'or')}" if without else "")
    comma = "," if with_ or without else ""
    return f"{text}{comma} {' and '.join(ends)}" if ends else text


def _noun(name: str) -> str:
    feature, _, ends = name.partition(" in ")
    if ends:
        low, high = ends.split("..")
        low, high = (f"{round(float(end), 2):g}" for end in (low, high))
        span = low if low == high else f"{low} to {high}"
        return _DENSE.get(feature, f"{phrase(feature)} {{}}").format(span.replace("-", "−"))
    kind, _, rest = feature.partition(":")
    return f"the {kind} {rest}" if rest else _NOUNS.get(feature, phrase(feature))


@dataclass(frozen=True, eq=False)
class SplitEstimate(Estimate):
    """A number of a split; or a mean over splits with its interval, and with what holds one more split."""

    band_low: float = np.nan
    band_high: float = np.nan

    @classmethod
    def fields(cls, about: table.Column) -> Iterable[pa.Field]:
        """Those of an estimate, and the ends of the band."""
        yield from super().fields(about)
        low = f"lower end of what holds the {about.name} of one more split; null for one, or few units"
        yield column(f"{about.name}_band_low", pa.float64(), low)
        yield column(
            f"{about.name}_band_high", pa.float64(), f"upper end of what holds the {about.name} of one more split"
        )

    def cells(self, about: table.Column) -> dict[str, Any]:
        """Of the five columns; a column of a plain estimate leaves the band out."""
        band = {f"{about.name}_band_low": self.band_low, f"{about.name}_band_high": self.band_high}
        return super().cells(about) | band


class OfText(Table):
    row: int = key("number of the row in its file, from 0")


class OfRow(OfText):
    text: str = doc("the text; empty if there is none")
    label: str | None = doc("its class; null if it has none")
    group: str = doc("what ties it to others: they are never in two parts")
    id: str = doc("by which a parse names it")


class Texts(OfRow, name="texts"):
    half: str | None = doc(
        "'exploration' or 'confirmation': whether it helps to find slices, or to confirm; null: neither"
    )


class Read(OfRow, name="rows", public=False, has_status=False):
    """The rows of a file."""

    status: str = doc("'ok', or what the row lacks, in a word")
    reason: str = doc("what it lacks, in a sentence; empty otherwise")
    prediction: str | None = doc("what the model has predicted; null without a column")
    previous: str | None = doc("what its version before has predicted; null without a column")
    probabilities: list[float] | None = doc("of the classes, in the order of the settings")


class Predicted(Table, name="predicted", public=False, has_status=False):
    """What is known of each text's prediction."""

    row: int = key("number of the row")
    predicted: str | None = doc("the most probable class; null where the model reads no token")
    previous: str | None = doc("what the version before has predicted")
    probabilities: list[float] | None = doc("of the classes in alphabetical order; null if unknown")
    classes: list[str] = doc("what the probabilities are of")


class LexiconWords(Table, name="rows", public=False, has_status=False):
    word: str = key("in lower case")
    categories: list[str] = doc("that it has")


class Parsed(Table, name="rows", public=False, has_status=False):
    id: str = key("of the text")
    feature: str = key("dependency or entity")
    count: int = doc("how often the text has it")


class Predictions(OfText, name="predictions"):
    predicted: str | None = doc("what the model has predicted; null where it reads no token")
    is_error: bool | None = doc("whether that is not the label; null without one")
    previous: str | None = doc("what its version before has predicted; null without one")
    probabilities: list[float] | None = doc("of the classes in alphabetical order; null if unknown")
    least_confidence: float = doc("1 less the largest probability")
    margin: float = doc("the second largest probability less the largest")
    entropy: float = doc("of the probabilities", "nats")
    error_score: float = doc("probability of an error, by a forest that was trained without the text's group", digits=2)
    rank: int = doc("place by that, from 1: the text that is most likely wrong")
    reasons: list[str] | None = doc(
        "what moves that probability most from the mean: features, or that they are not there, and by how much",
        heading="because of",
        show=lambda reasons: ", ".join(reasons or []),
    )
    in_domain_disagreement: float = doc("1 less what a model of words, trained without the text, gives the prediction")
    is_label_suspected: bool | None = doc("whether that model is sure of another label, by confident learning")


class Features(OfText, name="features", has_status=False):
    feature: str = key("the feature")
    count: float = doc("how often the text has it; its value where it is no count")
    value: float = doc("the count divided by the number of tokens; the value where it is no count")


class OfScore(Table):
    score: str = key("what texts are ranked by")


class OfSplit(OfScore):
    split: str = key("number of the split, from 0; 'all': the mean over them")


class ErrorModels(OfSplit, name="error_models", has_status=False):
    measure: str = key("'auroc', 'aurc' (area under the risk-coverage curve) or 'error_rate' of the test texts")
    value: SplitEstimate = doc(
        "the measure, on texts that nothing was trained with",
        interval="the interval of the mean, after Nadeau and Bengio; null for a split",
        ends=("low", "high"),
    )


class PrecisionAtK(OfSplit, name="precision_at_k", has_status=False):
    k: int = key("how many texts are looked at", "texts")
    precision: SplitEstimate = doc(
        "share of errors among the texts of the highest scores; equal scores in no order",
        interval="the interval of the precision: of a split by the groups of these texts, of the mean after Nadeau and "
        "Bengio",
        ends=("low", "high"),
    )


class PrecisionDifferences(OfScore, name="precision_differences", has_status=False):
    baseline: str = key("what it is compared with, on the same test texts")
    k: int = key("how many texts are looked at", "texts")
    difference: Estimate = doc(
        "mean over splits of the precision less that of the baseline",
        interval="the interval of the difference, after Nadeau and Bengio",
    )


class RiskCoverage(OfScore, name="risk_coverage", has_status=False):
    coverage: float = key("share of the texts that are kept, those of the lowest scores")
    risk: float = doc("error rate among them, as the mean over splits")


class FeaturePower(Table, name="feature_power", has_status=False):
    feature: str = key("the feature", show="phrase")
    share: float = doc("of the texts that have it", heading="texts that have it", show="percent")
    auroc: Estimate = doc(
        "of the feature alone, as the mean over splits: 0.5 says nothing, below it goes with hits",
        interval="the interval of the AUROC, after Nadeau and Bengio",
    )
    part: str = doc(
        "features that correlate with it are shuffled with it; the name of their first",
        show="phrase",
    )
    importance: Estimate = doc(
        "fall of the forest's AUROC when the part is shuffled among test texts",
        interval="the interval of the importance, after Nadeau and Bengio",
    )
    gini_importance: float = doc("as published, from the forest's own training; it favours features of many values")


class Slices(Table, name="slices"):
    slice: str = key("its predicates, joined by 'and'")
    num_predicates: int = doc("how many there are")
    predicates: list[str] = doc("each of them", heading="slice", show=in_words)
    size: int = doc("texts that have them all, of those that explore", "texts")
    num_groups: int = doc("units that these are of: values of data.group, or texts that say the same")
    error_rate: Estimate = doc(
        "share of errors among these; the mean loss, with data.loss",
        interval="the interval of the error rate, by groups (Korn and Graubard; of single texts Clopper and Pearson)",
        ends=("low", "high"),
    )
    lift: float = doc("the error rate over that of all texts that explore")
    difference: float = doc("the error rate less what the predicted classes of its texts let expect")
    t: float = doc("that difference in standard deviations: of drawn errors or, of groups, of their scores' signs")
    p_value: float = doc(
        "that errors are as likely outside, given the class, adjusted for all slices by max-T", show="p_value"
    )
    score: float = doc("what slices are ordered by: T, or SliceLine's score")
    leading: int | None = doc("place among the slices that say what all say, from 1; null for the others")
    num_folded: int = doc("longer slices that have the same texts")
    confirmed_size: int = doc("texts that have them all, of those that confirm", "texts", heading="texts")
    confirmed_rate: Estimate = doc(
        "share of errors among these; the mean loss, with data.loss",
        interval=("the interval of the confirmed rate, by groups", "the interval of the confirmed rate"),
        ends=("confirmed_low", "confirmed_high"),
    )
    confirmed_difference: float = doc(
        "the confirmed rate less what the predicted classes let expect there", show="percent", digits=0
    )
    confirmed_p: float = doc("of it, one-sided t of groups' scores, by Holm over the leading slices; null for others")
    suspected_share: float = doc(
        "share of its errors, in both halves, whose label is suspected", show="percent", digits=0
    )


class Kept(Table, name="kept", public=False, has_status=False):
    """What ``exports/slices.json`` is made of."""

    slice: str = key("its predicates, joined by 'and'")
    record: str = doc("as JSON; see slice_files.KnownSlice")


class Retests(Table, name="retests"):
    slice: str = key("of data.slices: its name there")
    words: str = doc("the same in words", heading="slice")
    size: int = doc("rows that are in it", "texts", heading="rows")
    num_groups: int = doc("units that these are of")
    error_rate: float = doc("share of errors among these; the mean loss, with data.loss", heading="error rate or loss")
    difference: Estimate = doc(
        "the error rate less that of other rows of the same prediction", interval="the interval of the difference"
    )
    difference_before: float | None = doc("the same of the rows that confirmed it in the earlier run")
    p_value: float = doc("that it has no more errors, given the class: one-sided t by groups", show="p_value")
    holm_p: float = doc("the same, by Holm over the slices of the file", show="p_value", heading="p (Holm)")


class Flagged(OfText, name="flagged"):
    id: str = doc("of data.id, or the number of the row")
    label: str | None = doc("its class; null if it has none")
    predicted: str | None = doc("what the model has predicted; null without that")
    loss: float | None = doc("of data.loss; null without one")
    score: float | None = doc("error_score of the table predictions; null with data.loss", digits=2)
    num_slices: int | None = doc("confirmed slices that the row is in; null where nothing is predicted")
    reasons: list[str] | None = doc(
        "each of these in words, those first that lead", show=lambda reasons: "; ".join(reasons or [])
    )


class Versions(Table, name="versions"):
    slice: str = key("its predicates, joined by 'and'; 'all texts'")
    predicates: list[str] = doc("each of them", show=lambda names: in_words(names) if names else "all texts")
    size: int = doc("texts that have them all", "texts", heading="texts")
    num_moved: int = doc("groups with texts of them that one version alone gets right")
    before: float = doc("error rate of the version before", show="percent")
    after: float = doc("error rate of the model", show="percent")
    change: Estimate = doc("after less before", interval="the interval of the change, by groups, for one slice")
    p_value: float = doc(
        "that either way is as likely for each group, adjusted for all slices by max-T", show="p_value"
    )
    leading: int | None = doc(
        "place among the slices that say what all say that got worse, from 1; null for the others"
    )


class OwnColumns(Table, name="columns"):
    column: str = key("of data.columns; one that tells the loss alone comes first")
    type: str = doc("'boolean', 'category', 'number' or 'date', by its cells")
    num_values: int = doc("different ones that it has", heading="values")
    num_missing: int = doc("rows that have none", "rows", heading="missing")
    num_predicates: int = doc("of it that enough rows have", heading="predicates")
    edges: list[float] = doc("between intervals, of days since 1970; none of categories", show=lambda _: "")
    auroc: float = doc("of losses above their median (of errors: of errors), by it alone, where rows confirm", digits=2)
    is_leak: bool = doc("whether that is above 0.99: it may be made of the loss", heading="tells the loss alone")


class OfPromise(Table):
    promise: str = key(
        "'missed': share of errors outside the flagged set; 'unflagged': error rate there", show=_PROMISES.__getitem__
    )
    level: float = key("at most which", digits=2)


class Guarantees(OfPromise, name="guarantees"):
    delta: float = doc("probability that any of the promises made together is broken", digits=2)
    num_joint: int = doc("how many are made together: all, or each by itself", heading="of so many together")
    achieved_delta: float = doc("exact probability that this one is broken; null where no more is known than a bound")
    flags: str = doc("'all' texts are flagged, as nothing less can be promised; 'some'; or 'none' need be")
    threshold: float = doc(
        "texts with at least this score by error_forest are flagged; null where flags says all or none"
    )
    flagged_share: float = doc("share of the calibration texts that are flagged", show="percent")
    missed: float = doc(
        "share of the errors, of the calibration texts, outside the flagged set",
        show="percent",
    )
    unflagged_rate: float = doc(
        "error rate of the calibration texts outside; null if all are flagged",
        show="percent",
    )
    unflagged_most: float = doc(
        "one-sided bound (1 - delta / num_joint) of that rate, by texts that chose nothing", show="percent"
    )
    num_calibration: int = doc("texts by which the threshold is chosen", "texts")
    num_errors: int | None = doc("errors among them, one of each group")
    allowed: int | None = doc("of these, so many lie below the threshold")


class ErrorForest(Table, name="error_forest", has_status=False):
    node: int = key("number of the node, from 0, one tree after the other")
    tree: int = doc("number of its tree, from 0")
    feature: str = doc("what it looks at; null: it is a leaf")
    threshold: float = doc("a text goes to the left where the feature is at most this, in single precision")
    left: int = doc("number of the node to the left; -1 of a leaf")
    right: int = doc("number of the node to the right; -1 of a leaf")
    share: float = doc("share of errors among the training texts there; a text's score is the mean at its leaves")


class Flags(OfPromise, OfText, name="flags", has_status=False):
    score: float = doc("probability of an error, by error_forest, which was trained without the text's group")
    is_flagged: bool = doc("whether it is at least the promise's threshold")


class Checks(OfPromise, name="checks"):
    threshold: float = doc("of the earlier run; null where flags says all or none")
    flags: str = doc("'all', 'some' or 'none' of the texts, by the promise")
    flagged_share: float = doc("share of the new texts that are flagged", show="percent")
    num_errors: int = doc("errors among those that have a label, one of each group")
    missed: float = doc("share of these that are not flagged", show="percent")
    unflagged_rate: float = doc(
        "error rate of the new texts that have a label and are not flagged",
        show="percent",
    )
    exchangeable_p: float = doc(
        "that as many are missed where texts are of the kind that chose the threshold", show="p_value"
    )


class Rounds(Table, name="rounds", has_status=False):
    strategy: str = key("by which texts are chosen", show=STRATEGIES.__getitem__)
    round: int = key("number of the round; 0: before the first choice")
    num_labels: int = doc("texts that are labelled by then", "texts")
    accuracy: Estimate = doc(
        "on texts that are never labelled, as the mean over seeds",
        interval="the interval of the accuracy over seeds, which share texts, after Nadeau and Bengio",
    )
    over_random: Estimate = doc(
        "mean over seeds of the accuracy less that of random choices",
        interval="the interval of the difference of paired seeds, after Nadeau and Bengio",
    )
    errors_found: float = doc(
        "share of errors of the model among the texts that were chosen last",
        show="percent",
    )
    num_seeds: int = doc("that are averaged")


TABLES = schemas(
    Predictions,
    Features,
    ErrorModels,
    PrecisionAtK,
    PrecisionDifferences,
    RiskCoverage,
    FeaturePower,
    Slices,
    Retests,
    Flagged,
    Versions,
    OwnColumns,
    Guarantees,
    ErrorForest,
    Flags,
    Checks,
    Rounds,
    Texts,
)
