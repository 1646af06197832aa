"""What became of the clusters of the previous run, on the page."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.grids import Row, cell, count, grid, text
from tiltmeter.jobs.report.html.elements import Block, Paragraph
from tiltmeter.jobs.report.wording import plural
from tiltmeter.jobs.resolution.tables import LEDGER_COUNTS

_NUM_SHOWN = 20
_EVENTS = ("merged", "split", "vanished", "new", "kept")


def finding(counts: Row) -> str:
    """How many clusters kept their ids, and how many components had to be solved."""
    kept, solved = counts["num_kept"], counts["num_solved"]
    others = ", ".join(f"{counts[f'num_{event}']:,} {event}" for event in ("merged", "split", "new", "vanished"))
    return (
        f"Since the previous run {plural(kept, 'cluster')} kept {'its id' if kept == 1 else 'their ids'}, "
        f"{counts['num_unchanged']:,} of them with the same records; {others}. {plural(solved, 'component')} "
        f"{'was' if solved == 1 else 'were'} solved, {counts['num_reused']:,} taken over."
    )


def ledger(rows: pl.LazyFrame, counts: pl.DataFrame, moved: pl.LazyFrame) -> Iterator[Block]:
    """What went where, the largest first, and all counts."""
    changed = rows.filter((pl.col("event") != "kept") | (pl.col("num_before") != pl.col("num_after")))
    rank = pl.col("event").replace_strict({event: rank for rank, event in enumerate(_EVENTS)}, return_dtype=pl.Int64)
    order: list[pl.Expr | str] = [rank, -pl.col("num_records"), "before", "after"]
    chosen = changed.sort(*order).group_by("event", maintain_order=True).head(_NUM_SHOWN // len(_EVENTS))
    shown = chosen.collect(engine="streaming").sort(*order)
    if counts.is_empty():
        return
    yield Paragraph(
        "A cluster keeps its id where most of its records are: overlaps of clusters are looked at from the largest. A "
        "component is taken over if its records, their pairs and constraints, and the solver are what they were."
    )
    if shown.height:
        total = int(changed.select(pl.len()).collect().item())
        rest = (
            f"Shown: {shown.height} of {total:,}; the others are in the table ledger." if total > shown.height else ""
        )
        yield grid(
            f"Clusters that changed: their records went from one id to another. {rest}".strip(),
            shown,
            "event",
            cell("id before", lambda row: _id(row["before"]), is_numeric=True),
            cell("id after", lambda row: _id(row["after"]), is_numeric=True),
            count("num_records"),
            count("num_before", "records before"),
            count("num_after", "records after"),
        )
    yield from _moved(moved)
    sums = counts.drop("graph").sum().row(0, named=True)
    lines = [
        {"what": field.metadata[b"description"].decode(), "num": sums[field.name]}
        for field in LEDGER_COUNTS
        if field.name.startswith("num_")
    ]
    yield grid("All clusters and components.", lines, text("what"), count("num", "how many"))


def _moved(rows: pl.LazyFrame) -> Iterator[Block]:
    first = rows.head(_NUM_SHOWN).collect()
    if first.height:
        num = plural(int(rows.select(pl.len()).collect().item()), "record")
        rest = "" if first.height < _NUM_SHOWN else " The first of them; all are in the table moved_records."
        numbers = text("before", "id before", is_numeric=True), text("after", "id after", is_numeric=True)
        yield grid(f"{num} moved to a cluster of another id.{rest}", first, "record", *numbers, "event")


def _id(value: int | None) -> str:
    return "–" if value is None else str(value)
