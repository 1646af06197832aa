"""Which explained instances to look at first: by submodular pick, or by clusters of what is relevant in them.

Both start from a matrix W ``[instances, words]`` of how much each word matters in each instance: the size of its
attribution where it is shown, 0 elsewhere.
"""

import numpy as np
from numpy.typing import NDArray

VERSION = "instance_selection/1"

_SEED = 0
"""Of the starting vector of an eigensolver, on which nothing but last bits depends."""

_LINK = 1e-3
"""Added to similarities, so that no instance is out of reach of the others."""


def submodular_pick(relevance: NDArray[np.floating], num: int) -> NDArray[np.int64]:
    """Instances that together show many words which matter (Ribeiro et al. 2016, algorithm 2).

    With the importance of a word I_j = sqrt(sum_i W_ij), each step takes the instance that adds most to the coverage

        c(V) = sum_j [a word j has W_ij > 0 for an i in V] I_j,

    the first of them in a tie; so the coverage is at least 1 - 1/e of the greatest that as many instances have.

    Args:
        relevance: W, not negative.
        num: instances to take, at most as many as there are.

    Returns:
        ``[num]`` their rows, in the order in which they are taken.

    >>> submodular_pick(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), 2)
    array([1, 2])
    """
    importance, shows = np.sqrt(relevance.sum(axis=0)), relevance > 0
    is_left, uncovered = np.ones(len(relevance), dtype=bool), np.ones(relevance.shape[1], dtype=bool)
    taken = []
    for _ in range(num):
        gains = np.where(is_left, shows @ (importance * uncovered), -1.0)
        taken.append(int(gains.argmax()))
        is_left[taken[-1]] = False
        uncovered &= ~shows[taken[-1]]
    return np.array(taken, dtype=np.int64)


def cluster_rounds(clusters: NDArray[np.integer], similarities: NDArray[np.floating]) -> NDArray[np.int64]:
    """Instances cluster by cluster, the largest first, and again, until all are taken.

    Of a cluster comes first which is most like all of it on average.

    Args:
        clusters: ``[instances]``, number of each one's cluster.
        similarities: ``[instances, instances]``.

    >>> cluster_rounds(np.array([0, 1, 1]), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.9], [0.0, 0.9, 1.0]]))
    array([1, 0, 2])
    """
    queues = []
    for cluster in np.unique(clusters):
        rows = np.flatnonzero(clusters == cluster)
        typical = similarities[np.ix_(rows, rows)].mean(axis=1)
        queues.append(rows[np.argsort(-typical, kind="stable")])
    queues.sort(key=lambda rows: (-len(rows), int(rows.min())))
    places = [(turn, number, row) for number, rows in enumerate(queues) for turn, row in enumerate(rows.tolist())]
    return np.array([row for _, _, row in sorted(places)], dtype=np.int64)


def relevance_clusters(relevance: NDArray[np.floating], max_clusters: int) -> NDArray[np.int64]:
    """Clusters of instances in which the same words matter, as in spectral relevance analysis (Lapuschkin et al. 2019).

    Spectral clustering (von Luxburg 2007) on the cosines between rows of W; there are as many clusters as eigenvalues
    before the widest gap among the smallest ones of the normalised Laplacian, two at least.

    Args:
        relevance: W, not negative.
        max_clusters: how many clusters there may be.

    Returns:
        ``[instances]``, numbers from 0.
    """
    from scipy.sparse.csgraph import laplacian
    from sklearn.cluster import SpectralClustering

    most = min(max_clusters, len(relevance) - 1)
    if most < 2:
        return np.zeros(len(relevance), dtype=np.int64)
    affinity = cosines(relevance) + _LINK
    eigenvalues = np.linalg.eigvalsh(np.asarray(laplacian(affinity, normed=True)))[: most + 1]
    # Rounded, so that equal gaps are not told apart by their last bits.
    num = 2 + int(np.round(np.diff(eigenvalues), 9)[1:].argmax())
    clustering = SpectralClustering(num, affinity="precomputed", assign_labels="cluster_qr", random_state=_SEED)
    return np.asarray(clustering.fit_predict(affinity), dtype=np.int64)


def cosines(relevance: NDArray[np.floating]) -> NDArray[np.float64]:
    """Of the angles between rows, ``[instances, instances]``; 0 for a row of zeros, but 1 with itself."""
    lengths = np.linalg.norm(relevance, axis=1, keepdims=True)
    unit = relevance / np.where(lengths > 0, lengths, 1.0)
    similarities = np.clip(unit @ unit.T, 0.0, 1.0)
    np.fill_diagonal(similarities, 1.0)
    return similarities
