"""GloVe (Pennington et al. 2014), compiled, for many bootstrap replicas of one corpus.

Each ordered pair (i, j) with count X_ij > 0 is one step of AdaGrad on their equation 8,
``f(X_ij) (w_i . c_j + b_i + b_j - log X_ij)^2``, with f of equation 9. As in the authors' program, the squared steps
(learning rate included) are what AdaGrad accumulates, from 1.

Pairs are visited tile by tile: a tile joins two blocks of words, whose vectors lie together and stay in cache. Rounds
of tiles, and the pairs within a tile, come in a seeded random order, because sorted pairs cost quality. The order
depends on the pairs and the seed, not on the replica: replicas of one group share it, and each is then trained on its
own, without a data race. Tiles of one round touch different vectors, so that threads may share a round, and leave the
same bits whatever their number.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.cache_lines import FLOATS_PER_LINE, aligned_zeros, prefetch
from tiltmeter.operators.compute.elementary import exponential, logarithm
from tiltmeter.operators.compute.philox import Stream, philox, unit_interval
from tiltmeter.operators.compute.workspace import IN_MEMORY, Workspace
from tiltmeter.operators.embedding.bootstrap import replica_name
from tiltmeter.operators.embedding.cooccurrence import UNITS_PER_PAIR
from tiltmeter.operators.embedding.glove_step import LANES, place_of_sum, step
from tiltmeter.operators.embedding.keyed_words import KeyedWords
from tiltmeter.operators.embedding.tiles import TiledPairs, Tiling, rounds
from tiltmeter.operators.embedding.training import State, TrainedReplica

VERSION = "glove/5"
CUDA_VERSION = "glove_cuda/3"
"""Of :mod:`.embedding.glove_cuda`, which can't be imported without torch."""

_FROZEN = np.float32(0.0)
"""The root of a value that AdaGrad leaves as it is."""

_PAIRS_AHEAD = 6
"""Vectors are asked for so many pairs before their step; without it, it takes twice as long (docs/scale.md)."""

_PARTS_PER_THREAD = 8
"""A round is dealt to threads in so many parts, as not all tiles have equally many pairs."""

_PAIRS_PER_SLICE = 1 << 20

BYTES_PER_PAIR = 24
"""What a training keeps of a pair: two words in the order of all replicas and two in its own, log X and f(X)."""

Counts = NDArray[np.int64] | NDArray[np.float64]

Rows = NDArray[np.int32] | slice
"""``[words]`` where their vectors are; a slice for all in their order."""

VALUE, ROOTS = 0, 1
WORD, CONTEXT = 0, 1


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GloveConfig:
    """How a replica is trained.

    Attributes:
        dimensions: length of a vector.
        epochs: passes over all pairs.
        learning_rate: of AdaGrad.
        x_max, alpha: equation 9, ``f(x) = min(1, (x / x_max)^alpha)``. The paper's x_max = 100 is for billions of
            tokens; 10 is what the authors' program uses for small corpora.
        adagrad: whether each value has a sum of squared steps of its own, as published, or a row of values one sum of
            their means, which is another optimiser and takes about 0.6 of the time (docs/scale.md).
    """

    name: Literal["glove"] = "glove"
    dimensions: Annotated[int, Field(ge=1)] = 100
    epochs: Annotated[int, Field(ge=1)] = 15
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.05
    x_max: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.75
    adagrad: Literal["element", "row"] = "element"

    @property
    def row_of(self) -> int:
        """Dimensions of a row that has one sum of squared steps; 0 where each value has its own."""
        return self.dimensions if self.adagrad == "row" else 0

    @property
    def width(self) -> int:
        """Lanes of a row: dimensions, two of biases, two where a row has a sum; whole vectors of the kernel."""
        return -(-(self.dimensions + (4 if self.row_of else 2)) // LANES) * LANES


class GloveTraining:
    """The training of one replica, epoch by epoch; its vectors are the sums of word and context vectors, and its losses
    the means of ``f(X) (error)^2 / 2`` over the steps of an epoch, taken before each step.

    Args:
        pairs: the pairs of the whole corpus.
        counts: ``[pairs]`` of this replica in units of 1/2520, in one or more pieces; fractions where lines have
            fractional weights. Pairs with count 0 do not occur in this replica and are left out.
        tiling: the one behind ``pairs``.
        replica: its number; a negative one is a further random start of the original corpus.
        seed: of initial vectors and of the order of rounds, which all replicas and starts share.
        workspace: keeps what a step needs, 16 bytes for each pair. Of these, and of ``pairs``, one round of an epoch is
            in use at a time.
        num_threads: that share each round; of no effect on any bit.
        words: of the vocabulary, where all draws are keyed by them; None: by their rank, which then is the number that
            pairs know them by.
    """

    def __init__(
        self,
        pairs: TiledPairs,
        counts: Iterable[Counts],
        tiling: Tiling,
        replica: int,
        seed: int,
        config: GloveConfig,
        workspace: Workspace = IN_MEMORY,
        num_threads: int = 1,
        words: KeyedWords | None = None,
    ) -> None:
        self.tiling, self.replica, self.seed, self.config = tiling, replica, seed, config
        self._pairs, self._workspace, self._num_threads = pairs, workspace, num_threads
        places, self._rows = vector_rows(tiling, words)
        self._steps = _present_pairs(pairs, places, counts, config, workspace)
        self._num_steps, present = _survey(self._steps, self._rows.size, workspace)
        self._present = present[self._rows]
        if not self._num_steps:
            raise ValueError(
                f"{replica_name(replica)} has no pair of words: the corpus has too few lines to be resampled, or lines "
                "of one word; take a larger one, or lower embedding.min_count"
            )
        keys = None if words is None else words.keys
        self._vectors = initial_vectors(self._rows.size, replica, seed, config, self._rows, keys)
        self._losses = np.empty(0)

    @property
    def epochs_done(self) -> int:
        """Passes over all pairs so far."""
        return self._losses.size

    def advance(self) -> None:
        """One more epoch."""
        visits, starts = rounds(self._pairs, self.tiling.num_blocks, self.epochs_done, self.seed)
        kernel, rate = _visits_kernel(self.config.width, self.config.row_of), np.float32(self.config.learning_rate)
        train = partial(kernel, self._vectors, self._steps, rate)
        total = 0.0
        with ThreadPoolExecutor(self._num_threads) as threads:
            for start, stop in pairwise(starts):
                total += self._round_loss(train, visits[start:stop], threads)
                self._workspace.release()
        self._losses = np.append(self._losses, total / self._num_steps)

    def _round_loss(
        self, train: Callable[[NDArray[np.int64]], NDArray[np.float64]], visits: NDArray[np.int64], threads: Executor
    ) -> float:
        """Of a round that is trained; summed over visits, not over parts, which depend on the number of threads."""
        if self._num_threads == 1:
            return float(train(visits).sum())
        parts = np.array_split(visits, min(visits.size, _PARTS_PER_THREAD * self._num_threads))
        return float(np.concatenate(list(threads.map(train, parts))).sum())

    def state(self) -> State:
        """All that :meth:`restore` needs to go on with the same bits; not a copy."""
        return {"vectors": self._vectors, "losses": self._losses}

    def restore(self, state: State) -> None:
        """Go on from a state of the same replica."""
        self._vectors[:], self._losses = state["vectors"], state["losses"]

    def result(self) -> TrainedReplica:
        """What has been learnt so far.

        Raises:
            ValueError: if training diverged, which a smaller learning rate prevents.
        """
        return trained_replica(self._vectors, self._losses, self._present, self.replica, self.config, self._rows)


def vector_rows(tiling: Tiling, words: KeyedWords | None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """``[numbers]`` where a word's vector lies, by the number that pairs know it by, and ``[words]`` by its rank."""
    if words is None:
        return tiling.places, tiling.places
    places = words.places(tiling)
    return places, places[words.slots]


def trained_replica(
    vectors: NDArray[np.float32],
    losses: NDArray[np.float64],
    present: NDArray[np.bool_],
    replica: int,
    config: GloveConfig,
    rows: Rows = slice(None),
) -> TrainedReplica:
    """Word plus context vectors, of the words that are present."""
    summed = (vectors[WORD, :, VALUE] + vectors[CONTEXT, :, VALUE])[rows, : config.dimensions]
    if not (np.isfinite(losses).all() and np.isfinite(summed[present]).all()):
        raise ValueError(
            f"{replica_name(replica)} diverged: set embedding.trainer.learning_rate below {config.learning_rate}"
        )
    summed[~present] = np.nan
    return TrainedReplica(summed, losses)


class _Steps(NamedTuple):
    """Rows and columns are those of the vectors."""

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    log_counts: NDArray[np.float32]
    weights: NDArray[np.float32]
    starts: NDArray[np.int64]


_Kernel = Callable[[NDArray[np.float32], _Steps, np.float32, NDArray[np.int64]], NDArray[np.float64]]


def _present_pairs(
    pairs: TiledPairs, places: NDArray[np.int32], counts: Iterable[Counts], config: GloveConfig, workspace: Workspace
) -> _Steps:
    """The steps of a replica, made slice by slice: in 64 bits and all at once they would take several times as much."""
    rows, columns = (workspace.empty(pairs.rows.size, np.int32) for _ in range(2))
    logs, weights = (workspace.empty(pairs.rows.size, np.float32) for _ in range(2))
    starts = np.zeros_like(pairs.starts)
    first = stop = 0
    for piece in _slices(counts):
        present = np.flatnonzero(piece)
        start, stop = stop, stop + present.size
        rows[start:stop] = places[pairs.rows[first : first + piece.size][present]]
        columns[start:stop] = places[pairs.columns[first : first + piece.size][present]]
        logs[start:stop], weights[start:stop] = logs_and_weights(piece[present], config)
        low, high = np.searchsorted(pairs.starts, [first, first + piece.size])
        starts[low:high] = start + np.searchsorted(present, pairs.starts[low:high] - first)
        first += piece.size
        workspace.release()
    starts[-1] = stop
    return _Steps(rows[:stop], columns[:stop], logs[:stop], weights[:stop], starts)


def _slices(pieces: Iterable[Counts]) -> Iterator[Counts]:
    for piece in pieces:
        for start in range(0, piece.size, _PAIRS_PER_SLICE):
            yield piece[start : start + _PAIRS_PER_SLICE]


def _survey(steps: _Steps, num_words: int, workspace: Workspace) -> tuple[int, NDArray[np.bool_]]:
    """Steps in an epoch, and ``[rows]`` whether a vector has one."""
    num_beside_itself, present = 0, np.zeros(num_words, dtype=bool)
    for start in range(0, steps.rows.size, _PAIRS_PER_SLICE):
        chosen = slice(start, start + _PAIRS_PER_SLICE)
        rows, columns = steps.rows[chosen], steps.columns[chosen]
        present[rows] = present[columns] = True
        num_beside_itself += int((rows == columns).sum())
        workspace.release()
    return 2 * steps.rows.size - num_beside_itself, present


def logs_and_weights(counts: Counts, config: GloveConfig) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """log X and f(X) of equations 8 and 9, for positive counts in units of 1/2520."""
    pair_counts = counts / UNITS_PER_PAIR
    weights = exponential(np.minimum(0.0, config.alpha * logarithm(pair_counts / config.x_max)))
    return logarithm(pair_counts).astype(np.float32), weights.astype(np.float32)


@numba.njit(cache=True)
def _fill_uniform(
    values: NDArray[np.float32], keys: NDArray[np.uint64], seed: np.uint64, stream: np.uint64, replica: int, side: int
) -> None:
    scale = 1.0 / values.shape[1]
    for word in range(values.shape[0]):
        for start in range(0, values.shape[1], 4):
            drawn = philox(seed, stream, keys[word], np.uint64(start // 4), np.uint64(replica), np.uint64(side))
            for lane in range(min(4, values.shape[1] - start)):
                values[word, start + lane] = (unit_interval(drawn[lane]) - 0.5) * scale


def vector_bytes(num_words: int, config: GloveConfig) -> int:
    """Memory that the vectors of a training take.

    >>> vector_bytes(1000, GloveConfig()), vector_bytes(1000, GloveConfig(adagrad="row"))
    (1792000, 896000)
    """
    return 4 * int(np.prod(vector_shape(num_words, config)))


def vector_shape(num_words: int, config: GloveConfig) -> tuple[int, int, int, int]:
    """``[side, words, value or root, width]``; a row with one sum has no roots."""
    return 2, num_words, 1 if config.row_of else 2, config.width


def initial_vectors(
    num_words: int,
    replica: int,
    seed: int,
    config: GloveConfig,
    rows: Rows = slice(None),
    keys: NDArray[np.uint64] | None = None,
) -> NDArray[np.float32]:
    """As :func:`vector_shape`: uniform in +-1/2 / (dimensions + 1), keyed by (seed, replica, word), the word by its
    key, or where there are no keys by its rank.

    Biases are stored as dimensions: a word carries (w, b, 1), a context (c, 1, b'), so that one scalar product gives
    w . c + b + b'; the two ones are frozen.
    """
    dimensions = config.dimensions
    vectors = aligned_zeros(vector_shape(num_words, config))
    vectors[:, :, ROOTS:] = 1.0
    keys = np.arange(num_words, dtype=np.uint64) if keys is None else keys
    for side in (WORD, CONTEXT):
        values = np.empty((num_words, dimensions + 1), dtype=np.float32)
        _fill_uniform(values, keys, np.uint64(seed), np.uint64(Stream.INITIAL_VECTORS), replica, side)
        bias, one = dimensions + side, dimensions + 1 - side
        vectors[side, rows, VALUE, :dimensions] = values[:, :dimensions]
        vectors[side, rows, VALUE, bias] = values[:, dimensions]
        vectors[side, :, VALUE, one] = 1.0
        if config.row_of:
            vectors[side, :, VALUE, place_of_sum(side, dimensions)] = 1.0
        else:
            vectors[side, :, ROOTS, one] = _FROZEN
    return vectors


@cache
def _visits_kernel(width: int, row_of: int) -> _Kernel:
    """Visits one after the other, over vectors of a width that the compiler knows, so that it can lay out the inner
    loops; returns the loss of each."""
    stride = width if row_of else 2 * width

    @numba.njit(cache=True, error_model="numpy", nogil=True)
    def train_visits(
        vectors: NDArray[np.float32], steps: _Steps, rate: np.float32, visits: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        words, contexts = vectors[WORD].reshape(-1), vectors[CONTEXT].reshape(-1)
        all_rows, all_columns, log_counts, weights, starts = steps
        num_tiles = starts.size - 1
        losses = np.empty(visits.size)
        for place, visit in enumerate(visits):
            # In a mirrored visit, the second word of each pair is the word, and the first its context.
            swapped = visit >= num_tiles
            tile = visit - num_tiles if swapped else visit
            rows, columns = (all_columns, all_rows) if swapped else (all_rows, all_columns)
            stop = starts[tile + 1]
            loss = 0.0
            for pair in range(starts[tile], stop):
                # Vectors lie all over memory: those of a pair to come travel while this one is computed.
                if pair + _PAIRS_AHEAD < stop:
                    word = np.int64(rows[pair + _PAIRS_AHEAD]) * stride
                    context = np.int64(columns[pair + _PAIRS_AHEAD]) * stride
                    for line in range(0, stride, FLOATS_PER_LINE):
                        prefetch(words, word + line)
                        prefetch(contexts, context + line)
                i, j = np.int64(rows[pair]), np.int64(columns[pair])
                # A word beside itself is its own mirror image, and has been visited.
                if swapped and i == j:
                    continue
                weight = weights[pair]
                # Biases are dimensions: the product has them.
                error = step(words, i * stride, contexts, j * stride, log_counts[pair], weight, rate, width, row_of)
                loss += 0.5 * np.float64(weight) * np.float64(error) ** 2
            losses[place] = loss
        return losses

    compiled: _Kernel = train_visits
    return compiled
