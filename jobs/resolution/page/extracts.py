"""What the page of `entity_resolution` reads of tables with millions of rows: totals, and a few rows of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from tiltmeter.jobs.resolution.page.words import IS_FORBIDDEN, IS_OUTWEIGHED, Row

_NUM_HARDEST = 8
_NUM_EXPLAINED = 15


@dataclass(frozen=True)
class LargeTables:
    """The tables of a run with a row for each record, component or explanation; none is read as a whole.

    Attributes:
        clusters, components, explanations: the tables of these names.
    """

    clusters: pl.LazyFrame
    components: pl.LazyFrame
    explanations: pl.LazyFrame

    @cached_property
    def totals(self) -> Row:
        """Over all components; what was not partitioned has no objective and no bound."""
        status, is_single = pl.col("status"), pl.col("num_records") == 1
        return _row(
            self.components,
            is_single.sum().alias("num_single"),
            (~is_single).sum().alias("num_components"),
            pl.col("num_records", "num_clusters", "seconds").sum(),
            *((status == name).sum().alias(f"num_{name}") for name in ("feasible", "none")),
            pl.col("objective", "bound").filter(status != "none").sum(),
        )

    @cached_property
    def sizes(self) -> Mapping[str, pl.DataFrame]:
        """``size, num`` of components and of clusters: how many have so many records."""
        clusters = self.clusters.group_by("graph", "cluster").len("size")
        both = {"components": self.components.select(pl.col("num_records").alias("size")), "clusters": clusters}
        return {name: _collected(rows.group_by("size").len("num")).sort("size") for name, rows in both.items()}

    @cached_property
    def hardest(self) -> pl.DataFrame:
        """Components: the largest, the slowest, and those that are not proven, with the largest gaps."""
        status = pl.col("status")
        chosen = [
            _first(self.components, [-pl.col("num_records")], _BY_COMPONENT, _NUM_HARDEST),
            _first(self.components, [-pl.col("seconds")], _BY_COMPONENT, _NUM_HARDEST),
            _first(self.components.filter(status == "feasible"), [-pl.col("gap")], _BY_COMPONENT, _NUM_HARDEST),
            _first(self.components.filter(status == "none"), [-pl.col("num_records")], _BY_COMPONENT, _NUM_HARDEST),
        ]
        rows = pl.concat(chosen).unique(_BY_COMPONENT)
        return rows.sort("num_records", *_BY_COMPONENT, descending=[True, False, False])

    @cached_property
    def disagreement(self) -> Row:
        """How many near misses there are, and why; how many pairs disagree, and with what weight."""
        kind, size = pl.col("kind"), pl.col("weight").abs()
        is_missed = kind == "near_miss"
        pairs = {name: kind == name for name in ("split_pair", "joined_pair")}
        return _row(
            self.explanations,
            is_missed.sum().alias("num_missed"),
            (is_missed & IS_FORBIDDEN).sum().alias("num_forbidden"),
            (is_missed & IS_OUTWEIGHED).sum().alias("num_outweighed"),
            *(is_kind.sum().alias(f"num_{name}") for name, is_kind in pairs.items()),
            *(size.filter(is_kind).sum().alias(f"weight_{name}") for name, is_kind in pairs.items()),
        )

    def near_misses(self, component: int | None = None) -> pl.DataFrame:
        """Those that would bring most; of one component, or of all."""
        return self._explained("near_miss", -pl.col("weight"), component)

    def merges(self, component: int | None = None) -> pl.DataFrame:
        """Those of which a record is held least; of one component, or of all."""
        return self._explained("merge", pl.col("held"), component)

    def disagreeing(self, kind: str) -> pl.DataFrame:
        """Split or joined pairs, those of most weight."""
        return self._explained(kind, -pl.col("weight").abs(), None)

    def component(self, number: int) -> pl.DataFrame:
        """The row of a component, if there is one of this number."""
        return _collected(self.components.filter(component=number))

    def records(self, component: int) -> dict[str, int]:
        """The records of a component, with their clusters."""
        rows = _collected(self.clusters.filter(component=component).select("record", "cluster"))
        return dict(rows.sort("record").rows())

    def _explained(self, kind: str, order: pl.Expr, component: int | None) -> pl.DataFrame:
        rows = self.explanations.filter(kind=kind)
        rows = rows if component is None else rows.filter(component=component)
        return _first(rows, [order], ["record", "other", "cluster"], _NUM_EXPLAINED)


_BY_COMPONENT = ["graph", "component"]


def _row(rows: pl.LazyFrame, *values: pl.Expr) -> Row:
    return _collected(rows.select(*values)).row(0, named=True)


def _first(rows: pl.LazyFrame, order: Sequence[pl.Expr], ties: Sequence[str], num: int) -> pl.DataFrame:
    """The rows that come first in an order."""
    by = [*order, *(pl.col(name) for name in ties)]
    return _collected(rows.bottom_k(num, by=by)).sort(*by)


def _collected(rows: pl.LazyFrame) -> pl.DataFrame:
    """Piece by piece, with the columns and rows that are asked for."""
    return rows.collect(engine="streaming")
