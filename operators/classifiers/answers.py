"""What a classifier answers: one rule for all that ask it.

The answer about a text is its most probable class, of several as probable the first in the classifier's order. A text
of which no token is read has none, and so is never right.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray

VERSION = "answers/1"

UNREAD = -1
"""Number of the class of a text of which no token is read."""


def answers(probabilities: NDArray[np.floating]) -> IntArray:
    """``[texts]``, the number of each text's class, or ``UNREAD``.

    Args:
        probabilities: ``[texts, classes]``, or logits; NaN of a text of which no token is read.

    >>> answers(np.array([[0.2, 0.8], [0.5, 0.5], [np.nan, np.nan]]))
    array([ 1,  0, -1])
    """
    is_read = ~np.isnan(probabilities).any(axis=1)
    return np.where(is_read, np.nan_to_num(probabilities, nan=-np.inf).argmax(axis=1), UNREAD).astype(np.int64)


def is_right(probabilities: NDArray[np.floating], classes: Sequence[str], labels: Sequence[str]) -> BoolArray:
    """``[texts]``, whether the answer about each is its label.

    >>> is_right(np.array([[0.9, 0.1], [0.5, 0.5], [np.nan, np.nan]]), ("bad", "good"), ["bad", "good", "bad"])
    array([ True, False, False])
    """
    names = np.array([*classes, None], dtype=object)  # UNREAD is the last one
    return np.asarray(names[answers(probabilities)] == np.array(labels, dtype=object), dtype=bool)


class Classifier(Protocol):
    """Whatever gives texts classes.

    Attributes:
        classes: their names, in the order of the probabilities.
    """

    @property
    def classes(self) -> tuple[str, ...]: ...

    def probabilities(self, texts: Sequence[str], /) -> FloatArray:
        """``[texts, classes]``; NaN of a text of which no token is read."""


class Answers(NamedTuple):
    """What a classifier answers about texts.

    Attributes:
        classes: names.
        probabilities: ``[texts, classes]``; NaN of a text of which no token is read.
    """

    classes: Sequence[str]
    probabilities: FloatArray

    @property
    def is_read(self) -> BoolArray:
        """``[texts]``, whether a token of each is read."""
        return np.asarray(answers(self.probabilities) != UNREAD)

    @property
    def predicted(self) -> list[str | None]:
        """The class of each text; None without an answer."""
        names = [*self.classes, None]  # UNREAD is the last one
        return [names[number] for number in answers(self.probabilities).tolist()]

    def right(self, labels: Sequence[str]) -> BoolArray:
        """``[texts]``, whether the answer about each is its label."""
        return is_right(self.probabilities, self.classes, labels)


def ask(classifier: Classifier, texts: Sequence[str]) -> Answers:
    """What a classifier answers about texts."""
    return Answers(classifier.classes, classifier.probabilities(texts))
