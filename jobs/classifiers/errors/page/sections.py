"""The sections of the page of `error_characterisation`."""

from collections.abc import Iterator
from functools import partial

import polars as pl

from tiltmeter.jobs.classifiers.errors.page.findings import leading
from tiltmeter.jobs.classifiers.errors.page.words import SCORES, STRATEGIES, in_words
from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.grids import cell, count, estimate, grid, number, optional, p_value, percent, text
from tiltmeter.jobs.report.html.elements import Block, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, INK, MALE, NEUTRAL, SECOND, Look, Row, lines
from tiltmeter.jobs.runtime.published import Frames

_MOST = 40
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


def sections(frames: Frames) -> Iterator[Section]:
    """All of them, the slices first."""
    yield Section("slices", "Slices", _slices(frames))
    if "versions" in frames:
        yield Section("versions", "What moved between two versions", [_versions(frames)])
    yield Section("texts", "Texts that are most likely wrong", [_texts(frames)])
    yield Section("ranking", "What ranks errors", [_precision(frames), _models(frames), _precision_grid(frames)])
    yield Section("features", "What tells errors", [_features(frames)])
    yield Section("guarantees", "What flagged texts promise", [_guarantees(frames)])
    if "rounds" in frames:
        yield Section("rounds", "Rounds of labelling", [_rounds(frames), _rounds_grid(frames)])


def _slices(frames: Frames) -> list[Block]:
    first, others = leading(frames), frames["slices"].filter(pl.col("leading").is_null())
    significant = others.filter(pl.col("p_value") < wording.SIGNIFICANCE)
    blocks: list[Block] = []
    if not first.is_empty():
        blocks.append(_dots(first))
        blocks.append(
            _grid(
                "Slices that say what all significant ones say: each as short as it can be, none a shadow of another.",
                first,
            )
        )
    else:
        blocks.append(Paragraph("No slice is wrong more often than its predictions let expect, beyond chance."))
    blocks.append(
        Details("All other significant slices", [_grid("Parts and shadows of the slices above.", significant)])
    )
    return blocks


def _grid(caption: str, rows: pl.DataFrame) -> Grid:
    return grid(
        f"{caption} Difference is what a rate exceeds that of the same predictions by.",
        rows,
        cell("slice", lambda row: in_words(row["predicates"])),
        count("size", "texts that explore"),
        percent("error_rate", "wrong"),
        number("difference"),
        p_value("p_value", "p (max-T)"),
        count("confirmed_size", "texts that confirm"),
        cell("wrong there", _confirmed, is_numeric=True),
        number("confirmed_difference", "difference there"),
        optional(p_value("confirmed_p", "p (Holm)")),
        percent("suspected_share", "suspected labels"),
        most=_MOST,
        table="slices",
    )


def _confirmed(row: Row) -> str:
    if row["confirmed_rate"] is None:
        return ""
    rate, low, high = (wording.percent(row[f"confirmed_{end}"], 1) for end in ("rate", "low", "high"))
    return f"{rate} [{low}, {high}]"


def _dots(rows: pl.DataFrame) -> Chart:
    shown = rows.head(20).with_columns(
        pl.Series("name", [in_words(names).removeprefix("texts ") for names in rows.head(20)["predicates"]]),
        rate=pl.col("confirmed_rate"),
        rate_low=pl.col("confirmed_low"),
        rate_high=pl.col("confirmed_high"),
    )
    figure = dots(
        shown,
        "rate",
        "name",
        title="error rate of texts that confirm",
        hover=lambda row: lines(row["name"], _confirmed(row)),
        label=_wrapped,
    )
    return Chart(
        "Dot plot of the error rates of slices on texts that did not choose them.",
        "Error rates on the half of the texts that did not choose the slices, with exact intervals.",
        {"": figure},
    )


def _wrapped(name: str, width: int = 44) -> str:
    """A label of several lines, as plotly breaks them."""
    broken, length = [], 0
    for word in wording.isolated(name).replace("&", "&amp;").replace("<", "&lt;").split():
        length += len(word) + 1
        broken.append(f"<br>{word}" if length > width else word)
        length = len(word) if length > width else length
    return " ".join(broken)


def _versions(frames: Frames) -> Grid:
    return grid(
        "Error rates of both versions on the same texts; the interval of a change is that of one slice, p is adjusted.",
        frames["versions"],
        cell("slice", lambda row: row["slice"] if row["slice"] == "all texts" else in_words(row["predicates"])),
        count("size", "texts"),
        percent("before"),
        percent("after"),
        estimate("change"),
        p_value("p_value", "p (max-T)"),
        most=_MOST,
        table="versions",
    )


def _texts(frames: Frames) -> Grid:
    known = measured(frames["predictions"]).join(frames["texts"].select("row", "text", "label"), on="row")
    return grid(
        "Texts of the highest probability of an error, by a forest that was trained without them.",
        known.sort("error_score", "row", descending=[True, False]).head(_MOST // 2),
        text("text"),
        text("predicted"),
        text("label"),
        number("error_score", "error", 2),
    )


def _precision(frames: Frames) -> Chart:
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


def _models(frames: Frames) -> Grid:
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


def _precision_grid(frames: Frames) -> Grid:
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


def _features(frames: Frames) -> Grid:
    return grid(
        "AUROC of a feature alone: above one half it goes with errors, below with hits. Importance is what the forest "
        "of readable features loses when the feature, and those that correlate with it, are shuffled.",
        frames["feature_power"],
        text("feature", names=wording.phrase),
        percent("share", "texts that have it"),
        estimate("auroc", "AUROC alone"),
        estimate("importance"),
        text("part", "shuffled with", wording.phrase),
        most=_MOST,
        table="feature_power",
    )


_PROMISES = {"missed": "share of errors that is missed", "unflagged": "error rate of the others"}


def _guarantees(frames: Frames) -> Grid:
    return grid(
        "The smallest flagged set for each promise, by a forest of one half of the texts and a threshold of the other. "
        "Broken is how often it is, over resplits.",
        frames["guarantees"],
        text("promise", names=_PROMISES),
        number("level", "at most", 2),
        number("delta", "but for", 2),
        number("threshold"),
        percent("flagged_share", "flagged"),
        percent("missed", "missed errors"),
        percent("unflagged_rate", "wrong among others"),
        percent("broken_share", "broken"),
    )


def _rounds(frames: Frames) -> Chart:
    return Chart(
        "Line chart of accuracy against the number of labels, by the strategy that chooses texts.",
        "Accuracy of a model of words on texts that are never labelled, over seeds.",
        {"": _curves(frames["rounds"], "num_labels", "accuracy", "strategy", _STRATEGIES, STRATEGIES, "labels")},
    )


def _rounds_grid(frames: Frames) -> Grid:
    return grid(
        "Accuracy by the number of labels, and how far it lies above that of random choices.",
        frames["rounds"],
        text("strategy", names=STRATEGIES),
        count("num_labels", "labels"),
        estimate("accuracy"),
        estimate("over_random"),
        percent("errors_found", "errors among the last"),
    )
