"""Scores that evaluation harnesses logged item by item: of several systems, each with files of its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

import polars as pl
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL, Rated, scores_table
from tiltmeter.storage.corpora.sources import FoundFile, Paths, find_files
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.item_logs import ItemLog, LogColumns, label_in, number_in, read_item_log, task_of
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

VERSION = "item_logs/1"

_Name = Annotated[str, Field(min_length=1)]
_NO_TASK = "items"
_KEY = ("group", "dataset", "item")
_ATTRIBUTES = ("gender", "race", "emotion", "conversation")
_UNREADABLE = "unreadable"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class ScoreLogs:
    """Logs of systems, as JSON lines; a column within others is named with dots, such as ``doc.gender``.

    Attributes:
        systems: by name of the system, its files; folders and wildcards too.
        item: column that tells the items of a group and data set apart.
        score: column of numbers, or of true and false.
        gender, race, emotion: columns of what items tell; None: it is not known.
        conversation: column of what items share and are drawn with, such as their template; None: each is drawn alone.
        group, dataset: columns of both; None: the task in the name of a file of lm-evaluation-harness, or ``items``.
        only: by column, the value of the lines that are read, where a log has several lines for each item.
    """

    systems: dict[str, Paths] = Field(default_factory=dict)
    item: _Name = "doc_id"
    score: _Name = "acc"
    gender: _Name | None = None
    race: _Name | None = None
    emotion: _Name | None = None
    conversation: _Name | None = None
    group: _Name | None = None
    dataset: _Name | None = None
    only: dict[str, str] = Field(default_factory=dict)

    @pydantic.field_validator("systems", "only", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return {} if value is None else value

    @pydantic.model_validator(mode="after")
    def _can_be_rated(self) -> Self:
        if self.systems and self.gender is None and self.race is None:
            raise ValueError(
                "logs.gender and logs.race: none is set; name the column that tells whom an item is about, for example "
                "logs.gender=doc.gender"
            )
        return self

    @property
    def is_set(self) -> bool:
        """Whether there are logs to rate."""
        return bool(self.systems)

    @property
    def paths(self) -> dict[str, str]:
        """The columns that are read, by what they are called here."""
        named = {name: getattr(self, name) for name in ("item", "score", *_ATTRIBUTES, "group", "dataset")}
        return {name: path for name, path in named.items() if path is not None}


LogFiles = Mapping[str, Sequence[FoundFile]]
"""The files of each system."""


def find_logs(logs: ScoreLogs) -> dict[str, list[FoundFile]]:
    """The files of each system, whose lines have the columns and tell the same items.

    Raises:
        InputError: if a path names no file, a file lacks a column, an item comes twice, or two logs tell otherwise whom
            it is about.
    """
    files = {name: find_files(paths, f"logs.systems.{name}") for name, paths in logs.systems.items()}
    _items({name: _of_system(name, _config(logs, files)) for name in files})
    return files


def _config(logs: ScoreLogs, files: LogFiles) -> dict[str, Any]:
    identities = {name: [file.identity for file in files[name]] for name in sorted(files)}
    return {"systems": identities, "paths": logs.paths, "only": logs.only}


def read_logs(runner: Runner, logs: ScoreLogs, files: LogFiles) -> tuple[TableRef, dict[Rated, TableRef]]:
    """Table ``items``, and ``scores`` of each system.

    Raises:
        UnitsFailed: if they can't be read.
    """
    config = _config(logs, files)
    unit = Unit(VERSION, "logs", config)
    [finished] = runner.run_whole(Stage("read logs", each(_read), {"logs": [unit]}))["logs"]
    parts = {name: finished.tables[_part(number)] for number, name in enumerate(config["systems"])}
    return finished.tables["items"], {(ORIGINAL, name): parts[name] for name in files}


def _part(number: int) -> str:
    return f"scores_{number:06d}"


def _settings(paths: Mapping[str, str]) -> dict[str, str]:
    return {path: f"logs.{name}" for name, path in paths.items()}


def _needed(paths: Mapping[str, str]) -> list[str]:
    """The columns without which a line says nothing of an item."""
    return [paths[name] for name in _KEY if name in paths]


def _read(_: Store, unit: Unit) -> Tables:
    systems = {name: _of_system(name, unit.config) for name in sorted(unit.config["systems"])}
    items = _items(systems)
    yield "items", items.select(tables.ITEMS.names).to_arrow().cast(tables.ITEMS)
    for number, (name, rows) in enumerate(systems.items()):
        scored = rows.select(*_KEY, "sentiment", "status", "reason")
        scored = items.drop("num_scores").join(scored, on=_KEY, how="left", maintain_order="left")
        yield _part(number), scores_table(scored, ORIGINAL, name)


def _of_system(name: str, config: Mapping[str, Any]) -> pl.DataFrame:
    """A row for each item of a system's log."""
    columns = LogColumns(_settings(config["paths"]), config["only"], labels=_needed(config["paths"]))
    logs = [read_item_log(file["uri"], f"logs.systems.{name}", columns) for file in config["systems"][name]]
    rows = pl.DataFrame(
        [row for log in logs for row in _rows(log, config["paths"])],
        dict.fromkeys((*_KEY, *_ATTRIBUTES, "status", "reason", "where"), pl.String) | {"sentiment": pl.Float64},
    )
    if repeated := rows.filter(pl.struct(_KEY).is_duplicated()).to_dicts():
        again = next(row for row in repeated[1:] if _key(row) == _key(repeated[0]))
        raise InputError(
            f"{again['where']}: has the item {again['item']!r}, as {repeated[0]['where']} has; give each item one "
            f"line, choose lines by logs.only, or name another logs.item than {config['paths']['item']}"
        )
    return rows


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _KEY)


def _rows(log: ItemLog, paths: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    usual = dict.fromkeys(("group", "dataset"), task_of(log.name) or _NO_TASK)
    for row in range(len(log.lines)):
        values = {name: log.values[path][row] for name, path in paths.items()}
        labels = {name: label_in(values[name]) for name in (*_KEY, *_ATTRIBUTES) if name in paths}
        where = log.where(row)
        yield usual | labels | _score(values, paths, where) | {"where": where}


def _score(values: Mapping[str, Any], paths: Mapping[str, str], where: str) -> dict[str, Any]:
    """The number and its status; none of a line that tells no number, or whom it is about in lists or objects."""
    nested = [name for name in _ATTRIBUTES if isinstance(values.get(name), list | dict)]
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
    known = [pl.col(name).drop_nulls().first() for name in _ATTRIBUTES]
    kinds = [pl.col(name).drop_nulls().n_unique().alias(f"num_{name}") for name in _ATTRIBUTES]
    items = rows.group_by(_KEY).agg(*known, *kinds, pl.col("sentiment").count().alias("num_scores"))
    for name in _ATTRIBUTES:
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
