"""What changed between two runs: in sentences, and as sections of a page."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from tiltmeter.jobs.changes.wording import amount, with_interval
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import isolated, plural

_CIRCUMSTANCES = ("setting", "input", "version")
_ROWS = ("table", "column", "row", "status")
_MOST_NUMBERS = 20
_MOST_LISTED = 50


def changes_since(changes: pl.DataFrame, num_tables: int, since: str | None) -> Section:
    """The section of a job's page that says what changed since an earlier run.

    Args:
        changes: table ``changes``; without rows if there is no earlier run.
        num_tables: tables that both runs have.
        since: when the earlier run started; None if there is none.
    """
    title = "What changed since the last run"
    if since is None:
        text = "This is the first run of its kind in this store: there is no earlier one to compare it with."
        return Section("changes", title, [Paragraph(text)])
    found = Paragraph(
        f"The last run that asked the same and succeeded started at {since}. {_first(changes, num_tables)}"
    )
    others = change_findings(changes, num_tables)[1:]
    return Section("changes", title, [found, *([Bullets(others)] if others else []), *_blocks(changes)])


def changes_of(name: str, changes: pl.DataFrame) -> Section:
    """The section of a night's page that says what changed in one of its jobs.

    Args:
        name: of the job in the list.
        changes: its rows of the table ``changes``.
    """
    return Section(f"changes-{name}", f"What changed: {name}", [Bullets(change_findings(changes)), *_blocks(changes)])


def change_findings(changes: pl.DataFrame, num_tables: int | None = None) -> list[str]:
    """What changed, in sentences: the numbers first, then rows, then settings, inputs and versions.

    Args:
        changes: table ``changes``.
        num_tables: tables that both runs have, if that is known.
    """
    if changes.is_empty():
        return [_first(changes, num_tables)]
    of_tables = [_first(changes, num_tables), *_largest(changes), *_not_compared(changes), *_rows(changes)]
    return [*of_tables, _circumstances(changes)]


def change_sections(changes: pl.DataFrame) -> list[Section]:
    """The largest moves, what came and went, and what differs in how the runs were made; those that there are."""
    beyond = changes.filter("beyond").sort("half_widths", descending=True, nulls_last=True, maintain_order=True)
    circumstances = changes.filter(pl.col("kind").is_in(_CIRCUMSTANCES))
    rows = changes.filter(pl.col("kind").is_in(_ROWS))
    others = changes.filter(~pl.col("kind").is_in([*_CIRCUMSTANCES, *_ROWS]), ~pl.col("beyond").fill_null(False))
    sections = [
        Section("beyond", "Numbers that moved beyond their interval", _numbers(beyond)),
        Section("circumstances", "Settings, inputs and versions", _grid(circumstances)),
        Section("rows", "Tables and rows", _sentences(rows)),
        Section("others", "Other numbers and values", _sentences(others)),
    ]
    return [section for section in sections if section.blocks]


def _blocks(changes: pl.DataFrame) -> list[Block]:
    return [block for section in change_sections(changes) for block in _under(section)]


def _under(section: Section) -> list[Block]:
    """A section as a part of another."""
    if section.anchor == "beyond":
        return list(section.blocks)
    return [Details(section.title, section.blocks)]


def _first(changes: pl.DataFrame, num_tables: int | None) -> str:
    """How many numbers moved, and how many tables differ."""
    tables = changes.filter(pl.col("kind") == "table")
    if tables.is_empty():
        which = {None: "all tables are", 1: "the table is"}.get(num_tables) or f"all {num_tables:,} tables are"
        return f"{'Nothing changed' if changes.is_empty() else 'No result changed'}: {which} identical."
    differing = tables["difference"].count()
    which = plural(differing, "table") if num_tables is None else f"{differing:,} of {plural(num_tables, 'table')}"
    told = f"{which} {'differs' if differing == 1 else 'differ'}"
    num_judged, num_beyond = (int(tables[name].sum()) for name in ("num_compared", "num_changed"))
    if not num_judged:
        return f"{told}; no number was compared that has an interval."
    far = changes.filter("beyond", pl.col("half_widths") >= 1).height
    by = f", {far:,} of them by half its width or more" if num_beyond else ""
    return f"{num_beyond:,} of {plural(num_judged, 'number')} with an interval moved beyond it{by}; {told}."


def _largest(changes: pl.DataFrame) -> list[str]:
    beyond = changes.filter("beyond").sort("half_widths", descending=True, nulls_last=True, maintain_order=True)
    return [f"The largest move: {beyond['sentence'][0]}"] if beyond.height else []


def _not_compared(changes: pl.DataFrame) -> list[str]:
    tables = changes.filter(pl.col("difference").is_not_null(), pl.col("num_compared").is_null(), kind="table")
    names = ", ".join(tables["table"])
    return [f"Not compared row by row: {names}."] if names else []


def _rows(changes: pl.DataFrame) -> list[str]:
    """How many tables and rows came, went, or have another status."""
    parts = []
    for kind, where in (("table", changes.filter(pl.col("difference").is_null())), ("row", changes)):
        found = where.filter(pl.col("kind") == kind)
        for verb, side in (("came", "text_after"), ("went", "text_before")):
            there = found.filter(pl.col(side).is_not_null())
            if num := there.height if kind == "table" else int(there["num_changed"].sum()):
                parts.append(f"{plural(num, kind)} {verb}")
    if num := int(changes.filter(pl.col("kind") == "status")["num_changed"].sum()):
        parts.append(f"{plural(num, 'row')} changed {'its' if num == 1 else 'their'} status")
    return [f"{', '.join(parts)}."] if parts else []


def _circumstances(changes: pl.DataFrame) -> str:
    counts = {kind: changes.filter(pl.col("kind") == kind).height for kind in _CIRCUMSTANCES}
    if not any(counts.values()):
        return "No setting, input or version differs."
    told = ", ".join(plural(num, kind) for kind, num in counts.items() if num)
    return f"How the runs were made differs: {told}."


def _numbers(beyond: pl.DataFrame) -> list[Block]:
    if beyond.is_empty():
        return []
    numbers = ["before", "after", "half-widths"]
    rows = [
        [row["table"], row["column"], isolated(row["row"]), *_both(row), amount(row["half_widths"])]
        for row in beyond.head(_MOST_NUMBERS).to_dicts()
    ]
    caption = "How far they moved, in half widths of the earlier interval; with the intervals of both runs in brackets."
    return [Grid(f"{caption}{_cut(beyond, _MOST_NUMBERS)}", ["table", "column", "row", *numbers], rows, numbers)]


def _both(row: dict[str, Any]) -> list[str]:
    return [with_interval(*(row[f"{side}{end}"] for end in ("", "_low", "_high"))) for side in ("before", "after")]


def _cut(rows: pl.DataFrame, most: int) -> str:
    return f" The first {most} of {rows.height:,}." if rows.height > most else ""


def _grid(circumstances: pl.DataFrame) -> list[Block]:
    if circumstances.is_empty():
        return []
    rows = [
        [row["kind"], row["item"], isolated(row["sentence"].removeprefix(f"{row['kind']} {row['item']} "))]
        for row in circumstances.head(_MOST_LISTED).to_dicts()
    ]
    caption = f"What differs in how the runs were made.{_cut(circumstances, _MOST_LISTED)}"
    return [Grid(caption, ["what", "name", "change"], rows)]


def _sentences(rows: pl.DataFrame) -> list[Block]:
    if rows.is_empty():
        return []
    texts: Sequence[str] = rows["sentence"].head(_MOST_LISTED).to_list()
    left = [f"... and {rows.height - _MOST_LISTED:,} more."] if rows.height > _MOST_LISTED else []
    return [Bullets([*texts, *left])]
