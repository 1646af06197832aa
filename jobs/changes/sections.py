"""What changed between two runs: in sentences, and as sections of a page."""

from collections.abc import Sequence

import polars as pl

from tiltmeter.jobs.changes.comparing import NO_ROW
from tiltmeter.jobs.changes.differences import MOVED, MOVED_IN_TEXTS, STAYED
from tiltmeter.jobs.changes.wording import amount, half_widths_text, with_interval
from tiltmeter.jobs.report.grids import Column, Row, cell, grid, p_value, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Paragraph, Section
from tiltmeter.jobs.report.wording import isolated, listed, plural

_CIRCUMSTANCES = ("setting", "input", "version")
_ROWS = ("table", "column", "row", "status")
_WAYS = {
    "replicas": "were judged over replicas that draw alike in both runs",
    "items": "over the same texts or records, drawn alike",
    "unpaired": "over draws that each run has of its own",
    "none": "by the earlier interval alone, as there are no draws",
}
_MOST_NUMBERS = 20
_MOST_LISTED = 50
_MOST_NAMES = 4


def changes_since(changes: pl.DataFrame, num_tables: int, since: str | None) -> Section:
    """The section of a job's page that says what changed since an earlier run.

    Args:
        changes: table ``changes``; without rows if there is no earlier run.
        num_tables: tables that both runs have.
        since: when the earlier run started; None if there is none.
    """
    title = "What changed since the last run"
    if since is None:
        none = "This is the first run of its kind in this store: there is no earlier one to compare it with."
        return Section("changes", title, [Paragraph(none)])
    first, *others = change_findings(changes, num_tables)
    finding = Paragraph(f"The last run that asked the same and succeeded started at {since}. {first}")
    return Section("changes", title, [finding, *([Bullets(others)] if others else []), *_blocks(changes)])


def changes_of(name: str, changes: pl.DataFrame) -> Section:
    """The section of a night's page that says what changed in one of its jobs.

    Args:
        name: of the job in the list.
        changes: its rows of the table ``changes``.
    """
    return Section(f"changes-{name}", f"What changed: {name}", [Bullets(change_findings(changes)), *_blocks(changes)])


# --- in sentences ---------------------------------------------------------------------------------------------------


def change_findings(changes: pl.DataFrame, num_tables: int | None = None) -> list[str]:
    """What changed, in sentences: the numbers first, then rows, then settings, inputs and versions.

    Args:
        changes: table ``changes``.
        num_tables: tables that both runs have, if that is known.
    """
    if changes.is_empty():
        return [_first(changes, num_tables)]
    largest = [f"The largest move: {sentence}" for sentence in _beyond(changes)["sentence"].head(1)]
    return [_first(changes, num_tables), *largest, *_not_compared(changes), *_rows(changes), _circumstances(changes)]


def move_of(name: str, num_judged: int, changes: pl.DataFrame) -> str:
    """The judged number of a job that moved most, in a sentence that says how many did.

    Args:
        name: of the job in the list of a night.
        num_judged: its numbers that have draws in both runs.
        changes: its rows of the table ``changes``, of which at least one is such a number that moved.
    """
    moved = _beyond(changes).drop_nulls("p")["sentence"]
    which = (
        f"the largest of {plural(moved.len(), 'number')} that did" if moved.len() > 1 else "the only number that did"
    )
    return f"{name}: {moved[0].removesuffix('.')}; {which}, of {num_judged:,} that were judged."


def _first(changes: pl.DataFrame, num_tables: int | None) -> str:
    """How many numbers moved, and how many tables differ."""
    tables = changes.filter(kind="table")
    if num_tables == 0:
        return "The runs have no table in common."
    if tables.is_empty():
        which = {None: "all tables are", 1: "the table is"}.get(num_tables) or f"all {num_tables:,} tables are"
        return f"{'Nothing changed' if changes.is_empty() else 'No result changed'}: {which} identical."
    num = tables["difference"].count()
    which = plural(num, "table") if num_tables is None else f"{num:,} of {plural(num_tables, 'table')}"
    differ = f"{which} {'differs' if num == 1 else 'differ'}"
    num_judged, num_beyond = (int(tables[name].sum()) for name in ("num_compared", "num_changed"))
    if not num_judged:
        apart = tables.filter(pl.col("sentence").str.contains(NO_ROW, literal=True))["sentence"].head(1)
        return " ".join([f"{differ}; no number was compared that has an interval.", *map(_capitalised, apart)])
    far = changes.filter("beyond", pl.col("half_widths") >= 1).height
    by = f", {far:,} of them by half its width or more" if num_beyond else ""
    if unjudged := changes.filter("beyond", pl.col("p").is_null()).height:
        by += f", and {unjudged:,} without draws to judge them by"
    return f"{num_beyond:,} of {plural(num_judged, 'number')} with an interval moved beyond it{by}; {differ}."


def _capitalised(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}"


def _beyond(changes: pl.DataFrame) -> pl.DataFrame:
    """Numbers that moved beyond their interval, the judged ones first, and of these those that moved most."""
    order = [pl.col("p").is_null(), -pl.col("half_widths")]
    return changes.filter("beyond").sort(order, nulls_last=True, maintain_order=True)


def _not_compared(changes: pl.DataFrame) -> list[str]:
    tables = changes.filter(pl.col("difference").is_not_null(), pl.col("num_compared").is_null(), kind="table")
    return [f"Not compared row by row: {', '.join(tables['table'])}."] if tables.height else []


def _rows(changes: pl.DataFrame) -> list[str]:
    """How many tables and rows came, went, or have another status."""
    num = pl.when(kind="table").then(1).otherwise("num_changed")
    rows = changes.with_columns(num.alias("num")).filter(pl.col("difference").is_null() | (pl.col("kind") != "table"))
    parts = []
    for kind in ("table", "row"):
        for verb, side in (("came", "text_after"), ("went", "text_before")):
            if total := int(rows.filter(pl.col(side).is_not_null(), kind=kind)["num"].sum()):
                parts.append(f"{plural(total, kind)} {verb}")
    if total := int(rows.filter(kind="status")["num"].sum()):
        parts.append(f"{plural(total, 'row')} changed {'its' if total == 1 else 'their'} status")
    return [f"{', '.join(parts)}."] if parts else []


def _circumstances(changes: pl.DataFrame) -> str:
    counts = {kind: changes.filter(kind=kind).height for kind in _CIRCUMSTANCES}
    differing = ", ".join(_counted(changes.filter(kind=kind)["item"], kind) for kind, num in counts.items() if num)
    return f"How the runs were made differs: {differing}." if differing else "No setting, input or version differs."


def _counted(items: pl.Series, kind: str) -> str:
    names = f" ({', '.join(items)})" if items.len() <= _MOST_NAMES else ""
    return plural(items.len(), kind) + names


def judgements(differences: pl.DataFrame) -> str:
    """In how many ways numbers were judged, in a sentence; empty if none was.

    Args:
        differences: the table.
    """
    judged = differences.filter(pl.col("verdict").is_in([MOVED, MOVED_IN_TEXTS, STAYED]))
    counts = [(phrase, judged.filter(paired_by=kind)) for kind, phrase in _WAYS.items()]
    parts = [
        f"{rows.height:,} {phrase} ({rows.filter(verdict=MOVED).height:,} moved)"
        for phrase, rows in counts
        if rows.height
    ]
    in_texts = judged.filter(verdict=MOVED_IN_TEXTS).height
    more = f" In these texts {in_texts:,} more moved, which might not in others like them." if in_texts else ""
    return f"Of {plural(judged.height, 'number')} in tables that differ, {listed(parts)}.{more}" if parts else ""


# --- as sections ----------------------------------------------------------------------------------------------------


def change_sections(changes: pl.DataFrame, differences: pl.DataFrame | None = None) -> list[Section]:
    """The largest moves, what came and went, and what differs in how the runs were made; those that there are.

    Args:
        changes: the table.
        differences: the table, for the numbers that moved in these texts.
    """
    kind = pl.col("kind")
    is_row, is_circumstance = kind.is_in(_ROWS), kind.is_in(_CIRCUMSTANCES)
    others = changes.filter(~is_row, ~is_circumstance, ~pl.col("beyond").fill_null(False))
    sections = [
        Section("beyond", "Numbers that moved beyond their interval", _numbers(_beyond(changes))),
        *([] if differences is None else moves_in_texts(differences)),
        Section("circumstances", "Settings, inputs and versions", _settings(changes.filter(is_circumstance))),
        Section("rows", "Tables and rows", _sentences(changes.filter(is_row))),
        Section("others", "Other numbers and values", _sentences(others)),
    ]
    return [section for section in sections if section.blocks]


def moves_in_texts(differences: pl.DataFrame) -> list[Section]:
    """The numbers that differ in these texts, and might not in others like them; none if there is none.

    Args:
        differences: the table, of one comparison or of a night.
    """
    moved = differences.filter(verdict=MOVED_IN_TEXTS).sort("q_texts", maintain_order=True)
    if moved.is_empty():
        return []
    caption = (
        "Numbers whose mean over replicas is another one in these texts, by more than drawing lines and training "
        "make; with the interval of what other texts like them would make of it. The surest are first."
    )
    names = [text("name", "job")] if "name" in moved.columns else []
    numbers = [
        cell("before", lambda row: amount(row["before"]), is_numeric=True),
        cell("after", lambda row: amount(row["after"]), is_numeric=True),
        cell("difference", lambda row: with_interval(row["difference"], row["low"], row["high"]), is_numeric=True),
        p_value("q_texts", "q"),
    ]
    shown = grid(caption, moved, *names, "table", "column", text("row", names=isolated), *numbers, most=_MOST_NUMBERS)
    return [Section("texts", "Numbers that moved in these texts", [shown])]


def _blocks(changes: pl.DataFrame) -> list[Block]:
    """The same as a part of a section: the largest moves, and the rest to be opened."""
    return [
        block
        for section in change_sections(changes)
        for block in (section.blocks if section.anchor == "beyond" else [Details(section.title, section.blocks)])
    ]


def _numbers(beyond: pl.DataFrame) -> list[Block]:
    if beyond.is_empty():
        return []
    half_widths = cell("half-widths", half_widths_text, is_numeric=True)
    row, both = text("row", names=isolated), (_number("before"), _number("after"))
    caption = (
        "How far they moved, in half widths of the earlier interval, unless that was exact; with the intervals of both "
        "runs in brackets."
    )
    differences = [_number("difference"), text("paired_by", "paired by")] if beyond["p"].count() else []
    return [grid(caption, beyond, "table", "column", row, *both, *differences, half_widths, most=_MOST_NUMBERS)]


def _number(name: str) -> Column:
    """Of one of the runs, or the difference, with its interval."""
    ends = (name, f"{name}_low", f"{name}_high")
    return cell(name, lambda row: with_interval(*(row[end] for end in ends)), is_numeric=True)


def _settings(circumstances: pl.DataFrame) -> list[Block]:
    if circumstances.is_empty():
        return []
    shown = text("kind", "what"), text("item", "name"), cell("change", _change)
    return [grid("What differs in how the runs were made.", circumstances, *shown, most=_MOST_LISTED)]


def _change(row: Row) -> str:
    return isolated(row["sentence"].removeprefix(f"{row['kind']} {row['item']} "))


def _sentences(rows: pl.DataFrame) -> list[Block]:
    if rows.is_empty():
        return []
    texts: Sequence[str] = rows["sentence"].head(_MOST_LISTED).to_list()
    left = [f"... and {rows.height - _MOST_LISTED:,} more."] if rows.height > _MOST_LISTED else []
    return [Bullets([*texts, *left])]
