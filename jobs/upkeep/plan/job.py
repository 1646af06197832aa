"""Job `plan`: what a job, or a list of jobs, would take before any work: units, hours, memory, disk, and what its
replicas can show."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import Any

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.cluster.start import Prospect, nodes_before
from tiltmeter.jobs.catalogue import job
from tiltmeter.jobs.composing import compose
from tiltmeter.jobs.embedding.resources import scratch_bytes
from tiltmeter.jobs.embedding.sources import Sources, Text
from tiltmeter.jobs.runtime import context
from tiltmeter.jobs.runtime.config import CommonConfig, recorded_settings
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.upkeep.compare.logs import TwoLogs
from tiltmeter.jobs.upkeep.overnight.child import words_of_night
from tiltmeter.jobs.upkeep.overnight.config import JobList, ListedJob, OvernightRun, find_list
from tiltmeter.jobs.upkeep.plan.config import COMPARED, NIGHT, NO_UNITS, PlanRun, read_command, why_not
from tiltmeter.jobs.upkeep.plan.counting import count_units
from tiltmeter.jobs.upkeep.plan.detecting import difference_rows
from tiltmeter.jobs.upkeep.plan.hours import Known, stage_rows
from tiltmeter.jobs.upkeep.plan.items import item_rows
from tiltmeter.jobs.upkeep.plan.rates import earlier_runs, first_rates
from tiltmeter.jobs.upkeep.plan.tables import TABLES, Differences, OfJob, Plan, PlanItems
from tiltmeter.storage.corpora.corpora import nothing_copied
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.files.filesystems import check_bucket
from tiltmeter.storage.files.redaction import redacted_text, redacted_values
from tiltmeter.storage.store.read_only import ReadOnlyStore
from tiltmeter.storage.store.registry import Registry


@dataclass(frozen=True)
class PlannedJob:
    """A job that is planned, by its name in a list or its own, and what it starts from, as it finds it itself."""

    name: str
    config: CommonConfig
    sources: context.Sources

    @property
    def texts(self) -> Sequence[Text]:
        """The corpora that it trains on; none of a job that does not."""
        return self.sources.texts if isinstance(self.sources, Sources) else ()


@dataclass(frozen=True)
class PlannedSources:
    """What is planned: one job, or those of a list, of which some have only a row that says why they can't be."""

    jobs: Sequence[PlannedJob | Plan]
    listed: JobList | None = None

    def record(self) -> dict[str, Any]:
        """Every input with its version, for ``run.json``; those of the jobs of a list by their names."""
        by_name = {job.name: job.sources.record() for job in self.planned}
        if self.listed is None:
            [record] = by_name.values()
            return record
        return self.listed.record() | {"planned": by_name}

    @property
    def planned(self) -> list[PlannedJob]:
        """The jobs that can be planned."""
        return [job for job in self.jobs if isinstance(job, PlannedJob)]


def find_planned(config: PlanRun) -> PlannedSources:
    """Look for whatever the planned job starts from, or the jobs of the planned night.

    Raises:
        InputError: for a corpus that would be fetched first.
        Refusal: for a list that makes no sense; as the planned job refuses what it finds.
    """
    if config.job.planned != NIGHT:
        return PlannedSources([_planned(config.job.planned, config.planned)])
    listed = find_list(config.planned)
    return PlannedSources([_of_list(job, config.planned) for job in listed.jobs], listed)


def _planned(name: str, config: CommonConfig) -> PlannedJob:
    with nothing_copied():
        return PlannedJob(name, config, job(config.job.name).find_sources(config))


def _of_list(listed: ListedJob, night: OvernightRun) -> PlannedJob | Plan:
    """A job of a list, on the night's cluster and in its store."""
    try:
        command = read_command(words_of_night(listed, night.cluster))
        config = replace(compose(command.words), store=night.store)
        has_units = job(config.job.name).has_units and not command.is_plan
        if reason := why_not(config) if has_units else NO_UNITS:
            return _unplanned(listed.name, "not_planned", f"job={listed.job}: {reason}")
        return _planned(listed.name, config)
    except Refusal as error:
        return _unplanned(listed.name, "refused", redacted_text(str(error)))


def _unplanned(name: str, status: str, reason: str) -> Plan:
    return Plan(name=name, stage="").fail(status, reason)


Rows = Iterable[OfJob | PlanItems]


def run(run: context.Run[PlanRun, PlannedSources]) -> None:
    """Plan the job, or each of the list as the store is now; publish the tables.

    Raises:
        ClusterError: if the cluster has no room for the workers of the one job, or can't be reached.
        StorageError: if the store is to be in a bucket that there is not.
    """
    store, sources = run.runner.store, run.sources
    check_bucket(store.filesystem, store.path, store.name)
    plan = _planner(ReadOnlyStore(run.config.store))
    plans = [_or_reason(job, plan) for job in sources.jobs] if sources.listed else [*map(plan, sources.planned)]
    kinds = [PlanItems] if run.config.job.planned == COMPARED else [Plan, Differences]
    for name, table in tables_of(chain.from_iterable(plans), kinds):
        run.directory.write_table(name, table)
    scratch = max((scratch_bytes(job.config, job.texts) for job in sources.planned), default=0.0)
    run.directory.record["planned"] = run.config.job.planned
    run.directory.record["disk"] = {"free_bytes": store.free_bytes, "scratch_bytes": scratch}


def _or_reason(planned: PlannedJob | Plan, plan: Callable[[PlannedJob], Rows]) -> Rows:
    """What is refused of one job of a list leaves the others alone, as in the night."""
    if isinstance(planned, PlannedJob):
        try:
            return plan(planned)
        except (Refusal, UnitsFailed) as error:
            planned = _unplanned(planned.name, "refused", redacted_text(str(error)))
    return [planned]


def _planner(store: ReadOnlyStore) -> Callable[[PlannedJob], Rows]:
    """What counts a job's units in a store as it is now, and reckons what they take and what they can show."""
    registered, nodes_of = Registry(store).runs(), cache(nodes_before)

    def plan(planned: PlannedJob) -> Rows:
        if isinstance(planned.sources, TwoLogs):
            return item_rows(planned.config.logs, planned.sources)  # type: ignore[attr-defined]
        config, sources, name = planned.config, planned.sources, planned.config.job.name
        cluster = Prospect(config.cluster, partial(job(name).resources, config, sources), nodes_of)
        inputs = redacted_values(sources.record())
        runs = earlier_runs(registered, name, recorded_settings(config, store.name), inputs)
        known = Known(name, runs, first_rates(config, planned.texts), partial(_share, planned.texts))
        counted = count_units(job(name), config, sources, cluster)
        replicas = getattr(getattr(config, "embedding", None), "num_replicas", None)
        rows = [*stage_rows(counted, known, cluster), *difference_rows(store, runs, name, replicas)]
        return [replace(row, name=planned.name) for row in rows]

    return plan


def _share(texts: Sequence[Text], groups: Collection[str]) -> float:
    """How much of the files of all corpora is of those that groups of units are of; 1 where that can't be told."""
    sizes = {f"{text.name}/": sum(source.num_bytes for source in text.sources) for text in texts}
    parts = [size for name, size in sizes.items() if any(f"{group}/".startswith(name) for group in groups)]
    return sum(parts) / (sum(sizes.values()) or 1) if parts else 1.0 if groups else 0.0


JOB = Job(PlanRun, find_planned, run, TABLES, "tiltmeter.jobs.upkeep.plan.page:page", has_units=False)
