"""The sections of the page: tables, and charts of them."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.grids import cell, count, estimate, grid, number, optional, p_value, percent, text
from tiltmeter.jobs.report.html.elements import Block, Chart, Section
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import Figure, axis, figure, marks
from tiltmeter.jobs.report.plots.style import FIRST, NEUTRAL, SECOND, plain
from tiltmeter.jobs.runtime.published import Frames

_NUM_WORDS = 10
"""At either end of a list."""

_LOOKS = {
    ("text", "positive"): ("texts, positive", {"color": NEUTRAL, "symbol": "circle", "size": 5}),
    ("text", "negative"): ("texts, negative", {"color": NEUTRAL, "symbol": "x", "size": 5}),
    ("draw", "positive"): ("draws, positive", {"color": FIRST, "symbol": "circle", "size": 6}),
    ("draw", "negative"): ("draws, negative", {"color": SECOND, "symbol": "x", "size": 6}),
}


def sections(frames: Frames) -> Iterator[Section]:
    """One for each table that there is."""
    made = {
        "words": ("Words near either label", _words),
        "lexicon": ("Does that agree with the lexicon?", _lexicon),
        "groups": ("Groups of words", _groups),
        "cues": ("From one cue to the other", _cues),
        "projection": ("Where the draws are", _projection),
        "evidence": ("How much of each prior is positive", _evidence),
        "chains": ("Chains", _chains),
        "diagnostics": ("Diagnostics", _diagnostics),
        "classifier": ("The classifiers", _classifiers),
    }
    yield from (
        Section(name, title, list(blocks(frames[name]))) for name, (title, blocks) in made.items() if name in frames
    )


def _words(rows: pl.DataFrame) -> Iterator[Block]:
    exact = rows.filter(sampler="exact", status="ok").sort("contrast", "word", descending=[True, False])
    ends = [
        pl.concat([part.head(_NUM_WORDS), part.tail(min(_NUM_WORDS, max(0, part.height - _NUM_WORDS)))])
        for _, part in exact.group_by("prior", maintain_order=True)
    ]
    if ends:
        yield grid(
            "Words with the largest and the smallest contrast under each prior, by exact draws. d+ and d−: mean "
            "distance to the draws of p(s | +) and p(s | −), in half turns.",
            pl.concat(ends),
            "prior",
            "word",
            text("polarity", "lexicon"),
            count("count", "occurrences"),
            number("distance_positive", "d+", 4),
            number("distance_negative", "d−", 4),
            number("contrast", digits=4),
            number("contrast_se", "± Monte Carlo", 5),
            number("contrast_sd", "± classifiers", 4),
            number("log_odds", "log odds", 2),
            number("in_context", "in context", 4),
            most=80,
            table="words",
        )


def _lexicon(rows: pl.DataFrame) -> Iterator[Block]:
    means = rows.filter((pl.col("seed") == -1) & (pl.col("sampler") == "exact")).drop_nulls("pearson")
    shown = means.with_columns(
        pl.col("low").alias("pearson_low"),
        pl.col("high").alias("pearson_high"),
        pl.col("measure").str.replace_all("_", " "),
    )
    figures = {
        str(prior): dots(part, "pearson", "measure", neutral=0.0, title="correlation with being positive")
        for (prior,), part in shown.group_by("prior", maintain_order=True)
    }
    if figures:
        yield Chart(
            "Dot plot of the correlation of each measure with being positive in the lexicon, by prior.",
            "Lines: intervals over words. Log odds and the score in context need no draws.",
            figures,
            "Prior",
        )
    yield grid(
        "Means over classifiers; why chains have not converged stands with their diagnostics.",
        rows.filter(pl.col("seed") == -1).with_columns(
            doubt=pl.col("status").replace({"ok": "", "not_converged": "not converged"})
        ),
        "prior",
        "sampler",
        text("measure", names=lambda name: name.replace("_", " ")),
        number("pearson", digits=3),
        number("low"),
        number("high"),
        number("spearman"),
        number("auc", "AUC"),
        count("num_words", "words"),
        optional(text("doubt")),
        most=60,
        table="lexicon",
    )


def _groups(rows: pl.DataFrame) -> Iterator[Block]:
    contrasts = rows.filter(sampler="exact", measure="contrast")
    figures = {
        str(prior): dots(part, "difference", "comparison", neutral=0.0, title="difference of the contrast")
        for (prior,), part in contrasts.group_by("prior", maintain_order=True)
    }
    if figures:
        yield Chart(
            "Dot plot of the difference of the contrast between the groups of each comparison, by prior.",
            "Right of the line, the first group is nearer to positive. Lines: intervals over words, each for itself; "
            "sides are named by p after Holm.",
            figures,
            "Prior",
        )
    yield grid(
        "Mean of the first group less that of the second, with exact draws; p over deals of the words to the groups, "
        "and after Holm over all comparisons and priors of a measure.",
        rows.filter(sampler="exact"),
        "comparison",
        "prior",
        text("measure", names=lambda name: name.replace("_", " ")),
        "first",
        "second",
        estimate("difference", digits=4),
        p_value("p"),
        p_value("p_holm", "p (Holm)"),
        number("seed_sd", "± classifiers", 4),
        count("num_first", "words, first"),
        count("num_second", "words, second"),
        optional(text("reason")),
        most=80,
        table="groups",
    )


def _cues(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "Texts near the border get one word more, a mixture from the first cue (0) to the second (1). Effect: share of "
        "them that is positive with the first less that with the second, over texts and classifiers, in points. PSE: "
        "the mixture at which half of them are positive, where 95% of the texts of every classifier move one way and "
        "it lies within 0 to 1; f is taken for a line, which flips outside of 0 to 1 prolong. JND: the width in which "
        "half of them change.",
        rows.with_columns(pl.col("^(effect|positive_first|positive_second).*$") * 100.0),
        "first",
        "second",
        cell(
            "towards the first", lambda row: ", ".join(wording.percent(x, 0) for x in row["share_towards_first"] or ())
        ),
        number("positive_first", "positive with the first", 1, "%"),
        number("positive_second", "with the second", 1, "%"),
        estimate("effect", digits=1),
        p_value("p"),
        estimate("pse", "PSE", 2),
        number("jnd", "JND", 2),
        count("num_texts", "texts"),
        count("num_flips", "flips"),
        count("num_outside", "outside 0 to 1"),
        optional(text("reason")),
    )


def _projection(rows: pl.DataFrame) -> Iterator[Block]:
    priors = rows.filter(kind="draw")["prior"].unique(maintain_order=True).to_list()
    if priors:
        yield Chart(
            "Scatter plot of texts and of draws along the first two principal components of the texts, by prior.",
            "Axes are those of the texts: draws of a sphere have no components of their own.",
            {prior: _clouds(rows, prior) for prior in priors},
            "Prior",
        )


def _clouds(rows: pl.DataFrame, prior: str) -> Figure:
    """Texts, and the draws of both posteriors under a prior, along the first two components of the texts."""
    traces = []
    for (kind, label), (name, look) in _LOOKS.items():
        part = rows.filter(kind=kind, label=label, prior=prior if kind == "draw" else "")
        traces.append(marks(part["x"], part["y"], look, name=plain(name)))
    return figure(
        *traces,
        height=480,
        hovermode="closest",
        xaxis=axis("first component of the texts"),
        yaxis=axis("second component of the texts"),
    )


def _evidence(rows: pl.DataFrame) -> Iterator[Block]:
    keys = ["prior", "label", "method"]
    means = rows.group_by(keys, maintain_order=True).agg(
        pl.col("probability").mean(), pl.col("probability").std().alias("seed_sd"), pl.col("standard_error").max()
    )
    yield grid(
        "P(y): the mean of p(y | s) over the prior, the mean over classifiers.",
        means,
        "prior",
        "label",
        number("probability", digits=3),
        number("standard_error", "± Monte Carlo", 4),
        number("seed_sd", "± classifiers", 3),
        "method",
    )


def _chains(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "Each chain. Steps are evaluations for each draw.",
        rows,
        "sampler",
        "prior",
        "label",
        count("seed", "classifier"),
        count("chain"),
        count("num_draws", "draws"),
        number("acceptance", digits=2),
        number("steps", digits=1),
        count("num_diverged", "diverged"),
        count("num_saturated", "saturated"),
        number("bfmi", "E-BFMI", 2),
        percent("off_support", "far from texts", 0),
        optional(text("reason")),
        most=40,
        table="chains",
    )


def _diagnostics(rows: pl.DataFrame) -> Iterator[Block]:
    keys = ["seed", "prior", "label", "sampler"]
    summary = rows.group_by(keys, maintain_order=True).agg(
        pl.col("rhat").max(),
        pl.min_horizontal("ess_bulk", "ess_tail").min().alias("ess"),
        pl.col("z_exact").abs().max().alias("largest_z"),
        (pl.col("z_exact") ** 2).mean().alias("mean_z2"),
        pl.col("ks_p").filter(pl.col("quantity") == "score").first(),
        pl.col("lag_one").filter(pl.col("quantity") == "score").first(),
        pl.col("status", "reason").first(),
    )
    yield grid(
        "The worst over all quantities of each set of chains, and how it agrees with exact draws: z² is 1 on average, "
        "if it does. KS and the autocorrelation are of f(s).",
        summary,
        "sampler",
        "prior",
        "label",
        count("seed", "classifier"),
        number("rhat", "R-hat", 4),
        number("ess", "effective draws", 0),
        number("largest_z", "largest z", 2),
        number("mean_z2", "mean z²", 2),
        p_value("ks_p", "p of KS"),
        number("lag_one", "lag 1", 2),
        "status",
        optional(text("reason")),
        most=40,
        table="diagnostics",
    )


def _classifiers(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "Of texts that each has not seen; of all folds together, after calibration.",
        rows,
        count("seed", "classifier"),
        cell("fold", lambda row: "all" if row["fold"] < 0 else str(row["fold"])),
        number("auc", "AUC"),
        number("log_loss", "log loss"),
        number("calibration_error", "calibration error"),
        number("temperature", digits=2),
        count("num_texts", "texts"),
        most=40,
        table="classifier",
    )
