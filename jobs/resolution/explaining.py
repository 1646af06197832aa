"""The rows of the table `explanations`, from what the operators find."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.ids.keeping import DECISIONS, joined_in_order
from tiltmeter.operators.compute.arrays import BoolArray, IntArray
from tiltmeter.operators.resolution.components import undivided
from tiltmeter.operators.resolution.explanations import (
    Pairs,
    Standings,
    false_merges,
    false_splits,
    joined_pairs,
    merges,
    near_misses,
    split_pairs,
    standings,
)
from tiltmeter.operators.resolution.problem import Missing, Problem

Asked = Sequence[tuple[str, str | None, int | None]]
"""Record, other record or None, and number of a cluster or None."""

_LISTS = pa.schema(
    [(name, pa.list_(kind)) for name, kind in (("left", pa.int32()), ("right", pa.int32()), ("weight", pa.float64()))]
)
"""Of a bundle, the pairs of each component."""


class Decided(NamedTuple):
    """What decided the clusters of some components: pairs between components decide nothing.

    Attributes:
        nodes: ``[nodes]``, all records of these components, by their numbers, rising.
        problem: the pairs within the components, by the places of their records among the nodes.
    """

    nodes: IntArray
    problem: Problem


def decided(problem: Problem, component: IntArray) -> Decided:
    """All components of a graph.

    Args:
        problem: all pairs.
        component: ``[records]``, of each.
    """
    left, right = problem.left, problem.right
    inside = component[left] == component[right]
    part = Problem(component.size, left[inside], right[inside], problem.weights[inside], problem.missing)
    return Decided(np.arange(component.size), part)


def decided_anew(bundles: Sequence[pa.Table], component: IntArray, changed: BoolArray, missing: Missing) -> Decided:
    """The components that changed, from the bundles in which they were solved.

    Args:
        bundles: of all components that changed, in their order: ``left, right, weight``, lists of each one's pairs.
        component: ``[records]``, of each.
        changed: ``[components]``.
    """
    nodes = np.flatnonzero(changed[component])
    number = np.cumsum(changed) - 1
    # Without any bundle there still are columns.
    lists = pa.concat_tables([_LISTS.empty_table(), *(bundle.select(_LISTS.names) for bundle in bundles)])
    sizes = pc.list_value_length(lists["left"]).to_numpy()
    pairs = undivided(
        number[component[nodes]], sizes, *(pc.list_flatten(lists[name]).to_numpy() for name in _LISTS.names)
    )
    return Decided(nodes, Problem(nodes.size, *pairs, missing))


def explanations(graph: str, clusters: pa.Table, part: Decided, kept: pl.DataFrame | None = None) -> pa.Table:
    """Why records are together or apart.

    Args:
        clusters: table ``clusters``, in the order of the records' numbers.
        part: the components that are to be explained.
        kept: what an earlier run explained of the others; None if there are none.
    """
    records, component, cluster = _labels(clusters)
    rows, labels = _Rows(graph, records.take(pa.array(part.nodes)), component[part.nodes]), cluster[part.nodes]
    joined = joined_pairs(part.problem, labels)
    held = merges(part.problem, labels)
    decisions = [
        rows.table("merge", held.weakest, cluster=held.parts, weight=held.weights, held=held.held),
        _standings(rows, "near_miss", near_misses(part.problem, labels)),
        _disagreeing(rows, "split_pair", split_pairs(part.problem, labels)),
        _disagreeing(rows, "joined_pair", joined, cluster=labels[joined.left]),
    ]
    if kept is not None:
        decisions = [joined_in_order(new, kept, kind) for kind, new in zip(DECISIONS, decisions, strict=True)]
    return pa.concat_tables(decisions)


def contradictions(graph: str, clusters: pa.Table, problem: Problem, gold: pa.Table) -> pa.Table:
    """Scored pairs that the true clusters contradict.

    Args:
        problem: all pairs.
        gold: ``cluster``, in the order of the records' numbers, null where it is not known.
    """
    records, component, cluster = _labels(clusters)
    rows, true = _Rows(graph, records, component), gold["cluster"].combine_chunks().fill_null(-1).to_numpy()
    merged, split = false_merges(problem, cluster, true), false_splits(problem, cluster, true)
    wrong = [_disagreeing(rows, "false_merge", merged, cluster=cluster[merged.left])]
    return pa.concat_tables([*wrong, _disagreeing(rows, "false_split", split)])


def _labels(clusters: pa.Table) -> tuple[pa.Array, IntArray, IntArray]:
    """Records, components and clusters."""
    records, component, cluster = (clusters[name].combine_chunks() for name in ("record", "component", "cluster"))
    return records, component.to_numpy(), cluster.to_numpy()


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


def _standings(rows: _Rows, kind: str, standing: Standings) -> pa.Table:
    offsets = pa.array(standing.starts.astype(np.int32))
    allowed = np.isfinite(standing.tipping_weights)
    weights = pa.array(np.where(allowed, standing.tipping_weights, 0.0), mask=~allowed)
    return rows.table(
        kind,
        standing.nodes,
        cluster=standing.parts,
        weight=standing.total,
        support=standing.support,
        opposition=standing.opposition,
        held=standing.held,
        num_forbidden=standing.num_forbidden,
        tipping_records=pa.ListArray.from_arrays(offsets, rows.records.take(pa.array(standing.tipping))),
        tipping_weights=pa.ListArray.from_arrays(offsets, weights),
    )


def _disagreeing(rows: _Rows, kind: str, pairs: Pairs, **columns: Any) -> pa.Table:
    others = rows.records.take(pa.array(pairs.right))
    weights = pa.array(pairs.weights, mask=~np.isfinite(pairs.weights))
    return rows.table(kind, pairs.left, other=others, weight=weights, **columns)


def answers(graph: str, clusters: pa.Table, problem: Problem, asked: Asked) -> pa.Table:
    """What each asked record brings, or would bring, into a cluster, which may be that of another asked record.

    Args:
        problem: all pairs.
        asked: about records that there are, and clusters that there may not be; one question at least.
    """
    records, component, cluster = _labels(clusters)
    rows = _Rows(graph, records, component)
    numbers = {name: pc.index(records, name).as_py() for names in asked for name in names[:2] if name is not None}
    pairs = [(numbers[record], numbers[other]) for record, other, _ in asked if other is not None]
    wanted = [(left, int(cluster[right])) for left, right in pairs]
    wanted += [
        (numbers[record], number) for record, _, number in asked if number is not None and number <= cluster.max()
    ]
    nodes, parts = np.array(wanted, dtype=np.int64).reshape(-1, 2).T
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    together = cluster[left] == cluster[right]
    between = rows.table(
        "asked_pair",
        left,
        other=records.take(pa.array(right)),
        weight=pa.array([_weight(problem, *pair) for pair in pairs], pa.float64()),
        cluster=pa.array(cluster[left], mask=~together),
    )
    return pa.concat_tables([_standings(rows, "asked", standings(problem, cluster, nodes, parts)), between])


def _weight(problem: Problem, one: int, other: int) -> float | None:
    """None for a pair that was never scored, or that constraints forbid."""
    scored = np.flatnonzero((problem.left == min(one, other)) & (problem.right == max(one, other)))
    return float(problem.weights[scored[0]]) if scored.size and np.isfinite(problem.weights[scored[0]]) else None


def drawn_pairs(graph: str, pairs: pa.Table, clusters: pa.Table, drawn: Sequence[int]) -> pa.Table:
    """The pairs of some components, with their records' names."""
    left, right = (pairs[name].to_numpy() for name in ("left", "right"))
    records, component = clusters["record"].combine_chunks(), clusters["component"].to_numpy()
    within = np.isin(component[left], drawn) & (component[left] == component[right])
    rows = np.flatnonzero(within & np.isfinite(pairs["weight"].to_numpy()))
    ends = [records.take(pa.array(end[rows])) for end in (left, right)]
    weights = pairs["weight"].to_numpy()[rows]
    return pa.table([pa.array([graph] * len(rows)), component[left[rows]], *ends, weights], schema=tables.DRAWN_PAIRS)
