"""Scores of pairs of records, held against labels that were held out, and calibrated on others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.config import RecordScorer
from tiltmeter.jobs.resolution.graphs import ENDS, GOLD_RULES, LABELLED_RULES, Identity, Resolution, optional_columns
from tiltmeter.jobs.resolution.records.scoring import JoinScores, score_records
from tiltmeter.jobs.resolution.tables import Calibrations, Reliability
from tiltmeter.jobs.runtime.table import Estimate, Table, tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.resolution.ids import as_ids
from tiltmeter.operators.resolution.records import calibration
from tiltmeter.operators.resolution.records.calibration import (
    Calibration,
    Labels,
    calibrated,
    fit_calibration,
    losses,
    reliability,
)
from tiltmeter.operators.resolution.records.labelled_pairs import (
    check_labelled,
    divided_clusters,
    divided_labels,
    labelled_scores,
)
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import NEEDED, between
from tiltmeter.storage.store.ledger import Store, TableRef

_LEVEL = 0.95
_WEIGHT = between(1e-9, 1e9)
_SCORES = ("match_probability", "score")


class Calibrate(Work, unit=calibration.VERSION, stage="judge scores", makes=[Reliability, Calibrations]):
    """What scores are worth where nothing was learnt, and what makes probabilities of them.

    ``files`` are ``clusters``, or ``labelled`` of which a part is held out, or ``gold``, and ``labelled`` pairs that
    were learnt from.
    """

    files: Mapping[str, Identity]
    scorer: RecordScorer
    seed: int
    pairs: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        """``fitted``, the records of clusters that anything was learnt from, ``reliability`` and ``calibration``."""
        scorer, scored = self.scorer, pl.concat(pl.DataFrame(store.read(ref)) for ref in self.pairs)
        labelled = self._labelled() if "labelled" in self.files else pl.DataFrame()
        if gold := self.files.get("clusters") or self.files.get("gold"):
            clusters = read_records(gold["uri"], [*GOLD_RULES], rules=GOLD_RULES)
            parts = divided_clusters(clusters, scorer, self.seed)
            if "gold" in self.files:
                parts = parts.with_columns(part=pl.lit("judging"))
            scored = scored.join(labelled, on=ENDS, how="anti") if labelled.height else scored
            rows = labelled_scores(scored, parts, None)
        else:
            parts = divided_labels(labelled, scorer, self.seed)
            rows = labelled_scores(scored, parts, labelled)
        fitted = parts.filter(pl.col("part") != "judging")["record"]
        yield "fitted", pa.table({"record": fitted.to_arrow().cast(pa.string())})
        by_part = (self._known(rows.filter(part=part), parts, part) for part in ("calibration", "judging"))
        yield from tables_of(self._rows(*by_part), self.makes)

    def _labelled(self) -> pl.DataFrame:
        uri = self.files["labelled"]["uri"]
        weights = optional_columns(uri, ["weight"], "records.labelled")
        rules = {**LABELLED_RULES, **dict.fromkeys(weights, (NEEDED, _WEIGHT))}
        pairs = read_records(uri, [*rules], rules=rules)
        return check_labelled(pairs, pl.concat([as_ids(pairs[end]) for end in ENDS]))

    def _known(self, rows: pl.DataFrame, parts: pl.DataFrame, part: str) -> Labels:
        score, is_match, weight = (rows[name].to_numpy() for name in ("match_probability", "is_match", "weight"))
        num, num_all = (some["cluster"].n_unique() for some in (parts.filter(part=part), parts))
        kept = (num - 1) / (num_all - 1) if "clusters" in self.files and num > 1 else 1.0
        # Without labels, the prior is that of random pairs, and says nothing of those that the rules propose.
        prior = self.scorer.prior if self.scorer.unlabelled is None else None
        return Labels(score, is_match, weight, rows.select("unit", "other_unit").to_numpy(), prior, kept)

    def _rows(self, known: Labels, judges: Labels) -> Iterator[Table]:
        stages: dict[str, tuple[FloatArray, dict[str, Any]]] = {"raw": (judges.scores, {})}
        if method := self.scorer.calibration:
            fit = fit_calibration(known, method)
            how = {"method": method, "num_fitted": known.scores.size, **fit._asdict()}
            stages["calibrated"] = calibrated(judges.scores, fit), how
        unit = "cluster" if {"clusters", "gold"} & {*self.files} else "group of labelled pairs"
        for stage, (q, cells) in stages.items():
            measured: dict[str, Any] = losses(q, judges)._asdict() if q.size else {}
            yield Calibrations(stage=stage, num_judging=q.size, **cells, **measured)
            for number, one in enumerate(reliability(q, judges, kind=unit, level=_LEVEL) if q.size else []):
                yield Reliability(
                    stage=stage,
                    bin=number,
                    mean=one.mean,
                    share=Estimate(one.share, one.low, one.high),
                    num_pairs=one.num_pairs,
                    num_units=one.num_units,
                )


class CalibrateScores(Work, unit=f"calibrated_scores/{calibration.VERSION}", stage="calibrate scores"):
    """Proposed pairs with calibrated probabilities, beside their scores; those under the threshold are left out."""

    pairs: TableRef
    calibration: TableRef
    threshold: float

    def tables(self, store: Store) -> Tables:
        """``pairs``."""
        [row] = [row for row in Calibrations.read(store, self.calibration) if row.stage == "calibrated"]
        pairs = pl.DataFrame(store.read(self.pairs)).with_columns(score=pl.col("match_probability"))
        fit = Calibration(row.parameters or [], row.knots or [], row.shift or 0.0)
        pairs = pairs.with_columns(match_probability=calibrated(pairs["score"].to_numpy(), fit))
        kinds = pa.schema([(name, pa.string()) for name in ENDS] + [(name, pa.float64()) for name in _SCORES])
        yield "pairs", pairs.filter(pl.col("match_probability") >= self.threshold).to_arrow().cast(kinds)


def calibrated_scores(run: Resolution, scorer: RecordScorer) -> JoinScores:
    """Score records, judge the scores where labels are held out, and calibrate them where that is asked.

    Raises:
        UnitsFailed: as :func:`.scoring.score_records`, and if labels do not suffice.
    """
    files, method = run.sources.files, scorer.calibration
    # What becomes of scores changes none, unless it takes labels that the scorer would learn from.
    shared = "labelled" in files and scorer.unlabelled is None
    plain = scorer if shared else replace(scorer, calibration=None, calibration_share=0.25)
    work = score_records(run, replace(plain, threshold=0.0) if method else plain)
    names = ["clusters"] if "clusters" in files else ["labelled"] if method else ["labelled", "gold"]
    if not (method or "gold" in files or ("clusters" in files and scorer.train_share < 1.0)):
        return work
    known = {name: files[name].identity for name in names if name in files}
    judge = Calibrate(group=work.group, files=known, scorer=scorer, seed=run.config.seed, pairs=work.pairs)
    judged = run.do([judge], batch_size=None)
    if not method:
        return work
    threshold, fit = scorer.threshold, judged.one(Calibrations)
    parts = (
        CalibrateScores(label=f"part {part}", group=work.group, pairs=pairs, calibration=fit, threshold=threshold)
        for part, pairs in enumerate(work.pairs)
    )
    training = judged.one("fitted") if "clusters" in files else work.training
    return replace(work, pairs=run.do(parts).refs("pairs"), training=training)
