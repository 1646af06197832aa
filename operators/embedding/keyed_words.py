"""Words that are known by their spelling, and not by their rank in a vocabulary.

A corpus of which a few articles changed has almost the same words, but many of them have another rank. What is keyed by
rank (a word's random start, its block, the order of its pairs) is then another one for every word behind the first
change, and two trainings that share nearly all of their counts share nothing of their noise. Keyed by the words
themselves, all of this is the same for every word that both corpora have.

The block of a word is the leading bits of its key: the number of blocks is a power of two, so that it changes seldom
where vocabularies grow. Blocks differ in size; a tiling for them has room for twice as many words as there are.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding.tiles import Tiling

KeyedBy = Literal["rank", "word"]
"""What random starts, blocks and the order of pairs are keyed by."""

_ROOM = 2


class KeyedWords(NamedTuple):
    """The words of a vocabulary, in its order.

    Attributes:
        keys: ``[words]`` of their spelling.
        slots: ``[words]`` their numbers in the tiling of :func:`roomy_tiling`, which has more numbers than words.
    """

    keys: NDArray[np.uint64]
    slots: NDArray[np.int32]

    def places(self, tiling: Tiling) -> NDArray[np.int32]:
        """``[slots]`` where words are that lie block by block, without gaps; -1 for the slots of no word."""
        blocks, rows = self.slots % tiling.num_blocks, self.slots // tiling.num_blocks
        places = np.full(tiling.num_words, -1, np.int32)
        places[self.slots[np.lexsort((rows, blocks))]] = np.arange(self.slots.size)
        return places

    def slot_keys(self, tiling: Tiling) -> NDArray[np.uint64]:
        """``[slots]`` the keys; 0 for the slots of no word."""
        keys = np.zeros(tiling.num_words, np.uint64)
        keys[self.slots] = self.keys
        return keys


def roomy_tiling(num_words: int, tile_words: int) -> Tiling:
    """Blocks for so many words, of about so many each: a power of two of them, with room for twice as many.

    >>> roomy_tiling(5000, 2048)
    Tiling(num_words=16384, tile_words=4096)
    """
    num_blocks = 1 << (max(1, -(-num_words // tile_words)) - 1).bit_length()
    return Tiling(num_blocks * _ROOM * tile_words, _ROOM * tile_words)


def keyed_words(words: Sequence[str], tiling: Tiling) -> KeyedWords:
    """Deal words to the blocks of a tiling by their keys.

    A block in which there is no room, as there may be where blocks are of a few words, leaves the rest to the next one.

    Args:
        words: of a vocabulary, each once.
        tiling: from :func:`roomy_tiling`, for as many words.

    >>> keyed_words(["she", "he", "nurse"], roomy_tiling(3, 2)).slots
    array([0, 1, 3], dtype=int32)
    """
    keys = np.array([document_key(word) for word in words], np.uint64)
    order = np.argsort(keys, kind="stable")
    bits = tiling.num_blocks.bit_length() - 1
    wanted = (keys[order] >> np.uint64(64 - bits)).astype(np.int64) if bits else np.zeros(keys.size, np.int64)
    slots = np.empty(keys.size, np.int32)
    slots[order] = _dealt(wanted, tiling)
    return KeyedWords(keys, slots)


def _dealt(wanted: NDArray[np.int64], tiling: Tiling) -> NDArray[np.int64]:
    """Slots of words that come in the order of the blocks that they want."""
    sizes = np.bincount(wanted, minlength=tiling.num_blocks)
    is_too_full = sizes.max(initial=0) > tiling.tile_words
    blocks = _spilled(sizes, tiling.tile_words) if is_too_full else wanted
    starts = np.append(0, np.cumsum(np.bincount(blocks, minlength=tiling.num_blocks)))
    order = np.argsort(blocks, kind="stable")
    rows = np.empty(wanted.size, np.int64)
    rows[order] = np.arange(wanted.size) - starts[blocks[order]]
    return rows * tiling.num_blocks + blocks


def _spilled(sizes: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """``[words]`` the block of each, if a full one leaves its last words to the next with room, in a ring."""
    blocks, free = np.repeat(np.arange(sizes.size), sizes), np.full(sizes.size, room)
    for word, wanted in enumerate(blocks):
        block = wanted
        while not free[block]:
            block = (block + 1) % sizes.size
        free[block] -= 1
        blocks[word] = block
    return blocks
