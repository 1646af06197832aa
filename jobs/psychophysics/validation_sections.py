"""The section that holds PSE and JND against the labour market, as the external validation of Liang and Acuna 2020."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.association import scatter_plots
from tiltmeter.jobs.psychophysics.correlation_grids import correlation_grid
from tiltmeter.jobs.psychophysics.findings import by_cue_pair, cue_pair
from tiltmeter.jobs.report.findings import by_model, folded, joined, measured
from tiltmeter.jobs.report.html.elements import Block, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.runtime.published import Frames

POOLED = "all gender cue pairs"
MIN_OCCUPATIONS = 5
"""Fewer make no chart."""

_WHAT = {
    ("pse", "share_men"): (
        "PSE against the share p of men in the occupation. Negative: as in the labour market. Brackets: interval of "
        "the replicas' own correlations; p-values are two-sided."
    ),
    ("jnd", "dispersion"): "JND against the dispersion p(1 − p) of the share of men; p-values are two-sided.",
}


def validation(frames: Frames) -> list[Section]:
    """PSE against the share of men and JND against its dispersion; no section where the run has no such table."""
    if "validation" not in frames:
        return []
    return [Section("validation", "PSE, JND and the labour market", _labour_market(frames))]


def _labour_market(frames: Frames) -> list[Block]:
    rows = frames["validation"].filter(pl.col("measure").is_in(["pse", "jnd"]) & (pl.col("against") != "wefat"))
    if rows.is_empty():
        return [
            Paragraph("The word set has no shares of women and men, so there is nothing to hold PSE and JND against.")
        ]
    text = (
        "If the vectors follow the labour market, an occupation leans to the male cue where men are many, and is "
        "answered less sharply where both are: PSE then goes with the share p of men, and JND with its dispersion "
        "p(1 − p). The sign follows from which cue comes first. Here it is the female one, and PSE is above 0.5 for "
        "words that lean to it, so vectors that follow the labour market give a negative correlation of PSE with the "
        "share of men. Liang and Acuna 2020 found 0.368 (p = 0.049) for PSE and 0.401 (p = 0.031) for JND, on "
        "embeddings of their own."
    )
    models = by_model(rows)
    grids = folded({label: _grids(part) for label, part in models.items()}, "cue pairs one by one")
    return [Paragraph(text), *(_pooled_grids(models) if len(models) > 1 else []), *grids, *_share_of_women(frames)]


def _grids(rows: pl.DataFrame) -> list[Grid]:
    """Of one model: a row for each cue pair, and one for all of them."""
    return [
        correlation_grid(what, ["cue pair"], [([_pair(row)], row) for row in part.to_dicts()])
        for part, what in _parts(rows)
    ]


def _pooled_grids(models: Mapping[str, pl.DataFrame]) -> list[Grid]:
    """Of several models: a row for each, over all gender cue pairs."""
    pooled = [
        rows.filter(pl.col("cue_1").is_null()).with_columns(pl.lit(label).alias("label"))
        for label, rows in models.items()
    ]
    return [
        correlation_grid(what, ["model"], [([row["label"]], row) for row in part.to_dicts()])
        for part, what in _parts(pl.concat(pooled))
    ]


def _parts(rows: pl.DataFrame) -> list[tuple[pl.DataFrame, str]]:
    parts = [(rows.filter(measure=measure, against=against), what) for (measure, against), what in _WHAT.items()]
    return [(part, what) for part, what in parts if part.height]


def _pair(row: Mapping[str, Any]) -> str:
    return POOLED if row["cue_1"] is None else cue_pair(row["cue_1"], row["cue_2"])


def _share_of_women(frames: Frames) -> list[Block]:
    shown = {
        label: part for label, part in joined(_by_model_and_pair(frames)).items() if part.height >= MIN_OCCUPATIONS
    }
    if not shown:
        text = f"Fewer than {MIN_OCCUPATIONS} occupations with a share of women are measured: too few for a chart."
        return [Paragraph(text)]
    chart = Chart(
        "Scatter plot of the PSE of occupations against the share of women in them.",
        "The share of women is 1 − p, so signs are the opposite of those above: if the vectors followed the labour "
        "market, the dots would rise from left to right.",
        {label: scatter_plots.share_of_women(part) for label, part in shown.items()},
        "Show",
    )
    return [chart]


def _by_model_and_pair(frames: Frames) -> dict[str, dict[str, pl.DataFrame]]:
    parts: dict[str, dict[str, pl.DataFrame]] = {}
    if "pooled_psychometrics" in frames:
        pooled = measured(frames["pooled_psychometrics"]).drop_nulls("percent_women")
        parts = {label: {POOLED: part} for label, part in by_model(pooled).items()}
    gender = frames["psychometrics"].filter(pl.col("is_gender")).drop_nulls("percent_women")
    for label, part in by_model(gender).items():
        parts[label] = parts.get(label, {}) | by_cue_pair(part)
    return parts
