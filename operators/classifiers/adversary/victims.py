"""Classifiers that an attack asks: given a text and what its words may become, the probabilities of every choice."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from tiltmeter.operators.classifiers.adversary.linear import LinearModel
from tiltmeter.operators.classifiers.adversary.spaces import Choices, Victim
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_victims/1"

Space = Mapping[int, Sequence[str]]
"""What tokens may become instead, by their positions in a text."""

Read = Callable[[Sequence[str]], FloatArray]
"""Texts in, ``[texts, classes]`` probabilities out; NaN for a text that can't be read."""


Pieces = tuple[float, float]


class Reader(Protocol):
    """A classifier of texts.

    Attributes:
        classes: their names, in the order of the probabilities.
    """

    @property
    def classes(self) -> tuple[str, ...]: ...

    def for_text(self, tokens: Sequence[str], spaces: Sequence[Space], /) -> Callable[[Space], Victim]:
        """For a text, given all spaces that will be asked about: of each space, the victim of its choices."""

    def knows(self, token: str, /) -> bool | None:
        """Whether it has a word at all; None where that can't be told."""

    def pieces(self, tokens: Sequence[str], /) -> Sequence[Pieces]:
        """Of each token, how many pieces it is read as, and how many of these are unknown; NaN: that can't be told."""


class TextReader(NamedTuple):
    """A classifier that reads texts; each text is read once, and single changes all together.

    Attributes:
        classes: in the order of the probabilities.
        read: the system.
        cut: tokens into pieces, where it tells; see :class:`Reader`.
    """

    classes: tuple[str, ...]
    read: Read
    cut: Callable[[Sequence[str]], Sequence[Pieces]] | None = None

    def for_text(self, tokens: Sequence[str], spaces: Sequence[Space]) -> Callable[[Space], Victim]:
        known: dict[str, FloatArray] = {}

        def probabilities(texts: Sequence[str]) -> FloatArray:
            if new := [text for text in dict.fromkeys(texts) if text not in known]:
                known.update(zip(new, self.read(new), strict=True))
            return np.array([known[text] for text in texts], dtype=np.float64).reshape(len(texts), len(self.classes))

        singles = {(place, option) for space in spaces for place, options in space.items() for option in options}
        probabilities([_changed(tokens, {}), *(_changed(tokens, {place: one}) for place, one in sorted(singles))])

        def victim(space: Space) -> Victim:
            places = list(space)
            words = [(tokens[place], *space[place]) for place in places]

            def answers(choices: Choices) -> FloatArray:
                rows = (zip(places, words, row, strict=True) for row in choices.tolist())
                return probabilities(
                    [_changed(tokens, {place: word[choice] for place, word, choice in row}) for row in rows]
                )

            return answers

        return victim

    def knows(self, _: str) -> bool | None:
        return None

    def pieces(self, tokens: Sequence[str]) -> Sequence[Pieces]:
        return self.cut(tokens) if self.cut else [(np.nan, np.nan)] * len(tokens)


def _changed(tokens: Sequence[str], changes: Mapping[int, str]) -> str:
    return " ".join([changes.get(place, token) for place, token in enumerate(tokens)])


class LinearReader:
    """A linear classifier of words, which reads changes and not texts.

    Args:
        model: of the features.
        classes: in the order of the probabilities.
        vocabulary: features by their terms.
        analyse: cuts a token into terms; no term may reach beyond a space.
    """

    def __init__(
        self,
        model: LinearModel,
        classes: tuple[str, ...],
        vocabulary: Mapping[str, int],
        analyse: Callable[[str], Sequence[str]],
    ) -> None:
        self.classes = classes
        self._model, self._vocabulary, self._analyse = model, vocabulary, analyse
        self._features: dict[str, tuple[int, ...]] = {}

    def for_text(self, tokens: Sequence[str], _: Sequence[Space]) -> Callable[[Space], Victim]:
        features = [self._of(token) for token in tokens]

        def victim(space: Space) -> Victim:
            others = [feature for place, row in enumerate(features) if place not in space for feature in row]
            options = [[features[place], *map(self._of, space[place])] for place in space]
            return self._model.victim(options, others)

        return victim

    def knows(self, token: str) -> bool | None:
        return bool(self._of(token))

    def pieces(self, tokens: Sequence[str]) -> Sequence[Pieces]:
        terms = map(self._analyse, tokens)
        return [(len(one), sum(term not in self._vocabulary for term in one)) for one in terms]

    def _of(self, token: str) -> tuple[int, ...]:
        if token not in self._features:
            terms = self._analyse(token)
            self._features[token] = tuple(self._vocabulary[term] for term in terms if term in self._vocabulary)
        return self._features[token]


def class_weights(scores: FloatArray, cuts: Sequence[float]) -> FloatArray:
    """A score cut into classes, as something that a search can lower step by step.

    Class k lies between the cuts c_k and c_{k+1}, of which the first and the last are infinite. With
    m_k = min(s - c_k, c_{k+1} - s), the depth of a score in a class, weights are exp(m_k) / sum_j exp(m_j), so that the
    class of the score has the largest one. They are no probabilities: a score says nothing of how sure it is.

    Args:
        scores: ``[texts]``, of which NaN stays NaN.
        cuts: inner ones, rising.

    Returns:
        ``[texts, cuts + 1]``.

    >>> class_weights(np.array([-0.5, 0.0, 0.5]), [0.1]).argmax(axis=1)
    array([0, 0, 1])
    """
    borders = np.array([-np.inf, *cuts, np.inf])
    depths = np.minimum(scores[:, None] - borders[:-1], borders[1:] - scores[:, None])
    weights = np.exp(depths - depths.max(axis=1, keepdims=True))
    shares: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return shares
