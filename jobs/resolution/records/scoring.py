"""Messy records: a scorer that learns what their agreements mean, and the graph of the pairs that it scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution import tables as published
from tiltmeter.jobs.resolution.config import RecordScorer
from tiltmeter.jobs.resolution.graphs import (
    ENDS,
    GOLD_RULES,
    Identity,
    ReadGraph,
    Resolution,
    files_of,
    gold_of,
    read_gold,
    read_ids,
    read_labelled,
    read_sources,
    record_rules,
)
from tiltmeter.jobs.resolution.records.night import ReadRecords, Standing, TakeScorer, score_night, with_model
from tiltmeter.jobs.runtime.table import Table
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.resolution import pairs as scored_pairs
from tiltmeter.operators.resolution.ids import as_ids, different_ids, numbered_ids
from tiltmeter.operators.resolution.pairs import clean_pairs, weights_of
from tiltmeter.operators.resolution.records import linkage as record_linkage
from tiltmeter.operators.resolution.records.columns import FILE, count_blocks, prepare
from tiltmeter.operators.resolution.records.labelled_pairs import (
    check_labelled,
    draw_labelled,
    training_clusters,
    training_pairs,
)
from tiltmeter.operators.resolution.records.scoring import (
    THRESHOLDS,
    score_pairs,
    term_frequencies,
    train_scorer,
    unlinkable_records,
)
from tiltmeter.operators.resolution.records.unlabelled import learn_unlabelled
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
        scorer = {name: value for name, value in vars(self.scorer).items() if name not in ("model", "within")}
        return {"files": self.files, "scorer": scorer, "seed": self.seed}

    def read(self) -> pl.DataFrame:
        """The records, with the columns that are needed."""
        rules = record_rules(self.scorer.id)
        return read_sources(files_of(self.files), self.scorer.columns, rules)


class TrainScorer(Work, unit=record_linkage.VERSION, stage="train scorer", makes=[*published.LEARNT]):
    """What agreements mean, and the records of the clusters that it was learnt from."""

    records: MessyRecords

    def tables(self, _: Store) -> Tables:
        """``agreements``, ``term_frequencies`` and ``training``; learnt without labels, ``sessions`` and ``fits``."""
        scorer, files, seed = self.records.scorer, self.records.files, self.records.seed
        records, training = self.records.read(), pl.Series("record", [], pl.String)
        prepared = prepare(records, scorer)
        yield "blocking", _table(count_blocks(prepared, scorer), published.Blocking)
        shares = term_frequencies(prepared, scorer)
        if shares.height:
            yield "term_frequencies", _table(shares, published.TermFrequencies)
        if scorer.unlabelled is not None:
            learnt = learn_unlabelled(prepared, scorer, seed)
            trained = learnt.agreements
            yield "sessions", _table(learnt.sessions, published.Sessions)
            yield "fits", _table(learnt.fits, published.Fits)
        else:
            if "clusters" in files:
                gold = read_records(files["clusters"]["uri"], [*GOLD_RULES], rules=GOLD_RULES)
                labelled = draw_labelled(records, gold, scorer, seed)
                training = training_clusters(gold, scorer, seed)["record"]
            else:
                labelled = read_labelled(files["labelled"]["uri"])
                if scorer.calibration:
                    labelled = training_pairs(check_labelled(labelled, as_ids(records[scorer.id])), scorer, seed)
            trained = train_scorer(records, labelled, scorer)
        yield "agreements", _table(trained, published.Agreements)
        yield "unlinkable", _table(unlinkable_records(prepared, trained, scorer, shares), published.Unlinkable)
        yield "training", pa.table({"record": training.to_arrow().cast(pa.string())})


def _table(rows: pl.DataFrame, kind: type[Table]) -> pa.Table:
    schema = kind.schema()
    return rows.select(schema.names).to_arrow().cast(schema)


class ScoreRecords(Work, unit="record_scores/1", stage="score records"):
    """Proposed pairs of a part of the records, with their match probabilities."""

    records: MessyRecords
    learnt: TableRef
    frequencies: Sequence[TableRef]
    part: int

    def tables(self, store: Store) -> Tables:
        """``pairs``, by the ids of their records."""
        scorer = self.records.scorer
        trained, *frequencies = (pl.DataFrame(store.read(ref)) for ref in (self.learnt, *self.frequencies))
        pairs = score_pairs(self.records.read(), trained, scorer, self.part, *frequencies)
        yield "pairs", _table(pairs, published.ScoredPairs)


class JoinScores(ReadGraph, unit=f"scored_records/{scored_pairs.VERSION}"):
    """The graph of scored records: ``id`` is their column of ids, ``training`` those that the scorer learnt from."""

    files: Mapping[str, Identity]
    id: str
    pairs: Sequence[TableRef]
    training: TableRef

    def tables(self, store: Store) -> Tables:
        """Of the graph."""
        rows = pl.concat(pl.DataFrame(store.read(ref)) for ref in self.pairs)
        names = [self.id, *([FILE] if "second" in self.files else [])]
        every, *origins = read_ids(files_of(self.files), names, "records.path", record_rules(self.id))
        ends = [rows["left"], rows["right"]]
        ids, [left, right] = numbered_ids(different_ids(ends), ends, [every])
        pairs = clean_pairs(left, right, weights_of(rows["match_probability"].to_numpy()), self.threshold)
        clusters = None
        if "gold" in self.files:
            # What the scorer learnt from would flatter it.
            training = pl.Series(store.read(self.training)["record"])
            gold = read_gold(self.files["gold"]["uri"], ids)
            clusters = gold_of(ids, gold.filter(~pl.col("record").is_in(training.implode())))
            known = every.to_frame("record").with_columns(*origins)
            known = known.join(pl.DataFrame({"record": ids, "cluster": clusters}).drop_nulls(), on="record")
            yield "thresholds", _table(_by_threshold(rows, known), published.Thresholds)
        yield from self.graph_tables(ids, pairs, clusters)


def _by_threshold(rows: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """What pairs of records with a gold cluster are right or wrong from each match probability on.

    Args:
        known: ``record, cluster``, and ``source_file`` where pairs are of two files only.
    """
    left, right = (rows.join(known, left_on=end, right_on="record", how="left", maintain_order="left") for end in ENDS)
    judged = rows.with_columns(left["cluster"], other=right["cluster"]).drop_nulls()
    is_true, p = (judged["cluster"] == judged["other"]).to_numpy(), judged["match_probability"].to_numpy()
    num_within = [_num_within(known, [*some]) for some in dict.fromkeys([("cluster",), tuple(known.columns[1:])])]
    counts = [(float((is_true & (p >= one)).sum()), float((p >= one).sum())) for one in THRESHOLDS]
    num_true, num = (pl.Series(values, dtype=pl.Float64) for values in zip(*counts, strict=True))
    shares = {"precision": num_true / num, "recall": num_true / (num_within[0] - sum(num_within[1:]))}
    return pl.DataFrame(
        {"threshold": THRESHOLDS, "num_true": num_true, "num_false": num - num_true, **shares}
    ).fill_nan(None)


def _num_within(known: pl.DataFrame, names: list[str]) -> int:
    sizes = known.group_by(names).len()["len"].cast(pl.Int64)
    return int((sizes * (sizes - 1) // 2).sum())


def score_records(run: Resolution, scorer: RecordScorer) -> JoinScores:
    """Train a scorer, or take one, and score the records, which leaves their graph to be made; publishes ``agreements``
    and what :func:`.night.score_night` does.

    Raises:
        UnitsFailed: if the scorer can't be trained, or records can't be scored.
    """
    config, files = run.config, run.sources.files
    versions = {
        name: files[name].identity for name in ("records", "second", "labelled", "clusters", "gold") if name in files
    }
    about, model = "records", Standing.among(files, "model")
    scorer = with_model(scorer, model)
    records = MessyRecords({name: one for name, one in versions.items() if name != "gold"}, scorer, config.seed)
    anew = TrainScorer(label="scorer", group=about, records=records)
    trained = run.do([TakeScorer(group=about, model=model) if model.standing else anew], batch_size=None)
    learnt, shares = trained.one(published.Agreements), trained.refs(published.TermFrequencies)
    parts = [
        ScoreRecords(label=f"part {part}", group=about, records=records, learnt=learnt, frequencies=shares, part=part)
        for part in range(scorer.num_parts)
    ]
    training = trained.one("training")

    def score_all() -> list[TableRef]:
        return run.do(parts, batch_size=None).refs("pairs")

    return JoinScores(
        label=about,
        group=about,
        files=versions,
        id=scorer.id,
        threshold=config.threshold,
        missing=config.missing,
        pairs=score_night(run, records, [learnt, *shares], training, score_all),
        training=training,
    )
