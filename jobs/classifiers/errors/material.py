"""What stages on errors start from: texts with their predictions and features, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.operators.classifiers.errors.readable import DENSE
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.units import Units, each, units_of
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

Refs = Mapping[str, Sequence[TableRef]]
"""Inputs ``texts``, ``predicted`` and ``features`` of a unit."""


@dataclass(frozen=True)
class Material:
    """Texts of which the model has predicted something.

    Attributes:
        table: a row for each.
        names: of the features.
        values, counts: ``[texts, features]``, divided by the number of tokens, and not.
        classes: of the probabilities; none if these are unknown.
    """

    table: pl.DataFrame
    names: tuple[str, ...]
    values: FloatArray
    counts: FloatArray
    classes: tuple[str, ...]

    @cached_property
    def errors(self) -> BoolArray:
        """Whether the prediction of each is not its label."""
        return self.errors_of("predicted")

    def errors_of(self, name: str) -> BoolArray:
        """Of the predictions in a column."""
        return np.asarray((self.table[name] != self.table["label"]).to_numpy(), dtype=np.bool_)

    @cached_property
    def probabilities(self) -> FloatArray | None:
        """``[texts, classes]``; None if they are unknown."""
        if not self.classes:
            return None
        return np.array(self.table["probabilities"].to_list(), dtype=np.float64)

    @cached_property
    def predicted(self) -> list[str]:
        """What is predicted of each."""
        return list(self.column("predicted"))

    @cached_property
    def all_classes(self) -> list[str]:
        """Labels and predictions, in alphabetical order."""
        return sorted({*self.predicted, *self.column("label")})

    @cached_property
    def strata(self) -> IntArray:
        """Number of the predicted class of each."""
        return np.unique(np.array(self.predicted, dtype=str), return_inverse=True)[1].astype(np.int64)

    @cached_property
    def units(self) -> Units:
        """Groups of texts; texts where no two share one."""
        groups = units_of(self.column("group"), "group")
        return each(groups.num, "text") if groups.num == len(groups.codes) else groups

    def column(self, name: str) -> list[Any]:
        """A column as a list."""
        return self.table[name].to_list()

    def frequent(self, min_share: float) -> list[int]:
        """Numbers of the features that enough texts have."""
        shares = (self.counts != 0).mean(axis=0)
        return [place for place, name in enumerate(self.names) if name in DENSE or shares[place] >= min_share]


def one_kind(store: Store, inputs: Refs) -> str:
    """Why nothing tells errors from other predictions; empty if there are both.

    Raises:
        InputError: if no row can be judged, with what rows lack.
    """
    texts = _frame(store, [ref.select("row", "label", "status", "reason") for ref in inputs["texts"]])
    predicted = _frame(store, [ref.select("row", "predicted") for ref in inputs["predicted"]]).drop_nulls()
    judged = texts.filter(status="ok").join(predicted, on="row")
    if judged.is_empty():
        lacks = texts.filter(pl.col("status") != "ok").group_by("reason").len().sort("len", "reason", descending=True)
        reasons = [f"{reason} ({num:,} of {texts.height:,})" for reason, num in lacks.rows()]
        raise InputError(f"data.path: no row can be judged: {'; '.join(reasons) or 'no text has a token'}")
    num = judged.filter(pl.col("predicted") != pl.col("label")).height
    if 0 < num < judged.height:
        return ""
    return (
        f"{num:,} of {judged.height:,} predictions are errors, so that nothing tells them from the others; "
        "data.classes renames labels and predictions"
    )


def told_material(store: Store, inputs: Refs, statuses: Sequence[str]) -> Material:
    """The tables side by side, of texts with one of these statuses; there may be none."""
    texts, predicted = (_frame(store, inputs[name]) for name in ("texts", "predicted"))
    texts = texts.filter(pl.col("status").is_in(statuses)).drop("previous", "prediction", "probabilities", strict=False)
    rows = texts.join(predicted.drop_nulls("predicted"), on="row").sort("row")
    features = _frame(store, inputs["features"]).join(rows.select("row").with_row_index("place"), on="row")
    names = tuple(features["feature"].unique().sort().to_list())
    values, counts = (_wide(features, names, rows.height, name) for name in ("value", "count"))
    return Material(rows, names, values, counts, _classes(rows))


def material_of(store: Store, unit: Unit) -> Material:
    """What the inputs of a unit hold."""
    return told_material(store, unit.inputs, ["ok"])


def _frame(store: Store, refs: Sequence[TableRef]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(pl.from_arrow(store.read(ref))) for ref in refs])


def _classes(rows: pl.DataFrame) -> tuple[str, ...]:
    known = rows.height > 0 and rows["probabilities"].null_count() == 0
    return tuple(rows["classes"][0]) if known else ()


def _wide(features: pl.DataFrame, names: Sequence[str], num_rows: int, column: str) -> FloatArray:
    """``[texts, features]``, 0 where a text has none."""
    places = pl.DataFrame({"feature": names, "column": range(len(names))}, {"feature": pl.String, "column": pl.Int64})
    known = features.join(places, on="feature", how="left", maintain_order="left")
    values = np.zeros((num_rows, len(names)))
    values[known["place"].to_numpy(), known["column"].to_numpy()] = known[column].to_numpy()
    return values
