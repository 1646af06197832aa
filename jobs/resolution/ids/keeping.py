"""Explanations of components that have not changed since the previous run: taken over, with their numbers of now."""

from collections.abc import Mapping

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.ids.previous import Identity, rows_of
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution.lineage import NOWHERE

_ORDERS: Mapping[str, list[str]] = {
    "merge": ["cluster"],
    "near_miss": ["record", "cluster"],
    "split_pair": ["record", "other"],
    "joined_pair": ["record", "other"],
}
"""What rows of each kind are sorted by, as records are numbered in the order of their ids."""

DECISIONS = list(_ORDERS)
"""Kinds of explanation that are of one component each, whatever else is asked."""


def kept_rows(previous: Identity, graph: str, clusters: pa.Table, reused: IntArray) -> pl.DataFrame:
    """What the previous run explained of components that did not change: of table ``explanations`` these rows.

    Args:
        clusters: table ``clusters``. In such components, clusters have the ids that they had.
        reused: ``[components]``, the number of each in the previous run; ``NOWHERE`` for one that changed.
    """
    before = rows_of(previous, "clusters", graph, ["cluster", "id"])
    rows = rows_of(previous, "explanations", graph, tables.EXPLANATIONS.names).filter(pl.col("kind").is_in(DECISIONS))
    same = np.flatnonzero(reused != NOWHERE)
    rows = rows.with_columns(_mapped(rows["component"], reused[same], same)).filter(pl.col("component") != NOWHERE)
    ids = _mapped(rows["cluster"], before["cluster"].to_numpy(), before["id"].to_numpy())
    return rows.with_columns(_mapped(ids, clusters["id"].to_numpy(), clusters["cluster"].to_numpy()))


def _mapped(numbers: pl.Series, before: IntArray, now: IntArray) -> pl.Series:
    """What is now in place of each number; ``NOWHERE`` if nothing is. Null stays null: a pair apart has no cluster."""
    values = np.full(int(max(before.max(initial=-1), numbers.max() or 0)) + 1, NOWHERE)
    values[before] = now
    return pl.Series(numbers.name, values).gather(numbers)


def joined_in_order(part: pa.Table, rows: pl.DataFrame, kind: str) -> pa.Table:
    """The rows of a kind that are new and those that were kept, in the order that all would have."""
    both = pl.concat([pl.DataFrame(part), rows.filter(kind=kind)])
    return both.sort(_ORDERS[kind]).to_arrow().cast(tables.EXPLANATIONS)
