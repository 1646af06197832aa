"""Rows of tables: what they say of results that there are, and of those that there are not."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Row = dict[str, Any]

OK: Row = {"status": "ok", "reason": ""}


def failed(status: str, reason: str) -> Row:
    """Why a row has no result, in a word and in a sentence."""
    return {"status": status, "reason": reason}


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows in a schema; a value that is missing or not finite becomes null."""
    finite = [{name: None if _is_nan(value) else value for name, value in row.items()} for row in rows]
    return pa.Table.from_pylist(finite, schema)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and not np.isfinite(value)
