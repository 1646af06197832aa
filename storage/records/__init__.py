"""Tables that users bring along: CSV, TSV, JSON, Parquet and Arrow, wherever files lie."""

from tiltmeter.storage.records.cells import labels, numbers, one_spelling
from tiltmeter.storage.records.tables import (
    check_columns,
    check_flat,
    check_values,
    look_through,
    read_records,
    record_columns,
)

__all__ = [
    "check_columns",
    "check_flat",
    "check_values",
    "labels",
    "look_through",
    "numbers",
    "one_spelling",
    "read_records",
    "record_columns",
]
