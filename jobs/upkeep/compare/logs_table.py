"""The table of `compare` of what the logs hold, and how a page shows it."""

from collections.abc import Iterator, Sequence

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.report.html.elements import Section
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.runtime.table import Table, doc, key, table_from
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.jobs.upkeep.compare.log_systems import System
from tiltmeter.jobs.upkeep.compare.pairs import Pair, reason_counts
from tiltmeter.storage.item_logs import NO_TASK


class LogScores(Table, name="logs"):
    system: str = key("first, second, or as logs.others names it")
    task: str = key("that the items are of, as the log names it")
    score: str = key("of each item, as the log names it")
    format: str = doc("of the files: Inspect, lm-eval, JSON lines or table")
    num_files: int = doc("of the system, all its tasks together", "files")
    num_unfinished: int = doc("of these, logs of runs that failed or did not end", "files")
    num_items: int = doc("of the task", "items")
    num_repeats: int = doc("of all items, with a score or without", "repeats")
    num_unscored: int = doc("of these repeats, without a score: left out, or 0 with logs.unscored=zero", "repeats")
    reasons: str = doc("why they have none, by the log's own words where it has some")
    num_edited: int | None = doc("scores that were changed after the run; null where the log does not tell", "repeats")
    num_replaced: int = doc("records of which a file had a later one for the same item, all tasks together", "records")
    num_missing: int = doc("items that a system lacks with which it is compared", "items")
    matched_by: str = doc("by what its items were found in other logs: item, content; empty where it is not compared")


_COLUMNS = (
    "system task score format num_files num_unfinished num_items num_repeats num_unscored=unscored reasons? "
    "num_edited? num_replaced num_missing matched_by"
)


def logs_table(systems: Sequence[System], pairs: Sequence[Pair]) -> pa.Table:
    """The table ``logs``: a row for each system, task and score."""
    return table_from([row for system in systems for row in _rows(system, pairs)], LogScores)


def _rows(system: System, pairs: Sequence[Pair]) -> Iterator[LogScores]:
    counts = system.rows.group_by("task", "score", maintain_order=True).agg(
        num_items=pl.col("item").n_unique(),
        num_repeats=pl.len(),
        num_unscored=pl.col("reason").count(),
        num_edited=pl.when(pl.col("edited").count() > 0).then(pl.col("edited").sum()),
        reasons=pl.col("reason").drop_nulls(),
    )
    for row in counts.to_dicts():
        tasks, score = (row["task"], NO_TASK), row["score"]
        of_it = [pair for pair in pairs if pair.task in tasks and pair.score == score and system.name in pair[2:4]]
        row["reasons"] = listed([f"{num:,} {reason}" for reason, num in reason_counts(row["reasons"]).items()])
        yield LogScores(
            system=system.name,
            format=system.logs[0].format,
            num_files=len(system.logs),
            num_unfinished=sum(not log.is_complete for log in system.logs),
            num_replaced=sum(log.num_replaced for log in system.logs),
            num_missing=max((pair.num_missing[pair.second == system.name] for pair in of_it), default=0),
            matched_by=listed(sorted({pair.matched_by for pair in of_it})),
            **row,
        )


def logs_section(logs: pl.DataFrame, unscored: str) -> Section:
    """What the logs hold; arguments: the table, and ``logs.unscored``."""
    unscored = "count as 0" if unscored == "zero" else "are left out"
    caption = f"What the logs hold. Items that one of the logs lacks are left out; repeats without a score {unscored}."
    return Section("logs", "Logs", [Show(LogScores, caption, _COLUMNS).grid(logs)])
