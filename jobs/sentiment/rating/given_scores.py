"""Scores that a user brings: a file with every score, or logs of evaluation harnesses with files of each system."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import InputFile
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.jobs.sentiment.rating.config import ATTRIBUTES, ScoreLogs
from tiltmeter.jobs.sentiment.rating.scores import Rated, scores_table
from tiltmeter.jobs.sentiment.rating.tables import ORIGINAL, Items, arrow_table
from tiltmeter.storage.corpora.sources import FoundFile, find_file, find_files
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.item_logs import ItemLog, LogColumns, label_in, number_in, read_item_log, task_of
from tiltmeter.storage.records import check_columns, labels, look_through, numbers, read_records
from tiltmeter.storage.records.cells import NEEDED, NUMBER, Rules
from tiltmeter.storage.store.ledger import Store, TableRef


def _part(number: int) -> str:
    return f"scores_{number:06d}"


# --- a file ---------------------------------------------------------------------------------------------------------

_NEEDED = ("variant", "group", "dataset", "system", "gender", "race", "emotion", "sentiment")
_KNOWN = (*_NEEDED, "conversation")
_RULES: Rules = {"sentiment": [NUMBER]} | dict.fromkeys(("variant", "group", "dataset", "system"), (NEEDED,))


def find_scores(path: str) -> FoundFile:
    """The file, which has the columns.

    Raises:
        InputError: if it is missing, can't be read, or lacks a column.
    """
    file = find_file(path, "scores")
    check_columns(file.uri, _NEEDED, "scores")
    look_through(file.uri, _NEEDED, "scores", rules=_RULES)
    return file


class ReadScores(Work, unit="scores_file/1", stage="read scores"):
    """Scores of each variant and system, and an index of these."""

    file: InputFile

    def tables(self, store: Store) -> Tables:  # noqa: ARG002
        """In the order in which the file has them."""
        uri = self.file.file.uri
        parts = _typed(read_records(uri, rules=_RULES), redacted(uri)).partition_by(
            "variant", "system", maintain_order=True
        )
        for number, part in enumerate(parts):
            scores = part.drop("variant", "system").with_row_index("sentence")
            yield _part(number), scores_table(scores, part["variant"][0], part["system"][0])
        index = pl.concat(part.select("variant", "system").head(1) for part in parts).to_arrow()
        yield "index", index.cast(pa.schema([("variant", pa.string()), ("system", pa.string())]))


def _typed(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Typed columns; text that is empty is null."""
    if rows.is_empty():
        raise InputError(f"scores={name}: has no rows")
    rows = rows.select(
        pl.col(column) if column in rows.columns else pl.lit(None, pl.String).alias(column) for column in _KNOWN
    )
    words = [column for column in _KNOWN if column != "sentiment"]
    return rows.with_columns(numbers(rows, "sentiment"), *(labels(rows[column]) for column in words))


def read_scores(run: Run[Any, Any], file: FoundFile) -> dict[Rated, TableRef]:
    """Table ``scores`` of each variant and system, in the order in which the file has them.

    Raises:
        UnitsFailed: if it can't be read.
    """
    [(_, finished)] = run.do([ReadScores(label=redacted(file.uri), group="scores", file=InputFile(file))]).pairs
    index = run.runner.store.read(finished.tables["index"])
    rated = zip(index["variant"].to_pylist(), index["system"].to_pylist(), strict=True)
    return {key: finished.tables[_part(number)] for number, key in enumerate(rated)}


# --- logs, item by item ---------------------------------------------------------------------------------------------

_NO_TASK = "items"
_KEY = ("group", "dataset", "item")
_UNREADABLE = "unreadable"

LogFiles = Mapping[str, Sequence[FoundFile]]
"""The files of each system."""


def find_logs(logs: ScoreLogs) -> dict[str, list[FoundFile]]:
    """The files of each system, whose lines have the columns and tell the same items.

    Raises:
        InputError: if a path names no file, a file lacks a column, an item comes twice, or two logs tell otherwise whom
            it is about.
    """
    files = {name: find_files(paths, f"logs.systems.{name}") for name, paths in logs.systems.items()}
    work = _read_logs(logs, files)
    _items({name: work.rows_of(name) for name in files})
    return files


def read_logs(run: Run[Any, Any], logs: ScoreLogs, files: LogFiles) -> tuple[TableRef, dict[Rated, TableRef]]:
    """Table ``items``, and ``scores`` of each system.

    Raises:
        UnitsFailed: if they can't be read.
    """
    [(work, finished)] = run.do([_read_logs(logs, files)]).pairs
    parts = {name: finished.tables[_part(number)] for number, name in enumerate(work.systems)}
    return finished.tables["items"], {(ORIGINAL, name): parts[name] for name in files}


def _read_logs(logs: ScoreLogs, files: LogFiles) -> "ReadLogs":
    identities = {name: [file.identity for file in files[name]] for name in sorted(files)}
    return ReadLogs(label="logs", group="logs", systems=identities, paths=logs.paths, only=logs.only)


class ReadLogs(Work, unit="item_logs/1", stage="read logs", makes=[Items]):
    """Items, and scores of each system.

    Attributes:
        systems: files of each, by name in the order of names.
        paths: the columns that are read, by what they are called here.
        only: by column, the value of the lines that are read.
    """

    systems: Mapping[str, Sequence[Mapping[str, Any]]]
    paths: Mapping[str, str]
    only: Mapping[str, str]

    def tables(self, store: Store) -> Tables:  # noqa: ARG002
        """In the order of the systems' names."""
        systems = {name: self.rows_of(name) for name in self.systems}
        items = _items(systems)
        yield "items", arrow_table(Items, items)
        for number, (name, rows) in enumerate(systems.items()):
            scored = rows.select(*_KEY, "sentiment", "status", "reason")
            scored = items.drop("num_scores").join(scored, on=_KEY, how="left", maintain_order="left")
            yield _part(number), scores_table(scored, ORIGINAL, name)

    def rows_of(self, name: str) -> pl.DataFrame:
        """A row for each item of a system's log.

        Raises:
            InputError: if a file lacks a column, or an item comes twice.
        """
        needed = [self.paths[column] for column in _KEY if column in self.paths]
        settings = {path: f"logs.{column}" for column, path in self.paths.items()}
        columns = LogColumns(settings, dict(self.only), labels=needed)
        logs = [read_item_log(file["uri"], f"logs.systems.{name}", columns) for file in self.systems[name]]
        rows = pl.DataFrame(
            [row for log in logs for row in _rows(log, self.paths)],
            dict.fromkeys((*_KEY, *ATTRIBUTES, "status", "reason", "where"), pl.String) | {"sentiment": pl.Float64},
        )
        if repeated := rows.filter(pl.struct(_KEY).is_duplicated()).to_dicts():
            first, *others = repeated
            again = next(row for row in others if all(row[column] == first[column] for column in _KEY))
            raise InputError(
                f"{again['where']}: has the item {again['item']!r}, as {first['where']} has; give each item one "
                f"line, choose lines by logs.only, or name another logs.item than {self.paths['item']}"
            )
        return rows


def _rows(log: ItemLog, paths: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    usual = dict.fromkeys(("group", "dataset"), task_of(log.name) or _NO_TASK)
    for row in range(len(log.lines)):
        values = {name: log.values[path][row] for name, path in paths.items()}
        labels = {name: label_in(values[name]) for name in (*_KEY, *ATTRIBUTES) if name in paths}
        where = log.where(row)
        yield usual | labels | _score(values, paths, where) | {"where": where}


def _score(values: Mapping[str, Any], paths: Mapping[str, str], where: str) -> dict[str, Any]:
    """The number and its status; none of a line that tells no number, or whom it is about in lists or objects."""
    nested = [name for name in ATTRIBUTES if isinstance(values.get(name), list | dict)]
    number = number_in(values["score"])
    if number is not None and not nested:
        return {"sentiment": number}
    name, kind = (nested[0], "text") if nested else ("score", "a number")
    reason = f"{where}: {paths[name]} is {values[name]!r}, where {kind} belongs"
    return {"status": _UNREADABLE, "reason": reason}


def _items(systems: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The items of all systems, numbered by group, data set and name, with how many systems have a score for each.

    Raises:
        InputError: if two logs tell otherwise whom an item is about.
    """
    rows = pl.concat(systems.values())
    known = [pl.col(name).drop_nulls().first() for name in ATTRIBUTES]
    kinds = [pl.col(name).drop_nulls().n_unique().alias(f"num_{name}") for name in ATTRIBUTES]
    items = rows.group_by(_KEY).agg(*known, *kinds, pl.col("sentiment").count().alias("num_scores"))
    for name in ATTRIBUTES:
        if not (unlike := items.filter(pl.col(f"num_{name}") > 1).sort(_KEY)).is_empty():
            _refuse_unlike(rows, unlike.row(0, named=True), name)
    order = ("group", "dataset", pl.col("item").str.len_chars(), "item")  # numbers by their size
    return items.sort(*order).with_row_index("sentence")


def _refuse_unlike(rows: pl.DataFrame, item: Mapping[str, Any], name: str) -> None:
    same = rows.filter(pl.col(key) == item[key] for key in _KEY).drop_nulls(name).unique(name, maintain_order=True)
    first, second = same.select("where", name).rows()[:2]
    raise InputError(
        f"{second[0]}: item {item['item']!r} has the {name} {second[1]!r}, and {first[1]!r} in {first[0]}: the logs "
        "are not of the same items"
    )
