"""Vadrevu et al. 2021 (xER): entity resolution by clique partitioning, on its data sets and on mentions of ECB+."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import networkx as nx
import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.command import DATA
from benchmarks.papers.figures import Figure, compared, minus
from tiltmeter.operators.resolution import Problem, partition, partition_metrics
from tiltmeter.operators.resolution.baselines.cliques import allowed_graph, clustering_coefficient
from tiltmeter.operators.resolution.clustering import Solver
from tiltmeter.operators.resolution.explanations import standings
from tiltmeter.operators.resolution.pairs import clean_pairs
from tiltmeter.operators.resolution.problem import Missing
from tiltmeter.operators.resolution.quality.metrics import PartitionMetrics
from tiltmeter.operators.resolution.solvers import reducing_solver
from tiltmeter.operators.resolution.synthetic import synthetic_scores

TITLE = "Vadrevu et al. 2021, xER: An Explainable Model for Entity Resolution"
PAGE = "entity_resolution"
DATA_FILES = [
    *(f"er/{name}/{table}.parquet" for name in ("settlements", "csv_example") for table in ("pairs", "gold")),
    "er/ecbplus/mentions.parquet",
]

_OTHER_GRAPH = "another graph"
"""The paper says of its graphs neither which mentions they have nor how their scores were drawn."""


class _Scored(NamedTuple):
    """Scored pairs of a data set with its true clusters; records without a scored pair stay alone."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    weights: NDArray[np.float64]
    gold: NDArray[np.int64]

    def metrics(self, solver: Solver) -> PartitionMetrics:
        missing: Missing = "zero" if solver == "centroid_linkage" else "forbid"
        found = partition(self.left, self.right, self.weights, solver=solver, missing=missing)
        labels = np.arange(self.gold.size) + found.records.size
        labels[found.records] = found.clusters
        return partition_metrics(labels, self.gold)


@cache
def _scored(name: str) -> _Scored:
    pairs, gold = (pl.read_parquet(DATA / f"er/{name}/{table}.parquet") for table in ("pairs", "gold"))
    numbers = gold.select(pl.col("record").cast(pl.String)).with_row_index("number")
    ends = pairs.select(pl.col("left", "right").cast(pl.String))
    left, right = (
        ends.select(record=side).join(numbers, on="record", how="left", maintain_order="left")["number"].to_numpy()
        for side in ("left", "right")
    )
    weights = 2.0 * pairs["match_probability"].to_numpy() - 1.0
    clusters = gold["cluster"].rank("dense").to_numpy() - 1
    return _Scored(left.astype(np.int64), right.astype(np.int64), weights, clusters.astype(np.int64))


def figures() -> list[Figure]:
    """Tables 1 to 8, without the columns of F-MWSP, which is a method of others, and of seconds."""
    return [*_cliques(), *_data_sets(), *_mentions(), *_scores(), *_thresholds(), *_sizes(), *_node_25()]


# --- table 1 --------------------------------------------------------------------------------------------------------

_TABLE_1 = (
    (38, 147, 70, 528, 8),
    (38, 203, 101, 801, 8),
    (38, 379, 433, 5619, 13),
    (46, 223, 87, 2466, 28),
    (46, 317, 162, 3264, 20),
    (46, 556, 829, 17114, 21),
)


def _cliques() -> Iterator[Figure]:
    for nodes, edges, maximal, every, ratio in _TABLE_1:
        problem = _with_edges(nodes, edges)
        name = f"{nodes} nodes, {edges} edges: maximal cliques / cliques"
        yield Figure("table 1", name, f"{maximal} / {every}", "{} / {}".format(*_num_cliques(problem)), _OTHER_GRAPH)
        figure = f"{nodes} nodes, {edges} edges: the ratio of the printed counts, rounded up"
        reason = "error in print: it is rounded to the nearest"
        yield compared("table 1", figure, ratio, math.ceil(every / maximal), otherwise=reason)


def _with_edges(num_nodes: int, num_edges: int) -> Problem:
    """The pairs of highest score of as many mentions."""
    whole = problem_of(chains_of(num_nodes), None)
    kept = np.sort(np.argsort(-whole.weights, kind="stable")[:num_edges])
    return Problem(num_nodes, whole.left[kept], whole.right[kept], whole.weights[kept], "forbid")


def _num_cliques(problem: Problem, most: int = 2_000_000) -> tuple[int, int]:
    """Maximal cliques and all, each of two nodes or more."""
    graph = allowed_graph(problem)
    maximal = sum(1 for nodes in nx.find_cliques(graph) if len(nodes) > 1)
    return maximal, sum(1 for nodes in islice(nx.enumerate_all_cliques(graph), most) if len(nodes) > 1)


# --- tables 2 to 5 --------------------------------------------------------------------------------------------------


def _data_sets() -> Iterator[Figure]:
    printed = {"patent_example": (2379, 293785, 102), "csv_example": (3337, 6608, 1162)}
    printed |= {"settlements": (3054, 4388, 820)}
    for name, values in printed.items():
        counts = None if name == "patent_example" else np.bincount(_scored(name).gold)
        ours = None if counts is None else (counts.sum(), (counts * (counts - 1) // 2).sum(), counts.size)
        for at, column in enumerate(("entities", "matches", "clusters")):
            yield _compared("table 2", f"{name}: {column}", values[at], ours and ours[at])


def _mentions() -> Iterator[Figure]:
    mentions = pl.read_parquet(DATA / "er/ecbplus/mentions.parquet")
    for kind, num_mentions, num_chains in (("event", 6833, 2741), ("entity", 8289, 2224)):
        chosen = mentions.filter(mention_class=kind)
        yield compared("table 3", f"ECB+, {kind}: mentions", num_mentions, chosen.height)
        reason = f"differs; {chosen.select('topic', 'chain_id').n_unique()} if a chain ends with its topic"
        num = chosen["chain_id"].n_unique()
        yield compared("table 3", f"ECB+, {kind}: chains", num_chains, num, otherwise=reason)


_METHODS: Mapping[str, Solver] = {"xER": "quadratic_set_packing", "hierarchical clustering": "centroid_linkage"}


def _scores() -> Iterator[Figure]:
    printed = {"patent_sample": (92.0, 92.2), "csv_example": (95.1, 94.4), "settlements": (95.7, 95.3)}
    for name, values in printed.items():
        for value, (method, solver) in zip(values, _METHODS.items(), strict=True):
            ours = None if name == "patent_sample" else 100.0 * _scored(name).metrics(solver).f1
            yield _compared("table 4", f"{name}, {method}: F1 (%)", value, ours, digits=1)
    in_percent = {"f1": (95.7, 95.3), "homogeneity": (99.8, 99.9), "completeness": (98.9, 98.7)}
    in_percent |= {"v_measure": (99.4, 99.3)}
    plain = {"adjusted_rand": (0.957, 0.953), "fowlkes_mallows": (0.958, 0.953)}
    for at, (method, solver) in enumerate(_METHODS.items()):
        metrics = _scored("settlements").metrics(solver)._asdict()
        for name, pair in (in_percent | plain).items():
            unit, scale, digits = (" (%)", 100.0, 1) if name in in_percent else ("", 1.0, 3)
            figure = f"settlements, {method}: {name.replace('_', ' ')}{unit}"
            yield compared("table 5", figure, pair[at], scale * metrics[name], digits=digits)


# --- tables 6 to 8 --------------------------------------------------------------------------------------------------

_TABLE_6 = (
    (-0.7, 863, 0.739, "–", "6425"),
    (-0.5, 598, 0.512, "16619", "827"),
    (-0.3, 309, 0.315, "2906", "174"),
    (-0.2, 228, 0.312, "2491", "108"),
)
_NUM_PAIRS = 49 * 48 // 2


def chains_of(num: int) -> list[str]:
    """Gold chains of the first mentions of the smallest topic and class that has so many, or of the largest of all."""
    mentions = pl.read_parquet(DATA / "er/ecbplus/mentions.parquet")
    sizes = mentions.group_by("topic", "mention_class").len().sort("len", "topic", "mention_class")
    fitting = sizes.filter(pl.col("len") >= num)
    topic, kind, _ = fitting.row(0) if fitting.height else sizes.row(-1)
    chosen = mentions.filter(topic=topic, mention_class=kind).sort("mention_id")["chain_id"]
    return chosen.cast(pl.String).to_list()[:num]


def problem_of(chains: Sequence[str], threshold: float | None, mean: float = 0.5, sd: float = 0.3) -> Problem:
    """Mentions whose scores are normal around the mean within a chain, around its negative elsewhere."""
    pairs = clean_pairs(*synthetic_scores(chains, mean, sd, seed=0, about=f"{len(chains)} mentions"), threshold)
    left, right = (end.astype(np.int64) for end in pairs[:2])
    return Problem(len(chains), left, right, pairs.weights, "forbid")


def _thresholds() -> Iterator[Figure]:
    chains = chains_of(49)
    for threshold, edges, coefficient, every, maximal in _TABLE_6:
        problem, place = problem_of(chains, threshold), minus(f"49 nodes, T = {threshold:g}")
        num_maximal, num = _num_cliques(problem)
        yield Figure("table 6", f"{place}: edges", str(edges), str(problem.weights.size), _OTHER_GRAPH)
        yield _expected_edges(threshold, edges, place)
        others = {
            "clustering coefficient": (f"{coefficient:.3f}", f"{clustering_coefficient(problem):.3f}"),
            "cliques": (every, str(num)),
            "maximal cliques": (maximal, str(num_maximal)),
            "F1 (%)": ("97.33", f"{_f1(problem, chains):.2f}"),
        }
        for figure, (printed, ours) in others.items():
            yield Figure("table 6", f"{place}: {figure}", printed, ours, _OTHER_GRAPH)


def _expected_edges(threshold: float, printed: int, place: str) -> Figure:
    """How many pairs reach a threshold if noise has a standard deviation of 0.3, and how many if that is its variance.

    Half of the pairs of different chains lie above their mean of -0.5, which says how many there are.
    """
    apart = 2 * (_NUM_PAIRS - {row[0]: row[1] for row in _TABLE_6}[-0.5])
    together = _NUM_PAIRS - apart

    def expected(sd: float) -> float:
        return apart * _above(threshold, -0.5, sd) + together * _above(threshold, 0.5, sd)

    share = expected(0.3) / _NUM_PAIRS
    is_near = abs(printed - expected(0.3)) < 2.0 * math.sqrt(_NUM_PAIRS * share * (1.0 - share))
    by_variance = f"{expected(math.sqrt(0.3)):.0f} if 0.3 were the variance"
    verdict = f"same within two standard errors; {by_variance}" if is_near else f"differs; {by_variance}"
    figure = f"{place}: edges expected by a standard deviation of 0.3"
    return Figure("table 6", figure, str(printed), f"{expected(0.3):.0f}", verdict)


def _above(threshold: float, mean: float, sd: float) -> float:
    return math.erfc((threshold - mean) / (sd * math.sqrt(2.0))) / 2.0


def _sizes() -> Iterator[Figure]:
    for nodes, edges, f1 in ((46, 317, 97.43), (135, 2589, 96.46), (226, 7727, 91.62), (262, 10804, 91.03)):
        chains = chains_of(nodes)
        problem, place = problem_of(chains, -0.3), f"{nodes} nodes, T = −0.3"
        yield Figure("table 7", f"{place}: edges", str(edges), str(problem.weights.size), _OTHER_GRAPH)
        truth = _f1(problem_of(chains, None, mean=1.0, sd=0.0), chains)
        yield compared("table 7", f"{nodes} nodes: F1 with the ground truth as weights (%)", 100.0, truth)
        yield Figure("table 7", f"{place}: F1 (%)", f"{f1:.2f}", f"{_f1(problem, chains):.2f}", _OTHER_GRAPH)


def _f1(problem: Problem, chains: list[str]) -> float:
    found = reducing_solver("cutting_plane")(problem, lambda: math.inf)
    return 100.0 * partition_metrics(found.labels, np.unique(chains, return_inverse=True)[1]).f1


def _node_25() -> Iterator[Figure]:
    left, right = np.triu_indices(4, 1)
    weights = np.array([0.456, 0.999, -0.076, 0.085, -0.156, -0.253])
    found = standings(Problem(4, left, right, weights, "forbid"), np.array([0, 0, 0, 1]), np.array([3]), np.array([0]))
    ours = minus(f"{found.total[0]:.3f}")
    reason = "error in print: the three weights of table 8 are −0.076, −0.156 and −0.253"
    yield Figure("section 6.2", "weight of node 25 with 7, 12 and 20", "−3.0", ours, reason)


def _compared(place: str, figure: str, printed: float, ours: float | None, digits: int = 0) -> Figure:
    if ours is None:
        return Figure(place, figure, f"{printed:.{digits}f}", "–", "no true clusters at hand")
    return compared(place, figure, printed, ours, digits)
