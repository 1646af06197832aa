"""The work of a stage on tables that are made up, and whether an interval of its rows holds the truth."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from tiltmeter.jobs.embedding.lookup import Lookup
from tiltmeter.storage.store.ledger import Unit


class Held:
    """In place of a store: tables by their names, which stand for references."""

    def __init__(self, tables: Mapping[Any, pa.Table]) -> None:
        self._tables = tables

    def read(self, name: Any) -> pa.Table:
        """A table."""
        return self._tables[name]


def done(work: Any, config: Mapping[str, Any], inputs: Mapping[str, Sequence[pa.Table]]) -> dict[str, pa.Table]:
    """What the work of a stage makes of tables."""
    names: dict[str, Any] = {
        role: [f"{role} {place}" for place in range(len(tables))] for role, tables in inputs.items()
    }
    held = {name: table for role, tables in inputs.items() for name, table in zip(names[role], tables, strict=True)}
    return dict(work(Held(held), Unit("made/1", "made", dict(config), names)))


def looked_up(vectors: Sequence[pa.Table]) -> Lookup:
    """Vectors of a corpus and its replicas, as measures look words up in them."""
    return Lookup(cast(Any, Held(dict(enumerate(vectors)))), {"vectors": cast(Any, range(len(vectors)))})


def holds(row: Mapping[str, Any], names: tuple[str, str], truth: float) -> bool | None:
    """Whether an interval holds it."""
    low, high = (row.get(name) for name in names)
    return None if low is None or high is None else bool(low <= truth <= high)
