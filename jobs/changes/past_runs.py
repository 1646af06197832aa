"""Runs to compare: what they recorded, and their tables when they are asked for."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from tiltmeter.jobs.runtime import draws
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import StorageError, meant_path
from tiltmeter.storage.store.runs import RunDirectory, read_run_table

_NIGHT = "overnight"
"""The job whose runs hold those of other jobs."""

OF_NIGHTS = ("changes", "differences", "gates")

_PLAIN_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class PastRun:
    """A run as a comparison sees it.

    Attributes:
        name: for people, such as its directory.
        record: what ``run.json`` says.
        settings: its config, as plain data.
        read: gives a published table; called for those only that differ and are not too large.
    """

    name: str
    record: Mapping[str, Any]
    settings: Mapping[str, Any]
    read: Callable[[str], pa.Table]

    @property
    def job(self) -> str:
        return str(self.record["job"])

    @property
    def moment(self) -> str:
        """When it started, as a reader says it.

        >>> PastRun("a", {"started": "2026-11-21T18:34:23+00:00"}, {}, dict().get).moment
        '2026-11-21 18:34:23 UTC'
        """
        started = str(self.record.get("started", "an unknown time"))
        return re.sub(r"^(\S+)T(\S+)\+00:00$", r"\1 \2 UTC", started)

    @property
    def tables(self) -> dict[str, Mapping[str, Any]]:
        """Rows, bytes and digest of every published table, but for those of draws."""
        return {name: entry for name, entry in self._published.items() if not _is_of_draws(name)}

    @property
    def draws(self) -> list[str]:
        """The names of the tables of draws: one, or of a night one of each job."""
        return [name for name in self._published if _is_of_draws(name)]

    @property
    def _published(self) -> dict[str, Mapping[str, Any]]:
        return {name: entry for name, entry in self.record["tables"].items() if entry}


def _is_of_draws(name: str) -> bool:
    return name.rpartition("/")[2] == draws.NAME


def past_run(path: Path, *, allow_failed: bool = False) -> PastRun:
    """A run from its directory.

    Raises:
        ConfigError: if it is no run directory, or of a run that did not end, or that failed unless that is allowed.
    """
    record, settings = recorded(path), _settings(path)
    status = record.get("status")
    if status == "interrupted":
        raise _refusal(path, "was interrupted: start it again with the same run_dir")
    if status not in ("succeeded", "failed"):
        raise _refusal(path, "is at work, or was killed: wait for it, or start it again with the same run_dir")
    if status == "failed" and not allow_failed:
        raise _refusal(path, "failed, so its tables lack what failed: set job.allow_failed=true to compare the others")
    run = PastRun(str(path), record, settings, partial(_read, path))
    return _night(run, path) if record["job"] == _NIGHT else run


def _night(run: PastRun, path: Path) -> PastRun:
    """A night, with the settings, inputs and tables of its jobs, each below the job's name in the list."""
    names = run.read("jobs")["name"].to_pylist() if "jobs" in run.tables else []
    jobs = {name: _job(path / "runs" / name) for name in names if (path / "runs" / name / "run.json").exists()}
    tables = {f"{name}/{table}": entry for name, job in jobs.items() for table, entry in job.record["tables"].items()}
    inputs = {name: job.record.get("inputs", {}) for name, job in jobs.items()}

    def read(name: str) -> pa.Table:
        job, _, table = name.rpartition("/")
        return jobs[job].read(table) if job else run.read(name)

    # What moved since the nights before them tells nothing of what changed from one to the other.
    entries = {name: entry for name, entry in run.tables.items() if name not in OF_NIGHTS}
    record = {"inputs": {**run.record.get("inputs", {}), **inputs}, "tables": entries | tables}
    settings = {name: job.settings for name, job in jobs.items()}
    return replace(run, record={**run.record, **record}, settings={**run.settings, **settings}, read=read)


def _job(path: Path) -> PastRun:
    """A job of a night."""
    return PastRun(str(path), recorded(path), _settings(path), partial(_read, path))


def run_under_way(directory: RunDirectory, settings: Mapping[str, Any]) -> PastRun:
    """A run that has published its tables but is still at work, for its own report."""
    path, record = directory.path, directory.record | {"tables": directory.tables}
    return PastRun(str(path), record, settings, partial(read_run_table, path))


def _refusal(path: Path, reason: str) -> ConfigError:
    return ConfigError(f"runs: {path} {reason}")


def recorded(path: Path) -> dict[str, Any]:
    """What ``run.json`` of a run directory says.

    Raises:
        ConfigError: if it is no run directory.
    """
    try:
        record = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except OSError as error:
        hint = meant_path(str(path))
        raise _refusal(
            path, f"is not a run directory: it has no run.json that can be read ({error.strerror}){hint}"
        ) from None
    except ValueError as error:
        raise _refusal(path, f"is not a run directory: its run.json is not JSON ({error})") from None
    # Names of tables become paths.
    if (
        not isinstance(record, dict)
        or not {"job", "versions"} <= record.keys()
        or not _are_tables(record.get("tables"))
    ):
        raise _refusal(path, "is not a run directory: its run.json is of another program")
    return record


def _are_tables(tables: object) -> bool:
    return isinstance(tables, dict) and all(
        _PLAIN_NAME.fullmatch(name) and isinstance(entry, dict) for name, entry in tables.items()
    )


def _settings(path: Path) -> Mapping[str, Any]:
    try:
        settings = yaml.safe_load((path / "config.yaml").read_bytes())
    except OSError as error:
        raise _refusal(path, f"is not a run directory: its config.yaml can't be read ({error.strerror})") from None
    except yaml.YAMLError as error:
        raise _refusal(path, f"is not a run directory: its config.yaml is not plain YAML ({error})") from None
    if not isinstance(settings, Mapping):
        raise _refusal(path, "is not a run directory: its config.yaml has no settings")
    return settings


def _read(path: Path, name: str) -> pa.Table:
    try:
        return read_run_table(path, name)
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"{path}: its table {name} can't be read ({error}); run that job again") from error
