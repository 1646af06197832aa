"""The last section of every page: how long each stage took, with which settings, and what the tables hold."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tiltmeter.cluster.stages import StageRecord
from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.grids import Row, cell, count, grid, number, percent, text
from tiltmeter.jobs.report.html.elements import Details, Grid, Listing, Section
from tiltmeter.storage.store.tables import documentation

RUN_LOG = "account"
"""Anchor of its section."""

_MEBIBYTE = 2**20


def run_log(stages: Sequence[StageRecord], configuration: str, schemas: Mapping[str, pa.Schema]) -> Section:
    """How the run went.

    Args:
        stages: in the order in which they ran.
        configuration: the resolved config as text.
        schemas: of the published tables.
    """
    columns = [Details(name, [_columns(schema)]) for name, schema in schemas.items()]
    details = [Details("Configuration", [Listing(configuration)]), Details("Tables and their columns", columns)]
    return Section(RUN_LOG, "How it was run", [*([_stages(stages)] if stages else []), *details])


def _stages(stages: Sequence[StageRecord]) -> Grid:
    return grid(
        f"Stages in the order in which they ran, {wording.number(sum(record.seconds for record in stages), 1)} seconds "
        "in all. A reused unit was done by an earlier run and found again. Worker seconds: of all workers together; "
        "they were busy for this share of the stage, and the one that did least for its own. Worker peak so far: the "
        "most memory that one process had held since it started, in earlier stages too.",
        [vars(record) for record in stages],
        text("name", "stage"),
        number("seconds", digits=1, bar=True),
        count("num_done", "units done"),
        count("num_reused"),
        count("num_failed"),
        number("worker_seconds", digits=1),
        percent("busy_share", "workers busy", 0),
        percent("least_busy_share", "least busy worker", 0),
        cell("worker peak so far (MiB)", _peak, is_numeric=True),
    )


def _peak(stage: Row) -> str:
    """A stage without a unit that was done had no worker."""
    return wording.number(stage["peak_worker_memory_bytes"] / _MEBIBYTE, 0) if stage["num_done"] else ""


def _columns(schema: pa.Schema) -> Grid:
    keys = ["name", "type", "unit", "description"]
    rows = [[column.get(key, "") for key in keys] for column in documentation(schema)]
    return Grid("", ["column", "type", "unit", "meaning"], rows)
