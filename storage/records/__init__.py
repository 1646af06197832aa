"""Tables that users bring along: CSV, TSV, JSON, Parquet and Arrow, wherever files lie."""

from tiltmeter.storage.records.cells import labels, numbers, one_spelling
from tiltmeter.storage.records.tables import check_columns, look_through, read_records, record_columns

__all__ = ["check_columns", "labels", "look_through", "numbers", "one_spelling", "read_records", "record_columns"]
