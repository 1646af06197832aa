"""Readable predicates of texts: that a feature is there or not, in which quarter it lies, its class; and of columns.

As conditions, each with an operator and a value, they can be asked of rows that nobody has seen.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.readable import DENSE
from tiltmeter.operators.classifiers.errors.uncertainty import least_confidence
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray

VERSION = "slice_predicates/2"

_TAGS = ("tag:", "tags:")
_CONFIDENCE = "confidence"

Of = Literal["column", "feature", "prediction"]
Part = Literal["day", "year", "month", "weekday"]
Operator = Literal["=", "<", "<=", ">", ">=", "missing"]
Kind = Literal["present", "absent", "quarter", "predicted", "labelled", "equal", "interval", "missing"]


class Predicate(NamedTuple):
    """Attributes:
    feature: that it is about; predicates about one feature exclude each other.
    kind: what it says of the feature.
    value: the class, the number of the quarter, from 1, or a value of a column; ``day`` for an interval of days.
    low, high: ends of the quarter, both in it, or of an interval, whose upper end is not in it; NaN for other kinds.
    column: of a user, that it is about; empty: of a text.
    part: of a day, such as its year.
    """

    feature: str
    kind: Kind
    value: str = ""
    low: float = float("nan")
    high: float = float("nan")
    column: str = ""
    part: Part | None = None

    @property
    def name(self) -> str:
        """How tables name it.

        >>> Predicate("numbers", "absent").name, Predicate("num_tokens", "quarter", "4", 24.0, 40.0).name
        ('no numbers', 'num_tokens in 24..40')
        >>> Predicate("age", "interval", "", 18.0, 30.5, "age").name, Predicate("age", "missing", column="age").name
        ('age in [18, 30.5)', 'age is missing')
        """
        match self.kind:
            case "present":
                return self.feature
            case "absent":
                return f"no {self.feature}"
            case "quarter":
                return f"{self.feature} in {self.low:.4g}..{self.high:.4g}"
            case "predicted" | "labelled":
                return f"{self.kind} {self.value}"
            case "equal":
                return f"{self.feature} = {self.value}"
            case "missing":
                return f"{self.feature} is missing"
            case "interval":
                low, high = (self.written(end) for end in (self.low, self.high))
                if np.isinf(self.low):
                    return f"{self.feature} < {high}"
                return f"{self.feature} >= {low}" if np.isinf(self.high) else f"{self.feature} in [{low}, {high})"

    def written(self, end: float) -> str:
        """As short as it can be without becoming another number."""
        if self.value == "day" and np.isfinite(end):
            return str(np.datetime64(int(end), "D"))
        return f"{end:g}" if float(f"{end:g}") == end else repr(end)


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Condition:
    """What can be asked of a row; a predicate is one or two of them.

    Attributes:
        of: a column of the user, a readable feature (how often the text has it, or a number such as its length), or
            what is predicted.
        operator: ``missing``: the cell has nothing.
        name: of the column or feature.
        value: a text after ``=``, a number after the others, or a day such as ``2024-05-01``.
        part: of the days in a column: ``day`` compares them, the others are equal to a value or not.
    """

    of: Of
    operator: Operator
    name: str = ""
    value: str | Annotated[float, Field(allow_inf_nan=False)] | None = None
    part: Part | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        kinds: dict[str, type] = {"missing": type(None), "=": str}
        fits = isinstance(self.value, kinds.get(self.operator, str if self.part == "day" else float))
        of_texts = "=" if self.of == "prediction" else ("<", "<=", ">", ">=")
        fits &= self.of == "column" or (self.operator in of_texts and not self.part)
        fits &= not self.part or (self.operator != "missing" and (self.part == "day") == (self.operator != "="))
        fits &= self.part != "day" or re.fullmatch(r"\d{4}-\d\d-\d\d", str(self.value)) is not None
        if not fits or bool(self.name) == (self.of == "prediction"):
            raise ValueError("of, name, operator, value and part do not go together")
        if self.part == "day":
            np.datetime64(str(self.value), "D")  # a ValueError, if there is no such day
        return self


class Predicates(NamedTuple):
    """Attributes:
    predicates: their order is that of the rows of ``members``.
    members: ``[predicates, texts]``.
    """

    predicates: Sequence[Predicate]
    members: BoolArray


def predicates_of(
    counts: Mapping[str, NDArray[np.floating]],
    dense: Mapping[str, NDArray[np.floating]],
    classes: Sequence[str],
    min_size: int,
    kind: Literal["predicted", "labelled"] = "predicted",
) -> Predicates:
    """All predicates that hold for at least ``min_size`` texts and not for all.

    Args:
        counts: ``[texts]`` by feature: it is there where the count is more than 0.
        dense: ``[texts]`` by feature, cut into quarters by its quantiles; equal values share a quarter.
        classes: ``[texts]``, what the model has predicted, or the label.
        kind: which.

    >>> found = predicates_of({"numbers": np.array([1, 0, 2, 0])}, {}, ["a", "a", "b", "b"], min_size=2)
    >>> [predicate.name for predicate in found.predicates]
    ['predicted a', 'predicted b', 'numbers', 'no numbers']
    """
    names = np.asarray(classes, dtype=object)
    candidates = [(Predicate(kind, kind, name), names == name) for name in sorted(set(classes))]
    for feature, values in counts.items():
        candidates += [(Predicate(feature, "present"), values > 0), (Predicate(feature, "absent"), values == 0)]
    for feature, values in dense.items():
        candidates += _quarters(feature, values)
    kept = [(predicate, members) for predicate, members in candidates if min_size <= members.sum() < len(classes)]
    members = [members for _, members in kept]
    return Predicates(
        [predicate for predicate, _ in kept], np.array(members, dtype=bool).reshape(len(kept), len(classes))
    )


def predicates_of_texts(data: Examples, exploring: BoolArray, min_size: int, *, tags: bool) -> Predicates:
    """All that enough of the texts that explore have.

    Args:
        exploring: ``[texts]``, whether each does.
        min_size: texts that have it.
        tags: whether tags are predicates, too.
    """
    dense = {} if data.probabilities is None else {_CONFIDENCE: 1.0 - least_confidence(data.probabilities)}
    made = _of_features(data, dense, "predicted", data.predicted, min_size, tags=tags)
    return joined([made], exploring, min_size)


def shared_predicates(data: Examples, min_size: int, *, tags: bool) -> Predicates:
    """What enough texts have and two versions of a model share: of the text and its label, of no prediction."""
    labels = [label or "" for label in data.column("label")]
    return _of_features(data, {}, "labelled", labels, min_size, tags=tags)


def conditions_of(predicate: Predicate, known: Examples | None = None) -> list[Condition]:
    """A predicate as conditions, all of which hold.

    Args:
        known: texts between whose quantiles a quarter lies, above the one and up to the other.

    >>> [(one.operator, one.value) for one in conditions_of(Predicate("age", "interval", "", 18.0, 30.0, "age"))]
    [('>=', 18.0), ('<', 30.0)]
    """
    name, value = predicate.feature, predicate.value
    subject: Of = "column"
    ends: dict[Operator, float]
    match predicate.kind:
        case "predicted":
            return [Condition("prediction", "=", "", value)]
        case "missing":
            return [Condition("column", "missing", predicate.column)]
        case "equal":
            return [Condition("column", "=", predicate.column, value, predicate.part)]
        case "interval":
            ends = {">=": predicate.low, "<": predicate.high}
        case "quarter" if known is not None:
            cuts, place = [-np.inf, *_cuts_of(values_of(known, name)), np.inf], int(value)
            subject, ends = "feature", {">": float(cuts[place - 1]), "<=": float(cuts[place])}
        case "present" | "absent":
            return [Condition("feature", ">" if predicate.kind == "present" else "<=", name, 0.0)]
        case _:
            raise ValueError(f"{predicate.name}: is no condition without what it is made of")
    is_day = value == "day"
    return [
        Condition(subject, operator, name, predicate.written(end) if is_day else end, "day" if is_day else None)
        for operator, end in ends.items()
        if np.isfinite(end)
    ]


def values_of(data: Examples, feature: str) -> FloatArray:
    """``[texts]``; 0 of a feature that none has."""
    if feature == _CONFIDENCE and data.probabilities is not None:
        return np.asarray(1.0 - least_confidence(data.probabilities))
    if feature not in data.names:
        return np.zeros(data.table.height)
    return np.asarray(data.counts[:, data.names.index(feature)])


def joined(parts: Sequence[Predicates], exploring: BoolArray, min_size: int) -> Predicates:
    """Predicates side by side, those that enough of the rows that explore have, and not all of these."""
    members = np.concatenate([part.members for part in parts])
    num = members[:, exploring].sum(axis=1)
    fit = (num >= min_size) & (num < exploring.sum())
    every = [predicate for part in parts for predicate in part.predicates]
    return Predicates([predicate for predicate, keep in zip(every, fit, strict=True) if keep], members[fit])


def _of_features(
    data: Examples,
    others: Mapping[str, FloatArray],
    kind: Literal["predicted", "labelled"],
    classes: Sequence[str],
    min_size: int,
    *,
    tags: bool,
) -> Predicates:
    names = {name: place for place, name in enumerate(data.names) if tags or not name.startswith(_TAGS)}
    counts = {name: data.counts[:, place] for name, place in names.items() if name not in DENSE}
    dense = {name: data.counts[:, place] for name, place in names.items() if name in DENSE}
    return predicates_of(counts, {**dense, **others}, classes, min_size, kind)


def _quarters(feature: str, values: NDArray[np.floating]) -> list[tuple[Predicate, BoolArray]]:
    quarter = np.searchsorted(_cuts_of(values), values, side="left")
    parts = []
    for number in np.unique(quarter):
        members = quarter == number
        low, high = float(values[members].min()), float(values[members].max())
        parts.append((Predicate(feature, "quarter", str(number + 1), low, high), members))
    return parts


def _cuts_of(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Quartiles, none twice."""
    return np.unique(np.quantile(values, [0.25, 0.5, 0.75], method="inverted_cdf"))
