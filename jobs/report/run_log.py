"""The last section of every page: how long each stage took, with which settings, and what the tables hold."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tiltmeter.cluster.stages import StageRecord
from tiltmeter.jobs.report.html.elements import Details, Grid, Listing, Section
from tiltmeter.storage.store.tables import documentation

_MEBIBYTE = 2**20
_NUMBERS = ["seconds", "units done", "reused", "failed", "worker seconds", "worker peak so far (MiB)"]


def run_log(stages: Sequence[StageRecord], configuration: str, schemas: Mapping[str, pa.Schema]) -> Section:
    """How the run went.

    Args:
        stages: in the order in which they ran.
        configuration: the resolved config as text.
        schemas: of the published tables.
    """
    columns = [Details(name, [_columns(schema)]) for name, schema in schemas.items()]
    details = [Details("Configuration", [Listing(configuration)]), Details("Tables and their columns", columns)]
    return Section("account", "How it was run", [*([_stages(stages)] if stages else []), *details])


def _stages(stages: Sequence[StageRecord]) -> Grid:
    seconds = sum(record.seconds for record in stages)
    return Grid(
        f"Stages in the order in which they ran, {seconds:,.1f} seconds in all. A reused unit was done by an earlier "
        "run and found again. Worker seconds: of all workers together. Worker peak so far: the most memory that one "
        "process had held since it started, in earlier stages too.",
        ["stage", *_NUMBERS],
        [_stage(record) for record in stages],
        numeric=_NUMBERS,
        bars={"seconds": [record.seconds for record in stages]},
    )


def _stage(record: StageRecord) -> list[str]:
    peak = f"{record.peak_worker_memory_bytes / _MEBIBYTE:,.0f}" if record.num_done else "–"
    counts = [f"{num:,}" for num in (record.num_done, record.num_reused, record.num_failed)]
    return [record.name, f"{record.seconds:,.1f}", *counts, f"{record.worker_seconds:,.1f}", peak]


def _columns(schema: pa.Schema) -> Grid:
    keys = ["name", "type", "unit", "description"]
    rows = [[column.get(key, "") for key in keys] for column in documentation(schema)]
    return Grid("", ["column", "type", "unit", "meaning"], rows)
