"""Times, memory, room in a store and differences, as a person plans with them."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.wording import number, plural, verb

MEGA = 1e6
_GIGA, _HOUR = 1e9, 3600.0
_MINUTE, _MINUTES_LONG = 60.0, 90.0


def total(rows: pl.DataFrame, column: str) -> float:
    """The sum of a column, as far as it is known."""
    return float(rows[column].sum())


def duration(seconds: float) -> str:
    """A time as a person plans it.

    >>> duration(0.2), duration(42.0), duration(600.0), duration(7300.0)
    ('under a second', '42 seconds', '10.0 minutes', '2.0 hours')
    """
    if seconds < 1.0:
        return "under a second"
    if seconds < _MINUTES_LONG:
        return f"{number(seconds, 0)} seconds"
    if seconds < _MINUTES_LONG * _MINUTE:
        return f"{number(seconds / _MINUTE, 1)} minutes"
    return f"{number(seconds / _HOUR, 1)} hours"


def size(num_bytes: float) -> str:
    """To three digits.

    >>> size(1_500_000_000), size(82_000)
    ('1.50 GB', '0.1 MB')
    """
    return number(num_bytes / _GIGA, 2, " GB") if num_bytes >= _GIGA else number(num_bytes / MEGA, 1, " MB")


def memory(plan: pl.DataFrame) -> Iterator[str]:
    """What the workers of a job ask for, in a sentence; nothing if none is known to start."""
    asking = plan.drop_nulls("memory_bytes").sort("memory_bytes", descending=True)
    if not asking.is_empty():
        num, each = asking["num_workers"][0], asking["memory_bytes"][0]
        yield (
            f"{size(each * num)} of memory: {plural(num, 'worker')} at once, which {verb(num, 'ask')} for {size(each)} "
            "each, as the largest stage does."
        )


def room(plan: pl.DataFrame, disk: Mapping[str, Any]) -> str:
    """What is taken in the store and on the disks of workers, in a sentence."""
    stored = f"{size(total(plan, 'stored_bytes'))} in the store"
    free = "" if disk["free_bytes"] is None else f", where {size(disk['free_bytes'])} are free"
    scratch = disk["scratch_bytes"]
    local = f"; each worker in training keeps {size(scratch)} more in cluster.scratch" if scratch else ""
    return f"{stored}{free}{local}."


def smallest(differences: pl.DataFrame) -> Iterator[str]:
    """Of the numbers with most rows, or before a first run of any."""
    planned = differences.filter(pl.col("is_planned"))
    if planned.is_empty():
        return
    row = planned.sort("num_numbers", descending=True, maintain_order=True).row(0, named=True)
    with_so_many = f"With {plural(row['replicas'], 'draw')} a difference is found in 4 of 5 cases from"
    if not row["num_numbers"]:
        smallest = number(row["smallest_unpaired"], 1)
        yield f"{with_so_many} {smallest} standard deviations on; no earlier run says what these are."
        return
    unpaired = f"{number(row['smallest_unpaired'], 3)} on between runs that share no draws"
    paired = row["smallest_paired"]
    shared = f", from {number(paired, 3)} on between runs that share them" if paired is not None else ""
    yield f"{with_so_many} {unpaired}{shared} ({row['column']} in the table {row['table']}, the middle one)."
