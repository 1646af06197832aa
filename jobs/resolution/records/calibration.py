"""Scores of pairs of records, held against labels that were held out, and calibrated on others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.config import RecordScorer
from tiltmeter.jobs.resolution.graphs import ENDS, GOLD_RULES, Identity, Resolution, read_labelled
from tiltmeter.jobs.resolution.records.night import Standing
from tiltmeter.jobs.resolution.records.scoring import JoinScores, score_records
from tiltmeter.jobs.resolution.tables import Calibrations, Reliability
from tiltmeter.jobs.runtime.table import Estimate, Table, tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.resolution.ids import as_ids
from tiltmeter.operators.resolution.records import calibration as scores
from tiltmeter.operators.resolution.records.calibration import Calibration, Labels
from tiltmeter.operators.resolution.records.labelled_pairs import (
    check_labelled,
    divided_clusters,
    divided_labels,
    labelled_scores,
)
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.ledger import Store, TableRef

_LEVEL = 0.95


class Calibrate(Work, unit=scores.VERSION, stage="judge scores", makes=[Reliability, Calibrations]):
    """What scores are worth where nothing was learnt, and what makes probabilities of them.

    ``files`` are ``clusters``, or ``labelled`` of which a part is held out, or ``gold`` and the ``labelled`` pairs that
    were learnt from.
    """

    files: Mapping[str, Identity]
    scorer: RecordScorer
    seed: int
    pairs: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        """Those of rows; and, calibrated, ``pairs`` beside their scores, and ``fitted``, the records of clusters that
        anything was learnt from."""
        scored = pl.concat(pl.DataFrame(store.read(ref)) for ref in self.pairs)
        parts, rows = self._labelled(scored)
        known, judges = (self._labels(rows, parts, part) for part in ("calibration", "judging"))
        method, fit = self.scorer.calibration, None
        if method:
            fit = scores.fit_calibration(known, method)
            yield "pairs", pairs_table(scored, fit, threshold=self.scorer.threshold)
            fitted = parts.filter(pl.col("part") != "judging")["record"]
            yield "fitted", pa.table({"record": fitted.to_arrow().cast(pa.string())})
        yield from tables_of(self._rows(judges, fit, known.scores.size), self.makes)

    def _labelled(self, scored: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """What each record is for, and scored pairs with their labels."""
        labelled = pl.DataFrame()
        if "labelled" in self.files:
            pairs = read_labelled(self.files["labelled"]["uri"])
            labelled = check_labelled(pairs, pl.concat([as_ids(pairs[end]) for end in ENDS]))
        file = self.files.get("clusters") or self.files.get("gold")
        if file is None:
            parts = divided_labels(labelled, self.scorer, self.seed)
            return parts, labelled_scores(scored, parts, labelled)
        parts = divided_clusters(read_records(file["uri"], [*GOLD_RULES], rules=GOLD_RULES), self.scorer, self.seed)
        if "gold" in self.files:
            parts = parts.with_columns(part=pl.lit("judging"))
            scored = scored.join(labelled, on=ENDS, how="anti") if labelled.height else scored
        return parts, labelled_scores(scored, parts, None)

    def _labels(self, rows: pl.DataFrame, parts: pl.DataFrame, part: str) -> Labels:
        some, (num, num_all) = (
            rows.filter(part=part),
            (each["cluster"].n_unique() for each in (parts.filter(part=part), parts)),
        )
        score, is_match, weight = (some[name].to_numpy() for name in ("match_probability", "is_match", "weight"))
        # Learnt without labels, the prior is that of random pairs, and says nothing of those that the rules propose.
        prior = self.scorer.prior if self.scorer.unlabelled is None else None
        kept = (num - 1) / (num_all - 1) if "clusters" in self.files and num > 1 else 1.0
        return Labels(score, is_match, weight, some.select("unit", "other_unit").to_numpy(), prior, kept)

    def _rows(self, judges: Labels, fit: Calibration | None, num_fitted: int) -> Iterator[Table]:
        stages: dict[str, tuple[FloatArray, dict[str, Any]]] = {"raw": (judges.scores, {})}
        if fit:
            about = {"method": self.scorer.calibration, "num_fitted": num_fitted, **fit._asdict()}
            stages["calibrated"] = scores.calibrated(judges.scores, fit), about
        unit = "group of labelled pairs" if [*self.files] == ["labelled"] else "cluster"
        for stage, (q, about) in stages.items():
            measured: dict[str, Any] = scores.losses(q, judges)._asdict() if q.size else {}
            yield Calibrations(stage=stage, num_judging=q.size, **about, **measured)
            for number, one in enumerate(scores.reliability(q, judges, kind=unit, level=_LEVEL) if q.size else []):
                yield Reliability(
                    stage=stage,
                    bin=number,
                    mean=one.mean,
                    share=Estimate(one.share.value, one.share.low, one.share.high),
                    num_pairs=one.num_pairs,
                    num_units=one.share.num_units,
                )


class TakeCalibration(Work, unit=f"taken_calibration/{scores.VERSION}", stage="judge scores", makes=[Calibrations]):
    """Scores of a scorer that another run has trained, calibrated as it calibrated them."""

    model: Standing
    threshold: float
    pairs: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        """``pairs`` beside their scores, and ``calibration``."""
        row = self.model.frame(Calibrations.table_name).filter(stage="calibrated")
        scored = pl.concat(pl.DataFrame(store.read(ref)) for ref in self.pairs)
        yield "pairs", pairs_table(scored, taken_calibration(row), threshold=self.threshold)
        yield Calibrations.table_name, row.to_arrow().cast(Calibrations.schema())


def taken_calibration(rows: pl.DataFrame) -> Calibration:
    """Of the table ``calibration``, what calibrated probabilities are made by."""
    row = rows.row(by_predicate=pl.col("stage") == "calibrated", named=True)
    return Calibration(row["parameters"], row["knots"], row["shift"])


def pairs_table(scored: pl.DataFrame, fit: Calibration | None = None, *, threshold: float) -> pa.Table:
    """Scored pairs from a threshold on; with a calibration, their calibrated probabilities beside their scores."""
    pairs = scored.filter(pl.col("match_probability") >= threshold)
    if fit is not None:
        pairs = scores.calibrated_pairs(scored, fit, threshold)
    kinds = pa.schema([(name, pa.string()) for name in ENDS] + [(name, pa.float64()) for name in pairs.columns[2:]])
    return pairs.to_arrow().cast(kinds)


def calibrated_scores(run: Resolution, scorer: RecordScorer) -> JoinScores:
    """Score records, judge the scores where labels are held out, and calibrate them where that is asked.

    Raises:
        UnitsFailed: as :func:`.scoring.score_records`, and if labels do not suffice.
    """
    files, method = run.sources.files, scorer.calibration
    # What becomes of scores changes none of them, unless it takes labels that the scorer would learn from.
    scorer = replace(scorer, within=None)
    plain = replace(scorer, prior_factors=(0.5, 2.0))
    if "labelled" not in files and scorer.unlabelled is None:
        plain = replace(plain, calibration=None, calibration_share=0.25)
    work = score_records(run, replace(plain, threshold=0.0) if method else plain)
    model = Standing.among(files, "model")
    if method and model.standing and not files.keys() & {"clusters", "labelled"}:
        take = TakeCalibration(group=work.group, model=model, threshold=scorer.threshold, pairs=work.pairs)
        return replace(work, pairs=run.do([take], batch_size=None).refs("pairs"))
    names = ["clusters"] if "clusters" in files else ["labelled"] if method else ["labelled", "gold"]
    if not (method or "gold" in files or ("clusters" in files and scorer.train_share < 1.0)):
        return work
    known = {name: files[name].identity for name in names if name in files}
    judge = Calibrate(group=work.group, files=known, scorer=scorer, seed=run.config.seed, pairs=work.pairs)
    judged = run.do([judge], batch_size=None)
    if not method:
        return work
    training = judged.one("fitted") if "clusters" in files else work.training
    return replace(work, pairs=judged.refs("pairs"), training=training)
