"""What PSE and JND are held against: the labour market, as Liang and Acuna 2020 did, and WEAT and WEFAT."""

from collections.abc import Mapping

import polars as pl

from tiltmeter.jobs.association.page import CORRELATIONS
from tiltmeter.jobs.psychophysics.figures import pse_and_effects, pse_and_women
from tiltmeter.jobs.psychophysics.findings import by_cue_pair, cue_pair, over_all_pairs, why_unsure
from tiltmeter.jobs.report.findings import by_model, folded, joined, labelled, measured, of_model, paragraphs
from tiltmeter.jobs.report.grids import Column, Row, cell, grid
from tiltmeter.jobs.report.html.elements import Block, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.sides import OPEN_ORDER, estimate_of
from tiltmeter.jobs.report.wording import estimate, listed, p_equals, plural
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.sides import CONTRADICTORY, compared

_POOLED = "all gender cue pairs"
_MIN_OCCUPATIONS = 5
"""Fewer make no chart."""

_CAPTIONS = {
    ("pse", "share_men"): (
        "PSE against the share p of men in the occupation. Negative: as in the labour market. p-values are two-sided."
    ),
    ("jnd", "dispersion"): "JND against the dispersion √(p(1 − p)) of the share of men; p-values are two-sided.",
}


def validation(frames: Frames) -> list[Section]:
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


def comparison(frames: Frames) -> list[Section]:
    """PSE beside WEFAT and WEAT with the same cues, which Liang and Acuna 2020 left open; none without such rows."""
    if "validation" not in frames:
        return []
    texts = {label: _comparison(part, frames) for label, part in by_model(frames["validation"], frames).items()}
    blocks = [*(paragraphs(texts) if any(texts.values()) else []), *_pse_and_effects(frames)]
    return [Section("comparison", "How PSE compares with WEAT and WEFAT", blocks)] if blocks else []


def _comparison(rows: pl.DataFrame, frames: Frames) -> list[str]:
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
