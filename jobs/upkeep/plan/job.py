"""Job `plan`: what a job, or a list of jobs, would take before any work: units, hours, memory, disk, and what its
replicas can show."""

import shutil
from collections.abc import Sequence

from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.jobs.upkeep.plan.config import PlanRun
from tiltmeter.jobs.upkeep.plan.planning import JobPlan, Planner, job_row, unplanned
from tiltmeter.jobs.upkeep.plan.sources import PlannedJob, PlannedSources, UnplannedJob, find_planned
from tiltmeter.jobs.upkeep.plan.tables import TABLES
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.read_only import ReadOnlyStore


def run(run: Run[PlanRun, PlannedSources]) -> None:
    """Plan the job, or each of the list in its order; publish the tables.

    Raises:
        ClusterError: if the cluster has no room for the workers of the one job, or can't be reached.
    """
    sources, planner = run.sources, Planner(ReadOnlyStore(run.config.store))
    if sources.listed is None:
        plans = [planner.plan(job) for job in sources.jobs if isinstance(job, PlannedJob)]
    else:
        plans = [_of_list(planner, job) for job in sources.jobs]
        names = [(listed.name, listed.job) for listed in sources.listed.jobs]
        rows = [job_row(*name, plan, sources.max_hours) for name, plan in zip(names, plans, strict=True)]
        _write(run, "plan_jobs", rows)
    _write(run, "plan", [row for plan in plans for row in plan.stages])
    _write(run, "plan_differences", [row for plan in plans for row in plan.differences])
    run.directory.record["planned"] = run.config.job.planned
    scratch = max(plan.scratch_bytes for plan in plans)
    run.directory.record["disk"] = {"free_bytes": _free_bytes(run.runner.store), "scratch_bytes": scratch}


def _of_list(planner: Planner, job: PlannedJob | UnplannedJob) -> JobPlan:
    """What is refused of one job of a list leaves the others alone, as in the night."""
    if isinstance(job, UnplannedJob):
        return unplanned(job)
    try:
        return planner.plan(job)
    except Refusal as error:
        return unplanned(UnplannedJob(job.name, job.config.job.name, "refused", str(error)))


def _write(run: Run[PlanRun, PlannedSources], name: str, rows: Sequence[Row]) -> None:
    run.directory.write_table(name, table_of(rows, TABLES[name]))


def _free_bytes(store: Store) -> int | None:
    """What is free where the store is, if that can be told."""
    place = store.local_path
    while place is not None and not place.exists():
        place = place.parent
    return None if place is None else shutil.disk_usage(place).free


JOB = Job(PlanRun, find_planned, run, TABLES, "tiltmeter.jobs.upkeep.plan.page.body:page", has_units=False)
