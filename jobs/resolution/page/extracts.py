"""What the page of `entity_resolution` reads of its tables: of large ones totals, and a few rows of each."""

from collections.abc import Mapping
from functools import cached_property

import polars as pl

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.resolution.page.words import METRICS, cluster_name
from tiltmeter.jobs.resolution.tables import TABLES
from tiltmeter.jobs.runtime.published import Frames

_NUM_HARDEST = 8
_NUM_EXPLAINED = 15
_NUM_MEMBERS = 4

_ORDER = {
    "near_miss": -pl.col("weight"),
    "merge": pl.col("held"),
    "split_pair": -pl.col("weight"),
    "joined_pair": pl.col("weight"),
}
"""Of explanations by kind: first what would bring most, what is held least, and what disagrees with most weight."""


class Extracts:
    """The tables of a run; those with a row for each record, component or explanation are never read as a whole.

    Attributes:
        counts: table ``pair_counts``, with a row for each graph.
        metrics: table ``metrics``, the most important first; without rows where there is no gold.
        drawn_pairs: the table of this name; None where nothing is drawn.
        clusters, components, explanations: the large tables of these names.
        is_study: whether components are of many graphs.
    """

    def __init__(self, frames: Frames) -> None:
        tables = {name: pl.LazyFrame(schema.empty_table()) for name, schema in TABLES.items()}
        tables |= {name: frames.scan(name) for name in frames}
        ranks = {name: rank for rank, name in enumerate(METRICS)}
        self.counts, self.drawn_pairs = frames["pair_counts"], frames.get("drawn_pairs")
        self.metrics = tables["metrics"].sort(pl.col("metric").replace_strict(ranks), maintain_order=True).collect()
        self.clusters, self.components = tables["clusters"], tables["components"]
        self.explanations = tables["explanations"]
        self.is_study = self.counts.height > 1

    @cached_property
    def solved(self) -> pl.DataFrame:
        """What came of each graph's components; what was not partitioned has no objective and no bound."""
        status, is_single = pl.col("status"), pl.col("num_records") == 1
        sums = self.components.group_by("graph").agg(
            is_single.sum().alias("num_single"),
            (~is_single).sum().alias("num_components"),
            pl.col("num_records", "num_clusters", "seconds").sum(),
            (status != "proven").sum().alias("num_open"),
            (status == "none").sum().alias("num_none"),
            pl.col("objective", "bound").filter(status != "none").sum(),
        )
        return _collected(sums)

    @cached_property
    def totals(self) -> Row:
        """What came of the components of all graphs."""
        return self.solved.drop("graph").sum().row(0, named=True)

    @cached_property
    def sizes(self) -> Mapping[str, pl.DataFrame]:
        """``size, num`` of components and of clusters: how many have so many records."""
        components = self.components.select(pl.col("num_records").alias("size"))
        both = {"components": components, "clusters": self.clusters.group_by("graph", "cluster").len("size")}
        return {name: _collected(rows.group_by("size").len("num").sort("size")) for name, rows in both.items()}

    @cached_property
    def hardest(self) -> pl.DataFrame:
        """Components: the largest, the slowest, and those that are not proven, with the largest gaps."""
        names, num_records = ["graph", "component"], -pl.col("num_records")
        chosen = [
            _first(self.components, _NUM_HARDEST, num_records, *names),
            _first(self.components, _NUM_HARDEST, -pl.col("seconds"), *names),
            _first(self.components.filter(status="feasible"), _NUM_HARDEST, -pl.col("gap"), *names),
            _first(self.components.filter(status="none"), _NUM_HARDEST, num_records, *names),
        ]
        return pl.concat(chosen).unique(names).sort(num_records, *names)

    @cached_property
    def disagreement(self) -> Row:
        """How many explanations of each kind there are, and their weight; and why near misses are none."""
        num_forbidden, weight = pl.col("num_forbidden"), pl.col("weight")
        is_kind = {kind: pl.col("kind") == kind for kind in _ORDER}
        sums = self.explanations.select(
            (num_forbidden > 0).sum().alias("num_forbidden"),
            ((num_forbidden == 0) & (weight <= 0)).sum().alias("num_outweighed"),
            *(is_kind[kind].sum().alias(f"num_{kind}") for kind in _ORDER),
            *(weight.filter(is_kind[kind]).sum().alias(f"weight_{kind}") for kind in _ORDER),
        )
        return _collected(sums).row(0, named=True)

    def explained(self, kind: str, component: int | None = None) -> pl.DataFrame:
        """The explanations of a kind that come first; of one component, or of all."""
        rows = self.explanations.filter(kind=kind)
        rows = rows if component is None else rows.filter(component=component)
        return _first(rows, _NUM_EXPLAINED, _ORDER[kind], "record", "other", "cluster")

    def records(self, component: int) -> dict[str, int]:
        """The records of a component, with their clusters."""
        rows = self.clusters.filter(component=component).select("record", "cluster").sort("record")
        return dict(_collected(rows).rows())

    def cluster_names(self, numbers: pl.Series) -> dict[int, str]:
        """Clusters by their number, each with the first of its records."""
        records = self.clusters.filter(pl.col("cluster").is_in(numbers.unique().to_list())).group_by("cluster")
        rows = records.agg(pl.col("record").sort().head(_NUM_MEMBERS), pl.len())
        return {cluster: cluster_name(cluster, names, num) for cluster, names, num in _collected(rows).rows()}


def _first(rows: pl.LazyFrame, num: int, *order: pl.Expr | str) -> pl.DataFrame:
    return _collected(rows.bottom_k(num, by=order)).sort(*order)


def _collected(rows: pl.LazyFrame) -> pl.DataFrame:
    """Piece by piece, with the columns and rows that are asked for."""
    return rows.collect(engine="streaming")
