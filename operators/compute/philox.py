"""Counter-based random numbers: Philox 4x64-10 (Salmon et al. 2011, *Parallel random numbers: as easy as 1, 2, 3*).

A draw is a function of a 128-bit key and a 256-bit counter, and of nothing else: no state, no worker, no position in a
shard. The key says what the numbers are for (`seed`, `stream`), the counter says which one is meant. The bits are those
of ``numpy.random.Philox``, which the tests hold them against.
"""

from enum import IntEnum

import numba
import numpy as np

_MULTIPLIER_0 = np.uint64(0xD2E7470EE14C6C93)
_MULTIPLIER_1 = np.uint64(0xCA5A826395121157)
_WEYL_0 = np.uint64(0x9E3779B97F4A7C15)
_WEYL_1 = np.uint64(0xBB67AE8584CAA73B)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_NUM_ROUNDS = 10


class Stream(IntEnum):
    """What a draw is about: the second word of the key, so that two purposes never share numbers."""

    LINE_MULTIPLICITY = 1
    INITIAL_VECTORS = 2
    PAIR_ORDER = 3
    TILE_ORDER = 4
    RESAMPLING = 5
    PERMUTATION = 6
    RANDOM_SENTIMENT = 7
    EMOTION = 8
    RATING = 9
    PARTITION = 10
    SCORE = 11
    LABELLED_PAIRS = 12
    ATTRIBUTION = 13
    CLASSIFIER_TRAINING = 14
    DECOY = 15
    RANDOM_WORDS = 16
    VOTE = 17
    DOCUMENT_MULTIPLICITY = 18
    ERROR_CHARACTERISATION = 19
    PRIVATE_MAP = 20
    PRIVATE_NOISE = 21
    PRIVATE_STUDY = 22
    SUBSTITUTION = 23
    CONTROL_DIRECTION = 24
    POSTERIOR_DRAW = 25
    MADE_UP_REVIEW = 27
    RELATION_RULES = 28
    RELATION_TRAINING = 29
    RELATION_STUDY = 30
    INFLUENCE = 31
    SHAPLEY = 36
    KEYED_TEXTS = 38
    SIGN_FLIP = 39
    GROUP_LABEL = 40
    ONE_PER_UNIT = 41
    AUGMENTATION = 42
    CHARACTER_CHANGE = 43
    EXCHANGE = 47
    MITIGATION = 48
    CONTEXTS = 51
    SENTENCE_TEST = 52
    RANKING = 54
    DIRECTIONS = 55
    CLUSTERING = 56
    MASKED_CANDIDATES = 57
    RANDOM_PAIRS = 58
    TO_LABEL = 60
    PLANTED_LEAN = 61


@numba.njit(cache=True)
def _multiply_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """High 64 bits of the 128-bit product, by schoolbook multiplication of 32-bit halves."""
    a_low, a_high = a & _LOW, a >> _HALF
    b_low, b_high = b & _LOW, b >> _HALF
    middle = a_high * b_low + ((a_low * b_low) >> _HALF)
    carry = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (carry >> _HALF)


@numba.njit(cache=True)
def philox(
    key_0: np.uint64, key_1: np.uint64, c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Four random 64-bit words for one key and one counter; every argument is a ``uint64``."""
    for _ in range(_NUM_ROUNDS):
        high_0, low_0 = _multiply_high(_MULTIPLIER_0, c0), _MULTIPLIER_0 * c0
        high_1, low_1 = _multiply_high(_MULTIPLIER_1, c2), _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = high_1 ^ c1 ^ key_0, low_1, high_0 ^ c3 ^ key_1, low_0
        key_0 += _WEYL_0
        key_1 += _WEYL_1
    return c0, c1, c2, c3


@numba.njit(cache=True)
def unit_interval(bits: np.uint64) -> float:
    """The top 53 bits as a float64 in [0, 1)."""
    return float(bits >> np.uint64(11)) * 2.0**-53
