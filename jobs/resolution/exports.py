"""Records with their cluster, in a file that a spreadsheet opens."""

from collections.abc import Iterable, Mapping
from typing import IO

import polars as pl
import pyarrow as pa
from pyarrow import fs

from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.records.config import RecordScorer
from tiltmeter.jobs.resolution.solving import Partition
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.operators.resolution.ids import as_ids
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.streaming import pieces
from tiltmeter.storage.store.tables import write_file

FILE = "clusters.csv"

_LABELS = ("cluster", "cluster_id", "component")


def export_clusters(run: Run[ResolutionRun, Files], partitions: Mapping[str, Partition]) -> None:
    """Write ``exports/clusters.csv``: each record with its cluster and its component.

    Messy records have all their columns, and those of a cluster follow each other.
    """

    # A write may be tried again, from the first part.
    def write(sink: IO[bytes] | pa.NativeFile) -> None:
        for number, part in enumerate(_parts(run, partitions)):
            sink.write(part.write_csv(include_header=number == 0).encode())

    place = run.directory.export(FILE)
    write_file(fs.LocalFileSystem(), str(place), write, setting="run_dir=<path>")
    run.console.print(f"records with their clusters: {place}", soft_wrap=True, highlight=False)


def _parts(run: Run[ResolutionRun, Files], partitions: Mapping[str, Partition]) -> Iterable[pl.DataFrame]:
    config, refs = run.config, [result.clusters for result in partitions.values()]
    clusters = (pl.DataFrame(piece).rename({"id": "cluster_id"}) for piece in pieces(run.runner.store, refs))
    if config.records is not None:
        return [with_clusters(read_records(run.sources.files["records"].uri), pl.concat(clusters), config.records)]
    names = [*(["graph"] if config.mentions else []), "record", "cluster", "cluster_id", "component"]
    return (part.select(names) for part in clusters)


def with_clusters(records: pl.DataFrame, clusters: pl.DataFrame, scorer: RecordScorer) -> pl.DataFrame:
    """The records, cluster by cluster; columns that a CSV can't hold, such as lists, are left out.

    Args:
        clusters: table ``clusters``, with ``cluster_id`` for ``id``.
    """
    known = records.with_columns(as_ids(records[scorer.id]))
    flat = [column for column in known if not (column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration))]
    names = {name: f"found_{name}" if name in known.columns else name for name in _LABELS}
    labels = clusters.select(pl.col("record").alias(scorer.id), *(pl.col(name).alias(names[name]) for name in names))
    joined = pl.DataFrame(flat).join(labels, on=scorer.id, how="left", maintain_order="left")
    return joined.sort(names["cluster"], maintain_order=True).select(*names.values(), pl.exclude(*names.values()))
