"""The section that answers how the psychophysics compares with WEAT and WEFAT, which Liang and Acuna 2020 left open."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.association import scatter_plots
from tiltmeter.jobs.psychophysics.validation_sections import MIN_OCCUPATIONS
from tiltmeter.jobs.report.findings import by_model, measured, said
from tiltmeter.jobs.report.html.elements import Block, Chart, Section
from tiltmeter.jobs.report.wording import estimate, p_equals, significant
from tiltmeter.jobs.runtime.published import Frames

_USUAL = {"similarity": "cosine", "statistic": "mean"}


def comparison(frames: Frames) -> list[Section]:
    """PSE beside WEFAT and WEAT with the same cues; no section where the run has nothing to compare."""
    if "validation" not in frames:
        return []
    texts = {label: _comparison(part, frames) for label, part in by_model(frames["validation"]).items()}
    blocks = [*said({label: found for label, found in texts.items() if found}), *_pse_and_effect_sizes(frames)]
    return [Section("comparison", "How PSE compares with WEAT and WEFAT", blocks)] if blocks else []


def _comparison(rows: pl.DataFrame, frames: Frames) -> list[str]:
    """Whether a model's PSE and WEFAT order occupations alike, and which of them follows the labour market."""
    together = _row(rows, "pse", "wefat")
    pse, wefat = (_row(rows, measure, "share_men") for measure in ("pse", "wefat"))
    texts = [
        *([_alike(together)] if together else []),
        *([_nearer(pse, wefat)] if pse and wefat else []),
        *_between_groups(rows, frames),
    ]
    return [" ".join(texts)] if together or (pse and wefat) else []


def _row(rows: pl.DataFrame, measure: str, against: str) -> dict[str, Any] | None:
    """The row over all gender cue pairs, if it has a result."""
    found = measured(rows).filter(pl.col("cue_1").is_null(), measure=measure, against=against)
    return next(found.iter_rows(named=True), None)


def _alike(row: Mapping[str, Any]) -> str:
    same = (
        f"so {row['spearman'] ** 2:.0%} of the variance of their ranks is in common"
        if significant(row["spearman_p"])
        else "chance explains as much, so no common order can be told"
    )
    return (
        f"Over {row['num_occupations']} occupations, pooled PSE and the effect size of WEFAT with the same cues have "
        f"Spearman ρ = {estimate(row, 'spearman', 2)} ({p_equals(row['spearman_p'])}) and Pearson r = "
        f"{estimate(row, 'pearson', 2)}: {same}."
    )


def _nearer(pse: Mapping[str, Any], wefat: Mapping[str, Any]) -> str:
    """Both are positive on the female side, so the one that follows the labour market has the lower correlation."""
    correlations = [
        f"{name} has r = {estimate(row, 'pearson', 2)} ({p_equals(row['pearson_p'])})"
        for name, row in (("PSE", pse), ("WEFAT", wefat))
    ]
    name, nearer, other = ("PSE", pse, wefat) if pse["pearson"] < wefat["pearson"] else ("WEFAT", wefat, pse)
    verdict = (
        f"{name} follows the labour market more closely, {_how_surely(nearer, other)}"
        if nearer["pearson"] < 0 and significant(nearer["pearson_p"])
        else "neither follows the labour market beyond chance, which would make it negative"
    )
    return f"With the share of men, {' and '.join(correlations)}: {verdict}."


def _how_surely(nearer: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    highest, lowest = nearer["pearson_high"], other["pearson_low"]
    if highest is None or lowest is None:
        return "but there are no intervals to say how surely"
    return "and the intervals lie apart" if highest < lowest else "but the intervals overlap"


def _between_groups(rows: pl.DataFrame, frames: Frames) -> list[str]:
    """The WEAT that has the occupations themselves as targets."""
    if "occupation_contrast" not in frames:
        return []
    usual = measured(frames["occupation_contrast"]).join(rows, on=["model", "language"], how="semi")
    return [
        f"WEAT between {row['target_x']} and {row['target_y']}, with {row['attribute_a']} and {row['attribute_b']}: "
        f"d = {estimate(row, 'effect_size', 2)}, one-sided {p_equals(row['p_value'])}."
        for row in usual.drop_nulls("effect_size").to_dicts()
    ]


def _pse_and_effect_sizes(frames: Frames) -> list[Block]:
    if "word_associations" not in frames or "pooled_psychometrics" not in frames:
        return []
    keys = ["model", "language", "word"]
    effects = measured(frames["word_associations"]).filter(similarity=_USUAL["similarity"]).drop_nulls("effect_size")
    both = measured(frames["pooled_psychometrics"]).join(
        effects.select(*keys, "test", "attribute_a", "effect_size").unique(keys, keep="first", maintain_order=True),
        on=keys,
    )
    parts = {label: part for label, part in by_model(both).items() if part.height >= MIN_OCCUPATIONS}
    if not parts:
        return []
    chart = Chart(
        "Scatter plot of the PSE of occupations against their WEFAT effect size, coloured by the share of women.",
        "Each dot is an occupation; its height is its PSE over all gender cue pairs. Along a rising or falling line "
        "both measures order the occupations alike. Dotted: where each leans to no side.",
        {label: scatter_plots.pse_and_effect_sizes(part) for label, part in parts.items()},
        "Model",
    )
    return [chart]
