"""The graphs as their constraints leave them: what is apart is forbidden, what is together has a group."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.constraints import (
    LINKS,
    given_constraints,
    linked_pairs,
    numbered_pairs,
    numbered_sources,
    record_sources,
)
from tiltmeter.jobs.resolution.pairs import Graph, pair_columns
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.resolution import constraints as partition_constraints
from tiltmeter.operators.resolution.constraints import Constraints, constrained
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def constrain(
    runner: Runner, config: ResolutionRun, graphs: dict[str, Graph], files: Mapping[str, FoundFile]
) -> tuple[dict[str, Graph], list[TableRef]]:
    """The graphs that obey the constraints, and the parts of the table ``constraint_counts``.

    Raises:
        UnitsFailed: if no graph has any record that a constraint names, or has too many pairs of one source.
    """
    if not config.has_constraints:
        return graphs, []
    settings = {"constraints": given_constraints(config, files), "missing": config.missing}
    units = {
        name: [
            Unit(
                partition_constraints.VERSION,
                name,
                settings | {"graph": name},
                {"pairs": [graph.pairs], "records": [graph.records]},
            )
        ]
        for name, graph in graphs.items()
    }
    done = runner.run_whole(Stage("apply constraints", each(_constrain), units, None))
    changed = {
        name: replace(graphs[name], pairs=unit.tables["pairs"], groups=unit.tables.get("groups"))
        for name, [unit] in done.items()
    }
    return changed, [unit.tables["constraint_counts"] for [unit] in done.values()]


def _constrain(store: Store, unit: Unit) -> Tables:
    given, missing, graph = (unit.config[name] for name in ("constraints", "missing", "graph"))
    ids = pl.Series(store.read(unit.input("records"))["record"])
    pairs = store.read(unit.input("pairs"))
    left, right, weights = pair_columns(pairs)
    linked, sources = {name: linked_pairs(given, name) for name in LINKS}, record_sources(given)
    known = {name: numbered_pairs(ids, rows) for name, rows in linked.items()}
    constraints = Constraints(known["must_link"], known["cannot_link"], numbered_sources(ids, sources))
    heights = {name: rows.height for name, rows in linked.items()} | {"one_per_source": sources.height}
    used = {name: pairs.shape[1] for name, pairs in known.items()}
    used["one_per_source"] = int((constraints.sources >= 0).sum())
    _check_used(heights, used, given)
    try:
        changed = constrained(ids.len(), left, right, weights, constraints, missing)
    except ValueError as error:
        raise InputError(f"one_per_source, must_link: {error}; set threshold, or missing=forbid") from error
    yield "pairs", pa.table({"left": changed.left, "right": changed.right, "weight": changed.weights})
    if known["must_link"].size:
        yield "groups", pa.table({"group": changed.groups})
    same = (constraints.sources[left] == constraints.sources[right]) & (constraints.sources[left] >= 0)
    decided = {
        "must_link": changed.groups[left] == changed.groups[right],
        "cannot_link": changed.kept_apart & ~same,
        "one_per_source": same,
    }
    rows = [
        {"graph": graph, "constraint": name, "num_given": heights[name], "num_unknown": heights[name] - used[name]}
        | _decided(name, weights, decided[name])
        for name in decided
        if heights[name]
    ]
    yield "constraint_counts", pa.Table.from_pylist(rows, tables.CONSTRAINT_COUNTS)


def _check_used(heights: Mapping[str, int], used: Mapping[str, int], given: Mapping[str, Any]) -> None:
    for name, height in heights.items():
        if not used[name] and (height or (name == "one_per_source" and "sources" in given)):
            raise InputError(f"{name}: names no records of the pairs: are their ids written alike?")


def _decided(name: str, weights: FloatArray, decided: BoolArray) -> dict[str, Any]:
    against = decided & ((weights < 0) if name == "must_link" else (weights > 0))
    return {
        "num_scored": int(decided.sum()),
        "num_against": int(against.sum()),
        "weight_against": float(np.abs(weights[against]).sum()),
    }
