"""What the planned job starts from, as it finds it itself, but fetched from nowhere; or each job of a planned list."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from tiltmeter.jobs.catalogue import job
from tiltmeter.jobs.composing import compose
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.context import Sources
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.upkeep.overnight.child import words_of_night
from tiltmeter.jobs.upkeep.overnight.config import JobList, ListedJob, OvernightRun, find_list
from tiltmeter.jobs.upkeep.plan.config import NIGHT, NO_UNITS, PlanRun, read_command, why_not
from tiltmeter.storage.corpora.corpora import CorpusConfig
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.files.files import is_web
from tiltmeter.storage.files.redaction import redacted, redacted_text
from tiltmeter.storage.store.ledger import Store


@dataclass(frozen=True)
class PlannedJob:
    """A job that is planned, and what it starts from.

    Attributes:
        name: in the list of a night; of a plan of one job, that job.
    """

    name: str
    job: Job[Any, Any]
    config: CommonConfig
    sources: Sources


@dataclass(frozen=True)
class UnplannedJob:
    """A job of a list that can't be planned.

    Attributes:
        name, job: as the list calls it, and what it would run.
        status: ``not_planned`` where there is nothing to plan, ``refused`` where the job would be refused.
        reason: why, in a sentence.
    """

    name: str
    job: str
    status: str
    reason: str


@dataclass(frozen=True)
class PlannedSources:
    """What is planned, with what it starts from.

    Attributes:
        jobs: one, or those of a list.
        listed: the list that they are of; None for one job.
        max_hours: after which the night stops a job; None: never.
    """

    jobs: Sequence[PlannedJob | UnplannedJob]
    listed: JobList | None = None
    max_hours: float | None = None

    def record(self) -> dict[str, Any]:
        """Every input with its version, for ``run.json``; those of the jobs of a list by their names."""
        by_name = {job.name: job.sources.record() for job in self.jobs if isinstance(job, PlannedJob)}
        if self.listed is None:
            [record] = by_name.values()
            return record
        return self.listed.record() | {"planned": by_name}


def find_planned(config: PlanRun) -> PlannedSources:
    """Look for whatever the planned job starts from, or the jobs of the planned night.

    Raises:
        ConfigError: for a corpus that would be fetched first; for a list that makes no sense.
        Refusal: as the planned job refuses it.
    """
    if config.job.planned != NIGHT:
        return PlannedSources([planned_job(config.job.planned, config.planned)])
    listed, night = find_list(config.planned), config.planned
    return PlannedSources([_of_list(job, night) for job in listed.jobs], listed, night.job.max_hours)


def planned_job(name: str, config: CommonConfig) -> PlannedJob:
    """A job with what it starts from.

    Raises:
        ConfigError, Refusal: as :func:`find_planned`.
    """
    planned, root = job(config.job.name), Store(config.store).root
    for corpus in _corpora(config):
        _check_copies(corpus, root)
    return PlannedJob(name, planned, config, planned.find_sources(config))


def _of_list(listed: ListedJob, night: OvernightRun) -> PlannedJob | UnplannedJob:
    """A job of a list, on the night's cluster and in its store."""
    try:
        command = read_command(words_of_night(listed, night.cluster))
        config = replace(compose(command.words), store=night.store)
        if command.is_plan or not job(config.job.name).has_units:
            return UnplannedJob(listed.name, listed.job, "not_planned", f"job={listed.job}: {NO_UNITS}")
        if reason := why_not(config):
            return UnplannedJob(listed.name, listed.job, "not_planned", f"job={listed.job}: {reason}")
        return planned_job(listed.name, config)
    except Refusal as error:
        return UnplannedJob(listed.name, listed.job, "refused", redacted_text(str(error)))


def _check_copies(corpus: CorpusConfig, store: str) -> None:
    if not corpus.download:
        return
    from tiltmeter.storage.files.downloads import has_copy  # its libraries take 0.2 s to import

    for path in corpus.paths:
        if is_web(path) and not has_copy(path, store):
            raise ConfigError(
                f"{corpus.name}: {redacted(path)} is not in the store, and a plan fetches nothing: set corpus.path to "
                "a copy that you have, or start the job, which fetches it first"
            )


def _corpora(node: Any) -> Iterator[CorpusConfig]:
    """All corpora of a config, wherever they stand in it."""
    if isinstance(node, CorpusConfig):
        yield node
    elif is_dataclass(node):
        for field in fields(node):
            yield from _corpora(getattr(node, field.name))
    elif isinstance(node, Mapping):
        for inner in node.values():
            yield from _corpora(inner)
    elif isinstance(node, list | tuple):
        for inner in node:
            yield from _corpora(inner)
