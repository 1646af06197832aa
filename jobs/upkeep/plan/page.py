"""The page of `plan`."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report import grids
from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import listed, number, plural, some, verb
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.upkeep.plan.predicting import EARLIER, LATER, MODEL

_GIGA, _MEGA, _HOUR = 1e9, 1e6, 3600.0
_MINUTE, _MINUTES_LONG = 60.0, 90.0
_MOST, _MOST_NAMES = 60, 3


def page(run: Run[Any, Any], frames: Frames) -> Body:
    """Hours, memory, disk and missing units, then each stage, then what the replicas can show."""
    plan, differences, record = frames["plan"], frames["plan_differences"], run.directory.record
    return Body(
        f"What job={record['planned']} would take",
        {"job": "plan", "of": record["planned"], "store": run.runner.store.name},
        Lead(
            [Paragraph(f"What would job={record['planned']} take here, and what could it show? No unit was done.")],
            [Bullets([*_amounts(plan, record), *_smallest(differences)])],
            list(_doubts(plan, record)),
        ),
        [_stages(plan), _differences(differences)],
    )


# --- what stands first ----------------------------------------------------------------------------------------------


def _amounts(plan: pl.DataFrame, record: Mapping[str, Any]) -> Iterator[str]:
    missing = int(_sum(plan, "num_missing"))
    whole = plural(missing + int(_sum(plan, "num_done")), "unit")
    units = f"{missing:,} of {whole} {verb(missing, 'be')} missing"
    if not missing and LATER not in plan["stage"]:
        yield f"{units}: all are in the store, and no worker is started."
        return
    prefix = "At least" if plan["seconds"].null_count() else "About"
    worked = _time(_sum(plan, "worker_seconds"))
    yield f"{prefix} {_time(_sum(plan, 'seconds'))}: {units}, for {worked} of workers' time."
    yield _memory(plan)
    yield _disk(plan, record["disk"])


def _sum(plan: pl.DataFrame, column: str) -> float:
    return float(plan[column].sum())


def _time(seconds: float) -> str:
    """A time as a person plans it.

    >>> _time(0.2), _time(42.0), _time(600.0), _time(7300.0)
    ('under a second', '42 seconds', '10.0 minutes', '2.0 hours')
    """
    if seconds < 1.0:
        return "under a second"
    if seconds < _MINUTES_LONG:
        return f"{number(seconds, 0)} seconds"
    if seconds < _MINUTES_LONG * _MINUTE:
        return f"{number(seconds / _MINUTE, 1)} minutes"
    return f"{number(seconds / _HOUR, 1)} hours"


def _memory(plan: pl.DataFrame) -> str:
    largest = plan.filter(pl.col("memory_bytes").is_not_null()).sort("memory_bytes", descending=True).row(0, named=True)
    whole = largest["memory_bytes"] * largest["num_workers"]
    return (
        f"{_size(whole)} of memory: {plural(largest['num_workers'], 'worker')} at once, which "
        f"{verb(largest['num_workers'], 'ask')} for {_size(largest['memory_bytes'])} each, as the largest stage does."
    )


def _disk(plan: pl.DataFrame, disk: Mapping[str, Any]) -> str:
    stored = f"{_size(_sum(plan, 'stored_bytes'))} in the store"
    free = "" if disk["free_bytes"] is None else f", where {_size(disk['free_bytes'])} are free"
    scratch = disk["scratch_bytes"]
    local = f"; each worker in training keeps {_size(scratch)} more in cluster.scratch" if scratch else ""
    return f"{stored}{free}{local}."


def _size(num_bytes: float) -> str:
    """To three digits.

    >>> _size(1_500_000_000), _size(82_000)
    ('1.50 GB', '0.1 MB')
    """
    return number(num_bytes / _GIGA, 2, " GB") if num_bytes >= _GIGA else number(num_bytes / _MEGA, 1, " MB")


def _smallest(differences: pl.DataFrame) -> Iterator[str]:
    """Of the numbers with most rows, or before a first run of any."""
    planned = differences.filter(pl.col("is_planned"))
    if planned.is_empty():
        return
    row = planned.sort("num_numbers", descending=True, maintain_order=True).row(0, named=True)
    with_so_many = f"With {plural(row['replicas'], 'draw')} a difference is found in 4 of 5 cases from"
    if not row["num_numbers"]:
        smallest = number(row["smallest_unpaired"], 1)
        yield f"{with_so_many} {smallest} standard deviations on; no earlier run says what these are."
        return
    unpaired = f"{number(row['smallest_unpaired'], 3)} on between runs that share no draws"
    paired = row["smallest_paired"]
    shared = f", from {number(paired, 3)} on between runs that share them" if paired is not None else ""
    yield f"{with_so_many} {unpaired}{shared} ({row['column']} in the table {row['table']}, the middle one)."


# --- how sure it is -------------------------------------------------------------------------------------------------


def _doubts(plan: pl.DataFrame, record: Mapping[str, Any]) -> Iterator[Block]:
    stored, free = _sum(plan, "stored_bytes"), record["disk"]["free_bytes"]
    if free is not None and stored > free:
        yield Paragraph(
            f"The store would take {_size(stored)}, and {_size(free)} are free: set store=<path>.", "warning"
        )
    for status, what in _DOUBTS.items():
        stages = plan.filter(status=status)["stage"].to_list()
        if stages:
            yield Paragraph(what.format(stages=some(stages, _MOST_NAMES)))
    if MODEL in plan["basis"]:
        stages = plan.filter(basis=MODEL)["stage"].to_list()
        yield Paragraph(
            f"What {some(stages, _MOST_NAMES)} {verb(len(stages), 'take')} is of {MODEL}, measured on another machine, "
            "as no earlier run in this store says it: take a factor of 1.5 as its error, or run it once."
        )
    if EARLIER in plan["basis"]:
        yield Paragraph("Seconds from earlier runs in this store are as good as the machine was as idle as it is now.")


_DOUBTS = {
    "expected": "Units of {stages} read tables that are yet to come: they are counted as if these came out as before.",
    "estimated": "How many units {stages} will have depends on what comes before: as in a like run, or modelled.",
    "unknown": "Nothing is known of {stages}: the whole takes longer than this says.",
}


# --- tables ---------------------------------------------------------------------------------------------------------


def _stages(plan: pl.DataFrame) -> Section:
    table = grids.grid(
        "In their order.",
        plan,
        "stage",
        grids.count("num_done", "units done"),
        grids.count("num_missing", "missing"),
        grids.number("worker_seconds", "worker seconds", 1),
        grids.number("seconds", "seconds", 1),
        grids.count("num_workers", "workers"),
        grids.optional(grids.cell("threads", _threads, is_numeric=True)),
        grids.number("memory_bytes", "MB of each", 0, scale=1 / _MEGA),
        grids.number("stored_bytes", "MB in the store", 1, scale=1 / _MEGA),
        grids.text("basis", names=_BASES),
        "status",
    )
    text = (
        "Units are dealt to workers that only wait, by the code that deals them in a run. The last row is what a run "
        "takes beside its units: workers that start, units that are looked for, tables and the report."
    )
    return Section("stages", "Stages", [Paragraph(text), table, *_reasons(plan)])


_BASES = {EARLIER: "earlier runs", MODEL: MODEL, "": ""}


def _threads(row: grids.Row) -> str:
    return f"{row['num_threads']}" if (row["num_threads"] or 1) > 1 else ""


def _reasons(plan: pl.DataFrame) -> Iterator[Block]:
    """Why units or seconds of stages are not sure, those together that share a reason."""
    doubtful = plan.filter(pl.col("reason") != "").group_by("reason", maintain_order=True).agg("stage")
    if not doubtful.is_empty():
        yield Bullets([f"{listed(row['stage'])}: {row['reason']}." for row in doubtful.to_dicts()])


def _differences(differences: pl.DataFrame) -> Section:
    planned = differences.filter(pl.col("is_planned")).sort("num_numbers", descending=True, maintain_order=True)
    is_known = bool(differences["num_numbers"].sum())
    by_column = grids.grid(
        "With as many draws as are planned; the table plan_differences has other numbers of them."
        if is_known
        else "In standard deviations of the numbers, or of their paired differences.",
        planned if is_known else differences,
        grids.optional("table"),
        grids.optional("column"),
        grids.count("replicas", "draws"),
        grids.optional(grids.cell("numbers", lambda row: f"{row['num_numbers'] or ''}", is_numeric=True)),
        grids.number("sd", "SD"),
        grids.number("smallest_unpaired", "smallest, unpaired"),
        grids.number("smallest_paired", "smallest, paired"),
        most=_MOST,
        table="plan_differences",
    )
    return Section("differences", "What so many replicas can show", [Paragraph(_SMALLEST), by_column, *_why(planned)])


_SMALLEST = (
    "The smallest difference between two runs whose 95% interval leaves out 0 in 4 of 5 cases, for the number in the "
    "middle of its column: unpaired where the runs share no draws, paired where they do."
)


def _why(planned: pl.DataFrame) -> Iterator[Block]:
    """Where the standard deviations come from, and why some are not known."""
    for basis, reason in planned.select("basis", "reason").unique(maintain_order=True).iter_rows():
        yield Paragraph(f"From {basis}{f': {reason}' if reason else ''}.", "note")
