"""Scores that a user brings: one file with every score, rated as those of this run would be."""

from typing import Any

import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.scoring import Rated, scores_table
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, labels, look_through, numbers, read_records
from tiltmeter.storage.records.cells import NEEDED, NUMBER, Rules
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_SETTING = "scores"
_NEEDED = ("variant", "group", "dataset", "system", "gender", "race", "emotion", "sentiment")
_KNOWN = (*_NEEDED, "conversation")
_INDEX = "index"
_RULES: Rules = {"sentiment": [NUMBER]} | dict.fromkeys(("variant", "group", "dataset", "system"), (NEEDED,))


def find_scores(path: str) -> FoundFile:
    """The file, which has the columns.

    Raises:
        InputError: if it is missing, can't be read, or lacks a column.
    """
    file = find_file(path, _SETTING)
    check_columns(file.uri, _NEEDED, _SETTING)
    look_through(file.uri, _NEEDED, _SETTING, rules=_RULES)
    return file


def read_scores(runner: Runner, file: FoundFile) -> dict[Rated, TableRef]:
    """Table ``scores`` of each variant and system, in the order in which the file has them.

    Raises:
        UnitsFailed: if it can't be read.
    """
    unit = Unit("scores_file/1", redacted(file.uri), file.identity)
    [finished] = runner.run_whole(Stage("read scores", each(_read), {_SETTING: [unit]}))[_SETTING]
    index = runner.store.read(finished.tables[_INDEX])
    rated = zip(index["variant"].to_pylist(), index["system"].to_pylist(), strict=True)
    return {key: finished.tables[_part(number)] for number, key in enumerate(rated)}


def _part(number: int) -> str:
    return f"scores_{number:06d}"


def _read(_: Store, unit: Unit) -> Tables:
    rows = _checked(read_records(unit.config["uri"], rules=_RULES), redacted(unit.config["uri"]))
    parts = rows.partition_by("variant", "system", maintain_order=True)
    for number, part in enumerate(parts):
        scores = part.drop("variant", "system").with_row_index("sentence")
        yield _part(number), scores_table(scores, part["variant"][0], part["system"][0])
    yield _INDEX, pl.concat(part.select("variant", "system").head(1) for part in parts).to_arrow().cast(_index_schema())


def _index_schema() -> Any:
    return tables.SCORES.remove_metadata().empty_table().select(["variant", "system"]).schema


def _checked(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Typed columns; text that is empty is null."""
    if rows.is_empty():
        raise InputError(f"{_SETTING}={name}: has no rows")
    rows = rows.select(
        pl.col(column) if column in rows.columns else pl.lit(None, pl.String).alias(column) for column in _KNOWN
    )
    words = [column for column in _KNOWN if column != "sentiment"]
    rows = rows.with_columns(numbers(rows, "sentiment"), *(labels(rows[column]) for column in words))
    return rows
