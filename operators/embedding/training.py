"""What every trainer of embeddings has in common."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

State = Mapping[str, NDArray[Any]]
"""All that a training needs to go on with the same bits, as arrays."""


class TrainedReplica(NamedTuple):
    """Attributes:
    vectors: ``[words, dimensions]`` float32; NaN for a word that is not in the replica.
    losses: ``[epochs]`` as the trainer defines them; NaN where it has none.
    """

    vectors: NDArray[np.float32]
    losses: NDArray[np.float64]


class Training(Protocol):
    """The training of one replica, epoch by epoch: a function of the replica and the seed, and of nothing else."""

    @property
    def epochs_done(self) -> int:
        """Passes over the corpus so far."""

    def advance(self) -> None:
        """One more epoch."""

    def state(self) -> State:
        """Where it stands; not a copy."""

    def restore(self, state: State) -> None:
        """Go on from a state of the same replica."""

    def result(self) -> TrainedReplica:
        """What has been learnt so far.

        Raises:
            ValueError: if training diverged.
        """
