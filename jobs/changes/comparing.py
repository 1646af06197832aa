"""What differs between two runs: settings, inputs, versions, and the rows and numbers of every table."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.changes.circumstances import circumstances
from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.differences import DrawsOfRuns, Limits, difference_rows, limits_of
from tiltmeter.jobs.changes.matching import Matched, UnmatchableError, match
from tiltmeter.jobs.changes.numbers import decided, judged_column, number_changes
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.changes.tables import Changes, Differences
from tiltmeter.jobs.changes.values import changed_values, status_changed, status_changes, value_changes
from tiltmeter.jobs.runtime.columns import SPREAD, interval_columns
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import table_from
from tiltmeter.jobs.runtime.wording import plural

NO_ROW = "no row of it is in both runs"
"""How a sentence begins to say why nothing of a table was compared."""

_LABEL = "label"
"""Unit of numbers that only tell which rows belong together."""


class Comparison:
    """Two runs, table by table.

    Tables whose digests are equal are not read, nor are those that are too large; each of the others is read once.

    Args:
        before, after: the earlier run and the later one; they may be of different jobs.
        detail: how finely differences are listed; None: as usual.
    """

    def __init__(self, before: PastRun, after: PastRun, detail: Detail | None = None) -> None:
        self.before, self.after = before, after
        self._detail, self._draws = detail or Detail(), DrawsOfRuns(before, after)

    @cached_property
    def _tables(self) -> list["_ComparedTable | Changes"]:
        """Those that differ, and what is said of those that can't be compared row by row."""
        names = dict.fromkeys([*self.after.tables, *self.before.tables])
        return [table for name in names for table in _table(name, self.before, self.after, self._detail, self._draws)]

    @property
    def _compared(self) -> list["_ComparedTable"]:
        return [table for table in self._tables if isinstance(table, _ComparedTable)]

    @property
    def p_values(self) -> list[pl.DataFrame]:
        """Columns ``p`` and ``p_texts`` of all numbers, some at a time."""
        return [numbers.select(Limits._fields) for table in self._compared for numbers in table.numbers.values()]

    def changes(self, limits: Limits | None = None) -> pa.Table:
        """The table ``changes``: a row that says that a table differs, and rows for what differs in it.

        Args:
            limits: of numbers that moved; None: by the numbers of these two runs.
        """
        limit = (limits or limits_of(self.p_values)).p
        changes = circumstances(self.before, self.after)
        for table in self._tables:
            changes += table.changes(limit, self._detail) if isinstance(table, _ComparedTable) else [table]
        return table_from(changes, Changes, pa.Table.from_pylist)

    def differences(self) -> pa.Table:
        """The table ``differences``, without ``q``, and with verdicts of those numbers only that have no p-value."""
        rows = [row for table in self._compared for row in table.differences()]
        return table_from(rows, Differences, pa.Table.from_pylist)


def compare(before: PastRun, after: PastRun, detail: Detail | None = None) -> pa.Table:
    """The table ``changes`` of two runs; see :class:`Comparison`."""
    return Comparison(before, after, detail).changes()


def common_tables(before: PastRun, after: PastRun) -> list[str]:
    """The names of the tables that both runs published."""
    return [name for name in after.tables if name in before.tables]


def _table(
    name: str, before: PastRun, after: PastRun, detail: Detail, draws: DrawsOfRuns
) -> list["_ComparedTable | Changes"]:
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
        matched = match(*tables, detail.aliases)
    except UnmatchableError as error:
        return [_differs(name, *counts, f"{error}, so they were not compared")]
    return [_ComparedTable(name, matched, _labels(tables[1].schema), draws)]


def _came_or_went(name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Changes:
    was, now = (None if entry is None else plural(entry["rows"], "row") for entry in (before, after))
    verdict = f"is new, with {now}" if before is None else f"is gone; it had {was}"
    change = Changes(kind="table", table=name, text_before=was, text_after=now, sentence=f"table {name} {verdict}.")
    change.before, change.after = (None if entry is None else entry["rows"] for entry in (before, after))
    return change


def _differs(
    name: str, before: int, after: int, verdict: str, num_beyond: int | None = None, num_judged: int | None = None
) -> Changes:
    """That a table differs; without numbers of numbers if its rows could not be compared."""
    rows = f"{plural(before, 'row')} as before" if before == after else f"{plural(after, 'row')}, before {before:,}"
    change = Changes(kind="table", table=name, before=before, after=after, difference=after - before)
    change.num_changed, change.num_compared = num_beyond, num_judged
    change.text_before, change.text_after = plural(before, "row"), plural(after, "row")
    change.sentence = f"table {name} differs ({rows}): {verdict}."
    return change


def _labels(schema: pa.Schema) -> set[str]:
    return {field.name for field in schema if (field.metadata or {}).get(b"unit") == _LABEL.encode()}


@dataclass(frozen=True)
class _ComparedTable:
    """A table of both runs whose rows were matched.

    Attributes:
        labels: columns that only tell which rows belong together.
    """

    name: str
    matched: Matched
    labels: set[str]
    draws: DrawsOfRuns

    @cached_property
    def _comparable(self) -> tuple[dict[str, tuple[str, str] | None], list[str]]:
        return _comparable(self.matched, self.labels)

    @cached_property
    def numbers(self) -> dict[str, pl.DataFrame]:
        """Of each column of numbers, how far they moved, before any correction."""
        return {
            column: self.draws.judged(self.name, column, self.matched, judged_column(self.matched, column, interval))
            for column, interval in self._comparable[0].items()
        }

    def changes(self, most_p: float, detail: Detail) -> list[Changes]:
        """What differs in its rows, after a row that says that it differs."""
        name, matched, hidden = self.name, self.matched, status_changed(self.matched)
        changes = [*_columns(name, matched), *_gone_and_come(name, matched, detail)]
        changes += status_changes(matched, name, detail)
        num_judged = 0
        for column, numbers in self.numbers.items():
            verdicts = decided(numbers, most_p)
            num_judged += verdicts["beyond"].count()
            changes += number_changes(matched, verdicts, {"table": name, "column": column}, hidden, detail)
        for column in self._comparable[1]:
            differing = changed_values(matched, column, hidden, is_label=column in self.labels)
            changes += value_changes(matched, differing, {"table": name, "column": column}, detail)
        return [self._verdict(sum(change.beyond is True for change in changes), num_judged), *changes]

    def _verdict(self, num_beyond: int, num_judged: int) -> Changes:
        verdict = f"{num_beyond:,} of {plural(num_judged, 'number')} with an interval moved beyond it"
        if not num_judged:
            is_apart = self.matched.pairs.is_empty() and self.matched.gone.len() and self.matched.came.len()
            verdict = f"{NO_ROW}{_advice(self.matched)}" if is_apart else "it has no numbers with an interval"
        heights = self.matched.before.height, self.matched.after.height
        return _differs(self.name, *heights, verdict, num_beyond, num_judged)

    def differences(self) -> Iterator[Differences]:
        """Of every number with an interval."""
        for column, interval in self._comparable[0].items():
            if interval:
                yield from difference_rows(self.matched, self.name, column, self.numbers[column])


def _advice(matched: Matched) -> str:
    """Which setting holds the rows against each other."""
    pairs = [": ".join(map(_as_setting, pair)) for pair in matched.apart.items()]
    setting = f"'job.aliases={{{', '.join(pairs)}}}' of job=compare"
    return (
        f"; to hold rows against each other that have other names in the two, set for example {setting}"
        if pairs
        else ""
    )


def _as_setting(name: str) -> str:
    """A value as the command line reads it."""
    return name if re.fullmatch(r"[\w/.-]+", name) else json.dumps(name, ensure_ascii=False)


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


def _columns(name: str, matched: Matched) -> Iterator[Changes]:
    """Columns that came, are gone or are of another type."""
    before, after = matched.before.schema, matched.after.schema
    for column in dict.fromkeys([*after, *before]):
        kinds = [None if side.get(column) is None else str(side[column]) for side in (before, after)]
        if kinds[0] == kinds[1]:
            continue
        verdict = (
            "is new" if kinds[0] is None else "is gone" if kinds[1] is None else f"was {kinds[0]}, is {kinds[1]} now"
        )
        change = Changes(kind="column", table=name, column=column, text_before=kinds[0], text_after=kinds[1])
        change.sentence = f"{name}: column {column} {verdict}."
        yield change


def _gone_and_come(name: str, matched: Matched, detail: Detail) -> Iterator[Changes]:
    """Rows that only one of the tables has: each if they are few, or else one row for all that went or came."""
    for rows, named, has_come in ((matched.gone, matched.named_gone, False), (matched.came, matched.named_came, True)):
        num_listed = rows.len() if rows.len() <= detail.max_listed else 1
        for row in range(num_listed):
            num = 1 if num_listed == rows.len() else rows.len()
            yield _row(name, named(row), num, has_come)


def _row(name: str, row: Row, num: int, has_come: bool) -> Changes:
    what = f"row {row['row']}" if num == 1 else f"{plural(num, 'row')}, such as {row['row']},"
    text: Row = {"text_after" if has_come else "text_before": row["row"]}
    verb = "came" if has_come else "is gone" if num == 1 else "are gone"
    return Changes(kind="row", table=name, num_changed=num, sentence=f"{name}: {what} {verb}.", **row, **text)
