"""Clusters put together from the solved components and from those that did not change, with their ids."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.ids.previous import Earlier, earlier_labels, next_id, rows_of
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.resolution import digests as component_digests
from tiltmeter.operators.resolution import explanations as partition_explanations
from tiltmeter.operators.resolution.lineage import NOWHERE, Flows, flows, inherited_ids
from tiltmeter.operators.resolution.problem import canonical
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, Unit

PHASES = ("num_cliques", "clustering_coefficient", "listing_seconds", "packing_seconds")
"""Columns of ``components`` that packings have alone."""

KNOWN = ("graph", "component", "missing", "num_records", "is_reused", "content")
"""Columns of ``components`` that no solver tells."""


def contents(digests: IntArray, settings: Mapping[str, Any]) -> IntArray:
    """``[components]``, what stands for the pairs of each and for all else that results depend on."""
    versions = [component_digests.VERSION, partition_explanations.VERSION]
    seed = document_key(digest({"settings": settings, "versions": versions}))
    return (digests.view(np.uint64) ^ np.uint64(seed)).view(np.int64)


def gather(store: Store, unit: Unit) -> Tables:
    """Tables ``clusters``, ``components``, ``ledger_counts``; after a previous run ``ledger`` and ``moved_records``."""
    graph, previous, records = (
        unit.config["graph"],
        unit.config["previous"],
        store.read(unit.input("records"))["record"],
    )
    nodes, known = store.read(unit.input("nodes")), store.read(unit.input("contents"))
    component, place = (nodes[name].to_numpy() for name in ("component", "place"))
    reused = known["reused"].to_numpy()
    nobody = np.full(component.size, NOWHERE)
    earlier = (
        earlier_labels(previous, graph, pl.Series(records))
        if previous
        else Earlier(nobody, nobody, nobody, np.empty(0, dtype=np.int64))
    )
    labels = np.concatenate(
        [np.empty(0, np.int64), *(store.read(ref)["label"].to_numpy() for ref in unit.inputs["labels"])]
    )
    cluster = _clusters(component, place, reused, labels, earlier)
    ids = inherited_ids(earlier.id, cluster, next_id(previous, graph) if previous else 0)
    values = [pa.array([graph] * len(cluster)).dictionary_encode(), records, cluster, ids[cluster], component]
    yield "clusters", pa.table(values, names=tables.CLUSTERS.names).cast(tables.CLUSTERS)
    yield "components", _components(store, unit, np.bincount(component), known)
    moved = flows(np.append(earlier.id, earlier.gone), np.append(ids[cluster], np.full(earlier.gone.size, NOWHERE)))
    if previous:
        yield "ledger", _ledger(graph, moved)
        yield "moved_records", _moved_records(graph, records, earlier.id, ids[cluster])
    first = max(int(ids.max(initial=-1)) + 1, next_id(previous, graph) if previous else 0)
    counts = _counts(moved) | {
        "num_reused": int((reused != NOWHERE).sum()),
        "num_solved": int((reused == NOWHERE).sum()),
    }
    yield "ledger_counts", pa.Table.from_pylist([{"graph": graph, "next_id": first} | counts], tables.LEDGER_COUNTS)


def _clusters(component: IntArray, place: IntArray, reused: IntArray, labels: IntArray, earlier: Earlier) -> IntArray:
    """``[records]``, clusters in the order of their first records."""
    solved = reused == NOWHERE
    sizes = np.where(solved, np.bincount(component), 0)
    starts = np.cumsum(sizes) - sizes
    of_node = earlier.cluster.copy()
    nodes = np.flatnonzero(solved[component])
    of_node[nodes] = labels[starts[component[nodes]] + place[nodes]]
    return canonical(component * (int(of_node.max(initial=0)) + 1) + of_node)


def _components(store: Store, unit: Unit, sizes: IntArray, known: pa.Table) -> pa.Table:
    """What came of each component, whether it was solved now or before."""
    graph, reused = unit.config["graph"], known["reused"].to_numpy()
    names = [name for name in tables.COMPONENTS.names if name not in KNOWN]
    schema = pa.schema([tables.COMPONENTS.field(name) for name in names])
    solved = [_filled(store.read(ref), schema) for ref in unit.inputs["results"]]
    taken = reused[reused != NOWHERE]
    if taken.size:
        rows = rows_of(unit.config["previous"], "components", graph, ["component", *names])
        before = rows["component"].to_numpy()
        places = np.empty(int(before.max()) + 1, dtype=np.int64)
        places[before] = np.arange(rows.height)
        solved.append(rows.select(names)[places[taken]].to_arrow().cast(schema))
    order = np.empty(reused.size, dtype=np.int64)
    order[np.argsort(reused != NOWHERE, kind="stable")] = np.arange(reused.size)
    results = pa.concat_tables(solved or [schema.empty_table()]).take(pa.array(order))
    num = len(sizes)
    columns = {name: results[name] for name in names} | {
        "graph": pa.array([graph] * num),
        "missing": pa.array([unit.config["missing"]] * num),
        "component": np.arange(num),
        "num_records": sizes,
        "is_reused": reused != NOWHERE,
        "content": contents(known["digest"].to_numpy(), unit.config["solved_by"]),
    }
    return pa.table([columns[name] for name in tables.COMPONENTS.names], schema=tables.COMPONENTS)


def _filled(results: pa.Table, schema: pa.Schema) -> pa.Table:
    """With nulls for the phases that are those of packings."""
    there = results.column_names
    values = [
        results[name] if name in there else pa.nulls(results.num_rows, schema.field(name).type) for name in schema.names
    ]
    return pa.table(values, schema=schema)


def _ledger(graph: str, moved: Flows) -> pa.Table:
    ids = [pa.array(side, mask=side == NOWHERE) for side in (moved.before, moved.after)]
    counts = [moved.num_records, moved.num_before, moved.num_after]
    values = [pa.array([graph] * moved.events.size), *ids, pa.array(moved.events.tolist(), pa.string()), *counts]
    return pa.table(values, schema=tables.LEDGER)


def _moved_records(graph: str, records: pa.ChunkedArray, before: IntArray, after: IntArray) -> pa.Table:
    places = np.flatnonzero((before != NOWHERE) & (before != after))
    events = np.where(np.isin(before[places], after), "split", "merged").tolist()
    values = [[graph] * places.size, records.take(pa.array(places)), before[places], after[places], events]
    return pa.table(values, names=tables.MOVED_RECORDS.names).cast(tables.MOVED_RECORDS)


def _counts(moved: Flows) -> dict[str, int]:
    before, after, num_records, num_before, num_after, events = moved
    kept = events == "kept"
    anew = set(after[events == "new"].tolist()) - set(after[before != NOWHERE].tolist())
    return {
        "num_kept": int(kept.sum()),
        "num_unchanged": int((kept & (num_records == num_before) & (num_records == num_after)).sum()),
        "num_merged": np.unique(before[events == "merged"]).size,
        "num_split": np.unique(before[events == "split"]).size,
        "num_new": len(anew),
        "num_vanished": int(((events == "vanished") & (num_records == num_before)).sum()),
    }
