"""word2vec (Mikolov et al. 2013), trained by gensim; :mod:`.embedding.negative_sampling` has the equation."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from tiltmeter.operators.embedding.negative_sampling import (
    Draw,
    Lines,
    NegativeSamplingConfig,
    NegativeSamplingTraining,
    settings,
)

VERSION = "word2vec/1"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Word2VecConfig(NegativeSamplingConfig):
    """How a replica is trained: see :class:`.negative_sampling.NegativeSamplingConfig`."""

    name: Literal["word2vec"] = "word2vec"


class Word2VecTraining(NegativeSamplingTraining):
    """The training of one replica; the result has the word vectors w.

    A loss is the mean of the negated objective over the words of an epoch that were not passed over, each with all the
    steps of its window, taken before each step. gensim leaves out terms with ``abs(c . w) >= 6``, for which it makes
    no step either, reads the logarithm from a table of 1000 entries, and sums up a batch in 32 bits.

    Args:
        words: the vocabulary, which all replicas share; training needs its length only.
        counts, lines, replica, seed: see :class:`.negative_sampling.NegativeSamplingTraining`.
    """

    def __init__(
        self,
        words: Sequence[str],
        counts: NDArray[np.int64],
        lines: Lines,
        replica: int,
        seed: int,
        config: Word2VecConfig,
    ) -> None:
        from gensim.models import word2vec

        self._batch_trainer = word2vec.train_batch_sg if config.skip_gram else word2vec.train_batch_cbow
        model = word2vec.Word2Vec(**settings(config))
        super().__init__(model, np.arange(len(words)), counts, lines, replica, seed, config)
        model.wv.vectors[:] = self._initial(len(words), Draw.WORD_VECTORS)[self._order]
        work, mean = np.empty((2, config.dimensions), dtype=np.float32)
        self._work = [work] if config.skip_gram else [work, mean]

    def _train(self, batch: list[NDArray[np.int32]], rate: float) -> tuple[float, int]:
        self._model.running_training_loss = 0.0
        num_trained = self._batch_trainer(self._model, [line.tolist() for line in batch], rate, *self._work, True)
        return self._model.running_training_loss, num_trained

    def _weights(self) -> dict[str, NDArray[np.float32]]:
        return {"vectors": self._model.wv.vectors, "outputs": self._model.syn1neg}

    def _word_vectors(self) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._model.wv.vectors
        return vectors
