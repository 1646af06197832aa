"""Jobs planned one after the other in one store: what one of them does is done for those after it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

from tiltmeter.jobs.runtime.config import recorded_settings
from tiltmeter.jobs.runtime.rows import OK, Row
from tiltmeter.jobs.upkeep.plan.counting import CountedStage, count_units
from tiltmeter.jobs.upkeep.plan.detecting import difference_rows
from tiltmeter.jobs.upkeep.plan.earlier import earlier_runs, twins
from tiltmeter.jobs.upkeep.plan.predicting import Known, stage_rows
from tiltmeter.jobs.upkeep.plan.promises import Parts, Promises, corpus_parts
from tiltmeter.jobs.upkeep.plan.scale import WHOLE, modelled, scratch_bytes
from tiltmeter.jobs.upkeep.plan.sources import PlannedJob, UnplannedJob
from tiltmeter.jobs.upkeep.plan.workers import Cluster, nodes_of
from tiltmeter.storage.files.redaction import redacted_values
from tiltmeter.storage.store.read_only import ReadOnlyStore
from tiltmeter.storage.store.registry import RegisteredRun, Registry

_STATUSES = ("ok", "expected", "estimated", "unknown")
"""Of stages, the surest first."""

_CLOSE = 2 / 3
"""Of a limit: the hours of a plan may be wrong by a factor of 1.5."""


@dataclass(frozen=True)
class JobPlan:
    """What a job would take, and what it could show.

    Attributes:
        stages: rows of the table `plan`.
        differences: rows of the table `plan_differences`.
        scratch_bytes: that a worker in training keeps on its own disk.
    """

    stages: Sequence[Row]
    differences: Sequence[Row] = ()
    scratch_bytes: float = 0.0


@dataclass
class Planner:
    """Plans jobs in the order in which they would run.

    Attributes:
        store: of all of them.
    """

    store: ReadOnlyStore
    _promises: Promises = field(default_factory=Promises)

    def plan(self, planned: PlannedJob) -> JobPlan:
        """Count a job's units, reckon what they take.

        Raises:
            ClusterError: if the cluster has no room for its workers, or can't be reached.
            Refusal: what the job refuses of its inputs.
        """
        config, sources, store = planned.config, planned.sources, self.store
        cluster = Cluster(config.cluster, partial(planned.job.resources, config, sources), self._nodes_of)
        settings, inputs = recorded_settings(config, store.name), redacted_values(sources.record())
        runs = earlier_runs(self._registered, config.job.name, settings, inputs)
        counted = count_units(
            planned.job, config, sources, twins(store, runs), lambda: cluster.num_gpus, self._promises.units
        )
        model, parts = modelled(config, sources), corpus_parts(config, sources)
        known = Known(runs, model, is_whole=bool(model) and config.job.name in WHOLE)
        stages = [{"name": planned.name} | row for row in stage_rows(counted, known, cluster, self._unshared(parts))]
        replicas = getattr(getattr(config, "embedding", None), "num_replicas", None)
        differences = difference_rows(store, runs, config.job.name, replicas)
        self._promises.add(planned.name, counted, parts)
        return JobPlan(stages, [{"name": planned.name} | row for row in differences], scratch_bytes(config, sources))

    def _unshared(self, parts: Parts) -> Any:
        def less(stage: CountedStage, is_counted: bool) -> CountedStage:
            return self._promises.without_shared(stage, parts, is_counted=is_counted)

        return less

    @cached_property
    def _registered(self) -> list[RegisteredRun]:
        return Registry(self.store).runs()

    @cached_property
    def _nodes_of(self) -> Any:
        """Each cluster is asked once."""
        return cache(nodes_of)


def unplanned(job: UnplannedJob) -> JobPlan:
    """Of a job that could not be planned, the reason."""
    return JobPlan([{"name": job.name, "stage": "", "status": job.status, "reason": job.reason}])


def job_row(name: str, job: str, plan: JobPlan, max_hours: float | None) -> Row:
    """The row of a job in the table `plan_jobs`.

    Args:
        name: in the list.
        job: what it runs.
        plan: of it.
        max_hours: after which the night stops it; None: never.
    """
    row: Row = {"name": name, "job": job, "max_hours": max_hours}
    if reason := next((stage for stage in plan.stages if stage["status"] not in _STATUSES), None):
        return row | {"status": reason["status"], "reason": reason["reason"]}
    is_least = any(stage.get("seconds") is None for stage in plan.stages)
    seconds = _sum(plan, "seconds")
    row |= {column: int(_sum(plan, column)) for column in ("num_done", "num_shared", "num_missing")}
    row |= {column: _sum(plan, column) for column in ("worker_seconds", "stored_bytes")}
    row |= {"seconds": seconds, "is_least": is_least, "memory_bytes": _memory(plan)}
    return row | {"limit": _limit(seconds, max_hours, is_least=is_least)} | _verdict(plan)


def _sum(plan: JobPlan, column: str) -> float:
    return float(sum(stage.get(column) or 0.0 for stage in plan.stages))


def _memory(plan: JobPlan) -> int | None:
    asked = [stage["memory_bytes"] * stage["num_workers"] for stage in plan.stages if stage.get("memory_bytes")]
    return max(asked, default=None)


def _limit(seconds: float, max_hours: float | None, *, is_least: bool) -> str | None:
    if max_hours is None:
        return None
    hours = seconds / 3600
    if hours > max_hours:
        return "exceeded"
    if is_least:
        return None
    return "close" if hours > _CLOSE * max_hours else "kept"


def _verdict(plan: JobPlan) -> Row:
    """The status of the stage that least is known of, and the reason there."""
    least = max(plan.stages, key=lambda stage: _STATUSES.index(stage["status"]), default=OK)
    return {"status": least["status"], "reason": least["reason"] if least["status"] != "ok" else ""}
