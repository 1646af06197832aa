"""From graphs to clusters: cut into components, components solved in bundles, clusters put together with their ids."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.graphs import Graph, Resolution
from tiltmeter.jobs.resolution.previous import Previous
from tiltmeter.jobs.resolution.tables import Clusters, Components, Ledger, LedgerCounts, MovedRecords
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Subject, Work, WorkUnit
from tiltmeter.operators.compute.arrays import BoolArray, IntArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.resolution import components, digests, explanations, lineage
from tiltmeter.operators.resolution.baselines.cliques import clustering_coefficient
from tiltmeter.operators.resolution.baselines.packing import Packing
from tiltmeter.operators.resolution.clustering import Solver
from tiltmeter.operators.resolution.components import Linked
from tiltmeter.operators.resolution.constraints import tied, ties
from tiltmeter.operators.resolution.lineage import NOWHERE, Flows
from tiltmeter.operators.resolution.problem import Missing, Problem, Remaining, Result, canonical
from tiltmeter.operators.resolution.solvers import Solve, all_together, linked_by, reducing_solver, solver
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef

_PAIRS_OF_A_BUNDLE = 100_000
"""Small components are solved together: a unit for each would take longer to keep than to do."""

_NODES = pa.schema([("component", pa.int64()), ("place", pa.int64())])
_LISTS = pa.schema(
    [(name, pa.list_(kind)) for name, kind in (("left", pa.int32()), ("right", pa.int32()), ("weight", pa.float64()))]
)
"""Of a bundle, the pairs of each component."""

_KNOWN = ("graph", "component", "missing", "num_records", "is_reused", "content")
"""Columns of ``components`` that no solver tells."""

_PHASES = ("num_cliques", "clustering_coefficient", "listing_seconds", "packing_seconds")
"""Those that packings have alone."""

_COMPONENTS = Components.schema()
_PACKED = pa.schema([field for field in _COMPONENTS if field.name not in _KNOWN])
_RESULTS = pa.schema([field for field in _PACKED if field.name not in _PHASES])


@dataclass(frozen=True)
class SolverSettings(Subject):
    """What partitions each component, in how many seconds, and what is set of a packing."""

    solver: Solver
    missing: Missing
    time_limit: float
    packing: Packing | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What decides a result."""
        settings: dict[str, Any] = {"solver": self.solver, "version": self.version, "missing": self.missing}
        if self.packing:
            # Limits only decide whether there is an answer; of several best ones, engines may find different ones.
            settings |= {"engine": self.packing.engine, "max_parts": self.packing.max_parts}
        return settings | {"time_limit": self.time_limit}

    @property
    def version(self) -> str:
        """Of the solver."""
        return solver(self.solver)[0]


def partition(run: Resolution, graphs: Mapping[str, Graph], previous: Previous) -> dict[str, Graph]:
    """Partition every graph; those of which a component failed are missing.

    Returns:
        Graphs with the tables that :class:`CutGraph` and :class:`GatherClusters` make.

    Raises:
        UnitsFailed: if none is complete.
    """
    config = run.config
    settings = SolverSettings(config.solver, config.missing, config.time_limit, config.packing)
    cut = run.do(
        CutGraph(
            label="components",
            group=name,
            pairs=graph["pairs"],
            groups=graph.get("groups"),
            num_records=graph["records"].num_rows,
            linked=linked_by(config.solver),
            pairs_of_a_bundle=_PAIRS_OF_A_BUNDLE,
            comparison=Comparison(name, previous, settings, graph["records"]) if previous.tables else None,
        )
        for name, graph in graphs.items()
    )
    # A graph of which all components are taken over has none to be solved, and is complete even if no other is.
    solved = run.do(
        (
            SolveBundle(label=f"{work.group} {number}", group=work.group, settings=settings, bundle=bundle)
            for work, unit in cut.pairs
            for number, bundle in enumerate(bundles_of(unit.tables))
        ),
        complete=False,
    ).groups
    known = {work.group: {**graphs[work.group], **unit.tables} for work, unit in cut.pairs}
    gathered = run.do(
        (
            GatherClusters(
                label=name,
                group=name,
                graph=name,
                missing=config.missing,
                solved_by=settings.identity,
                previous=previous,
                records=tables["records"],
                nodes=tables["nodes"],
                contents=tables["contents"],
                labels=solved[name].refs("labels") if name in solved else [],
                results=solved[name].refs("results") if name in solved else [],
            )
            for name, tables in known.items()
        ),
        publish=False,
    )
    return {work.group: {**known[work.group], **unit.tables} for work, unit in gathered.pairs}


def bundles_of(graph: Graph) -> list[TableRef]:
    """The components that were solved, the largest first, which are those of the first bundles."""
    return [ref for name, ref in sorted(graph.items()) if name.startswith("bundle")]


def _contents(component_digests: IntArray, solved_by: Mapping[str, Any]) -> IntArray:
    """``[components]``, what stands for the pairs of each and for all else that results depend on."""
    seed = document_key(digest({"settings": solved_by, "versions": [digests.VERSION, explanations.VERSION]}))
    return (component_digests.view(np.uint64) ^ np.uint64(seed)).view(np.int64)


# --- components -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison(Subject):
    """A graph that a previous run may have had, and what its components are solved by."""

    graph: str
    previous: Previous
    settings: SolverSettings
    records: TableRef

    @property
    def identity(self) -> dict[str, Any]:
        """What decides which components are taken over."""
        return {**self.previous.identity, "graph": self.graph, "solved_by": self.settings.identity}

    @property
    def inputs(self) -> dict[str, list[TableRef]]:
        """The records, by which components are told."""
        return {"records": [self.records]}

    def reused(self, store: Store, component: IntArray, component_digests: IntArray) -> IntArray:
        """``[components]``, the number in the previous run of each that did not change, or ``NOWHERE``."""
        records, contents = store.read(self.records)["record"], _contents(component_digests, self.settings.identity)
        return self.previous.unchanged(self.graph, pl.Series(records), component, contents)


class CutGraph(Work, unit=f"{components.VERSION}/{digests.VERSION}", stage="decompose"):
    """The component and place of each node, what stands for each component, and those to be solved, in bundles."""

    pairs: TableRef
    groups: TableRef | None
    num_records: int
    linked: Linked = "positive"
    pairs_of_a_bundle: int
    comparison: Comparison | None = None

    def tables(self, store: Store) -> Tables:
        """``nodes``, ``contents`` and bundles."""
        pairs = store.read(self.pairs)
        left, right, weights = (pairs[name].to_numpy() for name in _LISTS.names)
        groups = None if self.groups is None else store.read(self.groups)["group"].to_numpy()
        together = None if groups is None else ties(groups)
        component = components.numbered_components(self.num_records, left, right, weights, self.linked, together)
        place = components.places(component)
        known = digests.component_digests(component, place, left, right, weights, groups)
        compare = self.comparison
        reused = np.full(known.size, NOWHERE) if compare is None else compare.reused(store, component, known)
        yield "nodes", pa.table([component, place], schema=_NODES)
        yield "contents", pa.table({"digest": known, "reused": reused})
        changed = reused == NOWHERE
        number = np.where(changed, np.cumsum(changed) - 1, NOWHERE)
        parts = components.divided(number[component], left, right, weights)
        del pairs, left, right, weights
        if groups is not None:
            groups = groups[np.argsort(parts.component, kind="stable")[(parts.component < 0).sum() :]]
        for bundle, (first, last) in enumerate(parts.bundles(self.pairs_of_a_bundle)):
            yield f"bundle_{bundle:06d}", _bundle(parts, first, last, groups)


def _bundle(parts: components.Components, first: int, last: int, groups: IntArray | None) -> pa.Table:
    """A row for each component, with its pairs as lists: what it is numbered in the whole does not matter here."""
    start, end = parts.starts[first], parts.starts[last]
    offsets = pa.array((parts.starts[first : last + 1] - start).astype(np.int32))
    values = zip(_LISTS, (parts.left, parts.right, parts.weights), strict=True)
    lists = {
        field.name: pa.ListArray.from_arrays(offsets, pa.array(of_pairs[start:end], field.type.value_type))
        for field, of_pairs in values
    }
    if groups is not None:
        ends = np.cumsum(np.append(0, parts.sizes))
        of_nodes = pa.array((ends[first : last + 1] - ends[first]).astype(np.int32))
        lists["group"] = pa.ListArray.from_arrays(of_nodes, pa.array(groups[ends[first] : ends[last]]))
    return pa.table({"num_nodes": parts.sizes[first:last], **lists})


def changed_problem(
    bundles: Sequence[pa.Table], component: IntArray, changed: BoolArray, missing: Missing
) -> tuple[IntArray, Problem]:
    """The components that changed, from the bundles in which they were solved.

    Args:
        bundles: of all components that changed, in their order.
        component: ``[records]``, of each.
        changed: ``[components]``.

    Returns:
        ``[nodes]``, their records by number, and the problem whose nodes these are.
    """
    nodes = np.flatnonzero(changed[component])
    number = np.cumsum(changed) - 1
    # Without any bundle there still are columns.
    lists = pa.concat_tables([_LISTS.empty_table(), *(bundle.select(_LISTS.names) for bundle in bundles)])
    sizes = pc.list_value_length(lists["left"]).to_numpy()
    values = (pc.list_flatten(lists[name]).to_numpy() for name in _LISTS.names)
    pairs = components.undivided(number[component[nodes]], sizes, *values)
    return nodes, Problem(nodes.size, *pairs, missing)


# --- solutions ------------------------------------------------------------------------------------------------------


class SolveBundle(Work, unit="partition", stage="solve"):
    """The components of a bundle, each partitioned."""

    settings: SolverSettings
    bundle: TableRef

    def unit(self) -> WorkUnit:
        """Of the version of its solver."""
        return replace(super().unit(), operator=f"{self.operator_name}/{self.settings.version}")

    def tables(self, store: Store) -> Tables:
        """``labels`` of all nodes and ``results`` of all components."""
        bundle, settings = store.read(self.bundle), self.settings
        results = [solve_in_time(problem, groups, settings) for problem, groups in _problems(bundle, settings.missing)]
        yield "labels", pa.table({"label": np.concatenate([result.labels for result, _ in results])})
        yield "results", pa.Table.from_pylist([row for _, row in results], _PACKED if settings.packing else _RESULTS)


def _problems(bundle: pa.Table, missing: Missing) -> Iterator[tuple[Problem, IntArray | None]]:
    """Each component, with those of its nodes that have to be together; None where there are none."""
    tied_nodes = bundle["group"] if "group" in bundle.column_names else repeat(None, bundle.num_rows)
    sizes = bundle["num_nodes"].to_numpy()
    left, right, weights = (bundle[name].combine_chunks() for name in _LISTS.names)
    ends = left.offsets.to_numpy()
    values = [part.values.to_numpy() for part in (left, right, weights)]
    for number, (size, nodes) in enumerate(zip(sizes.tolist(), tied_nodes, strict=True)):
        groups = None if nodes is None else canonical(nodes.values.to_numpy())
        ours = slice(ends[number], ends[number + 1])
        ends_of_pairs = [part[ours].astype(np.int64) for part in values[:2]]
        problem = Problem(size, ends_of_pairs[0], ends_of_pairs[1], values[2][ours], missing)
        yield problem, None if groups is None or groups.size == groups.max() + 1 else groups


def solve_in_time(problem: Problem, groups: IntArray | None, settings: SolverSettings) -> tuple[Result, dict[str, Any]]:
    """A component partitioned within the time limit, and what ``components`` says of it.

    Args:
        groups: ``[nodes]``, equal for those that have to be together; None: none have to.
    """
    listed: list[tuple[int, float]] = []
    started = time.monotonic()
    trivial = all_together(problem, settings.solver)
    solve = reducing_solver(settings.solver, settings.packing, lambda num: listed.append((num, time.monotonic())))
    if groups is not None:
        solve = partial(_tied, groups, solve)
    result = trivial or solve(problem, lambda: started + settings.time_limit - time.monotonic())
    ended = time.monotonic()
    row = {
        "num_pairs": int(np.isfinite(problem.weights).sum()),
        "num_clusters": int(result.labels.max()) + 1,
        "solver": "all_positive" if trivial else settings.solver,
        "status": result.status,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "seconds": ended - started,
        "num_cuts": result.num_cuts,
        "num_branches": result.num_branches,
    }
    for num, middle in listed[:1]:
        phases = (num, clustering_coefficient(problem), middle - started, ended - middle)
        row |= dict(zip(_PHASES, phases, strict=True))
    return result, row


def _tied(groups: IntArray, solve: Solve, problem: Problem, remaining: Remaining) -> Result:
    return tied(problem, groups, solve, remaining)


# --- clusters -------------------------------------------------------------------------------------------------------


class GatherClusters(Work, unit=f"gather_clusters/4/{lineage.VERSION}", stage="gather clusters"):
    """Clusters of the solved components and of those that did not change, with their ids."""

    graph: str
    missing: Missing
    solved_by: Mapping[str, Any]
    previous: Previous
    records: TableRef
    nodes: TableRef
    contents: TableRef
    labels: Sequence[TableRef]
    results: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        """``clusters``, ``components``, ``ledger_counts``; after a previous run ``ledger`` and ``moved_records``."""
        graph, records, known = self.graph, store.read(self.records)["record"], store.read(self.contents)
        component, place = (column.to_numpy() for column in store.read(self.nodes).select(_NODES.names))
        reused, next_id = known["reused"].to_numpy(), self.previous.next_id(graph)
        earlier = self.previous.labels(graph, pl.Series(records))
        labels = [np.empty(0, np.int64), *(store.read(ref)["label"].to_numpy() for ref in self.labels)]
        cluster = components.joined_labels(component, place, reused == NOWHERE, np.concatenate(labels), earlier.cluster)
        ids = lineage.inherited_ids(earlier.id, cluster, next_id)
        names = pa.array([graph] * len(cluster)).dictionary_encode()
        schema = Clusters.schema()
        yield "clusters", pa.table([names, records, cluster, ids[cluster], component], schema.names).cast(schema)
        yield "components", self._components(store, np.bincount(component), known)
        before = np.append(earlier.id, earlier.gone)
        moved = lineage.flows(before, np.append(ids[cluster], np.full(earlier.gone.size, NOWHERE)))
        if self.previous.tables:
            yield "ledger", _ledger(graph, moved)
            yield "moved_records", _moved_records(graph, records, earlier.id, ids[cluster])
        events: dict[str, Any] = moved.counts()
        counts = LedgerCounts(
            graph=graph,
            **events,
            num_reused=int((reused != NOWHERE).sum()),
            num_solved=int((reused == NOWHERE).sum()),
            next_id=max(int(ids.max(initial=-1)) + 1, next_id),
        )
        yield from tables_of([counts], [LedgerCounts])

    def _components(self, store: Store, sizes: IntArray, known: pa.Table) -> pa.Table:
        """What came of each component, whether it was solved now or before."""
        reused = known["reused"].to_numpy()
        is_reused = reused != NOWHERE
        results = [pl.DataFrame(_PACKED.empty_table()), *(pl.DataFrame(store.read(ref)) for ref in self.results)]
        solved = pl.concat(results, how="diagonal").with_columns(component=pl.Series(np.flatnonzero(~is_reused)))
        if is_reused.any():
            before = self.previous.rows("components", self.graph, ["component", *_PACKED.names])
            numbers = pl.DataFrame({"component": reused[is_reused], "now": np.flatnonzero(is_reused)})
            taken = numbers.join(before, on="component", how="left").with_columns(component="now")
            solved = pl.concat([solved, taken.select(solved.columns)]).sort("component")
        every = solved.with_columns(
            graph=pl.lit(self.graph),
            missing=pl.lit(self.missing),
            num_records=pl.Series(sizes),
            is_reused=pl.Series(is_reused),
            content=pl.Series(_contents(known["digest"].to_numpy(), self.solved_by)),
        )
        return every.select(_COMPONENTS.names).to_arrow().cast(_COMPONENTS)


def _ledger(graph: str, moved: Flows) -> pa.Table:
    ids = [pa.array(side, mask=side == NOWHERE) for side in (moved.before, moved.after)]
    counts = [moved.num_records, moved.num_before, moved.num_after]
    values = [pa.array([graph] * moved.events.size), *ids, pa.array(moved.events.tolist(), pa.string()), *counts]
    return pa.table(values, schema=Ledger.schema())


def _moved_records(graph: str, records: pa.ChunkedArray, before: IntArray, after: IntArray) -> pa.Table:
    places = np.flatnonzero((before != NOWHERE) & (before != after))
    events = np.where(np.isin(before[places], after), "split", "merged").tolist()
    values = [[graph] * places.size, records.take(pa.array(places)), before[places], after[places], events]
    schema = MovedRecords.schema()
    return pa.table(values, names=schema.names).cast(schema)
