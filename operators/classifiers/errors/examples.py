"""Texts of which a classifier has predicted something, as arrays, and the columns that forests of its errors see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from tiltmeter.operators.classifiers.errors.readable import DENSE, is_published
from tiltmeter.operators.classifiers.errors.uncertainty import UNCERTAINTIES
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray, LossArray
from tiltmeter.operators.statistics.units import Units, each, units_of

PUBLISHED = "published"
READABLE, WITH_CLASS, FULL = "readable", "readable_and_class", "readable_class_and_probabilities"
"""What a forest sees of a text."""

OWN = "column:"
_PREDICTED, _PROBABILITY = "predicted ", "probability of "


@dataclass(frozen=True)
class Examples:
    """Texts of which the model has predicted something.

    Attributes:
        table: a row for each.
        names: of the features.
        values, counts: ``[texts, features]``, divided by the number of tokens, and not.
        classes: of the probabilities; none if these are unknown.
        extra: ``[texts]``: by name, cells of the user's own columns as text.
        edges: between intervals of those of them that have some given.
    """

    table: pl.DataFrame
    names: tuple[str, ...]
    values: FloatArray
    counts: FloatArray
    classes: tuple[str, ...]
    extra: Mapping[str, pl.Series] = field(default_factory=dict)
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        texts: pl.DataFrame,
        predicted: pl.DataFrame,
        features: pl.DataFrame,
        columns: pl.DataFrame | None = None,
        edges: Mapping[str, Sequence[float]] | None = None,
    ) -> Self:
        """Those texts of which something is predicted, side by side with that and with their features, by ``row``.

        Args:
            columns: with ``row``, losses and the user's own columns, the names of which begin with ``column:``.
        """
        texts = texts.drop("previous", "prediction", "probabilities")
        table = texts.join(predicted.drop_nulls("predicted"), on="row").sort("row")
        features = features.join(table.select("row").with_row_index("place"), on="row")
        names = tuple(features["feature"].unique().sort().to_list())
        values, counts = (_wide(features, names, table.height, name) for name in ("value", "count"))
        is_known = table.height > 0 and table["probabilities"].null_count() == 0
        if columns is not None:
            table = table.join(columns, on="row", how="left", maintain_order="left")
        extra = {name.removeprefix(OWN): table[name] for name in table.columns if name.startswith(OWN)}
        classes = tuple(table["classes"][0]) if is_known else ()
        return cls(table, names, values, counts, classes, extra, edges or {})

    @cached_property
    def errors(self) -> BoolArray:
        """Whether the prediction of each is not its label."""
        return self.errors_of("predicted")

    def errors_of(self, name: str) -> BoolArray:
        """Of the predictions in a column."""
        return np.asarray((self.table[name] != self.table["label"]).to_numpy(), dtype=np.bool_)

    @cached_property
    def losses(self) -> LossArray:
        """What slices are of: errors, or the user's own losses."""
        return self.table["loss"].to_numpy() if self.has_losses else self.errors

    @property
    def has_losses(self) -> bool:
        """Whether there are losses of the user's own."""
        return "loss" in self.table.columns

    @cached_property
    def losses_before(self) -> LossArray | None:
        """Of the version before; None without one."""
        name = "previous_loss" if self.has_losses else "previous"
        if name not in self.table.columns or self.table[name].null_count():
            return None
        return self.table[name].to_numpy() if self.has_losses else self.errors_of(name)

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

    @property
    def rows(self) -> IntArray:
        """Number of each in the file."""
        return np.asarray(self.table["row"].to_numpy())

    def column(self, name: str) -> list[Any]:
        """A column as a list."""
        return self.table[name].to_list()

    def guesses(self) -> pl.DataFrame:
        """What the model has said of each, and how unsure it was."""
        guesses, known = self.table.select("row", "predicted", "previous", "probabilities"), self.probabilities
        if known is None:
            return guesses
        return guesses.with_columns(**{name: pl.Series(measure(known)) for name, measure in UNCERTAINTIES.items()})

    def frequent(self, min_share: float) -> list[int]:
        """Numbers of the features that enough texts have."""
        shares = (self.counts != 0).mean(axis=0)
        return [place for place, name in enumerate(self.names) if name in DENSE or shares[place] >= min_share]

    def column_names(self, kind: str, min_share: float) -> list[str]:
        """What a forest of a kind sees, by names that a later run knows it by."""
        names = [self.names[column] for column in self.frequent(min_share)]
        if kind == PUBLISHED:
            return list(filter(is_published, names))
        if kind != READABLE:
            names += [f"{_PREDICTED}{name}" for name in self.all_classes]
        if kind == FULL:
            names += [f"{_PROBABILITY}{name}" for name in self.classes]
        return names

    def columns(self, names: Sequence[str]) -> FloatArray:
        """``[texts, names]``; 0 of a feature that no text has."""
        places = {name: place for place, name in enumerate(self.names)}
        predicted, columns = np.array(self.predicted, dtype=object), []
        for name in names:
            if name in places:
                columns.append(self.values[:, places[name]])
            elif name.startswith(_PREDICTED):
                columns.append((predicted == name.removeprefix(_PREDICTED)).astype(np.float64))
            elif name.startswith(_PROBABILITY) and self.probabilities is not None:
                columns.append(self.probabilities[:, self.classes.index(name.removeprefix(_PROBABILITY))])
            else:
                columns.append(np.zeros(len(predicted)))
        return np.stack(columns, axis=1) if columns else np.zeros((len(predicted), 0))


def _wide(features: pl.DataFrame, names: Sequence[str], num_rows: int, column: str) -> FloatArray:
    """``[texts, features]``, 0 where a text has none."""
    places = pl.DataFrame({"feature": names, "column": range(len(names))}, {"feature": pl.String, "column": pl.Int64})
    known = features.join(places, on="feature", how="left", maintain_order="left")
    values = np.zeros((num_rows, len(names)))
    values[known["place"].to_numpy(), known["column"].to_numpy()] = known[column].to_numpy()
    return values


def probability_classes(names: Sequence[str]) -> list[str]:
    """Classes whose probabilities are among the columns.

    >>> probability_classes(["numbers", "predicted a", "probability of a", "probability of b"])
    ['a', 'b']
    """
    return [name.removeprefix(_PROBABILITY) for name in names if name.startswith(_PROBABILITY)]
