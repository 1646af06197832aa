"""The report of a run: one page that says what was measured, shows it, and keeps the account."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.cluster.stages import StageRecord
from tiltmeter.cluster.work import Failure
from tiltmeter.jobs.report.html.elements import Block, Bullets, Page, Paragraph, Part, Section, render
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.missing import missing_results
from tiltmeter.jobs.report.run_log import run_log
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames, PublishedTable, published_tables
from tiltmeter.jobs.runtime.wording import left_out_sentences, plural


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
    """Write ``report.html`` into the run directory; returns what the page says first.

    Args:
        run: that has published its tables.
        make_page: what to show of them.
        changes: since the last run that asked the same.
    """
    directory, published = run.directory, published_tables(run.directory)
    body = make_page(run, Frames({name: table.rows for name, table in published.items()}))
    configuration = (directory.path / "config.yaml").read_text(encoding="utf-8")
    failures = [failure for group in run.runner.failures.values() for failure in group]
    stages, left_out = run.runner.records, left_out_sentences(directory.record.get("left_out", []))
    page = compose(body, published, stages, configuration, failures, changes, left_out)
    directory.write_text("report.html", render(page))
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
    sections = [*body.sections, *changes, *missing_results(published), run_log(stages, configuration, schemas)]
    return Page(body.title, body.facts, [*_failed(failures), *body.lead.parts, *_left_out(left_out)], sections)


def _left_out(sentences: Sequence[str]) -> list[Part]:
    return [Part("What was left out of the files", [Bullets(sentences)])] if sentences else []


def _failed(failures: Sequence[Failure]) -> list[Block]:
    if not failures:
        return []
    them = "it" if len(failures) == 1 else "them"
    text = f"{plural(len(failures), 'unit')} failed: this page lacks what needs {them}."
    return [Paragraph(text, "warning"), Bullets([f"{failure.unit.name}: {failure.error}" for failure in failures])]
