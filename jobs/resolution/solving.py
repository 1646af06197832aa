"""From graphs to clusters: cut into components, components solved in bundles, clusters put together."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.gathering import KNOWN, PHASES, contents, gather
from tiltmeter.jobs.resolution.ids.previous import Identity, earlier_labels, rows_of, unchanged
from tiltmeter.jobs.resolution.pairs import Graph
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution import components
from tiltmeter.operators.resolution import digests as component_digests
from tiltmeter.operators.resolution import lineage as cluster_lineage
from tiltmeter.operators.resolution.baselines.cliques import clustering_coefficient
from tiltmeter.operators.resolution.baselines.packing import Packing
from tiltmeter.operators.resolution.components import Components, Linked, divided, numbered_components, places
from tiltmeter.operators.resolution.constraints import tied
from tiltmeter.operators.resolution.lineage import NOWHERE
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
        tables: ``clusters``, by the number of the record, ``components``, ``ledger_counts``, ``contents``, which says
            which components were reused, bundles of the others, and after a previous run ``ledger``, ``moved_records``.
    """

    tables: Mapping[str, TableRef]

    @property
    def clusters(self) -> TableRef:
        """Its table ``clusters``."""
        return self.tables["clusters"]

    @property
    def bundles(self) -> list[TableRef]:
        """The components that were solved."""
        return _bundles(self.tables)


def partition(
    runner: Runner, graphs: Mapping[str, Graph], config: ResolutionRun, previous: Identity
) -> dict[str, Partition]:
    """Partition every graph; those of which a component failed are missing.

    Args:
        previous: tables of the run from which components are taken over that did not change, and ids.

    Raises:
        UnitsFailed: if none is whole.
    """
    settings = _solver_settings(config)
    cut = runner.run_whole(
        Stage(
            "decompose",
            each(_decompose),
            {name: [_cut_unit(name, graph, settings, previous)] for name, graph in graphs.items()},
        )
    )
    bundles = {name: _bundles(finished.tables) for name, [finished] in cut.items()}
    operator = f"partition/{settings['version']}"
    units = {
        name: [Unit(operator, f"{name} {number}", settings, {"bundle": [ref]}) for number, ref in enumerate(refs)]
        for name, refs in bundles.items()
    }
    solved = runner.run_whole(Stage("solve", each(partial(_solve, packing=config.packing)), units))
    gathered = {
        name: [_gather_unit(name, settings, graphs[name], cut[name][0], finished, previous)]
        for name, finished in solved.items()
    }
    done = runner.run_whole(Stage("gather clusters", each(gather), gathered))
    return {name: Partition({**cut[name][0].tables, **unit.tables}) for name, [unit] in done.items()}


def _solver_settings(config: ResolutionRun) -> dict[str, Any]:
    version, _ = solver(config.solver)
    settings = {"solver": config.solver, "version": version, "missing": config.missing, "time_limit": config.time_limit}
    if packing := config.packing:
        # Limits only decide whether there is an answer; of several best ones, engines may find different ones.
        settings |= {"engine": packing.engine, "max_parts": packing.max_parts}
    return settings


def _cut_unit(name: str, graph: Graph, settings: Mapping[str, Any], previous: Identity) -> Unit:
    cut: dict[str, Any] = {"num_records": graph.records.num_rows, "pairs_of_a_bundle": _PAIRS_OF_A_BUNDLE}
    if (linked := linked_by(settings["solver"])) != "positive":
        cut["linked"] = linked
    inputs = {"pairs": [graph.pairs]} | ({"groups": [graph.groups]} if graph.groups else {})
    if previous:
        cut |= {"previous": previous, "graph": name, "solved_by": settings}
        inputs["records"] = [graph.records]
    return Unit(f"{components.VERSION}/{component_digests.VERSION}", "components", cut, inputs)


def _bundles(cut: Mapping[str, TableRef]) -> list[TableRef]:
    """The largest components first, which are those of the first bundles."""
    return [ref for name, ref in sorted(cut.items()) if name.startswith("bundle")]


def _decompose(store: Store, unit: Unit) -> Tables:
    """The component and place of each node, what stands for each component, and those to be solved, in bundles."""
    pairs = store.read(unit.input("pairs"))
    left, right, weights = (pairs[name].to_numpy() for name in ("left", "right", "weight"))
    groups = store.read(unit.input("groups"))["group"].to_numpy() if "groups" in unit.inputs else None
    together = None if groups is None else _ties(groups)
    linked: Linked = unit.config.get("linked", "positive")
    component = numbered_components(unit.config["num_records"], left, right, weights, linked, together)
    place = places(component)
    digests = component_digests.component_digests(component, place, left, right, weights, groups)
    reused = _reused(store, unit, component, digests)
    yield "nodes", pa.table([component, place], schema=_NODES)
    yield "contents", pa.table({"digest": digests, "reused": reused})
    changed = reused == NOWHERE
    parts = divided(np.where(changed, np.cumsum(changed) - 1, NOWHERE)[component], left, right, weights)
    del pairs, left, right, weights
    ordered = (
        None if groups is None else groups[np.argsort(parts.component, kind="stable")[(parts.component < 0).sum() :]]
    )
    for bundle, (first, last) in enumerate(parts.bundles(unit.config["pairs_of_a_bundle"])):
        yield f"bundle_{bundle:06d}", _bundle(parts, first, last, ordered)


def _reused(store: Store, unit: Unit, component: IntArray, digests: IntArray) -> IntArray:
    """``[components]``, the number in the previous run of each that did not change; ``NOWHERE`` for the others."""
    if "previous" not in unit.config:
        return np.full(digests.size, NOWHERE)
    previous, graph = unit.config["previous"], unit.config["graph"]
    earlier = earlier_labels(previous, graph, pl.Series(store.read(unit.input("records"))["record"]))
    rows = rows_of(previous, "components", graph, ["component", "content", "num_records"])
    return unchanged(earlier, component, contents(digests, unit.config["solved_by"]), rows)


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


_PACKED = pa.schema([field for field in tables.COMPONENTS if field.name not in KNOWN])
_RESULTS = pa.schema([field for field in _PACKED if field.name not in PHASES])


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


def _gather_unit(
    name: str,
    settings: Mapping[str, Any],
    graph: Graph,
    cut: Finished,
    solved: Sequence[Finished],
    previous: Identity,
) -> Unit:
    inputs = {
        "records": [graph.records],
        "nodes": [cut.tables["nodes"]],
        "contents": [cut.tables["contents"]],
        "labels": [unit.tables["labels"] for unit in solved],
        "results": [unit.tables["results"] for unit in solved],
    }
    config = {"graph": name, "missing": settings["missing"], "solved_by": settings, "previous": previous}
    return Unit(f"gather_clusters/4/{cluster_lineage.VERSION}", name, config, inputs)
