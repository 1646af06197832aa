"""The tables of `plan`."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, number, text
from tiltmeter.storage.store.tables import column

_NAME = text("name", "the job's name in the list of a night; of a plan of one job, that job", key=True)

PLAN = pa.schema(
    [
        _NAME,
        text("stage", "what is done; at the end, what comes beside units and after those that are known; empty: of a "
             "job that could not be planned", key=True),
        count("num_done", "units that the store has, or will have from earlier jobs of the night; null: not known",
              "units"),
        count("num_shared", "of those that are done, units that an earlier job of the night will do", "units"),
        text("shared_with", "these jobs, by their names in the list; empty where there are none"),
        count("num_missing", "units that would be done; null: not known", "units"),
        number(
            "worker_seconds", "that workers would be at the missing units, all together; null: not known", "seconds"
        ),
        number(
            "seconds", "from the stage's start to its end, on the workers of this cluster; null: not known", "seconds"
        ),
        count("num_workers", "workers that there would be", "workers"),
        count("num_threads", "of each of them", "threads"),
        count("memory_bytes", "that each worker asks for, as the largest of all stages does", "bytes"),
        number("stored_bytes", "that the missing units would take in the store; null: not known", "bytes"),
        text("basis", "where seconds and bytes come from: 'earlier runs in this store', 'docs/scale.md', or empty"),
        STATUS,
        REASON,
    ]
)  # fmt: skip

JOBS = pa.schema(
    [
        _NAME,
        text("job", "what it runs"),
        count("num_done", "units that the store has, or will have from earlier jobs of the night", "units"),
        count("num_shared", "of those that are done, units that an earlier job of the night will do", "units"),
        count("num_missing", "units that would be done; null: it could not be planned", "units"),
        number("worker_seconds", "that workers would be at them, all together, as far as it is known", "seconds"),
        number("seconds", "from the job's start to its end, as far as it is known; null: it could not be planned",
               "seconds"),
        column("is_least", pa.bool_(), "whether it takes longer, as nothing is known of some stages"),
        count("memory_bytes", "that its workers ask for, all together; null: it needs none", "bytes"),
        number("stored_bytes", "that it would take in the store, as far as it is known", "bytes"),
        number("max_hours", "after which the night stops it; null: never", "hours"),
        text("limit", "kept, close (from two thirds of it on) or exceeded; null: no limit, or its hours are not known"),
        STATUS,
        REASON,
    ]
)  # fmt: skip
"""A job of a planned night in one row."""

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
        number("smallest_unpaired", "difference that is found in 4 of 5 cases, of the middle number, between runs that "
               "share no draws; infinite where so few texts show none"),
        number("smallest_paired", "the same between runs that share draws; null: not known"),
        text("basis", "runs that the standard deviations come from, or 'one standard deviation'"),
        STATUS,
        REASON,
    ]
)  # fmt: skip

TABLES = {"plan": PLAN, "plan_jobs": JOBS, "plan_differences": DIFFERENCES}
