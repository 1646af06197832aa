"""Agglomerative clustering of scores: centroid linkage, the baseline of Vadrevu et al. 2021 (xER), and average linkage.

Table 4 of the paper compares xER with "a standard Hierarchical Clustering", after Hastie et al. 2009, and names neither
the linkage nor the cut. Centroid linkage (Sokal and Michener 1958) of the distances 1 - p, p being the match
probability, with distance 1 for pairs that were never scored and a cut at 0.5, is what gives all seven figures that
tables 4 and 5 print of it; dedupe, whose scores these are, clusters so. Two clusters A and B are at the distance

    d(A, B)^2 = mean_{a in A, b in B} d_ab^2 - V(A) - V(B),    V(A) = sum_{a, a' in A} d_aa'^2 / (2 |A|^2),

that of their centroids, were the records points. Average linkage (UPGMA) takes the mean of the d_ab instead.

Of pairs without a score something has to be assumed. Under ``missing="forbid"`` clusters with such a pair between them
never merge, whatever the others say, so that results can be compared with those of the other solvers. Under
``missing="zero"`` they have distance 1 in centroid linkage, as published, and weigh 0 in average linkage.
"""

from typing import Literal

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.resolution.baselines.cliques import unsolved
from tiltmeter.operators.resolution.problem import Problem, Remaining, Result, result
from tiltmeter.operators.resolution.search.bound import triangle_bound

VERSION = "hierarchical/2"

CUT = 0.5
"""The largest distance 1 - p at which centroids merge."""

MAX_NODES = 30_000
"""Of a problem, whose distances then take 3.6 GB, and as much again while they are clustered."""


def centroid_linkage(problem: Problem, remaining: Remaining) -> Result:
    """The clusters, how good they are as a partition, and the bound of :mod:`.search.bound`.

    Args:
        problem: with weights 2 p - 1; time and memory grow with the square of its nodes, 10,000 of which take 1 GB.
        remaining: seconds that are left; once begun, the clustering itself is not stopped.

    Raises:
        ValueError: if a weight lies outside [-1, 1], or there are more nodes than ``MAX_NODES``.

    Nodes 0 and 1 merge at distance 0.1; of node 2, whose distances to them are 0.3 and 1, their centroid has the
    distance sqrt((0.09 + 1) / 2 - 0.01 / 4) = 0.74:

    >>> chain = Problem(3, np.array([0, 0]), np.array([1, 2]), np.array([0.8, 0.4]), "zero")
    >>> centroid_linkage(chain, lambda: 1.0).labels
    array([0, 0, 1])
    """
    outside = np.flatnonzero(np.abs(problem.weights) > 1.0)
    if outside.size:
        raise ValueError(
            f"centroid_linkage: a weight is {problem.weights[outside[0]]:g}; it takes weights 2 p - 1 of match "
            "probabilities p, from -1 to 1: give those, or set another solver"
        )
    missing = 1.0 if problem.missing == "zero" else 2.0 * problem.num_nodes
    return _clustered(problem, remaining, "centroid", (1.0 - problem.weights) / 2.0, missing, CUT)


def average_linkage(problem: Problem, remaining: Remaining, threshold: float = 0.0) -> Result:
    """The clusters whose mean weight of the pairs between them reaches a threshold, merged from the largest mean on.

    Args:
        problem, remaining: as of :func:`centroid_linkage`, with weights of any size.
        threshold: the least mean weight at which clusters merge.

    Raises:
        ValueError: if there are more nodes than ``MAX_NODES``.

    Of the third node, the mean weight to the first two is (-3 + 1) / 2:

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, -3.0, 1.0]), "zero")
    >>> average_linkage(triangle, lambda: 1.0).labels
    array([0, 0, 1])
    >>> average_linkage(triangle, lambda: 1.0, threshold=-1.0).labels
    array([0, 0, 0])
    """
    largest = max(0.0, float(problem.weights.max(initial=0.0)), threshold)
    # A mean over at most nodes^2 / 4 pairs, one of which has this distance, lies beyond the threshold.
    forbidden = (largest - threshold + 1.0) * problem.num_nodes**2
    missing = forbidden if problem.missing == "forbid" else largest
    return _clustered(problem, remaining, "average", largest - problem.weights, missing, largest - threshold)


def _clustered(
    problem: Problem,
    remaining: Remaining,
    method: Literal["centroid", "average"],
    distances: FloatArray,
    missing: float,
    cut: float,
) -> Result:
    """Merges the two nearest clusters, as long as they are no farther apart than the cut."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if problem.num_nodes > MAX_NODES:
        raise ValueError(
            f"{method}_linkage of {problem.num_nodes} records that pairs connect: at most {MAX_NODES} can be "
            "clustered, as each has a distance to each other; set the threshold of the pairs higher, or another solver"
        )
    if remaining() <= 0.0:
        return unsolved(problem)
    if problem.num_nodes < 2 or not problem.weights.size:
        return result(problem, np.arange(problem.num_nodes), 0.0)
    labels = fcluster(linkage(_condensed(problem, distances, missing), method), cut, criterion="distance")
    return result(problem, labels, triangle_bound(problem, remaining))


def _condensed(problem: Problem, distances: FloatArray, missing: float) -> FloatArray:
    """``[nodes (nodes - 1) / 2]``, the distance of each pair, row by row."""
    num_nodes = problem.num_nodes
    every = np.full(num_nodes * (num_nodes - 1) // 2, missing)
    every[problem.left * (2 * num_nodes - problem.left - 1) // 2 + problem.right - problem.left - 1] = distances
    return every
