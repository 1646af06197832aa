"""What the public tables of a survey say, in sentences and short tables for the report."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl
from scipy.stats import pearsonr, spearmanr

from storage.html import Grid

MEAN_LABEL = "mean over cue pairs"
_NUM_ENDS = 3
_INTERVALS = ("pse", "jnd", "flip")


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
    both = pl.DataFrame({"x": x, "y": y}).drop_nulls()
    if min(both["x"].n_unique(), both["y"].n_unique()) < 2:
        return Correlations(math.nan, math.nan, both.height)
    first, second = both["x"].to_numpy(), both["y"].to_numpy()
    rho = round(float(spearmanr(first, second).statistic), 12)
    return Correlations(float(pearsonr(first, second).statistic), rho, both.height)


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


def number(value: float, digits: int) -> str:
    """A number with a real minus sign; "undefined" for NaN."""
    return "undefined" if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


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


def mean_over_pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per measured occupation: means over its cue pairs, which have no interval, and how many those are."""
    ends = [pl.lit(None, pl.Float64).alias(f"{name}_{end}") for name in _INTERVALS for end in ("low", "high")]
    means = (
        measured(rows)
        .group_by("word", maintain_order=True)
        .agg(pl.col("pse", "jnd").mean(), pl.col("percent_women").first(), pl.len().alias("num_pairs"))
    )
    return means.with_columns(ends)


def by_cue_pair(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Measured rows by the label of their cue pair, in the order of the table."""
    parts = measured(rows).partition_by("cue_1", "cue_2", maintain_order=True, as_dict=True)
    return {f"{female} – {male}": part for (female, male), part in parts.items()}


def on_side(rows: pl.DataFrame, name: str, neutral: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows whose interval lies above, and rows whose interval lies below the neutral value.

    The interval has to be one of the replicas' own values, such as ``flip``: that of ``pse`` is Monte Carlo error, so
    more replicas would put more rows on a side.
    """
    return rows.filter(pl.col(f"{name}_low") > neutral), rows.filter(pl.col(f"{name}_high") < neutral)


def occupation_findings(rows: pl.DataFrame) -> list[str]:
    """How much of ``psychometrics`` could be measured, and how it leans by the interval of the replicas' flips."""
    found = measured(rows)
    if found.is_empty():
        return [why_nothing(rows, "occupation")]
    above, below = on_side(found, "flip", 0.5)
    words, pairs = _num_of(found, rows, "word"), _num_of(found, rows, "cue_1", "cue_2")
    means = mean_over_pairs(rows).sort("pse", "word")
    lowest, highest = (_lean(means.row(at, named=True), found) for at in (0, -1))
    coverage = (
        f"{words} occupations could be measured, with {pairs} cue pairs. In {above.height} of these {found.height} "
        f"combinations the interval of the replicas' flips lies above 0.5, on the female side, and in {below.height} "
        f"below, on the male side; in the other {found.height - above.height - below.height} it includes 0.5 and names "
        "no side."
    )
    if means.height == 1:
        return [coverage, f"It is {lowest}."]
    ends = f"highest for {highest} and lowest for {lowest}"
    return [coverage, f"The mean over cue pairs, which has no interval and names no side, is {ends}."]


def _num_of(part: pl.DataFrame, whole: pl.DataFrame, *columns: str) -> str:
    return f"{part.select(columns).n_unique()} of {whole.select(columns).n_unique()}"


def _lean(mean: Mapping[str, Any], found: pl.DataFrame) -> str:
    above, below = on_side(found.filter(pl.col("word") == mean["word"]), "flip", 0.5)
    sides = f"flips above 0.5 with {above.height} and below it with {below.height} of {mean['num_pairs']} cue pairs"
    return f"“{mean['word']}” (mean PSE {estimate(mean, 'pse')}; {sides})"


def both_ends(rows: pl.DataFrame) -> Grid:
    """The occupations with the highest and lowest mean PSE, with the cue pair that is most extreme for each of them."""
    means, found = mean_over_pairs(rows).sort("pse", "word", descending=[True, False]), measured(rows)
    num = min(_NUM_ENDS, means.height // 2)
    shown = [(row, True) for row in means.head(num).to_dicts()] + [(row, False) for row in means.tail(num).to_dicts()]
    numbers = ["PSE with that pair", "its flips"]
    return Grid(
        f"The occupations with the highest (first {num}) and the lowest mean PSE (last {num}), and the cue pair that "
        "puts each of them furthest up or down, with the interval of the replicas' flips. That pair is the most "
        "extreme of several, so it overstates the lean.",
        ["occupation", "mean PSE", "cue pairs", "women in it", "furthest with", *numbers],
        [_end(mean, found.filter(pl.col("word") == mean["word"]), highest=highest) for mean, highest in shown],
        numeric=["mean PSE", "cue pairs", "women in it", *numbers],
    )


def _end(mean: Mapping[str, Any], pairs: pl.DataFrame, *, highest: bool) -> list[str]:
    extreme = pairs.sort("pse", descending=highest).row(0, named=True)
    women = f"{estimate(mean, 'percent_women', 0)}%"
    cues = f"{extreme['cue_1']} – {extreme['cue_2']}"
    numbers = [number(extreme["pse"], 3), interval(extreme, "flip")]
    return [mean["word"], estimate(mean, "pse"), str(mean["num_pairs"]), women, cues, *numbers]


def association_findings(rows: pl.DataFrame) -> list[str]:
    """The association tests that point to one side."""
    found = measured(rows)
    if found.is_empty():
        return [why_nothing(rows, "association test")]
    above, below = on_side(found, "effect_size", 0.0)
    sentences = [_goes_with(row) for row in pl.concat([above, below]).to_dicts()]
    rest = found.height - len(sentences)
    if rest:
        sentences.append(f"Association tests whose interval includes 0, and names no side: {rest} of {found.height}.")
    return sentences


def _goes_with(row: Mapping[str, Any]) -> str:
    first, second = ("attribute_a", "attribute_b") if row["effect_size_low"] > 0 else ("attribute_b", "attribute_a")
    return (
        f"Association test {row['test']}: {row['target_x']} go rather with {row[first]}, and {row['target_y']} with "
        f"{row[second]} (effect size d = {estimate(row, 'effect_size', 2)})."
    )


def gender_findings(languages: pl.DataFrame, professions: pl.DataFrame) -> list[str]:
    """Direct bias, and how many professions lie on either side."""
    if measured(languages).is_empty():
        return [why_nothing(languages, "direct bias")]
    found = measured(professions)
    above, below = on_side(found, "bias", 0.0)
    direct = [
        f"Direct bias is {estimate(row, 'direct_bias')} over {row['num_professions']} professions. As a mean of "
        "absolute values it is above 0 for any vectors, so it means something in comparison only."
        for row in measured(languages).to_dicts()
    ]
    sides = (
        f"Of {found.height} measured professions, {above.height} lie on the female side and {below.height} on the male "
        f"side of the gender direction with their whole interval; for {found.height - above.height - below.height} it "
        "includes 0."
    )
    return [*direct, sides]


def component_warning(row: Mapping[str, Any]) -> str | None:
    """A warning where the first component of the definitional pairs does not dominate: less than twice the second."""
    first, second = row["first_share"], row["second_share"]
    if first is None or second is None or first >= 2 * second:
        return None
    return (
        f"The first component carries {first:.0%} of the variance of the definitional pairs, less than twice the "
        f"{second:.0%} of the second. No single direction stands for gender in these vectors, so the bias along it "
        "says little."
    )


def ends(rows: pl.DataFrame, name: str, num: int) -> pl.DataFrame:
    """The ``num`` highest and the ``num`` lowest rows by a column; all rows if there are no more than that."""
    ordered = rows.sort(name)
    return ordered if rows.height <= 2 * num else pl.concat([ordered.head(num), ordered.tail(num)])
