"""A night after another one: the scorer that stands, and the pairs of records that changed alone are scored."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.config import RecordScorer, ResolutionRun
from tiltmeter.jobs.resolution.graphs import Graph, Identity, Resolution
from tiltmeter.jobs.resolution.previous import Previous, refusal, run_place
from tiltmeter.jobs.resolution.tables import (
    Agreements,
    LedgerPairs,
    NightCounts,
    RecordChanges,
    RecordValues,
    ScoredPairs,
    Scorers,
    TermFrequencies,
)
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.operators.resolution.problem import Missing
from tiltmeter.operators.resolution.records import changes
from tiltmeter.operators.resolution.records.changes import changed_records, evidence, record_values, score_changed
from tiltmeter.operators.resolution.records.comparison import IDS
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import VERSION
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.store.identity import canonical, digest
from tiltmeter.storage.store.ledger import Store, TableRef

RECORDS = "records"
"""The graph of messy records."""

_STANDING = ("scorer", "scored_pairs", "record_values")
"""Tables of a previous run by which a night scores only what changed."""

LEARNT = ("agreements", "term_frequencies")
"""Tables of a scorer; the second only where a field has term frequencies."""

_MODEL = ("scorer", "agreements", "record_values")
"""Tables of the run whose scorer is taken."""

_TRAINING = pa.schema([("record", pa.string())])

_ELSEWHERE = {"path", "labelled", "clusters", "model", "train_share", "num_labelled", "num_parts", "max_pairs"}
"""Settings on which no pair's score depends once the scorer is there."""


class ReadRecords(Subject):
    """Records, and how pairs of them are compared."""

    scorer: RecordScorer

    def read(self) -> pl.DataFrame:
        """The records, with the columns that are needed."""
        raise NotImplementedError


def scoring_settings(scorer: Scorer) -> dict[str, Any]:
    """The settings of a scorer on which the score of a pair depends, as plain data."""
    own = {item.name: getattr(scorer, item.name) for item in fields(Scorer) if item.name not in _ELSEWHERE}
    return {name: canonical(value, name) for name, value in own.items()}


@dataclass(frozen=True)
class Standing(Subject):
    """Tables of an earlier run, each as :attr:`FoundFile.identity` has it, by name; none if there is no such run."""

    tables: Mapping[str, Identity]

    @classmethod
    def among(cls, files: Mapping[str, FoundFile], kind: str) -> "Standing":
        """Those of a kind, ``model`` or ``standing``, that :func:`find_standing` has found."""
        named = {name.partition(" ")[::2]: file for name, file in files.items()}
        return cls({name: file.identity for (first, name), file in named.items() if first == kind})

    @property
    def identity(self) -> Mapping[str, Any]:
        """Settings of every unit that looks back at it."""
        return {"standing": self.tables}

    def frame(self, name: str) -> pl.DataFrame:
        """A table."""
        return pl.scan_parquet(self.tables[name]["uri"], glob=False).collect()


def find_standing(config: ResolutionRun) -> dict[str, FoundFile]:
    """The tables ``model <table>`` of the run whose scorer is taken, and ``standing <table>`` of a previous run by
    which only what changed has to be scored; those that there are.

    Raises:
        ConfigError: if a scorer is to be taken of what is no run, has none, or compares records by other settings.
    """
    if config.records is None:
        return {}
    files = {}
    if config.previous is not None:
        files = _tables(run_place(config.previous), "standing", _STANDING)
    if config.model_run is not None:
        place = run_place(config.model_run, "records.model")
        model = _tables(place, "model", _MODEL)
        if not model:
            raise refusal(place, "has no scorer: it is of scored pairs, or of an earlier version", "records.model")
        taken = json.loads(pl.read_parquet(model["model scorer"].uri)["settings"][0])
        own = scoring_settings(config.records)
        if differing := [name for name in own if name != "unlabelled" and taken.get(name) != own[name]]:
            name = differing[0]
            reason = (
                f"its scorer has records.{name}={json.dumps(taken.get(name))}, and this run {json.dumps(own[name])}"
            )
            raise refusal(place, f"{reason}; give it the same", "records.model")
        files |= model | _tables(place, "model", LEARNT[1:])
    return files


def taken_settings(scorer: RecordScorer, model: Standing) -> RecordScorer:
    """The settings of a scorer that is taken: it learnt as the run says that it is of."""
    if not model.tables:
        return scorer
    settings = json.loads(model.frame("scorer")["settings"][0])
    return replace(scorer, unlabelled=Scorer(**settings).unlabelled)


def _tables(place: Path, kind: str, names: Sequence[str]) -> dict[str, FoundFile]:
    paths = {name: place / f"{name}.parquet" for name in names}
    if not all(path.exists() for path in paths.values()):
        return {}
    return {f"{kind} {name}": find_file(str(path), "previous") for name, path in paths.items()}


class TakeScorer(Work, unit="taken_scorer/1", stage="train scorer", makes=[Agreements, TermFrequencies]):
    """A scorer that another run has trained."""

    standing: Standing

    def tables(self, _: Store) -> Tables:
        """``agreements``, ``term_frequencies`` if there are any, and ``training``."""
        values = self.standing.frame("record_values")
        for table in (Agreements, TermFrequencies):
            if table.table_name in self.standing.tables:
                yield table.table_name, self.standing.frame(table.table_name).to_arrow().cast(table.schema())
        yield "training", values.filter("is_training").select("record").to_arrow().cast(_TRAINING)


class KeepRecords(Work, unit=changes.VERSION, stage="compare records", makes=[RecordValues, Scorers, RecordChanges]):
    """What a later night compares with: values of the records, and what stands for the scorer.

    Attributes:
        standing: those of the previous run.
    """

    records: ReadRecords
    learnt: Sequence[TableRef]
    training: TableRef
    standing: Standing

    def tables(self, store: Store) -> Tables:
        """``record_values`` and ``scorer``; after a previous run ``record_changes``."""
        values = record_values(self.records.read(), self.records.scorer)
        training = pl.Series(store.read(self.training)["record"])
        known = values.with_columns(is_training=pl.col("record").is_in(training.implode()))
        yield "record_values", known.to_arrow().cast(RecordValues.schema())
        settings = scoring_settings(self.records.scorer)
        versions = ", ".join([VERSION, *(f"{name} {version(name)}" for name in ("splink", "duckdb"))])
        learnt = digest([settings, versions, *(ref.columns for ref in self.learnt)])
        yield from tables_of([Scorers(digest=learnt, settings=json.dumps(settings), versions=versions)], [Scorers])
        if self.standing.tables:
            before = self.standing.frame("record_values").drop("is_training")
            yield "record_changes", changed_records(before, values).to_arrow().cast(RecordChanges.schema())


class ScoreChanged(Work, unit=changes.VERSION, stage="score records"):
    """The pairs of the previous run whose records are as they were, and those of records that changed, scored."""

    records: ReadRecords
    learnt: Sequence[TableRef]
    changes: TableRef
    standing: Standing

    def tables(self, store: Store) -> Tables:
        """``pairs``, as if all were scored, and ``counts``."""
        changed, before = pl.DataFrame(store.read(self.changes)), self.standing.frame("scored_pairs")
        touched = changed["record"].implode()
        kept = before.filter(~pl.any_horizontal(pl.col(end).is_in(touched) for end in IDS))
        there = changed.filter(pl.col("event") != "removed")["record"]
        learnt = [pl.DataFrame(store.read(ref)) for ref in self.learnt]
        scored = score_changed(self.records.read(), self.records.scorer, there, *learnt)
        pairs = pl.concat([kept, scored.select(kept.columns)]).sort(IDS)
        yield "pairs", pairs.to_arrow().cast(ScoredPairs.schema())
        nums = {"num_kept": kept.height, "num_dropped": before.height - kept.height, "num_scored": scored.height}
        yield "counts", pl.DataFrame(nums).to_arrow()


class CountNight(Work, unit="night_counts/1", stage="count changes", makes=[NightCounts]):
    """What was new in a night, and what of it was scored.

    Attributes:
        scored: what :class:`ScoreChanged` counted; None where the scorer is another one.
    """

    changes: TableRef
    num_records: int
    pairs: Sequence[TableRef]
    scored: TableRef | None

    def rows(self, store: Store) -> Iterator[NightCounts]:
        """One."""
        events = store.read(self.changes)["event"].to_pylist()
        num = {event: events.count(event) for event in ("new", "changed", "removed")}
        anew = {"num_kept": 0, "num_dropped": 0, "num_scored": sum(ref.num_rows for ref in self.pairs)}
        counts = anew if self.scored is None else store.read(self.scored).to_pylist()[0]
        total = counts["num_kept"] + counts["num_scored"]
        yield NightCounts(
            is_same_scorer=self.scored is not None,
            num_same=self.num_records - num["new"] - num["changed"],
            num_new=num["new"],
            num_changed=num["changed"],
            num_removed=num["removed"],
            num_kept=counts["num_kept"],
            num_dropped=counts["num_dropped"],
            num_scored=counts["num_scored"],
            share_scored=counts["num_scored"] / total if total else math.nan,
        )


class ExplainMoves(Work, unit=changes.VERSION, stage="explain moves", makes=[LedgerPairs]):
    """The pairs behind clusters that merged or split."""

    graph: str
    missing: Missing
    previous: Previous
    standing: Standing
    pairs: Sequence[TableRef]
    clusters: TableRef
    ledger: TableRef

    def tables(self, store: Store) -> Tables:
        """``ledger_pairs``."""
        now = pl.concat(pl.DataFrame(store.read(ref)) for ref in self.pairs)
        later = pl.DataFrame(store.read(self.clusters)).select("record", after="id")
        earlier = self.previous.rows("clusters", self.graph, ["record", "id"]).rename({"id": "before"})
        homes = earlier.join(later, on="record", how="full", coalesce=True)
        moves = pl.DataFrame(store.read(self.ledger)).filter(pl.col("event").is_in(["merged", "split"]))
        unlisted = 0.0 if self.missing == "forbid" else 0.5
        rows = evidence(self.standing.frame("scored_pairs"), now, homes, moves.select("before", "after"), unlisted)
        schema = LedgerPairs.schema()
        yield "ledger_pairs", rows.select(pl.lit(self.graph).alias("graph"), "*").to_arrow().cast(schema)


def score_night(
    run: Resolution,
    records: ReadRecords,
    learnt: Sequence[TableRef],
    training: TableRef,
    score_all: Callable[[], list[TableRef]],
) -> list[TableRef]:
    """Tables of all scored pairs; after a run with the same scorer, only those of records that changed are scored.

    Publishes ``record_values``, ``scorer`` and ``scored_pairs``, and after a previous run ``record_changes`` and
    ``night_counts``.

    Args:
        learnt: tables of the scorer.
        score_all: scores all pairs.
    """
    standing = Standing.among(run.sources.files, "standing")
    work = KeepRecords(group=RECORDS, records=records, learnt=learnt, training=training, standing=standing)
    kept = run.do([work], batch_size=None)
    counts = None
    if standing.tables and standing.frame("scorer")["digest"][0] == _digest(run.runner.store, kept.one(Scorers)):
        changed = ScoreChanged(
            group=RECORDS, records=records, learnt=learnt, changes=kept.one(RecordChanges), standing=standing
        )
        scored = run.do([changed], batch_size=None)
        pairs, counts = scored.refs("pairs"), scored.one("counts")
    else:
        pairs = score_all()
    run.publish("scored_pairs", pairs)
    if standing.tables:
        num_records = kept.one(RecordValues).num_rows
        row = CountNight(
            group=RECORDS, changes=kept.one(RecordChanges), num_records=num_records, pairs=pairs, scored=counts
        )
        run.do([row], in_driver=True)
    return pairs


def _digest(store: Store, scorer: TableRef) -> str:
    return str(store.read(scorer)["digest"][0])


def explain_night(run: Resolution, graphs: Mapping[str, Graph], previous: Previous) -> None:
    """Publish ``ledger_pairs``, where the previous run has scored pairs of its own."""
    standing, graph = Standing.among(run.sources.files, "standing"), graphs.get(RECORDS, {})
    if standing.tables and "ledger" in graph:
        works = [
            ExplainMoves(
                group=RECORDS,
                graph=RECORDS,
                missing=run.config.missing,
                previous=previous,
                standing=standing,
                pairs=run.published["scored_pairs"],
                clusters=graph["clusters"],
                ledger=graph["ledger"],
            )
        ]
        run.do(works, complete=False)
