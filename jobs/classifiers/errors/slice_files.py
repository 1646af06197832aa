"""Confirmed slices as a file, which a later run or another program applies to other rows: ``exports/slices.json``."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

import numpy as np
import pydantic
from pydantic import Field

from tiltmeter.jobs.classifiers.errors.tables import Kept, Slices, in_words
from tiltmeter.jobs.report.wording import significant
from tiltmeter.jobs.runtime.settings.fields import Text, settings
from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.slices.columns import rows_of
from tiltmeter.operators.classifiers.errors.slices.confirmation import retested
from tiltmeter.operators.classifiers.errors.slices.predicates import Condition, Predicate, conditions_of
from tiltmeter.operators.compute.arrays import BoolArray
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.relations.content import checked, json_of, text_of

FORMAT: Final = "tiltmeter.slices/1"

Number = Annotated[float, Field(allow_inf_nan=False)] | None


@settings
class KnownSlice:
    """The rows of which all conditions hold, and what was found of them; a file by hand may leave that out.

    Attributes:
        slice: its name; words: the same for people.
        direction: of the losses, against those of other rows of the same prediction.
        size, num_groups: of the rows that confirmed it; loss: their mean loss, or error rate.
        difference: :func:`.retested` of these.
        p_value, confirmed_p: as in the table of slices.
    """

    slice: Text
    conditions: Annotated[tuple[Condition, ...], Field(min_length=1)]
    words: str = ""
    direction: Literal["above"] = "above"
    size: int | None = None
    num_groups: int | None = None
    loss: Number = None
    difference: Number = None
    difference_low: Number = None
    difference_high: Number = None
    p_value: Number = None
    confirmed_p: Number = None


_OF_SLICE = pydantic.TypeAdapter(KnownSlice)


@settings
class CountedFeatures:
    """Settings by which features of texts were counted, under their names in a run."""

    tags: bool
    lexicon: str | None = None
    conllu: str | None = None
    readable_words: dict[str, tuple[str, ...]]


@settings
class SliceFile:
    """Attributes:
    data: where slices are from: name and digest of the rows, how many, and the seed.
    loss: column of the losses; None: whether a prediction is no label.
    by_prediction: whether rows are compared with those of the same prediction.
    level: of intervals.
    features: None where no slice is about texts.
    """

    format: Literal["tiltmeter.slices/1"]
    slices: tuple[KnownSlice, ...]
    data: dict[str, str | int] | None = None
    loss: str | None = None
    high_is_good: bool = False
    by_prediction: bool = True
    level: Number = None
    features: CountedFeatures | None = None

    @pydantic.model_validator(mode="after")
    def _names_each_once(self) -> "SliceFile":
        if len({one.slice for one in self.slices}) < len(self.slices):
            raise ValueError("each slice must have a name of its own")
        return self


def read_slices(uri: str) -> SliceFile:
    """A file of slices.

    Raises:
        InputError: if it is none, or something in it is not as it must be.
    """
    record = json_of(text_of(uri), uri)
    known = record.get("format") if isinstance(record, dict) else None
    if known != FORMAT:
        raise InputError(
            f"data.slices: {redacted(uri)} has format {known!r:.60} and not {FORMAT!r}; name exports/slices.json of a "
            "run of error_characterisation"
        )
    return checked(pydantic.TypeAdapter(SliceFile), record, uri, "slices")


def kept_slices(
    rows: Sequence[Slices], predicates: Sequence[Predicate], data: Examples, confirming: BoolArray, level: float
) -> Iterator[Kept]:
    """The slices that lead and are confirmed, those first that lead, each as a record of the file.

    Args:
        predicates: of which slices are made.
        confirming: ``[texts]``, whether each confirms.
    """
    by_name = {predicate.name: predicate for predicate in predicates}
    of_half = data.losses[confirming], data.strata[confirming], data.units.part(confirming)
    for row in confirmed(rows):
        conditions = [part for name in row.predicates for part in conditions_of(by_name[name], data)]
        inside = rows_of(conditions, data)[confirming]
        made = retested(inside, *of_half, level)
        known: dict[str, Any] = {"slice": row.slice, "words": in_words(row.predicates), "conditions": conditions}
        known |= {"size": row.confirmed_size, "num_groups": of_half[2].part(inside).num}
        numbers = {"difference": made.value, "difference_low": made.low, "difference_high": made.high}
        numbers |= {"loss": row.confirmed_rate.value, "p_value": row.p_value, "confirmed_p": row.confirmed_p}
        known |= {name: value for name, value in numbers.items() if np.isfinite(value)}
        yield Kept(slice=row.slice, record=_OF_SLICE.dump_json(KnownSlice(**known)).decode())


def confirmed(rows: Sequence[Slices]) -> list[Slices]:
    """The slices that lead and are confirmed, those first that lead."""
    known = (row for row in rows if row.leading is not None and significant(row.confirmed_p))
    return sorted(known, key=lambda row: row.leading or 0)


def known_slices(rows: Sequence[Kept]) -> list[KnownSlice]:
    """Of the records."""
    return [_OF_SLICE.validate_json(row.record) for row in rows]


def as_json(file: SliceFile) -> bytes:
    """As it is written: what is not known is left out."""
    return pydantic.TypeAdapter(SliceFile).dump_json(file, indent=2, exclude_none=True) + b"\n"
