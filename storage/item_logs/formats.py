"""Which format a log has, by its content, and its scores."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

import polars as pl
import polars.selectors as cs

from tiltmeter.storage.bad_records import collect, collected
from tiltmeter.storage.corpora.packed import unpacked
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.item_logs import inspect_logs
from tiltmeter.storage.item_logs.harness import is_harness, read_harness
from tiltmeter.storage.item_logs.lines import LogColumns, first_record, read_cells, task_of
from tiltmeter.storage.item_logs.scores import NO_TASK, ScoreColumns, ScoreLog, score_rows
from tiltmeter.storage.records import check_columns, look_through, read_records
from tiltmeter.storage.records.cells import NEEDED
from tiltmeter.storage.records.objects import is_json

_HEAD_BYTES = 2**12
_ZIP = b"PK"
_INSPECT = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:')
_SUFFIXES = {".eval", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow"}


def is_log(uri: str) -> bool:
    """Whether a file of a folder is a log: by its ending, or of ``.json`` by its content, as results are JSON, too."""
    suffixes = PurePosixPath(redacted(uri)).suffixes[-2:]
    return bool(_SUFFIXES.intersection(suffixes)) or (".json" in suffixes and bool(_INSPECT.match(_head(uri))))


def _head(uri: str) -> bytes:
    with opened(uri) as file:
        return unpacked(file).read(_HEAD_BYTES)


def read_scores(uri: str, name: str, wanted: ScoreColumns) -> ScoreLog:
    """The scores of a log: an ``.eval`` or ``.json`` of Inspect, JSON lines, or a table.

    Args:
        name: what names the file, such as ``logs.first``, for messages.
        wanted: what is read of it.

    Raises:
        InputError: if it can't be read, or lacks a column or every score.
    """
    head = _head(uri)
    if head.startswith(_ZIP) or redacted(uri).endswith(".eval"):
        return inspect_logs.read_archive(uri, name, wanted)
    if _INSPECT.match(head):
        return inspect_logs.read_json(uri, name, wanted)
    if not is_json(head, redacted(uri)) or head.lstrip().startswith(b"["):
        return _table(uri, name, wanted)
    first = first_record(uri)
    return read_harness(uri, name, wanted, first) if is_harness(first) else _lines(uri, name, wanted)


def _lines(uri: str, name: str, wanted: ScoreColumns) -> ScoreLog:
    """Usual columns are those of lm-evaluation-harness before it wrote filters."""
    item, scores = wanted.item or "doc_id", wanted.score or ("acc",)
    settings = wanted.settings(item, scores)
    labels = [path for path in settings if path not in scores]
    columns = LogColumns(settings, wanted.only, labels=labels, numbers=() if wanted.is_mapped else scores)
    cells, num_left_out = read_cells(uri, name, columns)
    return ScoreLog(
        "JSON lines", _rows(cells, uri, item, scores, wanted), scores, is_run=False, num_left_out=num_left_out
    )


def _table(uri: str, name: str, wanted: ScoreColumns) -> ScoreLog:
    item, scores = wanted.item or "item", wanted.score or ("score",)
    settings = dict.fromkeys(wanted.only, "logs.only") | wanted.settings(item, scores)
    for column, setting in settings.items():
        check_columns(uri, [column], f"{setting}, {name}")
    rules = {column: (NEEDED,) for column in settings if column not in scores}
    with collected() as bad:
        look_through(uri, [*settings], name, rules=rules)
    collect(bad)
    rows = read_records(uri, [*settings], rules=rules)
    cells = rows.with_columns(cs.float().cast(pl.String).str.strip_suffix(".0"))
    cells = cells.select(pl.all().cast(pl.String).str.strip_chars())
    cells = cells.filter(pl.lit(True), *(pl.col(column) == value for column, value in wanted.only.items()))
    num_left_out = sum(row["num"] for row in bad.rows() if row["kind"] == "bad")
    return ScoreLog("table", _rows(cells, uri, item, scores, wanted), scores, is_run=False, num_left_out=num_left_out)


def _rows(cells: pl.DataFrame, uri: str, item: str, scores: Sequence[str], wanted: ScoreColumns) -> pl.DataFrame:
    named = {name: column for name in ("cluster", "repeat", "task") if (column := getattr(wanted, name))}
    others = {"task": pl.lit(task_of(uri) or NO_TASK), "item": pl.col(item)}
    others |= {name: pl.col(column) for name, column in named.items()}
    return score_rows(cells, {score: pl.lit(score) for score in scores}, scores, **others)
