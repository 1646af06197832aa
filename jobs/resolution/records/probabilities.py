"""What the page says of probabilities: whether they are as often right as they say, and what the prior decides."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.html.elements import Block, Chart
from tiltmeter.jobs.report.plots.figure import axis, figure, marks, neutral_line
from tiltmeter.jobs.report.plots.style import FEMALE, MALE
from tiltmeter.jobs.report.views import Draw, Frames, Show, section
from tiltmeter.jobs.report.wording import number, percent, plural, verb
from tiltmeter.jobs.resolution.tables import Calibrations, PriorSensitivity, Reliability

_COLOURS = {"raw": MALE, "calibrated": FEMALE}
_ALIKE = 0.95
"""Pairwise F1 of two partitions from which on they count as much the same."""


def findings(frames: Frames) -> Iterator[str]:
    """Sentences on ``calibration`` and ``prior_sensitivity``, where they are there."""
    known = frames[Calibrations.table_name].drop_nulls("ece").to_dicts() if Calibrations.table_name in frames else []
    if known:
        parts = [
            f"{row['stage']} ones are {number(row['ece'], 4)} off the share of matches on average, and of pairs above "
            f"0.5 {percent(row['true_share'])} are matches"
            for row in known
        ]
        yield f"Of the probabilities of {plural(known[0]['num_judging'], 'held-out pair')}, {'; '.join(parts)}."
    if PriorSensitivity.table_name in frames:
        rows = frames[PriorSensitivity.table_name].filter(pl.col("factor") != 1.0)
        parts = [
            f"by {row['factor']:g}, {plural(row['num_pairs_moved'], 'pair')} of records "
            f"{verb(row['num_pairs_moved'], 'come')} together or apart (F1 of both partitions {number(row['f1'], 3)})"
            for row in rows.to_dicts()
        ]
        is_decided = rows.filter(pl.col("f1") < _ALIKE).height > 0
        decided = (
            ". So much moves that the prior decides this partition, and not the records alone" if is_decided else ""
        )
        yield f"If the odds of every match are multiplied {'; '.join(parts)}{decided}."


def _curve(rows: pl.DataFrame) -> Iterator[Block]:
    traces = []
    for stage, of_stage in rows.group_by("stage", maintain_order=True):
        up, down = (of_stage["share_high"] - of_stage["share"], of_stage["share"] - of_stage["share_low"])
        colour = _COLOURS[str(stage[0])]
        error = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": colour}
        look = {"color": colour, "size": 9}
        traces.append(marks(of_stage["mean"], of_stage["share"], look, name=stage[0], error_y=error, showlegend=True))
    if traces:
        axes = {"xaxis": axis("mean probability"), "yaxis": axis("share of matches")}
        yield Chart(
            "Dots of the share of matches over the mean probability, in bins of held-out pairs.",
            "Bins of held-out pairs: mean probability, and share of matches with its 95 % interval. Dotted: "
            "probabilities that are right as often as they say.",
            {"": figure(neutral_line([0.0, 1.0], [0.0, 1.0]), *traces, height=420, **axes)},
        )


SECTIONS = (
    section(
        "reliability",
        "Are the probabilities right",
        Show(
            Calibrations,
            "Over all pairs that the held-out ones stand for; lower is better, but for the share of matches.",
            "stage method? num_fitted? num_judging ece brier log_loss true_share shift?",
        ),
        Draw(Reliability, _curve),
        Show(
            Reliability,
            "Bins of equally many held-out pairs, as far as equal probabilities, which share a bin, allow it. Shares "
            "have 95 % intervals, over clusters, or over groups of labelled pairs that share records.",
            "stage bin mean share num_pairs num_units",
        ),
    ),
    section(
        "prior",
        "What the prior decides",
        Show(
            PriorSensitivity,
            "The same pairs, partitioned with other odds of a match: 0.5 becomes 1/3 by half the odds, 2/3 by twice. "
            "What moves is counted against factor 1, the clusters of this run.",
            "factor num_clusters num_merges num_splits num_pairs_moved f1 f1_gold?",
        ),
    ),
)
