"""The run whose clusters hand on their ids: found, checked, and read as far as it is the same."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.tables import Explanations
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.work import Subject
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution.lineage import NOWHERE, Contents, unchanged
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import meant_path
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.streaming import pieces

JOB = "entity_resolution"

LOOKUP = "tiltmeter lookup"

_PREFIX = "previous "

_READ = {"clusters": ("id",), "components": ("content",), "explanations": (), "ledger_counts": ("next_id",)}
"""Tables that are read of it, and columns that those of former versions lack."""

_ORDERS: Mapping[str, list[str]] = {
    "merge": ["cluster"],
    "near_miss": ["record", "cluster"],
    "split_pair": ["record", "other"],
    "joined_pair": ["record", "other"],
}
"""What explanations of each kind are sorted by, as records are numbered in the order of their ids."""

DECISIONS = list(_ORDERS)
"""Kinds of explanation that are of one component each, whatever else is asked."""


def find_previous(config: ResolutionRun) -> dict[str, FoundFile]:
    """The tables of the previous run, each named ``previous <table>``; none if there is no such run.

    Raises:
        ConfigError: for a folder that is no run, or one of another job, of a run that did not succeed, or without ids.
    """
    if config.previous is None:
        return {}
    place = run_place(config.previous)
    files = {}
    for name, columns in _READ.items():
        path = place / f"{name}.parquet"
        if not path.exists() or set(columns) - set(pl.read_parquet_schema(path)):
            raise refusal(place, f"has no ids in its table {name}, as of an earlier version; run it again")
        files[f"{_PREFIX}{name}"] = find_file(str(path), "previous")
    return files


def run_place(path: str, setting: str = "previous") -> Path:
    """The directory of a run of this job that succeeded.

    Args:
        setting: that names it, for messages.

    Raises:
        ConfigError: if it is none.
    """
    place = Path(path).expanduser().absolute()
    record = _record(place, setting)
    if record.get("job") != JOB:
        raise refusal(place, f"is a run of {record.get('job')}; name one of {JOB}", setting)
    if record.get("status") != "succeeded":
        raise refusal(place, f"has the status {record.get('status')!r}; name a run that succeeded", setting)
    return place


def _record(place: Path, setting: str) -> dict[str, Any]:
    try:
        record = json.loads((place / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise refusal(
            place, f"is no run directory: its run.json can't be read ({error}){meant_path(str(place))}", setting
        ) from None
    if not isinstance(record, dict):
        raise refusal(place, "is no run directory: its run.json is of another program", setting)
    return record


def refusal(place: Path, reason: str, setting: str = "previous") -> ConfigError:
    """What is wrong with the run that a setting, or the command :data:`LOOKUP`, names."""
    if setting == LOOKUP:
        return ConfigError(f"{LOOKUP} {place}: {reason}")
    return ConfigError(f"{setting}={place}: {reason}, or leave {setting} out")


class Earlier(NamedTuple):
    """What the previous run says of the records of a graph.

    Attributes:
        cluster, component, id: ``[records]`` int64, of each; ``NOWHERE`` for a record that it did not have.
        gone: ids of the clusters of each record that is there no more.
    """

    cluster: IntArray
    component: IntArray
    id: IntArray
    gone: IntArray


@dataclass(frozen=True)
class Previous(Subject):
    """The previous run.

    Attributes:
        tables: what :attr:`FoundFile.identity` says of each, by name; empty if there is no such run.
    """

    tables: Mapping[str, Mapping[str, Any]]

    @classmethod
    def among(cls, files: Mapping[str, FoundFile]) -> "Previous":
        """That whose tables :func:`find_previous` has found."""
        tables = {name.removeprefix(_PREFIX): file for name, file in files.items() if name.startswith(_PREFIX)}
        return cls({name: file.identity for name, file in tables.items()})

    @property
    def identity(self) -> Mapping[str, Any]:
        """Settings of every unit that looks back at it."""
        return {"previous": self.tables}

    def rows(self, table: str, graph: str, columns: Sequence[str]) -> pl.DataFrame:
        """Columns of the rows of a graph in a table."""
        scan = pl.scan_parquet(self.tables[table]["uri"], glob=False)
        return scan.filter(pl.col("graph").cast(pl.String) == graph).select(columns).collect()

    def next_id(self, graph: str) -> int:
        """The first id that it and those before it have not given."""
        counts = self.rows("ledger_counts", graph, ["next_id"]) if self.tables else pl.DataFrame()
        return int(counts["next_id"][0]) if counts.height else 0

    def labels(self, graph: str, records: pl.Series) -> Earlier:
        """The clusters, components and ids that records had; records are told by their ids alone."""
        if not self.tables:
            nobody = np.full(records.len(), NOWHERE)
            return Earlier(nobody, nobody, nobody, np.empty(0, dtype=np.int64))
        rows = self.rows("clusters", graph, ["record", "cluster", "component", "id"])
        labels = rows.drop("record")
        is_gone = np.zeros(rows.height, dtype=np.bool_)
        if not rows["record"].equals(records):  # on most nights they are the same, and nothing has to be looked up
            known = rows.select("record").with_row_index("place")
            frame = records.alias("record").to_frame()
            places = frame.join(known, on="record", how="left", maintain_order="left")["place"]
            labels = labels.select(pl.all().gather(places).fill_null(NOWHERE))
            is_gone[:] = True
            is_gone[places.drop_nulls().to_numpy()] = False
        cluster, component, id_ = (labels[name].to_numpy() for name in ("cluster", "component", "id"))
        return Earlier(cluster, component, id_, rows["id"].to_numpy()[is_gone])

    def unchanged(self, graph: str, records: pl.Series, component: IntArray, contents: IntArray) -> IntArray:
        """``[components]``, the number that an unchanged component had in it; ``NOWHERE`` for the others.

        Args:
            component: ``[records]``, of each, now.
            contents: ``[components]``, what stands for each.
        """
        rows = self.rows("components", graph, ["component", "content", "num_records"])
        earlier = Contents(*(column.to_numpy() for column in rows))
        return unchanged(self.labels(graph, records).component, earlier, component, contents)

    def explanations(self, graph: str, clusters: pa.Table, reused: IntArray) -> pl.DataFrame:
        """What it explained of components that did not change, with their numbers of now.

        Args:
            clusters: table ``clusters``. In such components, clusters have the ids that they had.
            reused: ``[components]``, the number that each had in it; ``NOWHERE`` for one that changed.
        """
        before = self.rows("clusters", graph, ["cluster", "id"])
        rows = self.rows("explanations", graph, Explanations.schema().names).filter(pl.col("kind").is_in(DECISIONS))
        same = np.flatnonzero(reused != NOWHERE)
        rows = rows.with_columns(_mapped(rows["component"], reused[same], same)).filter(pl.col("component") != NOWHERE)
        ids = _mapped(rows["cluster"], before["cluster"].to_numpy(), before["id"].to_numpy())
        return rows.with_columns(_mapped(ids, clusters["id"].to_numpy(), clusters["cluster"].to_numpy()))

    def check_fits(self, store: Store, records: Mapping[str, TableRef]) -> None:
        """Whether it has any record of these graphs.

        Args:
            records: of each graph, the table with its records.

        Raises:
            ConfigError: if not.
        """
        if not self.tables:
            return
        uri = self.tables["clusters"]["uri"]
        for name, ref in records.items():
            before = pl.scan_parquet(uri, glob=False).filter(pl.col("graph").cast(pl.String) == name)
            for piece in pieces(store, [ref]):
                known = before.filter(pl.col("record").is_in(pl.Series(piece["record"]).implode()))
                if known.head(1).collect(engine="streaming").height:
                    return
        raise refusal(Path(uri).parent, "none of its records is in this run: are their ids written alike?")


def _mapped(numbers: pl.Series, before: IntArray, now: IntArray) -> pl.Series:
    """What is now in place of each number; ``NOWHERE`` if nothing is. Null stays null: a pair apart has no cluster."""
    values = np.full(int(max(before.max(initial=-1), numbers.max() or 0)) + 1, NOWHERE)
    values[before] = now
    return pl.Series(numbers.name, values).gather(numbers)


def join_in_order(part: pa.Table, rows: pl.DataFrame, kind: str) -> pa.Table:
    """The explanations of a kind that are new and those that were kept, in the order that all would have."""
    both = pl.concat([pl.DataFrame(part), rows.filter(kind=kind)])
    return both.sort(_ORDERS[kind]).to_arrow().cast(Explanations.schema())
