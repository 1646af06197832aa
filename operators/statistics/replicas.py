"""Values of one statistic in the original corpus, in its bootstrap replicas, and in further starts of its training."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Replicated(NamedTuple):
    """What a statistic is in each embedding of a corpus.

    Attributes:
        original: ``[...]``, of the original corpus from its first random start.
        replicas: of each bootstrap replica, along the axis that counts embeddings.
        starts: of each random start of the original corpus along that axis, the first one included.
    """

    original: NDArray[Any]
    replicas: NDArray[Any]
    starts: NDArray[Any]


def taken_apart(values: NDArray[Any], num_replicas: int, axis: int = 0) -> Replicated:
    """Values of all embeddings of a corpus by what each embedding is.

    Args:
        values: of the original corpus, its replicas and further starts, in this order along ``axis``.
        num_replicas: bootstrap replicas.
        axis: that counts embeddings.

    >>> taken_apart(np.array([5, 1, 2, 3, 6, 7]), num_replicas=3)[1:]
    (array([1, 2, 3]), array([5, 6, 7]))
    """
    first, replicas, others = np.split(values, [1, 1 + num_replicas], axis)
    return Replicated(first.take(0, axis), replicas, np.concatenate([first, others], axis))
