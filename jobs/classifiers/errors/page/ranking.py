"""The sections on what ranks errors, and on rounds of labelling, of the page of `error_characterisation`."""

from functools import partial

import polars as pl

from tiltmeter.jobs.classifiers.errors.page.words import SCORES, STRATEGIES
from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.grids import cell, count, estimate, grid, number, percent, text
from tiltmeter.jobs.report.html.elements import Chart, Grid
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, INK, MALE, NEUTRAL, SECOND, Look, Row, lines
from tiltmeter.jobs.runtime.published import Frames

_LOOKS = {
    "readable": Look(MALE),
    "readable_and_class": Look(FEMALE),
    "readable_class_and_probabilities": Look(SECOND),
    "in_domain_disagreement": Look(FIRST),
    "least_confidence": Look(INK, dash="dash"),
    "predicted_class": Look(INK, dash="dot"),
    "random": Look(NEUTRAL, dash="dot"),
}
_STRATEGIES = {
    "errors": Look(FEMALE),
    "in_domain_disagreement": Look(FIRST),
    "least_confidence": Look(INK, dash="dash"),
    "random": Look(NEUTRAL, dash="dot"),
}


def precision_chart(frames: Frames) -> Chart:
    rows = (
        frames["precision_at_k"]
        .filter(split="all")
        .select("score", "k", "precision", precision_low="low", precision_high="high")
    )
    return Chart(
        "Line chart of the share of errors among the first K texts, by what ranks them.",
        "Precision at K with its interval, on texts that nothing was trained with: each way must beat the predicted "
        "class alone, and whoever has labels of these texts can train a model on them, which ranks errors, too.",
        {"": _curves(rows.filter(pl.col("score").is_in(list(_LOOKS))), "k", "precision", "score", _LOOKS, SCORES, "K")},
    )


def _curves(
    rows: pl.DataFrame, x: str, y: str, by: str, looks: dict[str, Look], names: dict[str, str], title: str
) -> Figure:
    def hover(row: Row) -> str:
        values = (wording.percent(row[f"{y}{end}"], 0) for end in ("", "_low", "_high"))
        value, low, high = values
        return lines(names[row[by]], f"{title}: {row[x]:,}", f"{wording.phrase(y)}: {value} [{low}, {high}]")

    figure = curves(
        rows, x, y, by=by, looks=looks, titles=(title, wording.phrase(y)), hover=hover, label=names.__getitem__
    )
    return figure.with_layout(xaxis={"dtick": None}, yaxis={"tickformat": ".0%"})


def models_grid(frames: Frames) -> Grid:
    wide = (
        frames["error_models"].filter(split="all").pivot("measure", index="score", values="value", maintain_order=True)
    )
    intervals = (
        frames["error_models"].filter(split="all", measure="auroc").select("score", auroc_low="low", auroc_high="high")
    )
    return grid(
        "AUROC: probability that an error is ranked before a text that is none. AURC: mean error rate of what is kept, "
        "over all coverages; lower is better.",
        wide.join(intervals, on="score").sort("auroc", descending=True),
        text("score", "ranked by", SCORES),
        estimate("auroc", "AUROC"),
        number("aurc", "AURC"),
        number("error_rate"),
    )


def precision_grid(frames: Frames) -> Grid:
    rows = frames["precision_at_k"].filter(split="all")
    sizes = rows["k"].unique().sort().to_list()
    by_score: dict[str, dict[int, Row]] = {}
    for row in rows.to_dicts():
        by_score.setdefault(row["score"], {})[row["k"]] = row
    records = [{"score": score, "rows": values} for score, values in by_score.items()]
    return grid(
        "Precision at K, with what holds a single split.",
        records,
        text("score", "ranked by", SCORES),
        *(cell(f"P@{size}", partial(_band_at, size), is_numeric=True) for size in sizes),
    )


def _band_at(size: int, record: Row) -> str:
    if (row := record["rows"].get(size)) is None:
        return ""
    ends = (
        f" [{wording.number(row['precision_band_low'], 2)}, {wording.number(row['precision_band_high'], 2)}]"
        if row["precision_band_low"] is not None
        else ""
    )
    return f"{wording.number(row['precision'], 2)}{ends}"


def rounds_chart(frames: Frames) -> Chart:
    return Chart(
        "Line chart of accuracy against the number of labels, by the strategy that chooses texts.",
        "Accuracy of a model of words on texts that are never labelled, over seeds.",
        {"": _curves(frames["rounds"], "num_labels", "accuracy", "strategy", _STRATEGIES, STRATEGIES, "labels")},
    )


def rounds_grid(frames: Frames) -> Grid:
    return grid(
        "Accuracy by the number of labels, and how far it lies above that of random choices.",
        frames["rounds"],
        text("strategy", names=STRATEGIES),
        count("num_labels", "labels"),
        estimate("accuracy"),
        estimate("over_random"),
        percent("errors_found", "errors among the last"),
    )
