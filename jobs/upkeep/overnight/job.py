"""Job `overnight`: a list of jobs, one after the other, and what moved since each of them last succeeded."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.cluster.interrupts import interruption
from tiltmeter.jobs.catalogue import job
from tiltmeter.jobs.changes.differences import Limits, corrected, limits_of
from tiltmeter.jobs.changes.history import History, as_past_run, history, since
from tiltmeter.jobs.changes.past_runs import past_run
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.table import table_from
from tiltmeter.jobs.runtime.wording import left_out_sentences, plural
from tiltmeter.jobs.upkeep.overnight.child import INTERRUPTED, Ended, run_job
from tiltmeter.jobs.upkeep.overnight.config import JobList, ListedJob, OvernightRun, find_jobs
from tiltmeter.jobs.upkeep.overnight.gates import gates_of_comparison, verdicts
from tiltmeter.jobs.upkeep.overnight.junit import junit_xml
from tiltmeter.jobs.upkeep.overnight.notifying import NotificationFailed, notify
from tiltmeter.jobs.upkeep.overnight.outcome import as_json, failure_of, moves, outcome, sentences
from tiltmeter.jobs.upkeep.overnight.tables import TABLES, Changes, Differences, Gates, Jobs, OfJob
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.runs import read_run_table


def run(run: Run[OvernightRun, JobList]) -> None:
    """Run each job as a process of its own, compare those that succeeded, judge them by the gates; publish tables."""
    for listed in run.sources.jobs:
        # None of them may be a link to somewhere else.
        for place in (f"exports/{listed.name}.log", f"runs/{listed.name}"):
            run.directory.inside(place)
    nights: list[_Night] = []
    for listed in run.sources.jobs:
        is_over = bool(nights) and nights[-1][1].status == INTERRUPTED
        nights.append((listed, _not_begun(run, listed), History()) if is_over else _night(run, listed))
    comparisons = [past.comparison for _, _, past in nights if past.comparison]
    limits = limits_of([p_values for comparison in comparisons for p_values in comparison.p_values])
    rows, changes, gates = [], [], []
    for listed, ended, past in nights:
        changed = past.changes(limits)
        rows.append(_row(listed, ended, past, changed))
        verdicts_of_job = _verdicts(run, listed, ended, past, limits)
        gates += verdicts_of_job
        _note(run, listed, ended, verdicts_of_job)
        changes.append(_named(listed, changed, Changes))
        _print_changes(run, rows[-1])
    ended_jobs, judged = table_from(rows, Jobs), table_from(gates, Gates, pa.Table.from_pylist)
    run.directory.write_table("jobs", ended_jobs)
    run.directory.write_table("gates", judged)
    run.directory.write_table("changes", pa.concat_tables(changes))
    run.directory.write_table("differences", _differences(nights))
    of_night = ended_jobs.to_pylist(), judged.to_pylist()
    run.directory.export_bytes("junit.xml", junit_xml(*of_night))
    run.directory.export_bytes("outcome.json", as_json(outcome(run.directory.path, *of_night)))


_Night = tuple[ListedJob, Ended, History]
"""A job of the list, how it ended, and it beside the last run that succeeded before it."""


def _night(run: Run[OvernightRun, JobList], listed: ListedJob) -> _Night:
    run.console.print(f"{listed.name}: job={listed.job}", highlight=False)
    ended, past = _run(run, listed), History()
    if ended.status == "ok":
        try:
            past = _since_last_time(run.runner.store, listed)
        except KeyboardInterrupt:
            ended = replace(ended, status=INTERRUPTED, reason="the night was interrupted before it was compared")
    _print_outcome(run, ended)
    return listed, ended, past


def _not_begun(run: Run[OvernightRun, JobList], listed: ListedJob) -> Ended:
    run_dir = run.directory.path / "runs" / listed.name
    return Ended(INTERRUPTED, "the night was interrupted before it began", None, 0.0, run_dir)


def _named(listed: ListedJob, table: pa.Table, kind: type[OfJob]) -> pa.Table:
    return table.add_column(0, kind.schema().field("name"), pa.repeat(listed.name, table.num_rows))


def _differences(nights: Sequence[_Night]) -> pa.Table:
    """Of all jobs, corrected together."""
    parts = [
        _named(listed, past.comparison.differences(), Differences) for listed, _, past in nights if past.comparison
    ]
    return corrected(pa.concat_tables([Differences.schema().empty_table(), *parts]))


def _run(run: Run[OvernightRun, JobList], listed: ListedJob) -> Ended:
    config, directory = run.config, run.directory
    log = directory.export(f"{listed.name}.log")
    run_dir = directory.inside(f"runs/{listed.name}")
    return run_job(listed, run.runner.store.root, run_dir, config.cluster, log, config.job.max_hours)


def _since_last_time(store: Store, listed: ListedJob) -> History:
    """Nothing for a job that does no units, such as ``prune``."""
    last = Registry(store).last_succeeded(listed.job, listed.name)
    return history(store, last, as_past_run(store, last)) if last else History()


def _verdicts(
    run: Run[OvernightRun, JobList], listed: ListedJob, ended: Ended, past: History, limits: Limits
) -> list[Gates]:
    """Of each gate by its own baseline, and those that the job has of its own."""
    rows: list[Gates] = []
    read = partial(_table, ended)
    for gate in run.config.fail_if:
        baseline = past if gate.baseline == "last" else _baseline(run.runner.store, listed, gate.baseline)
        limit = limits if gate.baseline == "last" else None
        rows += verdicts([gate], listed.name, job(listed.job).tables, baseline, ended.status, limit, read)
    table = _table(ended, "gates") if ended.status == "ok" and listed.job == "compare" else None
    return [*rows, *(gates_of_comparison(listed.name, table.to_pylist()) if table else [])]


def _table(ended: Ended, name: str) -> pa.Table | None:
    return read_run_table(ended.run_dir, name) if ended.record["tables"].get(name) else None


def _baseline(store: Store, listed: ListedJob, baseline: str) -> History:
    last = Registry(store).last_succeeded(listed.job, listed.name)
    if last is None:
        return History()
    if baseline == "passed":
        return history(store, last, as_past_run(store, last), passed=True)
    of_night = Path(baseline, "runs", listed.name)
    return since(past_run(of_night if of_night.is_dir() else Path(baseline)), as_past_run(store, last))


def _note(run: Run[OvernightRun, JobList], listed: ListedJob, ended: Ended, rows: Sequence[Gates]) -> None:
    registry = Registry(run.runner.store)
    last = registry.last_succeeded(listed.job, listed.name) if run.config.fail_if and ended.status == "ok" else None
    if last:
        registry.note_gates(last, passed=all(row.verdict != "failed" for row in rows))


def _row(listed: ListedJob, ended: Ended, past: History, changes: pa.Table) -> Jobs:
    units = ended.record.get("units", {})
    p_values = [numbers["p"].count() for numbers in past.comparison.p_values] if past.comparison else []
    moved = changes.filter(pc.and_(pc.fill_null(changes["beyond"], False), pc.is_valid(changes["p"])))
    row = Jobs(
        name=listed.name,
        job=listed.job,
        status=ended.status,
        reason=ended.reason,
        exit_status=ended.exit_status,
        seconds=ended.seconds,
        **{f"num_{name}": units.get(name, 0) for name in ("done", "reused", "failed")},
        compared_with=past.since,
        left_out="\n".join(left_out_sentences(ended.record.get("left_out", []))),
        run_dir=str(ended.run_dir),
    )
    if past.since:
        row.num_changes, row.num_judged, row.num_moved = changes.num_rows, sum(p_values), moved.num_rows
        row.num_beyond = pc.sum(changes["beyond"]).as_py() or 0
    return row


def _print_outcome(run: Run[OvernightRun, JobList], ended: Ended) -> None:
    num = {name: ended.record.get("units", {}).get(name, 0) for name in ("done", "reused", "failed")}
    counts = f": {plural(num['done'], 'unit')} done, {num['reused']:,} reused, {num['failed']:,} failed"
    lines = [f"  {ended.status} in {ended.seconds:.0f} s{counts if any(num.values()) else ''}"]
    _print(run, "\n  ".join([*lines, *ended.reason.splitlines()]))


def _print_changes(run: Run[OvernightRun, JobList], row: Jobs) -> None:
    """Once all have run, as what moved depends on the numbers of the whole night."""
    if row.compared_with:
        changes = f"{plural(row.num_changes or 0, 'change')} since {row.compared_with}"
        _print(run, f"{row.name}: {changes}; {moves(vars(row))}")
    elif row.num_done + row.num_reused > 0 and row.status == "ok":
        _print(run, f"{row.name}: no earlier run to compare with")


def _print(run: Run[OvernightRun, JobList], line: str) -> None:
    run.console.print(line, highlight=False, markup=False, soft_wrap=True)


def _conclude(run: Run[OvernightRun, JobList]) -> None:
    """After all have run, and the page says so: tell people, and end as the worst of what happened.

    Raises:
        JobsFailed: if a job did not succeed.
        LimitExceeded: if all did, and a gate failed.
        NotificationFailed: if nobody could be told; of a night that failed otherwise, a note says so.
        KeyboardInterrupt: if the night was interrupted.
    """
    jobs, gates = (read_run_table(run.directory.path, name).to_pylist() for name in ("jobs", "gates"))
    failure = failure_of(jobs, gates)
    try:
        if run.config.notify.command:
            notify(run.config.notify.command, sentences(jobs, gates), outcome(run.directory.path, jobs, gates))
    except NotificationFailed as error:
        raise (type(failure)(f"{failure}; {error}") if failure else error) from error
    if any(row["status"] == INTERRUPTED for row in jobs):
        raise interruption() or KeyboardInterrupt
    if failure:
        raise failure


JOB = Job(
    OvernightRun,
    find_jobs,
    run,
    TABLES,
    "tiltmeter.jobs.upkeep.overnight.page:page",
    check=_conclude,
    has_units=False,
)
