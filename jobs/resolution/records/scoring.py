"""Messy records: a scorer that learns what their agreements mean, and the graph of the pairs that it scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.config import RecordScorer
from tiltmeter.jobs.resolution.graphs import (
    GOLD_RULES,
    LABELLED_RULES,
    Identity,
    ReadGraph,
    Resolution,
    gold_of,
    read_gold,
    read_ids,
    record_rules,
)
from tiltmeter.jobs.resolution.records.night import ReadRecords, Standing, TakeScorer, score_night
from tiltmeter.jobs.resolution.tables import Agreements, ScoredPairs
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.resolution import pairs as scored_pairs
from tiltmeter.operators.resolution.ids import different_ids, numbered_ids
from tiltmeter.operators.resolution.pairs import clean_pairs, weights_of
from tiltmeter.operators.resolution.records import linkage as record_linkage
from tiltmeter.operators.resolution.records.labelled_pairs import draw_labelled, training_clusters
from tiltmeter.operators.resolution.records.scoring import score_pairs, train_scorer
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.ledger import Store, TableRef


@dataclass(frozen=True)
class MessyRecords(ReadRecords):
    """Records, and what a scorer learns of them: ``files`` are ``records``, and ``labelled`` or ``clusters``."""

    files: Mapping[str, Identity]
    scorer: RecordScorer
    seed: int

    @property
    def identity(self) -> Mapping[str, Any]:
        """Settings of every unit that is about them."""
        return {"files": self.files, "scorer": self.scorer, "seed": self.seed}

    def read(self) -> pl.DataFrame:
        """The records, with the columns that are needed."""
        rules = record_rules(self.scorer.id)
        return read_records(self.files["records"]["uri"], self.scorer.columns, rules=rules)


class TrainScorer(Work, unit=record_linkage.VERSION, stage="train scorer", makes=[Agreements]):
    """What agreements mean, and the records of the clusters that it was learnt from."""

    records: MessyRecords

    def tables(self, _: Store) -> Tables:
        """``agreements`` and ``training``."""
        scorer, files, seed = self.records.scorer, self.records.files, self.records.seed
        records, training = self.records.read(), pl.Series("record", [], pl.String)
        if "clusters" in files:
            gold = read_records(files["clusters"]["uri"], [*GOLD_RULES], rules=GOLD_RULES)
            labelled = draw_labelled(records, gold, scorer, seed)
            training = training_clusters(gold, scorer, seed)["record"]
        else:
            labelled = read_records(files["labelled"]["uri"], [*LABELLED_RULES], rules=LABELLED_RULES)
        schema = Agreements.schema()
        yield "agreements", train_scorer(records, labelled, scorer).select(schema.names).to_arrow().cast(schema)
        yield "training", pa.table({"record": training.to_arrow().cast(pa.string())})


class ScoreRecords(Work, unit="record_scores/1", stage="score records"):
    """Proposed pairs of a part of the records, with their match probabilities."""

    records: MessyRecords
    learnt: TableRef
    part: int

    def tables(self, store: Store) -> Tables:
        """``pairs``, by the ids of their records."""
        scorer = self.records.scorer
        pairs = score_pairs(self.records.read(), pl.DataFrame(store.read(self.learnt)), scorer, self.part)
        schema = ScoredPairs.schema()
        yield "pairs", pairs.select(schema.names).to_arrow().cast(schema)


class JoinScores(ReadGraph, unit=f"record_graph/{scored_pairs.VERSION}"):
    """The graph of scored records: ``id`` is their column of ids, ``training`` those that the scorer learnt from."""

    files: Mapping[str, Identity]
    id: str
    pairs: Sequence[TableRef]
    training: TableRef

    def tables(self, store: Store) -> Tables:
        """Of the graph."""
        rows = pl.concat(pl.DataFrame(store.read(ref)) for ref in self.pairs)
        [every] = read_ids(self.files["records"]["uri"], [self.id], "records.path", record_rules(self.id))
        ends = [rows["left"], rows["right"]]
        ids, [left, right] = numbered_ids(different_ids(ends), ends, [every])
        pairs = clean_pairs(left, right, weights_of(rows["match_probability"].to_numpy()), self.threshold)
        clusters = None
        if "gold" in self.files:
            # What the scorer learnt from would flatter it.
            training = pl.Series(store.read(self.training)["record"])
            gold = read_gold(self.files["gold"]["uri"], ids)
            clusters = gold_of(ids, gold.filter(~pl.col("record").is_in(training.implode())))
        return self.graph_tables(ids, pairs, clusters)


def score_records(run: Resolution, scorer: RecordScorer) -> ReadGraph:
    """Train a scorer, or take one, and score the records, which leaves their graph to be made; publishes ``agreements``
    and what :func:`.night.score_night` does.

    Raises:
        UnitsFailed: if the scorer can't be trained, or records can't be scored.
    """
    config, files = run.config, run.sources.files
    versions = {name: files[name].identity for name in ("records", "labelled", "clusters", "gold") if name in files}
    used = replace(scorer, model=None)
    records = MessyRecords({name: one for name, one in versions.items() if name != "gold"}, used, config.seed)
    about, model = "records", Standing.among(files, "model")
    taken, anew = TakeScorer(group=about, standing=model), TrainScorer(label="scorer", group=about, records=records)
    trained = run.do([taken if model.tables else anew], batch_size=None)
    learnt, training = trained.one(Agreements), trained.one("training")
    parts = [
        ScoreRecords(label=f"part {part}", group=about, records=records, learnt=learnt, part=part)
        for part in range(scorer.num_parts)
    ]
    return JoinScores(
        label=about,
        group=about,
        files=versions,
        id=scorer.id,
        threshold=config.threshold,
        missing=config.missing,
        pairs=score_night(run, records, [learnt], training, lambda: run.do(parts, batch_size=None).refs("pairs")),
        training=training,
    )
