"""What came of a partition: agreement with gold clusters, and why records are together or apart."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.explaining import (
    answers,
    contradictions,
    decided,
    decided_anew,
    drawn_pairs,
    explanations,
)
from tiltmeter.jobs.resolution.ids.keeping import kept_rows
from tiltmeter.jobs.resolution.ids.previous import Identity
from tiltmeter.jobs.resolution.pairs import Graph, pair_columns
from tiltmeter.jobs.resolution.questions import Questions
from tiltmeter.jobs.resolution.solving import Partition
from tiltmeter.operators.resolution import explanations as partition_explanations
from tiltmeter.operators.resolution.lineage import NOWHERE
from tiltmeter.operators.resolution.metrics import VERSION as METRICS
from tiltmeter.operators.resolution.metrics import partition_metrics
from tiltmeter.operators.resolution.problem import Missing, Problem
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def assess(
    runner: Runner,
    graphs: Mapping[str, Graph],
    partitions: Mapping[str, Partition],
    config: ResolutionRun,
    questions: Questions,
    previous: Identity,
) -> dict[str, list[TableRef]]:
    """Tables ``metrics``, of graphs with gold clusters, ``explanations``, and ``drawn_pairs`` where some are drawn."""
    refs = {}
    for table, work, units in (
        ("metrics", _measure, _measured(graphs, partitions)),
        ("explanations", _explain, _explained(graphs, partitions, config.missing, questions, previous)),
        ("drawn_pairs", _draw, _drawn(graphs, partitions, config.drawn)),
    ):
        if units:
            done = runner.run(Stage(table.replace("_", " "), each(work), units, None))
            refs[table] = [unit.tables[table] for finished in done.values() for unit in finished]
    return refs


_Units = dict[str, list[Unit]]


def _measured(graphs: Mapping[str, Graph], partitions: Mapping[str, Partition]) -> _Units:
    return {
        name: [_unit(METRICS, name, {}, {"gold": [gold], "clusters": [partition.clusters]})]
        for name, partition in partitions.items()
        if (gold := graphs[name].gold) is not None
    }


def _explained(
    graphs: Mapping[str, Graph],
    partitions: Mapping[str, Partition],
    missing: Missing,
    questions: Questions,
    previous: Identity,
) -> _Units:
    operator = f"explain/{partition_explanations.VERSION}"
    units = {}
    for name, partition in partitions.items():
        asked = [(question.record, question.other, question.cluster) for question in questions.get(name, ())]
        gold = graphs[name].gold
        inputs = {"clusters": [partition.clusters]} | ({"gold": [gold]} if gold else {})
        if not previous or gold or asked:
            inputs["pairs"] = [graphs[name].pairs]
        settings: dict[str, Any] = {"missing": missing, "asked": asked}
        if previous:
            settings["previous"] = previous
            inputs |= {"reused": [partition.tables["contents"].select("reused")], "bundles": partition.bundles}
        units[name] = [_unit(operator, name, settings, inputs)]
    return units


def _drawn(graphs: Mapping[str, Graph], partitions: Mapping[str, Partition], drawn: Sequence[int]) -> _Units:
    settings = {"drawn": drawn}
    return {
        name: [
            _unit("drawn_pairs/1", name, settings, {"pairs": [graphs[name].pairs], "clusters": [partition.clusters]})
        ]
        for name, partition in partitions.items()
        if drawn
    }


def _unit(operator: str, graph: str, settings: Mapping[str, Any], inputs: Mapping[str, Sequence[TableRef]]) -> Unit:
    return Unit(operator, graph, {"graph": graph, **settings}, inputs)


def _measure(store: Store, unit: Unit) -> Tables:
    gold = store.read(unit.input("gold"))["cluster"]
    labels = store.read(unit.input("clusters"))["cluster"].to_numpy()
    known = np.flatnonzero(gold.is_valid().to_numpy(zero_copy_only=False))
    true = gold.drop_null().to_numpy()
    common = {"graph": unit.config["graph"], "num_records": len(known)}
    values = partition_metrics(labels[known], true)._asdict()
    rows = [common | {"metric": name} | _value(float(value)) for name, value in values.items()]
    yield "metrics", pa.Table.from_pylist(rows, tables.METRICS)


def _value(value: float) -> dict[str, Any]:
    if np.isnan(value):
        return {"value": None, "status": "undefined", "reason": "no two records are together, so there is no share"}
    return {"value": value, "status": "ok", "reason": ""}


def _explain(store: Store, unit: Unit) -> Tables:
    yield "explanations", pa.concat_tables(_explanations(store, unit, store.read(unit.input("clusters"))))


def _explanations(store: Store, unit: Unit, clusters: pa.Table) -> Iterator[pa.Table]:
    graph, missing, asked = (unit.config[name] for name in ("graph", "missing", "asked"))
    component = clusters["component"].to_numpy()
    if "reused" in unit.inputs:
        reused = store.read(unit.input("reused"))["reused"].to_numpy()
        part = decided_anew([store.read(ref) for ref in unit.inputs["bundles"]], component, reused == NOWHERE, missing)
        yield explanations(graph, clusters, part, kept_rows(unit.config["previous"], graph, clusters, reused))
    if "pairs" not in unit.inputs:
        return
    pairs = store.read(unit.input("pairs"))
    left, right, weights = pair_columns(pairs)
    problem = Problem(component.size, left, right, weights, missing)
    if "reused" not in unit.inputs:
        yield explanations(graph, clusters, decided(problem, component))
    if "gold" in unit.inputs:
        yield contradictions(graph, clusters, problem, store.read(unit.input("gold")))
    if asked:
        yield answers(graph, clusters, problem, asked)


def _draw(store: Store, unit: Unit) -> Tables:
    pairs, clusters = store.read(unit.input("pairs")), store.read(unit.input("clusters"))
    yield "drawn_pairs", drawn_pairs(unit.config["graph"], pairs, clusters, unit.config["drawn"])
