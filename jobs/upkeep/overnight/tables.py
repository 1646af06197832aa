"""The tables of `overnight`."""

import pyarrow as pa

from tiltmeter.jobs.changes.tables import CHANGES as OF_ONE_JOB
from tiltmeter.jobs.changes.tables import DIFFERENCES as DIFFERENCES_OF_ONE_JOB
from tiltmeter.jobs.runtime.columns import count, number, text
from tiltmeter.storage.store.tables import column

JOBS = pa.schema(
    [
        column("name", pa.string(), "the job's name in the list", key=True),
        column("job", pa.string(), "what it runs"),
        column("status", pa.string(), "ok: it succeeded; or failed, refused, stopped, interrupted"),
        column("reason", pa.string(), "why it did not succeed: the last lines that it printed; empty if it did"),
        column("exit_status", pa.int32(), "of its process; negative: the signal that ended it; null: not begun"),
        column("seconds", pa.float64(), "that it took", "seconds"),
        column("num_done", pa.int64(), "units that it did", "units"),
        column("num_reused", pa.int64(), "units of earlier runs, or of jobs before it, that it found again", "units"),
        column("num_failed", pa.int64(), "units that failed", "units"),
        column("compared_with", pa.string(), "when its last successful run before this one started; null: none"),
        column("num_changes", pa.int64(), "rows that it has in the table changes; null: not compared", "rows"),
        column("num_judged", pa.int64(), "numbers judged by draws of both runs; null: not compared", "numbers"),
        column("num_moved", pa.int64(), "of these: moved, by more than chance makes over the night", "numbers"),
        column("num_beyond", pa.int64(), "numbers that moved, judged or beyond the earlier interval", "numbers"),
        column("left_out", pa.string(), "records of its files that it left out, in sentences; empty: none"),
        column("run_dir", pa.string(), "where its tables and its report are"),
    ]
)

_NAME = column("name", pa.string(), "the job's name in the list", key=True)

CHANGES = OF_ONE_JOB.insert(0, _NAME)
"""Of all jobs, each since it last succeeded."""

GATES = pa.schema(
    [
        text("name", "the job's name in the list", key=True),
        text("table", "table of its numbers", key=True),
        text("column", "of its numbers", key=True),
        text("fails_if", "what fails it, in words", key=True),
        text("verdict", "passed; failed: a number moved so, is gone, or it could not be judged; or not_compared"),
        text("sentence", "why it failed, or what there is to compare with; empty if it passed"),
        text("row", "the row whose number moved most, in words; null if it did not fail by one"),
        number("before", "its number in the earlier run"),
        number("after", "its number now; null if it is gone"),
        number("difference", "after less before"),
        number("half_widths", "their distance in units of half the earlier interval", "half-widths"),
        count("num_failed", "numbers that moved so, or are gone; null: not compared", "numbers"),
        count("num_compared", "numbers that were judged; null: not compared", "numbers"),
    ]
)
"""What each gate says of each job that it is about."""

DIFFERENCES = DIFFERENCES_OF_ONE_JOB.insert(0, _NAME)
"""Of all jobs; ``q`` is over all numbers of the night."""

TABLES = {"jobs": JOBS, "gates": GATES, "changes": CHANGES, "differences": DIFFERENCES}
