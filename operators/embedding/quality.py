"""How good word vectors are: similarities of pairs beside those that people named, and analogies.

Both as they are published: Spearman's rho over the pairs of which an embedding has both words (Finkelstein et al.
2002; Hill, Reichart and Korhonen 2015), and 3CosAdd (Mikolov, Yih and Zweig 2013). What an embedding lacks is counted,
and never 0. An embedding lacks a word whose vector is NaN or of length 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.operators.statistics.correlation import replicated

SIMILARITY_VERSION, ANALOGIES_VERSION = "word_similarity/1", "word_analogies/1"

NO_ANSWER = -1

_TILE_WORDS, _BLOCK_QUESTIONS = 1024, 512
"""Cosines that are held at once are of the words of all questions with a tile of words, and 2 MiB of sums."""


class Similarity(NamedTuple):
    """How one embedding, or several, agree with people on a set of pairs.

    Attributes:
        rho: ``[embeddings]`` Spearman's rho over the pairs of which both words are there, midranks; NaN with fewer than
            3 of these, or where all are as similar.
        rho_of_all: over all pairs, those that lack a word taken for as similar as the others are in the mean.
        num_missing: ``[embeddings]`` pairs that lack a word.
    """

    rho: FloatArray
    rho_of_all: FloatArray
    num_missing: IntArray


def word_similarity(vectors: NDArray[np.floating], pairs: NDArray[np.integer], human: FloatArray) -> Similarity:
    """Spearman's rho of cosines with what people said.

    A small vocabulary leaves the pairs that are frequent, and these are easier: ``rho_of_all`` does not reward that.

    Args:
        vectors: ``[embeddings, words, dims]``.
        pairs: ``[pairs, 2]`` places of their words; -1: the vocabulary lacks it.
        human: ``[pairs]`` similarities.

    Raises:
        ValueError: if pairs and similarities are not as many, or a place is none.

    >>> angles = np.arccos([1.0, 0.9, 0.5, 0.5, 0.1])
    >>> vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)[np.newaxis]
    >>> word_similarity(vectors, np.array([[0, 1], [0, 2], [0, 3], [0, 4]]), np.array([4.0, 3, 2, 1])).rho.round(9)
    array([0.9486833])
    """
    vectors = _checked(vectors, pairs, 2)
    if len(pairs) != len(human):
        raise ValueError(f"{len(pairs)} pairs and {len(human)} similarities: must be as many")
    cosines = np.stack([_cosines(embedding, pairs) for embedding in vectors])
    missing = np.isnan(cosines)
    num_known = (~missing).sum(axis=1, keepdims=True)
    means = np.where(missing, 0.0, cosines).sum(axis=1, keepdims=True) / np.where(num_known > 0, num_known, np.nan)
    rho, of_all = (replicated(x, human, "spearman") for x in (cosines, np.where(missing, means, cosines)))
    return Similarity(rho, of_all, missing.sum(axis=1))


class Answers(NamedTuple):
    """What embeddings answer to questions: places of words, -1 where a word of the question is not there.

    Attributes:
        without_inputs: ``[embeddings, questions]`` the best word that is not in the question, as is published.
        with_inputs: the best word of all, which is mostly one of the question (Nissim et al. 2020).
    """

    without_inputs: IntArray
    with_inputs: IntArray


def analogies(vectors: NDArray[np.floating], questions: NDArray[np.integer]) -> Answers:
    """3CosAdd: a is to b as c is to argmax_y cos(y, u(b) - u(a) + u(c)), u(v) = v / |v|.

    The cosines of the words of all questions with every word come once, tile by tile, and each question adds up three
    of them: for the 19,544 questions of Google 905 products a word in place of 19,544. They are of single precision; of
    equal words the first wins.

    Args:
        vectors: ``[embeddings, words, dims]``, of the words that may be answered, the most frequent first.
        questions: ``[questions, 4]`` places of a, b, c and the expected word; -1: the vocabulary lacks it.

    Raises:
        ValueError: if a place is none.

    >>> vectors = np.array([[[1.0, 0, 0], [1, 0.2, 0], [1, 0, 2], [1, 1, 1], [-1, 0, 0]]])
    >>> analogies(vectors, np.array([[0, 1, 2, 3], [0, 1, 2, -1]]))
    Answers(without_inputs=array([[ 3, -1]]), with_inputs=array([[ 2, -1]]))
    """
    vectors = _checked(vectors, questions, 4)
    made = [_answers(embedding, questions) for embedding in vectors]
    return Answers(*(np.stack([answers[number] for answers in made]) for number in range(2)))


def accuracies(
    answers: NDArray[np.integer], expected: NDArray[np.integer], sections: NDArray[np.integer], num_sections: int
) -> tuple[FloatArray, IntArray]:
    """The share of questions that are answered right, of those of which all words are there, and the number of others.

    Args:
        answers: ``[embeddings, questions]``, of :func:`analogies`.
        expected: ``[questions]``.
        sections: ``[questions]`` in which a question stands.
        num_sections: how many there are.

    Returns:
        Both ``[embeddings, sections]``; NaN where no question of a section can be asked.

    >>> accuracies(np.array([[3, 5, -1]]), np.array([3, 4, 4]), np.array([0, 0, 1]), 2)
    (array([[0.5, nan]]), array([[0, 1]]))
    """
    within, is_asked = sections[:, np.newaxis] == np.arange(num_sections), answers != NO_ANSWER
    num_asked, num_right = (part.astype(np.int64) @ within for part in (is_asked, is_asked & (answers == expected)))
    return num_right / np.where(num_asked > 0, num_asked, np.nan), within.sum(axis=0) - num_asked


def _checked(vectors: NDArray[np.floating], places: NDArray[np.integer], columns: int) -> NDArray[np.floating]:
    """The vectors, if the places are theirs."""
    if vectors.ndim != 3 or places.ndim != 2 or places.shape[1] != columns:
        shapes = f"vectors {vectors.shape} and places {places.shape}"
        raise ValueError(f"{shapes}: must be [embeddings, words, dims] and [items, {columns}]")
    if places.size and not -1 <= places.min() <= places.max() < vectors.shape[1]:
        raise ValueError(f"places from {places.min()} to {places.max()}: must lie in [-1, {vectors.shape[1]})")
    return vectors


def _cosines(embedding: NDArray[np.floating], pairs: NDArray[np.integer]) -> FloatArray:
    """``[pairs]``, NaN where a word is missing."""
    known = (pairs >= 0).all(axis=1)
    return np.where(known, cosine(embedding[pairs[:, 0]], embedding[pairs[:, 1]]), np.nan)


def _answers(embedding: NDArray[np.floating], questions: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = (embedding / np.linalg.norm(embedding, axis=1, keepdims=True)).astype(np.float32)
    is_there = np.isfinite(unit).all(axis=1)
    unit[~is_there] = 0.0
    asked = (questions >= 0).all(axis=1) & is_there[questions].all(axis=1)
    words, places = np.unique(questions[asked, :3], return_inverse=True)
    inputs, terms = questions[asked, :3], places.reshape(-1, 3)
    best, most = np.full(len(inputs), NO_ANSWER), np.full(len(inputs), -np.inf, np.float32)
    of_inputs = np.empty(inputs.shape, np.float32)
    for start in range(0, len(unit), _TILE_WORDS):
        tile = slice(start, start + _TILE_WORDS)
        near = unit[words] @ unit[tile].T
        for first in range(0, len(inputs), _BLOCK_QUESTIONS):
            block = slice(first, first + _BLOCK_QUESTIONS)
            a, b, c = terms[block].T
            sums = near[b] - near[a] + near[c]
            sums[:, ~is_there[tile]] = -np.inf
            # The words of a question are put aside, and compared with its best other word at the end.
            is_here = (inputs[block] >= start) & (inputs[block] < start + _TILE_WORDS)
            rows, columns = np.nonzero(is_here)
            here = rows, inputs[block][is_here] - start
            of_inputs[block][rows, columns], sums[here] = sums[here], -np.inf
            nearest = sums.argmax(axis=1)
            highest = sums[np.arange(len(sums)), nearest]
            is_better = highest > most[block]
            best[block] = np.where(is_better, start + nearest, best[block])
            most[block] = np.maximum(highest, most[block])
    answers = np.full((2, len(questions)), NO_ANSWER)
    answers[:, asked] = best, _first_of_best(np.column_stack([inputs, best]), np.column_stack([of_inputs, most]))
    return answers[0], answers[1]


def _first_of_best(words: NDArray[np.integer], cosines: NDArray[np.floating]) -> IntArray:
    """``[questions]``, of ``[questions, words]`` the word with the largest cosine, of several the first."""
    is_best = cosines == cosines.max(axis=1, keepdims=True)
    return np.asarray(np.where(is_best, words, np.iinfo(np.int64).max).min(axis=1))
