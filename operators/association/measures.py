"""Measures of bias over groups of words, beside WEAT: what one declares, to be taken on replicas."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import LINEAR, Scale


class Groups(NamedTuple):
    """Vectors of the words of a query, ``[embeddings, words, dims]`` each, as the embedding has them, not of length 1.

    A word that an embedding lacks is NaN there.

    Attributes:
        x, y: the targets that are compared; or the first and second words of the pairs that a direction is taken from.
        a, b: the attributes that they may go with; b is without words for a measure that takes each set by itself. Of
            a direction: the words that are held against it, and for some measures the word nearest to each.
    """

    x: NDArray[np.floating]
    y: NDArray[np.floating]
    a: NDArray[np.floating]
    b: NDArray[np.floating]

    def in_their_span(self) -> "Groups":
        """With all lengths and angles as they are, in as many dimensions as there are words, where there are more."""
        every = np.concatenate(self, axis=1)
        if every.shape[1] >= every.shape[2]:
            return self
        turned = np.swapaxes(np.linalg.qr(np.swapaxes(every, 1, 2), mode="r"), 1, 2)
        return Groups(*np.split(turned, np.cumsum([vectors.shape[1] for vectors in self[:3]]), axis=1))


class Exchange(NamedTuple):
    """The null hypothesis of a measure: labels that carry no information, and so could be exchanged.

    Attributes:
        of: what is dealt anew, each time to sets of the same sizes: ``targets`` to X and Y, ``attributes`` to A and B;
            or ``pairs``, each of which may have its X for its Y. It is the unit that the p-value is about. With
            ``directions`` the pairs of a direction have others for their words, see :func:`.exchange.direction_p`.
        tail: which numbers speak against it: ``two-sided``, as far from 0; ``less``, as small.
    """

    of: Literal["targets", "attributes", "pairs", "directions"]
    tail: Literal["two-sided", "less"] = "two-sided"


@dataclass(frozen=True)
class BiasMeasure:
    """One number for a query of two sets of targets and two of attributes, or one for each of its targets.

    Attributes:
        version: such as ``nearest_share/1``; raised when the number means something else.
        larger: what a larger number says, in words that end a sentence, such as "the words of X lie nearer to A".
        measure: from the vectors to ``[embeddings]`` float64, or ``[embeddings, words of X and Y]`` of one that is of
            words; NaN where there is none.
        neutral: the number of an embedding without the bias; None if no number is that.
        scale: on which its intervals are reckoned; see :class:`.intervals.Scale`; or what makes it of a query.
        null: what a p-value is against; or why there is none, in words that end a sentence. For a p-value it is given
            as many dimensions as there are words, in which all lengths and angles are as they were.
        takes: ``both`` sets of attributes at once, or ``each`` by itself; or pairs that give a ``direction`` and words,
            or these with the ``nearest`` of them to each.
        of_words: whether it gives a number for each target; of a direction, for each word of A.
        in_pairs: whether a word of X and one of Y in the same place of their lists belong together.
        dealt: the same of many partitions at once, which is quicker: of one embedding, and of the weights
            ``[partitions, words]`` of X and then Y, or A and then B, in the mean of the first set, and of the second;
            float64 ``[partitions, numbers]``.
    """

    version: str
    larger: str
    measure: Callable[[Groups], FloatArray]
    neutral: float | None = 0.0
    scale: Scale | Callable[[Groups], Scale] = LINEAR
    null: Exchange | str = "its package states no null hypothesis"
    takes: Literal["both", "each", "direction", "nearest"] = "both"
    of_words: bool = False
    in_pairs: bool = False
    dealt: Callable[[Groups, FloatArray, FloatArray], FloatArray] | None = None

    def scale_of(self, groups: Groups) -> Scale:
        """On which its intervals are reckoned for a query."""
        return self.scale if isinstance(self.scale, Scale) else self.scale(groups)
