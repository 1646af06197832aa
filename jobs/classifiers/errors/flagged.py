"""Every row with its score and the confirmed slices that it is in: what users take away."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.errors.slices import OfSlices, predicates_of_data
from tiltmeter.jobs.classifiers.errors.tables import Flagged, in_words
from tiltmeter.jobs.classifiers.errors.texts import SCORED, halves
from tiltmeter.jobs.report.exports import inert
from tiltmeter.jobs.report.wording import SIGNIFICANCE
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.slices import columns
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate, holds_of_text
from tiltmeter.operators.compute.arrays import BoolArray
from tiltmeter.storage.store.ledger import Store, TableRef

_FILE = "flagged.csv"


class FlagRows(OfSlices, unit="flagged_rows/1", stage="flagged rows", makes=[Flagged]):
    """Rows in most confirmed slices first, then by score or loss; whether a row has a label plays no part.

    Attributes:
        slice_table: all slices.
        scores: of an error, by row; None of losses.
    """

    slice_table: TableRef
    scores: TableRef | None
    of_columns: str = columns.VERSION

    def rows(self, store: Store) -> list[Flagged]:
        """One for each row of the file."""
        why, known = self._reasons(store), self.data.load(store, *SCORED).table
        names = {"row": "row", "predicted": "predicted"} | ({"loss": "loss"} if "loss" in known.columns else {})
        about = {
            row["row"]: row
            for row in known.select(**{name: pl.col(column) for name, column in names.items()}).to_dicts()
        }
        scores = {}
        if self.scores is not None:
            table = store.read(self.scores).to_pydict()
            scores = dict(zip(table["row"], table["error_score"], strict=True))
        rows = []
        for row in store.read(self.data.texts).select(["row", "id", "label", "status", "reason"]).to_pylist():
            number = row["row"]
            made = Flagged(**row | about.get(number, {}), score=scores.get(number), reasons=why.get(number))
            made.predicted = made.predicted or None
            made.num_slices = None if made.reasons is None else len(made.reasons)
            is_unread = row["status"] in SCORED and number not in why
            rows.append(made.fail("no_token", "the model reads no token of the text") if is_unread else made)
        return sorted(rows, key=_order)

    def _reasons(self, store: Store) -> dict[int, list[str]]:
        """By row, the slices in words, in the order in which they lead."""
        data, every = self.data.load(store), self.data.load(store, *SCORED)
        exploring = ~halves(data.column("group"), self.seed)
        made = predicates_of_data(data, exploring, self.slices.min_size, tags=self.tags)[0]
        by_name = {predicate.name: predicate for predicate in made.predicates}
        why: dict[int, list[str]] = {row: [] for row in every.rows.tolist()}
        rows = store.read(self.slice_table).select(["predicates", "leading", "confirmed_p"]).to_pylist()
        for predicates in confirmed(rows):
            inside = np.logical_and.reduce([_holds(by_name[name], data, every) for name in predicates])
            for row in every.rows[inside].tolist():
                why[row].append(in_words(predicates))
        return why


def confirmed(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Predicates of the slices that lead and are confirmed, those first that lead.

    Args:
        rows: cells ``predicates``, ``leading`` and ``confirmed_p`` of the table of slices.
    """
    for row in sorted((row for row in rows if row["leading"] is not None), key=lambda row: row["leading"]):
        if row["confirmed_p"] is not None and row["confirmed_p"] < SIGNIFICANCE:
            yield row["predicates"]


def _holds(predicate: Predicate, data: Examples, every: Examples) -> BoolArray:
    if predicate.column:
        return columns.holds(predicate, every.extra[predicate.column])
    return holds_of_text(predicate, data, every)


def _order(row: Flagged) -> tuple[float, float, int]:
    """What tells rows apart in the order of the table; those that nothing is known of come last."""
    value = next((one for one in (row.score, row.loss) if one is not None), -np.inf)
    return -1.0 if row.num_slices is None else -2.0 - row.num_slices, -float(value), row.row


def export_flagged(run: Run[Any, Any], flagged: TableRef) -> None:
    """Write ``exports/flagged.csv``: the table, its lists of reasons divided by semicolons; no text is a formula."""
    rows = pl.DataFrame(run.runner.store.read(flagged)).with_columns(pl.col("reasons").list.join("; "))
    run.directory.export_bytes(_FILE, rows.with_columns(inert(pl.col(pl.String))).write_csv().encode())
