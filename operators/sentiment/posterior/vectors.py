"""Vectors of words, trained on the texts outside of a fold, and mean vectors of texts (Liang and Acuna 2020, 4.3)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.embedding.word2vec import Word2VecConfig, Word2VecTraining


class Tokens(NamedTuple):
    """Texts one after the other.

    Attributes:
        words: ``[tokens]``, numbers of words.
        starts: ``[texts + 1]``, where each text begins.
        folds: ``[texts]``.
    """

    words: IntArray
    starts: IntArray
    folds: IntArray


def fold_vectors(
    tokens: Tokens, words: Sequence[str], fold: int, seed: int, trainer: Word2VecConfig
) -> NDArray[np.floating]:
    """``[words, dimensions]`` of the texts outside of a fold; NaN for a word that none of these has.

    Raises:
        ValueError: if they have no word of the vocabulary.
    """
    lines = [
        tokens.words[start:end].astype(np.int32)
        for start, end, held_out in zip(tokens.starts, tokens.starts[1:], tokens.folds, strict=False)
        if held_out != fold and end > start
    ]
    if not lines:
        raise ValueError(
            "vectors.min_count: no text has a word that comes so often, so there is nothing to train vectors on; lower "
            "it, or bring more texts"
        )
    counts = np.bincount(np.concatenate(lines), minlength=len(words)).astype(np.int64)
    training = Word2VecTraining(words, counts, lambda: lines, ORIGINAL, seed, trainer)
    while training.epochs_done < trainer.epochs:
        training.advance()
    vectors: NDArray[np.floating] = np.where(counts[:, np.newaxis] > 0, training.result().vectors, np.nan)
    return vectors.astype(np.float32)


def mean_vectors(tokens: Tokens, vectors: FloatArray) -> tuple[FloatArray, IntArray]:
    """The mean vector of each text's words, NaN for a text without one, and how many words have a vector."""
    from scipy.sparse import csr_array

    known: BoolArray = np.asarray(np.isfinite(vectors).all(axis=1))
    shape = len(tokens.starts) - 1, len(vectors)
    counts = csr_array((known[tokens.words].astype(np.float64), tokens.words, tokens.starts), shape=shape)
    num_words: FloatArray = np.asarray(counts.sum(axis=1))
    sums: FloatArray = np.asarray(counts @ np.where(known[:, np.newaxis], vectors, 0.0), dtype=np.float64)
    means = sums / np.where(num_words > 0, num_words, np.nan).reshape(-1, 1)
    return means, num_words.astype(np.int64)
