"""The tables of `overnight`."""

from tiltmeter.jobs.changes import tables
from tiltmeter.jobs.runtime.table import Int32, Table, doc, key, schemas


class OfJob(Table):
    """A column of every table of a night."""

    name: str = key("the job's name in the list")


class Jobs(OfJob, name="jobs", has_status=False):
    job: str = doc("what it runs")
    status: str = doc("ok: it succeeded; or failed, refused, stopped, interrupted")
    reason: str = doc("why it did not succeed: the last lines that it printed; empty if it did")
    exit_status: Int32 | None = doc("of its process; negative: the signal that ended it; null: not begun")
    seconds: float = doc("that it took", "seconds")
    num_done: int = doc("units that it did", "units")
    num_reused: int = doc("units of earlier runs, or of jobs before it, that it found again", "units")
    num_failed: int = doc("units that failed", "units")
    compared_with: str | None = doc("when its last successful run before this one started; null: none")
    num_changes: int | None = doc("rows that it has in the table changes; null: not compared", "rows")
    num_judged: int | None = doc("numbers judged by draws of both runs; null: not compared", "numbers")
    num_moved: int | None = doc("of these: moved, by more than chance makes over the night", "numbers")
    num_beyond: int | None = doc("numbers that moved, judged or beyond the earlier interval", "numbers")
    left_out: str = doc("records of its files that it left out, in sentences; empty: none")
    run_dir: str = doc("where its tables and its report are")


class Gates(OfJob, name="gates", has_status=False):
    """What each gate says of each job that it is about."""

    table: str = key("table of its numbers")
    column: str = key("of its numbers")
    fails_if: str = key("what fails it, in words")
    verdict: str = doc("passed; failed: a number moved so, is gone, or it could not be judged; or not_compared")
    sentence: str = doc("why it failed, or what there is to compare with; empty if it passed")
    row: str | None = doc("the row whose number moved most, in words; null if it did not fail by one")
    before: float = doc("its number in the earlier run")
    after: float | None = doc("its number now; null if it is gone")
    difference: float = doc("after less before")
    half_widths: float = doc("their distance in units of half the earlier interval", "half-widths")
    num_failed: int | None = doc("numbers that moved so, or are gone; null: not compared", "numbers")
    num_compared: int | None = doc("numbers that were judged; null: not compared", "numbers")


class Changes(tables.Changes, OfJob, name="changes", has_status=False):
    """Of all jobs, each since it last succeeded."""


class Differences(tables.Differences, OfJob, name="differences", has_status=False):
    """Of all jobs; ``q`` is over all numbers of the night."""


TABLES = schemas(Jobs, Gates, Changes, Differences)
