"""The rows of the table `explanations`, from what the operators find."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.jobs.resolution import tables
from tiltmeter.operators.resolution.explanations import (
    NearMisses,
    Pairs,
    joined_pairs,
    merges,
    near_misses,
    split_pairs,
)
from tiltmeter.operators.resolution.problem import Missing, Problem


def explanations(graph: str, pairs: pa.Table, clusters: pa.Table, missing: Missing) -> pa.Table:
    """Why records are together or apart.

    Args:
        pairs: ``left, right, weight``, by the records' numbers.
        clusters: table ``clusters``, in the order of the numbers.
    """
    records, component, labels = (clusters[name].combine_chunks() for name in ("record", "component", "cluster"))
    cluster = labels.to_numpy()
    scored = [pairs[name].to_numpy() for name in ("left", "right", "weight")]
    problem = Problem(len(cluster), scored[0], scored[1], scored[2], missing)
    rows = _Rows(graph, records, component.to_numpy())
    held = merges(problem, cluster)
    parts = [
        rows.table("merge", held.weakest, cluster=held.parts, weight=held.weights, held=held.held),
        _misses(rows, near_misses(problem, cluster)),
        _disagreeing(rows, "split_pair", split_pairs(problem, cluster)),
        _disagreeing(rows, "joined_pair", joined := joined_pairs(problem, cluster), cluster=cluster[joined.left]),
    ]
    return pa.concat_tables(parts)


class _Rows:
    """Builds parts of the table for one graph."""

    def __init__(self, graph: str, records: pa.Array, component: NDArray[np.int64]) -> None:
        self.graph, self.records, self.component = graph, records, component

    def table(self, kind: str, nodes: NDArray[np.int64], **columns: Any) -> pa.Table:
        """Rows about nodes; columns that are not given are null."""
        num = len(nodes)
        known: Mapping[str, Any] = {
            "graph": pa.array([self.graph] * num),
            "kind": pa.array([kind] * num),
            "component": self.component[nodes],
            "record": self.records.take(pa.array(nodes)),
        } | columns
        schema = tables.EXPLANATIONS
        return pa.table([known.get(field.name, pa.nulls(num, field.type)) for field in schema], schema=schema)


def _misses(rows: _Rows, misses: NearMisses) -> pa.Table:
    offsets = pa.array(misses.starts.astype(np.int32))
    allowed = np.isfinite(misses.tipping_weights)
    weights = pa.array(np.where(allowed, misses.tipping_weights, 0.0), mask=~allowed)
    return rows.table(
        "near_miss",
        misses.nodes,
        cluster=misses.parts,
        weight=misses.total,
        support=misses.support,
        opposition=misses.opposition,
        held=misses.held,
        num_forbidden=misses.num_forbidden,
        tipping_records=pa.ListArray.from_arrays(offsets, rows.records.take(pa.array(misses.tipping))),
        tipping_weights=pa.ListArray.from_arrays(offsets, weights),
    )


def _disagreeing(rows: _Rows, kind: str, pairs: Pairs, **columns: Any) -> pa.Table:
    others = rows.records.take(pa.array(pairs.right))
    return rows.table(kind, pairs.left, other=others, weight=pairs.weights, **columns)


def drawn_pairs(graph: str, pairs: pa.Table, clusters: pa.Table, drawn: Sequence[int]) -> pa.Table:
    """The pairs of some components, with their records' names."""
    left, right = (pairs[name].to_numpy() for name in ("left", "right"))
    records, component = clusters["record"].combine_chunks(), clusters["component"].to_numpy()
    rows = np.flatnonzero(np.isin(component[left], drawn) & (component[left] == component[right]))
    ends = [records.take(pa.array(end[rows])) for end in (left, right)]
    weights = pairs["weight"].to_numpy()[rows]
    return pa.table([pa.array([graph] * len(rows)), component[left[rows]], *ends, weights], schema=tables.DRAWN_PAIRS)
