"""The rows of the table `explanations`, from what the operators find."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.ids.keeping import DECISIONS, Kept, joined_in_order
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


def explanations(
    graph: str,
    pairs: pa.Table,
    clusters: pa.Table,
    missing: Missing,
    gold: pa.Table | None = None,
    asked: Asked = (),
    kept: Kept | None = None,
) -> pa.Table:
    """Why records are together or apart.

    Args:
        pairs: ``left, right, weight``, by the records' numbers.
        clusters: table ``clusters``, in the order of the numbers.
        gold: ``cluster``, likewise, null where it is not known; None if there is no gold.
        asked: about records that there are, and clusters that there may not be.
        kept: what an earlier run explained of components that did not change.
    """
    records, component, labels = (clusters[name].combine_chunks() for name in ("record", "component", "cluster"))
    cluster = labels.to_numpy()
    scored = [pairs[name].to_numpy() for name in ("left", "right", "weight")]
    problem = Problem(len(cluster), scored[0], scored[1], scored[2], missing)
    rows = _Rows(graph, records, component.to_numpy())
    changed = np.ones(cluster.size, dtype=np.bool_) if kept is None else kept.changed
    parts = _decisions(rows, problem, cluster, changed)
    if kept is not None:
        parts = [joined_in_order(part, kept.rows, kind) for kind, part in zip(DECISIONS, parts, strict=True)]
    if gold is not None:
        true = gold["cluster"].combine_chunks().fill_null(-1).to_numpy()
        merged, split = false_merges(problem, cluster, true), false_splits(problem, cluster, true)
        parts += [
            _disagreeing(rows, "false_merge", merged, cluster=cluster[merged.left]),
            _disagreeing(rows, "false_split", split),
        ]
    return pa.concat_tables([*parts, *_answers(rows, problem, cluster, asked)])


def _decisions(
    whole: "_Rows", problem: Problem, cluster: NDArray[np.int64], changed: NDArray[np.bool_]
) -> list[pa.Table]:
    """What was decided within the components of some records; pairs between components decide nothing."""
    nodes, number = np.flatnonzero(changed), np.cumsum(changed) - 1
    left, right, component = problem.left, problem.right, whole.component
    inside = (component[left] == component[right]) & changed[left]
    ends = number[left[inside]], number[right[inside]]
    part, labels = Problem(nodes.size, *ends, problem.weights[inside], problem.missing), cluster[nodes]
    rows = _Rows(whole.graph, whole.records.take(pa.array(nodes)), component[nodes])
    held, joined = merges(part, labels), joined_pairs(part, labels)
    return [
        rows.table("merge", held.weakest, cluster=held.parts, weight=held.weights, held=held.held),
        _standings(rows, "near_miss", near_misses(part, labels)),
        _disagreeing(rows, "split_pair", split_pairs(part, labels)),
        _disagreeing(rows, "joined_pair", joined, cluster=labels[joined.left]),
    ]


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


def _answers(rows: _Rows, problem: Problem, cluster: NDArray[np.int64], asked: Asked) -> list[pa.Table]:
    """What each asked record brings, or would bring, into a cluster, which may be that of another asked record."""
    if not asked:
        return []
    numbers = {name: pc.index(rows.records, name).as_py() for names in asked for name in names[:2] if name is not None}
    pairs = [(numbers[record], numbers[other]) for record, other, _ in asked if other is not None]
    wanted = [(left, int(cluster[right])) for left, right in pairs]
    wanted += [
        (numbers[record], number) for record, _, number in asked if number is not None and number <= cluster.max()
    ]
    nodes, parts = np.array(wanted, dtype=np.int64).reshape(-1, 2).T
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    together = cluster[left] == cluster[right]
    return [
        _standings(rows, "asked", standings(problem, cluster, nodes, parts)),
        rows.table(
            "asked_pair",
            left,
            other=rows.records.take(pa.array(right)),
            weight=pa.array([_weight(problem, *pair) for pair in pairs], pa.float64()),
            cluster=pa.array(cluster[left], mask=~together),
        ),
    ]


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
