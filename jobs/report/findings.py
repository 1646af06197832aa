"""What a page says of rows: what was measured and what not, which belong together, how two columns correlate."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar, get_args

import numpy as np
import polars as pl

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Paragraph
from tiltmeter.jobs.report.wording import isolated, number, some
from tiltmeter.operators.statistics.correlation import Kind, replicated

_Part = TypeVar("_Part")
Tables = Mapping[str, pl.DataFrame]


class Correlations(NamedTuple):
    """Pearson's r and Spearman's rho over ``num`` rows; NaN where a column has fewer than 2 different values."""

    pearson: float
    spearman: float
    num: int

    @property
    def text(self) -> str:
        """Both in a line.

        >>> Correlations(0.5, -0.25, 9).text
        'Pearson r = 0.50, Spearman ρ = −0.25, n = 9'
        """
        return f"Pearson r = {number(self.pearson, 2)}, Spearman ρ = {number(self.spearman, 2)}, n = {self.num}"


def correlations(x: pl.Series, y: pl.Series) -> Correlations:
    """Both correlations of two columns of numbers, over the rows that have both.

    >>> correlations(pl.Series([1.0, 2.0, 3.0, None]), pl.Series([1.0, 4.0, 9.0, 16.0])).spearman
    1.0
    """
    # A plot shows no p-values, for which scipy would be imported: that takes longer than to write a page.
    first, second = (column.cast(pl.Float64).to_numpy() for column in (x, y))
    pearson, spearman = (float(replicated(first[np.newaxis], second, kind)[0]) for kind in get_args(Kind))
    return Correlations(pearson, spearman, int((np.isfinite(first) & np.isfinite(second)).sum()))


# --- what has a result ----------------------------------------------------------------------------------------------


def measured(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with a result."""
    return rows.filter(pl.col("status") == "ok")


def why_nothing(rows: pl.DataFrame, what: str) -> str:
    """Says that nothing was measured, and why not."""
    if rows.is_empty():
        return f"No {what} was asked for: the word set has none."
    statuses = rows.group_by("status", maintain_order=True).len().rows()
    counts = ", ".join(f"{num:,} × {status}" for status, num in statuses)
    return f"No {what} could be measured ({counts}). The first one says: {rows['reason'][0]}."


def ends(rows: pl.DataFrame, name: str, num: int) -> pl.DataFrame:
    """The ``num`` highest and the ``num`` lowest rows by a column; all rows if there are no more than that."""
    ordered = rows.sort(name)
    return ordered if rows.height <= 2 * num else pl.concat([ordered.head(num), ordered.tail(num)])


def furthest(rows: pl.DataFrame, name: str, label: Callable[[Row], str], neutral: float = 0.0, most: int = 5) -> str:
    """Which rows lean to a side, the furthest first, in brackets as a sentence names them; empty without any.

    >>> furthest(pl.DataFrame({"word": ["maid", "nurse"], "bias": [0.1, 0.3]}), "bias", lambda row: row["word"])
    ' (nurse and maid)'
    """
    ordered = rows.sort((pl.col(name) - neutral).abs(), descending=True, maintain_order=True)
    labels = list(dict.fromkeys(map(label, ordered.to_dicts())))
    return f" ({some(labels, most)})" if labels else ""


def split(rows: pl.DataFrame, *columns: str, label: Callable[..., str] = str) -> dict[str, pl.DataFrame]:
    """Rows by what they have in columns, in the order of the table.

    Args:
        label: what a part is called, given the values of the columns.
    """
    parts = rows.partition_by(columns, maintain_order=True, as_dict=True)
    return {label(*values): part for values, part in parts.items()}


# --- several models -------------------------------------------------------------------------------------------------


def labels_of(rows: pl.DataFrame, frames: Tables | None = None) -> dict[tuple[str, str], str]:
    """What models are called, by name and language; the label names the language too where a page has several.

    Args:
        rows: with ``model`` and ``language``.
        frames: tables of the page, whose ``corpora`` come first, whether or not they have rows.
    """
    corpora = frames["corpora"].select("corpus", "language").rows() if frames and "corpora" in frames else []
    models = dict.fromkeys([*corpora, *rows.select("model", "language").rows()])
    has_several = len({language for _, language in models}) > 1
    return {
        (model, language): isolated(f"{model} ({language})" if has_several and model != language else model)
        for model, language in models
    }


def by_model(rows: pl.DataFrame, frames: Tables | None = None) -> dict[str, pl.DataFrame]:
    """Rows by the label of their model; none of corpora of the page of which nothing was measured."""
    parts = rows.partition_by("model", "language", maintain_order=True, as_dict=True)
    return {label: parts.get(model, rows.clear()) for model, label in labels_of(rows, frames).items()}


def of_model(table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The part of a table that is about the same model as rows of another, or the same models."""
    return table.join(rows, on=["model", "language"], how="semi")


def in_model(rows: pl.DataFrame, label: Callable[[Row], str], frames: Tables | None = None) -> Callable[[Row], str]:
    """How a row is called, after the label of its model where the page has several."""
    models = labels_of(rows, frames)
    return lambda row: f"{models[row['model'], row['language']]}: {label(row)}" if len(models) > 1 else label(row)


def labelled(parts: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The rows of one or more models below each other, with the label of each in place of its name."""
    return pl.concat([rows.with_columns(model=pl.lit(label)) for label, rows in parts.items()])


def joined(parts: Mapping[str, Mapping[str, _Part]]) -> dict[str, _Part]:
    """What each model has, under one label each; that of the model is left out where there is one model only.

    >>> joined({"en": {"she – he": 1}}), joined({"en": {"she – he": 1}, "de": {"sie – er": 2}})
    ({'she – he': 1}, {'en: she – he': 1, 'de: sie – er': 2})
    """
    has_several = len(parts) > 1
    return {
        f"{model}: {label}" if has_several else label: part
        for model, model_parts in parts.items()
        for label, part in model_parts.items()
    }


def sentences(parts: Mapping[str, Sequence[str]]) -> list[str]:
    """What is said of each model, after its name where there are several.

    >>> sentences({"en": ["One.", "Two."]}), sentences({"en": ["One."], "de": ["Two."]})
    (['One.', 'Two.'], ['en: One.', 'de: Two.'])
    """
    has_several = len(parts) > 1
    return [f"{model}: {text}" if has_several else text for model, texts in parts.items() for text in texts]


def paragraphs(parts: Mapping[str, Sequence[str]]) -> list[Block]:
    """The same as paragraphs of one model, or as a list of several."""
    texts = sentences(parts)
    return [Bullets(texts)] if len(parts) > 1 else [Paragraph(text) for text in texts]


def folded(parts: Mapping[str, Sequence[Block]], what: str) -> list[Block]:
    """The blocks of one model as they are, those of several each behind the model's name and what they show."""
    if len(parts) > 1:
        return [Details(f"{model}: {what}", blocks) for model, blocks in parts.items() if blocks]
    return [block for blocks in parts.values() for block in blocks]
