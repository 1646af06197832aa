"""Job `plan`: what a job would take, before any work: units, hours, memory, disk, and what its replicas can show."""

import shutil
from collections.abc import Mapping
from functools import partial
from typing import Any

from tiltmeter.jobs.runtime.config import recorded_settings
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.jobs.upkeep.plan.config import PlanRun
from tiltmeter.jobs.upkeep.plan.counting import count_units
from tiltmeter.jobs.upkeep.plan.detecting import difference_rows
from tiltmeter.jobs.upkeep.plan.earlier import earlier_runs, twins
from tiltmeter.jobs.upkeep.plan.predicting import Known, stage_rows
from tiltmeter.jobs.upkeep.plan.scale import WHOLE, modelled, scratch_bytes
from tiltmeter.jobs.upkeep.plan.sources import PlannedSources, find_planned
from tiltmeter.jobs.upkeep.plan.tables import TABLES
from tiltmeter.jobs.upkeep.plan.workers import Cluster
from tiltmeter.storage.files.redaction import redacted_values
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.read_only import ReadOnlyStore


def run(run: Run[PlanRun, PlannedSources]) -> None:
    """Count the planned job's units, reckon what they take, publish both tables.

    Raises:
        ClusterError: if the cluster has no room for its workers, or can't be reached.
    """
    config, sources = run.config.planned, run.sources
    store = ReadOnlyStore(config.store)
    cluster = Cluster(config.cluster, partial(sources.job.resources, config, sources.sources))
    settings, inputs = recorded_settings(config, store.name), redacted_values(sources.record())
    runs = earlier_runs(store, config.job.name, settings, inputs)
    counted = count_units(sources.job, config, sources.sources, twins(store, runs), lambda: cluster.num_gpus)
    model = modelled(config, sources.sources)
    known = Known(runs, model, is_whole=bool(model) and config.job.name in WHOLE)
    rows = list(stage_rows(counted, known, cluster))
    run.directory.write_table("plan", table_of(rows, TABLES["plan"]))
    planned = getattr(getattr(config, "embedding", None), "num_replicas", None)
    differences = list(difference_rows(store, runs, config.job.name, planned))
    run.directory.write_table("plan_differences", table_of(differences, TABLES["plan_differences"]))
    run.directory.record["planned"] = config.job.name
    run.directory.record["disk"] = _disk(run.runner.store, scratch_bytes(config, sources.sources))


def _disk(store: Store, scratch: float) -> Mapping[str, Any]:
    """What is free where the store is, if that can be told, and what a worker keeps on its own disk in training."""
    place = store.local_path
    while place is not None and not place.exists():
        place = place.parent
    return {"free_bytes": None if place is None else shutil.disk_usage(place).free, "scratch_bytes": scratch}


JOB = Job(PlanRun, find_planned, run, TABLES, "tiltmeter.jobs.upkeep.plan.page:page", has_units=False)
