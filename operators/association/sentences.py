"""Association tests of sentences as they were published, beside that of words.

SEAT (May, Wang, Bordia, Bowman and Rudinger 2019) takes every sentence for a word: effect size and p-value are those of
WEAT over all sentences. CEAT (Guo and Caliskan 2021) draws a sentence of each word many times, and pools effect sizes
by the random-effects model of DerSimonian and Laird 1986. Neither p-value is about the words: sentences of one word say
it again, and draws of contexts are no studies. With no bias at all, 8 words in each set and 20 sentences of each word,
SEAT's says p < 0.05 far too often, and CEAT's nearly always (docs/sentence_encoders.md). So they are given as what was
published, and a test deals words.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tiltmeter.operators.association.scores import effect_size
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.encoders.sentences import unit_rows, word_means

VERSION = "sentence_tests/1"

_BLOCK = 256
"""Draws that are looked at together."""

_ROUNDING = 1e-12
_A, _B = 2, 3


class Published(NamedTuple):
    """Attributes:
    effect: size, as published; of CEAT, PES.
    p: as published, one-sided; of CEAT, P(Z >= PES / sqrt(V(PES))).
    variance: V(PES).
    tau_squared: variance between draws beyond that within each; this and the variance are NaN for SEAT.
    """

    effect: float
    p: float
    variance: float = np.nan
    tau_squared: float = np.nan


def pooled(effects: NDArray[np.floating], variances: NDArray[np.floating]) -> Published:
    """The random-effects model of DerSimonian and Laird 1986, as CEAT's program has it.

    With W = 1 / V and N effects, Q = sum W e^2 - (sum W e)^2 / sum W, c = sum W - sum W^2 / sum W,
    tau^2 = max(0, (Q - (N - 1)) / c), v = 1 / (V + tau^2), PES = sum v e / sum v, and V(PES) = 1 / sum v.

    Args:
        effects: ``[N]``, at least 2.
        variances: ``[N]``, above 0. CEAT takes that of the associations of all targets, which is no variance of the
            effect size.

    >>> pool = pooled(np.array([1.2, 0.8, 1.5]), np.array([0.04, 0.05, 0.02]))
    >>> [round(number, 6) for number in (pool.effect, pool.variance, pool.tau_squared)]
    [1.194676, 0.041642, 0.089545]
    """
    w = 1.0 / variances
    q = (w * effects**2).sum() - (w * effects).sum() ** 2 / w.sum()
    c = w.sum() - (w**2).sum() / w.sum()
    tau_squared = max(0.0, float((q - (effects.size - 1)) / c))
    v = 1.0 / (variances + tau_squared)
    effect, variance = float((v * effects).sum() / v.sum()), float(1.0 / v.sum())
    return Published(effect, float(stats.norm.sf(effect / np.sqrt(variance))), variance, tau_squared)


class Sentences(NamedTuple):
    """Sentences of the words of a query.

    Attributes:
        vectors: ``[sentences, dims]``, each of length 1.
        words: ``[sentences]``, number of each one's word, rising.
        sides: ``[words]``, 0 for X, 1 for Y, 2 for A and 3 for B.
    """

    vectors: FloatArray
    words: NDArray[np.int64]
    sides: NDArray[np.int64]

    def scores(self, weights: NDArray[np.floating]) -> tuple[FloatArray, FloatArray]:
        """Associations of the targets, by words' weighted means, and the attributes' difference that gives them."""
        means = unit_rows(word_means(self.vectors, self.words, weights, self.sides.size))
        apart = means[self.sides == _A].mean(axis=0) - means[self.sides == _B].mean(axis=0)
        return means[self.sides < _A] @ apart, apart


def of_sentences(given: Sentences, num_draws: int, rng: np.random.Generator) -> Published:
    """SEAT as published: every sentence is a word, and p deals sentences.

    Args:
        given: the sentences.
        num_draws: of partitions for p, to which one hit is added; ties count.
        rng: what they are drawn with.
    """
    sides = given.sides[given.words]
    apart = given.vectors[sides == _A].mean(axis=0) - given.vectors[sides == _B].mean(axis=0)
    num_x, scores = int((sides == 0).sum()), given.vectors[sides < _A] @ apart
    scores = np.concatenate([scores[sides[sides < _A] == side] for side in (0, 1)])
    # For sets of fixed sizes the sum over X orders partitions as the statistic does.
    least = scores[:num_x].sum() - _ROUNDING * np.abs(scores).sum()
    hits = 1 + sum(bool(rng.permutation(scores)[:num_x].sum() >= least) for _ in range(num_draws))
    return Published(float(effect_size(scores[None], num_x)[0]), hits / (1 + num_draws))


def of_contexts(given: Sentences, num_draws: int, rng: np.random.Generator) -> Published:
    """CEAT as published: one context of every word in each draw, and the effect sizes pooled; arguments as above."""
    starts, sizes = np.unique(given.words, return_index=True, return_counts=True)[1:]
    to_each = given.vectors @ given.vectors.T
    effects, variances = [], []
    for first in range(0, num_draws, _BLOCK):
        chosen = starts + rng.integers(sizes, size=(min(_BLOCK, num_draws - first), sizes.size))
        x, y, a, b = (chosen[:, given.sides == side] for side in range(4))
        targets = np.concatenate([x, y], axis=1)[:, :, None]
        scores = to_each[targets, a[:, None]].mean(axis=2) - to_each[targets, b[:, None]].mean(axis=2)
        effects.append(effect_size(scores, x.shape[1]))
        variances.append(scores.var(axis=1, ddof=1))
    return pooled(np.concatenate(effects), np.concatenate(variances))


def of_words(given: Sentences, weights: NDArray[np.floating]) -> float:
    """Effect size of the means of words, of sentences with such weights; words of X stand before those of Y."""
    scores, _ = given.scores(weights)
    return float(effect_size(scores[None], int((given.sides == 0).sum()))[0])


def spreads(given: Sentences) -> tuple[float, float]:
    """Standard deviations of targets' associations: of the words of a set, and of the sentences of a word.

    An analysis of variance, words within X and Y, of sentences' associations with the means of A and B. From the
    variance of words' means that of sentences, over their number, is taken off; what is left is 0 or more.
    """
    _, apart = given.scores(np.ones(given.words.size))
    is_target = given.sides[given.words] < _A
    scores, words = given.vectors[is_target] @ apart, given.words[is_target]
    _, numbers, sizes = np.unique(words, return_inverse=True, return_counts=True)
    means = np.bincount(numbers, scores) / sizes
    sides = given.sides[np.unique(words)]
    within = ((scores - means[numbers]) ** 2).sum() / max(scores.size - sizes.size, 1)
    apart_in = sum(((means[sides == side] - means[sides == side].mean()) ** 2).sum() for side in (0, 1))
    between = apart_in / max(sizes.size - 2, 1) - within * (1.0 / sizes).mean()
    return float(np.sqrt(max(between, 0.0))), float(np.sqrt(within))
