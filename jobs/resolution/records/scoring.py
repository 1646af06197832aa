"""Messy records: a scorer that learns what their agreements mean, and the graph of the pairs that it scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
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
from tiltmeter.jobs.resolution.records.night import ReadRecords, Standing, TakeScorer, score_night, with_model
from tiltmeter.jobs.resolution.tables import Agreements, Fits, ScoredPairs, Sessions, TermFrequencies
from tiltmeter.jobs.runtime.table import Table
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.resolution import pairs as scored_pairs
from tiltmeter.operators.resolution.ids import different_ids, numbered_ids
from tiltmeter.operators.resolution.pairs import clean_pairs, weights_of
from tiltmeter.operators.resolution.records import linkage as record_linkage
from tiltmeter.operators.resolution.records.labelled_pairs import draw_labelled, training_clusters
from tiltmeter.operators.resolution.records.scoring import (
    score_pairs,
    term_frequencies,
    train_scorer,
    train_unlabelled,
)
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
        scorer = {name: value for name, value in _used(self.scorer).items() if name != "model"}
        return {"files": self.files, "scorer": scorer, "seed": self.seed}

    def read(self) -> pl.DataFrame:
        """The records, with the columns that are needed."""
        rules = record_rules(self.scorer.id)
        return read_records(self.files["records"]["uri"], self.scorer.columns, rules=rules)


_USUAL = {"unlabelled": None, "second": None, "other": None, "at_least": (), "term_frequency": False}
"""Settings that are no part of an identity where they are as usual: it is what it was before there were such."""


def _used(settings: Any) -> Any:
    if is_dataclass(settings):
        values = {item.name: getattr(settings, item.name) for item in fields(settings)}
        return {name: _used(one) for name, one in values.items() if name not in _USUAL or one != _USUAL[name]}
    return {name: _used(one) for name, one in settings.items()} if isinstance(settings, Mapping) else settings


class TrainScorer(
    Work, unit=record_linkage.VERSION, stage="train scorer", makes=[Agreements, TermFrequencies, Sessions, Fits]
):
    """What agreements mean, and the records of the clusters that it was learnt from."""

    records: MessyRecords

    def tables(self, _: Store) -> Tables:
        """``agreements``, ``term_frequencies`` and ``training``; learnt without labels, ``sessions`` and ``fits``."""
        scorer, files, seed = self.records.scorer, self.records.files, self.records.seed
        records, training = self.records.read(), pl.Series("record", [], pl.String)
        if scorer.has_frequencies:
            yield "term_frequencies", _table(term_frequencies(records, scorer), TermFrequencies)
        if scorer.unlabelled is not None:
            learnt = train_unlabelled(records, scorer, seed)
            yield "agreements", _table(learnt.agreements, Agreements)
            yield "sessions", _table(learnt.sessions, Sessions)
            yield "fits", _table(learnt.fits, Fits)
            yield "training", pa.table({"record": training.to_arrow().cast(pa.string())})
            return
        if "clusters" in files:
            gold = read_records(files["clusters"]["uri"], [*GOLD_RULES], rules=GOLD_RULES)
            labelled = draw_labelled(records, gold, scorer, seed)
            training = training_clusters(gold, scorer, seed)["record"]
        else:
            labelled = read_records(files["labelled"]["uri"], [*LABELLED_RULES], rules=LABELLED_RULES)
        yield "agreements", _table(train_scorer(records, labelled, scorer), Agreements)
        yield "training", pa.table({"record": training.to_arrow().cast(pa.string())})


def _table(rows: pl.DataFrame, kind: type[Table]) -> pa.Table:
    schema = kind.schema()
    return rows.select(schema.names).to_arrow().cast(schema)


class ScoreRecords(Work, unit="record_scores/1", stage="score records"):
    """Proposed pairs of a part of the records, with their match probabilities."""

    records: MessyRecords
    learnt: TableRef
    frequencies: TableRef | None
    part: int

    def tables(self, store: Store) -> Tables:
        """``pairs``, by the ids of their records."""
        scorer = self.records.scorer
        refs = [self.learnt, *([self.frequencies] if self.frequencies else [])]
        trained, *frequencies = (pl.DataFrame(store.read(ref)) for ref in refs)
        pairs = score_pairs(self.records.read(), trained, scorer, self.part, *frequencies)
        yield "pairs", _table(pairs, ScoredPairs)


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
    about, model = "records", Standing.among(files, "model")
    scorer = with_model(scorer, model)
    records = MessyRecords({name: one for name, one in versions.items() if name != "gold"}, scorer, config.seed)
    anew = TrainScorer(label="scorer", group=about, records=records)
    trained = run.do([TakeScorer(group=about, model=model) if model.standing else anew], batch_size=None)
    learnt, frequencies = trained.one(Agreements), trained.one(TermFrequencies) if scorer.has_frequencies else None
    parts = [
        ScoreRecords(
            label=f"part {part}", group=about, records=records, learnt=learnt, frequencies=frequencies, part=part
        )
        for part in range(scorer.num_parts)
    ]
    tables, training = [learnt, *([frequencies] if frequencies else [])], trained.one("training")
    return JoinScores(
        label=about,
        group=about,
        files=versions,
        id=scorer.id,
        threshold=config.threshold,
        missing=config.missing,
        pairs=score_night(run, records, tables, training, lambda: run.do(parts, batch_size=None).refs("pairs")),
        training=training,
    )
