"""What came of a night: in sentences, as data, and as what ends it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.storage.errors import LimitExceeded, WorkFailed

Rows = Sequence[Mapping[str, Any]]


class JobsFailed(WorkFailed):
    """Some jobs of the night did not succeed; the others did."""


def failure_of(jobs: Rows, gates: Rows) -> JobsFailed | LimitExceeded | None:
    """What a night ends with; None if all is well.

    Args:
        jobs, gates: rows of the tables.
    """
    if failed := [f"{row['name']} ({row['status']})" for row in jobs if row["status"] != "ok"]:
        return JobsFailed(f"{len(failed)} of {plural(len(jobs), 'job')} did not succeed: {', '.join(failed)}")
    if failed := [f"{row['name']}: {row['sentence'].removesuffix('.')}" for row in gates if row["verdict"] == "failed"]:
        return LimitExceeded(f"{len(failed)} of {plural(len(gates), 'gate')} failed: {'; '.join(failed)}")
    return None


def sentences(jobs: Rows, gates: Rows) -> list[str]:
    """The same for people, a sentence a line."""
    failure = failure_of(jobs, gates)
    moved = [
        f"{row['name']}: {plural(row['num_beyond'], 'number')} moved beyond "
        f"{'its interval' if row['num_beyond'] == 1 else 'their intervals'} since {row['compared_with']}."
        for row in jobs
        if row["num_beyond"]
    ]
    failed = [f"{row['name']}: {row['sentence']}" for row in gates if row["verdict"] == "failed"]
    reasons = [f"{row['name']} {row['status']}: {row['reason']}" for row in jobs if row["status"] != "ok"]
    left_out = [f"{row['name']}: {line}." for row in jobs for line in row["left_out"].splitlines()]
    headline = str(failure).partition(": ")[0] if failed and not reasons else str(failure or "all jobs succeeded")
    return [f"{headline[0].upper()}{headline[1:]}.", *reasons, *failed, *moved, *left_out]


def outcome(path: Path, jobs: Rows, gates: Rows) -> dict[str, Any]:
    """The same for programs.

    Args:
        path: the night's run directory.
        jobs, gates: rows of the tables.
    """
    failure = failure_of(jobs, gates)
    status = "succeeded" if failure is None else "jobs_failed" if isinstance(failure, JobsFailed) else "gates_failed"
    return {"status": status, "run_dir": str(path), "jobs": list(jobs), "gates": list(gates)}


def as_json(content: Mapping[str, Any]) -> bytes:
    """Readable JSON; numbers that are none, or not finite, are null."""
    plain = json.loads(json.dumps(content, ensure_ascii=False), parse_constant=lambda _: None)
    return (json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
