"""What users take away: every row with the confirmed slices that it is in, these as a file, and slices tested again.

Rows are asked the conditions of the file, as another program would ask them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.errors.features import DataSet
from tiltmeter.jobs.classifiers.errors.slice_files import (
    FORMAT,
    CountedFeatures,
    KnownSlice,
    SliceFile,
    as_json,
    known_slices,
)
from tiltmeter.jobs.classifiers.errors.tables import Flagged, Kept, Retests
from tiltmeter.jobs.classifiers.errors.texts import SCORED, OfTexts
from tiltmeter.jobs.report.exports import inert
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.operators.classifiers.errors.slices import columns, confirmation
from tiltmeter.operators.classifiers.errors.slices.columns import rows_of
from tiltmeter.operators.classifiers.errors.slices.confirmation import retested
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Store, TableRef

_FLAGGED, _SLICES = "flagged.csv", "slices.json"


class FlagRows(OfTexts, unit="flagged_rows/2", stage="flagged rows", makes=[Flagged]):
    """Rows in most confirmed slices first, then by score or loss; whether a row has a label plays no part.

    Attributes:
        kept: the confirmed slices.
        scores: of an error, by row; None of losses.
    """

    data: DataSet
    kept: TableRef
    scores: TableRef | None
    of_columns: str = columns.VERSION

    def rows(self, store: Store) -> list[Flagged]:
        """One for each row of the file."""
        every = self.data.load(store, *SCORED)
        why: dict[int, list[str]] = {row: [] for row in every.rows.tolist()}
        for known in known_slices(Kept.read(store, self.kept)):
            for row in every.rows[rows_of(known.conditions, every)].tolist():
                why[row].append(known.words)
        about = {row["row"]: row for row in every.table.select("^(row|predicted|loss)$").to_dicts()}
        ranked = {} if self.scores is None else store.read(self.scores).to_pydict()
        scores, rows = dict(zip(ranked.get("row", ()), ranked.get("error_score", ()), strict=True)), []
        for row in store.read(self.data.texts).select(["row", "id", "label", "status", "reason"]).to_pylist():
            number = row["row"]
            made = Flagged(**row | about.get(number, {}), score=scores.get(number), reasons=why.get(number))
            made.predicted = made.predicted or None
            made.num_slices = None if made.reasons is None else len(made.reasons)
            is_unread = row["status"] in SCORED and number not in why
            rows.append(made.fail("no_token", "the model reads no token of the text") if is_unread else made)
        return sorted(rows, key=_order)


def _order(row: Flagged) -> tuple[float, float, int]:
    """What tells rows apart in the order of the table; those that nothing is known of come last."""
    value = next((one for one in (row.score, row.loss) if one is not None), -np.inf)
    return -1.0 if row.num_slices is None else -2.0 - row.num_slices, -float(value), row.row


class RetestSlices(OfTexts, unit="slice_retests/1", stage="retests", makes=[Retests]):
    """Slices that were named beforehand, on all rows of these data.

    Attributes:
        slices: that a file has.
        is_same: whether they were found in these very rows, which prove nothing anew.
        level: of intervals.
    """

    data: DataSet
    slices: Sequence[KnownSlice]
    is_same: bool
    level: float
    operators: Sequence[str] = (columns.VERSION, confirmation.VERSION)

    def rows(self, store: Store) -> Iterator[Retests]:
        """One for each slice, in the order of the file."""
        data = self.data.load(store)
        about = data.losses, data.strata, data.units
        inside = [rows_of(known.conditions, data) for known in self.slices]
        made = [retested(rows, *about, self.level) for rows in inside]
        p_values = np.array([one.p for one in made], dtype=np.float64)
        adjusted = holm(p_values)
        for place, (known, one) in enumerate(zip(self.slices, made, strict=True)):
            row = Retests(slice=known.slice, words=known.words or known.slice, size=int(inside[place].sum()))
            row.num_groups, row.difference_before = data.units.part(inside[place]).num, known.difference
            row.error_rate = float(data.losses[inside[place]].mean()) if row.size else np.nan
            row.difference = Estimate(one.value, one.low, one.high)
            if self.is_same:
                row.fail("same_rows", "the slice was found in these very rows, which show nothing anew")
            else:
                row.p_value, row.holm_p = one.p, float(adjusted[place])
                if one.too_few is not None:
                    row.fail("too_few_units", one.reason)
            yield row


def export_slices(run: Run[Any, Any], kept: TableRef, data: DataSet) -> None:
    """Write ``exports/slices.json``: the confirmed slices, of which there may be none."""
    slices, config, features = known_slices(Kept.read(run.runner.store, kept)), run.config, None
    if any(part.of == "feature" for one in slices for part in one.conditions):
        files = {name: _file_name(getattr(config.features, name)) for name in ("lexicon", "conllu")}
        features = CountedFeatures(tags=config.features.tags, readable_words=config.readable_words, **files)
    rows: dict[str, str | int] = {"digest": data.digest, "rows": data.texts.num_rows, "seed": config.seed}
    about = {name: getattr(config.data, name) for name in ("loss", "high_is_good", "by_prediction")}
    about |= {"data": {"name": str(_file_name(config.data.path))} | rows, "level": config.job.level}
    file = SliceFile(format=FORMAT, slices=tuple(slices), features=features, **about)
    run.directory.export_bytes(_SLICES, as_json(file))


def _file_name(path: str | None) -> str | None:
    return None if path is None else redacted(path).rsplit("/", 1)[-1]


def export_flagged(run: Run[Any, Any], flagged: TableRef) -> None:
    """Write ``exports/flagged.csv``: the table, its lists of reasons divided by semicolons; no text is a formula."""
    rows = pl.DataFrame(run.runner.store.read(flagged)).with_columns(pl.col("reasons").list.join("; "))
    run.directory.export_bytes(_FLAGGED, rows.with_columns(inert(pl.col(pl.String))).write_csv().encode())
