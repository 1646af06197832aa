"""The page of `prune`."""

from typing import Any

import polars as pl

from tiltmeter.jobs.report.html.elements import Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
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
    num, megabytes = ({row["action"]: row[name] for row in _by_action(units)} for name in ("num", "megabytes"))
    kept = f"{num.get('kept', 0):,} units ({megabytes.get('kept', 0):,.1f} MB) are of runs that are kept"
    if "removed" in num:
        return f"{kept}; {num['removed']:,} others ({megabytes['removed']:,.1f} MB) were removed."
    if "unused" in num:
        others = f"{num['unused']:,} others ({megabytes['unused']:,.1f} MB)"
        return f"{kept}; {others} are not: job.remove=true removes them."
    return f"{kept}; there are no others."


def _by_action(units: pl.DataFrame) -> list[dict[str, Any]]:
    grouped = units.group_by("action").agg(pl.len().alias("num"), (pl.col("num_bytes").sum() / _MEGABYTE))
    return grouped.rename({"num_bytes": "megabytes"}).to_dicts()


def _by_operator(units: pl.DataFrame) -> Section:
    counted = units.group_by("operator", "action").agg(pl.len().alias("num"), pl.col("num_bytes").sum())
    rows = [
        [row["operator"], row["action"], f"{row['num']:,}", f"{row['num_bytes'] / _MEGABYTE:,.1f}"]
        for row in counted.sort("operator", "action").to_dicts()
    ]
    grid = Grid("Units by what made them.", ["operator", "action", "units", "MB"], rows, ["units", "MB"])
    return Section("units", "Units", [grid])


def _runs(runs: pl.DataFrame) -> Section:
    rows = [
        [
            row["series"],
            f"{row['started']:%Y-%m-%d %H:%M}",
            row["status"],
            "yes" if row["is_kept"] else "no",
            f"{row['num_units']:,}",
            row["run_dir"],
        ]
        for row in runs.to_dicts()
    ]
    headings = ["series", "started (UTC)", "status", "kept", "units", "run directory"]
    text = (
        "Of each series of runs that ask the same, the latest that succeeded are kept (job.keep), with all that came "
        "after. The tables in a run directory stay when its units go; a unit that is asked for again is done again."
    )
    return Section("runs", "Runs", [Paragraph(text), Grid("Latest first.", headings, rows, ["units"])])
