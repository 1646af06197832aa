"""What perturbed vectors say of their word (Feyisetan et al. 2020, section 4), and the best attacker's success."""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.embedding.private_release.noise import Law

VERSION = "deniability/2"

_ROWS_AT_ONCE = 256


def nearest_rows(vectors: FloatArray, vocabulary: FloatArray) -> IntArray:
    """Row of the vocabulary that each vector is nearest to: for noise whose density falls with its norm, the maximum
    of the likelihood, so that no attacker without prior knowledge names the word more often; ``[n]``.

    >>> nearest_rows(np.array([[0.2], [4.0]]), np.array([[0.0], [1.0], [5.0]]))
    array([0, 2])
    """
    norms = np.einsum("ij,ij->i", vocabulary, vocabulary)
    parts = [vectors[start : start + _ROWS_AT_ONCE] for start in range(0, len(vectors), _ROWS_AT_ONCE)]
    rows = [(norms - 2 * part @ vocabulary.T).argmin(axis=1) for part in parts]
    return np.concatenate([np.empty(0, np.int64), *rows])


def written_rows(
    noisy: FloatArray, images: FloatArray, inverse: FloatArray | None, threshold: float | None, uniforms: FloatArray
) -> IntArray:
    """Row of the word that is written for each noisy vector, which it is made of alone; ``[n]``.

    The nearest, or by Vickrey's choice (Xu et al. 2021) one of the two nearest: at distances d1 <= d2 the nearest with
    the chance ``(1 - t) d2 / (t d1 + (1 - t) d2)``, and else the second.

    Args:
        noisy, images: ``[n, m]``, and ``[p, m]`` of the vocabulary, no two of them equal.
        inverse: ``[d, m]`` of the map, by which it is undone before distances are taken; None: it is not.
        threshold: t, between 0 and 1; None: the nearest.
        uniforms: ``[n]`` in [0, 1), which count with a threshold.

    >>> line = np.array([[0.0], [4.0], [9.0]])
    >>> written_rows(np.full((2, 1), 1.0), line, None, 0.5, np.array([0.74, 0.76]))
    array([0, 1])
    """
    if inverse is not None:
        noisy, images = noisy @ inverse.T, images @ inverse.T
    if threshold is None:
        return nearest_rows(noisy, images)
    norms, rows = np.einsum("ij,ij->i", images, images), np.empty(len(noisy), np.int64)
    for start in range(0, len(noisy), _ROWS_AT_ONCE):
        part, drawn = (values[start : start + _ROWS_AT_ONCE] for values in (noisy, uniforms))
        pairs = (norms - 2 * part @ images.T).argpartition(1, axis=1)[:, :2]
        first, second = np.linalg.norm(part[:, None] - images[pairs], axis=2).T
        chances = (1 - threshold) * second / (threshold * first + (1 - threshold) * second)
        rows[start : start + _ROWS_AT_ONCE] = np.where(drawn < chances, pairs[:, 0], pairs[:, 1])
    return rows


def likeliest_rows(noisy: FloatArray, images: FloatArray, prior: FloatArray, law: Law, scale: float) -> IntArray:
    """Row of the word that is likeliest by Bayes for each noisy vector, given the chance ``[p]`` of each word; ``[n]``.

    Of words that the prior draws no attacker names more, and none who sees only a word that is made of the vector.

    >>> likeliest_rows(np.array([[0.6]]), np.array([[0.0], [1.0]]), np.array([0.6, 0.4]), "norm", 1.0)
    array([0])
    """
    norms, logs, rows = np.einsum("ij,ij->i", images, images), np.log(prior), [np.empty(0, np.int64)]
    for start in range(0, len(noisy), _ROWS_AT_ONCE):
        part = noisy[start : start + _ROWS_AT_ONCE]
        squares = np.add.outer(np.einsum("ij,ij->i", part, part), norms) - 2 * part @ images.T
        squares = np.maximum(squares, 0.0) / scale**2
        rows.append((logs - (squares / 2 if law == "gaussian" else np.sqrt(squares))).argmax(axis=1))
    return np.concatenate(rows)


def are_named(vectors: FloatArray, images: FloatArray, vocabulary: FloatArray) -> BoolArray:
    """Whether the best guess of an attacker who knows the vocabulary and the map is right; ``[n]``.

    Args:
        vectors: ``[n, m]`` that were given away.
        images: ``[n, m]`` Phi x of each, which are in the vocabulary.
        vocabulary: ``[p, m]`` images of all words.

    >>> are_named(np.array([[0.2], [4.0]]), np.array([[0.0], [1.0]]), np.array([[0.0], [1.0], [5.0]]))
    array([ True, False])
    """
    return np.asarray(nearest_rows(vectors, vocabulary) == nearest_rows(images, vocabulary))


class Deniability(NamedTuple):
    """Of perturbations of one word.

    Attributes:
        returned: N_w, share that give the word back.
        distinct: S_w, different words among them.
    """

    returned: float
    distinct: int


def deniability(rows: IntArray, row: int) -> Deniability:
    """N_w and S_w from the words that perturbations of one word were nearest to.

    >>> deniability(np.array([3, 3, 1, 2]), 3)
    Deniability(returned=0.5, distinct=3)
    """
    return Deniability(float(np.mean(rows == row)), len(np.unique(rows)))


def naming_caps(rows: IntArray, images: FloatArray, scale: float) -> FloatArray:
    """Most that any attacker can believe in each word, if it is the right one, whatever is published; ``[n]``.

    Of noise by the norm no density exceeds another by more than ``exp(||Phi (x - x')|| / s)``, so that by Bayes with
    all words alike beforehand ``P(x | w) <= 1 / (1 + sum exp(-||Phi (x - x')|| / s))`` over the other words x', for
    every w, without any sampling. Of all words together no attacker names a larger share than the largest of these;
    of a single word more may be named, at the cost of others: whoever always says it is right whenever it is it.

    Args:
        rows: of the words in question.
        images: ``[p, m]`` of the vocabulary.
        scale: s.

    >>> naming_caps(np.array([0]), np.array([[0.0], [0.0], [np.log(2)]]), 1.0)
    array([0.4])
    """
    norms = np.einsum("ij,ij->i", images, images)
    caps = []
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        squares = np.add.outer(norms[part], norms) - 2 * images[part] @ images.T
        odds = np.exp(-np.sqrt(np.maximum(squares, 0.0)) / scale)
        odds[np.arange(len(part)), part] = 0.0
        caps.append(1 / (1 + odds.sum(axis=1)))
    return np.concatenate([np.empty(0), *caps])
