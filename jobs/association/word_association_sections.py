"""The section of single words' association tests (WEFAT): how each lies between two sets of attributes."""

import polars as pl

from tiltmeter.jobs.association import scatter_plots
from tiltmeter.jobs.psychophysics.correlation_grids import correlation_grid
from tiltmeter.jobs.report.findings import by_model, joined, measured, why_nothing
from tiltmeter.jobs.report.html.elements import Block, Chart, Paragraph, Section
from tiltmeter.jobs.runtime.published import Frames

_MIN_WORDS = 5


def word_associations(frames: Frames) -> list[Section]:
    """WEFAT against the share of women; no section where the run has no such table."""
    if "word_associations" not in frames:
        return []
    return [Section("wefat", "Association tests of single words", _blocks(frames))]


def _blocks(frames: Frames) -> list[Block]:
    rows = frames["word_associations"]
    found = measured(rows).drop_nulls("effect_size")
    if found.is_empty():
        return [Paragraph(why_nothing(rows, "word"))]
    text = (
        "The word embedding factual association test (WEFAT, Caliskan et al. 2017) asks of each word which of two sets "
        "of attributes it is nearer to: the effect size d is the difference of its mean similarities to them, in "
        "standard deviations of its similarities to all of them."
    )
    return [Paragraph(text), *_charts(found), *_correlations(frames)]


def _charts(found: pl.DataFrame) -> list[Block]:
    shares = found.drop_nulls("percent_women")
    parts = {
        label: part
        for label, part in joined({model: _by_test(own) for model, own in by_model(shares).items()}).items()
        if part.height >= _MIN_WORDS
    }
    if not parts:
        text = f"Fewer than {_MIN_WORDS} words that are measured have a known share of women to hold against."
        return [Paragraph(text)]
    chart = Chart(
        "Scatter plot of the WEFAT effect size of occupations against the share of women in them.",
        "If the vectors follow the labour market, the dots rise from left to right where the positive side is the "
        "female one, and fall where it is the male one.",
        {label: scatter_plots.effect_sizes(part) for label, part in parts.items()},
        "Show",
    )
    return [chart]


def _by_test(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    parts = rows.partition_by("test", "similarity", maintain_order=True, as_dict=True)
    return {f"{test}, {similarity}": part for (test, similarity), part in parts.items()}


def _correlations(frames: Frames) -> list[Block]:
    if "validation" not in frames:
        return []
    rows = frames["validation"].filter(measure="wefat", against="share_women")
    if rows.is_empty():
        return []
    caption = (
        "Correlation of the effect size with the share of women, with the interval of the replicas where there are "
        "any; p-values are two-sided."
    )
    about = [
        ([label, row["similarity"] or "–"], row) for label, part in by_model(rows).items() for row in part.to_dicts()
    ]
    return [correlation_grid(caption, ["model", "similarity"], about)]
