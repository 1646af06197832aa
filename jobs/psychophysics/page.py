"""The page of `psychophysics`: curves, PSE and JND, and how they go with the labour market and with other measures."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from tiltmeter.jobs.association.page import CORRELATIONS
from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.embedding.sections import Compared
from tiltmeter.jobs.psychophysics.figures import (
    POOLED,
    PSE,
    occupation_dots,
    pooled_dots,
    pse_and_effects,
    pse_and_women,
    psychometric_curves,
)
from tiltmeter.jobs.report.findings import (
    by_model,
    folded,
    furthest,
    in_model,
    joined,
    labelled,
    measured,
    of_model,
    paragraphs,
    sentences,
    split,
    why_nothing,
)
from tiltmeter.jobs.report.grids import Column, Row, cell, count, grid, number, text
from tiltmeter.jobs.report.grids import estimate as estimate_column
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.report.sides import OPEN_ORDER, Lean, contradictory, estimate_of, on_sides
from tiltmeter.jobs.report.wording import estimate, isolated, listed, p_equals, plural, quoted, significant
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.sides import CONTRADICTORY, compared

_NUM_ENDS = 3
_POOLED = "all gender cue pairs"
_MIN_OCCUPATIONS = 5
"""Fewer make no chart."""

_CAPTIONS = {
    ("pse", "share_men"): (
        "PSE against the share p of men in the occupation. Negative: as in the labour market. p-values are two-sided."
    ),
    ("jnd", "dispersion"): "JND against the dispersion √(p(1 − p)) of the share of men; p-values are two-sided.",
}
_PSE = (
    "PSE, the point of subjective equality of an occupation: how much of the second cue, such as “man”, a mixture with "
    "the first, such as “woman”, must have until the occupation leans to neither. Above 0.5 it leans to the first one."
)
_OTHER_INTERVALS = (
    " A PSE is the mean of the replicas' flips; how well so many replicas fix that mean is its Monte Carlo interval, "
    "which shrinks with their number, whatever the corpus, and names no side. A pooled PSE has an interval for other "
    "cue words too. A JND is itself how far replicas spread: its interval says how far other replicas of this corpus "
    "would move it, and not how it differs between corpora."
)


# --- findings ---------------------------------------------------------------------------------------------------------


def by_cue_pair(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Measured rows by the label of their cue pair, in the order of the table."""
    return split(measured(rows), "cue_1", "cue_2", label=cue_pair)


def cue_pair(cue_1: str, cue_2: str) -> str:
    """How a pair is named.

    >>> cue_pair("she", "he")
    'she – he'
    """
    return isolated(f"{cue_1} – {cue_2}")


def occupation_findings(rows: pl.DataFrame) -> list[str]:
    """How much of a model's ``psychometrics`` could be measured, and how it leans."""
    results = measured(rows)
    if results.is_empty():
        return [why_nothing(rows, "occupation")]
    words = f"{_num_of(results, rows, 'occupation', 'word')} could be measured"
    num, outside = int(results["num_replicas"].sum()), int(results["num_outside"].sum())
    mixtures = (
        f"Of the {num:,} flips, {outside:,} lie outside of [0, 1], where no mixture of the two cues outweighs the "
        "occupation: they count in PSE and JND with the mixture that would."
    )
    gender, others = rows.filter(pl.col("is_gender")), by_cue_pair(rows.filter(~pl.col("is_gender")))
    return [
        *([f"{words}, {_with_gender_pairs(gender)}"] if gender.height else [f"{words}."]),
        *(_with_pair(label, part) for label, part in others.items()),
        *([mixtures] if outside else []),
    ]


def _with_gender_pairs(rows: pl.DataFrame) -> str:
    results = measured(rows)
    above, below, neither, doubtful, _ = on_sides(results, PSE)
    return (
        f"with {_num_of(results, rows, 'gender cue pair', 'cue_1', 'cue_2')}. In {above.height} of these "
        f"{plural(results.height, 'combination')} the interval of the PSE lies above 0.5, on the female "
        f"side{_named(above)}, and in {below.height} below, on the male side{_named(below)}; in {neither.height} it "
        f"includes 0.5 and names no side{contradictory('in', doubtful.height)}."
    )


def _named(rows: pl.DataFrame) -> str:
    return furthest(rows, "pse", lambda row: quoted(row["word"]), 0.5)


def _with_pair(label: str, results: pl.DataFrame) -> str:
    above, below, _, doubtful, _ = on_sides(results, PSE)
    cue_1, cue_2 = results.select("cue_1", "cue_2").row(0)
    return (
        f"With the cue pair {label}, the interval of the PSE lies on the side of {quoted(cue_1)} for {above.height} of "
        f"{plural(results.height, 'occupation')}{_named(above)} and on that of {quoted(cue_2)} for {below.height}"
        f"{_named(below)}{contradictory('for', doubtful.height)}."
    )


def _num_of(part: pl.DataFrame, whole: pl.DataFrame, noun: str, *columns: str) -> str:
    return f"{part.select(columns).n_unique()} of {plural(whole.select(columns).n_unique(), noun)}"


def pooled_findings(rows: pl.DataFrame) -> list[str]:
    """Which occupations lie at the ends of a model's ``pooled_psychometrics``; nothing where none is measured."""
    results = measured(rows).sort("pse", "word")
    if results.is_empty():
        return []
    words = [f"{quoted(row['word'])} (PSE {estimate(row, 'pse')})" for row in results.to_dicts()]
    if results.height == 1:
        return [f"Pooled over the gender cue pairs, it is {words[0]}."]
    above, below, _, doubtful, _ = on_sides(results, POOLED)
    text = (
        f"Pooled over the gender cue pairs, PSE is highest for {words[-1]} and lowest for {words[0]}. With its whole "
        f"interval, for this corpus drawn again and for other cue words, it lies above 0.5 for "
        f"{above.height} of {plural(results.height, 'occupation')}{_named(above)} and below for {below.height}"
        f"{_named(below)}{contradictory('for', doubtful.height)}."
    )
    return [text]


def validation_findings(rows: pl.DataFrame) -> list[str]:
    """How a model's pooled PSE goes with the share of men; nothing where that was not measured."""
    row = over_all_pairs(rows, "pse", "share_men")
    if row is None:
        return []
    sign = "positive, where vectors that follow the labour market would make it negative"
    if row["pearson"] < 0:
        sign = "negative, as where the vectors follow the labour market"
    text = (
        f"Over {plural(row['num_occupations'], 'occupation')}, pooled PSE and the share of men have Pearson r = "
        f"{estimate(row, 'pearson', 2)} ({p_equals(row['pearson_p'])}): {why_unsure(row, 'pearson') or sign}."
    )
    return [text]


def over_all_pairs(rows: pl.DataFrame, measure: str, against: str) -> Row | None:
    """The row of a model's ``validation`` over all gender cue pairs, if it has a result."""
    results = measured(rows).filter(pl.col("cue_1").is_null(), measure=measure, against=against)
    return next(results.iter_rows(named=True), None)


def why_unsure(row: Row, name: str) -> str:
    """Why a correlation has no sure direction; empty if it has one.

    >>> why_unsure({"r": 0.4, "r_p": 0.01, "r_low": -0.6, "r_high": -0.2}, "r")
    'it lies outside of its interval'
    """
    if not significant(row[f"{name}_p"]):
        return "chance explains as much"
    side = Lean(name).side(row)
    if side in CONTRADICTORY:
        return "it lies outside of its interval"
    return "its interval includes 0" if side == "neither" else ""


def findings(frames: Frames) -> list[Block]:
    """What stands out, in sentences; of several models, what all cue pairs say of each, and the rest folded."""
    models = by_model(frames["psychometrics"], frames) or {"": frames["psychometrics"]}
    pooled = {label: _over_all_pairs(part, frames) for label, part in models.items()}
    single = {label: occupation_findings(part) for label, part in models.items()}
    if len(models) == 1:
        return [Bullets(sentences(pooled) + sentences(single))]
    short = {label: [" ".join(pooled[label] or single[label])] for label in models}
    rest = {label: [Bullets(texts)] if models[label].height else [] for label, texts in single.items()}
    return [Bullets(sentences(short)), *folded(rest, "cue pair by cue pair")]


def _over_all_pairs(rows: pl.DataFrame, frames: Frames) -> list[str]:
    tables = {"pooled_psychometrics": pooled_findings, "validation": validation_findings}
    return [text for name, say in tables.items() if name in frames for text in say(of_model(frames[name], rows))]


# --- sections ---------------------------------------------------------------------------------------------------------


def sections(frames: Frames) -> list[Section]:
    """What was measured, one section per question; where nothing was measured, it says why."""
    rows, title = frames["psychometrics"], "PSE and JND of the occupations"
    parts = joined({label: by_cue_pair(part) for label, part in by_model(rows, frames).items()})
    if not parts:
        return [Section("occupations", title, [Paragraph(why_nothing(rows, "occupation"))])]
    return [
        *_curves(frames, parts),
        Section("occupations", title, _occupations(parts)),
        *_pooled(frames),
        *_validation(frames),
        *_comparison(frames),
    ]


def _curves(frames: Frames, parts: Mapping[str, pl.DataFrame]) -> list[Section]:
    if "psychometric_points" not in frames:
        return []
    points, key = frames["psychometric_points"], ["model", "language", "word", "cue_1", "cue_2"]
    chart = Chart(
        "Line chart: the share of replicas that answer the second cue rises with the weight of that cue; one stepped "
        "line and one fitted curve per occupation.",
        "Thin steps: the replicas. Smooth lines: cumulative normal fitted to them. Filled dot: PSE of the fit, where "
        "half of the replicas answer the second cue. Open dots: 25% and 75%, whose distance is the JND. The more an "
        "occupation leans to the first cue, the further to the right its curve; colours follow that order and name no "
        "side. Shown at first are the two ends and a few occupations between them; a click in the legend shows or "
        "hides one.",
        {label: psychometric_curves(part, points.join(part, on=key, how="semi")) for label, part in parts.items()},
        "Cue pair",
    )
    text = (
        "Each replica is asked which of two cues, such as “woman” and “man”, fits an occupation better, while a "
        "mixture α leads from the first cue (0) to the second (1); of a gender pair, the first is the female one. An "
        "occupation that leans to neither side is answered half and half at α = 0.5 (Liang and Acuna 2020, figure 2)."
    )
    return [Section("curves", "Psychometric curves", [Paragraph(text), chart])]


def _occupations(parts: Mapping[str, pl.DataFrame]) -> list[Block]:
    chart = Chart(
        "Dot plot: point of subjective equality and just noticeable difference of every measured occupation.",
        "PSE above 0.5 (dotted line): more of the second cue is needed for balance, so the occupation leans to the "
        "first one: to the female side, with a gender pair. Thin lines: its interval for this corpus drawn again; a "
        "colour names a side where it excludes 0.5 and nothing contradicts it. Thick lines: how well so many replicas "
        "fix their mean, and their JND. JND: small where the replicas agree.",
        {label: occupation_dots(part) for label, part in parts.items()},
        "Cue pair",
    )
    text = (
        "The point of subjective equality (PSE) is the mixture at which the replicas flip on average (Liang and Acuna "
        "2020, figure 3). The just noticeable difference (JND) is 1.349 standard deviations of their flips, the window "
        "of equation 6 for a normal curve; the caption of figure 2 takes one standard deviation."
    )
    return [Paragraph(text), chart]


def _pooled(frames: Frames) -> list[Section]:
    if "pooled_psychometrics" not in frames:
        return []
    rows = frames["pooled_psychometrics"]
    every = by_model(measured(rows), frames)
    models = {label: part for label, part in every.items() if part.height}
    title = "PSE over all gender cue pairs"
    if not models:
        return [Section("pooled", title, [Paragraph(why_nothing(rows, "occupation with gender cue pairs"))])]
    text = (
        "A lean that shows with one cue pair need not show with another. Here the flips of all gender cue pairs and "
        "replicas are taken together, with an effect of the pair and an effect of the replica, both random. The mean "
        "is the pooled PSE; its interval says how far it would move with other cue words and this corpus drawn again, "
        "and is wide because there are few pairs. With two pairs, and a corpus that hardly moves the flips, it holds "
        "the mean in 89% of cases and not in 95%."
    )
    chart = Chart(
        "Dot plot: pooled PSE of every occupation with its interval, and the standard deviations between cue pairs and "
        "between replicas.",
        "Left: pooled PSE, above 0.5 (dotted line) where an occupation leans to the female side, with its interval. "
        "Right: how far the flips differ between cue pairs, between replicas in all pairs alike, and beyond both: what "
        "the interval is made of. More replicas make it no narrower; other pairs do.",
        {label: pooled_dots(part) for label, part in models.items()},
        "Model",
    )
    deviations = {label: _deviations(part) if part.height else [] for label, part in every.items()}
    ends = {label: both_ends(part, of_model(frames["psychometrics"], part)) for label, part in every.items()}
    blocks = [Paragraph(text), *paragraphs(deviations), chart, *folded(ends, "occupations at both ends")]
    return [Section("pooled", title, blocks)]


def _deviations(results: pl.DataFrame) -> list[str]:
    """What spreads the flips: the medians of the standard deviations over occupations."""
    pairs, replicas, rest = (results[f"sd_{name}"].to_numpy() for name in ("pairs", "replicas", "rest"))
    between, within, common = (float(np.median(sd)) for sd in (pairs, np.hypot(replicas, rest), replicas))
    matters = "which lines are in the corpus matters at least as much as which words stand for the two sides"
    if between > within:
        matters = "which words stand for the two sides matters more here than which lines are in the corpus"
    text = (
        f"In the median over {plural(results.height, 'occupation')}, the flips have a standard deviation of "
        f"{between:.3f} between cue pairs, and of {within:.3f} between the replicas of one pair; the part that all "
        f"pairs share has {common:.3f}. So {matters}."
    )
    return [text]


def both_ends(pooled: pl.DataFrame, psychometrics: pl.DataFrame) -> list[Grid]:
    """A model's occupations with the highest and lowest pooled PSE, and the gender cue pair most extreme for each."""
    pairs = measured(psychometrics).filter("is_gender")
    ordered = measured(pooled).join(pairs, on="word", how="semi").sort("pse", "word", descending=[True, False])
    num = min(_NUM_ENDS, ordered.height // 2)
    ends = [_with_furthest(ordered.head(num), pairs, highest=True), _with_furthest(ordered.tail(num), pairs)]
    table = grid(
        f"The occupations with the highest (first {num}) and the lowest PSE over all gender cue pairs (last {num}), "
        "and the pair that puts each of them furthest up or down. That pair is the most extreme of several, so it "
        "overstates the lean.",
        pl.concat(ends),
        text("word", "occupation"),
        estimate_column("pse", "pooled PSE"),
        count("num_pairs", "cue pairs"),
        number("percent_women", "women in it", 0, "%"),
        cell("furthest with", lambda row: cue_pair(row["cue_1"], row["cue_2"])),
        estimate_column("pair_pse", "PSE with that pair"),
    )
    return [table] if num else []


def _with_furthest(pooled: pl.DataFrame, pairs: pl.DataFrame, *, highest: bool = False) -> pl.DataFrame:
    furthest = pairs.sort("pse", descending=highest, maintain_order=True).unique("word", keep="first")
    numbers = {f"pair_pse{end}": f"pse{end}" for end in ("", "_low", "_high")}
    return pooled.join(furthest.select("word", "cue_1", "cue_2", **numbers), on="word", maintain_order="left")


# --- the labour market, and other measures ----------------------------------------------------------------------------


def _validation(frames: Frames) -> list[Section]:
    """PSE against the share of men and JND against its dispersion; no section where the run has no such table."""
    if "validation" not in frames:
        return []
    rows = frames["validation"].filter(pl.col("measure").is_in(["pse", "jnd"]) & (pl.col("against") != "wefat"))
    nothing = "The word set has no shares of women and men, so there is nothing to hold PSE and JND against."
    blocks = [Paragraph(nothing)] if rows.is_empty() else _labour_market(by_model(rows, frames), frames)
    return [Section("validation", "PSE, JND and the labour market", blocks)]


def _labour_market(models: Mapping[str, pl.DataFrame], frames: Frames) -> list[Block]:
    text = (
        "If the vectors follow the labour market, an occupation leans to the male cue where men are many, and is "
        "answered less sharply where both are: PSE then goes with the share p of men, and JND with its dispersion "
        "√(p(1 − p)). The sign follows from which cue comes first. Here it is the female one, and PSE is above 0.5 for "
        "words that lean to it, so vectors that follow the labour market give a negative correlation of PSE with the "
        "share of men. Liang and Acuna 2020 print +0.368 (p = 0.049) for PSE, which presumably is −0.368 by "
        "this sign, and 0.401 (p = 0.031) for JND, on embeddings of their own."
    )
    pair = cell("cue pair", lambda row: cue_pair(row["cue_1"], row["cue_2"]) if row["cue_1"] else _POOLED)
    pooled = _grids(labelled(models).filter(pl.col("cue_1").is_null()), "model") if len(models) > 1 else []
    single = folded(
        {label: _grids(part, pair) if part.height else [] for label, part in models.items()}, "cue pairs one by one"
    )
    return [Paragraph(text), *pooled, *single, _share_of_women(frames)]


def _grids(rows: pl.DataFrame, name: Column | str) -> list[Grid]:
    parts = {caption: rows.filter(measure=measure, against=other) for (measure, other), caption in _CAPTIONS.items()}
    return [grid(caption, part, name, *CORRELATIONS) for caption, part in parts.items() if part.height]


def _share_of_women(frames: Frames) -> Block:
    gender = by_model(frames["psychometrics"].filter("is_gender"), frames)
    pooled = by_model(measured(frames["pooled_psychometrics"])) if "pooled_psychometrics" in frames else {}
    pairs = {
        label: ({_POOLED: pooled[label]} if label in pooled else {}) | by_cue_pair(part)
        for label, part in gender.items()
    }
    parts = _shown({label: part.drop_nulls("percent_women") for label, part in joined(pairs).items()})
    if not parts:
        few = f"Fewer than {_MIN_OCCUPATIONS} occupations with a share of women are measured: too few for a chart."
        return Paragraph(few)
    return Chart(
        "Scatter plot of the PSE of occupations against the share of women in them.",
        "The share of women is 1 − p, so signs are the opposite of those above: if the vectors followed the labour "
        "market, the dots would rise from left to right.",
        {label: pse_and_women(part) for label, part in parts.items()},
        "Cue pair",
    )


def _shown(parts: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return {label: part for label, part in parts.items() if part.height >= _MIN_OCCUPATIONS}


def _comparison(frames: Frames) -> list[Section]:
    """PSE beside WEFAT and WEAT with the same cues, which Liang and Acuna 2020 left open; none without such rows."""
    if "validation" not in frames:
        return []
    texts = {label: _texts_of(part, frames) for label, part in by_model(frames["validation"], frames).items()}
    blocks = [*(paragraphs(texts) if any(texts.values()) else []), *_pse_and_effects(frames)]
    return [Section("comparison", "How PSE compares with WEAT and WEFAT", blocks)] if blocks else []


def _texts_of(rows: pl.DataFrame, frames: Frames) -> list[str]:
    """Whether a model's PSE and WEFAT order occupations alike, and which of them follows the labour market."""
    together = over_all_pairs(rows, "pse", "wefat")
    pse, wefat = (over_all_pairs(rows, measure, "share_men") for measure in ("pse", "wefat"))
    texts = [*([_alike(together)] if together else []), *([_nearer(pse, wefat)] if pse and wefat else [])]
    return [" ".join([*texts, *_between_groups(rows, frames)])] if texts else []


def _alike(row: Row) -> str:
    why = why_unsure(row, "spearman")
    same = f"so {row['spearman'] ** 2:.0%} of the variance of their ranks is in common"
    same = f"{why}, so no common order can be told" if why else same
    return (
        f"Over {plural(row['num_occupations'], 'occupation')}, pooled PSE and the effect size of WEFAT with the same "
        f"cues have Spearman ρ = {estimate(row, 'spearman', 2)} ({p_equals(row['spearman_p'])}) and Pearson r = "
        f"{estimate(row, 'pearson', 2)}: {same}."
    )


def _nearer(pse: Row, wefat: Row) -> str:
    """Both are positive on the female side, so the one that follows the labour market has the lower correlation."""
    rows = {"PSE": pse, "WEFAT": wefat}
    numbers = [
        f"{name} has r = {estimate(row, 'pearson', 2)} ({p_equals(row['pearson_p'])})" for name, row in rows.items()
    ]
    following = [name for name, row in rows.items() if row["pearson"] < 0 and not why_unsure(row, "pearson")]
    nearer, other = sorted(rows, key=lambda name: rows[name]["pearson"])
    verdict = "neither follows the labour market beyond doubt, which would make it negative"
    if following == [other]:
        verdict = f"{other} follows the labour market, and that {nearer} does is not sure"
    elif following:
        verdict = f"{nearer} follows the labour market more closely, {_how_surely(rows[nearer], rows[other])}"
    return f"With the share of men, {listed(numbers)}: {verdict}."


def _how_surely(nearer: Row, other: Row) -> str:
    order = compared(*(estimate_of(row, "pearson") for row in (nearer, other)))
    if order in CONTRADICTORY:
        return f"but {OPEN_ORDER}"
    return {"below": "and the intervals lie apart", "neither": "but the intervals overlap"}.get(
        order, "but there are no intervals to say how surely"
    )


def _between_groups(rows: pl.DataFrame, frames: Frames) -> list[str]:
    """The WEAT that has the occupations themselves as targets."""
    if "occupation_contrast" not in frames:
        return []
    tests = of_model(measured(frames["occupation_contrast"]), rows)
    return [
        f"WEAT between {row['target_x']} and {row['target_y']}, with {row['attribute_a']} and {row['attribute_b']}: "
        f"d = {estimate(row, 'effect_size', 2)}, one-sided {p_equals(row['p_value'])}."
        for row in tests.drop_nulls("effect_size").to_dicts()
    ]


def _pse_and_effects(frames: Frames) -> list[Block]:
    if "word_associations" not in frames or "pooled_psychometrics" not in frames:
        return []
    keys = ["model", "language", "word"]
    effects = measured(frames["word_associations"]).filter(similarity="cosine").drop_nulls("effect_size")
    first = effects.unique(keys, keep="first", maintain_order=True).select(*keys, "attribute_a", "effect_size")
    parts = _shown(by_model(measured(frames["pooled_psychometrics"]).join(first, on=keys), frames))
    if not parts:
        return []
    chart = Chart(
        "Scatter plot of the PSE of occupations against their WEFAT effect size, coloured by the share of women.",
        "Each dot is an occupation; its height is its PSE over all gender cue pairs. Along a rising or falling line "
        "both measures order the occupations alike. Dotted: where each leans to no side.",
        {label: pse_and_effects(part) for label, part in parts.items()},
        "Model",
    )
    return [chart]


# --- the page ---------------------------------------------------------------------------------------------------------


def measures(frames: Frames) -> list[Measure]:
    """What the psychophysics says on a page; nothing where it was not measured."""
    if "psychometrics" not in frames:
        return []
    rows = frames["psychometrics"]
    results = measured(rows)
    sides = NamedSides(
        "PSE",
        results,
        PSE,
        in_model(results, lambda row: f"{row['word']} ({cue_pair(row['cue_1'], row['cue_2'])})", frames),
        dispute=" The original corpus itself may flip on the other side of 0.5.",
        note=_OTHER_INTERVALS,
    )
    terms = [Paragraph(_PSE, "note")]
    return [Measure(rows, findings(frames), sections(frames), sides, terms=terms, compared=_compared(frames))]


def _compared(frames: Frames) -> list[Compared]:
    compared = []
    if "validation" in frames:
        usual = frames["validation"].filter(pl.col("cue_1").is_null(), measure="pse", against="share_men")
        labelled = usual.with_columns(what=pl.lit("PSE and share of men"))
        compared.append(Compared("Correlation of PSE with the share of men", "r", labelled, "pearson", "what", 0.0))
    if "pooled_psychometrics" in frames:
        compared.append(
            Compared("PSE of occupations over all cue pairs", "PSE", frames["pooled_psychometrics"], "pse", "word", 0.5)
        )
    return compared


page = page_of(
    "Occupations between two cues",
    "To which of two cues, such as “woman” and “man”, does each occupation lean in the word vectors, and how firmly?",
    measures,
)
