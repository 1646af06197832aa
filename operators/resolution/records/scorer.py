"""How pairs of records are proposed and compared, and what a scorer learns of them."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

import pydantic
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.resolution.records.calibration import Method

Kind = Literal["string", "code", "exact", "number", "date"]
_Length = Annotated[int, Field(ge=1)] | None


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class ComparedField:
    """How two values of a column are compared.

    Attributes:
        kind: ``string``: names and addresses, by letters (Jaro-Winkler) and by words in any order (Jaccard). ``code``:
            numbers of telephones or documents, by edits (Levenshtein). ``exact``: equal or not. ``number``, ``date``
            (yyyy-mm-dd): by their difference.
        within: rising differences of numbers, or of dates in days, each of which is a degree of agreement.
    """

    kind: Kind
    within: tuple[Annotated[float, Field(gt=0)], ...] = ()

    @pydantic.model_validator(mode="after")
    def _within_is_in_order(self) -> Self:
        if self.within and self.kind not in ("number", "date"):
            raise ValueError(f"within={self.within}: only numbers and dates have differences; leave it out")
        if list(self.within) != sorted(set(self.within)):
            raise ValueError(f"within={self.within}: must rise, each difference once")
        return self


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
            a fair sample, as those drawn are.
        calibration: what makes probabilities of its scores, by labels that it did not learn from; None: they are taken
            as they are.
        calibration_share: of the clusters, or of connected groups of labelled pairs, whose labels that is fitted to.
        threshold: pairs of less match probability are left out.
        num_parts: into how many parts the scoring is cut; one needs about 300 bytes of memory for each of its pairs.
        max_pairs: how many pairs the rules may propose.
    """

    id: str = "id"
    fields: Annotated[
        dict[str, ComparedField],
        Field(min_length=1, examples=[{"name": {"kind": "string"}, "born": {"kind": "date", "within": [1, 31]}}]),
    ]
    blocking: Annotated[
        tuple[Annotated[Mapping[str, _Length], Field(min_length=1)], ...],
        Field(min_length=1, examples=[[{"phone": None}, {"name": 4, "born": 4}]]),
    ]
    train_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    num_labelled: Annotated[int, Field(ge=2)] = 10_000
    prior: Annotated[float, Field(gt=0, lt=1)] | None = None
    calibration: Method | None = None
    calibration_share: Annotated[float, Field(gt=0, lt=1)] = 0.25
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    num_parts: Annotated[int, Field(ge=1)] = 1
    max_pairs: Annotated[int, Field(ge=1)] = 20_000_000

    @pydantic.model_validator(mode="after")
    def _some_are_left_to_judge(self) -> Self:
        if self.calibration and self.train_share + self.calibration_share >= 1.0:
            raise ValueError(
                f"records.calibration={self.calibration}: train_share {self.train_share:g} and calibration_share "
                f"{self.calibration_share:g} leave nothing to judge by: set them to less than 1 together"
            )
        return self

    @property
    def columns(self) -> list[str]:
        """The columns of the records that are needed, each once."""
        return list(dict.fromkeys([self.id, *self.fields, *(name for rule in self.blocking for name in rule)]))
