"""Logs of evaluation harnesses: JSON lines, an object for each item, some of whose columns lie within others."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import polars as pl

from tiltmeter.storage.bad_records import BadRecords, collect
from tiltmeter.storage.corpora.packed import unpacked
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records.objects import json_line

_TASK = re.compile(r"samples_(.+)_\d{4}-\d{2}-\d{2}(T[\d.-]+)?\.jsonl(\.\w+)?")
_ABSENT = object()
_BLOCK_BYTES = 2**25


@dataclass(frozen=True)
class LogColumns:
    """What is read of a log.

    Attributes:
        settings: by column, the setting that names it. A column within others has dots, such as ``doc.id``, and one
            within a list the number of its place, such as ``filtered_resps.0.1``.
        only: by column, the value of the lines that are read; others are passed over.
        labels, numbers: those of the columns without which a line is a bad record.
        setting: that names these.
    """

    settings: Mapping[str, str]
    only: Mapping[str, str] = field(default_factory=dict)
    setting: str = "logs.only"
    labels: Sequence[str] = ()
    numbers: Sequence[str] = ()

    def fault(self, record: dict[str, Any]) -> str:
        """What a line lacks; empty if nothing."""
        for names, meaning, kind in ((self.labels, label_in, "label"), (self.numbers, number_in, "number")):
            for path in names:
                if meaning(value_in(record, path)) is None:
                    return f"no {kind} in {path}, which {self.settings[path]} names"
        return ""


class ItemLog(NamedTuple):
    """Attributes:
    name: of the file, for messages.
    lines: the number of each line that was read, from 1.
    values: by column, what each line has; None for null, and where it lacks the column.
    bad: the lines that were left out.
    """

    name: str
    lines: list[int]
    values: dict[str, list[Any]]
    bad: BadRecords

    def where(self, row: int) -> str:
        """File and line of a row, for messages."""
        return f"{self.name}, line {self.lines[row]}"


def read_item_log(uri: str, name: str, columns: LogColumns) -> ItemLog:
    """Columns of the lines of a log; blank lines are passed over, and what is no JSON object is counted and left out.

    Args:
        uri: of the file, which bzip2, gzip or zstd may have packed.
        name: what the log is, for messages, such as ``logs.first``.
        columns: which.

    Raises:
        InputError: if there is no line that can be used, or none that has a column or the values that are asked for.
    """
    file, bad = redacted(uri), BadRecords()
    log = ItemLog(f"{name}: {file}", [], {path: [] for path in columns.settings}, bad)
    paths = [*columns.settings, *columns.only]
    seen: set[str] = set()
    first: dict[str, Any] | None = None
    for number, record in _records(uri, file, bad):
        first = record if first is None else first
        values = [value_in(record, path) for path in paths]
        seen.update(path for path, value in zip(paths, values, strict=True) if value is not _ABSENT)
        kept, wanted = values[: len(columns.settings)], values[len(columns.settings) :]
        if [*map(label_in, wanted)] != [*columns.only.values()]:
            continue
        bad.read(file, 1)
        if fault := columns.fault(record):
            bad.add(file, fault, f"line {number:,}")
        else:
            log.lines.append(number)
            for column, value in zip(log.values.values(), kept, strict=True):
                column.append(None if value is _ABSENT else value)
    _check_columns(log, columns, seen, first)
    collect(bad)
    return log


def read_cells(uri: str, name: str, columns: LogColumns) -> tuple[pl.DataFrame, int]:
    """The same columns as text, a number or an object as JSON writes it, and how many lines were left out.

    Where no line has a fault Polars reads the file, ten times as fast; else :func:`read_item_log`, which names faults.
    """
    if (sound := _sound_cells(uri, columns)) is not None:
        bad = BadRecords()
        bad.read(redacted(uri), sound.height)
        collect(bad)
        return sound, 0
    log = read_item_log(uri, name, columns)
    labels = {path: [*map(label_in, log.values[path])] for path in columns.labels}
    cells = {path: [*map(_text, values)] for path, values in (log.values | labels).items()}
    return pl.DataFrame(cells, dict.fromkeys(cells, pl.String)), sum(row["num"] for row in log.bad.rows())


def _sound_cells(uri: str, columns: LogColumns) -> pl.DataFrame | None:
    paths = dict.fromkeys([*columns.settings, *columns.only])
    try:
        with opened(uri) as packed:
            blocks = [_block(block, [*paths]) for block in _blocks(unpacked(packed))]
    except (pl.exceptions.PolarsError, UnicodeError):
        return None
    cells = pl.concat(blocks).with_columns(pl.col(*columns.labels, *columns.only).str.strip_chars()) if blocks else None
    if cells is None or any(cells[path].null_count() == cells.height for path in paths):
        return None
    cells = cells.filter(pl.lit(True), *(pl.col(path) == value for path, value in columns.only.items()))
    labels, numbers = cells.select(columns.labels), cells.select(columns.numbers)
    is_label = ~pl.all().is_in([""]) & ~pl.all().str.contains(r"^[\[{]")
    is_number = pl.all().is_in(["true", "false"]) | pl.all().cast(pl.Float64, strict=False).is_finite()
    faulty = [*labels.select(is_label).iter_columns(), *numbers.select(is_number).iter_columns()]
    is_sound = cells.height > 0 and all(column.sum() == cells.height for column in faulty)
    return cells.select(*columns.settings) if is_sound else None


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK_BYTES):
        yield block + file.readline()


def _block(block: bytes, paths: Sequence[str]) -> pl.DataFrame:
    rows = pl.read_ndjson(block, schema=_schema(paths))
    columns = {path: pl.col(path.partition(".")[0]) for path in paths}
    for path in paths:
        for part in path.split(".")[1:]:
            columns[path] = columns[path].struct.field(part)
    return rows.select(**columns)


def _schema(paths: Sequence[str]) -> dict[str, Any]:
    inner: dict[str, list[str]] = {}
    for path in paths:
        head, _, rest = path.partition(".")
        inner.setdefault(head, []).append(rest)
    return {head: pl.Struct(_schema(rests)) if all(rests) else pl.String for head, rests in inner.items()}


def _text(value: Any) -> str | None:
    """Half a surrogate pair, which is no character, becomes a question mark."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return None if value is None else json.dumps(value)


def _check_columns(log: ItemLog, columns: LogColumns, seen: set[str], first: dict[str, Any] | None) -> None:
    reasons = log.bad.reasons(log.name.partition(": ")[2])
    if first is None:
        raise InputError(f"{log.name} has no lines that can be read: {reasons or 'there must be one at least'}")
    for path, setting in (dict.fromkeys(columns.only, columns.setting) | {**columns.settings}).items():
        if path not in seen:
            names = choices(path.rpartition(".")[2], _names_beside(first, path))
            raise InputError(f"{log.name} has no column {path!r}, which {setting} names; it has {names}")
    if not log.lines and log.bad.num_records:
        raise InputError(f"{log.name}: no line can be used: {reasons}")
    if not log.lines:
        wanted = ", ".join(f"{path} {value!r}" for path, value in columns.only.items())
        raise InputError(f"{log.name} has no line with {wanted}, which {columns.setting} asks for")


def first_record(uri: str) -> dict[str, Any]:
    """The first line that is an object; empty if none is."""
    return next((record for _, record in _records(uri, redacted(uri), BadRecords())), {})


def _records(uri: str, file: str, bad: BadRecords) -> Iterator[tuple[int, dict[str, Any]]]:
    with opened(uri) as packed:
        for number, line in enumerate(unpacked(packed), start=1):
            if line.strip():
                place, record, fault = json_line(line, f"line {number:,}")
                if fault:
                    bad.read(file, 1)
                    bad.add(file, fault, place)
                else:
                    yield number, record


def task_of(uri: str) -> str | None:
    """The task of a file that is called as lm-evaluation-harness calls its samples.

    >>> task_of("m1/samples_winogender_male_2026-11-22T10-00-00.000000.jsonl"), task_of("m1/log.jsonl")
    ('winogender_male', None)
    """
    match = _TASK.fullmatch(redacted(uri).rpartition("/")[2])
    return match[1] if match else None


def value_in(record: dict[str, Any], path: str) -> Any:
    """What a record has in a column, which may lie within others; a mark of its own where it has no such column."""
    if path in record:
        return record[path]
    value: Any = record
    for part in path.split("."):
        value = _inner(value, part)
    return value


def _inner(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        return value.get(part, _ABSENT)
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return _ABSENT


def _names_beside(record: dict[str, Any], path: str) -> list[str]:
    """The columns among which the first part of a path that is not there would be."""
    names: list[str] = []
    value: Any = record
    for part in path.split("."):
        names = list(value) if isinstance(value, dict) else names
        value = _inner(value, part)
    return names


def number_in(value: Any) -> float | None:
    """A finite number, true or false, or text that is a finite number; None for anything else.

    >>> [number_in(value) for value in (True, 3, "-25.625", "good", float("nan"), None, [1.0])]
    [1.0, 3.0, -25.625, None, None, None, None]
    """
    if not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def label_in(value: Any) -> str | None:
    """Text that tells things apart, whole numbers as such; None for nothing, and for lists and objects.

    >>> [label_in(value) for value in (" she ", 3, 3.0, True, "", None, ["she"])]
    ['she', '3', '3', 'true', None, None, None]
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        value = int(value) if value.is_integer() else value if math.isfinite(value) else None
    return str(value).strip() or None if isinstance(value, str | int | float) else None
