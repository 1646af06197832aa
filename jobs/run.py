"""One execution of one job: open the run directory and the cluster, run the job, keep the record."""

import dataclasses
import importlib.metadata
import platform
import resource
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from cluster.connection import connected
from cluster.progress import Display
from cluster.stages import Runner, UnitsFailed
from cluster.workers import Failure, Pool
from jobs import (
    association,
    bootstrap,
    entity_resolution,
    gender_survey,
    gru_training,
    psychophysics,
    sentiment_rating,
    sources,
    survey,
)
from jobs.common_config import ConfigError
from jobs.config import RunConfig
from jobs.context import Run
from jobs.resolution.sources import find_sources as find_resolution_sources
from jobs.sentiment.sources import find_sources as find_rating_sources
from jobs.sentiment.training_config import find_labelled
from jobs.summary import print_outcome
from storage.identity import canonical
from storage.ledger import Store
from storage.runs import RunDirectory, opened

_RECORDED_PACKAGES = (
    *(
        "gensim",
        "highspy",
        "mwparserfromhell",
        "networkx",
        "numba",
        "numpy",
        "opencc",
        "polars",
        "pyarrow",
        "ray",
        "regex",
        "rjieba",
    ),
    *("ray", "regex", "rjieba", "scikit-learn", "scipy", "textblob", "torch", "transformers", "vaderSentiment"),
)


@dataclass(frozen=True)
class _Job:
    """What runs it, the tables that it may publish, and what finds its sources in a config and the store's root."""

    run: Callable[[Run[Any, Any]], None]
    tables: tuple[str, ...]
    find_sources: Callable[[Any, str], Any] = sources.find_sources


_JOBS = {
    "association": _Job(association.run, association.TABLES),
    "bootstrap": _Job(bootstrap.run, bootstrap.TABLES),
    "entity_resolution": _Job(entity_resolution.run, entity_resolution.TABLES, find_resolution_sources),
    "gender_survey": _Job(gender_survey.run, gender_survey.TABLES),
    "gru_training": _Job(gru_training.run, gru_training.TABLES, find_labelled),
    "psychophysics": _Job(psychophysics.run, psychophysics.TABLES),
    "sentiment_rating": _Job(sentiment_rating.run, sentiment_rating.TABLES, find_rating_sources),
    "survey": _Job(survey.run, survey.TABLES),
}


def execute(config: RunConfig) -> Path:
    """Run a job; returns the run directory.

    Raises:
        UnitsFailed: if units failed; ``run.json`` then names them with their tracebacks.
        ConfigError, CorpusError, ClusterError, RunDirectoryBusy, StorageError: if the run could not start or go on.
    """
    store, job = Store(config.store), _JOBS[config.job.name]
    found = job.find_sources(config, store.root)
    settings = yaml.safe_dump(canonical(_plain(config, store)), sort_keys=False, allow_unicode=True)
    console = Console()
    with opened(_run_directory(config, store)) as directory:
        directory.begin(job.tables, **_provenance(config))
        runner = Runner(store, Pool(store, config.cluster.max_retries), Display(console))
        with _told(console, directory), _recorded(directory, runner):
            directory.write_text("config.yaml", settings)
            store.sweep()
            directory.record["inputs"] = found.record()
            with connected(config.cluster) as workers, runner.pool.started(*workers), runner.display:
                job.run(Run(config, found, runner, directory, console))
            store.sweep()
            runner.check()
    return directory.path


@contextmanager
def _told(console: Console, directory: RunDirectory) -> Iterator[None]:
    """Say at the end what has been published, also by a run of which some units failed."""
    try:
        yield
    finally:
        if any(directory.tables.values()):
            print_outcome(console, directory)


@contextmanager
def _recorded(directory: RunDirectory, runner: Runner) -> Iterator[None]:
    """Write into ``run.json`` how what happens inside ended."""
    started = time.monotonic()
    try:
        yield
    except BaseException as error:
        directory.record["error"] = {
            "error": f"{type(error).__name__}: {error}",
            "traceback": "".join(traceback.format_exception(error)),
        }
        if isinstance(error, UnitsFailed):
            directory.record["failures"] = [_failure(failure) for failure in error.failures]
        directory.write_record(status="failed", **_account(runner, started))
        raise
    directory.write_record(status="succeeded", **_account(runner, started))


def _failure(failure: Failure) -> dict[str, str]:
    unit = failure.unit
    return {"unit": unit.name, "place": unit.place, "error": failure.error, "traceback": failure.traceback}


def _run_directory(config: RunConfig, store: Store) -> Path:
    if config.run_dir is not None:
        return Path(config.run_dir).expanduser().absolute()
    if store.local_path is None:
        raise ConfigError(f"run_dir is not set and store={store.name} is not a local path: set run_dir=<local path>")
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S-%fZ")
    return store.local_path / "runs" / config.job.name / moment


def _provenance(config: RunConfig) -> dict[str, Any]:
    return {
        "job": config.job.name,
        "seed": config.seed,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": _git_commit(),
        "versions": {"python": platform.python_version()}
        | {package: importlib.metadata.version(package) for package in _RECORDED_PACKAGES},
        "machine": {"system": platform.platform(), "processor": _processor()},
    }


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
            "driver": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "worker": max((record.peak_worker_memory_bytes for record in records), default=0),
        },
    }


def _plain(config: RunConfig, store: Store) -> dict[str, Any]:
    """The config as it may be shown: URIs without the keys that they may hold."""
    return dataclasses.asdict(config.without_keys()) | {"store": store.name}


def _git_commit() -> str | None:
    """The commit of the checkout that runs, with ``+changes`` if it was edited; None outside a checkout."""
    here = Path(__file__).parent
    asked = [["git", "-C", str(here), *words] for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "-uno"])]
    try:
        commit, changes = (
            subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in asked
        )
    except (subprocess.CalledProcessError, FileNotFoundError):
        return None
    return commit.strip() + ("+changes" if changes.strip() else "")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
