"""Clusters of one set of scored pairs by several programs, each in a process of its own, against the truth."""

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.resolution.data_sets import DataSet
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution import Scorer, partition, partition_metrics, score_pairs, train_scorer, weights_of
from tiltmeter.operators.resolution.components import positive_components
from tiltmeter.operators.resolution.constraints import Constraints, constrained
from tiltmeter.operators.resolution.problem import Missing
from tiltmeter.operators.resolution.quality.metrics import PartitionMetrics
from tiltmeter.operators.resolution.records.columns import prepare
from tiltmeter.operators.resolution.records.gaps import find_gaps, score_gaps
from tiltmeter.operators.resolution.records.unlabelled import learn_unlabelled

NUM_LABELLED, SECONDS, WITHIN = 2_000, 60.0, 1_000
BITS = np.arange(-8.0, 30.5, 0.5)
"""Log-odds, of which the best threshold is chosen."""

DEDUPE = """
import sys, time, numpy, pandas, dedupe
from dedupe import variables
from dedupe.clustering import cluster
folder, names = sys.argv[1], sys.argv[2:]
pairs = pandas.read_parquet(folder + "/pairs.parquet")
records = pandas.read_parquet(folder + "/records.parquet").set_index("id", drop=False)
begun = time.perf_counter()
if names:
    labelled = pandas.read_parquet(folder + "/labelled.parquet")
    deduper = dedupe.Dedupe([variables.String(name, has_missing=True) for name in names], num_cores=1)
    rows = {
        key: {name: isinstance(row[name], str) and row[name].strip().lower() or None for name in names}
        for key, row in records.to_dict("index").items()
    }
    both = lambda table: [(rows[one], rows[other]) for one, other in zip(table["left"], table["right"])]
    deduper.classifier.n_jobs = 1
    deduper.classifier.fit(deduper.data_model.distances(both(labelled)), labelled["is_match"])
    pairs["match_probability"] = deduper.classifier.predict_proba(deduper.data_model.distances(both(pairs)))[:, 1]
scores = numpy.empty(len(pairs), dtype=[("pairs", f"U{records['id'].str.len().max()}", 2), ("score", "f4")])
scores["pairs"], scores["score"] = pairs[["left", "right"]].to_numpy(), pairs["match_probability"]
label = {name: name for name in records["id"]}
for members, _ in cluster(scores[scores["score"] > 0], 0.5):
    label.update(dict.fromkeys(members, members[0]))
print(time.perf_counter() - begun)
print([line for line in open("/proc/self/status") if line.startswith("VmHWM")][0].split()[1])
pandas.DataFrame({"id": list(label), "cluster": list(label.values())}).to_parquet(folder + "/clusters.parquet")
"""


class Row(NamedTuple):
    """A method on a data set: seconds without imports and files, and the most memory of its process."""

    method: str
    metrics: PartitionMetrics
    seconds: float
    peak_bytes: float
    setting: str = ""


class Case(NamedTuple):
    """A data set with its records numbered: which have a true cluster, and the cluster of each."""

    data: DataSet
    places: IntArray
    clusters: IntArray

    def metrics(self, labels: NDArray[np.integer]) -> PartitionMetrics:
        return partition_metrics(labels[self.places], self.clusters)

    def row(self, method: str, work: Callable[..., Any], *given: Any, setting: str = "") -> Row:
        """Of a work that makes ``id, cluster``."""
        found, seconds, peak_bytes = alone(work, *given)
        ids = self.data.records.select("id")
        labels = ids.join(found, on="id", how="left", maintain_order="left")["cluster"].rank("dense")
        return Row(method, self.metrics(labels.to_numpy().astype(np.int64)), seconds, peak_bytes, setting)


def alone(work: Callable[..., Any], *given: Any) -> tuple[Any, float, float]:
    """What a work returns in a process of its own, its seconds, and the most memory of the process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_timed, work, *given).result()


def _timed(work: Callable[..., Any], *given: Any) -> tuple[Any, float, float]:
    begun = time.perf_counter()
    result = work(*given)
    seconds = time.perf_counter() - begun
    [peak] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    return result, seconds, 1024.0 * int(peak)


def scored(
    records: pl.DataFrame, settings: Scorer, labelled: pl.DataFrame | None, within: int | None = None
) -> pl.DataFrame:
    """``left, right, match_probability`` by Splink, learnt from labels or without.

    Args:
        within: records of a component, at most, whose pairs that no rule proposes are scored too.
    """
    prepared = prepare(records, settings)
    if labelled is None:
        trained = learn_unlabelled(prepared, settings, seed=0).agreements
    else:
        trained = train_scorer(records, labelled, settings)
    pairs = score_pairs(records, trained, settings)
    if within is None:
        return pairs
    gaps = find_gaps(prepared, pairs, within).pairs
    return pl.concat([pairs, score_gaps(prepared, settings, gaps, pairs.clear(), [trained]).select(pairs.columns)])


def components(ids: pl.DataFrame, pairs: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Splink's connected components."""
    from splink import DuckDBAPI
    from splink.clustering import cluster_pairwise_predictions_at_threshold

    edges = pairs.rename({"left": "id_l", "right": "id_r"}).to_arrow()
    found = cluster_pairwise_predictions_at_threshold(
        ids.to_arrow(), edges, DuckDBAPI(), "id", threshold_match_probability=threshold
    )
    return found.as_duckdbpyrelation().pl().select("id", cluster="cluster_id")


def best_links(sources: pl.DataFrame, pairs: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Splink's clusters of mutually best links, with one record of each source at most."""
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on
    from splink import comparison_library as library

    database, edges = DuckDBAPI(), pairs
    for end, side in (("left", "l"), ("right", "r")):
        of_end = sources.rename({"id": end, "source_dataset": f"source_dataset_{side}"})
        edges = edges.join(of_end, on=end).rename({end: f"id_{side}"})
    settings = SettingsCreator(
        "link_and_dedupe", [library.ExactMatch("id")], [block_on("id")], unique_id_column_name="id"
    )
    linker = Linker(database.register(sources.to_arrow()), settings, log_level=40)
    free = sources["source_dataset"].unique().sort().to_list()
    found = linker.clustering.cluster_using_single_best_links(
        database.register(edges.to_arrow()), free, threshold_match_probability=threshold
    )
    return found.as_duckdbpyrelation().pl().select("id", cluster="cluster_id")


def numbered(ids: pl.DataFrame, pairs: pl.DataFrame) -> list[IntArray]:
    """The ends of the pairs, by the places of their records."""
    places = ids.with_row_index("place")
    ends = (pairs.select(id=end).join(places, on="id", how="left", maintain_order="left") for end in ("left", "right"))
    return [end["place"].to_numpy().astype(np.int64) for end in ends]


def ours(ids: pl.DataFrame, pairs: pl.DataFrame, missing: Missing, sources: IntArray | None = None) -> pl.DataFrame:
    """The best partition."""
    (left, right), weights = numbered(ids, pairs), weights_of(pairs["match_probability"].to_numpy())
    if sources is not None:
        nothing = np.empty((2, 0), dtype=np.int64)
        apart = constrained(ids.height, left, right, weights, Constraints(nothing, nothing, sources), missing)
        # No cluster outweighs a pair that may not be.
        left, right, weights = apart.left, apart.right, np.maximum(apart.weights, -1e6)
    end = time.monotonic() + SECONDS
    found = partition(left, right, weights, missing=missing, remaining=lambda: end - time.monotonic())
    labels = np.arange(ids.height) + ids.height
    labels[found.records] = found.clusters
    return ids.with_columns(cluster=labels)


def lowered(pairs: pl.DataFrame, bits: float) -> pl.DataFrame:
    """Probabilities with a lower prior."""
    p = pl.col("match_probability").clip(1e-15, 1 - 1e-15)
    return pairs.with_columns(match_probability=p / (p + (1 - p) * 2.0**bits))


def labelled_pairs(pairs: pl.DataFrame, gold: pl.DataFrame) -> pl.DataFrame:
    """Proposed pairs with the truth, some drawn at random."""
    left, right = (gold.rename({"record": end, "cluster": f"of_{end}"}) for end in ("left", "right"))
    known = pairs.join(left, on="left").join(right, on="right").sort("left", "right")
    known = known.select("left", "right", is_match=pl.col("of_left") == pl.col("of_right"))
    return known.sample(min(NUM_LABELLED, known.height), seed=0)


def compared(data: DataSet, peers: Path | None) -> Iterator[Row]:
    """All methods on a data set."""
    ids, settings = data.records.select("id"), Scorer(**data.settings)
    gold = ids.with_row_index("place").rename({"id": "record"}).join(data.gold, on="record")
    case = Case(data, gold["place"].to_numpy(), gold["cluster"].rank("dense").to_numpy().astype(np.int64))
    pairs, *cost = alone(scored, data.records, settings, None)
    (left, right), weights = numbered(ids, pairs), weights_of(pairs["match_probability"].to_numpy())
    of_record = np.full(ids.height, -1)
    of_record[case.places] = case.clusters
    is_match = (of_record[left] == of_record[right]) & (of_record[left] >= 0)
    reachable = positive_components(ids.height, left, right, np.where(is_match, 1.0, -1.0))
    yield Row("all true pairs that are proposed", case.metrics(reachable), *cost, f"{pairs.height} pairs")

    def at(bits: float) -> PartitionMetrics:
        return case.metrics(positive_components(ids.height, left, right, weights - (2 / (1 + 2.0**-bits) - 1)))

    best = float(max(BITS, key=lambda bits: at(bits).f1))
    yield case.row("splink, components at 0.5", components, ids, pairs, 0.5)
    oracle = "splink, components at the best threshold*"
    yield case.row(oracle, components, ids, pairs, 1 / (1 + 2.0**-best), setting=f"{best:g} bits")
    numbers = None
    if data.source is not None:
        numbers = data.records[data.source].rank("dense").to_numpy().astype(np.int64)
        # Splink makes names of columns from those of sources.
        sources = ids.with_columns(source_dataset=pl.Series(numbers).cast(pl.String))
        yield case.row("splink, one-to-one links at 0.5", best_links, sources, pairs, 0.5)
        name = "splink, one-to-one links at the best threshold*"
        tried = [(bits, case.row(name, best_links, sources, pairs, 1 / (1 + 2.0**-bits))) for bits in (-8, -4, 4)]
        bits, row = max(tried, key=lambda one: one[1].metrics.f1)
        yield row._replace(setting=f"{bits:g} bits")
    labelled = labelled_pairs(pairs, data.gold)
    if peers is not None:
        yield of_dedupe(case, peers, pairs, labelled, "dedupe's clustering of these probabilities", [])
    yield from of_ours(case, ids, pairs, numbers)
    if data.source is not None:
        kept = pairs.filter(pl.col("match_probability") >= 0.5)
        yield case.row("ours, missing=zero, one_per_source, threshold=0", ours, ids, kept, "zero", numbers)
    more, *cost = alone(scored, data.records, settings, None, WITHIN)
    about = f"{more.height - pairs.height} pairs more, {cost[0]:.1f} s to learn and score"
    yield from of_ours(case, ids, more, numbers, f", within={WITHIN}", about)
    name, rule = "ours at the best prior*", "zero" if data.source is None else "forbid"
    shifted = [(bits, case.row(name, ours, ids, lowered(pairs, bits), rule, numbers)) for bits in range(-8, 13, 4)]
    bits, row = max(shifted, key=lambda one: one[1].metrics.f1)
    yield row._replace(setting=f"{bits:g} bits lower")
    if peers is not None:
        names = [name for name in settings.columns if name in {*settings.fields, "surname", "lon"}]
        yield of_dedupe(case, peers, pairs, labelled, "dedupe, which learns from labels", names)
    for within, name in {None: "", WITHIN: f", within={WITHIN}"}.items():
        pairs, *_ = alone(scored, data.records, settings, labelled, within)
        yield case.row(f"ours, missing=zero{name}, which learns from labels", ours, ids, pairs, "zero")


def of_ours(
    case: Case, ids: pl.DataFrame, pairs: pl.DataFrame, sources: IntArray | None, scored: str = "", setting: str = ""
) -> Iterator[Row]:
    """Whatever unscored pairs count for, with and without sources."""
    for missing in get_args(Missing):
        name = f"ours, missing={missing}{scored}"
        yield case.row(name, ours, ids, pairs, missing, setting=setting)
        if sources is not None:
            yield case.row(f"{name}, one_per_source", ours, ids, pairs, missing, sources, setting=setting)


def of_dedupe(
    case: Case, peers: Path, pairs: pl.DataFrame, labelled: pl.DataFrame, method: str, names: list[str]
) -> Row:
    """By dedupe, with probabilities of its own if it learns of columns."""
    with tempfile.TemporaryDirectory() as folder:
        for name, table in {"pairs": pairs, "labelled": labelled, "records": case.data.records}.items():
            table.write_parquet(f"{folder}/{name}.parquet")
        command = [str(peers), "-c", DEDUPE, folder, *names]
        seconds, peak = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-2:]
        row = case.row(method, pl.read_parquet, f"{folder}/clusters.parquet")
    return row._replace(seconds=float(seconds), peak_bytes=1024.0 * int(peak))
