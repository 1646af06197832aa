"""How pairs of records are proposed and compared, and what a scorer learns of them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

import pydantic
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.resolution.records.calibration import Method

_Plain = Literal["string", "code", "exact", "number", "date"]
_Ready = Literal["name", "forename_surname", "date_of_birth", "email", "postcode", "distance", "array", "embedding"]
Kind = Literal[_Plain, _Ready]
"""Those of our own, and those that Splink has ready."""

Rule = Mapping[str, Annotated[int, Field(ge=1)] | None]
_Rules = tuple[Annotated[Rule, Field(min_length=1)], ...]
_Rising = tuple[Annotated[float, Field(gt=0)], ...]

_STEPS: Mapping[Kind, _Rising] = {"array": (1.0,), "embedding": (0.7, 0.8, 0.9)}
LISTS = tuple(_STEPS)
"""Kinds whose values may be lists, and how much two usually have in common for a degree."""

_FITTING: Mapping[str, Sequence[Kind]] = {
    "within": ("number", "date", "distance"),
    "at_least": LISTS,
    "other": ("forename_surname", "distance"),
    "term_frequency": ("string", "code", "exact", "name", "email", "postcode"),
}
"""The kinds that a setting is for."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class ComparedField:
    """How two values of a column are compared.

    Attributes:
        kind: ``string``: names and addresses, by letters (Jaro-Winkler) and by words in any order (Jaccard). ``code``:
            numbers of telephones or documents, by edits (Levenshtein). ``exact``: equal or not. ``number``, ``date``
            (yyyy-mm-dd): by their difference. ``name``, ``forename_surname``, ``date_of_birth``, ``email``,
            ``postcode``: as Splink's comparisons of these names. ``distance``: of two places, in km. ``array``: by how
            many elements are in both. ``embedding``: by the cosine of two vectors.
        within: rising differences of numbers, of dates in days, or of places in km, each of which is a degree of
            agreement.
        other: the second column of ``forename_surname`` (surnames) and of ``distance`` (longitudes).
        at_least: rising numbers of elements, or cosines, each of which is a degree of agreement.
        term_frequency: whether equal values that are rare speak for more than frequent ones.
    """

    kind: Kind
    within: _Rising = ()
    other: str | None = None
    at_least: _Rising = ()
    term_frequency: bool = False

    @pydantic.model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        for name, kinds in _FITTING.items():
            value = getattr(self, name)
            if value and self.kind not in kinds:
                raise ValueError(f"{name}={value}: is for kind {', '.join(kinds)}; leave it out")
            if isinstance(value, tuple) and list(value) != sorted(set(value)):
                raise ValueError(f"{name}={value}: must rise, each difference once")
        if self.kind in _FITTING["other"] and self.other is None:
            raise ValueError(f"other=None: kind {self.kind} needs the second column that it compares")
        if self.kind == "distance" and not self.within:
            raise ValueError("within=(): kind distance needs one distance in km at least, such as within: [1, 10]")
        return self

    @property
    def steps(self) -> _Rising:
        """Numbers of elements, or cosines."""
        return self.at_least or _STEPS.get(self.kind, ())


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Unlabelled:
    """What a scorer learns from where there are no labels.

    Attributes:
        rules: as blocking rules, so strict that pairs which agree so are matches.
        recall: share of all matches that agree so, which the user states.
        sessions: blocking rules, among whose pairs m is estimated, each by itself; none: those of the scorer.
        max_pairs: random pairs that are drawn to estimate u.
    """

    rules: Annotated[_Rules, Field(min_length=1, examples=[[{"email": None}, {"name": None, "born": None}]])]
    recall: Annotated[float, Field(gt=0, le=1)]
    sessions: _Rules = ()
    max_pairs: Annotated[int, Field(ge=1)] = 1_000_000


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Scorer:
    """How pairs of records get their match probability.

    Attributes:
        id: column that names a record.
        fields: columns that are compared. Letters in lower case, and single spaces; an empty value is none.
        blocking: rules, each of columns that two records must share to be proposed as a pair: whole values (null), or
            so many of their first characters. One rule suffices.
        train_share: of the clusters, from which labelled pairs are drawn; the others are left to measure with.
        num_labelled: pairs that are drawn, at most, out of all that the rules propose among the records of these.
        prior: share of matches among all proposed pairs; None: as among the labelled ones, which is right if these are
            a fair sample. Those of a share s of the clusters are none: the odds of a match are 1 / s of what they are.
        calibration: what makes probabilities of its scores, by labels that it did not learn from; None: they are taken
            as they are.
        calibration_share: of the clusters, or of connected groups of labelled pairs, whose labels that is fitted to.
        threshold: pairs of less match probability are left out.
        num_parts: into how many parts the scoring is cut; one needs about 300 bytes of memory for each of its pairs.
        max_pairs: how many pairs the rules may propose.
        unlabelled: how it learns without labels; None: it has labels.
    """

    id: str = "id"
    fields: Annotated[
        dict[str, ComparedField],
        Field(min_length=1, examples=[{"name": {"kind": "string"}, "born": {"kind": "date", "within": [1, 31]}}]),
    ]
    blocking: Annotated[_Rules, Field(min_length=1, examples=[[{"phone": None}, {"name": 4, "born": 4}]])]
    train_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    num_labelled: Annotated[int, Field(ge=2)] = 10_000
    prior: Annotated[float, Field(gt=0, lt=1)] | None = None
    calibration: Method | None = None
    calibration_share: Annotated[float, Field(gt=0, lt=1)] = 0.25
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    num_parts: Annotated[int, Field(ge=1)] = 1
    max_pairs: Annotated[int, Field(ge=1)] = 20_000_000

    unlabelled: Unlabelled | None = None

    @pydantic.model_validator(mode="after")
    def _some_are_left_to_judge(self) -> Self:
        if self.calibration and self.learning_share + self.calibration_share >= 1.0:
            raise ValueError(
                f"records.calibration={self.calibration}: train_share={self.train_share:g} and calibration_share="
                f"{self.calibration_share:g} leave nothing to judge by; set them to less than 1 together"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _sessions_suffice(self) -> Self:
        """Two comparisons are what EM needs to tell matches from others where u is known."""
        if self.unlabelled is None:
            return self
        where = "set records.unlabelled.sessions, by columns that fewer of records.fields have"
        left = [self.compared_beside(rule) for rule in self.sessions]
        for rule, names in zip(self.sessions, left, strict=True):
            if len(names) < 2:
                few = f"leaves {len(names)} comparisons, of 2 that it needs"
                raise ValueError(f"records.unlabelled: session {dict(rule)} {few}; {where}")
        if never := [name for name in self.fields if not any(name in names for names in left)]:
            raise ValueError(f"records.unlabelled: no session estimates {never[0]!r}: each is by this column; {where}")
        return self

    def compared_beside(self, rule: Rule) -> list[str]:
        """The fields that have no column in common with a rule."""
        return [name for name, field in self.fields.items() if rule.keys().isdisjoint({name, field.other})]

    @property
    def learning_share(self) -> float:
        """Of the clusters, or groups of labelled pairs, that the scorer learns from."""
        return self.train_share if self.unlabelled is None else 0.0

    @property
    def sessions(self) -> _Rules:
        """The rules among whose pairs m is estimated without labels."""
        return (self.unlabelled.sessions or self.blocking) if self.unlabelled else ()

    @property
    def columns(self) -> list[str]:
        """The columns of the records that are needed, each once."""
        rules = (*self.blocking, *self.sessions, *(self.unlabelled.rules if self.unlabelled else ()))
        others = (field.other for field in self.fields.values() if field.other is not None)
        return list(dict.fromkeys([self.id, *self.fields, *others, *(name for rule in rules for name in rule)]))
