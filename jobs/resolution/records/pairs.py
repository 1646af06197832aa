"""The graph of messy records: a scorer is trained on labelled pairs, scores proposed pairs, and these are the graph."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.cells import GOLD_RULES, LABELLED_RULES, record_rules
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.pairs import Graph, graph_of, graph_tables, read_gold
from tiltmeter.jobs.resolution.records.config import RecordScorer
from tiltmeter.operators.resolution import pairs as scored_pairs
from tiltmeter.operators.resolution.ids import as_ids, different_ids, numbered_ids
from tiltmeter.operators.resolution.pairs import clean_pairs, weights_of
from tiltmeter.operators.resolution.records import linkage as record_linkage
from tiltmeter.operators.resolution.records.labelled_pairs import draw_labelled, training_clusters
from tiltmeter.operators.resolution.records.scoring import score_pairs, train_scorer
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_GRAPH = "records"

_READ = ("records", "labelled", "clusters", "gold")


def score_records(
    runner: Runner, config: ResolutionRun, scorer: RecordScorer, files: Mapping[str, FoundFile]
) -> tuple[dict[str, Graph], TableRef]:
    """The graph of the records, and the table ``agreements`` of what the scorer learnt.

    Raises:
        UnitsFailed: if the scorer can't be trained, or records can't be scored.
    """
    versions = {name: file.identity for name, file in files.items() if name in _READ}
    learnt_from = {name: version for name, version in versions.items() if name != "gold"}
    settings = {"files": learnt_from, "scorer": scorer, "seed": config.seed}
    training = Unit(record_linkage.VERSION, "scorer", settings)
    [trained] = runner.run_whole(Stage("train scorer", each(_train), {_GRAPH: [training]}))[_GRAPH]
    learnt = trained.tables["agreements"]
    units = [
        Unit("record_scores/1", f"part {part}", settings | {"part": part}, {"scorer": [learnt]})
        for part in range(scorer.num_parts)
    ]
    scored = runner.run_whole(Stage("score records", each(_score), {_GRAPH: units}))[_GRAPH]
    graph = Unit(
        f"record_graph/{scored_pairs.VERSION}",
        _GRAPH,
        {"files": versions, "id": scorer.id, "threshold": config.threshold, "missing": config.missing},
        {"pairs": [unit.tables["pairs"] for unit in scored], "training": [trained.tables["training"]]},
    )
    [read] = runner.run_whole(Stage("read pairs", each(_gather), {_GRAPH: [graph]}))[_GRAPH]
    return {_GRAPH: graph_of(read)}, learnt


def _train(_: Store, unit: Unit) -> Tables:
    """What agreements mean, and the records of the clusters that it was learnt from."""
    scorer, files, seed = (unit.config[name] for name in ("scorer", "files", "seed"))
    records, training = _records(files["records"]["uri"], scorer), pl.Series("record", [], pl.String)
    if "clusters" in files:
        gold = read_records(files["clusters"]["uri"], [*GOLD_RULES], rules=GOLD_RULES)
        labelled, training = draw_labelled(records, gold, scorer, seed), training_clusters(gold, scorer, seed)["record"]
    else:
        labelled = read_records(files["labelled"]["uri"], [*LABELLED_RULES], rules=LABELLED_RULES)
    trained = train_scorer(records, labelled, scorer)
    yield "agreements", trained.select(tables.AGREEMENTS.names).to_arrow().cast(tables.AGREEMENTS)
    yield "training", pa.table({"record": training.to_arrow().cast(pa.string())})


def _records(uri: str, scorer: RecordScorer) -> pl.DataFrame:
    return read_records(uri, scorer.columns, rules=record_rules(scorer.id))


def _score(store: Store, unit: Unit) -> Tables:
    scorer: RecordScorer = unit.config["scorer"]
    records = _records(unit.config["files"]["records"]["uri"], scorer)
    trained = pl.DataFrame(store.read(unit.input("scorer")))
    pairs = score_pairs(records, trained, scorer, unit.config["part"])
    kinds = pa.schema([("left", pa.string()), ("right", pa.string()), ("match_probability", pa.float64())])
    yield "pairs", pairs.select(kinds.names).to_arrow().cast(kinds)


def _gather(store: Store, unit: Unit) -> Tables:
    files: Mapping[str, Any] = unit.config["files"]
    rows = pl.concat(pl.DataFrame(store.read(ref)) for ref in unit.inputs["pairs"])
    id_ = unit.config["id"]
    every = as_ids(read_records(files["records"]["uri"], [id_], rules=record_rules(id_)).to_series())
    ends = [rows["left"], rows["right"]]
    ids, [left, right] = numbered_ids(different_ids(ends), ends, [every])
    pairs = clean_pairs(left, right, weights_of(rows["match_probability"].to_numpy()), unit.config["threshold"])
    clusters = None
    if "gold" in files:
        # What the scorer learnt from would flatter it.
        training = pl.Series(store.read(unit.input("training"))["record"])
        gold = read_gold(files["gold"]["uri"], ids).filter(~pl.col("record").is_in(training.implode()))
        clusters = ids.to_frame("record").join(gold, on="record", how="left", maintain_order="left")["cluster"]
    return graph_tables(_GRAPH, ids, pairs, clusters, unit.config["threshold"], unit.config["missing"])
