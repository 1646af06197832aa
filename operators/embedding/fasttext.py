"""fastText (Bojanowski et al. 2017), trained by gensim: word2vec whose words share vectors of character n-grams.

Bojanowski et al. 2017, *Enriching word vectors with subword information*, section 3.2: in place of w of
:mod:`.embedding.negative_sampling` stands the mean of a vector of the word and the vectors of its n-grams, among which
``<`` and ``>`` stand for the borders of the word. (The paper has their sum, the authors' program their mean. gensim
divides the sum by the number of n-grams in a step of skip-gram, and by one more in the result.)
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from tiltmeter.operators.embedding.negative_sampling import (
    Draw,
    Lines,
    NegativeSamplingConfig,
    NegativeSamplingTraining,
    settings,
)

VERSION = "fasttext/1"

_MAX_NGRAM_VALUES = 2**32
"""gensim computes where the vector of an n-gram starts in 32 bits."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class FastTextConfig(NegativeSamplingConfig):
    """How a replica is trained, as in :class:`.negative_sampling.NegativeSamplingConfig`, and its n-grams.

    Attributes:
        learning_rate: gensim adds a step in full to each n-gram of a word or window; above 0.1 that can overflow within
            a batch, which the compiled steps do not survive.
        min_ngram, max_ngram: their lengths in characters.
        num_buckets: n-grams with the same hash modulo this number share a vector, of ``4 * dimensions`` bytes. The
            paper has 2,000,000, for vocabularies of millions of words.
    """

    name: Literal["fasttext"] = "fasttext"
    learning_rate: Annotated[float, Field(gt=0, le=0.1)] = 0.025
    min_ngram: Annotated[int, Field(ge=1)] = 3
    max_ngram: Annotated[int, Field(ge=1)] = 6
    num_buckets: Annotated[int, Field(ge=1)] = 200_000

    @model_validator(mode="after")
    def _ngrams_can_be_had(self) -> Self:
        if self.min_ngram > self.max_ngram:
            raise ValueError(
                f"embedding.trainer.min_ngram={self.min_ngram} must not be above "
                f"embedding.trainer.max_ngram={self.max_ngram}; word2vec is the trainer without n-grams"
            )
        if self.num_buckets * self.dimensions > _MAX_NGRAM_VALUES:
            raise ValueError(
                f"embedding.trainer.num_buckets={self.num_buckets} times dimensions={self.dimensions} must not exceed "
                f"2^32: set embedding.trainer.num_buckets to {_MAX_NGRAM_VALUES // self.dimensions} at most"
            )
        return self


class FastTextTraining(NegativeSamplingTraining):
    """The training of one replica; gensim computes no loss for fastText, so losses are NaN.

    Args:
        words: the vocabulary, which all replicas share.
        counts, lines, replica, seed: see :class:`.negative_sampling.NegativeSamplingTraining`.
    """

    def __init__(
        self,
        words: Sequence[str],
        counts: NDArray[np.int64],
        lines: Lines,
        replica: int,
        seed: int,
        config: FastTextConfig,
    ) -> None:
        from gensim.models import fasttext

        self._batch_trainer = fasttext.train_batch_any
        ngrams = {"min_n": config.min_ngram, "max_n": config.max_ngram, "bucket": config.num_buckets}
        model = fasttext.FastText(**settings(config), **ngrams)
        self._tokens = np.array(words, dtype=object)
        super().__init__(model, self._tokens, counts, lines, replica, seed, config)
        model.wv.vectors_vocab[:] = self._initial(len(words), Draw.WORD_VECTORS)[self._order]
        model.wv.vectors_ngrams[:] = self._initial(config.num_buckets, Draw.NGRAM_VECTORS)
        self._work, self._mean = np.empty((2, config.dimensions), dtype=np.float32)

    def _train(self, batch: list[NDArray[np.int32]], rate: float) -> tuple[float, int]:
        sentences = [self._tokens[line].tolist() for line in batch]
        return np.nan, self._batch_trainer(self._model, sentences, rate, self._work, self._mean)

    def _weights(self) -> dict[str, NDArray[np.float32]]:
        words = self._model.wv
        return {"vectors": words.vectors_vocab, "ngrams": words.vectors_ngrams, "outputs": self._model.syn1neg}

    def _word_vectors(self) -> NDArray[np.float32]:
        self._model.wv.adjust_vectors()
        vectors: NDArray[np.float32] = self._model.wv.vectors
        return vectors
