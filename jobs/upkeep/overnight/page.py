"""The page of `overnight`."""

from typing import Any

import polars as pl

from tiltmeter.jobs.report.changes import changes_of
from tiltmeter.jobs.report.grids import count, grid, number
from tiltmeter.jobs.report.html.elements import Block, Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames


def page(_: Run[Any, Any], frames: Frames) -> Body:
    """How each job ended, and what moved since it last succeeded."""
    jobs, changes = frames["jobs"], frames["changes"].partition_by("name", maintain_order=True, as_dict=True)
    outcome = Paragraph(_outcome(jobs), "plain" if (jobs["status"] == "ok").all() else "warning")
    return Body(
        "What the night brought",
        {"job": "overnight", "jobs": f"{jobs.height}"},
        Lead([Paragraph(_ASKED)], [outcome]),
        [
            Section("jobs", "The jobs", [_by_job(jobs), *_reasons(jobs)]),
            *(changes_of(str(name), rows) for (name,), rows in changes.items()),
        ],
    )


_ASKED = "Did the jobs of the list succeed, and what moved since each of them last did?"


def _outcome(jobs: pl.DataFrame) -> str:
    num_ok = (jobs["status"] == "ok").sum()
    others = ", ".join(f"{row['name']} ({row['status']})" for row in jobs.filter(pl.col("status") != "ok").to_dicts())
    moved = int(jobs["num_beyond"].sum() or 0)
    ended = f"{num_ok} of {jobs.height} jobs succeeded" + (f"; not: {others}" if others else "")
    return f"{ended}. {moved:,} numbers moved beyond their intervals since the jobs last succeeded."


def _by_job(jobs: pl.DataFrame) -> Grid:
    return grid(
        "In the order of the list; each has a report of its own in runs/<name>.",
        jobs,
        "name",
        "job",
        "status",
        count("num_done", "units done"),
        count("num_reused"),
        count("num_failed"),
        number("seconds", "minutes", 1, scale=1 / 60),
        "compared_with",
        count("num_changes"),
        count("num_beyond", "beyond intervals"),
    )


def _reasons(jobs: pl.DataFrame) -> list[Block]:
    failed = jobs.filter(pl.col("status") != "ok")
    return [Paragraph(f"{row['name']}: {row['reason']}", "warning") for row in failed.to_dicts()]
