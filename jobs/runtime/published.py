"""The tables that a run has published, of which no more is read than what is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.storage.store.runs import RunDirectory, parts_of
from tiltmeter.storage.store.tables import with_labels


class PublishedTable(NamedTuple):
    """A table, of which only the columns and rows are read that a query needs.

    Attributes:
        rows: all of them.
        schema: with the documentation of the columns.
    """

    rows: pl.LazyFrame
    schema: pa.Schema

    @classmethod
    def read(cls, run_dir: Path, name: str) -> Self:
        """A table of a run directory, whether it is one file or a folder."""
        parts = parts_of(run_dir, name)
        by_labels = groupby(parts, lambda part: part.labels)
        scans = [_labelled([part.path for part in group], labels) for labels, group in by_labels]
        schema = with_labels(pq.read_schema(parts[0].path).empty_table(), parts[0].labels).schema
        return cls(scans[0] if len(scans) == 1 else pl.concat(scans), schema)

    def by_status(self) -> dict[str, int]:
        """How many rows there are of each status."""
        return dict(self.rows.group_by("status").len().collect(engine="streaming").rows())

    def commonest_reasons(self) -> list[tuple[str, str, int, int]]:
        """Of each status but ``ok``: it, the reason that most rows give, how many do, and how many have the status."""
        counts = self.rows.filter(pl.col("status") != "ok").group_by("status", "reason").len()
        most = counts.sort("status", "len", "reason", descending=[False, True, False], nulls_last=True)
        reasons = most.group_by("status", maintain_order=True).agg(
            pl.col("reason", "len").first(), pl.col("len").sum().alias("total")
        )
        return [row for row in reasons.collect(engine="streaming").rows() if row[1]]


def _labelled(paths: Sequence[Path], labels: Mapping[str, str]) -> pl.LazyFrame:
    columns = [pl.lit(value).alias(name) for name, value in labels.items()]
    return pl.scan_parquet(list(paths), hive_partitioning=False, glob=False).select(*columns, pl.all())


def published_tables(directory: RunDirectory) -> dict[str, PublishedTable]:
    """The tables that a run has published so far, by name."""
    return {name: PublishedTable.read(directory.path, name) for name, entry in directory.tables.items() if entry}


class Frames(Mapping[str, pl.DataFrame]):
    """Published tables by name; each is read when it is asked for, and then kept.

    Args:
        tables: by name, in the order in which the job declares them.
    """

    def __init__(self, tables: Mapping[str, pl.LazyFrame]) -> None:
        self._tables = tables
        self._read: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        """The table of a name, whole."""
        if name not in self._read:
            self._read[name] = self._tables[name].collect(engine="streaming")
        return self._read[name]

    def scan(self, name: str) -> pl.LazyFrame:
        """The table of a name, of which a query reads what it needs; one with millions of rows is read like this."""
        return self._tables[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is such a table, which does not read it."""
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        """The names of the tables."""
        return iter(self._tables)

    def __len__(self) -> int:
        """How many tables there are."""
        return len(self._tables)
