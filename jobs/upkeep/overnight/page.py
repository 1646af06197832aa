"""The page of `overnight`."""

from typing import Any

import polars as pl

from tiltmeter.jobs.report.changes import changes_of
from tiltmeter.jobs.report.html.elements import Block, Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames

_NUMBERS = ["units done", "reused", "failed", "minutes", "changes", "beyond intervals"]


def page(_: Run[Any, Any], frames: Frames) -> Body:
    """How each job ended, and what moved since it last succeeded."""
    jobs = frames["jobs"]
    outcome = Paragraph(_outcome(jobs), "plain" if (jobs["status"] == "ok").all() else "warning")
    return Body(
        "What the night brought",
        {"job": "overnight", "jobs": f"{jobs.height}"},
        Lead([Paragraph(_ASKED)], [outcome]),
        [Section("jobs", "The jobs", [_grid(jobs), *_reasons(jobs)]), *_changes(frames["changes"])],
    )


_ASKED = "Did the jobs of the list succeed, and what moved since each of them last did?"


def _changes(changes: pl.DataFrame) -> list[Section]:
    """Of each job in which something changed."""
    by_name = changes.partition_by("name", maintain_order=True, as_dict=True)
    return [changes_of(str(name), rows) for (name,), rows in by_name.items()]


def _outcome(jobs: pl.DataFrame) -> str:
    num_ok = (jobs["status"] == "ok").sum()
    others = ", ".join(f"{row['name']} ({row['status']})" for row in jobs.filter(pl.col("status") != "ok").to_dicts())
    moved = int(jobs["num_beyond"].sum() or 0)
    ended = f"{num_ok} of {jobs.height} jobs succeeded" + (f"; not: {others}" if others else "")
    return f"{ended}. {moved:,} numbers moved beyond their intervals since the jobs last succeeded."


def _grid(jobs: pl.DataFrame) -> Grid:
    rows = [
        [
            row["name"],
            row["job"],
            row["status"],
            *(f"{row[f'num_{name}']:,}" for name in ("done", "reused", "failed")),
            f"{row['seconds'] / 60:,.1f}",
            row["compared_with"] or "–",
            *("–" if row[name] is None else f"{row[name]:,}" for name in ("num_changes", "num_beyond")),
        ]
        for row in jobs.to_dicts()
    ]
    headings = ["name", "job", "status", *_NUMBERS[:4], "compared with", *_NUMBERS[4:]]
    return Grid("In the order of the list; each has a report of its own in runs/<name>.", headings, rows, _NUMBERS)


def _reasons(jobs: pl.DataFrame) -> list[Block]:
    failed = jobs.filter(pl.col("status") != "ok")
    return [Paragraph(f"{row['name']}: {row['reason']}", "warning") for row in failed.to_dicts()]
