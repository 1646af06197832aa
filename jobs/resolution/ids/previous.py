"""The run whose clusters hand on their ids: found, checked, and read as far as it is the same."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.compute.arrays import BoolArray, IntArray
from tiltmeter.operators.resolution.lineage import NOWHERE
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.streaming import pieces

_READ = {"clusters": ("id",), "components": ("content",), "explanations": (), "ledger_counts": ("next_id",)}
"""Tables that are read of it, and columns that those of former versions lack."""


def find_previous(config: ResolutionRun) -> dict[str, FoundFile]:
    """The tables of the previous run, each named ``previous <table>``; none if there is no such run.

    Raises:
        ConfigError: for a folder that is no run, or one of another job, of a run that did not succeed, or without ids.
    """
    if config.previous is None:
        return {}
    place = Path(config.previous).expanduser().absolute()
    record = _record(place)
    if record.get("job") != config.job.name:
        raise _refusal(place, f"is a run of {record.get('job')}; name one of {config.job.name}")
    if record.get("status") != "succeeded":
        raise _refusal(place, f"has the status {record.get('status')!r}; name a run that succeeded")
    files = {}
    for name, columns in _READ.items():
        path = place / f"{name}.parquet"
        if not path.exists() or set(columns) - set(pl.read_parquet_schema(path)):
            raise _refusal(place, f"has no ids in its table {name}, as of an earlier version; run it again")
        files[f"previous {name}"] = find_file(str(path), "previous")
    return files


def _record(place: Path) -> dict[str, Any]:
    try:
        record = json.loads((place / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _refusal(place, f"is no run directory: its run.json can't be read ({error})") from None
    if not isinstance(record, dict):
        raise _refusal(place, "is no run directory: its run.json is of another program")
    return record


def _refusal(place: Path, reason: str) -> ConfigError:
    return ConfigError(f"previous={place}: {reason}, or leave previous out")


def check_fits(store: Store, records: Mapping[str, TableRef], files: Mapping[str, FoundFile]) -> None:
    """Whether the previous run has any record of these graphs.

    Args:
        records: of each graph, the table with its records.

    Raises:
        ConfigError: if not.
    """
    if "previous clusters" not in files:
        return
    uri = files["previous clusters"].uri
    for name, ref in records.items():
        before = pl.scan_parquet(uri, glob=False).filter(pl.col("graph").cast(pl.String) == name)
        for piece in pieces(store, [ref]):
            known = before.filter(pl.col("record").is_in(pl.Series(piece["record"]).implode()))
            if known.head(1).collect(engine="streaming").height:
                return
    raise _refusal(Path(uri).parent, "none of its records is in this run: are their ids written alike?")


Identity = Mapping[str, Mapping[str, Any]]
"""What :meth:`FoundFile.identity` says of the tables of the previous run, by their names; empty without one."""


def previous_tables(files: Mapping[str, FoundFile]) -> Identity:
    """Of what was found, the tables of the previous run, as units know them."""
    return {
        name.removeprefix("previous "): file.identity for name, file in files.items() if name.startswith("previous ")
    }


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


def earlier_labels(previous: Identity, graph: str, records: pl.Series) -> Earlier:
    """The clusters, components and ids that records had; records are told by their ids alone."""
    rows = rows_of(previous, "clusters", graph, ["record", "cluster", "component", "id"])
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


def rows_of(previous: Identity, table: str, graph: str, columns: Sequence[str]) -> pl.DataFrame:
    """Columns of the rows of a graph in a table of the previous run."""
    scan = pl.scan_parquet(previous[table]["uri"], glob=False)
    return scan.filter(pl.col("graph").cast(pl.String) == graph).select(columns).collect()


def next_id(previous: Identity, graph: str) -> int:
    """The first id that the previous run and those before it have not given."""
    counts = rows_of(previous, "ledger_counts", graph, ["next_id"])
    return int(counts["next_id"][0]) if counts.height else 0


def unchanged(earlier: Earlier, component: IntArray, contents: IntArray, rows: pl.DataFrame) -> IntArray:
    """``[components]``, the number that an unchanged component had in the previous run; ``NOWHERE`` for the others.

    It has the same records, and pairs and solver of the same content.

    Args:
        component: ``[records]``, of each, now.
        contents: ``[components]``, what stands for each.
        rows: of the previous run's ``components``.
    """
    sizes = np.bincount(component)
    places = rows["component"].to_numpy()
    old_contents, old_sizes = (np.full(int(places.max(initial=0)) + 2, NOWHERE) for _ in range(2))
    old_contents[places], old_sizes[places] = rows["content"].to_numpy(), rows["num_records"].to_numpy()
    candidates = np.full(sizes.size, NOWHERE)
    candidates[component] = earlier.component
    agreeing = np.bincount(component[earlier.component == candidates[component]], minlength=sizes.size)
    same: BoolArray = (
        (candidates != NOWHERE)
        & (agreeing == sizes)
        & (old_sizes[candidates] == sizes)
        & (old_contents[candidates] == contents)
    )
    return np.where(same, candidates, NOWHERE)
