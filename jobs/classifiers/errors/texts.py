"""The texts of both files, the half that each is in, and what the model predicts: by the file, or by a base model."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.errors.tables import Predicted, Read, Texts
from tiltmeter.jobs.classifiers.models import TextModel
from tiltmeter.jobs.classifiers.training import LabelledText, TrainTexts
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work, aside
from tiltmeter.operators.classifiers.answers import Classifier, ask
from tiltmeter.operators.classifiers.attribution.attribute import Networked
from tiltmeter.operators.classifiers.errors import splits, word_model
from tiltmeter.operators.classifiers.errors.examples import OWN
from tiltmeter.operators.classifiers.errors.splits import is_tested
from tiltmeter.operators.classifiers.errors.uncertainty import checked_probabilities
from tiltmeter.operators.classifiers.errors.word_model import train_word_model
from tiltmeter.operators.compute.arrays import BoolArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text.normalisation import Normalizer
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import labels, numbers, one_spelling, read_records
from tiltmeter.storage.store.ledger import Store, TableRef

SCORED = ("ok", "no_label", "no_loss")
"""Statuses of the rows that can be scored: those that are ok, and those that lack no more than a label or loss."""

_REASONS = {
    "ok": "",
    "no_text": "the text is empty",
    "no_prediction": "the row has no prediction",
    "no_probability": "the row lacks the probability of a class",
    "no_label": "the row has no label",
    "no_loss": "the row has no loss",
}
_CLASSES = ("label", "prediction", "previous")
_HALVES = ("exploration", "confirmation")

_HALF, _DEVELOPMENT = 1, 2
"""What halves and development parts are drawn about; see :func:`.splits.is_tested`."""


class OfTexts(Work):
    """A unit of the one group that fails together."""

    group: str = aside(default="texts")


class ReadTexts(OfTexts, unit="characterised_texts/3", stage="read texts", makes=[Read]):
    """The rows of a file; those without what is needed say so.

    Attributes:
        file: its identity; columns to limit are the settings about it.
        seed: of the draw of ``limit`` rows; None without one.
        spelling: the classes as another file writes them.
    """

    file: Mapping[str, Any]
    columns: Mapping[str, str]
    header: bool
    classes: Mapping[str, str] | None
    probabilities: Mapping[str, str] | None
    limit: int | None
    seed: int | None
    spelling: Sequence[str]

    def rows(self, _: Store) -> Sequence[Read]:
        """In the order of the file."""
        given, renamed = self.probabilities or {}, self.classes or {}
        names = list(dict.fromkeys([*self.columns.values(), *given.values()]))
        table = read_records(self.file["uri"], names, header=self.header)
        cells = {name: labels(table[called]) for name, called in self.columns.items()}
        classes = [name for name in _CLASSES if name in cells]
        known = pl.Series([*renamed, *given, *self.spelling], dtype=pl.String)
        cells |= dict(zip(classes, one_spelling(known, *(cells[name] for name in classes))[1:], strict=True))
        shares = zip(*(numbers(table, given[name]) for name in sorted(given)), strict=True)
        normal, rows = Normalizer("en", fold_case=True), []
        for number, values in enumerate(zip(*(column.to_list() for column in cells.values()), strict=True)):
            row = Read(row=number, **dict(zip(cells, values, strict=True)))
            row.label, row.prediction, row.previous = (
                renamed.get(name, name) if name else name for name in (row.label, row.prediction, row.previous)
            )
            row.probabilities = list(next(shares)) if given else None
            row.group = row.group or (" ".join(normal(row.text or "").split()) if "text" in cells else str(number))
            row.id = row.id or str(number)
            row.status = self._status(row)
            row.reason, row.text = _REASONS[row.status], row.text or ""
            rows.append(row)
        return self._drawn(rows)

    def _status(self, row: Read) -> str:
        lacks = {
            "no_text": row.text is None and "text" in self.columns,
            "no_prediction": any(name in self.columns and getattr(row, name) is None for name in _CLASSES[1:]),
            "no_probability": None in (row.probabilities or []),
            "no_label": row.label is None,
        }
        return next((status for status, holds in lacks.items() if holds), "ok")

    def _drawn(self, rows: list[Read]) -> list[Read]:
        """So many, in their order; which ones is a matter of what they say."""
        if self.limit is None or self.limit >= len(rows):
            return rows
        names = ("label", "text") if "text" in self.columns else ("id",)
        keys = ["\n".join([str(self.seed), *(str(getattr(row, name)) for name in names)]) for row in rows]
        by_key = [
            row
            for _, row in sorted(
                zip(map(document_key, keys), rows, strict=True), key=lambda pair: (pair[0], pair[1].row)
            )
        ]
        return sorted(by_key[: self.limit], key=lambda row: row.row)


class ReadColumns(ReadTexts, unit="characterised_columns/1", stage="read texts", makes=[Read]):
    """The same with a table ``columns``: by row, losses, and the user's own columns as text.

    Attributes:
        extra: names of these.
        losses: columns of the loss, and of that of the version before, by what the table calls them.
        is_score: whether these are high where the model is good.
    """

    extra: Sequence[str]
    losses: Mapping[str, str]
    is_score: bool

    def tables(self, store: Store) -> Tables:
        """Both."""
        table = read_records(self.file["uri"], [*self.extra, *self.losses.values()], header=self.header)
        columns = {"row": pl.Series(range(table.height), dtype=pl.Int64)}
        sign = -1.0 if self.is_score else 1.0
        columns |= {name: sign * numbers(table, called) for name, called in self.losses.items()}
        columns |= {f"{OWN}{name}": cells_of(table, name) for name in self.extra}
        made = pl.DataFrame(columns)
        rows = list(self.rows(store))
        lacking = (
            {*made.filter(pl.any_horizontal(pl.col(*self.losses).is_null()))["row"]} if self.losses else set[int]()
        )
        for row in rows:
            if self.losses:
                row.prediction = row.prediction or ("" if "prediction" not in self.columns else None)
                row.status = "ok" if row.status == "no_label" else row.status
                row.status = "no_loss" if row.status == "ok" and row.row in lacking else row.status
                row.reason = _REASONS[row.status]
        yield from tables_of(rows, [Read])
        kept = made[[row.row for row in rows]]
        kinds = {pl.Int64: pa.int64(), pl.Float64: pa.float64(), pl.String: pa.string()}
        arrays = {one.name: pa.array(one.to_list(), kinds[type(one.dtype)]) for one in kept}
        yield "columns", pa.table(arrays)


def cells_of(table: pl.DataFrame, name: str) -> pl.Series:
    """As text that does not depend on the file's type: numbers as such, truth in lower case."""
    given, values = labels(table[name]), numbers(table, name)
    if given.drop_nulls().len() and values.null_count() == given.null_count():
        return labels(values)
    lower = given.str.to_lowercase()
    return lower if lower.drop_nulls().is_in(["true", "false"]).all() else given


class HalveTexts(OfTexts, unit="text_halves/2", stage="halve", makes=[Texts]):
    """Which half each text is in that has a prediction; none is in one without a seed."""

    texts: TableRef
    predicted: TableRef
    operator: str = splits.VERSION
    seed: int | None

    def rows(self, store: Store) -> Iterator[Texts]:
        """One for each text."""
        read = Read.read(store, self.texts)
        predicted = {row.row for row in Predicted.read(store, self.predicted) if row.predicted is not None}
        used = [row for row in read if self.seed is not None and row.status == "ok" and row.row in predicted]
        half = halves([row.group for row in used], self.seed).tolist() if used and self.seed is not None else []
        names = {row.row: _HALVES[confirms] for row, confirms in zip(used, half, strict=True)}
        for row in read:
            made = Texts(row=row.row, text=row.text, label=row.label, group=row.group, id=row.id)
            made.half, made.status, made.reason = names.get(row.row), row.status, row.reason
            yield made


def halves(groups: Sequence[str], seed: int) -> BoolArray:
    """Whether each text is of the half that confirms.

    Raises:
        InputError: if all texts are of one group.
    """
    if len(set(groups)) < 2:
        raise InputError("data.path: all texts are of one group, so that none could confirm what others show")
    return is_tested(groups, 0.5, seed, _HALF)


# --- predictions ------------------------------------------------------------------------------------------------------


class GivenPredictions(OfTexts, unit="given_predictions/2", stage="predictions", makes=[Predicted]):
    """Predictions of the file; classes are those of its probabilities, in alphabetical order."""

    texts: TableRef
    classes: Sequence[str]

    def rows(self, store: Store) -> Iterator[Predicted]:
        """One for each text that can be scored."""
        rows = _read(store, self.texts, SCORED)
        shares = [row.probabilities for row in rows]
        if self.classes and rows:
            try:
                shares = checked_probabilities(np.array(shares, dtype=np.float64)).tolist()
            except ValueError as error:
                raise InputError(f"data.probabilities: {error}") from error
        for row, share in zip(rows, shares, strict=True):
            made = Predicted(row=row.row, predicted=row.prediction, previous=row.previous)
            made.probabilities, made.classes = share, list(self.classes)
            yield made


class PredictByWords(OfTexts, unit="word_predictions/2", stage="predict", makes=[Predicted]):
    """Predictions of a model of words that learns the base file."""

    texts: TableRef
    base: TableRef
    operator: str = word_model.VERSION

    def rows(self, store: Store) -> Iterator[Predicted]:
        """One for each text that can be scored."""
        base = labelled_rows(store, self.base)
        model = train_word_model([row.text for row in base], [str(row.label) for row in base])
        return _answers(model, _read(store, self.texts, SCORED))


class TrainBase(TrainTexts, unit="base_model/1", stage="train"):
    """A network that learns the base file but for a development share of it, which tells when to stop."""

    development: float

    def lessons(self, store: Store) -> tuple[Sequence[LabelledText], Sequence[LabelledText]]:
        """Both parts; of the development part what has a class of the other."""
        rows = labelled_rows(store, self.texts)
        held_out = is_tested([row.group for row in rows], self.development, self.seed, _DEVELOPMENT)
        training, development = (
            [LabelledText(row.text, str(row.label)) for row, out in zip(rows, held_out, strict=True) if out == part]
            for part in (False, True)
        )
        known = {text.label for text in training}
        return training, [text for text in development if text.label in known]


class PredictByNetwork(OfTexts, unit="base_predictions/2", stage="predict", makes=[Predicted]):
    """Predictions of that network."""

    texts: TableRef
    model: TextModel[Networked]

    def rows(self, store: Store) -> Iterator[Predicted]:
        """One for each text that can be scored."""
        return _answers(self.model.load(store), _read(store, self.texts, SCORED))


def labelled_rows(store: Store, texts: TableRef) -> list[Read]:
    """The rows whose status is ok."""
    return _read(store, texts, ("ok",))


def _read(store: Store, texts: TableRef, statuses: Sequence[str]) -> list[Read]:
    return [row for row in Read.read(store, texts) if row.status in statuses]


def _answers(model: Classifier, rows: Sequence[Read]) -> Iterator[Predicted]:
    answers = ask(model, [row.text for row in rows])
    for row, predicted, shares in zip(rows, answers.predicted, answers.probabilities.tolist(), strict=True):
        made = Predicted(row=row.row, predicted=predicted, classes=list(answers.classes))
        made.probabilities = None if predicted is None else shares
        yield made
