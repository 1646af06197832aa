"""The page of `plan`: hours, memory, disk and missing units, then each stage, then what the replicas can show."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report import grids
from tiltmeter.jobs.report.default_page import table_blocks
from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import DASH, listed, number, plural, verb
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.upkeep.plan.items_page import page_of_items
from tiltmeter.jobs.upkeep.plan.tables import Differences

_MEGA, _GIGA, _HOUR = 1e6, 1e9, 3600.0
_UNPLANNED = {"refused": "would be refused", "not_planned": "is not planned"}
_TIMES = ((_HOUR, "hour"), (60.0, "minute"), (1.0, "second"))


def page(run: Run[Any, Any], frames: Frames) -> Body:
    """What a job, or each of a list, would take."""
    if "plan_items" in frames:
        return page_of_items(frames["plan_items"])
    record, plan, differences = run.directory.record, frames["plan"], frames["plan_differences"]
    stages, max_hours = plan.filter(pl.col("stage") != ""), getattr(run.config.planned.job, "max_hours", None)
    unplanned = plan.filter(stage="").select("name", "status", "reason")
    amounts = [_hours(rows, max_hours) for rows in stages.partition_by("name", maintain_order=True)]
    return Body(
        f"What job={record['planned']} would take",
        {"job": "plan", "of": record["planned"], "store": run.runner.store.name},
        Lead(
            [Paragraph(f"What would job={record['planned']} take here, and what could it show? No unit was done.")],
            [Bullets([*amounts, *_memory(stages), _room(stages, record["disk"]), *_smallest(differences)])],
            [
                Paragraph(f"{name} {_UNPLANNED[status]}: {reason}", "warning")
                for name, status, reason in unplanned.rows()
            ],
        ),
        [Section("stages", "Stages", list(_stages(stages))), _differences(differences)],
    )


def _hours(rows: pl.DataFrame, max_hours: float | None) -> str:
    """Of a job, in a sentence."""
    missing, done, seconds = rows.select(pl.col("num_missing", "num_done", "seconds").sum()).row(0)
    units = f"{missing:,} of {plural(missing + done, 'unit')} {verb(missing, 'be')} missing"
    if set(rows["status"]) != {"ok"}:
        units += ", besides those that could not be counted"
    elif not missing:
        return f"{rows['name'][0]}: {units}: all are in the store, and no worker is started."
    about = "at least" if rows["seconds"].null_count() else "about"
    too_long = f", and job.max_hours={max_hours:g} would stop it" if max_hours and seconds > max_hours * _HOUR else ""
    return f"{rows['name'][0]}: {about} {_duration(seconds)}{too_long}; {units}."


def _duration(seconds: float) -> str:
    """A time to two digits.

    >>> _duration(0.2), _duration(42.4), _duration(625.0), _duration(7380.0)
    ('1 second', '42 seconds', '10 minutes', '2 hours')
    """
    size, unit = next((size, unit) for size, unit in _TIMES if seconds >= 1.5 * size or size == 1.0)
    value = max(1.0, float(f"{seconds / size:.2g}"))
    return plural(int(value), unit) if value.is_integer() else f"{value:g} {unit}s"


def _size(num_bytes: float) -> str:
    return number(num_bytes / _GIGA, 1, " GB") if num_bytes >= _GIGA else number(num_bytes / _MEGA, 1, " MB")


def _memory(stages: pl.DataFrame) -> Iterator[str]:
    """What the workers of a job ask for at most, as there is one job at a time; nothing if none is known to start."""
    asked = stages.select("num_workers", "memory_bytes").drop_nulls().rows()
    if asked:
        num, each = max(asked, key=lambda row: row[0] * row[1])
        workers = f"{plural(num, 'worker')} at once, which {verb(num, 'ask')} for {_size(each)} each"
        yield f"{_size(each * num)} of memory: {workers}, as the largest stage does."


def _room(stages: pl.DataFrame, disk: Mapping[str, Any]) -> str:
    """What is taken in the store and on the disks of workers."""
    stored, free, scratch = float(stages["stored_bytes"].sum()), disk["free_bytes"], disk["scratch_bytes"]
    there = "" if free is None else f", where {_size(free)} are free"
    too_little = ", which is too little: set store=<path>" if free is not None and stored > free else ""
    local = f"; each worker in training keeps up to {_size(scratch)} more in cluster.scratch" if scratch else ""
    return f"{_size(stored)} in the store{there}{too_little}{local}."


def _smallest(differences: pl.DataFrame) -> Iterator[str]:
    """Of the numbers with most rows, or before a first run of any."""
    planned = differences.filter(pl.col("is_planned")).sort("num_numbers", descending=True, maintain_order=True)
    for row in planned.head(1).to_dicts():
        of_table = f"{row['column']} in the table {row['table']}, the middle one"
        which = of_table if row["num_numbers"] else "in standard deviations, as no earlier run says what these are"
        unpaired, paired = (number(row[f"smallest_{kind}"], 3) for kind in ("unpaired", "paired"))
        shared = "" if paired == DASH else f", from {paired} on between runs that share them"
        finding = f"With {plural(row['replicas'], 'draw')} a difference is found in 4 of 5 cases from {unpaired}"
        yield f"{finding} on between runs that share no draws{shared} ({which})."


def _stages(stages: pl.DataFrame) -> Iterator[Block]:
    """The stages in their order, and what is not sure of them, those together that share a reason."""
    yield grids.grid(
        "In their order. Seconds and bytes are estimates; starting workers and the report come on top.",
        stages,
        *(["name"] if stages["name"].n_unique() > 1 else []),
        "stage",
        grids.count("num_done", "units done"),
        grids.count("num_missing", "missing"),
        grids.number("worker_seconds", "worker seconds", 0),
        grids.number("seconds", "seconds", 0),
        grids.count("num_workers", "workers"),
        grids.number("memory_bytes", "MB of each", 0, scale=1 / _MEGA),
        grids.number("stored_bytes", "MB in the store", 1, scale=1 / _MEGA),
        "basis",
        "status",
    )
    doubtful = stages.filter(pl.col("reason") != "").group_by("reason", maintain_order=True).agg("stage")
    if not doubtful.is_empty():
        yield Bullets([f"{listed(list(dict.fromkeys(row['stage'])))}: {row['reason']}." for row in doubtful.to_dicts()])


def _differences(differences: pl.DataFrame) -> Section:
    """What replicas can show: as many as are planned, or before a first run other numbers of them too."""
    shown = differences.filter(pl.col("is_planned")) if differences["num_numbers"].sum() else differences
    blocks = [Paragraph(_SMALLEST), *table_blocks(shown, Differences.schema())]
    return Section("differences", "What so many replicas can show", blocks)


_SMALLEST = (
    "The smallest difference between two runs whose 95% interval leaves out 0 in 4 of 5 cases, for the number in the "
    "middle of its column: unpaired where the runs share no draws, paired where they do."
)
