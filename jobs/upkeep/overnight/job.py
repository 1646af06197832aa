"""Job `overnight`: a list of jobs, one after the other, and what moved since each of them last succeeded."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.jobs.changes.history import History, as_past_run, history
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.jobs.upkeep.overnight import tables
from tiltmeter.jobs.upkeep.overnight.child import Ended, run_job
from tiltmeter.jobs.upkeep.overnight.config import JobList, JobsFailed, ListedJob, OvernightRun, find_jobs
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.runs import read_run_table


def run(run: Run[OvernightRun, JobList]) -> None:
    """Run each job as a process of its own, compare those that succeeded; publish tables."""
    rows, changes = [], []
    for listed in run.sources.jobs:
        run.console.print(f"{listed.name}: job={listed.job}", highlight=False)
        ended = _run(run, listed)
        comparison = _since_last_time(run.runner.store, listed) if ended.status == "ok" else History()
        rows.append(_row(listed, ended, comparison))
        names = pa.array([listed.name] * comparison.changes.num_rows, pa.string())
        changes.append(comparison.changes.add_column(0, tables.CHANGES.field("name"), names))
        _print_summary(run, listed, ended, comparison)
    run.directory.write_table("jobs", pa.Table.from_pylist(rows, tables.JOBS))
    run.directory.write_table("changes", pa.concat_tables(changes))


def _run(run: Run[OvernightRun, JobList], listed: ListedJob) -> Ended:
    config, directory = run.config, run.directory
    log = directory.export(f"{listed.name}.log")
    run_dir = directory.path / "runs" / listed.name
    return run_job(listed, run.runner.store.root, run_dir, config.cluster, log, config.job.max_hours)


def _since_last_time(store: Store, listed: ListedJob) -> History:
    """Nothing for a job that does no units, such as ``prune``."""
    last = Registry(store).last_succeeded(listed.job, listed.name)
    return history(store, last, as_past_run(store, last)) if last else History()


def _row(listed: ListedJob, ended: Ended, comparison: History) -> dict[str, Any]:
    units = ended.record.get("units", {})
    return {
        "name": listed.name,
        "job": listed.job,
        "status": ended.status,
        "reason": ended.reason,
        "exit_status": ended.exit_status,
        "seconds": ended.seconds,
        **{f"num_{name}": units.get(name, 0) for name in ("done", "reused", "failed")},
        "compared_with": comparison.since,
        "num_changes": comparison.changes.num_rows if comparison.since else None,
        "num_beyond": pc.sum(comparison.changes["beyond"]).as_py() or 0 if comparison.since else None,
        "run_dir": str(ended.run_dir),
    }


def _print_summary(run: Run[OvernightRun, JobList], listed: ListedJob, ended: Ended, comparison: History) -> None:
    row = _row(listed, ended, comparison)
    did = row["num_done"] + row["num_reused"] + row["num_failed"] > 0
    counts = f": {plural(row['num_done'], 'unit')} done, {row['num_reused']:,} reused, {row['num_failed']:,} failed"
    lines = [f"  {ended.status} in {ended.seconds:.0f} s{counts if did else ''}", *ended.reason.splitlines()]
    if comparison.since:
        moved = plural(row["num_beyond"], "number")
        whose = "its interval" if row["num_beyond"] == 1 else "their intervals"
        lines.append(f"{plural(row['num_changes'], 'change')} since {comparison.since}; {moved} moved beyond {whose}")
    elif did and ended.status == "ok":
        lines.append("no earlier run to compare with")
    run.console.print("\n  ".join(lines), highlight=False, markup=False, soft_wrap=True)


def _refuse_failures(run: Run[OvernightRun, JobList]) -> None:
    """After all have run, and the page says so.

    Raises:
        JobsFailed: if a job did not succeed.
    """
    rows = read_run_table(run.directory.path, "jobs").select(["name", "status"]).to_pylist()
    if failed := [f"{row['name']} ({row['status']})" for row in rows if row["status"] != "ok"]:
        raise JobsFailed(f"{len(failed)} of {plural(len(rows), 'job')} did not succeed: {', '.join(failed)}")


JOB = Job(
    OvernightRun,
    find_jobs,
    run,
    tables.TABLES,
    "tiltmeter.jobs.upkeep.overnight.page:page",
    check=_refuse_failures,
    has_units=False,
)
