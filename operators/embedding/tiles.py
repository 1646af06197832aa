"""Word pairs in tiles: the unit of order in counting, merging and training.

Words are dealt to blocks like cards, word w to block ``w % num_blocks``, so that every block has its share of frequent
words. A tile joins two blocks; as blocks are alike, tiles hold about equally many pairs, and any range of tiles is a
fair share of the work. A pair is named by one integer that sorts by tile, then by word. Tiles whose blocks are equally
far apart follow one another: a round of training goes through two runs of pairs, wherever these are kept.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.philox import Stream, philox
from tiltmeter.operators.compute.workspace import IN_MEMORY, Workspace

MAX_WORDS = 2**31 - 1
"""So that word indices fit 32 bits, and the names of pairs 63."""


class Tiling(NamedTuple):
    """How a vocabulary is cut.

    Attributes:
        num_words: size of the vocabulary, at most :data:`MAX_WORDS`.
        tile_words: the most words in a block.
    """

    num_words: int
    tile_words: int

    @property
    def num_blocks(self) -> int:
        """Blocks of words."""
        return max(1, -(-self.num_words // self.tile_words))

    @property
    def places(self) -> NDArray[np.int32]:
        """``[words]`` where words are that lie block by block.

        >>> Tiling(num_words=5, tile_words=3).places
        array([0, 3, 1, 4, 2], dtype=int32)
        """
        blocks = np.arange(self.num_words) % self.num_blocks
        places = np.empty(self.num_words, np.int32)
        places[np.argsort(blocks, kind="stable")] = np.arange(self.num_words)
        return places

    @property
    def num_tiles(self) -> int:
        """The tile of blocks r <= c is number ``(c - r) * num_blocks + r``; the other numbers have no pairs."""
        return self.num_blocks**2

    @property
    def num_names(self) -> int:
        """Names of the pairs of one tile: tile t has those from ``t * num_names`` on."""
        return self.tile_words**2


@numba.njit(cache=True, inline="always")
def name_pair(
    block: np.int64, place: np.int64, other_block: np.int64, other_place: np.int64, num_blocks: int, tile_words: int
) -> np.int64:
    """Name of an unordered pair of words, each given by its block ``w % num_blocks`` and place ``w // num_blocks``.

    The pair is oriented so that its row block is not after its column block, and within a block its row not after its
    column.
    """
    if block > other_block or (block == other_block and place > other_place):
        block, other_block, place, other_place = other_block, block, other_place, place
    return (((other_block - block) * num_blocks + block) * tile_words + place) * tile_words + other_place


class TiledPairs(NamedTuple):
    """Unordered pairs in the order of training, tile by tile, shared by all replicas.

    Attributes:
        rows, columns: ``[pairs]`` the two words of a pair, which is listed once.
        starts: ``[tiles + 1]`` where each tile that holds pairs starts.
        row_blocks, column_blocks: ``[tiles]`` the blocks that it joins, row_blocks <= column_blocks.
    """

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    starts: NDArray[np.int64]
    row_blocks: NDArray[np.int32]
    column_blocks: NDArray[np.int32]


def tiled_pairs(names: NDArray[np.int64], tiling: Tiling) -> TiledPairs:
    """The pairs of the given names, which come tile by tile.

    >>> tiled_pairs(np.array([0, 1, 9, 10]), Tiling(num_words=4, tile_words=2))  # doctest: +NORMALIZE_WHITESPACE
    TiledPairs(rows=array([0, 0, 0, 2], dtype=int32), columns=array([0, 2, 3, 1], dtype=int32), starts=array([0, 2, 4]),
        row_blocks=array([0, 0], dtype=int32), column_blocks=array([0, 1], dtype=int32))
    """
    rows, columns, starts, tiles = _unpack(names, tiling.num_blocks, tiling.tile_words)
    distances, row_blocks = (part.astype(np.int32) for part in np.divmod(tiles, tiling.num_blocks))
    return TiledPairs(rows, columns, np.append(starts, names.size), row_blocks, row_blocks + distances)


def joined_pairs(
    pieces: Iterable[NDArray[np.int64]], num_pairs: int, tiling: Tiling, workspace: Workspace = IN_MEMORY
) -> TiledPairs:
    """:func:`tiled_pairs` of names that come in pieces, each of whole tiles, and are kept in a workspace.

    >>> joined_pairs([np.array([0, 1]), np.array([5])], 3, Tiling(num_words=4, tile_words=2)).starts
    array([0, 2, 3])
    """
    rows, columns = workspace.empty(num_pairs, np.int32), workspace.empty(num_pairs, np.int32)
    tiles, stop = [], 0
    for names in pieces:
        piece = tiled_pairs(names, tiling)
        start, stop = stop, stop + names.size
        rows[start:stop], columns[start:stop] = piece.rows, piece.columns
        workspace.release()
        tiles.append((start + piece.starts[:-1], piece.row_blocks, piece.column_blocks))
    starts, row_blocks, column_blocks = (np.concatenate(parts) for parts in zip(*tiles, strict=True))
    return TiledPairs(rows, columns, np.append(starts, num_pairs), row_blocks, column_blocks)


@numba.njit(cache=True)
def _unpack(
    names: NDArray[np.int64], num_blocks: int, tile_words: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the pairs; starts and numbers of the tiles."""
    rows, columns = np.empty(names.size, np.int32), np.empty(names.size, np.int32)
    starts, tiles = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    previous = np.int64(-1)
    for place in range(names.size):
        rest, column = divmod(names[place], tile_words)
        tile, row = divmod(rest, tile_words)
        distance, row_block = divmod(tile, num_blocks)
        rows[place] = row * num_blocks + row_block
        columns[place] = column * num_blocks + row_block + distance
        if tile != previous:
            starts.append(np.int64(place))
            tiles.append(tile)
            previous = tile
    return rows, columns, np.array(starts, dtype=np.int64), np.array(tiles, dtype=np.int64)


def shuffled_in_tiles(
    names: NDArray[np.int64], tiling: Tiling, seed: int, word_keys: NDArray[np.uint64] | None = None
) -> NDArray[np.int64]:
    """Positions that bring sorted names into the order of training: tiles stay, and within a tile the order is random.

    Sorted pairs would cost quality. The order is keyed by (seed, pair): it is the same whatever else is in the corpus.

    Args:
        names: ``[pairs]`` ascending.
        tiling: of the names.
        seed: of the order.
        word_keys: ``[words]`` what names a word; None: its number.
    """
    if word_keys is None:
        drawn = _random_words(np.uint64(seed), names, tiling.num_blocks, tiling.num_names)
    else:
        rows, columns, *_ = _unpack(names, tiling.num_blocks, tiling.tile_words)
        drawn = _random_words_by_key(np.uint64(seed), word_keys[rows], word_keys[columns])
    tiles = np.append(names // tiling.num_names, -1)
    borders = np.flatnonzero(np.diff(tiles, prepend=-1))
    order = np.empty(names.size, np.int64)
    for start, stop in pairwise(borders):
        order[start:stop] = start + np.argsort(drawn[start:stop], kind="stable")
    return order


@numba.njit(cache=True)
def _random_words(seed: np.uint64, names: NDArray[np.int64], num_blocks: int, num_names: int) -> NDArray[np.uint64]:
    stream, zero = np.uint64(Stream.PAIR_ORDER.value), np.uint64(0)
    drawn = np.empty(names.size, dtype=np.uint64)
    for place in range(names.size):
        tile, inside = divmod(names[place], num_names)
        distance, row_block = divmod(tile, num_blocks)
        # A pair is what it is whichever way tiles are numbered: they count as the cells of a square do.
        cell = row_block * num_blocks + row_block + distance
        drawn[place] = philox(seed, stream, np.uint64(cell * num_names + inside), zero, zero, zero)[0]
    return drawn


@numba.njit(cache=True)
def _random_words_by_key(seed: np.uint64, rows: NDArray[np.uint64], columns: NDArray[np.uint64]) -> NDArray[np.uint64]:
    stream, zero = np.uint64(Stream.PAIR_ORDER.value), np.uint64(0)
    drawn = np.empty(rows.size, dtype=np.uint64)
    for place in range(rows.size):
        first, second = min(rows[place], columns[place]), max(rows[place], columns[place])
        drawn[place] = philox(seed, stream, first, second, zero, zero)[0]
    return drawn


class Rounds(NamedTuple):
    """The visits of one epoch.

    Attributes:
        visits: ``[2 tiles]`` number of a tile; plus the number of tiles if it is visited with rows and columns swapped.
        starts: ``[rounds + 1]`` where each round starts in ``visits``.
    """

    visits: NDArray[np.int64]
    starts: NDArray[np.int64]


def rounds(pairs: TiledPairs, num_blocks: int, epoch: int, seed: int) -> Rounds:
    """Every tile twice, as (row, column) and as (column, row), in rounds whose order is keyed by (seed, epoch).

    No two visits of a round share a word vector or a context vector: round k has the visits whose column block is k
    after their row block, and the second visits of the diagonal tiles have a round of their own. So the visits of a
    round may run side by side, and give the bits of any sequence.
    """
    distance = pairs.column_blocks.astype(np.int64) - pairs.row_blocks
    swapped = np.where(distance == 0, num_blocks, -distance % num_blocks)
    numbers = np.append(distance, swapped)
    drawn = _round_order(np.uint64(seed), np.uint64(epoch), num_blocks + 1)[numbers]
    visits = np.argsort(drawn, kind="stable")
    return Rounds(visits, np.append(np.flatnonzero(np.diff(drawn[visits], prepend=-1)), visits.size))


def _round_order(seed: np.uint64, epoch: np.uint64, num_rounds: int) -> NDArray[np.int64]:
    ranks = np.empty(num_rounds, np.int64)
    # Not within the kernel: of all that a first run compiles, numba's sort would take a third of the time.
    ranks[np.argsort(_round_draws(seed, epoch, num_rounds))] = np.arange(num_rounds)
    return ranks


@numba.njit(cache=True)
def _round_draws(seed: np.uint64, epoch: np.uint64, num_rounds: int) -> NDArray[np.uint64]:
    stream, zero = np.uint64(Stream.TILE_ORDER.value), np.uint64(0)
    drawn = np.empty(num_rounds, np.uint64)
    for number in range(num_rounds):
        drawn[number] = philox(seed, stream, np.uint64(number), epoch, zero, zero)[0]
    return drawn
