"""How the report writes numbers, words and what could not be measured; which rows belong together."""

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import polars as pl

from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Paragraph
from tiltmeter.operators.statistics.correlation import correlation

SIGNIFICANCE = 0.05
"""Where sentences and stars begin to take a p-value for more than chance."""

_Part = TypeVar("_Part")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_STARS = ((0.001, "***"), (0.01, "**"), (SIGNIFICANCE, "*"))


class Correlations(NamedTuple):
    """Pearson's r and Spearman's rho over ``num`` rows; NaN where a column has fewer than 2 different values."""

    pearson: float
    spearman: float
    num: int


def correlations(x: pl.Series, y: pl.Series) -> Correlations:
    """Both correlations of two columns of numbers, over the rows that have both.

    >>> correlations(pl.Series([1.0, 2.0, 3.0, None]), pl.Series([1.0, 4.0, 9.0, 16.0])).spearman
    1.0
    """
    found = correlation(*(column.cast(pl.Float64).to_numpy() for column in (x, y)))
    return Correlations(found.pearson, found.spearman, found.num)


# --- numbers and words ----------------------------------------------------------------------------------------------


def estimate(row: Mapping[str, Any], name: str, digits: int = 3) -> str:
    """A number with its interval, as far as the row has them; a dash where it has no number.

    >>> estimate({"d": -0.5, "d_low": -1.25, "d_high": 0.0}, "d", 2)
    '−0.50 [−1.25, 0.00]'
    """
    if row.get(name) is None:
        return "–"
    return f"{number(row[name], digits)} {interval(row, name, digits)}".rstrip()


def interval(row: Mapping[str, Any], name: str, digits: int = 3) -> str:
    """The interval of a number in brackets; empty where the row has none.

    >>> interval({"flip_low": 0.25, "flip_high": 0.75}, "flip", 2)
    '[0.25, 0.75]'
    """
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    return "" if low is None or high is None else f"[{number(low, digits)}, {number(high, digits)}]"


def number(value: float | None, digits: int) -> str:
    """A number with a real minus sign; "undefined" for NaN, a dash where there is none.

    >>> number(-0.25, 1), number(-0.001, 2), number(-math.inf, 2)
    ('−0.2', '0.00', '−∞')
    """
    if value is None:
        return "–"
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def p_value(p: float | None) -> str:
    """A probability to two digits, however small it is; its spaces break no line.

    >>> p_value(0.0494), p_value(0.000078), p_value(1.0)
    ('0.049', '7.8\xa0×\xa010⁻⁵', '1.0')
    """
    if p is None:
        return "–"
    if p == 0 or p >= 0.001:
        return f"{p:#.2g}"
    mantissa, exponent = f"{p:.1e}".split("e")
    return f"{mantissa}\u00a0×\u00a010{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def p_equals(p: float | None) -> str:
    """How a sentence gives a p-value.

    >>> p_equals(0.031)
    'p\xa0=\xa00.031'
    """
    return f"p\u00a0=\u00a0{p_value(p)}"


def stars(p: float | None) -> str:
    """How small a p-value is: * below 0.05, ** below 0.01, *** below 0.001.

    >>> stars(0.03), stars(0.0001), stars(0.05)
    ('*', '***', '')
    """
    return "" if p is None else next((mark for bound, mark in _STARS if p < bound), "")


def significant(p: float | None) -> bool:
    """Whether chance alone is a poor explanation, at the level that one star stands for."""
    return p is not None and p < SIGNIFICANCE


def isolated(text: str) -> str:
    """Text that keeps to itself where it runs from right to left, so that numbers beside it stay in their order.

    >>> isolated("nurse"), len(isolated("ممرضة"))
    ('nurse', 7)
    """
    turns = any(unicodedata.bidirectional(character) in {"R", "AL"} for character in text)
    return f"\u2068{text}\u2069" if turns else text


def quoted(word: str) -> str:
    """A word as a sentence mentions it.

    >>> quoted("nurse")
    '“nurse”'
    """
    return f"“{isolated(word)}”"


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


def on_side(rows: pl.DataFrame, name: str, neutral: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows whose interval lies above, and rows whose interval lies below the neutral value.

    The interval has to be one of the replicas' own values, such as ``flip``: that of ``pse`` is Monte Carlo error, so
    more replicas would put more rows on a side.
    """
    return rows.filter(pl.col(f"{name}_low") > neutral), rows.filter(pl.col(f"{name}_high") < neutral)


def ends(rows: pl.DataFrame, name: str, num: int) -> pl.DataFrame:
    """The ``num`` highest and the ``num`` lowest rows by a column; all rows if there are no more than that."""
    ordered = rows.sort(name)
    return ordered if rows.height <= 2 * num else pl.concat([ordered.head(num), ordered.tail(num)])


# --- several models -------------------------------------------------------------------------------------------------


def by_model(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows by their model, in the order of the table; the label names the language too where a model has several."""
    parts = rows.partition_by("model", "language", maintain_order=True, as_dict=True)
    languages = Counter(model for model, _ in parts)
    return {
        isolated(f"{model} ({language})" if languages[model] > 1 else model): part
        for (model, language), part in parts.items()
    }


def joined(parts: Mapping[str, Mapping[str, _Part]]) -> dict[str, _Part]:
    """What each model has, under one label each; that of the model is left out where there is one model only.

    >>> joined({"en": {"she – he": 1}}), joined({"en": {"she – he": 1}, "de": {"sie – er": 2}})
    ({'she – he': 1}, {'en: she – he': 1, 'de: sie – er': 2})
    """
    several = len(parts) > 1
    return {
        f"{model}: {label}" if several else label: part for model, own in parts.items() for label, part in own.items()
    }


def sentences(parts: Mapping[str, Sequence[str]]) -> list[str]:
    """What is said of each model, after its name where there are several.

    >>> sentences({"en": ["One.", "Two."]}), sentences({"en": ["One."], "de": ["Two."]})
    (['One.', 'Two.'], ['en: One.', 'de: Two.'])
    """
    several = len(parts) > 1
    return [f"{model}: {text}" if several else text for model, texts in parts.items() for text in texts]


def said(parts: Mapping[str, Sequence[str]]) -> list[Block]:
    """The same as paragraphs of one model, or as a list of several."""
    texts = sentences(parts)
    return [Bullets(texts)] if len(parts) > 1 else [Paragraph(text) for text in texts]


def folded(parts: Mapping[str, Sequence[Block]], what: str) -> list[Block]:
    """The blocks of one model as they are, those of several each behind the model's name and what they show."""
    if len(parts) > 1:
        return [Details(f"{model}: {what}", blocks) for model, blocks in parts.items() if blocks]
    return [block for blocks in parts.values() for block in blocks]
