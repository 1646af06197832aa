"""GloVe (Pennington et al. 2014), compiled, for many bootstrap replicas of one corpus.

Each ordered pair (i, j) with count X_ij > 0 is one step of AdaGrad on their equation 8,
``f(X_ij) (w_i . c_j + b_i + b_j - log X_ij)^2``, with f of equation 9. As in the authors' program, the squared steps
(learning rate included) are what AdaGrad accumulates, from 1.

Pairs are visited tile by tile: a tile joins two blocks of words, whose vectors then stay in cache. Tiles, and the pairs
within a tile, come in a seeded random order, because sorted pairs cost quality. The order depends on the pairs and
the seed, not on the replica: replicas of one group share it, and each is then trained on its own, without a data race.
"""

from typing import Annotated, NamedTuple

import numba
import numpy as np
from numba.misc.special import literally
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from operators.cooccurrence import UNITS_PER_PAIR
from operators.philox import Stream, philox, unit_interval

VERSION = "glove/1"

_LANES = 16
"""Vectors are padded to whole 512-bit registers, so that the compiled loops have no remainder."""

_FROZEN = np.float32(1e30)
"""A sum of squared steps so large that AdaGrad leaves the value unchanged to the last bit."""

_VALUE, _SQUARES = 0, 1
_WORD, _CONTEXT = 0, 1


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GloveConfig:
    """How a replica is trained.

    Attributes:
        dimensions: length of a vector.
        epochs: passes over all pairs.
        learning_rate: of AdaGrad.
        x_max, alpha: equation 9, ``f(x) = min(1, (x / x_max)^alpha)``. The paper's x_max = 100 is for billions of
            tokens; 10 is what the authors' program uses for small corpora.
        tile_words: words in each of the two blocks of a tile; the vectors of a tile should fit the cache of a core.
    """

    dimensions: Annotated[int, Field(ge=1)] = 100
    epochs: Annotated[int, Field(ge=1)] = 15
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.05
    x_max: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.75
    tile_words: Annotated[int, Field(ge=1)] = 1024


class TiledPairs(NamedTuple):
    """Unordered pairs in the order of training.

    Attributes:
        order: ``[pairs]`` where each pair stood in the input, to arrange counts alike.
        first, second: ``[pairs]`` vocabulary indices.
        starts: ``[tiles + 1]`` where each tile starts.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    starts: NDArray[np.int64]


class TrainedReplica(NamedTuple):
    """Attributes:
    vectors: ``[words, dimensions]`` float32, sum of word and context vector; NaN for a word without any pair.
    losses: ``[epochs]`` mean of ``f(X) (error)^2 / 2`` over the steps of an epoch, taken before each step.
    """

    vectors: NDArray[np.float32]
    losses: NDArray[np.float64]


@numba.njit(cache=True)
def _random_words(
    seed: np.uint64, stream: np.uint64, first: NDArray[np.integer], second: NDArray[np.integer]
) -> NDArray[np.uint64]:
    drawn = np.empty(first.size, dtype=np.uint64)
    for at in range(first.size):
        drawn[at] = philox(seed, stream, np.uint64(first[at]), np.uint64(second[at]), np.uint64(0), np.uint64(0))[0]
    return drawn


def tile_pairs(
    first: NDArray[np.int32], second: NDArray[np.int32], num_words: int, seed: int, config: GloveConfig
) -> TiledPairs:
    """Sort unordered pairs (first <= second) by tile, and randomly within a tile, keyed by (seed, first, second)."""
    num_blocks = -(-num_words // config.tile_words)
    tiles = (first // config.tile_words).astype(np.int64) * num_blocks + second // config.tile_words
    drawn = _random_words(np.uint64(seed), np.uint64(Stream.PAIR_ORDER), first, second)
    shuffled = np.argsort(drawn)
    order = shuffled[np.argsort(tiles[shuffled].astype(np.min_scalar_type(num_blocks**2)), kind="stable")]
    starts = np.flatnonzero(np.diff(tiles[order], prepend=-1))
    return TiledPairs(order, first[order], second[order], np.append(starts, first.size))


def train_replica(
    pairs: TiledPairs, counts: NDArray[np.int64], num_words: int, replica: int, seed: int, config: GloveConfig
) -> TrainedReplica:
    """Train one replica.

    Args:
        pairs: the pairs of the whole corpus.
        counts: ``[pairs]`` of this replica, in the order that the pairs had before tiling, in units of 1/2520; pairs
            with count 0 do not occur in this replica and are left out.

    Raises:
        ValueError: if training diverged, which a smaller learning rate mends.
    """
    steps = _present_pairs(pairs, counts[pairs.order], config)
    words, contexts = vectors = _initial_vectors(num_words, replica, seed, config.dimensions)
    rate, width = np.float32(config.learning_rate), vectors.shape[-1]
    num_steps = 2 * steps.first.size - int((steps.first == steps.second).sum())
    losses = np.empty(config.epochs)
    for epoch in range(config.epochs):
        visits = _tile_visits(steps.starts.size - 1, epoch, seed)
        losses[epoch] = _train_epoch(words, contexts, steps, visits, rate, width) / max(1, num_steps)
    summed = (words[:, _VALUE] + contexts[:, _VALUE])[:, : config.dimensions]
    present = np.zeros(num_words, dtype=bool)
    present[steps.first] = present[steps.second] = True
    if not (np.isfinite(losses).all() and np.isfinite(summed[present]).all()):
        raise ValueError(f"replica {replica} diverged: set embedding.glove.learning_rate below {config.learning_rate}")
    summed[~present] = np.nan
    return TrainedReplica(summed, losses)


class _Steps(NamedTuple):
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    log_counts: NDArray[np.float32]
    weights: NDArray[np.float32]
    starts: NDArray[np.int64]


def _present_pairs(pairs: TiledPairs, counts: NDArray[np.int64], config: GloveConfig) -> _Steps:
    present = counts > 0
    pair_counts = counts[present] / UNITS_PER_PAIR
    weights = np.minimum(1.0, (pair_counts / config.x_max) ** config.alpha)
    starts = np.append(0, np.cumsum(present))[pairs.starts]
    log_counts = np.log(pair_counts).astype(np.float32)
    return _Steps(pairs.first[present], pairs.second[present], log_counts, weights.astype(np.float32), starts)


@numba.njit(cache=True)
def _fill_uniform(values: NDArray[np.float32], seed: np.uint64, stream: np.uint64, replica: int, side: int) -> None:
    scale = 1.0 / values.shape[1]
    for word in range(values.shape[0]):
        for start in range(0, values.shape[1], 4):
            drawn = philox(seed, stream, np.uint64(word), np.uint64(start // 4), np.uint64(replica), np.uint64(side))
            for lane in range(min(4, values.shape[1] - start)):
                values[word, start + lane] = (unit_interval(drawn[lane]) - 0.5) * scale


def _initial_vectors(num_words: int, replica: int, seed: int, dimensions: int) -> NDArray[np.float32]:
    """``[side, words, value or squares, width]``: uniform in +-1/2 / (dimensions + 1), keyed by (seed, replica, word).

    Biases are stored as dimensions: a word carries (w, b, 1), a context (c, 1, b'), so that one scalar product gives
    w . c + b + b'; the two ones are frozen.
    """
    width = -(-(dimensions + 2) // _LANES) * _LANES
    vectors = np.zeros((2, num_words, 2, width), dtype=np.float32)
    vectors[:, :, _SQUARES] = 1.0
    for side in (_WORD, _CONTEXT):
        values = np.empty((num_words, dimensions + 1), dtype=np.float32)
        _fill_uniform(values, np.uint64(seed), np.uint64(Stream.INITIAL_VECTORS), replica, side)
        bias, one = dimensions + side, dimensions + 1 - side
        vectors[side, :, _VALUE, :dimensions] = values[:, :dimensions]
        vectors[side, :, _VALUE, bias] = values[:, dimensions]
        vectors[side, :, _VALUE, one] = 1.0
        vectors[side, :, _SQUARES, one] = _FROZEN
    return vectors


def _tile_visits(num_tiles: int, epoch: int, seed: int) -> NDArray[np.int64]:
    """Each tile twice, as (first, second) and as (second, first), in an order keyed by (seed, epoch)."""
    visits = np.arange(2 * num_tiles, dtype=np.int64)
    epochs = np.full_like(visits, epoch)
    return visits[np.argsort(_random_words(np.uint64(seed), np.uint64(Stream.TILE_ORDER), visits, epochs))]


@numba.njit(cache=True, fastmath=True, error_model="numpy")
def _train_epoch(
    words: NDArray[np.float32],
    contexts: NDArray[np.float32],
    steps: _Steps,
    visits: NDArray[np.int64],
    rate: np.float32,
    width: int,
) -> float:
    width = literally(width)
    first, second, log_counts, weights, starts = steps
    num_tiles = starts.size - 1
    loss = 0.0
    for visit in visits:
        swapped = visit >= num_tiles
        tile = visit - num_tiles if swapped else visit
        rows, columns = (second, first) if swapped else (first, second)
        for pair in range(starts[tile], starts[tile + 1]):
            i, j = rows[pair], columns[pair]
            if swapped and i == j:
                continue
            w, w_squares = words[i, _VALUE], words[i, _SQUARES]
            c, c_squares = contexts[j, _VALUE], contexts[j, _SQUARES]
            error = -log_counts[pair]
            for d in range(width):
                error += w[d] * c[d]
            gradient = weights[pair] * error
            loss += 0.5 * gradient * error
            gradient *= rate
            for d in range(width):
                w_step, c_step = gradient * c[d], gradient * w[d]
                w[d] -= w_step / np.sqrt(w_squares[d])
                c[d] -= c_step / np.sqrt(c_squares[d])
                w_squares[d] += w_step * w_step
                c_squares[d] += c_step * c_step
    return loss
