"""What the logs of one system have: a number for each repeat of an item, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from tiltmeter.jobs.runtime.wording import listed, plural, verb
from tiltmeter.jobs.upkeep.compare.log_settings import Logs
from tiltmeter.storage.corpora.sources import FoundFile, find_files
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.item_logs import ScoreLog, is_log, read_scores

_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_REASONS = {"N": "no answer", "NaN": "NaN"}


@dataclass(frozen=True)
class System:
    """One system.

    Attributes:
        name, setting: what it is called, and the setting that names its files.
        logs: what was read of each file.
        rows: a row for each repeat of an item and score: ``task``, ``item``, ``repeat``, ``content``, ``cluster``,
            ``score``, ``value`` (null where it has none), ``reason`` why not, and ``edited``.
    """

    name: str
    setting: str
    files: Sequence[FoundFile]
    logs: Sequence[ScoreLog]
    rows: pl.DataFrame

    @property
    def num_left_out(self) -> int:
        """Lines that could not be read."""
        return sum(log.num_left_out for log in self.logs)


def read_system(name: str, paths: Sequence[str], logs: Logs) -> System:
    """The scores of a system; of a folder what is no log is passed over.

    Args:
        name: such as ``first``, or one of ``logs.others``.

    Raises:
        InputError: if a path names no log, a file can't be read or lacks a column, files are of several formats or
            versions of a task, or an item has several scores.
    """
    setting = f"logs.{name}" if name in ("first", "second") else f"logs.others.{name}"
    files = [
        file
        for path in paths
        for file in find_files([path], setting)
        if file.is_named or "*" in path or is_log(file.uri)
    ]
    if not files:
        raise InputError(
            f"{setting}: no file of {listed(paths)} is a log by its ending; name it itself, or by a wildcard"
        )
    return _read(name, setting, files, logs)


def with_contents(system: System, logs: Logs) -> System:
    """The same with whole contents of items, of which summaries of Inspect have the beginning only."""
    if system.logs[0].format != "Inspect" or logs.match == "content":
        return system
    return _read(system.name, system.setting, system.files, logs, whole=True)


def _read(name: str, setting: str, files: Sequence[FoundFile], logs: Logs, *, whole: bool = False) -> System:
    columns = replace(logs.columns, whole=True) if whole else logs.columns
    read = [read_scores(file.uri, setting, columns) for file in files]
    if len(formats := {log.format: file for log, file in zip(read, files, strict=True)}) > 1:
        kinds = ", ".join(f"{kind} ({file.redacted['name']})" for kind, file in formats.items())
        raise InputError(f"{setting}: has files of several formats: {kinds}; give a system files of one")
    for column in ("repeat", "task"):
        if getattr(logs, column) and read[0].is_run:
            raise InputError(f"logs.{column}: logs of {read[0].format} tell it themselves ({setting}); leave it out")
    of_file = [
        log.rows.with_columns(pl.col("repeat").fill_null("").hash(number if log.is_run else 0))
        for number, log in enumerate(read)
    ]
    rows = pl.concat(of_file)
    has_sample = pl.col("sample").is_not_null()
    # A run that was tried again keeps the samples of the failed one in its own log, too.
    rows = rows.filter(~has_sample | pl.struct("sample", "score").is_first_distinct()).drop("sample")
    _check_names(read, setting, logs)
    _check_repeated(rows, setting, logs)
    return System(name, setting, files, [log._replace(rows=log.rows.clear()) for log in read], _scored(rows, logs))


def _scored(rows: pl.DataFrame, logs: Logs) -> pl.DataFrame:
    text = pl.col("value").str.strip_chars()
    number = text.cast(pl.Float64, strict=False)
    value = pl.coalesce(
        text.replace_strict(_VALUES | logs.values, default=None, return_dtype=pl.Float64),
        text.str.to_lowercase().replace_strict(_WORDS, default=None, return_dtype=pl.Float64),
        pl.when(number.is_finite()).then(number),
    )
    if logs.cluster:
        value = pl.when(pl.col("cluster").is_not_null()).then(value)
    none = text.replace_strict(_REASONS, default="no number", return_dtype=pl.String)
    none = pl.when(text.is_null()).then(pl.lit("no score")).otherwise(none)
    rows = rows.with_columns(value=value, reason=pl.when(value.is_null()).then(pl.coalesce("reason", none)))
    return rows.with_columns(pl.col("value").fill_null(0.0)) if logs.unscored == "zero" else rows


def _check_repeated(rows: pl.DataFrame, setting: str, logs: Logs) -> None:
    key = pl.struct("task", "item", "score", "repeat")
    if rows.select(key.n_unique()).item() < rows.height:
        repeated = rows.filter(key.is_duplicated())["item"].unique().sort().to_list()
        names = f"{plural(len(repeated), 'item')} {verb(len(repeated), 'come')} more than once, such as {repeated[0]!r}"
        advice = (
            "give each item one score, tell its repeats apart by logs.repeat, choose lines by logs.only, or another"
        )
        raise InputError(f"{setting}: {names}; {advice} logs.item than {logs.item or 'the usual one'}")


def _check_names(read: Sequence[ScoreLog], setting: str, logs: Logs) -> None:
    """That scores are there that are asked for, and every task is of one version and model."""
    known = list(dict.fromkeys(score for log in read for score in log.known))
    for name in logs.score:
        if not any(replace(logs.columns, score=[name]).takes(score) for score in known):
            raise InputError(f"{setting}: has no score {name!r}, which logs.score names; it has {choices(name, known)}")
    tasks = pl.concat([log.rows.select("task", version=pl.lit(log.version, pl.String)).head(1) for log in read])
    for (task,), of_task in tasks.drop_nulls().partition_by("task", as_dict=True, maintain_order=True).items():
        if len(versions := of_task["version"].unique().sort().to_list()) > 1:
            mixed = f"has logs of task {task!r} of several versions or models: {', '.join(versions)}"
            raise InputError(f"{setting}: {mixed}; give a system files of one")
