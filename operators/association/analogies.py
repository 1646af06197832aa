"""Analogies that an embedding makes by itself, such as "he is to doctor as she is to nurse", and what becomes of them.

They illustrate; they measure nothing. A pair of two different words can be found, and the same word twice cannot, which
alone makes a bias of a rule (Nissim, van Noord and van der Goot 2020): so each has the answer that its word gets where
none is left out.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.similarity import unit_vectors

VERSION = "analogies/1"

MOST_APART = 1.0
"""Distance of two words of length 1 that may still be a pair: 60 degrees (Bolukbasi et al. 2016)."""


class Analogy(NamedTuple):
    """first is to the one seed as second is to the other.

    Attributes:
        first, second: places of its words.
        score: S, the cosine of their difference with that of the seeds.
        distance: between them.
    """

    first: int
    second: int
    score: float
    distance: float


class Answer(NamedTuple):
    """What stands to b as c to a, by cos(u(b) - u(a) + u(c), y) (3CosAdd).

    Attributes:
        word, any_word: place of the word y that is nearest, without a, b and c, and with them.
        input_rank: of the nearest of a, b and c among all words; 1: it is the nearest of all.
    """

    word: int
    any_word: int
    input_rank: int


def generated(words: NDArray[np.floating], seeds: tuple[int, int], num: int) -> list[Analogy]:
    """The pairs (x, y) with the largest S = cos(x - y, seed_1 - seed_2), |x - y| <= 1 (Bolukbasi et al. 2016, eq. 1).

    One after the other, each word once on a side, and not the seeds themselves; fewer where no more are near enough.
    All words are of length 1.

    Args:
        words: ``[words, dims]``; one that is NaN is in no pair.
        seeds: places of the two.
        num: at most.
    """
    units = unit_vectors(words)
    seed = unit_vectors(units[seeds[0]] - units[seeds[1]])
    along = units @ seed
    distances = np.sqrt(np.maximum(2.0 - 2.0 * units @ units.T, 0.0))
    np.fill_diagonal(distances, np.inf)
    distances[seeds] = np.inf
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = (along[:, np.newaxis] - along) / distances
    scores[~((distances <= MOST_APART) & np.isfinite(scores))] = -np.inf
    pairs: list[Analogy] = []
    while len(pairs) < num:
        first, second = (int(place) for place in np.unravel_index(np.argmax(scores), scores.shape))
        if np.isneginf(scores[first, second]):
            break
        pairs.append(Analogy(first, second, float(scores[first, second]), float(distances[first, second])))
        scores[first], scores[:, second] = -np.inf, -np.inf
    return pairs


def answer(words: NDArray[np.floating], a: int, b: int, c: int) -> Answer:
    """a is to b as c is to what?

    Args:
        words: ``[words, dims]``; at least four that are not NaN.
        a, b, c: places of the three.
    """
    units = unit_vectors(words)
    near: FloatArray = np.nan_to_num(units @ (units[b] - units[a] + units[c]), nan=-np.inf)
    order = np.argsort(-near, kind="stable")
    inputs = np.isin(order, [a, b, c])
    return Answer(int(order[~inputs][0]), int(order[0]), int(np.argmax(inputs)) + 1)
