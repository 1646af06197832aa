"""The solvers side by side, as in Tables 6 and 7 of Vadrevu et al. 2021: sizes of graphs, agreement with gold, seconds.

    python -m benchmarks.xer [--nodes 49] [--thresholds -0.7 -0.5 -0.3 -0.2] [--sizes 46 100 181 262] [--limit 60]
        [--engines HiGHS PULP_CBC_CMD]

Mentions are those of ECB+ from the development data; scores are synthetic, normal around +0.5 for pairs of one chain
and -0.5 for the others with a standard deviation of 0.3. Pairs below a threshold T are taken out and may not share a
cluster. Every solver is given the same graph and time limit, in this process. What the paper prints stands beside what
comes out here in `benchmarks/papers/entity_resolution.py`.
"""

import argparse
import time
from collections.abc import Iterable, Sequence
from itertools import islice

import networkx as nx
import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.command import DATA
from tiltmeter.operators.resolution.baselines.cliques import clustering_coefficient
from tiltmeter.operators.resolution.baselines.packing import ENGINE, Packing
from tiltmeter.operators.resolution.metrics import partition_metrics
from tiltmeter.operators.resolution.pairs import clean_pairs
from tiltmeter.operators.resolution.problem import Problem
from tiltmeter.operators.resolution.solvers import PACKINGS, reducing_solver
from tiltmeter.operators.resolution.synthetic import synthetic_scores

SOLVERS = ("cutting_plane", "local_search", "average_linkage", "quadratic_set_packing", "set_packing")


def chains_of(num: int) -> list[str]:
    """Gold chains of the first mentions of the smallest topic and class that has so many, or of the largest of all."""
    mentions = pl.read_parquet(DATA / "er/ecbplus/mentions.parquet")
    sizes = mentions.group_by("topic", "mention_class").len().sort("len", "topic", "mention_class")
    fitting = sizes.filter(pl.col("len") >= num)
    topic, kind, _ = fitting.row(0) if fitting.height else sizes.row(-1)
    chosen = mentions.filter(topic=topic, mention_class=kind).sort("mention_id")["chain_id"]
    return chosen.cast(pl.String).to_list()[:num]


def problem_of(chains: Sequence[str], threshold: float | None, mean: float = 0.5, sd: float = 0.3) -> Problem:
    """The graph of mentions at a threshold."""
    pairs = clean_pairs(*synthetic_scores(chains, mean, sd, seed=0, about=f"{len(chains)} mentions"), threshold)
    left, right = (end.astype(np.int64) for end in pairs[:2])
    return Problem(len(chains), left, right, pairs.weights, "forbid")


def describe(problem: Problem, *, cliques: bool) -> str:
    """Edges, clustering coefficient, and numbers of cliques where they can be counted."""
    graph = nx.Graph(zip(problem.left.tolist(), problem.right.tolist(), strict=True))
    graph.add_nodes_from(range(problem.num_nodes))
    text = f"{graph.number_of_edges():6,} edges, clustering {clustering_coefficient(problem):.3f}"
    if not cliques:
        return text
    return (
        f"{text}, {_count(nx.find_cliques(graph))} maximal cliques, {_count(nx.enumerate_all_cliques(graph))} cliques"
    )


def _count(cliques: Iterable[list[int]], most: int = 2_000_000) -> str:
    num = sum(1 for _ in islice(cliques, most))
    return f"{num:,}" if num < most else f"over {most:,}"


def run(name: str, problem: Problem, gold: NDArray[np.int64], limit: float, engine: str = ENGINE) -> str:
    """One solver on one graph; packings by one engine."""
    solve = reducing_solver(name, Packing(engine))
    started = time.monotonic()
    try:
        found = solve(problem, lambda: started + limit - time.monotonic())
    except ValueError as error:
        return f"  {name:<22} refused: {error}"
    f1 = partition_metrics(found.labels, gold).f1
    numbers = f"{found.status:<9} objective {found.objective:10.3f} gap {found.gap:8.2%} F1 {f1:.3f}"
    return f"  {name:<22} {numbers} {time.monotonic() - started:9.3f} s"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=49)
    parser.add_argument("--thresholds", type=float, nargs="*", default=[-0.7, -0.5, -0.3, -0.2])
    parser.add_argument("--sizes", type=int, nargs="*", default=[46, 100, 181, 262])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--engines", nargs="*", default=[ENGINE], help="of the packings, by PuLP's names")
    known = parser.parse_args()
    run("cutting_plane", problem_of(chains_of(20), -0.3), np.zeros(20, np.int64), 10)  # compiles
    for threshold in known.thresholds:
        chains = chains_of(known.nodes)
        problem, gold = problem_of(chains, threshold), np.unique(chains, return_inverse=True)[1]
        print(f"{known.nodes} nodes, T = {threshold:g}: {describe(problem, cliques=True)}", flush=True)
        for name in SOLVERS:
            for engine in known.engines if name in PACKINGS else [ENGINE]:
                by = f"  by {engine}" if name in PACKINGS else ""
                print(f"{run(name, problem, gold, known.limit, engine)}{by}", flush=True)
    for size in known.sizes:
        chains = chains_of(size)
        problem, gold = problem_of(chains, -0.3), np.unique(chains, return_inverse=True)[1]
        print(f"{len(chains)} nodes, T = -0.3: {describe(problem, cliques=False)}", flush=True)
        for name in SOLVERS[:3]:
            print(run(name, problem, gold, known.limit), flush=True)


if __name__ == "__main__":
    main()
