"""How good clusters are: against true ones, estimated from a sample of these, by group, and how they hold together."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.report.html.elements import Block, Section
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.report.wording import plural
from tiltmeter.jobs.resolution.graphs import (
    LABELLED_RULES,
    SOURCES,
    Graph,
    Identity,
    Resolution,
    files_of,
    optional_columns,
    pair_columns,
    read_gold,
    read_sources,
    record_rules,
)
from tiltmeter.jobs.resolution.tables import (
    METRICS,
    AbsentRecords,
    ClusterStructure,
    Estimates,
    GroupDifferences,
    GroupMetrics,
    Metrics,
    PairsToLabel,
    RecordsToLabel,
)
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution.ids import as_ids, as_text
from tiltmeter.operators.resolution.quality import estimates, metrics, structure
from tiltmeter.operators.resolution.quality.coreference import cluster_metrics, lowest_precision
from tiltmeter.operators.resolution.quality.estimates import Design, compared_groups, entity_parts
from tiltmeter.operators.resolution.quality.overlaps import Overlaps, overlaps
from tiltmeter.operators.statistics.designs.ratios import Parts
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import Inferred, each
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import numbers, read_records
from tiltmeter.storage.store.ledger import Store, TableRef

DRAWS = "num_draws"
"""Column that gold may have: how often the cluster of a record was drawn."""

_LEVEL, _MOST_GROUPS, _SPARSE, _NUM_SHOWN = 0.95, 50, 0.5, 20
_NO_PAIR = "no two records are together, so there is no share"
_UNDEFINED = {
    "conll_f1": "MUC is undefined, as no two records are together; reference_scorer=true counts it as 0",
    **dict.fromkeys(("name_variation", "homonymy"), "no true cluster has a name"),
}


class Judged(Work):
    """Clusters of a graph beside true ones, and what else is known of its records.

    Attributes:
        scored: pairs, where these and gold are all that tells records.
        files: by the setting that names them; none of a study.
        columns: of the file ``records``: ``id``, and what ``names`` and ``groups`` name.
    """

    graph: str
    clusters: TableRef
    gold: TableRef | None
    scored: TableRef | None
    files: Mapping[str, Identity]
    columns: Mapping[str, str]

    def records(self, store: Store) -> pl.DataFrame:
        """``record, cluster, true, is_absent``: records that the prediction lacks are alone in clusters of their own.

        True clusters are numbered from 0, -1 where they are not known. Scored pairs lack records that only gold has, a
        file of records those that it has not, unless the scorer learnt from their cluster.
        """
        rows = pl.DataFrame(store.read(self.clusters)).select("record", "cluster")
        gold = store.read(self.gold)["cluster"] if self.gold else pa.nulls(rows.height, pa.int64())
        rows = rows.with_columns(pl.Series("true", gold), pl.lit(value=False).alias("is_absent"))
        if self.scored is not None:
            ends = np.concatenate(pair_columns(store.read(self.scored))[:2])
            is_alone = pl.Series(np.bincount(ends, minlength=rows.height) == 0)
            rows = rows.with_columns(is_absent=is_alone & rows["true"].is_not_null())
        elif "records" in self.files and self.gold:
            named = read_gold(self.files["gold"]["uri"], rows["record"])
            learnt = named.join(rows.filter(pl.col("true").is_null()), on="record", how="semi")["cluster"]
            others = named.join(rows, on="record", how="anti").filter(~pl.col("cluster").is_in(learnt.implode()))
            alone = pl.int_range(pl.len(), dtype=pl.Int64) + rows.height
            rows = pl.concat([rows, others.select("record", alone.alias("cluster"), true="cluster", is_absent=True)])
        return rows.with_columns(pl.col("true").rank("dense").cast(pl.Int64).fill_null(0) - 1)

    def labels(self, setting: str, rows: pl.DataFrame) -> tuple[IntArray, list[str]]:
        """Numbers of names or groups by record, -1 without one, and what they are called."""
        uris, id_, column = files_of(self.files, setting)[:1], "record", setting.removesuffix("s")
        if setting in self.columns:
            uris, id_, column = files_of(self.files), self.columns["id"], self.columns[setting]
        given = read_sources(uris, [id_, column], record_rules(id_))
        texts = pl.DataFrame({"record": as_ids(given[id_]), "label": as_text(given[column]).str.strip_chars()})
        texts = texts.filter(pl.col("label") != "").unique("record")
        labels = rows.select("record").join(texts, on="record", how="left", maintain_order="left")["label"]
        codes = labels.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
        return codes, labels.drop_nulls().unique().sort().to_list()

    def named(self, rows: pl.DataFrame) -> dict[str, Parts]:
        """What rates of names are made of; nothing without names."""
        if "names" not in {*self.files, *self.columns}:
            return {}
        return estimates.name_parts(rows["true"].to_numpy(), self.labels("names", rows)[0])

    def num_draws(self, rows: pl.DataFrame, num_clusters: int) -> IntArray | None:
        """How often each true cluster was drawn, where the file of gold says so."""
        uri = self.files["gold"]["uri"]
        if not optional_columns(uri, [DRAWS], "gold"):
            return None
        given = read_records(uri, ["record", DRAWS], rules=record_rules("record"))
        draws = pl.DataFrame({"record": as_ids(given["record"]), "num": numbers(given, DRAWS)}).drop_nulls()
        of_record, most = rows.filter(pl.col("true") >= 0).join(draws, on="record"), np.ones(num_clusters)
        np.maximum.at(most, of_record["true"].to_numpy(), of_record["num"].to_numpy())
        return most.astype(np.int64)


def _all(rows: pl.DataFrame) -> Overlaps:
    true = rows["true"].to_numpy()
    return overlaps(rows["cluster"].to_numpy(), true, true >= 0)


class MeasureAgreement(Judged, unit=metrics.VERSION, stage="metrics", makes=[Metrics, AbsentRecords]):
    """How far clusters agree with true ones."""

    reference_scorer: bool

    def rows(self, store: Store) -> Iterator[Metrics | AbsentRecords]:
        """Of the records whose true cluster is known."""
        rows = self.records(store)
        labels, true = (rows.filter(pl.col("true") >= 0)[name].to_numpy() for name in ("cluster", "true"))
        zero = 0.0 if self.reference_scorer else float("nan")
        values = metrics.partition_metrics(labels, true)._asdict()
        values |= {name: zero for name, value in values.items() if np.isnan(value)}
        values |= cluster_metrics(overlaps(labels, true), zero) | {"lowest_precision": lowest_precision(_all(rows))}
        for name, (above, below) in self.named(rows).items():
            values[name] = float(np.sum(above) / np.sum(below)) if np.any(below) else float("nan")
        there = rows.filter(~pl.col("is_absent"), pl.col("true") >= 0).group_by("true").len()
        absent = rows.filter("is_absent").join(there, on="true", how="left", maintain_order="left")
        about: dict[str, Any] = {"graph": self.graph, "num_records": labels.size, "num_absent": absent.height}
        for name in [name for name in METRICS if name in values]:
            row = Metrics(metric=name, value=values[name], **about)
            yield row.fail("undefined", _UNDEFINED.get(name, _NO_PAIR)) if np.isnan(values[name]) else row
        for record, num in absent.select("record", pl.col("len").fill_null(0)).iter_rows():
            yield AbsentRecords(graph=self.graph, record=record, num_others=num)


class EstimateQuality(Judged, unit=estimates.VERSION, stage="estimates", makes=[Estimates]):
    """How good all clusters are, by a sample of true ones, of pairs within clusters, or both."""

    design: Design | None

    def rows(self, store: Store) -> Iterator[Estimates]:
        """Of true clusters first."""
        rows = self.records(store)
        if self.design is not None:
            table = _all(rows)
            parts, draws = (
                entity_parts(table) | self.named(rows),
                self.num_draws(rows, table.gold_sizes.size),
            )
            for target, one in estimates.estimates(
                parts, table.gold_sizes, self.design, draws, rows.height, level=_LEVEL
            ):
                yield self._row(target, self.design, one, int(np.count_nonzero(parts[target].below)))
        if "sampled_pairs" in self.files:
            uri = self.files["sampled_pairs"]["uri"]
            yield self._of_pairs(rows, read_records(uri, [*LABELLED_RULES], rules=LABELLED_RULES))

    def _of_pairs(self, rows: pl.DataFrame, pairs: pl.DataFrame) -> Estimates:
        places = dict(zip(rows["record"], rows["cluster"], strict=True))
        left, right = (np.array([places.get(record, -1) for record in as_ids(pairs[end])]) for end in ("left", "right"))
        is_match = as_text(pairs["is_match"]).str.to_lowercase().is_in(["true", "1", "1.0"]).to_numpy()
        one = share(is_match, each(pairs.height, "labelled pair"), level=_LEVEL)
        if num := int(np.count_nonzero((left != right) | (left < 0))):
            reason = f"{num} of {pairs.height} sampled_pairs are not together here: label those of this run's clusters"
            row = Estimates(graph=self.graph, target="precision", design="sampled_pairs")
            return row.fail("other_clusters", reason)
        return self._row("precision", "sampled_pairs", one, np.unique(left).size)

    def _row(self, target: str, design: str, one: Inferred, num_clusters: int) -> Estimates:
        row = Estimates(graph=self.graph, target=target, design=design, status=one.status, reason=one.reason)
        row.value, row.effective_number, row.num_clusters = _estimate(one), one.df + 1.0, num_clusters
        return row


def _estimate(one: Inferred) -> Estimate:
    return Estimate(one.value, one.low, one.high)


class CompareGroups(Judged, unit=f"groups/{estimates.VERSION}", stage="groups", makes=[GroupMetrics, GroupDifferences]):
    """How good clusters are for each group of records, and how far from the others."""

    def rows(self, store: Store) -> Iterator[GroupMetrics | GroupDifferences]:
        """Of the records whose true cluster is known.

        Raises:
            InputError: of too many groups.
        """
        rows = self.records(store)
        codes, names = self.labels("groups", rows)
        if len(names) > _MOST_GROUPS:
            raise InputError(f"groups: there are {len(names):,}; give {_MOST_GROUPS} at most")
        codes = codes[rows["true"].to_numpy() >= 0]
        for name, group, one, difference, p_holm in compared_groups(_all(rows), codes, len(names), level=_LEVEL):
            about: dict[str, Any] = {"graph": self.graph, "group": names[group], "metric": name}
            row = GroupMetrics(**about, status=one.status, reason=one.reason, value=_estimate(one))
            row.num_records, row.num_clusters = int((codes == group).sum()), one.num_units
            yield row
            other = GroupDifferences(**about, status=difference.status, reason=difference.reason, p=difference.p)
            other.p_holm, other.num_clusters, other.difference = p_holm, difference.num_units, _estimate(difference)
            yield other


class DrawToLabel(Work, unit="to_label/1", stage="draw to label", makes=[PairsToLabel, RecordsToLabel]):
    """Pairs within clusters, and records, that a person is to label."""

    graph: str
    clusters: TableRef
    num: int
    seed: int

    def rows(self, store: Store) -> Iterator[PairsToLabel | RecordsToLabel]:
        """So many of each, if there are as many."""
        table = pl.DataFrame(store.read(self.clusters))
        records, labels = table["record"], table["cluster"].to_numpy()
        for left, right in zip(*estimates.draw_pairs(labels, self.num, self.seed), strict=True):
            ends = {"left": records[int(left)], "right": records[int(right)]}
            yield PairsToLabel(graph=self.graph, cluster=int(labels[left]), **ends)
        for place in estimates.draw(records.len(), self.num, self.seed, 1).tolist():
            yield RecordsToLabel(graph=self.graph, record=records[place], cluster=int(labels[place]))


class MeasureStructure(Work, unit=structure.VERSION, stage="structure", makes=[ClusterStructure]):
    """How each cluster of three records or more holds together."""

    graph: str
    pairs: TableRef
    clusters: TableRef

    def tables(self, store: Store) -> Tables:
        """``cluster_structure``."""
        left, right, weights = pair_columns(store.read(self.pairs))
        clusters, is_positive = store.read(self.clusters)["cluster"].to_numpy(), weights > 0.0
        whole = structure.cluster_structure(clusters, left[is_positive], right[is_positive])
        chosen = np.flatnonzero(whole.sizes > 2)
        sizes, pairs, bridges = (numbers[chosen] for numbers in whole)
        density = pairs / (sizes * (sizes - 1) / 2)
        columns = [pa.array([self.graph] * chosen.size, pa.string()), chosen, sizes, pairs, bridges, density]
        is_weak = (bridges > 0) & (density < _SPARSE)
        yield "cluster_structure", pa.table([*columns, is_weak], schema=ClusterStructure.schema())


def judge(run: Resolution, graphs: Mapping[str, Graph]) -> None:
    """Publish ``metrics`` of graphs with gold, and of one that is no study what else is asked about its clusters."""
    config, files = run.config, run.sources.files
    named = {"names": config.names, "groups": config.groups, "id": config.records.id if config.records else None}
    columns = {name: column for name, column in named.items() if column is not None and name not in files}
    known = ("gold", *SOURCES, "names", "groups", "sampled_pairs")
    versions = {name: files[name].identity for name in known if name in files}
    works: list[Work] = []
    for name, graph in graphs.items():
        about: dict[str, Any] = {"label": name, "group": name, "graph": name, "clusters": graph["clusters"]}
        truth: dict[str, Any] = {**about, "gold": graph.get("gold"), "files": versions, "columns": columns}
        truth["scored"] = graph["pairs"] if config.pairs and config.gold else None
        if truth["gold"]:
            works.append(MeasureAgreement(reference_scorer=config.reference_scorer, **truth))
        if config.gold_sample or config.sampled_pairs:
            works.append(EstimateQuality(design=config.gold_sample, **truth))
        if config.groups:
            works.append(CompareGroups(**truth))
        if config.num_to_label:
            works.append(DrawToLabel(num=config.num_to_label, seed=config.seed, **about))
        if not config.mentions:
            works.append(MeasureStructure(pairs=graph["pairs"], **about))
    for stage in dict.fromkeys(work.stage for work in works):
        run.do([work for work in works if work.stage == stage], complete=False)


# --- the page -----------------------------------------------------------------------------------------------------

_SHOWS = {
    "Estimated from a sample": Show(
        Estimates,
        "Estimates for all clusters, with intervals that hold 95 % over samples drawn alike, each by itself. A sample "
        "of entities seldom has a rare merge of large clusters: precision is then below its interval more often. Where "
        "clusters are nearly perfect, intervals hold more than 95 %. So take precision from labelled pairs: "
        "num_to_label=200 draws them, sampled_pairs=<file> takes them; 200 without an error show at least 98.2 %.",
        "target design value effective_number num_clusters reason?",
    ),
    "By group": Show(
        GroupMetrics,
        "Pairs count with at least one record of the group, B-cubed over its records, clusters if they have one of "
        "them. Intervals hold 95 % over true clusters, each by itself.",
        "metric group value num_records num_clusters reason?",
        most=100,
    ),
    "Differences between groups": Show(
        GroupDifferences,
        "Each group less all others together, over the same true clusters, each left out of both in turn. p: of no "
        "difference, two-sided, by Student’s t; p holm: adjusted for the groups of a measure, not for its measures. A "
        "group of few records is met in larger clusters, and may differ in cluster recall for that alone.",
        "metric group difference p p_holm num_clusters reason?",
        most=100,
    ),
    "To be labelled": Show(
        PairsToLabel,
        "Drawn uniformly from all pairs within clusters: say of each whether it is a match, and set sampled_pairs. The "
        "table records_to_label has records: give the whole entity of each as gold, with gold_sample=by_record, and in "
        "num_draws how many of these records it has.",
        "left right cluster",
        most=_NUM_SHOWN,
    ),
    "Records of gold that the prediction lacks": Show(
        AbsentRecords, "Each counts as a cluster of its own.", "record num_others", most=_NUM_SHOWN
    ),
}


def sections(frames: Frames) -> Iterator[Section]:
    """What says how good the clusters are, but for agreement with gold."""
    for title, show in _SHOWS.items():
        name = show.table.table_name
        if name in frames and frames[name].height:
            yield Section(name.replace("_", "-"), title, show.blocks(frames))
    if "cluster_structure" in frames:
        yield Section("structure", "Clusters to be reviewed first", [*_weak(frames.scan("cluster_structure"))])


def _weak(clusters: pl.LazyFrame) -> Iterator[Block]:
    weak = clusters.filter("is_weak")
    rows = weak.bottom_k(_NUM_SHOWN, by=["density", "cluster"]).collect().sort("density", "cluster")
    if rows.height:
        num = plural(weak.select(pl.len()).collect().item(), "cluster")
        caption = (
            f"{num} of three records or more with less than half of the pairs positive and a bridge, a positive pair "
            "without which it falls apart. The sparsest come first."
        )
        yield Show(ClusterStructure, caption, "cluster num_records num_pairs num_bridges density").grid(rows)
