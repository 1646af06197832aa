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
    of = _Of(graph, records, component.to_numpy())
    held = merges(problem, cluster)
    parts = [
        of.table("merge", held.weakest, cluster=held.parts, weight=held.weights, held=held.held),
        _misses(of, near_misses(problem, cluster)),
        _disagreeing(of, "split_pair", split_pairs(problem, cluster)),
        _disagreeing(of, "joined_pair", joined := joined_pairs(problem, cluster), cluster=cluster[joined.left]),
    ]
    return pa.concat_tables(parts)


class _Of:
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


def _misses(of: _Of, found: NearMisses) -> pa.Table:
    offsets = pa.array(found.starts.astype(np.int32))
    allowed = np.isfinite(found.tipping_weights)
    weights = pa.array(np.where(allowed, found.tipping_weights, 0.0), mask=~allowed)
    return of.table(
        "near_miss",
        found.nodes,
        cluster=found.parts,
        weight=found.total,
        support=found.support,
        opposition=found.opposition,
        held=found.held,
        num_forbidden=found.num_forbidden,
        tipping_records=pa.ListArray.from_arrays(offsets, of.records.take(pa.array(found.tipping))),
        tipping_weights=pa.ListArray.from_arrays(offsets, weights),
    )


def _disagreeing(of: _Of, kind: str, found: Pairs, **columns: Any) -> pa.Table:
    others = of.records.take(pa.array(found.right))
    return of.table(kind, found.left, other=others, weight=found.weights, **columns)


def drawn_pairs(graph: str, pairs: pa.Table, clusters: pa.Table, drawn: Sequence[int]) -> pa.Table:
    """The pairs of some components, with their records' names."""
    left, right = (pairs[name].to_numpy() for name in ("left", "right"))
    records, component = clusters["record"].combine_chunks(), clusters["component"].to_numpy()
    rows = np.flatnonzero(np.isin(component[left], drawn) & (component[left] == component[right]))
    ends = [records.take(pa.array(end[rows])) for end in (left, right)]
    weights = pairs["weight"].to_numpy()[rows]
    return pa.table([pa.array([graph] * len(rows)), component[left[rows]], *ends, weights], schema=tables.DRAWN_PAIRS)
