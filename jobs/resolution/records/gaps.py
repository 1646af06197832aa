"""Scored records with the pairs that no rule proposes, within components of those that one does."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.config import RecordScorer
from tiltmeter.jobs.resolution.graphs import Resolution
from tiltmeter.jobs.resolution.records.calibration import calibrated_scores, pairs_table, taken_calibration
from tiltmeter.jobs.resolution.records.night import (
    LEARNT,
    ReadRecords,
    Standing,
    kept_pairs,
    standing_scores,
    with_model,
)
from tiltmeter.jobs.resolution.records.scoring import JoinScores, MessyRecords
from tiltmeter.jobs.resolution.tables import Calibrations, GapCounts, GapPairs, RecordContents
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.resolution.records import gaps
from tiltmeter.operators.resolution.records.columns import prepare
from tiltmeter.operators.resolution.records.comparison import IDS
from tiltmeter.storage.store.ledger import Store, TableRef


class FillGaps(Work, unit=gaps.VERSION, stage="score records", makes=[GapPairs, GapCounts]):
    """Pairs within components, scored; those of two records that are as they were keep their scores.

    ``calibration`` is the table of this name, if there is one by which scores are calibrated.
    """

    records: ReadRecords
    most: int
    least: float | None
    learnt: Sequence[TableRef]
    contents: TableRef
    standing: Standing
    calibration: Sequence[TableRef]
    pairs: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        """Those of rows, and ``pairs`` as those that they are added to."""
        scorer, prepared = self.records.scorer, prepare(self.records.read(), self.records.scorer)
        proposed = pl.concat(pl.DataFrame(store.read(ref)) for ref in self.pairs)
        wanted, large = gaps.find_gaps(prepared, proposed, self.most, self.least)
        known = pl.DataFrame(GapPairs.schema().empty_table())
        if GapPairs.table_name in self.standing.standing:
            contents = pl.DataFrame(store.read(self.contents))
            known = kept_pairs(self.standing, GapPairs.table_name, contents)
        learnt = [pl.DataFrame(store.read(ref)) for ref in self.learnt]
        scored = gaps.score_gaps(prepared, scorer, wanted, known, learnt).select(known.columns)
        yield GapPairs.table_name, scored.to_arrow().cast(GapPairs.schema())
        fits = [taken_calibration(pl.DataFrame(store.read(ref))) for ref in self.calibration]
        yield "pairs", pairs_table(scored, *fits, threshold=scorer.threshold)
        counts = GapCounts(
            most=self.most,
            num_pairs=scored.height,
            num_kept=scored.join(known, on=IDS, how="semi").height,
            num_positive=scored.filter(pl.col("match_probability") > 0.5).height,
            num_large=large.len(),
            num_left=int(large.sum()),
        )
        yield from tables_of([counts], [GapCounts])


def filled_scores(run: Resolution, scorer: RecordScorer) -> JoinScores:
    """The scored records; with ``records.within``, with all pairs within components of so many records at most.

    Raises:
        UnitsFailed: as :func:`.calibration.calibrated_scores`.
    """
    work, published = calibrated_scores(run, scorer), run.published
    if scorer.within is None:
        return work
    files = {name: one for name, one in work.files.items() if name != "gold"}
    model = with_model(scorer, Standing.among(run.sources.files, "model"))
    fill = FillGaps(
        group=work.group,
        records=MessyRecords(files, model, run.config.seed),
        most=scorer.within,
        least=work.threshold,
        learnt=[ref for table in LEARNT for ref in published.get(table.table_name, ())],
        contents=published[RecordContents.table_name][0],
        standing=standing_scores(run),
        calibration=published[Calibrations.table_name] if scorer.calibration else [],
        pairs=work.pairs,
    )
    return replace(work, pairs=[*work.pairs, *run.do([fill], batch_size=None).refs("pairs")])
