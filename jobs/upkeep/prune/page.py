"""The page of `prune`."""

from typing import Any

import polars as pl

from tiltmeter.jobs.report import grids
from tiltmeter.jobs.report.html.elements import Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import number, plural
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames

_MEGABYTE = 1_000_000


def page(run: Run[Any, Any], frames: Frames) -> Body:
    """What the store holds for which runs, and what could go or went."""
    return Body(
        "What the store keeps, and for whom",
        {"job": "prune", "store": run.runner.store.name},
        Lead([Paragraph(_ASKED)], [Paragraph(_outcome(frames["units"]))]),
        [_by_operator(frames["units"]), _runs(frames["runs"])],
    )


_ASKED = "Which units of the store are of runs that are kept, and which are of no run any more?"


def _outcome(units: pl.DataFrame) -> str:
    """What became of the units, in a sentence."""
    kept = f"Kept runs use {_amount(units, 'kept', 'unit')}"
    if "removed" in units["action"]:
        return f"{kept}; {_amount(units, 'removed', 'other')} went."
    if "unused" in units["action"]:
        return f"{kept}; none uses {_amount(units, 'unused', 'other')}: job.remove=true removes what is unused."
    return f"{kept}; there are no others."


def _amount(units: pl.DataFrame, action: str, noun: str) -> str:
    sizes = units.filter(action=action)["num_bytes"]
    return f"{plural(sizes.len(), noun)} ({number(int(sizes.sum()) / _MEGABYTE, 1)} MB)"


def _by_operator(units: pl.DataFrame) -> Section:
    counted = units.group_by("operator", "action").agg(pl.len().alias("num_units"), pl.col("num_bytes").sum())
    by_operator = grids.grid(
        "Units by what made them.",
        counted.sort("operator", "action"),
        "operator",
        "action",
        grids.count("num_units"),
        grids.number("num_bytes", "MB", 1, scale=1 / _MEGABYTE),
    )
    return Section("units", "Units", [by_operator])


def _runs(runs: pl.DataFrame) -> Section:
    text = (
        "Of each series of runs that ask the same, the latest that succeeded are kept (job.keep), with all that came "
        "after. The tables in a run directory stay when its units go; a unit that is asked for again is done again."
    )
    latest_first = grids.grid(
        "Latest first.",
        runs,
        "series",
        grids.text("started", "started (UTC)"),
        "status",
        grids.yes("is_kept", "kept"),
        grids.count("num_units"),
        grids.text("run_dir", "run directory"),
    )
    return Section("runs", "Runs", [Paragraph(text), latest_first])
