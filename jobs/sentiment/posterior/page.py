"""The page of `sentiment_posterior`: what stands out, in sentences, and the tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.grids import cell, number, optional
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import Figure, axis, figure, marks
from tiltmeter.jobs.report.plots.style import FIRST, NEUTRAL, SECOND, plain
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.views import Draw, Frames, Show, section, shown
from tiltmeter.jobs.report.wording import estimate, listed, p_equals, p_value, percent, plural, some, verb
from tiltmeter.jobs.report.wording import number as written
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.sentiment.posterior import tables
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.operators.sentiment.posterior.groups import least_p
from tiltmeter.storage.files.redaction import redacted

ALPHA = 0.05
LEAN = Lean("difference", has_direction=lambda row: row["p_holm"] is not None and row["p_holm"] <= ALPHA)
"""A side is named by the p-value after Holm, and the interval has to lie there."""

_QUESTION = (
    "Given that a text is called positive, what does the classifier take it for? Inputs are drawn from the posterior "
    "p(s | y) = p(y | s) p0(s) / P(y) of vectors s, for either label, and words are held against the draws: which are "
    "near, does that agree with a lexicon, and are words of women and of men at different distances?"
)
_CONTRAST, _WITHOUT_DRAWS = "contrast", "log_odds"
_NUM_WORDS, _NUM_ROWS = 5, 10
"""At either end of a list, in a sentence and in a table."""

_SIDES = {"above": "first", "below": "second"}
_LOOKS = {
    ("text", "positive"): ("texts, positive", {"color": NEUTRAL, "symbol": "circle", "size": 5}),
    ("text", "negative"): ("texts, negative", {"color": NEUTRAL, "symbol": "x", "size": 5}),
    ("draw", "positive"): ("draws, positive", {"color": FIRST, "symbol": "circle", "size": 6}),
    ("draw", "negative"): ("draws, negative", {"color": SECOND, "symbol": "x", "size": 6}),
}
_SET = ["seed", "prior", "label", "sampler"]
"""Of chains, keys."""


def page(run: Run[SentimentPosteriorRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config = run.config
    texts = "made-up reviews" if config.data.path is None else redacted(config.data.path).rsplit("/", 1)[-1]
    facts = {"job": config.job.name, "from": texts, "priors": ", ".join(config.priors), "seed": str(config.seed)}
    sentences, unsure = list(findings(frames)), list(doubts(frames, made_up=config.data.path is None))
    return Body(
        "Which inputs a sentiment classifier expects",
        facts,
        Lead([Paragraph(_QUESTION)], [Bullets(sentences)] if sentences else [], [Bullets(unsure)]),
        list(shown(_SECTIONS, frames)),
    )


# --- findings -------------------------------------------------------------------------------------------------------


def findings(frames: Frames) -> Iterator[str]:
    """Of each table what it says in a sentence or two."""
    made = {"classifier": _classifiers, "lexicon": _lexicon, "words": _nearest, "groups": _groups}
    for name, sentences in made.items():
        if name in frames:
            yield from sentences(frames[name])


def _classifiers(rows: pl.DataFrame) -> Iterator[str]:
    whole = rows.filter(pl.col("fold") == -1).drop_nulls("auc")
    if whole.height:
        yield (
            f"Of texts that they have not seen, {plural(whole.height, 'classifier')} {verb(whole.height, 'tell')} "
            f"positive from negative with an AUC of {written(whole.select(pl.mean('auc')).item(), 3)}."
        )


def _lexicon(rows: pl.DataFrame) -> Iterator[str]:
    """Distances to one posterior beside contrasts and what needs no draws: the mean over classifiers, exact draws."""
    for (prior,), part in _exact_means(rows).group_by("prior", maintain_order=True):
        pearson = dict(part.select("measure", "pearson").iter_rows())
        if _WITHOUT_DRAWS in pearson and _CONTRAST in pearson:
            positive, contrast, score = (
                written(pearson[name], 2) for name in ("distance_positive", _CONTRAST, _WITHOUT_DRAWS)
            )
            yield (
                f"Under the prior {prior!r}, distance to p(s | +) correlates with being positive in the lexicon by "
                f"{positive}, the contrast of both posteriors by {contrast}, and the classifier's own score of the "
                f"word, which needs no draws, by {score}."
            )


def _exact_means(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(sampler="exact", seed=tables.MEAN).drop_nulls("pearson")


def _by_contrast(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Words by exact draws, by prior, those that are nearest to positive first."""
    exact = rows.filter(sampler="exact", status="ok").sort("contrast", "word", descending=[True, False])
    return ((str(prior), part) for (prior,), part in exact.group_by("prior", maintain_order=True))


def _nearest(rows: pl.DataFrame) -> Iterator[str]:
    for prior, part in _by_contrast(rows):
        words = part["word"].to_list()
        near, far = (listed(end) for end in (words[:_NUM_WORDS], words[: -_NUM_WORDS - 1 : -1]))
        yield f"Under {prior!r}, nearest to positive rather than negative: {near}; to negative: {far}."


def _groups(rows: pl.DataFrame) -> Iterator[str]:
    """A sentence for each comparison, over all priors."""
    judged = rows.filter(sampler="exact", measure=_CONTRAST, status="ok").drop_nulls("p_holm")
    for (comparison,), part in judged.group_by("comparison", maintain_order=True):
        verdicts = [_verdict(row) for row in part.to_dicts() if LEAN.side(row) in _SIDES]
        yield f"{comparison}, with words as units: {'; '.join(verdicts) or _neither(part)}."


def _neither(part: pl.DataFrame) -> str:
    row = part.sort("p_holm", "p").row(0, named=True)
    least = min(1.0, row["num_tests"] * least_p(row["num_first"], row["num_second"]))
    tests = plural(row["num_tests"], "test")
    if least > ALPHA:
        words = f"{row['num_first']} and {row['num_second']} words"
        return f"{words} could not have shown a side: after Holm over {tests} no p could be below {p_value(least)}"
    return (
        "neither side is surely nearer to positive under any prior, smallest "
        f"{p_equals(row['p_holm'])} after Holm over {tests}, where {p_value(least)} was possible"
    )


def _verdict(row: Mapping[str, Any]) -> str:
    difference = f"contrast of {row['first']} less {row['second']} {estimate(row, 'difference', 4)}"
    side = row[_SIDES[LEAN.side(row)]]
    corrected = f"{p_equals(row['p_holm'])} after Holm over {plural(row['num_tests'], 'test')}"
    return f"under {row['prior']!r}, {side} words are nearer to positive ({difference}, {corrected})"


# --- doubts ---------------------------------------------------------------------------------------------------------


def doubts(frames: Frames, *, made_up: bool) -> Iterator[str]:
    """What a reader has to know of how far the findings hold."""
    if made_up:
        yield "The reviews are made up, of words whose log odds are known; nothing here is about language."
    yield (
        "Groups are tested with words as units, forms of one lemma as one, corrected for all comparisons and priors. "
        "Draws are no sample of names: with ten thousand of them every difference is significant, whatever it means."
    )
    if "words" in frames:
        yield from _left_out(frames["words"])
    if "chains" in frames:
        yield from _support(frames["chains"])
        yield from _missing(frames["chains"])
    if "diagnostics" in frames:
        yield _convergence(frames["diagnostics"])


def _left_out(rows: pl.DataFrame) -> Iterator[str]:
    """Words of the lexicon that nothing is concluded of; each prior and sampler has the same ones."""
    words = rows.unique("word").filter((pl.col("status") == "both_sides") | pl.col("polarity").is_not_null())
    both, unknown = (words.filter(status=status).height for status in ("both_sides", "no_vector"))
    if both or unknown:
        yield (
            f"Of {plural(words.height, 'word')} of the lexicon, {both} on both of its sides and {unknown} without a "
            "vector are left out."
        )


def _support(rows: pl.DataFrame) -> Iterator[str]:
    shares = rows.filter(sampler="exact").drop_nulls("off_support").group_by("prior", maintain_order=True)
    for prior, share in shares.agg(pl.col("off_support").mean()).iter_rows():
        if share > 0.5:
            yield (
                f"{percent(share, 0)} of the draws under {prior!r} are farther from the texts than 99.9% of these are: "
                "the posterior is of inputs that the classifier was never shown."
            )


def _missing(rows: pl.DataFrame) -> Iterator[str]:
    if reasons := rows.filter(pl.col("status") != "ok")["reason"].unique(maintain_order=True).to_list():
        yield f"Not drawn: {some(reasons)}."


def _convergence(rows: pl.DataFrame) -> str:
    chains = rows.filter(pl.col("sampler") != "exact")
    sets = chains.unique(_SET, maintain_order=True)
    wrong = sets.filter(pl.col("status") != "ok")
    if sets.is_empty():
        return "All draws are independent; there are no chains that would have to converge."
    if wrong.is_empty():
        return f"All {plural(sets.height, 'set')} of chains passed the diagnostics{_agreement(chains)}."
    names = [f"{row['sampler']}, {row['prior']}, {row['label']} ({row['reason']})" for row in wrong.to_dicts()]
    verdict = f"{verb(wrong.height, 'have')} not converged"
    return f"{wrong.height} of {plural(sets.height, 'set')} of chains {verdict}: {some(names)}."


def _agreement(chains: pl.DataFrame) -> str:
    differences = chains["z_exact"].drop_nulls().abs()
    if differences.is_empty():
        return ", and there are no exact draws beside them"
    return (
        f", and no mean of {differences.len():,} differs from that of exact draws by more than "
        f"{written(differences.to_frame().max().item(), 1)} standard errors"
    )


# --- sections -------------------------------------------------------------------------------------------------------


def _words_grid(rows: pl.DataFrame) -> Iterator[Block]:
    ends = [
        pl.concat([part.head(_NUM_ROWS), part.tail(min(_NUM_ROWS, max(0, part.height - _NUM_ROWS)))])
        for _, part in _by_contrast(rows)
    ]
    if ends:
        yield _WORDS.grid(pl.concat(ends))


def _by_prior(rows: pl.DataFrame, value: str, label: str, title: str, alt: str, caption: str) -> Iterator[Block]:
    """A dot plot for each prior."""
    figures = {
        str(prior): dots(part, value, label, neutral=0.0, title=title)
        for (prior,), part in rows.group_by("prior", maintain_order=True)
    }
    if figures:
        yield Chart(alt, caption, figures, "Prior")


def _correlations(rows: pl.DataFrame) -> Iterator[Block]:
    ends = {"pearson_low": pl.col("low"), "pearson_high": pl.col("high")}
    return _by_prior(
        _exact_means(rows).with_columns(pl.col("measure").str.replace_all("_", " "), **ends),
        "pearson",
        "measure",
        "correlation with being positive",
        "Dot plot of the correlation of each measure with being positive in the lexicon, by prior.",
        "Lines: intervals over words. Log odds and the score in context need no draws.",
    )


def _differences(rows: pl.DataFrame) -> Iterator[Block]:
    return _by_prior(
        rows.filter(sampler="exact", measure="contrast"),
        "difference",
        "comparison",
        "difference of the contrast",
        "Dot plot of the difference of the contrast between the groups of each comparison, by prior.",
        "Right of the line, the first group is nearer to positive. Lines: intervals over words, each for itself; "
        "sides are named by p after Holm.",
    )


def _picture(rows: pl.DataFrame) -> Iterator[Block]:
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
    axes = {"xaxis": axis("first component of the texts"), "yaxis": axis("second component of the texts")}
    return figure(*traces, height=480, hovermode="closest", **axes)


def _lexicon_means(rows: pl.DataFrame) -> pl.DataFrame:
    doubt = pl.col("status").replace({"ok": "", "not_converged": "not converged"})
    return rows.filter(pl.col("seed") == tables.MEAN).with_columns(doubt=doubt)


def _evidence_means(rows: pl.DataFrame) -> pl.DataFrame:
    by_label = rows.group_by("prior", "label", "method", maintain_order=True)
    share = pl.col("probability")
    return by_label.agg(share.mean(), share.std().alias("seed_sd"), pl.col("standard_error").max())


def _worst(rows: pl.DataFrame) -> pl.DataFrame:
    """Of each set of chains."""
    return rows.group_by(_SET, maintain_order=True).agg(
        pl.col("rhat").max(),
        pl.min_horizontal("ess_bulk", "ess_tail").min().alias("ess"),
        pl.col("z_exact").abs().max().alias("largest_z"),
        (pl.col("z_exact") ** 2).mean().alias("mean_z2"),
        pl.col("ks_p", "lag_one").filter(pl.col("quantity") == "score").first(),
        pl.col("status", "reason").first(),
    )


def _shares(row: Mapping[str, Any]) -> str:
    return ", ".join(percent(share, 0) for share in row["share_towards_first"] or ())


def _fold(row: Mapping[str, Any]) -> str:
    return "all" if row["fold"] < 0 else str(row["fold"])


_WORDS = Show(
    tables.Words,
    "Words with the largest and the smallest contrast under each prior, by exact draws. d+ and d−: mean distance to "
    "the draws of p(s | +) and p(s | −), in half turns.",
    "prior word polarity count distance_positive=d+ distance_negative=d− contrast contrast_se contrast_sd log_odds "
    "in_context",
    most=80,
)
_LEXICON = Show(
    tables.Lexicon,
    "Means over classifiers; why chains have not converged stands with their diagnostics.",
    [
        "prior sampler measure",
        *(number("pearson"), number("low"), number("high")),
        "spearman auc num_words",
        optional("doubt"),
    ],
    _lexicon_means,
    most=60,
)
_GROUPS = Show(
    tables.Groups,
    "Mean of the first group less that of the second, with exact draws; p over deals of the words to the groups, and "
    "after Holm over all comparisons and priors of a measure.",
    "comparison prior measure first second difference p p_holm=p_(Holm) seed_sd num_first=words,_first "
    "num_second=words,_second reason?",
    lambda rows: rows.filter(sampler="exact"),
    most=80,
)
_CUES = Show(
    tables.CueEffects,
    "Texts near the border get one word more, a mixture from the first cue (0) to the second (1). Effect: share of "
    "them that is positive with the first less that with the second, over texts and classifiers, in points. PSE: the "
    "mixture at which half of them are positive, where 95% of the texts of every classifier move one way and it lies "
    "within 0 to 1; f is taken for a line, which flips outside of 0 to 1 prolong. JND: the width in which half of them "
    "change.",
    [
        "first second",
        cell("towards the first", _shares),
        "positive_first=positive_with_the_first positive_second=with_the_second effect p pse jnd num_texts num_flips",
        "num_outside=outside_0_to_1 reason?",
    ],
    lambda rows: rows.with_columns(pl.col("^effect.*$") * 100.0),
)
_EVIDENCE = Show(
    tables.Evidence,
    "P(y): the mean of p(y | s) over the prior, the mean over classifiers.",
    ["prior label probability standard_error=±_Monte_Carlo", number("seed_sd", "± classifiers"), "method"],
    _evidence_means,
)
_CHAINS = Show(
    tables.Chains,
    "Each chain. Steps are evaluations for each draw.",
    "sampler prior label seed chain num_draws acceptance steps num_diverged num_saturated bfmi off_support reason?",
    most=40,
)
_DIAGNOSTICS = Show(
    tables.Diagnosed,
    "The worst over all quantities of each set of chains, and how it agrees with exact draws: z² is 1 on average, if "
    "it does. KS and the autocorrelation are of f(s).",
    [
        "sampler prior label seed rhat",
        *(number("ess", "effective draws", 0), number("largest_z", digits=2), number("mean_z2", "mean z²", 2)),
        "ks_p=p_of_KS lag_one status reason?",
    ],
    _worst,
    most=40,
)
_CLASSIFIERS = Show(
    tables.ClassifierQuality,
    "Of texts that each has not seen; of all folds together, after calibration.",
    ["seed", cell("fold", _fold), "auc log_loss calibration_error temperature num_texts"],
    most=40,
)
_SECTIONS = [
    section("words", "Words near either label", Draw(tables.Words, _words_grid)),
    section("lexicon", "Does that agree with the lexicon?", Draw(tables.Lexicon, _correlations), _LEXICON),
    section("groups", "Groups of words", Draw(tables.Groups, _differences), _GROUPS),
    section("cues", "From one cue to the other", _CUES),
    section("projection", "Where the draws are", Draw(tables.Projection, _picture)),
    section("evidence", "How much of each prior is positive", _EVIDENCE),
    section("chains", "Chains", _CHAINS),
    section("diagnostics", "Diagnostics", _DIAGNOSTICS),
    section("classifier", "The classifiers", _CLASSIFIERS),
]
