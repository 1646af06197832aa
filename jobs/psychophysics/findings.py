"""What the tables of the psychophysics say, in sentences and a short table."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.findings import measured, on_side, why_nothing
from tiltmeter.jobs.report.html.elements import Grid
from tiltmeter.jobs.report.wording import estimate, interval, isolated, number, p_equals, quoted, significant

_NUM_ENDS = 3


def by_cue_pair(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Measured rows by the label of their cue pair, in the order of the table."""
    parts = measured(rows).partition_by("cue_1", "cue_2", maintain_order=True, as_dict=True)
    return {cue_pair(*cues): part for cues, part in parts.items()}


def cue_pair(cue_1: str, cue_2: str) -> str:
    """How a pair is named.

    >>> cue_pair("she", "he")
    'she – he'
    """
    return isolated(f"{cue_1} – {cue_2}")


def occupation_findings(rows: pl.DataFrame) -> list[str]:
    """How much of a model's ``psychometrics`` could be measured, and how it leans by the interval of the flips."""
    found = measured(rows)
    if found.is_empty():
        return [why_nothing(rows, "occupation")]
    words = f"{_num_of(found, rows, 'word')} occupations could be measured"
    gender, others = rows.filter(pl.col("is_gender")), by_cue_pair(rows.filter(~pl.col("is_gender")))
    return [
        *([f"{words}, {_with_gender_pairs(gender)}"] if gender.height else [f"{words}."]),
        *(_with_pair(label, part) for label, part in others.items()),
    ]


def _with_gender_pairs(rows: pl.DataFrame) -> str:
    found = measured(rows)
    above, below = on_side(found, "flip", 0.5)
    return (
        f"with {_num_of(found, rows, 'cue_1', 'cue_2')} gender cue pairs. In {above.height} of these {found.height} "
        "combinations the interval of the replicas' flips lies above 0.5, on the female side, and in "
        f"{below.height} below, on the male side; in the other {found.height - above.height - below.height} it "
        "includes 0.5 and names no side."
    )


def _with_pair(label: str, found: pl.DataFrame) -> str:
    above, below = on_side(found, "flip", 0.5)
    cue_1, cue_2 = found.select("cue_1", "cue_2").row(0)
    return (
        f"With the cue pair {label}, the interval of the flips lies on the side of {quoted(cue_1)} for {above.height} "
        f"of {found.height} occupations and on that of {quoted(cue_2)} for {below.height}."
    )


def _num_of(part: pl.DataFrame, whole: pl.DataFrame, *columns: str) -> str:
    return f"{part.select(columns).n_unique()} of {whole.select(columns).n_unique()}"


def pooled_findings(rows: pl.DataFrame) -> list[str]:
    """Which occupations lie at the ends of a model's ``pooled_psychometrics``; nothing where none is measured."""
    found = measured(rows).sort("pse", "word")
    if found.is_empty():
        return []
    lowest, highest = (_lean(found.row(at, named=True)) for at in (0, -1))
    if found.height == 1:
        return [f"Pooled over the gender cue pairs, it is {lowest}."]
    above, below = on_side(found, "pse", 0.5)
    text = (
        f"Pooled over the gender cue pairs, PSE is highest for {highest} and lowest for {lowest}. With its whole "
        f"interval, which says how far other cue words would move it, it lies above 0.5 for {above.height} of "
        f"{found.height} occupations and below for {below.height}."
    )
    return [text]


def _lean(row: Mapping[str, Any]) -> str:
    return f"{quoted(row['word'])} (PSE {estimate(row, 'pse')})"


def validation_findings(rows: pl.DataFrame) -> list[str]:
    """How a model's pooled PSE goes with the share of men; nothing where that was not measured."""
    pooled = measured(rows).filter(pl.col("cue_1").is_null() & (pl.col("measure") == "pse"))
    found = pooled.filter(pl.col("against") == "share_men").drop_nulls("pearson").to_dicts()
    return [_against_men(row) for row in found]


def _against_men(row: Mapping[str, Any]) -> str:
    verdict = "positive, where vectors that follow the labour market would make it negative"
    if row["pearson"] < 0:
        verdict = "negative, as where the vectors follow the labour market"
    if not significant(row["pearson_p"]):
        verdict = "chance explains as much"
    return (
        f"Over {row['num_occupations']} occupations, pooled PSE and the share of men have Pearson r = "
        f"{estimate(row, 'pearson', 2)} ({p_equals(row['pearson_p'])}): {verdict}."
    )


def both_ends(pooled: pl.DataFrame, psychometrics: pl.DataFrame) -> list[Grid]:
    """A model's occupations with the highest and lowest pooled PSE, and the gender cue pair most extreme for each."""
    found = measured(psychometrics).filter(pl.col("is_gender"))
    ordered = measured(pooled).join(found, on="word", how="semi").sort("pse", "word", descending=[True, False])
    num = min(_NUM_ENDS, ordered.height // 2)
    shown = [(row, True) for row in ordered.head(num).to_dicts()] + [
        (row, False) for row in ordered.tail(num).to_dicts()
    ]
    numbers = ["PSE with that pair", "its flips"]
    grid = Grid(
        f"The occupations with the highest (first {num}) and the lowest PSE over all gender cue pairs (last {num}), "
        "and the pair that puts each of them furthest up or down, with the interval of the replicas' flips. That pair "
        "is the most extreme of several, so it overstates the lean.",
        ["occupation", "pooled PSE", "cue pairs", "women in it", "furthest with", *numbers],
        [_end(row, found.filter(pl.col("word") == row["word"]), highest=highest) for row, highest in shown],
        numeric=["pooled PSE", "cue pairs", "women in it", *numbers],
    )
    return [grid] if num else []


def _end(row: Mapping[str, Any], pairs: pl.DataFrame, *, highest: bool) -> list[str]:
    extreme = pairs.sort("pse", descending=highest).row(0, named=True)
    women = "–" if row["percent_women"] is None else f"{row['percent_women']:.0f}%"
    numbers = [number(extreme["pse"], 3), interval(extreme, "flip")]
    cues = cue_pair(extreme["cue_1"], extreme["cue_2"])
    return [row["word"], estimate(row, "pse"), str(row["num_pairs"]), women, cues, *numbers]
