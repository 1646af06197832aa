"""A lean that was put into a text, so that it is known: the positive and the negative control of what measures leans.

Every occurrence of a word is dealt by chance to one of two made-up words. Both then stand where that word stood and
differ by nothing but the deal, so that whatever is said of the two must be alike: a negative control (Lipsitch,
Tchetgen Tchetgen and Cohen 2010, *Negative controls: a tool for detecting confounding and bias in observational
studies*). Before a stated share of their occurrences a cue is put, from one list for the first of the two and from
another for the second, as reference material of known amount is added to a sample in chemistry: a lean of known size,
and the only one between them. Draws are keyed by document, line and occurrence, and never by a shard.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.philox import Stream, philox, unit_interval

VERSION = "planted_lean/1"

_SIDE, _HAS_CUE, _CUE = 0, 1, 2


class CodedLines(NamedTuple):
    """Attributes:
    tokens: ``[tokens]`` codes of the words of all lines, one after the other.
    lengths: ``[lines]`` tokens of each.
    documents: ``[lines]`` keys of their documents.
    numbers: ``[lines]`` their numbers within the document.
    """

    tokens: NDArray[np.int32]
    lengths: NDArray[np.int64]
    documents: NDArray[np.uint64]
    numbers: NDArray[np.int32]


class Deal(NamedTuple):
    """Attributes:
    word: code of the word that is dealt.
    key: of the word, for its draws: the same in every shard, whatever the code.
    halves: codes of the two made-up words.
    cues: codes of the cues of the first and of the second; each occurrence draws one.
    share: chance, between 0 and 1, that a cue is put before an occurrence.
    """

    word: int
    key: int
    halves: tuple[int, int]
    cues: tuple[Sequence[int], Sequence[int]]
    share: float


def deal_word(lines: CodedLines, deal: Deal, seed: int) -> CodedLines:
    """A copy of the lines in which a word is two by chance, with a cue of its own before a share of each.

    Args:
        seed: of the run, 0 <= seed < 2^64.

    >>> keys = np.array([7, 7], np.uint64), np.array([0, 1], np.int32)
    >>> lines = CodedLines(np.array([1, 0, 1, 1], np.int32), np.array([3, 1]), *keys)
    >>> dealt = deal_word(lines, Deal(1, 12, (2, 3), ([5], [6]), 1.0), seed=0)
    >>> dealt.tokens.tolist(), dealt.lengths.tolist()
    ([6, 3, 0, 5, 2, 5, 2], [5, 2])
    """
    occurrences = np.flatnonzero(lines.tokens == deal.word)
    line = np.repeat(np.arange(lines.lengths.size), lines.lengths)[occurrences]
    rank = np.arange(occurrences.size) - np.searchsorted(line, line)
    key = np.uint64(seed), np.uint64(Stream.PLANTED_LEAN), np.uint64(deal.key)
    drawn = _draws(*key, lines.documents[line], lines.numbers[line].astype(np.int64), rank)
    is_second, has_cue = drawn[:, _SIDE] >= 0.5, drawn[:, _HAS_CUE] < deal.share
    tokens = lines.tokens.copy()
    tokens[occurrences] = np.where(is_second, deal.halves[1], deal.halves[0])
    first, second = (_chosen(cues, drawn[:, _CUE]) for cues in deal.cues)
    cues = np.where(is_second, second, first)[has_cue]
    longer = lines.lengths + np.bincount(line[has_cue], minlength=lines.lengths.size)
    return lines._replace(tokens=np.insert(tokens, occurrences[has_cue], cues), lengths=longer)


def _chosen(cues: Sequence[int], drawn: FloatArray) -> NDArray[np.int32]:
    return np.asarray(cues, np.int32)[(drawn * len(cues)).astype(np.int64)]


@numba.njit(cache=True)
def _draws(
    seed: np.uint64,
    stream: np.uint64,
    key: np.uint64,
    documents: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    ranks: NDArray[np.int64],
) -> FloatArray:
    """``[occurrences, 3]`` in [0, 1)."""
    drawn = np.empty((documents.size, 3))
    for row in range(documents.size):
        bits = philox(seed, stream, documents[row], np.uint64(numbers[row]), np.uint64(ranks[row]), key)
        for column in range(3):
            drawn[row, column] = unit_interval(bits[column])
    return drawn
