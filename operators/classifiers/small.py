"""A small text classifier over word vectors, which trains on a CPU in minutes: its words, and how large it is.

:mod:`.classifiers.networks` has the network itself.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.normalisation import Normalizer
from tiltmeter.operators.text.segmentation import unsegmented_share
from tiltmeter.operators.text.tokenised import TokenisedText, word_spans

VERSION = "small_classifier/2"

PADDING = 0
"""Has the zero vector, before training and after it."""

UNKNOWN = 1
"""Stands for every word that is not in the vocabulary; those that are, are numbered from 2."""

_FIRST = 2
_VECTORS = 1
_MOST_UNSEGMENTED = 0.2
"""Of running words; names and quotations may be in such a script."""

_SPREAD = 0.1
"""Standard deviation of word vectors before training. With 1, what is learnt drowns in it."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SmallEncoderConfig:
    """The size of the encoder, and of its vocabulary.

    Attributes:
        dimensions: of the word vectors, where none are given.
        hidden: dimensions of the representation of a text.
        width: neighbouring words that are looked at together; with 1, their order does not matter.
        dropout: share of the word vectors' components, and of the representation's, that training leaves out.
        min_count: how often the training texts must use a word for it to have a vector; the others share one.
        max_vocabulary: words that have a vector at most: the most frequent ones.
        max_words: of a text; the rest is left out.
        language: of the texts, for how their words are spelled; see :class:`.normalisation.Normalizer`.
    """

    dimensions: Annotated[int, Field(ge=1)] = 100
    hidden: Annotated[int, Field(ge=1)] = 64
    width: Literal[1, 3, 5, 7] = 3
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5
    min_count: Annotated[int, Field(ge=1)] = 2
    max_vocabulary: Annotated[int, Field(ge=1)] = 20_000
    max_words: Annotated[int, Field(ge=1)] = 256
    language: Annotated[str, Field(pattern=r"^[a-z]{2,}$")] = "en"


class Vocabulary:
    """Words that have a vector, and texts as their numbers.

    Args:
        words: each once, as :meth:`normalised` writes it.
        config: of the encoder.

    >>> vocabulary = Vocabulary(["she", "runs", "."], SmallEncoderConfig())
    >>> [text] = vocabulary.tokenise(["She runs fast."])
    >>> text.words, text.inputs["input_ids"]
    (('She', 'runs', 'fast', '.'), [2, 3, 1, 4])
    """

    def __init__(self, words: Sequence[str], config: SmallEncoderConfig) -> None:
        self.words = tuple(words)
        self._normalize = Normalizer(config.language, True)
        self._max_words = config.max_words
        self._numbers = {word: number for number, word in enumerate(self.words, start=_FIRST)}
        self._normalised: dict[str, str] = {}

    @classmethod
    def of(cls, texts: Sequence[str], config: SmallEncoderConfig, known: Collection[str] = ()) -> "Vocabulary":
        """The words of texts that are frequent enough, the most frequent first.

        Args:
            texts: to train with.
            config: of the encoder.
            known: words that have vectors from elsewhere; one occurrence is enough for them.

        Raises:
            ValueError: for a script without spaces, of which each character would be a word.
        """
        empty, known = cls([], config), set(known)
        counts = Counter(word for text in texts for word in map(empty.normalised, words_of(text)))
        _check_segmented(counts)
        frequent = sorted(
            (-count, word) for word, count in counts.items() if count >= config.min_count or word in known
        )
        return cls([word for _, word in frequent[: config.max_vocabulary]], config)

    def normalised(self, word: str) -> str:
        """As the vocabulary writes a word, and as embeddings of a corpus do."""
        if word not in self._normalised:
            self._normalised[word] = self._normalize(word)
        return self._normalised[word]

    def tokenise(self, texts: Sequence[str]) -> list[TokenisedText]:
        """A token for each word; a text without any word has none."""
        return [self._tokenised(words_of(text)) for text in texts]

    def number(self, word: str) -> int:
        """Of a word as texts write it; ``UNKNOWN`` of one without a vector."""
        return self._numbers.get(self.normalised(word), UNKNOWN)

    def _tokenised(self, words: Sequence[str]) -> TokenisedText:
        read = words[: self._max_words]
        numbers = [self.number(word) for word in read]
        return TokenisedText(tuple(words), {"input_ids": numbers}, np.arange(len(read)), len(words) > len(read))


def _check_segmented(counts: Mapping[str, int]) -> None:
    share = unsegmented_share(pl.Series([*counts], dtype=pl.String), pl.Series([*counts.values()], dtype=pl.Int64), "")
    if share > _MOST_UNSEGMENTED:
        raise ValueError(
            f"{share:.0%} of the words of the training texts are single characters of a script without spaces, which a "
            "small classifier can't join to words: train a checkpoint of a transformer, which has tokens of its own"
        )


def words_of(text: str) -> list[str]:
    """The words of a text as they are written there; see :func:`.tokenised.word_spans`."""
    return [text[start:end] for start, end in word_spans(text)]


def initial_vectors(
    vocabulary: Vocabulary,
    config: SmallEncoderConfig,
    seed: int,
    vectors: Mapping[str, NDArray[np.floating]] | None = None,
) -> NDArray[np.float32]:
    """What the encoder's word vectors are before training: those that are given, and drawn ones for all other words.

    Given vectors are multiplied by one number, so that their components are as spread as those of drawn ones.

    Args:
        vectors: by word, all of one number of dimensions, which overrules the config's.

    Returns:
        ``[2 + words, dims]``: of padding (zeros), of unknown words, and of each word.

    >>> vocabulary = Vocabulary(["she", "runs"], SmallEncoderConfig())
    >>> initial_vectors(vocabulary, SmallEncoderConfig(), 0, {"runs": np.array([3.0, -3.0])})[[0, 3]]
    array([[ 0. ,  0. ],
           [ 0.1, -0.1]], dtype=float32)
    """
    given = {word: vectors[word] for word in vocabulary.words if word in vectors} if vectors else {}
    dimensions = next(iter(given.values())).size if given else config.dimensions
    rows = keyed_generator(seed, Stream.CLASSIFIER_TRAINING, _VECTORS).normal(
        scale=_SPREAD, size=(_FIRST + len(vocabulary.words), dimensions)
    )
    if given:
        places = [number for number, word in enumerate(vocabulary.words, start=_FIRST) if word in given]
        known_vectors = np.array([given[word] for word in vocabulary.words if word in given], dtype=np.float64)
        rows[places] = known_vectors * (_SPREAD / (np.sqrt((known_vectors**2).mean()) or 1.0))
    rows[PADDING] = 0.0
    return rows.astype(np.float32)
