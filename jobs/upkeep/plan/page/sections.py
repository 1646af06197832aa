"""What pages of plans say of stages and of differences, and how sure it is."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report import grids
from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph, Section
from tiltmeter.jobs.report.wording import listed, some, verb
from tiltmeter.jobs.upkeep.plan.page.amounts import MEGA, size, total
from tiltmeter.jobs.upkeep.plan.predicting import EARLIER, MODEL

_MOST, _MOST_NAMES = 60, 3


# --- how sure it is -------------------------------------------------------------------------------------------------


def about_the_disk(plan: pl.DataFrame, disk: Mapping[str, Any]) -> Iterator[Block]:
    """A warning if the store has not the room."""
    stored, free = total(plan, "stored_bytes"), disk["free_bytes"]
    if free is not None and stored > free:
        text = f"The store would take {size(stored)}, and {size(free)} are free: set store=<path>."
        yield Paragraph(text, "warning")


def about_the_stages(plan: pl.DataFrame) -> Iterator[Block]:
    """Which units, seconds and bytes are not sure."""
    for status, what in _DOUBTS.items():
        if stages := _stages_with(plan, status=status):
            yield Paragraph(what.format(stages=some(stages, _MOST_NAMES)))
    if stages := _stages_with(plan, basis=MODEL):
        yield Paragraph(
            f"What {some(stages, _MOST_NAMES)} {verb(len(stages), 'take')} is of {MODEL}, measured on another machine, "
            "as no earlier run in this store says it: take a factor of 1.5 as its error, or run it once."
        )
    if EARLIER in plan["basis"]:
        yield Paragraph("Seconds from earlier runs in this store are as good as the machine was as idle as it is now.")


def _stages_with(plan: pl.DataFrame, **values: str) -> list[str]:
    """Each once, whatever jobs have it."""
    return plan.filter(**values)["stage"].unique(maintain_order=True).to_list()


_DOUBTS = {
    "expected": "Units of {stages} read tables that are yet to come: they are counted as if these came out as before.",
    "estimated": "How many units {stages} will have depends on what comes before: as in a like run, or modelled.",
    "unknown": "Nothing is known of {stages}: the whole takes longer than this says.",
}


# --- tables ---------------------------------------------------------------------------------------------------------


DEALT = Paragraph(
    "Units are dealt to workers that only wait, by the code that deals them in a run. The last row is what a run takes "
    "beside its units: workers that start, units that are looked for, tables and the report."
)


def stages_of(plan: pl.DataFrame) -> list[Block]:
    """The stages of a job, and what is not sure of them.

    Args:
        plan: its rows of the table.
    """
    table = grids.grid(
        "In their order.",
        plan,
        "stage",
        grids.count("num_done", "units done"),
        grids.optional(grids.cell("by an earlier job", _shared)),
        grids.count("num_missing", "missing"),
        grids.number("worker_seconds", "worker seconds", 1),
        grids.number("seconds", "seconds", 1),
        grids.count("num_workers", "workers"),
        grids.optional(grids.cell("threads", _threads, is_numeric=True)),
        grids.number("memory_bytes", "MB of each", 0, scale=1 / MEGA),
        grids.number("stored_bytes", "MB in the store", 1, scale=1 / MEGA),
        grids.text("basis", names=_BASES),
        "status",
    )
    return [table, *_reasons(plan)]


_BASES = {EARLIER: "earlier runs", MODEL: MODEL, "": ""}


def _shared(row: grids.Row) -> str:
    """Units that are done by then, and which jobs do them."""
    return f"{row['num_shared']:,}: {row['shared_with']}" if row["num_shared"] else ""


def _threads(row: grids.Row) -> str:
    return f"{row['num_threads']}" if (row["num_threads"] or 1) > 1 else ""


def _reasons(plan: pl.DataFrame) -> Iterator[Block]:
    """Why units or seconds of stages are not sure, those together that share a reason."""
    doubtful = plan.filter(pl.col("reason") != "").group_by("reason", maintain_order=True).agg("stage")
    if not doubtful.is_empty():
        yield Bullets([f"{listed(row['stage'])}: {row['reason']}." for row in doubtful.to_dicts()])


def differences_of(differences: pl.DataFrame, *, of_night: bool = False) -> Section:
    """What replicas can show.

    Args:
        differences: the table.
        of_night: whether it has several jobs, which are named then.
    """
    planned = differences.filter(pl.col("is_planned")).sort("num_numbers", descending=True, maintain_order=True)
    is_known = bool(differences["num_numbers"].sum())
    by_column = grids.grid(
        "With as many draws as are planned; the table plan_differences has other numbers of them."
        if is_known or of_night
        else "In standard deviations of the numbers, or of their paired differences.",
        planned if is_known or of_night else differences,
        *(["name"] if of_night else []),
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
