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


def moves(row: Mapping[str, Any]) -> str:
    """How many numbers of a job moved: those that were judged, and behind them how many nothing judges.

    >>> moves({"num_judged": 1930, "num_moved": 0, "num_beyond": 34})
    '0 of 1,930 judged numbers moved; 34 without draws left their interval (by chance one in six)'
    """
    judged = f"{row['num_moved']:,} of {plural(row['num_judged'], 'judged number')} moved"
    rest = row["num_beyond"] - row["num_moved"]
    return f"{judged}; {rest:,} without draws left their interval (by chance one in six)" if rest else judged


def sentences(jobs: Rows, gates: Rows) -> list[str]:
    """The same for people, a sentence a line."""
    failure = failure_of(jobs, gates)
    compared = [row for row in jobs if row["num_judged"] or row["num_beyond"]]
    moved = [f"{row['name']}, since {row['compared_with']}: {moves(row)}." for row in compared]
    run_dirs = {row["name"]: row["run_dir"] for row in jobs}
    failed = [f"{row['name']}: {row['sentence']}" for row in gates if row["verdict"] == "failed"]
    places = {row["name"]: f"{row['name']}: see {run_dirs[row['name']]}" for row in gates if row["verdict"] == "failed"}
    reasons = [f"{row['name']} {row['status']}: {row['reason']}" for row in jobs if row["status"] != "ok"]
    left_out = [f"{row['name']}: {line}." for row in jobs for line in row["left_out"].splitlines()]
    headline = str(failure).partition(": ")[0] if failed and not reasons else str(failure or "all jobs succeeded")
    return [f"{headline[0].upper()}{headline[1:]}.", *reasons, *failed, *places.values(), *moved, *left_out]


def outcome(path: Path, jobs: Rows, gates: Rows) -> dict[str, Any]:
    """The same for programs.

    Args:
        path: the night's run directory.
        jobs, gates: rows of the tables.
    """
    failure = failure_of(jobs, gates)
    status = "succeeded" if failure is None else "jobs_failed" if isinstance(failure, JobsFailed) else "gates_failed"
    if any(row["status"] == "interrupted" for row in jobs):
        status = "interrupted"
    return {"status": status, "run_dir": str(path), "jobs": list(jobs), "gates": list(gates)}


def as_json(content: Mapping[str, Any]) -> bytes:
    """Readable JSON; numbers that are none, or not finite, are null."""
    plain = json.loads(json.dumps(content, ensure_ascii=False), parse_constant=lambda _: None)
    return (json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
