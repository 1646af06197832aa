"""What differs between two runs: settings, inputs, versions, and the rows and numbers of every table."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.changes.circumstances import circumstances
from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.matching import Matched, UnmatchableError, match
from tiltmeter.jobs.changes.numbers import interval_columns, judged_column, number_changes
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.changes.tables import Change, change_table
from tiltmeter.jobs.changes.values import changed_values, status_changed, status_changes, value_changes
from tiltmeter.jobs.runtime.columns import SPREAD
from tiltmeter.jobs.runtime.wording import plural

_LABEL = "label"
"""Unit of numbers that only tell which rows belong together."""


def compare(before: PastRun, after: PastRun, detail: Detail | None = None) -> pa.Table:
    """The table ``changes``.

    Tables whose digests are equal are not read, nor are those that are too large. Each of the others has a row that
    says that it differs, and rows for what differs in it.

    Args:
        before, after: the earlier run and the later one; they may be of different jobs.
        detail: how finely differences are listed; None: as usual.
    """
    detail, changes = detail or Detail(), circumstances(before, after)
    for name in dict.fromkeys([*after.tables, *before.tables]):
        changes += _table(name, before, after, detail)
    return change_table(changes)


def common_tables(before: PastRun, after: PastRun) -> list[str]:
    """The names of the tables that both runs published."""
    return [name for name in after.tables if name in before.tables]


def _table(name: str, before: PastRun, after: PastRun, detail: Detail) -> list[Change]:
    entries = before.tables.get(name), after.tables.get(name)
    if entries[0] is None or entries[1] is None:
        return [_came_or_went(name, *entries)]
    if entries[0].get("digest") == entries[1].get("digest") is not None:
        return []
    sizes = [entry.get("bytes", 0) / 1e6 for entry in entries if entry is not None]
    if max(sizes) > detail.max_megabytes:
        reason = f"it has {max(sizes):,.0f} MB, more than the {detail.max_megabytes:g} up to which rows are compared"
        return [_differs(name, entries[0]["rows"], entries[1]["rows"], reason)]
    tables = before.read(name), after.read(name)
    counts = tables[0].num_rows, tables[1].num_rows
    try:
        matched = match(*tables)
    except UnmatchableError as error:
        return [_differs(name, *counts, f"{error}, so they were not compared")]
    return _rows(name, matched, _labels(tables[1].schema), detail)


def _came_or_went(name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Change:
    was, now = (None if entry is None else plural(entry["rows"], "row") for entry in (before, after))
    verdict = f"is new, with {now}" if before is None else f"is gone; it had {was}"
    rows = {"before": before and before["rows"], "after": after and after["rows"]}
    texts = {"text_before": was, "text_after": now, "sentence": f"table {name} {verdict}."}
    return {"kind": "table", "table": name} | rows | texts


def _differs(
    name: str, before: int, after: int, verdict: str, num_beyond: int | None = None, num_judged: int | None = None
) -> Change:
    """That a table differs; without numbers of numbers if its rows could not be compared."""
    rows = f"{plural(before, 'row')} as before" if before == after else f"{plural(after, 'row')}, before {before:,}"
    numbers = {"before": before, "after": after, "difference": after - before}
    counts = {"num_changed": num_beyond, "num_compared": num_judged}
    texts = {"text_before": plural(before, "row"), "text_after": plural(after, "row")}
    sentence = f"table {name} differs ({rows}): {verdict}."
    return {"kind": "table", "table": name, "sentence": sentence} | numbers | counts | texts


def _labels(schema: pa.Schema) -> set[str]:
    return {field.name for field in schema if (field.metadata or {}).get(b"unit") == _LABEL.encode()}


def _rows(name: str, matched: Matched, labels: set[str], detail: Detail) -> list[Change]:
    """What differs in the rows of a table."""
    changes = [*_columns(name, matched), *_gone_and_come(name, matched, detail), *status_changes(matched, name, detail)]
    num_judged, hidden = 0, status_changed(matched)
    numbers, others = _comparable(matched, labels)
    for column, interval in numbers.items():
        verdicts = judged_column(matched, column, interval)
        num_judged += verdicts["beyond"].count()
        changes += number_changes(matched, verdicts, {"table": name, "column": column}, hidden, detail)
    for column in others:
        differing = changed_values(matched, column, hidden, is_label=column in labels)
        changes += value_changes(matched, differing, {"table": name, "column": column}, detail)
    num_beyond = sum(change.get("beyond") is True for change in changes)
    verdict = (
        f"{num_beyond:,} of {plural(num_judged, 'number')} with an interval moved beyond it"
        if num_judged
        else "it has no numbers with an interval"
    )
    return [_differs(name, matched.before.height, matched.after.height, verdict, num_beyond, num_judged), *changes]


def _comparable(matched: Matched, labels: set[str]) -> tuple[dict[str, tuple[str, str] | None], list[str]]:
    """The columns of numbers, each with those of the ends of its interval; and the columns of anything else."""
    kinds = [matched.before.schema, matched.after.schema]
    both = [name for name in kinds[1] if name in kinds[0] and name not in {*matched.keys, "status"}]
    alike = [name for name in both if kinds[0][name] == kinds[1][name] or _are_numbers(name, kinds)]
    numbers = [name for name in alike if _are_numbers(name, kinds) and name not in labels]
    intervals = interval_columns(numbers)
    about = {end for ends in intervals.values() for end in ends}
    about |= {f"{name}_{ending}" for name in intervals for ending in SPREAD}
    others = [name for name in alike if name not in numbers]
    return {name: intervals.get(name) for name in numbers if name not in about}, others


def _are_numbers(name: str, kinds: list[pl.Schema]) -> bool:
    return all(kind[name].is_numeric() for kind in kinds)


def _columns(name: str, matched: Matched) -> Iterator[Change]:
    """Columns that came, are gone or are of another type."""
    before, after = matched.before.schema, matched.after.schema
    for column in dict.fromkeys([*after, *before]):
        kinds = [None if side.get(column) is None else str(side[column]) for side in (before, after)]
        if kinds[0] == kinds[1]:
            continue
        verdict = (
            "is new" if kinds[0] is None else "is gone" if kinds[1] is None else f"was {kinds[0]}, is {kinds[1]} now"
        )
        texts = {"text_before": kinds[0], "text_after": kinds[1], "sentence": f"{name}: column {column} {verdict}."}
        yield {"kind": "column", "table": name, "column": column} | texts


def _gone_and_come(name: str, matched: Matched, detail: Detail) -> Iterator[Change]:
    """Rows that only one of the tables has: each if they are few, or else one row for all that went or came."""
    for rows, named, has_come in ((matched.gone, matched.named_gone, False), (matched.came, matched.named_came, True)):
        num_listed = rows.len() if rows.len() <= detail.max_listed else 1
        for row in range(num_listed):
            num = 1 if num_listed == rows.len() else rows.len()
            yield _row(name, named(row), num, has_come)


def _row(name: str, row: dict[str, str], num: int, has_come: bool) -> Change:
    what = f"row {row['row']}" if num == 1 else f"{plural(num, 'row')}, such as {row['row']},"
    text = {"text_after" if has_come else "text_before": row["row"]}
    verb = "came" if has_come else "is gone" if num == 1 else "are gone"
    return {"kind": "row", "table": name, "num_changed": num, "sentence": f"{name}: {what} {verb}."} | row | text
