"""What a run of `gender_adversary` found, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.wording import SIGNIFICANCE, interval, number, p_equals, percent, plural
from tiltmeter.operators.statistics.multiplicity import least_possible

Row = Mapping[str, Any]

_GENDERS = {"female": "women", "male": "men"}
_POINTS = 100.0
_ROUNDING = 1e-9
_FEWER = 0.95


def direction_label(direction: str) -> str:
    """What a page calls a direction.

    >>> direction_label("pair_to_female"), direction_label("neighbours")
    ('pair, to women', 'neighbours')
    """
    kind, _, gender = direction.rpartition("_to_")
    return f"{kind}, to {_GENDERS[gender]}" if kind else direction


def headline(summary: pl.DataFrame, num_controls: int) -> Iterator[str]:
    """The excess of every victim and direction that has controls, what could have been shown, and what it means."""
    rows = _overall(summary).drop_nulls("excess")
    for row in rows.iter_rows(named=True):
        yield (
            f"{row['victim']}, {direction_label(row['direction'])}: {percent(row['flip_rate'])} of "
            f"{plural(row['num_texts'], 'verdict')} flip. The excess over directions that have nothing to do with "
            f"gender is {_points(row)}; {p_equals(row['p_value'])}, {p_equals(row['p_adjusted'])} after Holm. "
            f"{_meaning(row, num_controls, rows.height)}"
        )


def _reaches(p_value: float | None) -> bool:
    """Whether it is at most 0.05: of 20 m - 1 controls the least of m tests is just that.

    >>> all(_reaches(least_possible("controls", 20 * number - 1, number)) for number in range(1, 50))
    True
    """
    return p_value is not None and p_value <= SIGNIFICANCE + _ROUNDING


def _overall(summary: pl.DataFrame) -> pl.DataFrame:
    return summary.filter(stratum="all", search="ladder")


def _points(row: Row) -> str:
    """In points, with the interval."""
    points = {name: None if row[name] is None else _POINTS * row[name] for name in ("excess_low", "excess_high")}
    size = number(_POINTS * row["excess"], 1)
    ends = interval({"x_low": points["excess_low"], "x_high": points["excess_high"]}, "x", 1)
    return f"{size} points {ends}"


def _meaning(row: Row, num_controls: int, num_tests: int) -> str:
    """Whether that is evidence of anything; the adjusted p-value decides.

    >>> row = {"p_adjusted": 0.3, "excess": 0.1, "definitional_share": 0.9, "associated_share": 0.0}
    >>> _meaning(row, 99, 2)
    'With 99 controls and 2 tests p could have come down to 0.02: that is no evidence that gender matters.'
    >>> _meaning(row, 99, 6)
    'With 99 controls and 6 tests no p-value could have been below 0.06, so that nothing could have been shown.'
    >>> _meaning(row | {"p_adjusted": 0.01}, 99, 2)
    'Gender matters: 90% of the fall lies on replacements that change or suggest it.'
    """
    if not _reaches(row["p_adjusted"]):
        least = least_possible("controls", num_controls, num_tests)
        beside = f"With {plural(num_controls, 'control')} and {plural(num_tests, 'test')}"
        if not _reaches(least):
            return f"{beside} no p-value could have been below {least:.2g}, so that nothing could have been shown."
        return f"{beside} p could have come down to {least:.2g}: that is no evidence that gender matters."
    if _has_more_chances(row) and not _reaches(row["size_p_value"]):
        beside = f"at equal size {p_equals(row['size_p_value'])}"
        return (
            f"But its controls have fewer words to choose from, and {beside}: that is no evidence that gender matters."
        )
    share = (row["definitional_share"] or 0.0) + (row["associated_share"] or 0.0)
    if share <= 0.5:
        return f"But only {percent(share, 0)} of the fall lies on replacements that change or suggest gender."
    return f"Gender matters: {percent(share, 0)} of the fall lies on replacements that change or suggest it."


def _has_more_chances(row: Row) -> bool:
    """Whether controls lack words, so that they have clearly fewer than the direction."""
    beside = row.get("mean_control_candidates")
    return beside is not None and beside < _FEWER * row["mean_candidates"]


def asymmetries(summary: pl.DataFrame) -> Iterator[str]:
    """Which of two ways flips more, of directions that have both.

    A side is named if the test by texts, or their groups, after Holm over all of these sentences, and the rank among
    the controls both are significant: the first says that it is these texts, the second that it is not any two ways.
    """
    rows = _overall(summary).drop_nulls("asymmetry")
    for row in rows.filter(pl.col("direction").str.ends_with("_to_female")).iter_rows(named=True):
        kind, control = row["direction"].removesuffix("_to_female"), row["asymmetry_control_p"]
        beside = "there are no controls of it" if control is None else f"{p_equals(control)} among the controls"
        yield (
            f"{row['victim']}, {kind}: the two ways differ by {number(_POINTS * abs(row['asymmetry']), 1)} points "
            f"({_signs(row)}; {beside}), {_side(row)}."
        )


def _signs(row: Row) -> str:
    """The test by texts or groups, or why there is none."""
    if row["asymmetry_p"] is None:
        lacking = [part.partition(": ")[2] for part in row["reason"].split("; ") if part.startswith("asymmetry: ")]
        return f"no test, as {lacking[0]}" if lacking else "no test"
    return f"{p_equals(row['asymmetry_p_adjusted'])} by signs of texts or their groups, after Holm"


def _side(row: Row) -> str:
    if not (_reaches(row["asymmetry_p_adjusted"]) and _reaches(row["asymmetry_control_p"])):
        return "which names neither"
    return f"with more flips to {_GENDERS['female' if row['asymmetry'] > 0.0 else 'male']}"


def released(summary: pl.DataFrame) -> Iterator[str]:
    """The one claim of the project that came with a direction, by its own search."""
    rows = summary.filter(stratum="all", search="greedy").drop_nulls("asymmetry")
    both = {(row["victim"], row["direction"]): row for row in rows.iter_rows(named=True)}
    for (victim, direction), row in both.items():
        if direction == "pair_to_female":
            back = both[victim, "pair_to_male"]
            yield (
                f"{victim}, the released search: {percent(row['flip_rate'])} of the verdicts flip to women, "
                f"{percent(back['flip_rate'])} to men ({_signs(row)}). The project reports substantially more to "
                f"women, without a number: {_seen(row)}."
            )


def _seen(row: Row) -> str:
    if not _reaches(row["asymmetry_p_adjusted"]):
        return "that is not seen here"
    return "that is seen here, with no controls beside it" if row["asymmetry"] > 0.0 else "here it is the reverse"


def unfairness(summary: pl.DataFrame) -> Iterator[str]:
    """What swapping all gendered words at once does, which should do nothing, to texts that have any."""
    rows = summary.filter(stratum="all", search="swap").drop_nulls("flip_rate")
    for row in rows.iter_rows(named=True):
        lead = f"{row['victim']}, {direction_label(row['direction'])}, all of a text at once"
        able, num_others = row["num_changeable"], row["num_texts"] - row["num_changeable"]
        if not able:
            yield f"{lead}: {plural(num_others, 'text')}, and none has a word to swap, so that nothing was tried."
            continue
        points = {name: row[f"changeable_rate_{name}"] for name in ("low", "high")}
        ends = "" if points["low"] is None else f" [{percent(points['low'])}, {percent(points['high'])}]"
        yield (
            f"{lead}: {percent(row['changeable_rate'])}{ends} of {plural(able, 'verdict')} on texts that have a word "
            f"to swap flip; {plural(num_others, 'other text')} can't change."
        )


def doubts(summary: pl.DataFrame, num_controls: int) -> Iterator[str]:
    """What to take with care."""
    rows = _overall(summary)
    num_open = int(rows["num_unproven"].sum())
    if num_tests := rows.drop_nulls("p_value").height:
        least = least_possible("controls", num_controls, num_tests)
        yield (
            "Rates along gender have their controls: words that are replaced along any direction flip some verdicts. "
            f"With {plural(num_controls, 'control')} and {plural(num_tests, 'test')} no p-value after Holm is below "
            f"{least:.2g}."
        )
    if num_open:
        yield f"Of {plural(num_open, 'text')} it is open whether a flip was missed; all others are proven."
    if any(map(_has_more_chances, rows.iter_rows(named=True))):
        yield (
            "Some controls find fewer words than the direction beside them has, and so have fewer chances; read the "
            "excess at equal size."
        )
