"""The report of a run: one page that says what was measured, shows it, and keeps the account."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.cluster.stages import StageRecord
from tiltmeter.cluster.work import Failure
from tiltmeter.jobs.report.exports import export_summary, export_tables
from tiltmeter.jobs.report.figures import export_figures
from tiltmeter.jobs.report.grids import count, grid
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Page, Paragraph, Part, Section, render
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.methods import write_methods
from tiltmeter.jobs.report.run_log import run_log
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames, PublishedTable, published_tables
from tiltmeter.jobs.runtime.wording import left_out_sentences, plural
from tiltmeter.storage.store.runs import REPORT


@dataclass(frozen=True)
class Body:
    """What a job's page shows of its tables.

    Attributes:
        facts: short facts under the title, by name.
        lead: what a stranger reads first.
    """

    title: str
    facts: Mapping[str, str]
    lead: Lead
    sections: Sequence[Section]


MakePage = Callable[[Run[Any, Any], Frames], Body]


def write_report(run: Run[Any, Any], make_page: MakePage, changes: Sequence[Section] = ()) -> Lead:
    """Write ``report.html`` into the run directory, with the text on methods and the tables and figures that are asked
    for; returns what the page says first.

    Args:
        run: that has published its tables.
        make_page: what to show of them.
        changes: since the last run that asked the same.
    """
    directory, published = run.directory, published_tables(run.directory)
    frames = Frames({name: table.rows for name, table in published.items()})
    body = make_page(run, frames)
    configuration = (directory.path / "config.yaml").read_text(encoding="utf-8")
    failures = [failure for group in run.runner.failures.values() for failure in group]
    stages, left_out = run.runner.records, left_out_sentences(directory.record.get("left_out", []))
    page = compose(body, published, stages, configuration, failures, changes, left_out)
    directory.write_text(REPORT, render(page))
    write_methods(run, frames)
    export_tables(directory, page, run.config.exports.tables)
    if run.config.exports.summary:
        export_summary(directory, page)
    if run.config.exports.figures:
        export_figures(directory, page)
    return body.lead


def compose(
    body: Body,
    published: Mapping[str, PublishedTable],
    stages: Sequence[StageRecord],
    configuration: str,
    failures: Sequence[Failure] = (),
    changes: Sequence[Section] = (),
    left_out: Sequence[str] = (),
) -> Page:
    """What a job shows, and what stands on every page.

    Args:
        published: the tables by name, those that there are.
        stages: what the run did so far.
        configuration: the resolved config as text.
        failures: units that could not be done; the page says what is missing for them.
        changes: since the last run that asked the same.
        left_out: what was left out of the files that were read, in sentences.
    """
    schemas = {name: table.schema for name, table in published.items()}
    sections = [*body.sections, *changes, *_missing(published), run_log(stages, configuration, schemas)]
    return Page(body.title, body.facts, [*_failed(failures), *body.lead.parts, *_left_out(left_out)], sections)


def _left_out(sentences: Sequence[str]) -> list[Part]:
    return [Part("What was left out of the files", [Bullets(sentences)])] if sentences else []


def _failed(failures: Sequence[Failure]) -> list[Block]:
    if not failures:
        return []
    them = "it" if len(failures) == 1 else "them"
    text = f"{plural(len(failures), 'unit')} failed: this page lacks what needs {them}."
    return [Paragraph(text, "warning"), Bullets([f"{failure.unit.name}: {failure.error}" for failure in failures])]


def _missing(published: Mapping[str, PublishedTable]) -> list[Section]:
    """A section with the rows of each table by their status; none where no table has one."""
    tables = {name: table for name, table in published.items() if "reason" in table.schema.names}
    counts = {name: table.by_status() for name, table in tables.items()}
    if not counts:
        return []
    statuses = ["ok", *sorted({status for numbers in counts.values() for status in numbers} - {"ok"})]
    rows = [
        {"table": name, "rows": sum(numbers.values())} | dict.fromkeys(statuses, 0) | numbers
        for name, numbers in counts.items()
    ]
    by_status = grid("Rows by status.", rows, "table", count("rows"), *(count(status, status) for status in statuses))
    text = "Rows without a result stay in the tables with their reason."
    return [Section("missing", "What is missing", [Paragraph(text), by_status, *_reasons(tables)])]


def _reasons(tables: Mapping[str, PublishedTable]) -> list[Block]:
    """Of each status, the reason that most rows give."""
    sentences = [
        f"{name}, {status}: {reason} ({plural(num, 'row')} of {total:,})"
        for name, table in tables.items()
        for status, reason, num, total in table.commonest_reasons()
    ]
    return [Details("The reason that most of them give", [Bullets(sentences)])] if sentences else []
