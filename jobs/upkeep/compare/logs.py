"""Logs of evaluation harnesses, item by item: two systems on the same items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, interval, number, text
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.jobs.runtime.wording import plural, verb
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg
from tiltmeter.operators.statistics.paired_items import paired_items
from tiltmeter.operators.statistics.units import Units, each, units_of
from tiltmeter.storage.corpora.sources import FoundFile, find_files
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.item_logs import ItemLog, LogColumns, label_in, number_in, read_item_log

_Path = Annotated[str, Field(min_length=1)]

SYSTEMS = pa.schema(
    [
        text("score", "column of the scores", key=True),
        count("num_items", "that both systems have a score for", "items"),
        count("num_clusters", "clusters of them, which are the units; items, where they have none", "clusters"),
        number("first", "mean score of the first system"),
        number("second", "mean score of the second system"),
        number("difference", "second less first"),
        *interval("difference", "interval of difference, paired by item, over clusters"),
        number(
            "p",
            "two-sided, by signs of clusters: either system is as likely to be ahead in each; null if under 6 differ",
        ),
        number("q", "p adjusted for the number of scores, by Benjamini and Hochberg"),
        count("first_only", "items that the first system alone gets right; null unless all scores are 0 or 1", "items"),
        count("second_only", "items that the second system alone gets right", "items"),
        number("mcnemar_p", "p, which is that of McNemar's exact test where all scores are 0 or 1; null elsewhere"),
        STATUS,
        REASON,
    ]
)


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class Logs:
    """Logs of two systems, as JSON lines; a column within others is named with dots, such as ``doc.template``.

    Attributes:
        first, second: files of each system; folders and wildcards too.
        item: column that tells items apart.
        score: columns of scores, which are numbers, true or false.
        cluster: column of what items share, such as their template; None: every item stands for itself.
        only: by column, the value of the lines that are read, where a log has several lines for each item.
        level: nominal coverage of the intervals.
    """

    first: tuple[_Path, ...] = ()
    second: tuple[_Path, ...] = ()
    item: str = "doc_id"
    score: Annotated[tuple[str, ...], Field(min_length=1)] = ("acc",)
    cluster: str | None = None
    only: dict[str, str] = Field(default_factory=dict)
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95

    @pydantic.field_validator("first", "second", "score", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else () if value is None else value

    @pydantic.field_validator("only", mode="before")
    @classmethod
    def _all_if_none(cls, value: Any) -> Any:
        return {} if value is None else value

    @property
    def columns(self) -> LogColumns:
        """What is read of each line."""
        settings = {self.item: "logs.item"} | ({self.cluster: "logs.cluster"} if self.cluster else {})
        return LogColumns(settings | dict.fromkeys(self.score, "logs.score"), self.only)

    @property
    def is_set(self) -> bool:
        """Whether there are logs to compare."""
        return bool(self.first or self.second)


@dataclass(frozen=True)
class TwoLogs:
    """The files of both systems."""

    first: Sequence[FoundFile]
    second: Sequence[FoundFile]

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        sides = {"first": self.first, "second": self.second}
        return {side: {"files": [file.redacted for file in files]} for side, files in sides.items()}


def find_logs(logs: Logs) -> TwoLogs:
    """The files of both systems.

    Raises:
        InputError: if a path names none.
    """
    return TwoLogs(find_files(logs.first, "logs.first"), find_files(logs.second, "logs.second"))


def compare_logs(logs: Logs, files: TwoLogs) -> pa.Table:
    """The table ``systems``: a row for each score.

    Raises:
        InputError: if a file is not of JSON lines or lacks a column; an item comes twice, or one of the systems lacks
            it; a score is no number.
    """
    first = _read(files.first, "first", logs)
    second = _read(files.second, "second", logs)
    _check_items(first, second)
    both = first.join(second.drop("cluster"), on="item", suffix="_second", maintain_order="left")
    clusters = both["cluster"].to_list()
    units = units_of(clusters, f"value of {logs.cluster}") if logs.cluster else each(both.height, "item")
    rows = [_row(both, units, logs, place) for place in range(len(logs.score))]
    q = benjamini_hochberg(np.array([row["p"] for row in rows], dtype=np.float64))
    return table_of([row | {"q": float(value)} for row, value in zip(rows, q, strict=True)], SYSTEMS)


# --- reading --------------------------------------------------------------------------------------------------------


def _read(files: Sequence[FoundFile], side: str, logs: Logs) -> pl.DataFrame:
    """Columns ``item``, ``cluster`` and ``score_<number>`` of one system, each item once."""
    rows = pl.concat([_rows(file, side, logs) for file in files])
    if repeated := rows.filter(pl.col("item").is_duplicated())["item"].unique().sort().to_list():
        names = f"{plural(len(repeated), 'item')} {verb(len(repeated), 'come')} more than once, such as {repeated[0]!r}"
        advice = f"give each item one score, choose lines by logs.only, or another logs.item than {logs.item}"
        raise InputError(f"logs.{side}: {names}; {advice}")
    return rows


def _rows(file: FoundFile, side: str, logs: Logs) -> pl.DataFrame:
    log = read_item_log(file.uri, f"logs.{side}", logs.columns)
    columns = {"item": _labels(log, "item", logs.item)}
    columns["cluster"] = _labels(log, "cluster", logs.cluster) if logs.cluster else [None] * len(log.lines)
    columns |= {f"score_{place}": _scores(log, name) for place, name in enumerate(logs.score)}
    kinds = dict.fromkeys(columns, pl.Float64) | {"item": pl.String, "cluster": pl.String}
    return pl.DataFrame(columns, schema=kinds)


def _labels(log: ItemLog, setting: str, path: str) -> list[Any]:
    labels = [label_in(value) for value in log.values[path]]
    if None in labels:
        raise InputError(f"{log.where(labels.index(None))}: has no {path}, which logs.{setting} names")
    return labels


def _scores(log: ItemLog, path: str) -> list[Any]:
    values = log.values[path]
    numbers = [number_in(value) for value in values]
    if None in numbers:
        row = numbers.index(None)
        raise InputError(f"{log.where(row)}: has no number in {path}, which logs.score names: it has {values[row]!r}")
    return numbers


def _check_items(first: pl.DataFrame, second: pl.DataFrame) -> None:
    for one, other, names in ((first, second, ("second", "first")), (second, first, ("first", "second"))):
        missing = one.join(other, on="item", how="anti")["item"]
        if missing.len():
            lacks = f"lacks {plural(missing.len(), 'item')} of logs.{names[1]}, such as {missing[0]!r}"
            raise InputError(f"logs.{names[0]}: {lacks}; only systems on the same items can be compared")


# --- comparing ------------------------------------------------------------------------------------------------------


def _row(both: pl.DataFrame, units: Units, logs: Logs, place: int) -> Row:
    first, second = (both[f"score_{place}{ending}"].to_numpy() for ending in ("", "_second"))
    comparison = paired_items(first, second, units, logs.level)
    return {
        "score": logs.score[place],
        "num_items": first.size,
        "num_clusters": units.num,
        "first": float(first.mean()),
        "second": float(second.mean()),
        "difference": comparison.difference.value,
        "difference_low": comparison.difference.low,
        "difference_high": comparison.difference.high,
        "p": comparison.difference.p,
        "first_only": comparison.first_only,
        "second_only": comparison.second_only,
        "mcnemar_p": comparison.mcnemar_p,
    } | (failed("too_few_units", comparison.difference.reason) if comparison.difference.too_few else OK)
