"""Counter-fitting: vectors in which synonyms are near each other and antonyms are not.

Mrksic et al. 2016, *Counter-fitting word vectors to linguistic constraints* (NAACL), section 2. With d = 1 - cos,
t(x) = max(0, x), and N(i) the words within rho of word i in the vectors as they were (distance d0),

    C = k1 sum_{antonyms} t(delta - d(u, w)) + k2 sum_{synonyms} t(d(u, w) - gamma)
        + k3 sum_i sum_{j in N(i)} t(d(i, j) - d0(i, j)),

which repels antonyms, attracts synonyms and preserves what else was near. Vectors of length 1 go down its gradient in
full batches. As in the released code, each word's step is the mean over its terms that are not 0, and lengths are made
1 again after each; a pair of both kinds counts as antonyms. Released is a second direction of N(i) that pairs a word
with itself, so that one word of each pair alone keeps its neighbours; here both do, as the paper says.
"""

from collections.abc import Iterable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray

VERSION = "counter_fitting/1"

Pairs = NDArray[np.int64]
"""``[pairs, 2]`` rows of the vectors."""

_MAX_COSINES = 4_000_000
_SLACK = 1e-9
"""A term that is not 0 has a whole gradient, however small it is, so that rounding must not make one."""
_Distance = Annotated[float, Field(ge=0.0, le=2.0)]
_Weight = Annotated[float, Field(ge=0.0, le=1.0)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CounterFittingConfig:
    """The published settings.

    Attributes:
        antonym_distance: delta, from which on antonyms are far enough from each other.
        synonym_distance: gamma, up to which synonyms are near enough.
        radius: rho, within which neighbours are kept; 0: none are.
        weights: k1 of antonyms, k2 of synonyms, k3 of neighbours.
        steps: down the gradient.
    """

    antonym_distance: _Distance = 1.0
    synonym_distance: _Distance = 0.0
    radius: _Distance = 0.2
    weights: tuple[_Weight, _Weight, _Weight] = (0.1, 0.1, 0.1)
    steps: Annotated[int, Field(ge=0)] = 20


def counter_fitted(
    vectors: NDArray[np.floating],
    synonyms: Iterable[tuple[int, int]],
    antonyms: Iterable[tuple[int, int]],
    config: CounterFittingConfig,
) -> FloatArray:
    """Vectors that keep to pairs of synonyms and antonyms.

    Args:
        vectors: ``[words, dims]`` of any length but 0.
        synonyms, antonyms: rows of words, in either order.
        config: of the method.

    Returns:
        ``[words, dims]``, of length 1.

    >>> vectors = counter_fitted(np.eye(3) + 0.5, [(0, 1)], [(0, 2)], CounterFittingConfig(radius=0.0))
    >>> bool(vectors[0] @ vectors[1] > 0.9), bool(vectors[0] @ vectors[2] < 0.5)
    (True, True)
    """
    fitted = _unit(np.asarray(vectors, dtype=np.float64))
    apart = _both_ways(antonyms)
    together = _without(_both_ways(synonyms), apart)
    near = _without(_neighbours(fitted, config.radius), apart)
    before = _distances(fitted, near) + _SLACK
    for _ in range(config.steps):
        active = [
            (apart, _distances(fitted, apart) < config.antonym_distance, config.weights[0]),
            (together, _distances(fitted, together) > config.synonym_distance, -config.weights[1]),
            (near, _distances(fitted, near) > before, -config.weights[2]),
        ]
        fitted = _unit(fitted + _steps(fitted, active))
    return fitted


def _steps(vectors: FloatArray, terms: list[tuple[Pairs, BoolArray, float]]) -> FloatArray:
    """Of the first word of each pair: the gradient of d(u, w) for u is u (u w) - w where both are of length 1."""
    sums, counts = np.zeros_like(vectors), np.zeros((len(vectors), 1))
    for pairs, is_active, weight in terms:
        if not weight:
            continue
        first, second = pairs[is_active].T
        cosines = 1.0 - _distances(vectors, pairs[is_active])
        np.add.at(sums, first, weight * (vectors[first] * cosines[:, None] - vectors[second]))
        np.add.at(counts, first, 1.0)
    steps: FloatArray = sums / np.maximum(counts, 1.0)
    return steps


def _neighbours(vectors: FloatArray, radius: float) -> Pairs:
    """Pairs of different words within a distance, both ways."""
    if not radius:
        return np.empty((0, 2), dtype=np.int64)
    size, parts = max(1, _MAX_COSINES // max(len(vectors), 1)), []
    for start in range(0, len(vectors), size):
        rows, columns = np.nonzero(vectors[start : start + size] @ vectors.T >= 1.0 - radius)
        parts.append(np.column_stack([rows + start, columns])[rows + start != columns])
    return np.concatenate(parts or [np.empty((0, 2), dtype=np.int64)])


def _both_ways(pairs: Iterable[tuple[int, int]]) -> Pairs:
    every = {pair for first, second in pairs if first != second for pair in ((first, second), (second, first))}
    return np.array(sorted(every), dtype=np.int64).reshape(-1, 2)


def _without(pairs: Pairs, others: Pairs) -> Pairs:
    barred = {tuple(pair) for pair in others.tolist()}
    kept = np.array([tuple(pair) not in barred for pair in pairs.tolist()], dtype=bool)
    rest: Pairs = pairs[kept]
    return rest


def _distances(vectors: FloatArray, pairs: Pairs) -> FloatArray:
    distances: FloatArray = 1.0 - (vectors[pairs[:, 0]] * vectors[pairs[:, 1]]).sum(axis=1)
    return distances


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: FloatArray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0.0)
    return unit
