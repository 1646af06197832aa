"""Runs to compare, made by hand: a table of numbers with intervals, and what the runs recorded."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.storage.store.identity import table_digest
from tiltmeter.storage.store.tables import column

SCHEMA = pa.schema(
    [
        column("model", pa.string(), "the embedding", key=True),
        column("word", pa.string(), "the word", key=True),
        column("d", pa.float64(), "effect size"),
        column("d_low", pa.float64(), "lower end"),
        column("d_high", pa.float64(), "upper end"),
        column("count", pa.int64(), "occurrences"),
        column("missing", pa.list_(pa.string()), "missing words"),
        column("status", pa.string(), "ok or why not"),
        column("reason", pa.string(), "the same in a sentence"),
    ]
)
USUAL = {"model": "en", "d": 1.0, "d_low": 0.0, "d_high": 2.0, "count": 7, "missing": [], "status": "ok", "reason": ""}


def rows(words: Mapping[str, Mapping[str, Any]], schema: pa.Schema = SCHEMA) -> pa.Table:
    """A table with a row for each word, which says what is unusual about it."""
    return pa.Table.from_pylist([USUAL | {"word": word} | dict(unusual) for word, unusual in words.items()], schema)


def past(tables: Mapping[str, pa.Table], settings: Mapping[str, Any] | None = None, **record: Any) -> PastRun:
    """A run that published these tables."""
    entries = {
        name: {"rows": table.num_rows, "bytes": 1000, "digest": table_digest(table)} for name, table in tables.items()
    }
    known = {"status": "succeeded", "job": "association", "versions": {"numpy": "2.4"}, "tables": entries}
    return PastRun("a run", known | record, {"seed": 0} if settings is None else settings, dict(tables).__getitem__)


@pytest.fixture(scope="session")
def made():
    """What makes tables and runs."""

    class Made:
        table = staticmethod(rows)
        run = staticmethod(past)
        schema = SCHEMA

        @staticmethod
        def changes(before: pa.Table, after: pa.Table, **detail: Any) -> pl.DataFrame:
            """From one table to another, less the row that says that it differs."""
            runs = (past({"tests": table}) for table in (before, after))
            return pl.DataFrame(compare(*runs, Detail(**detail))).filter(pl.col("kind") != "table")

    return Made
