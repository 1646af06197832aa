"""The page of a planned night."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report import grids
from tiltmeter.jobs.report.html.elements import Block, Bullets, Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import phrase, plural, verb
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.upkeep.plan.page.amounts import MEGA, duration, room, size, total
from tiltmeter.jobs.upkeep.plan.page.sections import DEALT, about_the_disk, about_the_stages, differences_of, stages_of

_HOUR = 3600.0


def page(frames: Frames, facts: Mapping[str, str], disk: Mapping[str, Any]) -> Body:
    """Hours of the night and of each of its jobs, then their stages, then what their replicas can show.

    Args:
        frames: the tables.
        facts: about the run, by name.
        disk: what is free, and what workers need beside the store.
    """
    jobs, plan, differences = frames["plan_jobs"], frames["plan"], frames["plan_differences"]
    planned = jobs.filter(pl.col("num_missing").is_not_null())
    stages = plan.filter(pl.col("stage") != "")
    return Body(
        "What the night would take",
        {**facts, "jobs": f"{jobs.height}"},
        Lead(
            [Paragraph("What would the jobs of the list take here, one after the other? No unit was done.")],
            [Bullets(list(_amounts(planned, disk))), _hours(jobs)],
            [*_limits(jobs), *about_the_disk(planned, disk), *_unplanned(jobs), *about_the_stages(stages)],
        ),
        [
            Section("jobs", "The jobs", [_by_job(jobs), DEALT]),
            *(_stages(rows) for rows in stages.partition_by("name", maintain_order=True)),
            *([] if differences.is_empty() else [differences_of(differences, of_night=True)]),
        ],
    )


# --- what stands first ----------------------------------------------------------------------------------------------


def _amounts(planned: pl.DataFrame, disk: Mapping[str, Any]) -> Iterator[str]:
    missing, shared = (int(total(planned, column)) for column in ("num_missing", "num_shared"))
    units = f"{plural(missing, 'unit')} {verb(missing, 'be')} missing"
    if not missing and not planned["is_least"].any():
        yield "No unit is missing: all are in the store."
        return
    prefix = "At least" if planned["is_least"].any() else "About"
    worked = duration(total(planned, "worker_seconds"))
    yield f"{prefix} {duration(total(planned, 'seconds'))}: {units}, for {worked} of workers' time."
    if shared:
        yield f"{plural(shared, 'unit')} of later jobs {verb(shared, 'be')} done by earlier ones, and counted there."
    yield from _memory(planned)
    yield room(planned, disk)


def _memory(planned: pl.DataFrame) -> Iterator[str]:
    """Of the job that asks for most: there is one at a time."""
    most = planned.drop_nulls("memory_bytes").sort("memory_bytes", descending=True, maintain_order=True)
    if most.height:
        yield f"{size(most['memory_bytes'][0])} of memory at most, in {most['name'][0]}."


def _hours(jobs: pl.DataFrame) -> Grid:
    """Each job on a line that a terminal has room for."""
    return grids.grid(
        "In the order of the list.",
        jobs,
        "name",
        "job",
        grids.number("seconds", "hours", 2, scale=1 / _HOUR),
        grids.count("num_missing", "missing"),
        grids.count("num_done", "done"),
        grids.text("status", names=phrase),
    )


# --- how sure it is -------------------------------------------------------------------------------------------------


def _limits(jobs: pl.DataFrame) -> Iterator[Block]:
    for row in jobs.filter(limit="exceeded").to_dicts():
        yield Paragraph(
            f"{row['name']} would likely be stopped: it takes {'over' if row['is_least'] else 'about'} "
            f"{duration(row['seconds'])}, and job.max_hours={row['max_hours']:g}; set it higher, or add workers.",
            "warning",
        )
    for row in jobs.filter(limit="close").to_dicts():
        yield Paragraph(
            f"{row['name']} may be stopped: {duration(row['seconds'])} are close to job.max_hours={row['max_hours']:g}."
        )


def _unplanned(jobs: pl.DataFrame) -> Iterator[Block]:
    for row in jobs.filter(status="refused").to_dicts():
        yield Paragraph(f"{row['name']} would be refused: {row['reason']}", "warning")
    for row in jobs.filter(status="not_planned").to_dicts():
        yield Paragraph(f"{row['name']} is not planned: {row['reason']}.")


# --- tables ---------------------------------------------------------------------------------------------------------


def _by_job(jobs: pl.DataFrame) -> Grid:
    return grids.grid(
        "In the order of the list. Shared: of the units done, those that an earlier job of the night does.",
        jobs,
        "name",
        "job",
        grids.count("num_done", "units done"),
        grids.count("num_shared"),
        grids.count("num_missing", "missing"),
        grids.number("worker_seconds", "worker hours", 2, scale=1 / _HOUR),
        grids.number("seconds", "hours", 2, scale=1 / _HOUR),
        grids.optional(grids.number("max_hours", "most hours", 2)),
        grids.optional("limit"),
        grids.number("memory_bytes", "MB of workers", 0, scale=1 / MEGA),
        grids.number("stored_bytes", "MB in the store", 1, scale=1 / MEGA),
        grids.text("status", names=phrase),
    )


def _stages(rows: pl.DataFrame) -> Section:
    name = rows["name"][0]
    return Section(f"stages-{name}", f"Stages of {name}", stages_of(rows))
