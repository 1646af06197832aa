"""Values of one statistic in the original corpus, in its bootstrap replicas, and in further starts of its training.

Replicas differ by which lines they have and by the random start of their training; starts by the latter alone. With the
variance s_r^2 over replicas and s_t^2 over starts, resampling alone has about s_r^2 - s_t^2.
"""

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


class Spread(NamedTuple):
    """What moves a statistic, as standard deviations.

    Attributes:
        training: over random starts of the original corpus.
        sampling: over corpora drawn again, without what training adds; 0 where training alone spreads as far.
    """

    training: float
    sampling: float


def spread(values: Replicated) -> Spread:
    """Of a statistic with one value in each embedding; NaN with fewer than 2 finite starts, or replicas.

    >>> spread(Replicated(np.array(0.0), np.array([0.0, 6.0, 12.0]), np.array([0.0, 3.0, 6.0])))
    Spread(training=3.0, sampling=5.196152422706632)
    """
    training, total = (_variance(part) for part in (values.starts, values.replicas))
    return Spread(float(np.sqrt(training)), float(np.sqrt(np.maximum(total - training, 0.0))))


def _variance(values: NDArray[np.floating]) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.var(ddof=1)) if finite.size > 1 else np.nan
