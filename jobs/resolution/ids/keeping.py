"""Explanations of components that have not changed since the previous run: taken over, with their numbers of now."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.ids.previous import Identity, earlier_labels, rows_of
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


class Kept(NamedTuple):
    """Attributes:
    changed: ``[records]``, whether the component of each is another one than before.
    rows: table ``explanations``, of the others.
    """

    changed: NDArray[np.bool_]
    rows: pl.DataFrame


def kept_rows(previous: Identity, graph: str, clusters: pa.Table, reused: IntArray) -> Kept:
    """What the previous run explained of components that did not change.

    Args:
        clusters: table ``clusters``.
        reused: ``[components]``, the number of each in the previous run; ``NOWHERE`` for one that changed.
    """
    component, cluster = (clusters[name].to_numpy() for name in ("component", "cluster"))
    earlier = earlier_labels(previous, graph, pl.Series(clusters["record"]))
    same = reused[component] != NOWHERE
    numbers = {
        "component": (earlier.component[same], component[same]),
        "cluster": (earlier.cluster[same], cluster[same]),
    }
    rows = rows_of(previous, "explanations", graph).filter(pl.col("kind").is_in(DECISIONS))
    for name, (before, now) in numbers.items():
        renumbered = pl.DataFrame({name: before, "now": now}).unique(name)
        # A pair that is apart has no cluster.
        rows = (
            rows.join(renumbered, on=name, how="inner" if name == "component" else "left")
            .drop(name)
            .rename({"now": name})
        )
    return Kept(~same, rows.select(tables.EXPLANATIONS.names))


def joined_in_order(part: pa.Table, rows: pl.DataFrame, kind: str) -> pa.Table:
    """The rows of a kind that are new and those that were kept, in the order that all would have."""
    both = pl.concat([pl.DataFrame(part), rows.filter(kind=kind)])
    return both.sort(_ORDERS[kind]).to_arrow().cast(tables.EXPLANATIONS)
