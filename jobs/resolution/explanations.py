"""What came of a partition: why records are together or apart."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.config import Question
from tiltmeter.jobs.resolution.graphs import Graph, Resolution, pair_columns
from tiltmeter.jobs.resolution.partitions import bundles_of, changed_problem
from tiltmeter.jobs.resolution.previous import DECISIONS, Previous, join_in_order
from tiltmeter.jobs.resolution.tables import DrawnPairs, Explanations
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution import explanations as partition_explanations
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
from tiltmeter.operators.resolution.lineage import NOWHERE
from tiltmeter.operators.resolution.problem import Missing, Problem
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.streaming import pieces

Questions = Mapping[str, Sequence[Question]]
"""By graph."""

Asked = Sequence[tuple[str, str | None, int | None]]
"""Record, other record or None, and number of a cluster or None."""


def assess(run: Resolution, graphs: Mapping[str, Graph], questions: Questions, previous: Previous) -> None:
    """Publish ``explanations``, and ``drawn_pairs`` where some are drawn."""
    reasons, drawings = [], []
    for name, graph in graphs.items():
        gold, pairs, clusters = graph.get("gold"), graph["pairs"], graph["clusters"]
        asked = [(question.record, question.other, question.cluster) for question in questions.get(name, ())]
        reasons.append(
            ExplainClusters(
                label=name,
                group=name,
                graph=name,
                missing=run.config.missing,
                asked=asked,
                clusters=clusters,
                gold=gold,
                pairs=pairs if gold or asked or not previous.tables else None,
                kept=Kept(previous, graph["contents"].select("reused"), bundles_of(graph)) if previous.tables else None,
            )
        )
        if drawn := run.config.drawn:
            drawings.append(DrawPairs(label=name, group=name, graph=name, drawn=drawn, pairs=pairs, clusters=clusters))
    run.do(reasons, complete=False)
    run.do(drawings, complete=False)


class DrawPairs(Work, unit="drawn_pairs/1", stage="drawn pairs", makes=[DrawnPairs]):
    """The pairs of some components, with their records' names."""

    graph: str
    drawn: Sequence[int]
    pairs: TableRef
    clusters: TableRef

    def tables(self, store: Store) -> Tables:
        """``drawn_pairs``."""
        left, right, weights = (column.to_numpy() for column in store.read(self.pairs).columns)
        clusters = store.read(self.clusters)
        records, component = clusters["record"].combine_chunks(), clusters["component"].to_numpy()
        within = np.isin(component[left], self.drawn) & (component[left] == component[right])
        rows = np.flatnonzero(within & np.isfinite(weights))
        ends = [records.take(pa.array(end[rows])) for end in (left, right)]
        columns = [pa.array([self.graph] * len(rows)), component[left[rows]], *ends, weights[rows]]
        yield "drawn_pairs", pa.table(columns, schema=DrawnPairs.schema())


# --- explanations ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kept(Subject):
    """What a previous run explained of components that have not changed since.

    Attributes:
        reused: of table ``contents`` the column of this name.
        bundles: the components that have changed.
    """

    previous: Previous
    reused: TableRef
    bundles: Sequence[TableRef]

    @property
    def identity(self) -> Mapping[str, Any]:
        """Settings of every unit that looks back at it."""
        return self.previous.identity

    @property
    def inputs(self) -> dict[str, Sequence[TableRef]]:
        """What says which components have changed."""
        return {"reused": [self.reused], "bundles": self.bundles}


class ExplainClusters(
    Work, unit=f"explain/{partition_explanations.VERSION}", stage="explanations", makes=[Explanations]
):
    """Why records are together or apart."""

    graph: str
    missing: Missing
    asked: Asked
    clusters: TableRef
    gold: TableRef | None
    pairs: TableRef | None
    kept: Kept | None = None

    def tables(self, store: Store) -> Tables:
        """``explanations``."""
        yield "explanations", pa.concat_tables(self._parts(store))

    def _parts(self, store: Store) -> Iterator[pa.Table]:
        clusters = store.read(self.clusters)
        records = _Records.of(self.graph, clusters)
        if self.kept is not None:
            reused = store.read(self.kept.reused)["reused"].to_numpy()
            bundles = [store.read(ref) for ref in self.kept.bundles]
            nodes, problem = changed_problem(bundles, records.component, reused == NOWHERE, self.missing)
            rows = self.kept.previous.explanations(self.graph, clusters, reused)
            decisions = zip(DECISIONS, records.part(nodes).decisions(problem), strict=True)
            yield from (join_in_order(table, rows, kind) for kind, table in decisions)
        if self.pairs is None:
            return
        left, right, weights = pair_columns(store.read(self.pairs))
        if self.kept is None:
            # Pairs between components decide nothing.
            inside = records.component[left] == records.component[right]
            part = Problem(records.cluster.size, left[inside], right[inside], weights[inside], self.missing)
            yield from records.decisions(part)
        problem = Problem(records.cluster.size, left, right, weights, self.missing)
        if self.gold is not None:
            yield from records.contradictions(problem, store.read(self.gold)["cluster"])
        if self.asked:
            yield from records.answers(problem, self.asked)


@dataclass(frozen=True)
class _Records:
    """The records of a graph, or of some of its components, which makes parts of the table of them.

    Attributes:
        ids, component, cluster: ``[records]``, of each.
    """

    graph: str
    ids: pa.Array
    component: IntArray
    cluster: IntArray

    @classmethod
    def of(cls, graph: str, clusters: pa.Table) -> Self:
        ids, *labels = (clusters[name].combine_chunks() for name in ("record", "component", "cluster"))
        return cls(graph, ids, *(numbers.to_numpy() for numbers in labels))

    def part(self, nodes: IntArray) -> "_Records":
        return _Records(self.graph, self.ids.take(pa.array(nodes)), self.component[nodes], self.cluster[nodes])

    def decisions(self, problem: Problem) -> list[pa.Table]:
        """Why records are together or apart, by the kinds of ``DECISIONS``.

        Args:
            problem: the pairs within components.
        """
        held, joined = merges(problem, self.cluster), joined_pairs(problem, self.cluster)
        return [
            self._table("merge", held.weakest, cluster=held.parts, weight=held.weights, held=held.held),
            self._standings("near_miss", near_misses(problem, self.cluster)),
            self._pairs("split_pair", split_pairs(problem, self.cluster)),
            self._pairs("joined_pair", joined, cluster=self.cluster[joined.left]),
        ]

    def contradictions(self, problem: Problem, gold: pa.ChunkedArray) -> list[pa.Table]:
        """Scored pairs that the true clusters contradict.

        Args:
            problem: all pairs.
            gold: ``[records]``, the true cluster of each, null where it is not known.
        """
        true = gold.combine_chunks().fill_null(-1).to_numpy()
        merged, split = false_merges(problem, self.cluster, true), false_splits(problem, self.cluster, true)
        together = self._pairs("false_merge", merged, cluster=self.cluster[merged.left])
        return [together, self._pairs("false_split", split)]

    def answers(self, problem: Problem, asked: Asked) -> list[pa.Table]:
        """What each asked record brings, or would bring, into a cluster, which may be that of another asked record.

        Args:
            problem: all pairs.
            asked: about records that there are, and clusters that there may not be; one question at least.
        """
        cluster = self.cluster
        numbers = {name: pc.index(self.ids, name).as_py() for names in asked for name in names[:2] if name is not None}
        pairs = [(numbers[record], numbers[other]) for record, other, _ in asked if other is not None]
        wanted = [(left, int(cluster[right])) for left, right in pairs]
        wanted += [(numbers[record], number) for record, _, number in asked if number is not None]
        there = [(node, number) for node, number in wanted if number <= cluster.max()]
        nodes, parts = np.array(there, dtype=np.int64).reshape(-1, 2).T
        left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        between = self._table(
            "asked_pair",
            left,
            other=self.ids.take(pa.array(right)),
            weight=pa.array([_weight(problem, *pair) for pair in pairs], pa.float64()),
            cluster=pa.array(cluster[left], mask=cluster[left] != cluster[right]),
        )
        return [self._standings("asked", standings(problem, cluster, nodes, parts)), between]

    def _standings(self, kind: str, standing: Standings) -> pa.Table:
        offsets = pa.array(standing.starts.astype(np.int32))
        allowed = np.isfinite(standing.tipping_weights)
        weights = pa.array(np.where(allowed, standing.tipping_weights, 0.0), mask=~allowed)
        return self._table(
            kind,
            standing.nodes,
            cluster=standing.parts,
            weight=standing.total,
            support=standing.support,
            opposition=standing.opposition,
            held=standing.held,
            num_forbidden=standing.num_forbidden,
            tipping_records=pa.ListArray.from_arrays(offsets, self.ids.take(pa.array(standing.tipping))),
            tipping_weights=pa.ListArray.from_arrays(offsets, weights),
        )

    def _pairs(self, kind: str, pairs: Pairs, **columns: Any) -> pa.Table:
        others = self.ids.take(pa.array(pairs.right))
        weights = pa.array(pairs.weights, mask=~np.isfinite(pairs.weights))
        return self._table(kind, pairs.left, other=others, weight=weights, **columns)

    def _table(self, kind: str, nodes: IntArray, **columns: Any) -> pa.Table:
        """Rows about nodes; columns that are not given are null."""
        num, schema = len(nodes), Explanations.schema()
        known: Mapping[str, Any] = {
            "graph": pa.array([self.graph] * num),
            "kind": pa.array([kind] * num),
            "component": self.component[nodes],
            "record": self.ids.take(pa.array(nodes)),
        } | columns
        return pa.table([known.get(field.name, pa.nulls(num, field.type)) for field in schema], schema=schema)


def _weight(problem: Problem, one: int, other: int) -> float | None:
    """None for a pair that was never scored, or that constraints forbid."""
    scored = np.flatnonzero((problem.left == min(one, other)) & (problem.right == max(one, other)))
    return float(problem.weights[scored[0]]) if scored.size and np.isfinite(problem.weights[scored[0]]) else None


# --- questions ------------------------------------------------------------------------------------------------------


def questions_by_graph(store: Store, graphs: Mapping[str, Graph], questions: Sequence[Question]) -> Questions:
    """The questions about each graph, which are those whose records it has.

    Raises:
        ConfigError: if no graph has the records of a question.
    """
    if not questions:
        return {}
    names = sorted({name for question in questions for name in question.records})
    known = {name: _there(store, graph["records"], names) for name, graph in graphs.items()}
    for question in questions:
        if not any(records.issuperset(question.records) for records in known.values()):
            raise ConfigError(f"explain: {_absence(question, known.values())}; ask about records of one graph")
    return {
        name: [question for question in dict.fromkeys(questions) if records.issuperset(question.records)]
        for name, records in known.items()
    }


def check_clusters(store: Store, graphs: Mapping[str, Graph], questions: Questions) -> None:
    """Whether there are the clusters that are asked about.

    Raises:
        ConfigError: if no graph that a question is about has its cluster.
    """
    asked = {name: questions[name] for name in graphs if questions.get(name)}
    nums = {name: _num_clusters(store, graphs[name]["clusters"]) for name in asked}
    for question in dict.fromkeys(question for about in asked.values() for question in about):
        largest = max(nums[name] for name, about in asked.items() if question in about) - 1
        if question.cluster is not None and question.cluster > largest:
            raise ConfigError(
                f"explain: record {question.record!r} is asked about with cluster {question.cluster}, but clusters are "
                f"numbered from 0 to {largest}, as in the table of this name"
            )


def _there(store: Store, records: TableRef, names: Sequence[str]) -> set[str]:
    wanted = pa.array(names, pa.string())
    parts = (piece["record"].filter(pc.is_in(piece["record"], wanted)) for piece in pieces(store, [records]))
    return {name for part in parts for name in part.to_pylist()}


def _absence(question: Question, known: Collection[set[str]]) -> str:
    for name in question.records:
        if not any(name in records for records in known):
            return f"there is no record {name!r}"
    return f"no graph has both {question.record!r} and {question.other!r}"


def _num_clusters(store: Store, clusters: TableRef) -> int:
    return max(int(pc.max(piece["cluster"]).as_py()) + 1 for piece in pieces(store, [clusters.select("cluster")]))
