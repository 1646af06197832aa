"""One execution of one job: open the run directory and the cluster, run the job, keep the record."""

import dataclasses
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from rich.console import Console

from tiltmeter.cluster.interrupts import prevailing
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.stages import Runner, UnitsFailed
from tiltmeter.cluster.start import Workers
from tiltmeter.cluster.work import Failure
from tiltmeter.jobs.changes.history import changes_of_run
from tiltmeter.jobs.report import terminal
from tiltmeter.jobs.report.figures import check_figures
from tiltmeter.jobs.report.lead import first_sentence
from tiltmeter.jobs.report.page import write_report
from tiltmeter.jobs.report.trackers import check_trackers, send_to_trackers
from tiltmeter.jobs.runtime import draws
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError, asked, recorded_settings
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.provenance import RECORDED_PACKAGES, peak_memory_bytes, provenance
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import LimitExceeded, StorageError
from tiltmeter.storage.files.redaction import redacted_text, redacted_values
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.marks import open_store
from tiltmeter.storage.store.registry import Entry, Registry, Status
from tiltmeter.storage.store.runs import RunDirectory, opened

if TYPE_CHECKING:
    from tiltmeter.cluster.preflight import Preflight


def execute(job: Job[Any, Any], config: CommonConfig) -> Path:
    """Run a job; returns the run directory.

    Raises:
        UnitsFailed: if units failed; ``run.json`` then names them with their tracebacks.
        ConfigError, InputError, ClusterError, RunDirectoryBusy, StorageError: if the run could not start or go on.
    """
    if config.exports.figures:
        check_figures()
    check_trackers(config.exports)
    store = Store(config.store)
    with collected() as bad:
        sources = job.find_sources(config)
    bad.check(config.reading.max_bad_share)
    settings = recorded_settings(config, store.name)
    # It takes longest of what comes before the record, in which a signal would leave no trace.
    console, facts = terminal.console(), provenance()
    with opened(_run_directory(config, store)) as directory:
        if job.has_units:
            open_store(store)
        entry = _entered(config, store, directory, settings) if job.has_units else None
        requests, note = partial(job.resources, config, sources), partial(_note_cluster, directory, console)
        workers = Workers(config.cluster, store, requests, RECORDED_PACKAGES, note)
        run = Run(config, sources, Runner(store, workers, Display(console, job.stages), entry), directory, console)
        if job.has_units:
            terminal.print_start(console, config.job.name, directory.path)
        directory.begin(job.tables, job=config.job.name, seed=config.seed, **facts)
        with _outcome_printed(run), _recorded(run):
            directory.write_text("config.yaml", _yaml(settings))
            directory.record["inputs"] = redacted_values(sources.record())
            run.leave_out(bad)
            with workers, run.runner.display if job.has_units else nullcontext():
                _do(job, run)
            if job.has_units:
                # Only now no worker can write any more.
                store.clean_up()
            run.runner.check()
            job.check(run)
    return directory.path


def _yaml(settings: dict[str, Any]) -> str:
    """Of a config with thousands of settings libyaml makes YAML ten times as fast, where it is there."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(settings, Dumper=dumper, sort_keys=False, allow_unicode=True))


def _do(job: Job[Any, Any], run: Run[Any, Any]) -> None:
    runner = run.runner
    if job.has_units:
        runner.store.clean_up()
    try:
        job.run(run)
        run.publish_all({draws.NAME: list(runner.draws.values())})
        changes = changes_of_run(run)
        run.lead = write_report(run, job.load_page(), changes)
        run.directory.record["headline"] = run.lead.headline
        run.directory.record["changes"] = first_sentence([block for part in changes for block in part.blocks])
    except StorageError:
        # Units that failed, such as on a full disk, say more than what could not be written after them.
        runner.check()
        raise


def _note_cluster(directory: RunDirectory, console: Console, cluster: "Preflight") -> None:
    directory.record["cluster"] = cluster.record()
    for warning in cluster.warnings:
        console.print(f"warning: {warning}", soft_wrap=True, highlight=False)


def _entered(config: CommonConfig, store: Store, directory: RunDirectory, settings: dict[str, Any]) -> Entry:
    series = config.series or digest(asked(settings))
    return Registry(store).enter(config.job.name, series, run_dir=str(directory.path), settings=settings)


@contextmanager
def _outcome_printed(run: Run[Any, Any]) -> Iterator[None]:
    """Say at the end what has been published, also by a run of which some units failed."""
    try:
        yield
    finally:
        if any(run.directory.tables.values()):
            terminal.print_outcome(run)


@contextmanager
def _recorded(run: Run[Any, Any]) -> Iterator[None]:
    """Write into ``run.json``, and the store's register, how what happens inside ended."""
    started, directory = time.monotonic(), run.directory
    try:
        with prevailing():
            yield
    except LimitExceeded:
        # All work was done.
        _end(run, "succeeded", started)
        raise
    except BaseException as error:
        status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        directory.record["error"] = _described(error)
        if isinstance(error, UnitsFailed):
            directory.record["failures"] = [_failure(failure) for failure in error.failures]
        try:
            _end(run, status, started)
        except StorageError as also:
            error.add_note(str(also))
        raise
    _end(run, "succeeded", started)


def _described(error: BaseException) -> dict[str, str]:
    if isinstance(error, KeyboardInterrupt):
        return {"error": str(error) or "interrupted"}
    trace = "".join(traceback.format_exception(error))
    return {"error": redacted_text(f"{type(error).__name__}: {error}"), "traceback": redacted_text(trace)}


def _end(run: Run[Any, Any], status: Status, started: float) -> None:
    run.directory.write_record(status=status, **_account(run.runner, started))
    if run.runner.entry:
        run.runner.entry.end(status, run.directory.record, run.published)
    if status == "succeeded":
        send_to_trackers(run, recorded_settings(run.config, run.runner.store.name))


def _failure(failure: Failure) -> dict[str, str]:
    unit = failure.unit
    record = {"unit": unit.name, "place": unit.place, "error": failure.error, "traceback": failure.traceback}
    return {name: redacted_text(text) for name, text in record.items()}


def _run_directory(config: CommonConfig, store: Store) -> Path:
    if config.run_dir is not None:
        return Path(config.run_dir).expanduser().absolute()
    if store.local_path is None:
        raise ConfigError(f"run_dir is not set and store={store.name} is not a local path: set run_dir=<local path>")
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S-%fZ")
    return Path(store.inside(f"runs/{config.job.name}/{moment}"))


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
