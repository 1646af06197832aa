"""Job `plan`: what a job, or a list of jobs, would take before any work: units, hours, memory, disk, and what its
replicas can show."""

import shutil
from collections.abc import Sequence

from pyarrow.fs import FileType

from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.jobs.upkeep.plan.config import PlanRun
from tiltmeter.jobs.upkeep.plan.planning import JobPlan, Planner, job_row, unplanned
from tiltmeter.jobs.upkeep.plan.sources import PlannedJob, PlannedSources, UnplannedJob, find_planned
from tiltmeter.jobs.upkeep.plan.tables import TABLES
from tiltmeter.storage.errors import Refusal, StorageError
from tiltmeter.storage.files.filesystems import SETTING, file_information
from tiltmeter.storage.files.redaction import redacted_text
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.read_only import ReadOnlyStore

_WITH_BUCKETS = ("s3", "gcs")
"""File systems, by the names that Arrow gives them."""


def run(run: Run[PlanRun, PlannedSources]) -> None:
    """Plan the job, or each of the list in its order; publish the tables.

    Raises:
        ClusterError: if the cluster has no room for the workers of the one job, or can't be reached.
        StorageError: if the store is to be in a bucket that there is not.
    """
    _check_bucket(run.runner.store)
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


def _check_bucket(store: Store) -> None:
    """A run makes folders, but no bucket; units in one that there is not are not missing, they can't be done."""
    if store.filesystem.type_name not in _WITH_BUCKETS:
        return
    bucket = store.path.partition("/")[0]
    try:
        [folder] = file_information(store.filesystem, [bucket])
    except StorageError:
        return  # whoever may not look at the bucket may have a folder in it
    if folder.type == FileType.NotFound:
        raise StorageError(
            f"store={store.name}: there is no bucket {bucket}; make it, or choose another place: {SETTING}"
        )


def _of_list(planner: Planner, job: PlannedJob | UnplannedJob) -> JobPlan:
    """What is refused of one job of a list leaves the others alone, as in the night."""
    if isinstance(job, UnplannedJob):
        return unplanned(job)
    try:
        return planner.plan(job)
    except Refusal as error:
        return unplanned(UnplannedJob(job.name, job.config.job.name, "refused", redacted_text(str(error))))


def _write(run: Run[PlanRun, PlannedSources], name: str, rows: Sequence[Row]) -> None:
    run.directory.write_table(name, table_of(rows, TABLES[name]))


def _free_bytes(store: Store) -> int | None:
    """What is free where the store is, if that can be told."""
    place = store.local_path
    while place is not None and not place.exists():
        place = place.parent
    return None if place is None else shutil.disk_usage(place).free


JOB = Job(PlanRun, find_planned, run, TABLES, "tiltmeter.jobs.upkeep.plan.page.body:page", has_units=False)
