"""What the tables of the psychophysics say, in sentences."""

import polars as pl

from tiltmeter.jobs.report.findings import furthest, measured, split, why_nothing
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.sides import Lean, contradictory, on_sides
from tiltmeter.jobs.report.wording import estimate, isolated, p_equals, plural, quoted, significant
from tiltmeter.operators.statistics.sides import CONTRADICTORY

PSE = Lean("pse", 0.5, others=("flip_original",))
"""Of rows of ``psychometrics``."""

POOLED = Lean("pse", 0.5)
"""Of rows of ``pooled_psychometrics``."""


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
