"""Values of numbers in each replica or resample, kept beside their intervals: what later runs pair theirs with."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.storage.store.tables import column, key_columns

NAME = "draws"
"""Of the table. Every unit may leave one of this name; a run publishes those of all units, one after the other."""

_SCHEME = "draws_scheme"

DRAWS = pa.schema(
    [
        column("table", pa.string(), "table of the number", key=True),
        column("key", pa.string(), "key columns of its row as a JSON object", key=True),
        column("column", pa.string(), "column of the number", key=True),
        column(
            "scheme",
            pa.string(),
            "what the draws are keyed by, as a JSON object: numbers of one scheme rest on the same draws; null if "
            "nobody knows",
        ),
        column("values", pa.list_(pa.float64()), "of the number in each replica or resample, in their order"),
    ]
)

Scheme = Mapping[str, Any]
"""What draws are keyed by; ``paired_by`` says what two runs of one scheme share: ``replicas`` or ``items``."""

ORDER = "num_blocks"
"""Of a scheme, what the order of training depends on beside its words: runs that differ in it alone draw alike what
they share, and train it otherwise. A scheme without it says nothing of training."""

NUM_ITEMS = "num_items"
"""Of a scheme, how many texts or other items a number's draws are resamples of. Two numbers of one scheme may rest on
different ones of them."""


def draws_of(name: str, values: NDArray[np.floating], scheme: Scheme | None = None) -> Row:
    """What the row of a number says of its replicas or resamples beside the columns of its table.

    Args:
        name: of the number's column.
        values: ``[draws]``; NaN where a draw has no value.
        scheme: of this number, if those of its table differ in it.
    """
    draws: Row = {f"{name}_draws": np.asarray(values, dtype=np.float64)}
    return draws | ({f"{name}_{_SCHEME}": scheme} if scheme else {})


def with_draws(
    tables: Mapping[str, tuple[Sequence[Row], pa.Schema]],
    scheme: Scheme | None,
    made: Callable[[Sequence[Row], pa.Schema], pa.Table] = table_of,
) -> Iterator[tuple[str, pa.Table]]:
    """Tables of rows, by name, and beside them one table of what their rows say of draws, if any does.

    Args:
        tables: rows with their schema.
        scheme: what the draws are keyed by; None if nobody knows.
        made: makes a table of rows.
    """
    draws: list[Row] = []
    for name, (rows, schema) in tables.items():
        table = made(rows, schema)
        yield name, table
        draws += ({"table": name, **draw} for draw in _draws(rows, table, scheme))
    if draws:
        yield NAME, pa.Table.from_pylist(draws, DRAWS)


def _draws(rows: Sequence[Row], table: pa.Table, scheme: Scheme | None) -> Iterator[Row]:
    keys = table.select(key_columns(table.schema)).to_pylist()
    for row, key in zip(rows, keys, strict=True):
        for name in table.column_names:
            values = row.get(f"{name}_draws")
            if values is not None and np.isfinite(values).any():
                known = row.get(f"{name}_{_SCHEME}", scheme)
                keyed_by = None if known is None else _scheme_text(known)
                about = {"key": row_key(key), "column": name, "scheme": keyed_by}
                yield about | {"values": pa.array(values, from_pandas=True).to_pylist()}


def _scheme_text(scheme: Scheme) -> str:
    return json.dumps(dict(scheme), sort_keys=True, ensure_ascii=False)


def without_number(scheme: str) -> tuple[str, float | None]:
    """A scheme as the table has it, but for how many items a number rests on; and that, None where nobody knows.

    >>> without_number('{"items": "a", "num_items": 9.0}')
    ('{"items": "a"}', 9.0)
    """
    parsed = json.loads(scheme)
    num_items = parsed.pop(NUM_ITEMS, None)
    return _scheme_text(parsed), num_items


def rekeyed(draws: pa.Table, before: pa.Table, after: pa.Table) -> pa.Table:
    """Draws of a table that has other key columns now.

    Args:
        draws: by the keys that its rows had.
        before, after: the table as it was and as it is, row by row.
    """
    names = dict(zip(*([row_key(key) for key in _keys(table)] for table in (before, after)), strict=True))
    keys = pa.array([names[key] for key in draws["key"].to_pylist()], pa.string())
    return draws.set_column(DRAWS.get_field_index("key"), DRAWS.field("key"), keys)


def _keys(table: pa.Table) -> list[Row]:
    rows: list[Row] = table.select(key_columns(table.schema)).to_pylist()
    return rows


def row_key(key: Mapping[str, Any]) -> str:
    """The key columns of a row as text, as the tables of changes have them.

    >>> row_key({"word": "nurse", "replica": 3, "cue": None})
    '{"word": "nurse", "replica": 3, "cue": null}'
    """
    return json.dumps(dict(key), ensure_ascii=False, default=str)
