"""The report of a run: one page that says what was measured, shows it, and keeps the account."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import StageRecord
from tiltmeter.cluster.workers import Failure
from tiltmeter.jobs.changes.history import history
from tiltmeter.jobs.changes.past_runs import run_under_way
from tiltmeter.jobs.changes.wording import several
from tiltmeter.jobs.report.changes import changes_since
from tiltmeter.jobs.report.findings import Frames
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Grid, Page, Paragraph, Section, render
from tiltmeter.jobs.report.run_log import account
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import PublishedTable, ReadWhenAsked, published_tables


@dataclass(frozen=True)
class Body:
    """What a job's page shows of its tables.

    Attributes:
        facts: short facts under the title, by name.
        lead: what was found, in sentences.
        large_tables: schemas of tables that are too large to be shown.
    """

    title: str
    facts: Mapping[str, str]
    lead: Sequence[Block]
    sections: Sequence[Section]
    large_tables: Mapping[str, pa.Schema] = field(default_factory=dict)


def write_report(
    run: Run[CommonConfig, Any],
    body: Callable[[Frames], Body],
    large_tables: Sequence[str] = (),
    rows: Mapping[str, pl.Expr] | None = None,
) -> None:
    """Write ``report.html`` into the run directory.

    Args:
        body: what to show of the tables that the run has published; it reads each when it asks for it.
        large_tables: those that it is not given.
        rows: of some tables, which rows it is given.
    """
    directory = run.directory
    published = published_tables(directory)
    shown = {name: table.rows for name, table in published.items() if name not in large_tables}
    chosen = {name: shown[name].filter(condition) for name, condition in (rows or {}).items() if name in shown}
    frames = ReadWhenAsked(shown | chosen)
    configuration = (directory.path / "config.yaml").read_text(encoding="utf-8")
    failures = [failure for group in run.runner.failures.values() for failure in group]
    page = _page(body(frames), published, run.runner.records, configuration, failures, _changed(run))
    directory.write_text("report.html", render(page))


def compose(
    body: Callable[[Frames], Body],
    published: Mapping[str, pa.Table],
    stages: Sequence[StageRecord],
    configuration: str,
    failures: Sequence[Failure] = (),
) -> Page:
    """The page of a run whose tables are in memory.

    Args:
        body: what to show of the tables.
        published: the tables by name, those that there are.
        stages: what the run did so far.
        configuration: the resolved config as text.
        failures: units that could not be done; the page says what is missing for them.
    """
    shown = body({name: pl.DataFrame(table) for name, table in published.items()})
    tables = {name: PublishedTable.of(table) for name, table in published.items()}
    return _page(shown, tables, stages, configuration, failures)


def _page(
    body: Body,
    published: Mapping[str, PublishedTable],
    stages: Sequence[StageRecord],
    configuration: str,
    failures: Sequence[Failure],
    changed: Sequence[Section] = (),
) -> Page:
    schemas = {name: table.schema for name, table in published.items()} | dict(body.large_tables)
    return Page(
        body.title,
        body.facts,
        [*_failed(failures), *body.lead],
        [*body.sections, *changed, *_missing(published), account(stages, configuration, schemas)],
    )


def _changed(run: Run[CommonConfig, Any]) -> list[Section]:
    """What changed since the last run that asked the same; nothing for jobs that no later run looks back at."""
    entry, store = run.runner.entry, run.runner.store
    if entry is None:
        return []
    found = history(store, entry.run, run_under_way(run.directory))
    return [changes_since(pl.DataFrame(found.changes), found.num_tables, found.since)]


def _failed(failures: Sequence[Failure]) -> list[Block]:
    if not failures:
        return []
    text = "Units failed, and with them what needs them: what they belong to is missing from this page."
    return [Paragraph(text, "warning"), Bullets([f"{failure.unit.name}: {failure.error}" for failure in failures])]


def _missing(published: Mapping[str, PublishedTable]) -> list[Section]:
    """Which rows have no result."""
    counted = {name: table.by_status() for name, table in published.items() if "reason" in table.schema.names}
    if not counted:
        return []
    statuses = sorted({status for counts in counted.values() for status in counts} | {"ok"}, key=_ok_first)
    grid = Grid(
        "Rows by status.",
        ["table", "rows", *statuses],
        [
            [name, f"{sum(counts.values()):,}", *(f"{counts.get(status, 0):,}" for status in statuses)]
            for name, counts in counted.items()
        ],
        numeric=["rows", *statuses],
    )
    text = "Rows without a result stay in the tables with their reason."
    return [Section("missing", "What is missing", [Paragraph(text), grid, *_reasons(published)])]


def _reasons(published: Mapping[str, PublishedTable]) -> list[Block]:
    """Of each status, the reason that most rows give."""
    told = [
        f"{name}, {status}: {reason} ({several(num, 'row')} of {total:,})"
        for name, table in published.items()
        if "reason" in table.schema.names
        for status, reason, num, total in table.commonest_reasons()
    ]
    return [Details("The reason that most of them give", [Bullets(told)])] if told else []


def _ok_first(status: str) -> tuple[bool, str]:
    return status != "ok", status
