"""What the page of `entity_resolution` reads of its tables, of large ones sums and a few rows, and how it puts it."""

from collections.abc import Collection, Sequence
from functools import cached_property

import polars as pl

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.wording import listed, number, percent, plural, quoted, verb
from tiltmeter.jobs.resolution.config import RecordScorer
from tiltmeter.jobs.resolution.graphs import read_sources
from tiltmeter.jobs.resolution.tables import METRICS, TABLES
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.resolution.components import Linked
from tiltmeter.operators.resolution.ids import as_ids, as_text
from tiltmeter.operators.resolution.problem import TOLERANCE, Missing

_NUM_HARDEST = 8
_NUM_EXPLAINED = 15
_NUM_MEMBERS = 4

_MISSING = {"forbid": "may not share a cluster", "zero": "weigh 0"}
"""What holds for pairs without a score."""

_DISTANT = "are at distance 1, as if their probability were 0"
"""The same under missing=zero, for centroid linkage."""

NAMED_METRICS = ["f1", "precision", "recall", "v_measure", "adjusted_rand"]
"""Of agreement, those that a study shows."""

_LARGE, _HUGE = 100.0, 1e15
"""From the first on whole numbers are written as such; from the second on no digit after the point is known."""

_ORDER = {
    "near_miss": -pl.col("weight"),
    "merge": pl.col("held"),
    "split_pair": -pl.col("weight"),
    "joined_pair": pl.col("weight"),
    "false_merge": -pl.col("weight"),
    "false_split": pl.col("weight"),
    "asked": -pl.col("weight"),
    "asked_pair": -pl.col("weight"),
}
"""Of explanations by kind: first what would bring most, what is held least, and what disagrees with most weight."""


_MEANINGS = {
    "near_miss": (
        "A record with positive pairs into a cluster that it is not in. What it would bring is the sum of all its "
        "weights with that cluster. Those that would bring most"
    ),
    "merge": (
        "The sum of the weights within a cluster is what it adds to the objective. A record that is held by little "
        "would be lost first, were the scores different. Those that hold a record least"
    ),
    "split_pair": "Positive pairs that are apart, by weight. The largest",
    "joined_pair": "Negative pairs that are together, by weight. The largest",
    "false_merge": "Scored pairs that are together, but in different gold clusters. The largest",
    "false_split": "Scored pairs that are apart, but in one gold cluster. The smallest",
    "asked": (
        "What a record would bring into a cluster, or brings into its own: the sum of all its weights with it. Those "
        "that would bring most"
    ),
    "asked_pair": "The pairs that were asked about. The largest",
}
"""Of each kind of explanation what it is, and which come first."""


class Extracts:
    """The tables of a run; those with a row for each record, component or explanation are never read as a whole.

    Attributes:
        frames: all of them.
        scorer: of messy records; None where pairs were given.
        frames: all tables.
        counts: table ``pair_counts``, with a row for each graph.
        constraints: table ``constraint_counts``; without rows where there are none.
        ledger, ledger_counts, moved_records: the tables of these names; without rows where there was no previous run.
        night, ledger_pairs: ``night_counts`` and ``ledger_pairs``, of messy records after a previous run.
        metrics: table ``metrics``, the most important first; without rows where there is no gold.
        drawn_pairs: the table of this name; None where nothing is drawn.
        clusters, components, explanations: the large tables of these names.
        is_study: whether components are of many graphs.
        linked: the pairs that connect components.
    """

    def __init__(self, frames: Frames, scorer: RecordScorer | None, linked: Linked = "positive") -> None:
        tables = {name: pl.LazyFrame(schema.empty_table()) for name, schema in TABLES.items()}
        tables |= {name: frames.scan(name) for name in frames}
        ranks = {name: rank for rank, name in enumerate(METRICS)}
        self.frames = frames
        self.scorer, self.counts, self.drawn_pairs = scorer, frames["pair_counts"], frames.get("drawn_pairs")
        self.metrics = tables["metrics"].sort(pl.col("metric").replace_strict(ranks), maintain_order=True).collect()
        # Of a component that was taken over, the earlier run was at it, and not this one.
        times = pl.when(~pl.col("is_reused")).then(pl.col("seconds", "listing_seconds", "packing_seconds"))
        self.clusters, self.components = tables["clusters"], tables["components"].with_columns(times)
        self.explanations = tables["explanations"]
        self.constraints = tables["constraint_counts"].collect()
        self.ledger, self.moved_records = tables["ledger"], tables["moved_records"]
        self.ledger_counts = tables["ledger_counts"].collect() if "ledger" in frames else pl.DataFrame()
        self.night, self.ledger_pairs = tables["night_counts"].collect(), tables["ledger_pairs"]
        self.is_study, self.linked = self.counts.height > 1, linked

    @property
    def barred(self) -> str:
        """What pairs have that may not share a cluster."""
        reasons = {"no score": "forbid" in self.counts["missing"], "a constraint": self.constraints.height > 0}
        return " or ".join(reason for reason, holds in reasons.items() if holds)

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
    def by_graph(self) -> pl.DataFrame:
        """A row for each graph, with its threshold, what came of its components, and its metrics.

        The gap is null where a component has no partition.
        """
        missing = (pl.col("bound") - pl.col("objective")).clip(0.0) / pl.max_horizontal(pl.col("objective").abs(), 1.0)
        solved = self.solved.with_columns(pl.when(pl.col("num_none") == 0).then(missing).alias("gap"))
        values = (pl.col("value").filter(metric=name).first().fill_nan(None).alias(name) for name in NAMED_METRICS)
        rows = self.counts.join(solved, on="graph", how="left", maintain_order="left")
        return rows.join(self.metrics.group_by("graph").agg(*values), on="graph", how="left", maintain_order="left")

    @cached_property
    def totals(self) -> Row:
        """What came of the components of all graphs."""
        return self.solved.drop("graph").sum().row(0, named=True)

    @cached_property
    def sizes(self) -> dict[str, pl.DataFrame]:
        """``size, num`` of components and of clusters: how many have so many records."""
        components = self.components.select(pl.col("num_records").alias("size"))
        both = {"components": components, "clusters": self.clusters.group_by("graph", "cluster").len("size")}
        return {name: _collected(rows.group_by("size").len("num").sort("size")) for name, rows in both.items()}

    @cached_property
    def hardest(self) -> pl.DataFrame:
        """Components: the largest, the slowest, and those that are not proven, with the largest gaps."""
        names, num_records = ["graph", "component"], -pl.col("num_records")
        orders = [
            (self.components, num_records),
            (self.components, -pl.col("seconds")),
            (self.components.filter(status="feasible"), -pl.col("gap")),
            (self.components.filter(status="none"), num_records),
        ]
        chosen = [_first(rows, _NUM_HARDEST, order, *names) for rows, order in orders]
        return pl.concat(chosen).unique(names).sort(num_records, *names)

    @cached_property
    def kinds(self) -> dict[str, Row]:
        """Of each kind of explanation: how many there are, their weight, and why near misses are none."""
        num_forbidden, weight = pl.col("num_forbidden"), pl.col("weight")
        sums = self.explanations.group_by("kind").agg(
            pl.len().alias("num"),
            weight.sum(),
            (num_forbidden > 0).sum().alias("num_forbidden"),
            ((num_forbidden == 0) & (weight <= 0)).sum().alias("num_outweighed"),
            (weight > 0).sum().alias("num_positive"),
        )
        counts = ("num", "num_forbidden", "num_outweighed", "num_positive")
        none = {kind: {**dict.fromkeys(counts, 0), "weight": 0.0} for kind in _ORDER}
        return none | {row["kind"]: row for row in _collected(sums).to_dicts()}

    def explained(self, kind: str, component: int | None = None) -> pl.DataFrame:
        """The explanations of a kind that come first; of one component, or of all."""
        rows = self.explanations.filter(kind=kind)
        rows = rows if component is None else rows.filter(component=component)
        return _first(rows, _NUM_EXPLAINED, _ORDER[kind], "record", "other", "cluster")

    def caption(self, kind: str, rows: pl.DataFrame) -> str:
        """What explanations of a kind are, and which of them these rows are."""
        rest = self.kinds[kind]["num"] - rows.height
        return _MEANINGS[kind] + (f"; {rest:,} more are in the table explanations." if rest else " come first.")

    def labels(self, which: pl.Expr) -> dict[str, int]:
        """The cluster of each of some records, by name."""
        return dict(_collected(self.clusters.filter(which).select("record", "cluster").sort("record")).rows())

    def members(self, clusters: pl.Series) -> dict[int, tuple[list[str], int]]:
        """The first records of each of these clusters, and how many it has in all."""
        rows = self.clusters.filter(pl.col("cluster").is_in(clusters.unique().implode())).group_by("cluster")
        first = _collected(rows.agg(pl.col("record").sort().head(_NUM_MEMBERS), pl.len()))
        return {cluster: (records, num) for cluster, records, num in first.rows()}

    def values(self, records: Collection[str]) -> dict[str, Row]:
        """The fields of some records as text, by their ids; none where pairs were given."""
        if self._fields is None:
            return {}
        ids, fields = self._fields
        chosen = ids.is_in(list(records))
        return dict(zip(ids.filter(chosen), fields.filter(chosen).to_dicts(), strict=True))

    @cached_property
    def _fields(self) -> tuple[pl.Series, pl.DataFrame] | None:
        if self.scorer is None:
            return None
        id_, names = self.scorer.id, list(self.scorer.fields)
        paths = [path for path in (self.scorer.path, self.scorer.second) if path is not None]
        rows = read_sources(paths, list(dict.fromkeys([id_, *names])))
        flat = [as_text(rows[name]) for name in names if not rows[name].dtype.is_nested()]
        return as_ids(rows[id_]), pl.DataFrame(flat)


def _first(rows: pl.LazyFrame, num: int, *order: pl.Expr | str) -> pl.DataFrame:
    return _collected(rows.bottom_k(num, by=order)).sort(*order)


def _collected(rows: pl.LazyFrame) -> pl.DataFrame:
    """Piece by piece, with the columns and rows that are asked for."""
    return rows.collect(engine="streaming")


# --- numbers, clusters and explanations in words --------------------------------------------------------------------


def weight(value: float | None) -> str:
    """A weight, or a sum of weights.

    >>> weight(-0.125), weight(47999.25), weight(47999.0), weight(-1e300), weight(None)
    ('−0.12', '47,999.25', '47,999', '−1e+300', '–')
    """
    if value is not None and _HUGE <= abs(value) < float("inf"):
        return f"{value:.3g}".replace("-", "−")
    is_whole = value is not None and abs(value) >= _LARGE and value.is_integer()
    return number(value, 0 if is_whole else 2)


def signed(value: float) -> str:
    """A weight that is added to others."""
    text = weight(value)
    return text if text.startswith("−") else f"+{text}"


def gap(row: Row) -> str:
    """Of a component, 0 if it is proven."""
    return "0" if row["status"] == "proven" else percent(row["gap"], 3)


def missing_name(missing: Missing, linked: Linked) -> str:
    """What holds for pairs without a score, where components are linked so."""
    return _DISTANT if (missing, linked) == ("zero", "scored") else _MISSING[missing]


def threshold_name(threshold: float | None) -> str:
    """The threshold as a figure names it."""
    return "none" if threshold is None else f"{threshold:g}".replace("-", "−")


def cluster_name(cluster: int, records: Sequence[str], num: int) -> str:
    """The number of a cluster with some of its ``num`` records.

    >>> cluster_name(3, ["a", "b"], 5)
    '3 (“a”, “b” and 3 more)'
    """
    rest = num - len(records)
    return f"{cluster} ({listed([*map(quoted, records), *([f'{rest:,} more'] if rest else [])])})"


def explanation(row: Row, cluster: str, *, is_in: bool = False, barred: str = "no score") -> str:
    """What holds the cluster of this name together, why a record was left out of it, or what it brings if it is in.

    Args:
        barred: what pairs have that may not share a cluster.
    """
    record = quoted(row["record"])
    if row["kind"] == "merge":
        held = f"{record} is held least, by {signed(row['held'])}"
        return f"Cluster {cluster}: its pairs add up to {signed(row['weight'])}; {held}."
    pairs = zip(row["tipping_records"] or [], row["tipping_weights"] or [], strict=True)
    against = [f"{quoted(other)} {barred if score is None else signed(score)}" for other, score in pairs]
    sum_ = f" {signed(row['opposition']).replace('−', '− ', 1)} = {signed(row['weight'])}" if row["opposition"] else ""
    amount = f"{signed(row['support'])}{sum_}"
    place, bring = (
        (f"{record} is in cluster {cluster}", f"it brings {amount}.")
        if is_in
        else (f"{record} was left out of cluster {cluster}", f"it would bring {amount}{_reason(row, barred)}.")
    )
    return f"{place}: {bring}" + (f" Against it: {', '.join(against)}." if against else "")


def _reason(row: Row, barred: str) -> str:
    forbidden, change = row["num_forbidden"], row["weight"] - row["held"]
    if forbidden:
        return f", but may not: {plural(forbidden, 'pair')} between them {verb(forbidden, 'have')} {barred}"
    if change > TOLERANCE:
        return f"; moved there, it would raise the objective by {weight(change)}, so this partition is not the best one"
    return f", no more than the {signed(row['held'])} that hold it where it is" if row["weight"] > 0 else ""
