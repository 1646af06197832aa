"""A night after another one: the scorer that stands, and the pairs of records that changed alone are scored."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from typing import Any, cast

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.config import RecordScorer, ResolutionRun
from tiltmeter.jobs.resolution.graphs import Graph, Identity, Resolution
from tiltmeter.jobs.resolution.previous import Previous, refusal, run_place
from tiltmeter.jobs.resolution.tables import (
    Agreements,
    Calibrations,
    LedgerPairs,
    NightCounts,
    RecordContents,
    ScoredPairs,
    Scorers,
    TermFrequencies,
)
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.operators.resolution.problem import Missing
from tiltmeter.operators.resolution.records.changes import VERSION, contents, evidence, pairs_with, score_given
from tiltmeter.operators.resolution.records.columns import count_blocks, prepare
from tiltmeter.operators.resolution.records.comparison import IDS
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import VERSION as SCORING
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.store.identity import canonical, digest
from tiltmeter.storage.store.ledger import Store, TableRef

RECORDS = "records"
"""The graph of messy records."""
LEARNT: Sequence[type[Agreements | TermFrequencies]] = (Agreements, TermFrequencies)
"""Tables of a scorer; the second only where a field has term frequencies."""
_STANDING = ("scorer", "scored_pairs", "record_contents", "gap_pairs")
_ELSEWHERE = {"train_share", "calibration_share", "num_labelled", "num_parts", "max_pairs"}
"""Settings on which no score depends once the scorer is there."""


class ReadRecords(Subject):
    """Records, and how pairs of them are compared."""

    scorer: RecordScorer

    def read(self) -> pl.DataFrame:
        """The records, with the columns that are needed."""
        raise NotImplementedError


@dataclass(frozen=True)
class Standing(Subject):
    """Tables of an earlier run, each as :attr:`FoundFile.identity` has it, by name; none if there is no such run."""

    standing: Mapping[str, Identity]

    @classmethod
    def among(cls, files: Mapping[str, FoundFile], kind: str) -> "Standing":
        """Those of a kind that :func:`find_standing` has found."""
        return cls({name.partition(" ")[2]: files[name].identity for name in files if name.startswith(f"{kind} ")})

    @property
    def identity(self) -> Mapping[str, Any]:
        """Settings of every unit that looks back at it."""
        return {"standing": self.standing}

    def frame(self, name: str) -> pl.DataFrame:
        """A table."""
        return pl.scan_parquet(self.standing[name]["uri"], glob=False).collect()


def find_standing(config: ResolutionRun) -> dict[str, FoundFile]:
    """Tables by which a night scores only what changed: ``standing <table>`` of the previous run, if it has them, and
    ``model <table>`` of the run whose scorer is taken.

    Raises:
        ConfigError: if that is no run, has no scorer, or compares records by other settings.
    """
    scorer = config.records
    if scorer is None:
        return {}
    files = _tables("standing", config.previous, "previous") | _tables("model", scorer.model, "records.model")
    if scorer.model is not None:
        place, model = run_place(scorer.model, "records.model"), Standing.among(files, "model")
        if not model.standing:
            raise refusal(place, "has no scorer: it is of scored pairs, or of an earlier version", "records.model")
        taken, settings = _settings(model), scoring_settings(scorer)
        for name in settings:
            if name != "unlabelled" and taken.get(name) != settings[name]:
                values = f"{json.dumps(taken.get(name))}, and not {json.dumps(settings[name])}"
                raise refusal(place, f"its scorer has records.{name}={values}; set the same", "records.model")
    return files


def _tables(kind: str, run: str | None, setting: str) -> dict[str, FoundFile]:
    if run is None:
        return {}
    names = (*_STANDING, *(table.table_name for table in (*LEARNT, Calibrations)))
    paths = {f"{kind} {name}": run_place(run, setting) / f"{name}.parquet" for name in names}
    has_scorer = paths[f"{kind} scorer"].exists()
    return {name: find_file(str(path), setting) for name, path in paths.items() if has_scorer and path.exists()}


def scoring_settings(scorer: Scorer) -> dict[str, Any]:
    """The settings of a scorer on which the score of a pair depends, as plain data."""
    return {item.name: canonical(getattr(scorer, item.name)) for item in fields(Scorer) if item.name not in _ELSEWHERE}


def _settings(model: Standing) -> dict[str, Any]:
    return dict(json.loads(model.frame("scorer")["settings"][0]))


def with_model(scorer: RecordScorer, model: Standing) -> RecordScorer:
    """A scorer that is taken learnt as the run says that it is of."""
    return replace(scorer, unlabelled=Scorer(**_settings(model)).unlabelled) if model.standing else scorer


class TakeScorer(Work, unit="taken_scorer/1", stage="train scorer", makes=LEARNT):
    """A scorer that another run has trained."""

    model: Standing

    def tables(self, _: Store) -> Tables:
        """``agreements``, ``term_frequencies`` if there are any, and ``training``."""
        for table in LEARNT:
            if table.table_name in self.model.standing:
                yield table.table_name, self.model.frame(table.table_name).to_arrow().cast(table.schema())
        training = self.model.frame("record_contents").filter("is_training").select("record")
        yield "training", training.to_arrow().cast(pa.schema([("record", pa.string())]))


class KeepRecords(Work, unit="kept_records/1", stage="keep records", makes=[RecordContents, Scorers]):
    """What a later night compares with; ``versions`` are those of what compares records."""

    versions: str
    records: ReadRecords
    learnt: Sequence[TableRef]
    training: TableRef
    settings: Mapping[str, Any]

    def tables(self, store: Store) -> Tables:
        """``record_contents`` and ``scorer``."""
        training = pl.Series(store.read(self.training)["record"]).implode()
        known = contents(prepare(self.records.read(), self.records.scorer))
        known = known.with_columns(is_training=pl.col("record").is_in(training))
        yield "record_contents", known.to_arrow().cast(RecordContents.schema())
        stands_for = digest([self.settings, self.versions, *(ref.columns for ref in self.learnt)])
        row = Scorers(digest=stands_for, settings=json.dumps(self.settings), versions=self.versions)
        yield from tables_of([row], [Scorers])


class ScoreChanged(Work, unit=VERSION, stage="score records", makes=[ScoredPairs, NightCounts]):
    """The pairs of the previous run whose records are as they were, and those of records that changed, scored."""

    records: ReadRecords
    learnt: Sequence[TableRef]
    contents: TableRef
    standing: Standing

    def tables(self, store: Store) -> Tables:
        """``scored_pairs``, as if all were scored, and ``night_counts``."""
        before, now = self.standing.frame("record_contents"), pl.DataFrame(store.read(self.contents))
        gone, there = _changed(before, now), _changed(now, before)
        kept = kept_pairs(self.standing, "scored_pairs", now)
        scorer, learnt = self.records.scorer, [pl.DataFrame(store.read(ref)) for ref in self.learnt]
        prepared = prepare(self.records.read(), scorer)
        count_blocks(prepared, scorer)
        scored = score_given(prepared, scorer, pairs_with(prepared, there), *learnt).select(kept.columns)
        scored = scored.filter(pl.col("match_probability") >= scorer.threshold)
        pairs = pl.concat([kept, scored]).sort(IDS)
        yield "scored_pairs", pairs.to_arrow().cast(ScoredPairs.schema())
        num_changed = int(there.is_in(gone.implode()).sum())
        counts = NightCounts(
            num_records=now.height,
            num_new=there.len() - num_changed,
            num_changed=num_changed,
            num_removed=gone.len() - num_changed,
            num_kept=kept.height,
            num_dropped=self.standing.frame("scored_pairs").height - kept.height,
            num_scored=scored.height,
            share_scored=scored.height / max(pairs.height, 1),
        )
        yield from tables_of([counts], [NightCounts])


def _changed(records: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    """Records that are not among others, or are not the same there."""
    return records.join(others, on=["record", "content"], how="anti")["record"]


def kept_pairs(standing: Standing, name: str, now: pl.DataFrame) -> pl.DataFrame:
    """Scored pairs of an earlier run without those of a record that is not there as it was.

    Args:
        name: of their table.
        now: ``record_contents``.
    """
    gone = _changed(standing.frame("record_contents"), now).implode()
    return standing.frame(name).filter(~pl.any_horizontal(pl.col(end).is_in(gone) for end in IDS))


def standing_scores(run: Resolution) -> Standing:
    """The tables of a previous run with the scorer that this one has published; none if there is no such run."""
    standing = Standing.among(run.sources.files, "standing")
    scorer = pl.concat(pl.DataFrame(run.runner.store.read(ref)) for ref in run.published[Scorers.table_name])
    same = standing.standing and standing.frame("scorer")["digest"].equals(scorer["digest"])
    return standing if same else Standing({})


def score_night(
    run: Resolution,
    records: ReadRecords,
    learnt: Sequence[TableRef],
    training: TableRef,
    score_all: Callable[[], list[TableRef]],
) -> list[TableRef]:
    """Publish ``scored_pairs``, of which after a run with the same scorer only those of changed records are scored, and
    what a later night has to know: ``record_contents`` and ``scorer``.

    Args:
        learnt: tables of the scorer.
        score_all: scores all pairs.
    """
    config = with_model(cast(RecordScorer, run.config.records), Standing.among(run.sources.files, "model"))
    versions = ", ".join([SCORING, *(f"{name} {version(name)}" for name in ("splink", "duckdb"))])
    keep = KeepRecords(
        group=RECORDS,
        versions=versions,
        settings=scoring_settings(config),
        records=records,
        learnt=learnt,
        training=training,
    )
    known = run.do([keep], batch_size=None).one(RecordContents)
    if (standing := standing_scores(run)).standing:
        work = ScoreChanged(group=RECORDS, records=records, learnt=learnt, contents=known, standing=standing)
        return run.do([work], batch_size=None).refs(ScoredPairs)
    pairs = score_all()
    run.publish(ScoredPairs.table_name, pairs)
    return pairs


# --- what moved -----------------------------------------------------------------------------------------------------


class ExplainMoves(Work, unit=VERSION, stage="explain moves", makes=[LedgerPairs]):
    """The pairs behind clusters that merged or split."""

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
        earlier = self.previous.rows("clusters", RECORDS, ["record", "id"]).rename({"id": "before"})
        homes = earlier.join(later, on="record", how="full", coalesce=True)
        moves = pl.DataFrame(store.read(self.ledger)).filter(pl.col("event").is_in(["merged", "split"]))
        unlisted = 0.0 if self.missing == "forbid" else 0.5
        names = [name for name in ("scored_pairs", "gap_pairs") if name in self.standing.standing]
        before = pl.concat(map(self.standing.frame, names))
        rows = evidence(before, now, homes, moves.select("before", "after"), unlisted)
        yield "ledger_pairs", rows.select(pl.lit(RECORDS).alias("graph"), "*").to_arrow().cast(LedgerPairs.schema())


def explain_moves(run: Resolution, graphs: Mapping[str, Graph], previous: Previous) -> None:
    """Publish ``ledger_pairs``, where the previous run has scored pairs of its own."""
    standing, graph = Standing.among(run.sources.files, "standing"), graphs.get(RECORDS, {})
    if standing.standing and "ledger" in graph:
        work = ExplainMoves(
            group=RECORDS,
            missing=run.config.missing,
            previous=previous,
            standing=standing,
            pairs=[ref for name in ("scored_pairs", "gap_pairs") for ref in run.published.get(name, ())],
            clusters=graph["clusters"],
            ledger=graph["ledger"],
        )
        run.do([work], complete=False)
