"""Logs of evaluation harnesses, item by item: two systems on the same items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import polars as pl
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.settings.fields import Words
from tiltmeter.jobs.runtime.wording import plural, verb
from tiltmeter.jobs.upkeep.compare.pairs import Pair
from tiltmeter.jobs.upkeep.compare.systems import Inference
from tiltmeter.storage.corpora.sources import FoundFile, find_files
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.item_logs import ItemLog, LogColumns, label_in, number_in, read_item_log, task_of

_NO_TASK = "items"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class Logs(Inference):
    """Logs of two systems, as JSON lines; a column within others is named with dots, such as ``doc.template``."""

    first: Words = ()
    second: Words = ()
    item: str = "doc_id"
    score: Annotated[tuple[str, ...], Field(min_length=1)] = ("acc",)
    only: dict[str, str] = Field(default_factory=dict)

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
        settings |= dict.fromkeys(self.score, "logs.score")
        labels = [self.item, *([self.cluster] if self.cluster else [])]
        return LogColumns(settings, self.only, labels=labels, numbers=self.score)

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
        InputError: if a path names none, or as :func:`pairs_of` of one system.
    """
    files = TwoLogs(find_files(logs.first, "logs.first"), find_files(logs.second, "logs.second"))
    for side in ("first", "second"):
        _read(getattr(files, side), side, logs)
    return files


def pairs_of(logs: Logs, files: TwoLogs) -> list[Pair]:
    """What is compared: a pair for each task and score.

    Raises:
        InputError: if a file lacks a column, an item comes twice, or one of the systems lacks more items than lines of
            its files were left out.
    """
    first, second = (_read(side, name, logs) for side, name in ((files.first, "first"), (files.second, "second")))
    first, second = _of_one_task(first, second)
    _check_items(first, second)
    both = first.rows.join(second.rows.drop("cluster"), on=["task", "item"], suffix="_second", maintain_order="left")
    return [
        Pair(task, score, "first", "second", _items(of_task, place))
        for (task,), of_task in both.partition_by("task", maintain_order=True, as_dict=True).items()
        for place, score in enumerate(logs.score)
    ]


def _items(both: pl.DataFrame, place: int) -> pl.DataFrame:
    """The columns of :data:`.pairs.ITEMS`: every line is one repeat."""
    scores = {"first": pl.col(f"score_{place}"), "second": pl.col(f"score_{place}_second")}
    variances = {f"{side}_variance": pl.lit(None, pl.Float64) for side in scores}
    repeats = {f"{side}_repeats": pl.lit(1, pl.Int32) for side in scores}
    return both.select("item", "cluster", **scores, **variances, **repeats)


# --- reading --------------------------------------------------------------------------------------------------------


class _System(NamedTuple):
    """Attributes:
    rows: columns ``task``, ``item``, ``cluster`` and ``score_<number>``, each item of a task once.
    num_left_out: lines that could not be read.
    """

    rows: pl.DataFrame
    num_left_out: int


def _read(files: Sequence[FoundFile], side: str, logs: Logs) -> _System:
    read = [read_item_log(file.uri, f"logs.{side}", logs.columns) for file in files]
    rows = pl.concat([_rows(log, task_of(file.uri), logs) for log, file in zip(read, files, strict=True)])
    if repeated := rows.filter(pl.struct("task", "item").is_duplicated())["item"].unique().sort().to_list():
        names = f"{plural(len(repeated), 'item')} {verb(len(repeated), 'come')} more than once, such as {repeated[0]!r}"
        advice = f"give each item one score, choose lines by logs.only, or another logs.item than {logs.item}"
        raise InputError(f"logs.{side}: {names}; {advice}")
    return _System(rows, sum(row["num"] for log in read for row in log.bad.rows()))


def _rows(log: ItemLog, task: str | None, logs: Logs) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {"task": [task or _NO_TASK] * len(log.lines)}
    columns |= {"item": [label_in(value) for value in log.values[logs.item]], "cluster": [None] * len(log.lines)}
    columns |= {"cluster": [label_in(value) for value in log.values[logs.cluster]]} if logs.cluster else {}
    columns |= {
        f"score_{place}": [number_in(value) for value in log.values[name]] for place, name in enumerate(logs.score)
    }
    kinds = dict.fromkeys(columns, pl.Float64) | dict.fromkeys(("task", "item", "cluster"), pl.String)
    return pl.DataFrame(columns, schema=kinds)


def _of_one_task(first: _System, second: _System) -> tuple[_System, _System]:
    """Systems whose files are of one task each are compared whatever the files are called."""
    names = [side.rows["task"].unique().to_list() for side in (first, second)]
    if names[0] == names[1] or any(len(tasks) > 1 for tasks in names):
        return first, second
    alike = pl.lit(_NO_TASK).alias("task")
    return first._replace(rows=first.rows.with_columns(alike)), second._replace(rows=second.rows.with_columns(alike))


def _check_items(first: _System, second: _System) -> None:
    """That each system has the items of the other, but for those of lines that were left out."""
    for one, other, names in ((first, second, ("second", "first")), (second, first, ("first", "second"))):
        missing = one.rows.join(other.rows, on=["task", "item"], how="anti")["item"]
        if missing.len() > other.num_left_out:
            lacks = f"lacks {plural(missing.len(), 'item')} of logs.{names[1]}, such as {missing[0]!r}"
            raise InputError(f"logs.{names[0]}: {lacks}; only systems on the same items can be compared")
