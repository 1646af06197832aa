"""What leaves a run beside its tables: clusters and canonical rows in files, and all of it in databases."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO

import polars as pl
import pyarrow as pa
from pyarrow import fs

from tiltmeter.jobs.report.exports import inert
from tiltmeter.jobs.report.grids import count, grid, text
from tiltmeter.jobs.report.html.elements import Block
from tiltmeter.jobs.report.wording import plural
from tiltmeter.jobs.resolution.canonical import ROWS, arrow, check_canonical
from tiltmeter.jobs.resolution.config import RecordScorer, ResolutionRun
from tiltmeter.jobs.resolution.graphs import Graph, Resolution, files_of, read_sources
from tiltmeter.jobs.resolution.tables import CanonicalCells, Ledger
from tiltmeter.operators.resolution.ids import as_ids
from tiltmeter.operators.resolution.records.canonical import CLUSTER_ID
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.databases.duckdb import check_duckdb, write_duckdb
from tiltmeter.storage.databases.postgres import check_postgres, column_names, write_postgres
from tiltmeter.storage.databases.tables import Change, State, Table, check_text
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.streaming import pieces
from tiltmeter.storage.store.tables import Writer, write_file, write_parquet

_LABELS = ("cluster", "cluster_id", "component")
_KEYS = {"clusters": ["record"], "canonical": [CLUSTER_ID], "cells": [CLUSTER_ID, "field"]}
"""Of the tables that databases get."""


def export_clusters(run: Resolution, graphs: Mapping[str, Graph]) -> None:
    """Write ``exports/clusters.csv``: each record with its cluster and its component.

    Messy records have all their columns, and those of a cluster follow each other; no text is a formula.
    """

    # A write may be tried again, from the first part.
    def write(sink: IO[bytes] | pa.NativeFile) -> None:
        for number, part in enumerate(_exported(run, graphs)):
            sink.write(part.with_columns(inert(pl.col(pl.String))).write_csv(include_header=number == 0).encode())

    place = run.directory.export("clusters.csv")
    write_file(fs.LocalFileSystem(), str(place), write, setting="run_dir=<path>")
    run.console.print(f"records with their clusters: {place}", soft_wrap=True, highlight=False)


def _exported(run: Resolution, graphs: Mapping[str, Graph]) -> Iterable[pl.DataFrame]:
    config, refs = run.config, [graph["clusters"] for graph in graphs.values()]
    clusters = (pl.DataFrame(piece).rename({"id": "cluster_id"}) for piece in pieces(run.runner.store, refs))
    if config.records is not None:
        files = {name: file.identity for name, file in run.sources.files.items()}
        return [with_clusters(read_sources(files_of(files)), pl.concat(clusters), config.records)]
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


def export_canonical(run: Resolution, graph: Graph) -> None:
    """Write ``exports/canonical.parquet``, with the types of the records, and ``exports/canonical.csv``, if asked."""
    if ROWS in graph:
        rows = run.runner.store.read(graph[ROWS])
        texts = pl.DataFrame(rows).with_columns(inert(pl.col(pl.String))).write_csv().encode()
        writers: dict[str, Writer] = {"parquet": partial(write_parquet, [rows]), "csv": lambda sink: sink.write(texts)}
        for ending, write in writers.items():
            place = str(run.directory.export(f"canonical.{ending}"))
            write_file(fs.LocalFileSystem(), place, write, setting="run_dir=<path>")


# --- databases ------------------------------------------------------------------------------------------------------


def check_exports(config: ResolutionRun, files: Mapping[str, FoundFile]) -> None:
    """Whether there can be canonical rows, and databases that take them, before any work.

    Raises:
        InputError, StorageError: naming the setting, column, record or database that does not fit.
    """
    export, names, texts = config.export, [CLUSTER_ID], pl.DataFrame()
    if config.records is not None and config.canonical is not None:
        id_column = config.records.id
        uris = files_of({name: file.identity for name, file in files.items()})
        rows = check_canonical(uris, id_column, config.canonical)
        names += config.canonical.columns
        texts = rows.select(as_ids(rows[id_column]).alias("record"), *map(pl.col, config.canonical.columns))
    if export.postgres is not None:
        column_names(names)
        check_text(texts, "record")
        check_postgres(export.postgres, export.schema, [*_KEYS])
    if export.duckdb is not None:
        check_duckdb(export.duckdb, export.schema, [*_KEYS], names)


def export_databases(run: Resolution, graph: Graph) -> None:
    """Bring each database to what the run has found, whole or not at all, and record what changed there.

    Raises:
        InputError, StorageError: if one does not take it; it stays as it was.
    """
    export = run.config.export
    changes: dict[str, list[Change]] = {}
    if export.postgres is not None:
        state = _state(run, graph)
        check_text(pl.DataFrame(state.tables[0].rows), "record")
        changes[redacted(export.postgres)] = write_postgres(export.postgres, export.schema, state)
    if export.duckdb is not None:
        changes[Path(export.duckdb).name] = write_duckdb(export.duckdb, export.schema, _state(run, graph))
    for place, tables in changes.items():
        num = sum(table.num_changed + table.num_removed for table in tables)
        outcome = f"{plural(num, 'row')} written or removed" if num else "all of it was there already"
        run.console.print(f"{place}: {outcome}", soft_wrap=True, highlight=False)
    if changes:
        run.directory.record["databases"] = [
            {"place": place, **table._asdict()} for place, tables in changes.items() for table in tables
        ]


def _state(run: Resolution, graph: Graph) -> State:
    """Clusters, a row for each, its cells, and of the ledger what is not as it was."""
    store = run.runner.store
    clusters = pl.DataFrame(store.read(graph["clusters"].select("record", "id"))).rename({"id": CLUSTER_ID})
    ids = clusters.select(pl.col(CLUSTER_ID).unique().sort())
    cells, ledger = (
        pl.DataFrame(store.read(graph[kind.table_name]) if kind.table_name in graph else kind.schema().empty_table())
        for kind in (CanonicalCells, Ledger)
    )
    is_moved = (pl.col("event") != "kept") | (pl.col("num_before") != pl.col("num_after"))
    frames = [
        clusters.sort("record"),
        pl.DataFrame(store.read(graph[ROWS])) if ROWS in graph else ids,
        cells.drop("graph").rename({"id": CLUSTER_ID}),
    ]
    tables = [Table(name, arrow(frame), _KEYS[name]) for name, frame in zip(_KEYS, frames, strict=True)]
    moves = ledger.filter(is_moved).select("before", "after", "event", "num_records")
    return State(tables, arrow(moves), run.config.job.name)


def export_section(run: Resolution) -> Iterator[Block]:
    """What went to which database."""
    if run.config.export.duckdb or run.config.export.postgres:
        caption = "What each database has now, and what this run wrote and removed in its one transaction."
        counts = (count("num_rows"), count("num_changed", "written"), count("num_removed"))
        yield grid(caption, run.directory.record["databases"], text("place", "database"), "table", *counts)
