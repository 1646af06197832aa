"""Which rows changed their status, and which values that are no numbers differ."""

from collections.abc import Iterator
from typing import Any, cast

import polars as pl

from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.matching import Matched
from tiltmeter.jobs.changes.numbers import spread
from tiltmeter.jobs.changes.tables import Changes
from tiltmeter.jobs.changes.wording import as_text, change_text
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.wording import plural


def status_changed(matched: Matched) -> pl.Series:
    """Of each pair of rows, whether the status differs; never, in tables without."""
    if not all("status" in table.columns for table in (matched.before, matched.after)):
        return pl.repeat(False, matched.pairs.height, eager=True)
    return matched.both("status").select(pl.col("before").ne_missing(pl.col("after"))).to_series()


def status_changes(matched: Matched, table: str, detail: Detail) -> list[Changes]:
    """Rows of another status, with the reason: each if they are few, or else one row for each change of status."""
    changed = status_changed(matched)
    if not changed.any():
        return []
    statuses = matched.both("status").with_row_index("pair").filter(changed)
    if statuses.height <= detail.max_listed:
        return [_status(matched, table, row, 1) for row in statuses.iter_rows(named=True)]
    groups = statuses.group_by("before", "after", maintain_order=True).agg(
        pl.col("pair").first(), pl.len().alias("num")
    )
    return [_status(matched, table, row, row["num"]) for row in groups.iter_rows(named=True)]


def _status(matched: Matched, table: str, row: dict[str, Any], num: int) -> Changes:
    name, reason = matched.named(row["pair"]), _reason(matched, row["pair"])
    before, after = row["before"], row["after"]
    what = f"{name['row']} was {before} and is {after} now"
    if num > 1:
        what = f"{plural(num, 'row')} were {before} and are {after} now, such as {name['row']}"
    change = Changes(kind="status", table=table, column="status", text_before=before, text_after=after, **name)
    change.num_changed, change.num_compared = num, matched.pairs.height
    change.sentence = f"{table}: {what}{': ' if reason else ''}{reason}."
    return change


def _reason(matched: Matched, pair: int) -> str:
    """Why there is no result now, or why there was none."""
    sides = [
        (table, matched.pairs[side][pair]) for table, side in ((matched.after, "after"), (matched.before, "before"))
    ]
    reasons = [table["reason"][row] for table, row in sides if "reason" in table.columns]
    return next((reason for reason in reasons if reason), "")


def changed_values(matched: Matched, column: str, hidden: pl.Series, *, is_label: bool = False) -> pl.DataFrame:
    """The pairs of rows whose values differ: columns ``at``, ``before`` and ``after``.

    Args:
        hidden: of each pair, whether its status has changed; its reason then is no news.
        is_label: whether values only tell which rows belong together; then one differs if other rows share it.
    """
    both = matched.both(column)
    if is_label:
        differs = _other_company(both, matched)
    else:
        differs = both.select(pl.col("before").ne_missing(pl.col("after"))).to_series()
    return both.with_row_index("pair").filter(differs & ~hidden if column == "reason" else differs)


def _other_company(both: pl.DataFrame, matched: Matched) -> pl.Series:
    """Of each pair, whether its label is shared by other pairs than before, among those that all keys but the last tell
    to be of one kind."""
    kinds = {
        f"kind_{number}": matched.after[name].gather(matched.pairs["after"]) for number, name in enumerate(matched.keys)
    }
    scope = list(kinds)[:-1]
    before, after, common = (pl.len().over([*scope, *names]) for names in (["before"], ["after"], ["before", "after"]))
    return both.with_columns(**kinds).select((before != common) | (after != common)).to_series()


def value_changes(matched: Matched, values: pl.DataFrame, where: Row, detail: Detail) -> list[Changes]:
    """Values that differ: each if they are few, or else summed up in one row.

    Args:
        values: :func:`changed_values`.
        where: the names of ``table`` and ``column``.
    """
    if values.is_empty():
        return []
    sizes = _distances(values)
    if values.height <= detail.max_listed:
        return list(_each(matched, values, sizes, where))
    [example] = _each(matched, values.head(1), sizes, where)
    example.num_changed = values.height
    example.difference, example.median_difference = cast(float, sizes.max()), cast(float, sizes.median())
    example.sentence = (
        f"{where['table']}: {where['column']} changed in {values.height:,} of {plural(matched.pairs.height, 'row')}"
        f"{spread(sizes)}, such as {example.row}."
    )
    return [example]


def _each(matched: Matched, values: pl.DataFrame, sizes: pl.Series, where: Row) -> Iterator[Changes]:
    for row, size in zip(values.iter_rows(named=True), sizes, strict=False):
        change = Changes(kind="text", difference=size, num_changed=1, **where, **matched.named(row["pair"]))
        change.num_compared = matched.pairs.height
        change.text_before, change.text_after = as_text(row["before"]), as_text(row["after"])
        verdict = change_text(row["before"], row["after"])
        change.sentence = f"{change.table}: {change.column} of {change.row} {verdict}."
        yield change


def _distances(values: pl.DataFrame) -> pl.Series:
    """Of lists of numbers that are as long as before, the largest distance of two items; null otherwise."""
    kind = values.schema["before"]
    if not (isinstance(kind, pl.List | pl.Array) and cast(pl.DataType, kind.inner).is_numeric()):
        return pl.repeat(None, values.height, dtype=pl.Float64, eager=True)
    lists = values.select(pl.col("before", "after").cast(pl.List(pl.Float64))).with_row_index("pair")
    alike = lists.filter(pl.col("before").list.len() == pl.col("after").list.len())
    items = alike.explode("before", "after").with_columns(size=(pl.col("after") - pl.col("before")).abs())
    largest = items.group_by("pair").agg(pl.col("size").fill_nan(None).max())
    return lists.join(largest, on="pair", how="left", maintain_order="left")["size"]
