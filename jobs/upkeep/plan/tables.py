"""The tables of `plan`."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, number, text
from tiltmeter.storage.store.tables import column

_NAME = text("name", "the job's name in the list of a night; of a plan of one job, that job", key=True)

PLAN = pa.schema(
    [
        _NAME,
        text("stage", "what is done, or all that comes after it; empty: of a job that could not be planned", key=True),
        count("num_done", "units that the store has; null: not known", "units"),
        count("num_missing", "units that would be done; null: not known", "units"),
        number("worker_seconds", "about what workers would be at them, all together; null: not known", "seconds"),
        number("seconds", "about what that takes on the workers of this cluster; null: not known", "seconds"),
        count("num_workers", "workers that there would be", "workers"),
        count("num_threads", "of each of them", "threads"),
        count("memory_bytes", "that each worker asks for, as the largest of all stages does", "bytes"),
        number("stored_bytes", "about what they would take in the store; null: not known", "bytes"),
        text("basis", "what estimates come from: 'earlier runs in this store', 'rates for a first run' or empty"),
        STATUS,
        REASON,
    ]
)

DIFFERENCES = pa.schema(
    [
        _NAME,
        text("table", "table of the numbers; empty before a first run", key=True),
        text("column", "the numbers; empty before a first run: any number, in its own standard deviation", key=True),
        count("replicas", "replicas or resamples of each side", key=True),
        column("is_planned", pa.bool_(), "whether it is as many as are planned"),
        count("num_numbers", "numbers with draws in the earlier run", "numbers"),
        number("sd", "standard deviation of a number's draws, the middle one of all numbers"),
        number("sd_paired", "the same of the difference of draws that two runs share; null: not known"),
        number("smallest_unpaired", "found in 4 of 5 cases between runs that share no draws; infinite: none is"),
        number("smallest_paired", "the same between runs that share draws; null: not known"),
        text("basis", "runs that the standard deviations come from, or 'one standard deviation'"),
        STATUS,
        REASON,
    ]
)  # fmt: skip

TABLES = {"plan": PLAN, "plan_differences": DIFFERENCES}
