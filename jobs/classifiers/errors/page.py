"""The page of `error_characterisation`: what was found, in sentences, how sure that is, and the tables."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.errors import tables
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.slice_pages import (
    COLUMNS,
    LOSS_SECTIONS,
    RETESTS,
    capital,
    leading,
    leaks,
    losses_lead,
    retest_sentences,
    slice_blocks,
    slice_sentences,
    version_sentences,
)
from tiltmeter.jobs.classifiers.errors.tables import STRATEGIES
from tiltmeter.jobs.report import grids, wording
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Grid, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, INK, MALE, NEUTRAL, SECOND, Look, Row, lines
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.views import Draw, Frames, Show, section, shown
from tiltmeter.jobs.report.wording import listed, number, p_equals, percent, plural, verb
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.operators.statistics.designs.splits import ADVISED_SPLITS
from tiltmeter.storage.files.redaction import redacted

_MOST = 40
_UNLIKE = 0.01
_SCORES = {
    "published": "features of the paper",
    "readable": "readable features",
    "readable_and_class": "readable features and the predicted class",
    "readable_class_and_probabilities": "readable features, predicted class and probabilities",
    "least_confidence": "least confidence",
    "margin": "margin",
    "entropy": "entropy",
    "predicted_class": "predicted class alone",
    "in_domain_disagreement": "in-domain disagreement",
    "random": "chance",
}
_DRAWS = {False: "permutations of errors within predicted classes", True: "draws of a sign for each group of texts"}


def page(run: Run[ErrorCharacterisationRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, title = run.config, "Where the model goes wrong"
    facts = {
        "job": config.job.name,
        "from": redacted(str(config.data.path)).rsplit("/", 1)[-1],
        "predicted by": _model(config),
    }
    if config.data.loss is not None:
        texts = frames["texts"]
        facts |= {"predicted by": config.data.prediction or "", "loss": config.data.loss, "seed": str(config.seed)}
        facts["rows"] = f"{texts.filter(status='ok').height:,} of {texts.height:,}"
        shown_facts = {name: fact for name, fact in facts.items() if fact}
        return Body(
            "Where losses are large", shown_facts, losses_lead(frames, config), list(shown(LOSS_SECTIONS, frames))
        )
    predictions = frames["predictions"]
    if config.data.scored_by is not None:
        num = predictions.drop_nulls("error_score").height
        facts["scored by"] = redacted(str(config.data.scored_by)).rstrip("/").rsplit("/", 1)[-1]
        facts["texts"] = f"{num:,} of {predictions.height:,}"
        body = list(shown(_SECTIONS, frames))
        return Body("Which texts the model gets wrong", facts, _scored_lead(frames, num), body)
    if alike := predictions.filter(status="one_kind")["reason"].to_list():
        findings = [Paragraph(f"{capital(alike[0])}.")]
        return Body(title, facts, Lead([Paragraph("Where does the model go wrong, and why?")], findings), [])
    facts["texts"] = f"{measured(predictions).height:,} of {predictions.height:,}"
    facts["splits"] = f"{config.splits.number}{', balanced' if config.splits.balance else ''}"
    facts["seed"] = str(config.seed)
    return Body(title, facts, lead(frames, config), list(shown(_SECTIONS, frames)))


def _model(config: ErrorCharacterisationRun) -> str:
    if config.base.path is None:
        return f"column {config.data.prediction}"
    name = redacted(config.base.path).rsplit("/", 1)[-1]
    encoder = "words" if config.base.model == "words" else config.models.checkpoint or "small encoder"
    return f"{encoder}, trained on {name}"


# --- findings ---------------------------------------------------------------------------------------------------------


def lead(frames: Frames, config: ErrorCharacterisationRun) -> Lead:
    """What stands first on the page."""
    asked = (
        "Of which texts is the model wrong more often than what it says of them lets expect? What can be told in "
        "readable words, and what ranks its errors best?"
    )
    sentences = [
        *leaks(frames),
        *(one for name, made in _FINDINGS.items() if name in frames for one in made(frames[name])),
    ]
    return Lead([Paragraph(asked)], [Bullets(sentences)], [Bullets(list(_doubts(frames, config)))])


def _overall(predictions: pl.DataFrame) -> Iterator[str]:
    rows = measured(predictions)
    by_class = rows.group_by("predicted").agg(pl.col("is_error").mean(), pl.len()).sort("is_error", descending=True)
    parts = [f"{name} in {percent(rate, 0)}" for name, rate, _ in by_class.rows()]
    yield (
        f"The model is wrong in {percent(_share(rows, 'is_error'), 1)} of {plural(rows.height, 'text')}. By what it "
        f"says: {listed(parts)}."
    )


def _share(rows: pl.DataFrame, name: str) -> float | None:
    return None if rows.is_empty() else float(rows[name].cast(pl.Float64).to_numpy().mean())


def _of_ranking(models: pl.DataFrame) -> Iterator[str]:
    rows = models.filter(split="all", measure="auroc").sort("value", descending=True)
    parts = [f"{_SCORES[row['score']]} {number(row['value'], 2)}" for row in rows.to_dicts()]
    yield f"AUROC of what ranks errors, on texts that nothing was trained with: {listed(parts)}."


def _of_rounds(rows: pl.DataFrame) -> Iterator[str]:
    last = rows.filter(round=rows["round"].max()).filter(pl.col("strategy") != "random")
    sides = {"above": "more", "below": "less"}
    for row in last.to_dicts():
        name, side = STRATEGIES[row["strategy"]], Lean("over_random").side(row)
        if side in sides:
            points, low, high = (number(100 * row[f"over_random{end}"], 1) for end in ("", "_low", "_high"))
            yield (
                f"To label texts by {name} teaches the model {sides[side]} than chance: accuracy after "
                f"{plural(row['num_labels'], 'label')} differs by {points} [{low}, {high}] points."
            )
        else:
            yield f"To label texts by {name} teaches the model no more than chance, as far as can be told."


_FINDINGS = {
    "predictions": _overall,
    "retests": retest_sentences,
    "slices": slice_sentences,
    "versions": version_sentences,
    "error_models": _of_ranking,
    "rounds": _of_rounds,
}


def _doubts(frames: Frames, config: ErrorCharacterisationRun) -> Iterator[str]:
    slices, asked = frames["slices"], config.slices
    rows, is_grouped = leading(slices), bool((slices["num_groups"] < slices["size"]).any())
    confirmed = rows.filter(pl.col("confirmed_p") < 0.05).height
    yield (
        f"{plural(slices.height, 'slice')} of at most {asked.max_predicates} predicates were tested on one half of the "
        f"texts; that chance alone finds any has a probability of {percent(asked.alpha, 0)} (max-T over "
        f"{asked.num_permutations:,} {_DRAWS[is_grouped]})."
    )
    yield (
        f"Rates are those of the other half, which did not choose the slices: {confirmed} of "
        f"{plural(rows.height, 'slice')} {verb(confirmed, 'be')} confirmed there (Holm, 5%). Intervals, of "
        f"{percent(config.job.level, 0)}, count groups and not texts."
    )
    if config.splits.number < ADVISED_SPLITS:
        yield f"Means rest on {plural(config.splits.number, 'split')} alone; {ADVISED_SPLITS} are advised."
    judged = measured(frames["predictions"]).filter("is_error").drop_nulls("is_label_suspected")
    if judged.height:
        share = percent(_share(judged, "is_label_suspected"), 0)
        yield f"Of {share} of the errors, a model of words that has not seen the text suspects the label."
    for row in frames["guarantees"].filter(promise="missed", flags="some").head(1).to_dicts():
        any_of = f" that all {row['num_joint']} promises hold" if row["num_joint"] > 1 else ""
        yield (
            f"Flagging {percent(row['flagged_share'], 0)} of the texts holds {percent(1 - row['level'], 0)} of the "
            f"errors with a probability of {percent(1 - row['delta'], 0)}{any_of}, of texts like these."
        )


def _scored_lead(frames: Frames, num: int) -> Lead:
    """What stands first on the page of texts that an earlier run's forest scores."""
    asked = "Which of these texts does the model get wrong, by the forest and the thresholds of an earlier run?"
    sentences = [f"{plural(num, 'text')} {verb(num, 'have')} a score, a rank and reasons."]
    for row in frames["checks"].filter(promise="missed").to_dicts():
        share = percent(row["flagged_share"], 0)
        sentences.append(f"To miss at most {percent(row['level'], 0)} of the errors, {share} of them are flagged.")
    if "retests" in frames:
        sentences += retest_sentences(frames["retests"])
    return Lead([Paragraph(asked)], [Bullets(sentences)], [Bullets([_like_before(frames["checks"])])])


def _like_before(checks: pl.DataFrame) -> str:
    known = checks.drop_nulls("exchangeable_p")
    if known.is_empty():
        return "Promises are for texts like those that chose the thresholds; no label tells whether these are."
    least, judged = float(known["exchangeable_p"].to_numpy().min()), "may be like them"
    if least * known.height <= _UNLIKE:
        judged = "are not like those that chose the thresholds, and the promises are not for them"
    return f"By their labels, these texts {judged} ({p_equals(least)}, the least of {plural(known.height, 'promise')})."


# --- losses -----------------------------------------------------------------------------------------------------------


# --- slices -----------------------------------------------------------------------------------------------------------


# --- what ranks errors ------------------------------------------------------------------------------------------------

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


def _precision_chart(precision: pl.DataFrame) -> Iterator[Chart]:
    rows = precision.filter(pl.col("score").is_in(list(_LOOKS)), split="all")
    rows = rows.select("score", "k", "precision", precision_low="low", precision_high="high")
    yield Chart(
        "Line chart of the share of errors among the first K texts, by what ranks them.",
        "Precision at K with its interval, on texts that nothing was trained with: each way must beat the predicted "
        "class alone, and whoever has labels of these texts can train a model on them, which ranks errors, too.",
        {"": _curves(rows, "k", "precision", "score", _LOOKS, _SCORES, "K")},
    )


def _rounds_chart(rounds: pl.DataFrame) -> Iterator[Chart]:
    yield Chart(
        "Line chart of accuracy against the number of labels, by the strategy that chooses texts.",
        "Accuracy of a model of words on texts that are never labelled, over seeds.",
        {"": _curves(rounds, "num_labels", "accuracy", "strategy", _STRATEGIES, STRATEGIES, "labels")},
    )


def _curves(
    rows: pl.DataFrame, x: str, y: str, by: str, looks: dict[str, Look], names: dict[str, str], title: str
) -> Figure:
    def hover(row: Row) -> str:
        value, low, high = (percent(row[f"{y}{end}"], 0) for end in ("", "_low", "_high"))
        return lines(names[row[by]], f"{title}: {row[x]:,}", f"{wording.phrase(y)}: {value} [{low}, {high}]")

    figure = curves(
        rows, x, y, by=by, looks=looks, titles=(title, wording.phrase(y)), hover=hover, label=names.__getitem__
    )
    return figure.with_layout(xaxis={"dtick": None}, yaxis={"tickformat": ".0%"})


def _models(models: pl.DataFrame) -> Iterator[Grid]:
    means = models.filter(split="all")
    wide = means.pivot("measure", index="score", values="value", maintain_order=True)
    intervals = means.filter(measure="auroc").select("score", auroc_low="low", auroc_high="high")
    yield grids.grid(
        "AUROC: probability that an error is ranked before a text that is none. AURC: mean error rate of what is kept, "
        "over all coverages; lower is better.",
        wide.join(intervals, on="score").sort("auroc", descending=True),
        grids.text("score", "ranked by", _SCORES),
        grids.estimate("auroc", "AUROC"),
        grids.number("aurc", "AURC"),
        grids.number("error_rate"),
    )


def _precision(precision: pl.DataFrame) -> Iterator[Grid]:
    rows = precision.filter(split="all")
    by_score: dict[str, dict[int, Row]] = {}
    for row in rows.to_dicts():
        by_score.setdefault(row["score"], {})[row["k"]] = row
    yield grids.grid(
        "Precision at K, with what holds a single split.",
        [{"score": score, "rows": values} for score, values in by_score.items()],
        grids.text("score", "ranked by", _SCORES),
        *(
            grids.cell(f"P@{size}", partial(_band_at, size), is_numeric=True)
            for size in rows["k"].unique().sort().to_list()
        ),
    )


def _band_at(size: int, record: Row) -> str:
    if (row := record["rows"].get(size)) is None:
        return ""
    precision, low, high = (number(row[f"precision{end}"], 2) for end in ("", "_band_low", "_band_high"))
    return precision if row["precision_band_low"] is None else f"{precision} [{low}, {high}]"


# --- sections ---------------------------------------------------------------------------------------------------------


class _LikelyErrors:
    """The texts that are most likely wrong."""

    def blocks(self, frames: Frames) -> list[Block]:
        """Of the first, what they say."""
        texts = frames["texts"].select("row", "id", "text", "label")
        known = frames["predictions"].drop_nulls("error_score").join(texts, on="row")
        caption = (
            "Texts of the highest probability of an error, labelled or not, by a forest that was trained without them, "
            "and what moves it most from the mean. The table predictions has all of them."
        )
        id_, text, label = map(grids.text, ("id", "text", "label"))
        columns = ("rank", id_, text, "predicted", label, "error_score=error", "reasons")
        return [Show(tables.Predictions, caption, columns).grid(known.sort("rank").head(_MOST // 2))]


_SECTIONS = [
    section("slices", "Slices", Draw(tables.Slices, slice_blocks)),
    RETESTS,
    COLUMNS,
    section(
        "versions",
        "What moved between two versions",
        Show(
            tables.Versions,
            "Error rates of both versions on the same texts; the interval of a change is that of one slice, p is "
            "adjusted. Slices are of what both versions share.",
            "predicates=slice size before after change p_value=p_(max-T)",
            most=_MOST,
        ),
    ),
    section("texts", "Texts that are most likely wrong", _LikelyErrors()),
    section(
        "ranking",
        "What ranks errors",
        Draw(tables.PrecisionAtK, _precision_chart),
        Draw(tables.ErrorModels, _models),
        Draw(tables.PrecisionAtK, _precision),
    ),
    section(
        "features",
        "What tells errors",
        Show(
            tables.FeaturePower,
            "AUROC of a feature alone: above one half it goes with errors, below with hits. Importance is what the "
            "forest of readable features loses when the feature, and those that correlate with it, are shuffled.",
            "feature share auroc=AUROC_alone importance part=shuffled_with",
            most=_MOST,
        ),
    ),
    section(
        "guarantees",
        "What flagged texts promise",
        Show(
            tables.Guarantees,
            "The smallest flagged set for each promise, by a forest of one half of the texts and a threshold of the "
            "other. One text of each group counts. data.scored_by names this run to flag other texts.",
            "promise level=at_most delta=but_for num_joint achieved_delta=exactly flags threshold "
            "flagged_share=flagged missed=missed_errors unflagged_rate=wrong_among_others "
            "unflagged_most=at_most,_by_others reason",
        ),
    ),
    section(
        "checks",
        "What the earlier run promised",
        Show(
            tables.Checks,
            "Each promise on these texts. p is the chance to miss as many errors where texts are of the kind that "
            "chose the threshold; below 0.01 the promise is not for these.",
            "promise level=at_most flags threshold flagged_share=flagged num_errors=errors,_one_of_a_group "
            "missed=missed_errors unflagged_rate=wrong_among_others exchangeable_p=p reason",
        ),
    ),
    section(
        "rounds",
        "Rounds of labelling",
        Draw(tables.Rounds, _rounds_chart),
        Show(
            tables.Rounds,
            "Accuracy by the number of labels, and how far it lies above that of random choices.",
            "strategy num_labels accuracy over_random errors_found=errors_among_the_last",
        ),
    ),
]
