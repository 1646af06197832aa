"""What a run of `gender_adversary` found, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.wording import interval, number, p_equals, percent, plural, significant

Row = Mapping[str, Any]

_GENDERS = {"female": "women", "male": "men"}
_POINTS = 100.0


def direction_label(direction: str) -> str:
    """What a page calls a direction.

    >>> direction_label("pair_to_female"), direction_label("neighbours")
    ('pair, to women', 'neighbours')
    """
    kind, _, gender = direction.rpartition("_to_")
    return f"{kind}, to {_GENDERS[gender]}" if kind else direction


def headline(summary: pl.DataFrame) -> Iterator[str]:
    """The excess of every victim and direction that has controls, and what it means."""
    for row in _overall(summary).drop_nulls("excess").iter_rows(named=True):
        yield (
            f"{row['victim']}, {direction_label(row['direction'])}: {percent(row['flip_rate'])} of "
            f"{plural(row['num_texts'], 'verdict')} flip. The excess over directions that have nothing to do with "
            f"gender is {_points(row)}; {p_equals(row['p_value'])}, {p_equals(row['p_adjusted'])} after Holm. "
            f"{_meaning(row)}"
        )


def _overall(summary: pl.DataFrame) -> pl.DataFrame:
    return summary.filter(stratum="all", search="ladder")


def _points(row: Row) -> str:
    """In points, with the interval."""
    points = {name: None if row[name] is None else _POINTS * row[name] for name in ("excess_low", "excess_high")}
    size = number(_POINTS * row["excess"], 1)
    ends = interval({"x_low": points["excess_low"], "x_high": points["excess_high"]}, "x", 1)
    return f"{size} points {ends}"


def _meaning(row: Row) -> str:
    """Whether that is evidence of anything; the adjusted p-value decides.

    >>> row = {"p_adjusted": 0.3, "excess": 0.1, "definitional_share": 0.9, "associated_share": 0.0}
    >>> _meaning(row)
    'That is no evidence that gender matters.'
    >>> _meaning(row | {"p_adjusted": 0.01})
    'Gender matters: 90% of the fall lies on replacements that change or suggest it.'
    """
    if not significant(row["p_adjusted"]):
        return "That is no evidence that gender matters."
    share = (row["definitional_share"] or 0.0) + (row["associated_share"] or 0.0)
    if share <= 0.5:
        return f"But only {percent(share, 0)} of the fall lies on replacements that change or suggest gender."
    return f"Gender matters: {percent(share, 0)} of the fall lies on replacements that change or suggest it."


def asymmetries(summary: pl.DataFrame) -> Iterator[str]:
    """Which of two ways flips more, of directions that have both."""
    rows = _overall(summary).drop_nulls("asymmetry")
    for row in rows.filter(pl.col("direction").str.ends_with("_to_female")).iter_rows(named=True):
        kind = row["direction"].removesuffix("_to_female")
        is_sure = significant(row["asymmetry_p"])
        which = "with more flips to women" if row["asymmetry"] > 0.0 else "with more flips to men"
        control = row["asymmetry_control_p"]
        beside = "" if control is None else f", {p_equals(control)} beside the controls"
        yield (
            f"{row['victim']}, {kind}: the two ways differ by {number(_POINTS * abs(row['asymmetry']), 1)} points "
            f"({p_equals(row['asymmetry_p'])} by McNemar's test{beside}), "
            f"{which if is_sure else 'which names neither'}."
        )


def unfairness(summary: pl.DataFrame) -> Iterator[str]:
    """What swapping all gendered words at once does, which should do nothing."""
    rows = summary.filter(stratum="all", search="swap").drop_nulls("flip_rate")
    for row in rows.iter_rows(named=True):
        yield (
            f"{row['victim']}, {direction_label(row['direction'])}, all of a text at once: "
            f"{percent(row['flip_rate'])} of {plural(row['num_texts'], 'verdict')} flip."
        )


def doubts(summary: pl.DataFrame, num_controls: int) -> Iterator[str]:
    """What to take with care."""
    rows = _overall(summary)
    num_open = int(rows["num_unproven"].sum())
    if rows.drop_nulls("p_value").height:
        yield (
            "Rates along gender have their controls: words that are replaced along any direction flip some verdicts. "
            f"With {plural(num_controls, 'control')} no p-value is below {number(1.0 / (num_controls + 1), 3)}."
        )
    if num_open:
        yield f"Of {plural(num_open, 'text')} it is open whether a flip was missed; all others are proven."
    unequal = rows.drop_nulls("mean_control_candidates").filter(
        pl.col("mean_control_candidates") > 1.25 * pl.col("mean_candidates")
    )
    if unequal.height:
        yield (
            "Controls have more candidates than the direction beside them, and so more chances; "
            "controls.equal=true takes these away."
        )
