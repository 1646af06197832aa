"""Which numbers moved, and which of them beyond their interval."""

from typing import cast

import polars as pl

from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.matching import Matched
from tiltmeter.jobs.changes.tables import Changes
from tiltmeter.jobs.changes.wording import amount, is_exact, widths, with_interval
from tiltmeter.jobs.runtime.columns import ENDS
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.wording import plural

_ROUNDING = 1e-9
"""Relative distance of two numbers that tells nothing but how they were rounded."""

_NUMBERS = (
    *("before", "before_low", "before_high", "after", "after_low", "after_high"),
    *("difference", "half_widths", "beyond", "p", "paired_by"),
)


def judged(numbers: pl.DataFrame) -> pl.DataFrame:
    """How far numbers moved, and whether beyond the interval that they had.

    Take a number b with the interval [l, h] in the earlier run, and a in the later one. It moved beyond its interval
    if a lies outside [min(l, b), max(h, b)] and differs from b by more than rounding. For an interval that holds its
    number this is "a lies outside the earlier interval". Some do not hold theirs, such as that of a score near its
    lowest value, whose resamples all lie above: there, a number that stays where it is has not moved, and one that
    moves into the interval has to come out on the other side.

    Args:
        numbers: columns ``before, after``, and ``before_low, before_high`` if there are intervals, of 64-bit floats.

    Returns:
        The same with ``moved`` (also to or from null or NaN; 0.0 and -0.0 are one number), ``difference`` (after less
        before; null if either is missing), ``beyond`` (null if either, or an end of the earlier interval, is missing)
        and ``half_widths`` (the size of the difference in units of half the interval's width).

    >>> columns = {"before": [1.0, 1.0], "after": [1.5, 4.0], "before_low": [0.0, 0.0], "before_high": [2.0, 2.0]}
    >>> judged(pl.DataFrame(columns)).select("difference", "beyond", "half_widths").rows()
    [(0.5, False, 0.5), (3.0, True, 3.0)]
    """
    before, after = (pl.col(name).fill_nan(None) for name in ("before", "after"))
    # Infinity less itself is no number.
    difference = pl.when(before == after).then(0.0).otherwise(after - before)
    moved = numbers.with_columns(moved=pl.col("before").ne_missing(pl.col("after")), difference=difference)
    if "before_low" not in numbers.columns:
        return moved.with_columns(beyond=pl.lit(None, pl.Boolean), half_widths=pl.lit(None, pl.Float64))
    low, high = (pl.col(f"before_{end}").fill_nan(None) for end in ENDS)
    rounded = differ_by_rounding(before, after)
    outside = (after < pl.min_horizontal(low, before)) | (after > pl.max_horizontal(high, before))
    is_complete = pl.all_horizontal(number.is_not_null() for number in (before, after, low, high))
    half_widths = pl.col("difference").abs() / ((high - low) / 2)
    return moved.with_columns(
        beyond=pl.when(is_complete).then(outside & ~rounded), half_widths=half_widths.fill_nan(None)
    )


def differ_by_rounding(before: pl.Expr, after: pl.Expr) -> pl.Expr:
    """Whether two numbers are one, but for how they were rounded."""
    return after.is_close(before, rel_tol=_ROUNDING, abs_tol=0.0)


def judged_column(matched: Matched, column: str, interval: tuple[str, str] | None) -> pl.DataFrame:
    """:func:`judged` of a column of numbers in the rows that match.

    Args:
        interval: the columns of its ends; None without one.
    """
    numbers = matched.both(column)
    if interval:
        pairs = zip(ENDS, interval, strict=True)
        ends = [matched.both(name).select(pl.all().name.suffix(f"_{end}")) for end, name in pairs]
        numbers = pl.concat([numbers, *ends], how="horizontal")
    return judged(numbers.with_columns(pl.all().cast(pl.Float64))).with_row_index("pair")


def decided(judged: pl.DataFrame, most_p: float) -> pl.DataFrame:
    """Numbers whose difference has a p-value moved if it is small enough; of the others, ``beyond`` stays.

    Args:
        judged: of all pairs, with ``p`` and ``beyond``.
        most_p: the largest p-value of a number that moved.
    """
    by_difference = pl.when(pl.col("p").is_null()).then("beyond").otherwise(pl.col("p") <= most_p)
    return judged.with_columns(beyond=by_difference)


def number_changes(
    matched: Matched, verdicts: pl.DataFrame, where: Row, hidden: pl.Series, detail: Detail
) -> list[Changes]:
    """The changes of a column of numbers, the largest first.

    Those that moved beyond their interval are listed each, those within theirs are one row; those without an interval
    are listed each if they are few, or else one row.

    Args:
        verdicts: :func:`judged_column`.
        where: the names of ``table`` and ``column``.
        hidden: of each pair of rows, whether its status has changed, which tells why a number came or is gone.
    """
    ends = [pl.col(f"before_{end}").ne_missing(pl.col(f"after_{end}")) for end in ENDS if f"before_{end}" in verdicts]
    came_or_went = hidden & pl.col("difference").is_null()
    changed = verdicts.filter(pl.any_horizontal("moved", *ends) & ~came_or_went)
    ordered = changed.sort(
        "half_widths", pl.col("difference").abs(), descending=True, nulls_last=True, maintain_order=True
    )
    beyond, within = ordered.filter("beyond"), ordered.filter(~pl.col("beyond"))
    others = ordered.filter(pl.col("beyond").is_null())
    sums = [within, others] if others.height > detail.max_listed else [within]
    listed = [beyond] if others.height > detail.max_listed else [beyond, others]
    return [
        *(_listed(matched, row, where, verdicts.height) for rows in listed for row in rows.iter_rows(named=True)),
        *(_summed(matched, rows, where, verdicts.height) for rows in sums if rows.height),
    ]


def _listed(matched: Matched, row: Row, where: Row, num_compared: int) -> Changes:
    change = _change(matched, row, where)
    change.num_changed, change.num_compared = 1, num_compared
    change.sentence = f"{change.table}: {change.column} of {change.row} {_move(row)}."
    return change


def _change(matched: Matched, row: Row, where: Row) -> Changes:
    ends = {f"difference_{end}": row[end] for end in ENDS}
    numbers: Row = {name: row.get(name) for name in _NUMBERS}
    return Changes(kind="number", **where, **matched.named(row["pair"]), **numbers, **ends)


def _move(row: Row) -> str:
    before, after = (
        with_interval(row[side], row.get(f"{side}_low"), row.get(f"{side}_high")) for side in ("before", "after")
    )
    if row["beyond"] and row["p"] is not None:
        difference = with_interval(row["difference"], *(row[end] for end in ENDS))
        return f"moved from {before} to {after}, by {difference}, {_pairing(row)}"
    if row["beyond"] and is_exact(row):
        return f"was exact, and moved from {amount(row['before'])} to {after}, by {amount(row['difference'])}"
    if row["beyond"]:
        return f"moved beyond its interval, from {before} to {after}, by {widths(row['half_widths'])}"
    return f"went from {before} to {after}"


def _pairing(row: Row) -> str:
    draws = plural(row["num_draws"], "draw")
    return f"over {draws} of each run" if row["paired_by"] == "unpaired" else f"over {draws} that both runs share"


def _summed(matched: Matched, rows: pl.DataFrame, where: Row, num_compared: int) -> Changes:
    sizes = rows.select(size=pl.col("difference").abs())["size"]
    largest = rows.row(sizes.arg_max() or 0, named=True)
    change = _change(matched, largest, where)
    change.num_changed, change.num_compared = rows.height, num_compared
    change.median_difference = cast(float, sizes.median())
    change.sentence = (
        f"{change.table}: {change.column} changed in {rows.height:,} of {plural(num_compared, 'row')}"
        f"{' within its interval' if largest['beyond'] is False else ''}{spread(sizes)}, the most in {change.row}."
    )
    return change


def spread(sizes: pl.Series) -> str:
    """What a sentence says of many differences.

    >>> spread(pl.Series([1.0, None, 3.0])), spread(pl.Series([None], dtype=pl.Float64))
    (', by 2 at the median and 3 at most', '')
    """
    if sizes.null_count() == sizes.len():
        return ""
    return f", by {amount(cast(float, sizes.median()))} at the median and {amount(cast(float, sizes.max()))} at most"
