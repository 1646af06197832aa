"""All texts that a text can become, where some of its words may each be replaced, and a victim that reads them once.

A text is a row of choices, one for each position that may change: 0 is the word as it stands, c its c-th candidate.
With k_i candidates at position i, the texts with h changes number e_h(k_1, ..., k_n), the elementary symmetric
polynomial.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

Choices = NDArray[np.int64]
"""``[texts, positions]``."""

Victim = Callable[[Choices], FloatArray]
"""``[texts, positions]`` choices in, ``[texts, classes]`` probabilities out."""


def level_sizes(num_candidates: Sequence[int], max_changes: int) -> list[int]:
    """How many texts have 1, 2, ..., ``max_changes`` changes.

    Args:
        num_candidates: at each position.
        max_changes: at most.

    >>> level_sizes([2, 1, 3], 3)  # 2 + 1 + 3, 2 * 1 + 2 * 3 + 1 * 3, 2 * 1 * 3
    [6, 11, 6]
    """
    sizes = [1] + [0] * max_changes
    for number in num_candidates:
        for changes in range(max_changes, 0, -1):
            sizes[changes] += number * sizes[changes - 1]
    return sizes[1:]


def levels_within(sizes: Sequence[int], budget: int) -> int:
    """How many numbers of changes can be tried as a whole, from 1 on.

    Args:
        sizes: of :func:`level_sizes`.
        budget: texts that may be read.

    >>> levels_within([6, 11, 6], 17), levels_within([6, 11, 6], 16), levels_within([6, 0], 5)
    (2, 1, 0)
    """
    return sum(total <= budget for total in accumulate(sizes))


def change_limit(num_words: int, max_share: float) -> int:
    """max(1, floor(``max_share`` n)): how many words of n may change.

    >>> change_limit(4, 0.2), change_limit(14, 0.2)
    (1, 2)
    """
    return max(1, int(max_share * num_words + 1e-9))


def levels(num_candidates: Sequence[int], num_changes: int) -> Choices:
    """All texts with so many changes, in lexicographic order of the changed positions and then of their choices.

    >>> levels([1, 2], 1).tolist(), levels([1, 2], 2).tolist()
    ([[1, 0], [0, 1], [0, 2]], [[1, 1], [1, 2]])
    """
    positions = np.repeat(np.arange(len(num_candidates)), num_candidates)
    numbers = np.concatenate([np.arange(1, number + 1) for number in num_candidates] or [np.empty(0, np.int64)])
    behind = np.searchsorted(positions, positions, side="right")
    rows = np.arange(positions.size)[:, None]
    for _ in range(num_changes - 1):
        starts = behind[rows[:, -1]]
        lengths = positions.size - starts
        offsets = np.arange(lengths.sum()) - np.repeat(lengths.cumsum() - lengths, lengths)
        rows = np.column_stack([np.repeat(rows, lengths, axis=0), np.repeat(starts, lengths) + offsets])
    choices = np.zeros((len(rows), len(num_candidates)), dtype=np.int64)
    np.put_along_axis(choices, positions[rows], numbers[rows], axis=1)
    return choices


@dataclass
class Queries:
    """A victim that reads each text once, and counts. A text that it can't read is no flip: p(y0) stays at 1.

    Attributes:
        victim: that is asked.
        label: class of the original text, which a flip leaves.
        num_queries: texts that it was asked about.
        num_distinct: texts that it has read.
    """

    victim: Victim
    label: int
    num_queries: int = 0
    _known: dict[bytes, tuple[float, bool]] = field(default_factory=dict)

    @property
    def num_distinct(self) -> int:
        return len(self._known)

    def __call__(self, choices: Choices) -> tuple[FloatArray, NDArray[np.bool_]]:
        """``[texts]`` p(y0 | z), and whether another class is more probable."""
        self.num_queries += len(choices)
        keys = [row.tobytes() for row in np.ascontiguousarray(choices)]
        new = {key: number for number, key in enumerate(keys) if key not in self._known}
        if new:
            probabilities = self.victim(choices[list(new.values())])
            is_read = ~np.isnan(probabilities).any(axis=1)
            flips = is_read & (probabilities.argmax(axis=1) != self.label)
            values = zip(np.where(is_read, probabilities[:, self.label], 1.0).tolist(), flips.tolist(), strict=True)
            self._known |= dict(zip(new, values, strict=True))
        known = [self._known[key] for key in keys]
        return np.array([value for value, _ in known], dtype=np.float64), np.array([flip for _, flip in known], bool)
