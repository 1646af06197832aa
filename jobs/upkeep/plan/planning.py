"""Jobs planned one after the other in one store: what one of them does is done for those after it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial

from tiltmeter.cluster.capacity import Node
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.jobs.embedding.sources import Text
from tiltmeter.jobs.runtime.config import CommonConfig, recorded_settings
from tiltmeter.jobs.runtime.context import Sources
from tiltmeter.jobs.runtime.rows import OK, Row
from tiltmeter.jobs.upkeep.plan.corpora import Parts, corpus_parts, num_bytes, texts_of, without
from tiltmeter.jobs.upkeep.plan.counting import Counted, CountedStage, Twins, count_units
from tiltmeter.jobs.upkeep.plan.detecting import difference_rows
from tiltmeter.jobs.upkeep.plan.earlier import EarlierRun, earlier_runs, twins
from tiltmeter.jobs.upkeep.plan.predicting import Known, Unshared, stage_rows
from tiltmeter.jobs.upkeep.plan.promises import Promises
from tiltmeter.jobs.upkeep.plan.scale import WHOLE, about_slices, modelled, scratch_bytes
from tiltmeter.jobs.upkeep.plan.sources import PlannedJob, UnplannedJob
from tiltmeter.jobs.upkeep.plan.workers import Cluster, nodes_of
from tiltmeter.storage.errors import Refusal
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
        counted = self._count(planned, twins(store, runs), cluster)
        whole, rest = _divided(planned, counted)
        parts, rest_parts = corpus_parts(config, whole), corpus_parts(config, rest)
        unshared = self._unshared(parts, rest_parts or parts)
        rows = stage_rows(counted, _known(planned, runs, rest or whole, counted), cluster, unshared)
        stages = [{"name": planned.name} | row for row in rows]
        replicas = getattr(getattr(config, "embedding", None), "num_replicas", None)
        differences = difference_rows(store, runs, config.job.name, replicas)
        self._promises.add(planned.name, counted, parts, rest_parts)
        return JobPlan(
            stages, [{"name": planned.name} | row for row in differences], scratch_bytes(config, [*whole, *rest])
        )

    def _count(self, planned: PlannedJob, twins: Twins, cluster: Cluster) -> Counted:
        """The units; where some corpora are yet to be read, those of the others as far as a run on these would go."""

        def count(config: CommonConfig, sources: Sources) -> Counted:
            return count_units(
                planned.job, config, sources, twins, lambda: cluster.num_gpus, promised=self._promises.units
            )

        counted = count(planned.config, planned.sources)
        fewer = without(planned.config, planned.sources, counted.groups) if counted.reason else None
        if fewer is None:
            return counted
        try:
            others = count(*fewer)
        except Refusal:  # of a job that needs several corpora
            return counted
        names = {text.name for text in texts_of(fewer[1])}
        left = [text.name for text in texts_of(planned.sources) if text.name not in names]
        return counted if others.reason else counted.with_others(others, left)

    def _unshared(self, parts: Parts, rest: Parts) -> Unshared:
        def less(stage: CountedStage, is_counted: bool) -> CountedStage:
            return self._promises.without_shared(stage, parts if is_counted else rest, is_counted=is_counted)

        return less

    @cached_property
    def _registered(self) -> list[RegisteredRun]:
        return Registry(self.store).runs()

    @cached_property
    def _nodes_of(self) -> Callable[[ClusterConfig], list[Node]]:
        """Each cluster is asked once."""
        return cache(nodes_of)


def _divided(planned: PlannedJob, counted: Counted) -> tuple[list[Text], list[Text]]:
    """Corpora that were counted as far as any, and the others."""
    texts, left = texts_of(planned.sources), counted.uncounted
    return [text for text in texts if text.name not in left], [text for text in texts if text.name in left]


def _known(planned: PlannedJob, runs: Sequence[EarlierRun], texts: Sequence[Text], counted: Counted) -> Known:
    model = modelled(planned.config, texts)
    return Known(
        runs,
        model,
        is_whole=bool(model) and planned.config.job.name in WHOLE,
        rest_bytes=num_bytes(texts) if counted.uncounted else None,
        remark=about_slices(texts),
    )


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
