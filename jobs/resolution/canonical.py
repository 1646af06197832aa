"""Canonical rows of messy records: the unit that chooses them, and what the page shows of them."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.report.html.elements import Block
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.resolution.graphs import (
    SOURCES,
    Graph,
    Identity,
    Resolution,
    files_of,
    read_sources,
    record_rules,
    refused,
)
from tiltmeter.jobs.resolution.tables import CanonicalCells
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.resolution.ids import as_ids, as_text
from tiltmeter.operators.resolution.records.canonical import VERSION, Canonical, Newest, canonical_rows, given, moments
from tiltmeter.operators.resolution.records.columns import FILE
from tiltmeter.storage.records import check_columns
from tiltmeter.storage.store.ledger import Store, TableRef

ROWS = "canonical_rows"
"""A table of a graph: ``cluster_id`` and the chosen columns, with the types that they have in the file."""

_NUM_SHOWN = 6


class ChooseCanonical(Work, unit=VERSION, stage="choose canonical rows", makes=[CanonicalCells]):
    """The row of each cluster; ``clusters`` are ``record, id``."""

    files: Mapping[str, Identity]
    id_column: str
    canonical: Canonical
    clusters: TableRef

    def tables(self, store: Store) -> Tables:
        """``canonical_rows``, and where each of their cells comes from."""
        rows = read_canonical(files_of(self.files), self.id_column, self.canonical)
        ids, clusters = as_ids(rows[self.id_column]), pl.DataFrame(store.read(self.clusters))
        cluster = ids.alias("record").to_frame().join(clusters, on="record", how="left", maintain_order="left")["id"]
        chosen, cells = canonical_rows(rows, ids, cluster, self.canonical)
        yield ROWS, arrow(chosen)
        schema = CanonicalCells.schema()
        yield (
            CanonicalCells.table_name,
            cells.select(pl.lit(self.group).alias("graph"), pl.all()).to_arrow().cast(schema),
        )


def read_canonical(uris: Sequence[str], id_column: str, config: Canonical) -> pl.DataFrame:
    """Of each record its id, and what rules choose from and look at."""
    return read_sources(uris, list(dict.fromkeys([id_column, *config.names])), record_rules(id_column))


def check_canonical(uris: Sequence[str], id_column: str, config: Canonical) -> pl.DataFrame:
    """The columns that canonical rows are chosen from.

    Raises:
        InputError: for one that is not there or holds lists, and for moments none of which can be read.
    """
    for uri in uris:
        check_columns(uri, [name for name in config.names if len(uris) == 1 or name != FILE], "canonical.columns")
    rows = read_canonical(uris, id_column, config)
    with refused("canonical.columns"):
        texts = {column.name: as_text(given(column)) for column in rows}
        for name in (rule.newest for rule in config.columns.values() if isinstance(rule, Newest)):
            if texts[name].count() and not moments(rows[name]).count():
                first = texts[name].drop_nulls()[0]
                raise ValueError(f"newest={name}: {first!r} is neither a number nor a time such as 2021-12-31")
    return rows


def choose_canonical(run: Resolution, name: str, graph: Graph) -> Graph:
    """The graph, with its canonical rows if there are to be any."""
    config = run.config
    if config.canonical is None or config.records is None:
        return graph
    work = ChooseCanonical(
        group=name,
        files={name: run.sources.files[name].identity for name in SOURCES if name in run.sources.files},
        id_column=config.records.id,
        canonical=config.canonical,
        clusters=graph["clusters"].select("record", "id"),
    )
    return {**graph, **run.do([work]).pairs[0][1].tables}


def arrow(frame: pl.DataFrame) -> pa.Table:
    """A frame as tables in the store are, whose texts have short offsets."""
    table = frame.to_arrow()
    kinds = (pa.string() if pa.types.is_large_string(kind) else kind for kind in table.schema.types)
    return table.cast(pa.schema(zip(table.column_names, kinds, strict=True)))


def canonical_section(frames: Frames) -> Iterator[Block]:
    """The rows of the clusters whose records agree least."""
    if CanonicalCells.table_name in frames:
        cells, others = frames.scan(CanonicalCells.table_name), pl.col("num_values") - pl.col("num_agreeing")
        sums = cells.group_by("id").agg(others=others.sum()).sort("others", "id", descending=[True, False])
        shown = sums.head(_NUM_SHOWN).join(cells, on="id").sort(-pl.col("others"), "id", "field")
        caption = (
            "Each cluster has one row, in exports/canonical.parquet and exports/canonical.csv, whose cells come from "
            "its records by a rule for each column; agree: records of the cluster that have this value, of those that "
            f"have any. Shown: the {_NUM_SHOWN} clusters whose records agree least; the others are in the table "
            "canonical_cells."
        )
        columns = "id field value record rule num_agreeing num_values"
        yield Show(CanonicalCells, caption, columns).grid(shown.collect(engine="streaming"))
