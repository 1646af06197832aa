"""The page of `compare`."""

from dataclasses import replace
from typing import Any

from tiltmeter.jobs.changes.comparing import common_tables
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.changes.sections import change_findings, change_sections, judgements
from tiltmeter.jobs.report.grids import grid
from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.upkeep.compare.gates_page import with_gates
from tiltmeter.jobs.upkeep.compare.logs_page import page_of_systems
from tiltmeter.jobs.upkeep.compare.logs_table import logs_section


def page(run: Run[Any, Any], frames: Frames) -> Body:
    """What changed from an earlier run to a later one, or how two systems differ."""
    if "systems" in frames:
        body = page_of_systems(run.config.logs, frames["systems"])
        body = replace(body, sections=[*body.sections, logs_section(frames["logs"], run.config.logs.unscored)])
        return with_gates(body, frames["gates"]) if "gates" in frames else body
    before, after, changes = run.sources.before, run.sources.after, frames["changes"]
    findings = change_findings(changes, len(common_tables(before, after)))
    judged = [Paragraph(sentence)] if (sentence := judgements(frames["differences"])) else []
    return Body(
        f"What changed: {_jobs(before, after)}",
        {"job": "compare", "earlier": before.moment, "later": after.moment},
        Lead(_asked(before, after), [Bullets(findings)], [*judged, Paragraph(_HOW_SURE)]),
        change_sections(changes, frames["differences"]),
    )


_HOW_SURE = (
    "A number moved if its difference is more than chance makes, over the replicas or resamples of both runs: one by "
    "one where both draw what they share alike, so that only what differs between them counts. The p-values are "
    "corrected for all numbers of the two runs (Benjamini and Hochberg): of those that are said to have moved, at "
    "most one in twenty is expected not to have, and some more where the corpora have no article in common. A number "
    "without such draws moved if it lies outside the interval that the earlier run gave it, widened to hold that "
    "run's own number; had all that is random been drawn anew and nothing else changed, about one in six would. Where "
    "inputs, settings and versions are the same, numbers don't move at all."
)


def _jobs(before: PastRun, after: PastRun) -> str:
    return after.job if before.job == after.job else f"{before.job} and {after.job}"


def _asked(before: PastRun, after: PastRun) -> list[Block]:
    runs = [
        {"run": side, "job": run.job, "started": run.moment, "directory": run.name}
        for side, run in (("earlier", before), ("later", after))
    ]
    note = "The runs are of different jobs: of their tables, those that both have are compared."
    return [
        Paragraph("Which numbers, rows, settings, inputs and versions differ in the later of two runs?"),
        grid("", runs, "run", "job", "started", "directory"),
        *([Paragraph(note, "note")] if before.job != after.job else []),
    ]
