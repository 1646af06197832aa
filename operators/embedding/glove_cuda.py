"""GloVe on an NVIDIA card: the steps of :mod:`.embedding.glove` in the same order, for a group of replicas at once.

One launch per round of tiles, one program per tile of the round and replica. Programs of one launch share no vector,
and each walks alone through the pairs of its tile: nothing races, no sum depends on timing, and a replica gets the
same bits in any group. Numbers differ from those of the CPU kernel by rounding only: the card adds up a scalar product
in another order, fuses other products, and has a reciprocal square root of its own, good to two units in the last
place, for steps that are too large for the series of :mod:`.embedding.glove_step`.

A step moves little and computes less, so what counts is the wait for memory: the vectors of a pair are on their way
while the pair before it is computed, and its indices one step earlier still.
"""

from __future__ import annotations  # Triton's types annotate the kernel where there is no Triton, too

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.embedding.glove import (
    Counts,
    GloveConfig,
    initial_vectors,
    logs_and_weights,
    trained_replica,
    vector_bytes,
    vector_rows,
    vector_shape,
)
from tiltmeter.operators.embedding.keyed_words import KeyedWords
from tiltmeter.operators.embedding.tiles import TiledPairs, Tiling, rounds
from tiltmeter.operators.embedding.training import State, TrainedReplica

_CAN_RUN = find_spec("torch") is not None and find_spec("triton") is not None

if _CAN_RUN:  # Triton comes with torch for CUDA only; planning and reading need neither
    import torch
    import triton
    import triton.language as tl

_LANES_PER_WARP = 32
_VALUES_PER_WARP = 512
"""A longer vector is spread over several warps, so that eight of its parts fit the 255 registers of a thread."""

_PAIRS_PER_UPLOAD = 2**24
_RESERVED_BYTES = 512 * 2**20
"""What CUDA, the compiled kernel, the list of tiles and the sums of losses take."""


class CudaGlove:
    """A group of replicas that one card trains together, epoch by epoch.

    Args:
        pairs: the pairs of the whole corpus.
        counts: for each replica ``[pairs]``, as for :class:`.glove.GloveTraining`; 0 where a pair does not occur. They
            may be loaded as they are asked for, one replica after the other.
        tiling: the one behind ``pairs``.
        replicas: their numbers. The methods call a replica by its place in this list (``at``).
        seed: of initial vectors and of the order of rounds.
        device: as torch names it. With ``TRITON_INTERPRET=1`` in the environment "cpu" works too, step by step in
            Python: for tests.
        words: as for :class:`.glove.GloveTraining`.

    Raises:
        ValueError: if the device can't be used; see :func:`check_device`.
    """

    def __init__(
        self,
        pairs: TiledPairs,
        counts: Iterable[Counts],
        tiling: Tiling,
        replicas: Sequence[int],
        seed: int,
        config: GloveConfig,
        device: str = "cuda",
        words: KeyedWords | None = None,
    ) -> None:
        check_device(device)
        self.tiling, self.replicas, self.seed, self.config = tiling, replicas, seed, config
        self._pairs, self._device = pairs, torch.device(device)
        self._places, self._ranked = vector_rows(tiling, words)
        self._rows, self._columns = (self._uploaded(self._places[ends]) for ends in (pairs.rows, pairs.columns))
        self._starts = self._uploaded(pairs.starts)
        self._log_counts = torch.zeros((len(replicas), pairs.rows.size), dtype=torch.float32, device=self._device)
        self._weights = torch.zeros_like(self._log_counts)
        self._present = np.zeros((len(replicas), self._ranked.size), dtype=bool)
        self._num_steps = [
            self._upload_counts(member, numbers) for member, numbers in zip(range(len(replicas)), counts, strict=True)
        ]
        self._losses = [np.empty(0) for _ in replicas]
        keys, num_words = None if words is None else words.keys, self._ranked.size
        starts = (initial_vectors(num_words, replica, seed, config, self._ranked, keys) for replica in replicas)
        shape = (len(replicas), *vector_shape(num_words, config))
        self._vectors = torch.empty(shape, dtype=torch.float32, device=self._device)
        for vectors, start in zip(self._vectors, starts, strict=True):
            vectors.copy_(torch.from_numpy(start))

    def _uploaded(self, values: NDArray[Any]) -> torch.Tensor:
        return torch.tensor(values, device=self._device)

    def _upload_counts(self, member: int, counts: Counts) -> int:
        """Logs and weights of one replica, 0 where a pair does not occur; returns its steps per epoch."""
        num_steps = 0
        for start in range(0, counts.size, _PAIRS_PER_UPLOAD):
            part = slice(start, start + _PAIRS_PER_UPLOAD)
            present = counts[part] > 0
            values = logs_and_weights(counts[part][present], self.config)
            for target, given in zip((self._log_counts, self._weights), values, strict=True):
                filled = np.zeros(present.size, np.float32)
                filled[present] = given
                target[member, part].copy_(torch.from_numpy(filled))
            ends = (self._pairs.rows[part][present], self._pairs.columns[part][present])
            rows, columns = (self._places[end] for end in ends)
            self._present[member, rows] = self._present[member, columns] = True
            num_steps += 2 * rows.size - int((rows == columns).sum())
        return num_steps

    def advance(self) -> None:
        """One more epoch for the replicas that have done the fewest."""
        epoch = min(losses.size for losses in self._losses)
        members = [member for member, losses in enumerate(self._losses) if losses.size == epoch]
        totals = self._train_epoch(epoch, members)
        for member, total in zip(members, totals, strict=True):
            self._losses[member] = np.append(self._losses[member], total / max(1, self._num_steps[member]))

    def _train_epoch(self, epoch: int, members: list[int]) -> list[float]:
        """The sum of losses of each member; exact, so that it depends on no order."""
        visits, starts = rounds(self._pairs, self.tiling.num_blocks, epoch, self.seed)
        lengths = np.tile(np.diff(self._pairs.starts), 2)[visits]
        visits = visits[np.lexsort((-lengths, np.repeat(np.arange(starts.size - 1), np.diff(starts))))]
        losses = torch.zeros((visits.size, len(members)), dtype=torch.float64, device=self._device)
        tensors = (self._vectors, self._rows, self._columns, self._starts, self._log_counts, self._weights)
        lists = (self._uploaded(visits), self._uploaded(np.array(members, np.int32)), losses)
        sizes = (self._starts.numel() - 1, self._rows.numel(), self._ranked.size)
        rate, options = self.config.learning_rate, _launch_options(self.config)
        with torch.cuda.device(losses.get_device()):
            for start, stop in pairwise(starts.tolist()):
                grid = ((stop - start) * len(members),)
                _kernel()[grid](*tensors, *lists, start, len(members), *sizes, rate, **options)
        return [fsum(of_member) for of_member in losses.cpu().numpy().T]

    def epochs_done(self, member: int) -> int:
        """Passes over all pairs so far."""
        return self._losses[member].size

    def state(self, member: int) -> State:
        """All that :meth:`restore` needs to go on with the same bits, as ``GloveTraining.state`` gives it; a copy."""
        return {"vectors": self._vectors[member].to("cpu", copy=True).numpy(), "losses": self._losses[member]}

    def restore(self, member: int, state: State) -> None:
        """Go on from a state of the same replica, of this class or of ``GloveTraining``."""
        self._vectors[member].copy_(torch.from_numpy(np.require(state["vectors"], np.float32, "W")))
        self._losses[member] = state["losses"]

    def result(self, member: int) -> TrainedReplica:
        """What a replica has learnt so far.

        Raises:
            ValueError: if its training diverged, which a smaller learning rate prevents.
        """
        vectors, losses = self.state(member).values()
        present, replica = self._present[member, self._ranked], self.replicas[member]
        return trained_replica(vectors, losses, present, replica, self.config, self._ranked)


def check_device(device: str) -> None:
    """Refuse a device that can train no group.

    Raises:
        ValueError: if there is no such card, or no torch for CUDA or Triton to run it.
    """
    if not _CAN_RUN:
        raise ValueError(
            f"embedding.device={device} needs torch for CUDA, and Triton that comes with it: install both, or set "
            "embedding.device=cpu"
        )
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"embedding.device={device} needs an NVIDIA card, and torch {torch.__version__} finds none: install torch "
            "for CUDA on a machine that has one, or set embedding.device=cpu"
        )


def replicas_that_fit(num_pairs: int, num_words: int, config: GloveConfig, free_bytes: int) -> int:
    """How many replicas a card can train together.

    The indices of a pair take 8 bytes once; its logarithm and weight take 8 bytes in each replica; a word takes its
    vectors in each (:func:`.glove.vector_bytes`). Half a gigabyte stays free for CUDA itself, the list of tiles and the
    sums of losses.

    >>> replicas_that_fit(num_pairs=50_000_000, num_words=100_000, config=GloveConfig(), free_bytes=16 * 10**9)
    26

    Raises:
        ValueError: if not even one fits.
    """
    shared = _RESERVED_BYTES + 8 * num_pairs
    each = 8 * num_pairs + vector_bytes(num_words, config)
    if free_bytes < shared + each:
        raise ValueError(
            f"one replica of {num_pairs:,} pairs and {num_words:,} words in {config.dimensions} dimensions needs "
            f"{(shared + each) / 1e9:.1f} GB on the card, where {free_bytes / 1e9:.1f} GB are free: raise "
            "embedding.min_count, lower embedding.trainer.dimensions, or set embedding.device=cpu"
        )
    return (free_bytes - shared) // each


def _launch_options(config: GloveConfig) -> dict[str, int]:
    lanes = max(_LANES_PER_WARP, triton.next_power_of_2(config.width))
    sizes = {"width": config.width, "lanes": lanes, "row_of": config.row_of}
    # Triton's own pipeline of loads (num_stages) knows nothing of the stores that the next loads must see.
    return sizes | {"num_warps": max(1, lanes // _VALUES_PER_WARP), "num_stages": 1}


@cache
def _kernel() -> Any:
    numbers = ["first_visit", "num_members", "num_tiles", "num_pairs", "num_words"]
    return triton.jit(do_not_specialize=numbers)(_train_tiles)


def _train_tiles(
    vectors: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    tile_starts: tl.tensor,
    log_counts: tl.tensor,
    weights: tl.tensor,
    visits: tl.tensor,
    members: tl.tensor,
    losses: tl.tensor,
    first_visit: tl.tensor,
    num_members: tl.tensor,
    num_tiles: tl.tensor,
    num_pairs: tl.tensor,
    num_words: tl.tensor,
    rate: tl.tensor,
    width: tl.constexpr,
    lanes: tl.constexpr,
    row_of: tl.constexpr,
) -> None:
    """One tile of one replica, pair by pair, in a pipeline of three: read indices, read vectors, compute and write.

    Vectors are read before the step of the pair ahead of them is written. They miss that one step and no other: where
    the two pairs share a word or a context, the values at hand replace those read. There is no other hazard. A lane
    reads only what it wrote itself, since all reads and writes of vectors have one layout, in which a value belongs to
    one lane (hence at least 32 lanes); and the reads and writes of one address by one lane keep their order.

    Every variable that the loop carries starts as a tensor of its own: of two names for one object Triton carries one.
    """
    program = tl.program_id(0)
    tile_visit = first_visit + program // num_members
    visit = tl.load(visits + tile_visit)
    member = program % num_members
    replica = tl.load(members + member).to(tl.int64)
    swapped = visit >= num_tiles
    tile = tl.where(swapped, visit - num_tiles, visit)
    start, stop = tl.load(tile_starts + tile), tl.load(tile_starts + tile + 1)
    stride: tl.constexpr = width if row_of else 2 * width
    words = vectors + replica * num_words * (2 * stride)
    contexts = words + num_words.to(tl.int64) * stride
    log_counts += replica * num_pairs
    weights += replica * num_pairs
    d = tl.arange(0, lanes)
    inside = d < width

    loss = tl.full((), 0.0, tl.float64)
    word, next_word = tl.full((), 0, tl.int64), tl.full((), 0, tl.int64)
    context, next_context = tl.full((), 0, tl.int64), tl.full((), 0, tl.int64)
    log_count, next_log_count = tl.full((), 0.0, tl.float32), tl.full((), 0.0, tl.float32)
    weight, next_weight = tl.full((), 0.0, tl.float32), tl.full((), 0.0, tl.float32)
    w, w_roots = tl.zeros((lanes,), tl.float32), tl.full((lanes,), 1.0, tl.float32)
    c, c_roots = tl.zeros((lanes,), tl.float32), tl.full((lanes,), 1.0, tl.float32)
    # Two turns beyond the last pair let those in the pipeline finish.
    for ahead in range(start, stop + 2):
        known = ahead < stop
        row = tl.load(rows + ahead, mask=known, other=0).to(tl.int64)
        column = tl.load(columns + ahead, mask=known, other=0).to(tl.int64)
        ahead_log_count = tl.load(log_counts + ahead, mask=known, other=0.0)
        ahead_weight = tl.load(weights + ahead, mask=known, other=0.0)

        # A weight of 0 is that of a pair which the replica lacks, or which its mirror image has done: nothing is read.
        next_weight = tl.where(swapped & (next_word == next_context), 0.0, next_weight)
        wanted = d < tl.where(next_weight > 0, width, 0)
        next_w = tl.load(words + next_word * stride + d, mask=wanted, other=0.0)
        next_c = tl.load(contexts + next_context * stride + d, mask=wanted, other=0.0)
        if row_of == 0:
            next_w_roots = tl.load(words + next_word * stride + width + d, mask=wanted, other=1.0)
            next_c_roots = tl.load(contexts + next_context * stride + width + d, mask=wanted, other=1.0)

        if weight > 0:
            error = tl.sum(w * c) - log_count
            gradient = weight * error
            loss += (0.5 * gradient * error).to(tl.float64)
            gradient *= rate
            # As on the CPU, both steps are from the old values, and AdaGrad counts a step from the next one on.
            if row_of:
                by_word = tl.where(d <= row_of, c, 0.0)
                by_context = tl.where((d < row_of) | (d == row_of + 1), w, 0.0)
                w_sum = tl.sum(tl.where(d == row_of + 2, w, 0.0))
                c_sum = tl.sum(tl.where(d == row_of + 3, c, 0.0))
                share = gradient * gradient / (row_of + 1)
                w_next, c_next = (
                    w_sum + share * tl.sum(by_word * by_word),
                    c_sum + share * tl.sum(by_context * by_context),
                )
                w = tl.where(d == row_of + 2, w_next, w - gradient * tl.rsqrt(w_sum) * by_word)
                c = tl.where(d == row_of + 3, c_next, c - gradient * tl.rsqrt(c_sum) * by_context)
            else:
                w_move, c_move = gradient * c * w_roots, gradient * w * c_roots
                w -= w_move
                c -= c_move
                w_square, c_square = w_move * w_move, c_move * c_move
                w_series = w_roots * w_square * (-0.5 + w_square * (0.375 - 0.3125 * w_square))
                c_series = c_roots * c_square * (-0.5 + c_square * (0.375 - 0.3125 * c_square))
                w_roots = tl.where(w_square > 0.015625, w_roots * tl.rsqrt(1.0 + w_square), w_roots + w_series)
                c_roots = tl.where(c_square > 0.015625, c_roots * tl.rsqrt(1.0 + c_square), c_roots + c_series)
                tl.store(words + word * stride + width + d, w_roots, mask=inside)
                tl.store(contexts + context * stride + width + d, c_roots, mask=inside)
            tl.store(words + word * stride + d, w, mask=inside)
            tl.store(contexts + context * stride + d, c, mask=inside)

        same_word, same_context = (weight > 0) & (next_word == word), (weight > 0) & (next_context == context)
        w, c = tl.where(same_word, w, next_w), tl.where(same_context, c, next_c)
        if row_of == 0:
            w_roots = tl.where(same_word, w_roots, next_w_roots)
            c_roots = tl.where(same_context, c_roots, next_c_roots)
        word, context, log_count, weight = next_word, next_context, next_log_count, next_weight
        next_word, next_context = tl.where(swapped, column, row), tl.where(swapped, row, column)
        next_log_count, next_weight = ahead_log_count, ahead_weight
    tl.store(losses + visit * num_members + member, loss)
