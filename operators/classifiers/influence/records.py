"""How a student of a text classifier is built, and what it is asked, as plain data."""

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

VERSION = "word_influence/3"

MASK = "\N{OBJECT REPLACEMENT CHARACTER}"
"""In place of a word that is left out; no word of a text."""

Words = Sequence[str]
"""Of a text, one of which may be ``MASK``."""


class Spaced(tuple[str, ...]):
    """Words of a text that know what stands before each of them, so that a classifier may read the text as it stands.

    Attributes:
        gaps: white space before each word; empty where it follows on the one before.
    """

    gaps: tuple[str, ...]

    def __new__(cls, words: Words, gaps: Sequence[str]) -> "Spaced":
        """Words with as many gaps."""
        result = super().__new__(cls, words)
        result.gaps = tuple(gaps)
        return result

    @classmethod
    def of(cls, words: Words, text: str) -> "Spaced":
        """Words where they stand in a text, which has nothing else but white space.

        >>> Spaced.of(["A", "film", "!"], "A  film!").gaps
        ('', '  ', '')
        """
        gaps, place = [], 0
        for word in words:
            start = text.index(word, place)
            gaps.append(text[place:start])
            place = start + len(word)
        return cls(words, gaps)


def replaced(text: Words, places: Collection[int], word: str) -> Words:
    """A text with a word in some places, spaced as it was."""
    words = tuple(word if place in places else other for place, other in enumerate(text))
    return Spaced(words, text.gaps) if isinstance(text, Spaced) else words


def written(text: Words, mask: str) -> str:
    """A text as it stands, or with a space between words whose gaps nobody knows, with a mask of one's own.

    >>> written(replaced(Spaced.of(["A", "film", "!"], "A  film!"), [1], MASK), "[MASK]"), written(["a", "film"], "")
    ('A  [MASK]!', 'a film')
    """
    words = [mask if word == MASK else word for word in text]
    if not isinstance(text, Spaced):
        return " ".join(words)
    return "".join(gap + word for gap, word in zip(text.gaps, words, strict=True))


Convention = Literal["masked", "published"]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class StudentConfig:
    """A student of a classifier, and its training.

    Attributes:
        dimensions: of its word vectors.
        hidden: H of its contexts and words; its combination has 3 H units.
        width: neighbouring words that are looked at together.
        dropout: share of the word vectors' components that training leaves out.
        replacements: share of the loss for random words in the place of a text's word. The published student
            has 0: it learns of (context, own word) alone and is then asked about other words.
        margin_weight: of the squared error along what the teacher's last layer tells its classes by, beside that of
            all components. The published loss has 0: a component that no class is told by counts as much as any.
        random_words: that each context is learnt with.
        contexts_per_text: places of a text that one epoch looks at, at most.
        max_epochs: passes over the contexts.
        batch_size: contexts.
        learning_rate: of Adam at its height; it falls to nothing along a line.
        tune_vectors: training changes the word vectors too, as published. Without it they stay what they were: with
            those of the teacher, a word that few contexts teach means what it means to the teacher.
        convention: what the student's change is added to: the state of the ``masked`` text (equation 2), or, as
            equation 5 has it, that of the whole one (``published``).
    """

    dimensions: Annotated[int, Field(ge=1)] = 100
    hidden: Annotated[int, Field(ge=1)] = 64
    width: Literal[1, 3, 5, 7] = 5
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    replacements: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5
    margin_weight: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 1.0
    random_words: Annotated[int, Field(ge=1)] = 4
    contexts_per_text: Annotated[int, Field(ge=1)] = 2
    max_epochs: Annotated[int, Field(ge=1)] = 10
    batch_size: Annotated[int, Field(ge=1)] = 256
    learning_rate: Annotated[float, Field(gt=0.0, le=1.0)] = 2e-3
    tune_vectors: bool = True
    convention: Convention = "masked"


class Teacher(NamedTuple):
    """A classifier whose last layer is linear, y = C z + b.

    Attributes:
        states: z of texts, each as its words, ``[texts, H]`` float32.
        weight: C, ``[classes, H]``.
        bias: b, ``[classes]``.
        classes: their names.
        is_known: whether it has a vector, or tokens, for a word of its own.
    """

    states: Callable[[Sequence[Words]], NDArray[np.float32]]
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    classes: tuple[str, ...]
    is_known: Callable[[str], bool]

    def logits(self, states: NDArray[np.floating]) -> NDArray[np.float64]:
        """y of each state, ``[texts, classes]``."""
        return np.asarray(states.astype(np.float64) @ self.weight.T.astype(np.float64) + self.bias)

    def labels(self, texts: Sequence[Words]) -> NDArray[np.int64]:
        """The class of each text, by its number."""
        return np.asarray(self.logits(self.states(texts)).argmax(axis=1))


class Context(NamedTuple):
    """A place in a text, whose word is left out or replaced.

    Attributes:
        text: all words, the one in the place among them; :class:`Spaced` where it is known how they stand.
        place: from 0.
    """

    text: tuple[str, ...]
    place: int

    @property
    def word(self) -> str:
        """That stands in the place."""
        return self.text[self.place]

    def replaced(self, word: str = MASK) -> Words:
        """The text with another word in the place.

        >>> Context(("a", "fine", "film"), 1).replaced("dull")
        ('a', 'dull', 'film')
        """
        return replaced(self.text, (self.place,), word)
