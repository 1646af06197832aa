"""What the posterior says of words without any draw: words are discrete, and can be counted through.

With the unigram prior p(w), p(w | +) = p(w) sigma(f(v_w)) / sum_w' p(w') sigma(f(v_w')), and the log odds
log p(w | +) / p(w | -) = f(v_w) - log P(+) / P(-). A single word is far from what the classifier has learnt, the mean
vector of a text; so beside it stands f of the mean text of which some of n words are replaced by w.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.sentiment.posterior.networks import Network, Target, log_likelihoods, scores

VERSION = "posterior_words/1"


class WordPosterior(NamedTuple):
    """Attributes:
    evidence: P(+), exactly.
    positive: ``[words]``, p(w | +).
    log_odds: ``[words]``, log p(w | +) / p(w | -).
    """

    evidence: float
    positive: FloatArray
    log_odds: FloatArray


def word_posterior(network: Network, words: FloatArray, counts: NDArray[np.number]) -> WordPosterior:
    """The exact posterior over words.

    Args:
        words: ``[words, dimensions]``, finite.
        counts: ``[words]``, of their occurrences.

    >>> linear = Network((np.array([[1.0]]),), (np.zeros(1),))
    >>> posterior = word_posterior(linear, np.array([[np.log(3.0)], [-np.log(3.0)]]), np.array([1, 1]))
    >>> posterior.evidence, posterior.positive, posterior.log_odds.round(4)
    (0.5, array([0.75, 0.25]), array([ 1.0986, -1.0986]))
    """
    joint = np.exp(log_likelihoods(Target(network, 1), words)) * counts / counts.sum()
    evidence = float(joint.sum())
    return WordPosterior(evidence, joint / evidence, scores(network, words) - np.log(evidence / (1.0 - evidence)))


def context_scores(network: Network, words: FloatArray, text: FloatArray, num_words: float) -> FloatArray:
    """f of a text of which one of ``num_words`` words is replaced, less f of the text: ``[words]``.

    Args:
        words: ``[words, dimensions]``.
        text: ``[dimensions]``, the mean vector of its words.
        num_words: at least 1.
    """
    replaced = text + (words - text) / num_words
    return scores(network, replaced) - scores(network, text[np.newaxis])
