"""Average-linkage clustering of scores with a threshold: the baseline of Table 4 of Vadrevu et al. 2021 (xER).

The two clusters with the largest mean weight of the pairs between them merge (UPGMA: Sokal and Michener 1958, *A
statistical method for evaluating systematic relationships*), as long as that mean reaches a threshold.

Of pairs without a score something has to be assumed. Under ``missing="zero"`` they weigh 0. Under ``missing="forbid"``
clusters with such a pair between them never merge, whatever their mean, so that results can be compared with those of
the other solvers.
"""

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.resolution.baselines.set_packing import unsolved
from tiltmeter.operators.resolution.problem import Problem, Remaining, Result, result
from tiltmeter.operators.resolution.search.bound import triangle_bound

VERSION = "hierarchical/1"


def hierarchical_result(problem: Problem, remaining: Remaining, threshold: float = 0.0) -> Result:
    """The clusters, how good they are as a partition, and the bound of :mod:`.search.bound`.

    Args:
        problem: time and memory grow with the square of its nodes, 10,000 of which take 1 GB.
        remaining: seconds that are left; once begun, the clustering itself is not stopped.
        threshold: the least mean weight at which clusters merge.

    Of the third node, the mean weight to the first two is (-3 + 1) / 2:

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, -3.0, 1.0]), "zero")
    >>> hierarchical_result(triangle, lambda: 1.0).labels
    array([0, 0, 1])
    >>> hierarchical_result(triangle, lambda: 1.0, threshold=-1.0).labels
    array([0, 0, 0])
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    if remaining() <= 0.0:
        return unsolved(problem)
    if problem.num_nodes < 2 or not problem.weights.size:
        return result(problem, np.arange(problem.num_nodes), 0.0)
    largest = max(0.0, float(problem.weights.max()), threshold)
    tree = linkage(_distances(problem, largest, threshold), method="average")
    labels = fcluster(tree, largest - threshold, criterion="distance")
    return result(problem, labels, triangle_bound(problem, remaining))


def _distances(problem: Problem, largest: float, threshold: float) -> FloatArray:
    """``[nodes (nodes - 1) / 2]``, row by row, by how much each pair weighs less than the largest weight."""
    num_nodes = problem.num_nodes
    # A mean over at most nodes^2 / 4 pairs, one of which has this distance, lies beyond the threshold.
    forbidden = (largest - threshold + 1.0) * num_nodes**2
    distances = np.full(num_nodes * (num_nodes - 1) // 2, forbidden if problem.missing == "forbid" else largest)
    places = problem.left * (2 * num_nodes - problem.left - 1) // 2 + problem.right - problem.left - 1
    distances[places] = largest - problem.weights
    return distances
