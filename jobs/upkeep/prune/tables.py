"""The tables of `prune`."""

import pyarrow as pa

from tiltmeter.storage.store.tables import column

RUNS = pa.schema(
    [
        column("series", pa.string(), "runs that ask the same: <job>/<series>", key=True),
        column("started", pa.timestamp("us", tz="UTC"), "when it started", key=True),
        column("status", pa.string(), "running, succeeded or failed; a run that was killed says running for ever"),
        column("host", pa.string(), "the machine that ran it"),
        column("run_dir", pa.string(), "its run directory there"),
        column("num_units", pa.int64(), "units that it used", "units"),
        column("is_kept", pa.bool_(), "whether its units stay"),
    ]
)

UNITS = pa.schema(
    [
        column("place", pa.string(), "what the unit is: operator, version and digest", key=True),
        column("operator", pa.string(), "operator and version"),
        column("num_bytes", pa.int64(), "of all its files", "bytes"),
        column("modified", pa.timestamp("us", tz="UTC"), "when the last of its files was written"),
        column("is_finished", pa.bool_(), "whether the ledger has it"),
        column("num_runs", pa.int64(), "kept runs that use it", "runs"),
        column("action", pa.string(), "kept; unused: no kept run uses it; removed"),
    ]
)

TABLES = {
    "runs": RUNS,
    "units": UNITS,
}
