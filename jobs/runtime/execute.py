"""One execution of one job: open the run directory and the cluster, run the job, keep the record."""

import dataclasses
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import yaml
from rich.console import Console

from tiltmeter.cluster.connection import connected
from tiltmeter.cluster.preflight import preflight
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.stages import Runner, UnitsFailed
from tiltmeter.cluster.workers import Failure, Pool
from tiltmeter.jobs.association import job as association
from tiltmeter.jobs.classifiers.decoys import job as decoy_benchmark
from tiltmeter.jobs.classifiers.decoys.config import find_sources as find_benchmark_sources
from tiltmeter.jobs.classifiers.privacy import job as privacy_metrics
from tiltmeter.jobs.classifiers.privacy.sources import find_sources as find_privacy_sources
from tiltmeter.jobs.embedding import job as bootstrap
from tiltmeter.jobs.embedding import sources
from tiltmeter.jobs.gender import job as gender_survey
from tiltmeter.jobs.psychophysics import job as psychophysics
from tiltmeter.jobs.report.terminal import print_outcome
from tiltmeter.jobs.resolution import job as entity_resolution
from tiltmeter.jobs.resolution.sources import find_sources as find_resolution_sources
from tiltmeter.jobs.runtime.composition import RunConfig
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.provenance import RECORDED_PACKAGES, peak_memory_bytes, provenance
from tiltmeter.jobs.runtime.resources import asks
from tiltmeter.jobs.sentiment.gru_training import job as gru_training
from tiltmeter.jobs.sentiment.gru_training.config import find_labelled
from tiltmeter.jobs.sentiment.rating import job as sentiment_rating
from tiltmeter.jobs.sentiment.rating.sources import find_sources as find_rating_sources
from tiltmeter.jobs.survey import job as survey
from tiltmeter.jobs.upkeep.compare import job as compare
from tiltmeter.jobs.upkeep.overnight import job as overnight
from tiltmeter.jobs.upkeep.overnight.config import find_jobs
from tiltmeter.jobs.upkeep.prune import job as prune
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.redaction import redacted_text, redacted_values
from tiltmeter.storage.store.identity import canonical, digest
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.registry import Entry, Registry, Status
from tiltmeter.storage.store.runs import RunDirectory, opened


@dataclass(frozen=True)
class _Job:
    """A job.

    Attributes:
        run: what runs it.
        tables: that it may publish.
        find_sources: what finds its sources, in a config and the store's root.
        on_cluster: whether it does units; others need no workers, and no later run looks back at them.
    """

    run: Callable[[Run[Any, Any]], None]
    tables: tuple[str, ...]
    find_sources: Callable[[Any, str], Any] = sources.find_sources
    on_cluster: bool = True


_JOBS = {
    "association": _Job(association.run, association.TABLES),
    "bootstrap": _Job(bootstrap.run, bootstrap.TABLES),
    "compare": _Job(compare.run, compare.TABLES, compare.find_runs, on_cluster=False),
    "decoy_benchmark": _Job(decoy_benchmark.run, decoy_benchmark.TABLES, find_benchmark_sources),
    "entity_resolution": _Job(entity_resolution.run, entity_resolution.TABLES, find_resolution_sources),
    "gender_survey": _Job(gender_survey.run, gender_survey.TABLES),
    "gru_training": _Job(gru_training.run, gru_training.TABLES, find_labelled),
    "overnight": _Job(overnight.run, overnight.TABLES, find_jobs, on_cluster=False),
    "privacy_metrics": _Job(privacy_metrics.run, privacy_metrics.TABLES, find_privacy_sources),
    "prune": _Job(prune.run, prune.TABLES, prune.find_nothing, on_cluster=False),
    "psychophysics": _Job(psychophysics.run, psychophysics.TABLES),
    "sentiment_rating": _Job(sentiment_rating.run, sentiment_rating.TABLES, find_rating_sources),
    "survey": _Job(survey.run, survey.TABLES),
}


def execute(config: RunConfig) -> Path:
    """Run a job; returns the run directory.

    Raises:
        UnitsFailed: if units failed; ``run.json`` then names them with their tracebacks.
        ConfigError, InputError, ClusterError, RunDirectoryBusy, StorageError: if the run could not start or go on.
    """
    store, job = Store(config.store), _JOBS[config.job.name]
    found = job.find_sources(config, store.root)
    settings = cast(dict[str, Any], canonical(_plain(config, store)))
    console = Console()
    with opened(_run_directory(config, store)) as directory:
        entry = _entered(config, store, directory, settings) if job.on_cluster else None
        runner = Runner(store, Pool(store, config.cluster.max_retries), Display(console), entry)
        run = Run(config, found, runner, directory, console)
        directory.begin(job.tables, job=config.job.name, seed=config.seed, **provenance())
        with _told(console, directory), _recorded(run):
            directory.write_text("config.yaml", yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))
            directory.record["inputs"] = redacted_values(found.record())
            if job.on_cluster:
                _do(job, run)
            else:
                job.run(run)
    return directory.path


def _do(job: _Job, run: Run[Any, Any]) -> None:
    """Run a job on workers."""
    runner, config = run.runner, run.config
    runner.store.sweep()
    with connected(config.cluster):
        found = preflight(config.cluster, runner.store, partial(asks, config, run.sources), RECORDED_PACKAGES)
        run.directory.record["cluster"] = found.record()
        for warning in found.warnings:
            run.console.print(f"warning: {warning}", soft_wrap=True, highlight=False)
        with runner.pool.started(*found.workers), runner.display:
            try:
                job.run(run)
            except StorageError:
                # Units that failed, such as on a full disk, say more than what could not be written after them.
                runner.check()
                raise
    runner.store.sweep()
    runner.check()


_NOT_ASKED = ("cluster", "reading", "run_dir", "series", "store")
"""Settings that say where and how a run works, not what it asks."""


def _entered(config: RunConfig, store: Store, directory: RunDirectory, settings: dict[str, Any]) -> Entry:
    asked = {key: value for key, value in settings.items() if key not in _NOT_ASKED}
    series = config.series or digest(asked)
    return Registry(store).enter(config.job.name, series, run_dir=str(directory.path), settings=settings)


@contextmanager
def _told(console: Console, directory: RunDirectory) -> Iterator[None]:
    """Say at the end what has been published, also by a run of which some units failed."""
    try:
        yield
    finally:
        if any(directory.tables.values()):
            print_outcome(console, directory)


@contextmanager
def _recorded(run: Run[Any, Any]) -> Iterator[None]:
    """Write into ``run.json``, and the store's register, how what happens inside ended."""
    started, directory = time.monotonic(), run.directory
    try:
        yield
    except BaseException as error:
        directory.record["error"] = {
            "error": redacted_text(f"{type(error).__name__}: {error}"),
            "traceback": redacted_text("".join(traceback.format_exception(error))),
        }
        if isinstance(error, UnitsFailed):
            directory.record["failures"] = [_failure(failure) for failure in error.failures]
        try:
            _end(run, "failed", started)
        except StorageError as also:
            error.add_note(str(also))
        raise
    _end(run, "succeeded", started)


def _end(run: Run[Any, Any], status: Status, started: float) -> None:
    run.directory.write_record(status=status, **_account(run.runner, started))
    if run.runner.entry:
        run.runner.entry.end(status, run.directory.record, run.published)


def _failure(failure: Failure) -> dict[str, str]:
    unit = failure.unit
    told = {"unit": unit.name, "place": unit.place, "error": failure.error, "traceback": failure.traceback}
    return {name: redacted_text(text) for name, text in told.items()}


def _run_directory(config: RunConfig, store: Store) -> Path:
    if config.run_dir is not None:
        return Path(config.run_dir).expanduser().absolute()
    if store.local_path is None:
        raise ConfigError(f"run_dir is not set and store={store.name} is not a local path: set run_dir=<local path>")
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S-%fZ")
    return store.local_path / "runs" / config.job.name / moment


def _account(runner: Runner, started: float) -> dict[str, Any]:
    records = runner.records
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started, 3),
        "units": {
            "done": sum(record.num_done for record in records),
            "reused": sum(record.num_reused for record in records),
            "failed": sum(record.num_failed for record in records),
        },
        "stages": [dataclasses.asdict(record) for record in records],
        "peak_memory_bytes": {
            "driver": peak_memory_bytes(),
            "worker": max((record.peak_worker_memory_bytes for record in records), default=0),
        },
    }


def _plain(config: RunConfig, store: Store) -> dict[str, Any]:
    """The config as it may be shown: URIs without the credentials that they may hold."""
    plain: dict[str, Any] = redacted_values(dataclasses.asdict(config.redacted()))
    return plain | {"store": store.name}
