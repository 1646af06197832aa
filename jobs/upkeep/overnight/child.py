"""A job of a night: the command that a person would type, as a process of its own."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tiltmeter
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.cluster.interrupts import kept_waiting
from tiltmeter.jobs.runtime.settings.hydra_limits import quoted
from tiltmeter.jobs.upkeep.overnight.config import ListedJob
from tiltmeter.jobs.upkeep.overnight.notifying import VARIABLES

INTERRUPTED = "interrupted"

_STORE = "TILTMETER_STORE"
_SECONDS_TO_STOP = 60.0
_LAST_LINES = 20
_EXIT_STATUSES = {0: "ok", 1: "failed", 2: "refused", 3: "ok"}
"""A job whose own gates failed did all of its work: its night has its gates."""


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    Attributes:
        status: ``ok``, ``failed``, ``refused`` (before any work), ``stopped`` (it took too long) or ``interrupted``
            (the night was).
        reason: why it did not succeed.
        record: its ``run.json``, or nothing if it did not get that far.
    """

    status: str
    reason: str
    exit_status: int | None
    seconds: float
    run_dir: Path
    record: dict[str, Any] = field(default_factory=dict)


def run_job(
    listed: ListedJob, store: str, run_dir: Path, cluster: ClusterConfig, log: Path, max_hours: float | None
) -> Ended:
    """Run a job to its end.

    Args:
        listed: the job.
        store: root of the store.
        run_dir: the job's.
        cluster: where it runs, unless it says so itself.
        log: file for what it prints.
        max_hours: after which it is stopped; None: never.
    """
    # -P: a file in the working directory must not be taken for one of our modules, or of anybody's.
    command = [sys.executable, "-P", "-m", "tiltmeter.jobs.app", *words(listed, run_dir, cluster)]
    started = time.monotonic()
    with open(log, "wb") as output:
        try:
            with kept_waiting():
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=_environment(store)
                )
            exit_status = process.wait(None if max_hours is None else max_hours * 3600)
            status = _EXIT_STATUSES.get(exit_status, "failed")
        except subprocess.TimeoutExpired:
            exit_status, status = stop(process), "stopped"
        except KeyboardInterrupt:
            exit_status, status = stop(process), INTERRUPTED
    reason = "" if status == "ok" else _reason(log, status, exit_status, max_hours)
    return Ended(status, reason, exit_status, time.monotonic() - started, run_dir, _record(run_dir))


def _environment(store: str) -> dict[str, str]:
    """Everybody can see the words of a command, but not its environment: that is where a store with keys belongs. Whom
    the night tells is no business of its jobs."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(VARIABLES)}
    path = [str(Path(tiltmeter.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return inherited | {_STORE: store, "PYTHONPATH": os.pathsep.join(path)}


def words(listed: ListedJob, run_dir: Path, cluster: ClusterConfig) -> list[str]:
    """The words of its command line, with those that the night adds.

    >>> job = ListedJob("ratings", ("job=sentiment_rating", "cluster.num_cpus=2"))
    >>> words(job, Path("/nights/1"), ClusterConfig())[2:]
    ['store=${oc.env:TILTMETER_STORE}', "run_dir='/nights/1'", "series='ratings'"]
    """
    ours = {"run_dir": str(run_dir), "series": listed.name}
    return [
        *words_of_night(listed, cluster),
        f"store=${{oc.env:{_STORE}}}",
        *(f"{key}={quoted(value)}" for key, value in ours.items()),
    ]


def words_of_night(listed: ListedJob, cluster: ClusterConfig) -> list[str]:
    """The words of a job's line, on the cluster of the night unless it has one of its own."""
    return [*([] if listed.sets("cluster") else _cluster_words(cluster)), *listed.words]


def _cluster_words(cluster: ClusterConfig) -> list[str]:
    settings = {key: value for key, value in dataclasses.asdict(cluster).items() if key != "kind"}
    shown = {key: quoted(value) if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}
    return [f"cluster={cluster.kind}", *(f"++cluster.{key}={value}" for key, value in shown.items())]


def stop(process: subprocess.Popen[bytes]) -> int:
    """End a process, at once if it does not end itself; what it finished stays in the store."""
    process.terminate()
    try:
        return process.wait(_SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _reason(log: Path, status: str, exit_status: int, max_hours: float | None) -> str:
    if status == INTERRUPTED:
        return "the night was interrupted while it ran"
    if status == "stopped":
        return f"took more than job.max_hours={max_hours:g}"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    message = _last_message(lines) or lines[-_LAST_LINES:]
    by_signal = [f"ended by signal {-exit_status}"] if exit_status < 0 else []
    return "\n".join([*by_signal, *message])


def _last_message(lines: Sequence[str]) -> Sequence[str]:
    """What the command says last of itself."""
    starts = [index for index, line in enumerate(lines) if line.startswith("tiltmeter: ")]
    return lines[starts[-1] :][:_LAST_LINES] if starts else []


def _record(run_dir: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((run_dir / "run.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
