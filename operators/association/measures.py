"""Measures of bias over groups of words, beside WEAT: what one declares, to be taken on replicas."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import LINEAR, Scale


class Groups(NamedTuple):
    """Vectors of the words of a query, ``[embeddings, words, dims]`` each, as the embedding has them, not of length 1.

    A word that an embedding lacks is NaN there.

    Attributes:
        x, y: the targets that are compared.
        a, b: the attributes that they may go with.
    """

    x: NDArray[np.floating]
    y: NDArray[np.floating]
    a: NDArray[np.floating]
    b: NDArray[np.floating]


@dataclass(frozen=True)
class BiasMeasure:
    """One number for a query of two sets of targets and two of attributes.

    Attributes:
        version: such as ``nearest_share/1``; raised when the number means something else.
        larger: what a larger number says, in words that end a sentence, such as "the words of X lie nearer to A".
        measure: from the vectors to ``[embeddings]`` float64, NaN where there is none.
        neutral: the number of an embedding without the bias; None if no number is that.
        scale: on which its intervals are reckoned; see :class:`.intervals.Scale`.
    """

    version: str
    larger: str
    measure: Callable[[Groups], FloatArray]
    neutral: float | None = 0.0
    scale: Scale = LINEAR
