"""From graphs to clusters: cut into components, components solved in bundles, clusters put together."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.pairs import Graph
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution import components
from tiltmeter.operators.resolution.baselines.cliques import clustering_coefficient
from tiltmeter.operators.resolution.baselines.packing import Packing
from tiltmeter.operators.resolution.components import Components, Linked, components_of
from tiltmeter.operators.resolution.constraints import tied
from tiltmeter.operators.resolution.pairs import ScoredPairs
from tiltmeter.operators.resolution.problem import Missing, Problem, Remaining, Result, canonical
from tiltmeter.operators.resolution.solvers import Solve, all_together, linked_by, reducing_solver, solver
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_PAIRS_OF_A_BUNDLE = 100_000
"""Small components are solved together: a unit for each would take longer to keep than to do."""

_NODES = pa.schema([("component", pa.int64()), ("place", pa.int64())])
_POSITIVE = "all_positive"


@dataclass(frozen=True)
class Partition:
    """What was found on a graph.

    Attributes:
        clusters: table ``record, cluster, component``, by the number of the record.
        components: table ``components``.
    """

    clusters: TableRef
    components: TableRef


def partition(runner: Runner, graphs: Mapping[str, Graph], config: ResolutionRun) -> dict[str, Partition]:
    """Partition every graph; those of which a component failed are missing.

    Raises:
        UnitsFailed: if none is whole.
    """
    cut = runner.run_whole(
        Stage(
            "decompose",
            each(_decompose),
            {name: [_cut_unit(graph, linked_by(config.solver))] for name, graph in graphs.items()},
        )
    )
    version, _ = solver(config.solver)
    settings = {"solver": config.solver, "version": version, "missing": config.missing, "time_limit": config.time_limit}
    if packing := config.packing:
        # Limits only decide whether there is an answer; of several best ones, engines may find different ones.
        settings |= {"engine": packing.engine, "max_parts": packing.max_parts}
    bundles = {name: _bundles(finished) for name, [finished] in cut.items()}
    operator = f"partition/{version}"
    units = {
        name: [Unit(operator, f"{name} {number}", settings, {"bundle": [ref]}) for number, ref in enumerate(refs)]
        for name, refs in bundles.items()
    }
    solved = runner.run_whole(Stage("solve", each(partial(_solve, packing=config.packing)), units))
    gathered = {
        name: [_gather_unit(name, config.missing, graphs[name], cut[name][0], finished)]
        for name, finished in solved.items()
    }
    done = runner.run_whole(Stage("gather clusters", each(_gather), gathered))
    return {name: Partition(unit.tables["clusters"], unit.tables["components"]) for name, [unit] in done.items()}


def _cut_unit(graph: Graph, linked: Linked) -> Unit:
    settings: dict[str, Any] = {"num_records": graph.records.num_rows, "pairs_of_a_bundle": _PAIRS_OF_A_BUNDLE}
    if linked != "positive":
        settings["linked"] = linked
    inputs = {"pairs": [graph.pairs]} | ({"groups": [graph.groups]} if graph.groups else {})
    return Unit(components.VERSION, "components", settings, inputs)


def _bundles(finished: Finished) -> list[TableRef]:
    """The largest components first, which are those of the first bundles."""
    return [ref for name, ref in sorted(finished.tables.items()) if name.startswith("bundle")]


def _decompose(store: Store, unit: Unit) -> Tables:
    pairs = store.read(unit.input("pairs"))
    left, right, weights = (pairs[name].to_numpy() for name in ("left", "right", "weight"))
    scored = ScoredPairs(left, right, weights, 0, 0, 0, 0)
    groups = store.read(unit.input("groups"))["group"].to_numpy() if "groups" in unit.inputs else None
    together = None if groups is None else _ties(groups)
    parts = components_of(unit.config["num_records"], scored, unit.config.get("linked", "positive"), together)
    del pairs, left, right, weights, scored
    yield "nodes", pa.table([parts.component, parts.place], schema=_NODES)
    ordered = None if groups is None else groups[np.argsort(parts.component, kind="stable")]
    for number, (first, last) in enumerate(parts.bundles(unit.config["pairs_of_a_bundle"])):
        yield f"bundle_{number:06d}", _bundle(parts, first, last, ordered)


def _ties(groups: IntArray) -> IntArray:
    """``[2, nodes]``, each node with the first of its group."""
    _, first = np.unique(groups, return_index=True)
    return np.stack([first[groups], np.arange(groups.size)])


def _bundle(parts: Components, first: int, last: int, groups: IntArray | None) -> pa.Table:
    """A row for each component, with its pairs as lists: what it is numbered in the whole does not matter here."""
    start, end = parts.starts[first], parts.starts[last]
    offsets = pa.array((parts.starts[first : last + 1] - start).astype(np.int32))
    lists = {
        name: pa.ListArray.from_arrays(offsets, pa.array(values[start:end].astype(kind)))
        for name, values, kind in (
            ("left", parts.left, np.int32),
            ("right", parts.right, np.int32),
            ("weight", parts.weights, np.float64),
        )
    }
    if groups is not None:
        ends = np.cumsum(np.append(0, parts.sizes))
        of_nodes = pa.array((ends[first : last + 1] - ends[first]).astype(np.int32))
        lists["group"] = pa.ListArray.from_arrays(of_nodes, pa.array(groups[ends[first] : ends[last]]))
    return pa.table({"num_nodes": parts.sizes[first:last], **lists})


# --- solving --------------------------------------------------------------------------------------------------------


def _solve(store: Store, unit: Unit, packing: Packing | None) -> Tables:
    bundle = store.read(unit.input("bundle"))
    labels, rows = [], []
    for problem, groups in zip(_problems(bundle, unit.config["missing"]), _groups(bundle), strict=True):
        result, row = _timed(problem, groups, unit.config["solver"], unit.config["time_limit"], packing)
        labels.append(result.labels)
        rows.append(row)
    yield "labels", pa.table({"label": np.concatenate(labels)})
    yield "results", pa.Table.from_pylist(rows, _PACKED if packing else _RESULTS)


_PHASES = ("num_cliques", "clustering_coefficient", "listing_seconds", "packing_seconds")
_PACKED = pa.schema(
    [field for field in tables.COMPONENTS if field.name not in ("graph", "component", "missing", "num_records")]
)
_RESULTS = pa.schema([field for field in _PACKED if field.name not in _PHASES])


def _problems(bundle: pa.Table, missing: Missing) -> Iterator[Problem]:
    sizes = bundle["num_nodes"].to_numpy()
    left, right, weights = (bundle[name].combine_chunks() for name in ("left", "right", "weight"))
    ends = left.offsets.to_numpy()
    values = [part.values.to_numpy() for part in (left, right, weights)]
    for number, size in enumerate(sizes.tolist()):
        ours = slice(ends[number], ends[number + 1])
        ends_of_pairs = [part[ours].astype(np.int64) for part in values[:2]]
        yield Problem(size, ends_of_pairs[0], ends_of_pairs[1], values[2][ours], missing)


def _groups(bundle: pa.Table) -> Iterable[IntArray | None]:
    """Of each component, those of its nodes that have to be together; None where there are none."""
    if "group" not in bundle.column_names:
        return [None] * bundle.num_rows
    each = (canonical(groups.values.to_numpy()) for groups in bundle["group"])
    return (groups if groups.size > groups.max() + 1 else None for groups in each)


def _timed(
    problem: Problem, groups: IntArray | None, name: str, time_limit: float, packing: Packing | None
) -> tuple[Result, dict[str, Any]]:
    listed: list[tuple[int, float]] = []
    started = time.monotonic()
    trivial = all_together(problem, name)
    solve = reducing_solver(name, packing, lambda num: listed.append((num, time.monotonic())))
    if groups is not None:
        solve = partial(_tied, groups, solve)
    result = trivial or solve(problem, lambda: started + time_limit - time.monotonic())
    ended = time.monotonic()
    phases = [
        {
            "num_cliques": num,
            "clustering_coefficient": clustering_coefficient(problem),
            "listing_seconds": middle - started,
            "packing_seconds": ended - middle,
        }
        for num, middle in listed
    ]
    return result, {
        "num_pairs": int(np.isfinite(problem.weights).sum()),
        "num_clusters": int(result.labels.max()) + 1,
        "solver": _POSITIVE if trivial else name,
        "status": result.status,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "seconds": ended - started,
        "num_cuts": result.num_cuts,
        "num_branches": result.num_branches,
        **(phases[0] if phases else {}),
    }


def _tied(groups: IntArray, solve: Solve, problem: Problem, remaining: Remaining) -> Result:
    return tied(problem, groups, solve, remaining)


# --- putting together -----------------------------------------------------------------------------------------------


def _gather_unit(name: str, missing: Missing, graph: Graph, cut: Finished, solved: Sequence[Finished]) -> Unit:
    inputs = {
        "records": [graph.records],
        "nodes": [cut.tables["nodes"]],
        "sizes": [ref.select("num_nodes") for ref in _bundles(cut)],
        "labels": [unit.tables["labels"] for unit in solved],
        "results": [unit.tables["results"] for unit in solved],
    }
    return Unit("gather_clusters/2", name, {"graph": name, "missing": missing}, inputs)


def _gather(store: Store, unit: Unit) -> Tables:
    nodes, records = store.read(unit.input("nodes")), store.read(unit.input("records"))
    component, place = (nodes[name].to_numpy() for name in ("component", "place"))
    sizes = np.concatenate([store.read(ref)["num_nodes"].to_numpy() for ref in unit.inputs["sizes"]])
    labels = np.concatenate([store.read(ref)["label"].to_numpy() for ref in unit.inputs["labels"]])
    graph = unit.config["graph"]
    cluster = _numbered(component, labels[(np.cumsum(sizes) - sizes)[component] + place])
    num = len(component)
    clusters = [pa.array([graph] * num).dictionary_encode(), records["record"], cluster, component]
    yield "clusters", pa.table(clusters, names=tables.CLUSTERS.names).cast(tables.CLUSTERS)
    results = pa.concat_tables([store.read(ref) for ref in unit.inputs["results"]])
    common = {"graph": [graph] * len(sizes), "missing": [unit.config["missing"]] * len(sizes)}
    numbers = {"component": np.arange(len(sizes)), "num_records": sizes}
    no_phases = {name: pa.nulls(len(sizes), tables.COMPONENTS.field(name).type) for name in _PHASES}
    columns = no_phases | {name: results[name] for name in results.column_names} | common | numbers
    yield "components", pa.table({name: columns[name] for name in tables.COMPONENTS.names}, schema=tables.COMPONENTS)


def _numbered(component: NDArray[np.int64], label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clusters in the order of their first records."""
    return canonical(component * (int(label.max(initial=0)) + 1) + label)
