"""What the posterior says of words without any draw: words are discrete, and can be counted through.

With the unigram prior p(w), p(w | y) = p(w) p(y | v_w)^k / P(y) with P(y) = sum_w p(w) p(y | v_w)^k, and the log odds
log p(w | +) / p(w | -) = k f(v_w) - log P(+) / P(-). A single word is far from what the classifier has learnt, the mean
vector of a text; so beside it stands f of the mean text of which some of n words are replaced by w.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.sentiment.posterior.networks import Network, Target, log_likelihoods, scores

VERSION = "posterior_words/2"


class WordPosterior(NamedTuple):
    """Attributes:
    evidence, counter_evidence: P(+) and P(-), exactly; they add up to 1 where k is 1.
    positive: ``[words]``, p(w | +).
    log_odds: ``[words]``, log p(w | +) / p(w | -).
    """

    evidence: float
    counter_evidence: float
    positive: FloatArray
    log_odds: FloatArray


def word_posterior(
    network: Network, words: FloatArray, counts: NDArray[np.number], power: float = 1.0
) -> WordPosterior:
    """The exact posterior over words.

    Args:
        words: ``[words, dimensions]``, finite.
        counts: ``[words]``, of their occurrences.
        power: k.

    >>> linear = Network((np.array([[1.0]]),), (np.zeros(1),))
    >>> posterior = word_posterior(linear, np.array([[np.log(3.0)], [-np.log(3.0)]]), np.array([1, 1]))
    >>> round(posterior.evidence, 4), posterior.positive, posterior.log_odds.round(4)
    (0.5, array([0.75, 0.25]), array([ 1.0986, -1.0986]))
    """
    log_prior = np.log(counts / counts.sum())
    positive, negative = (log_likelihoods(Target(network, sign, power=power), words) + log_prior for sign in (1, -1))
    evidence, counter_evidence = float(logsumexp(positive)), float(logsumexp(negative))
    return WordPosterior(
        float(np.exp(evidence)),
        float(np.exp(counter_evidence)),
        np.exp(positive - evidence),
        power * scores(network, words) - (evidence - counter_evidence),
    )


def context_scores(network: Network, words: FloatArray, text: FloatArray, num_words: float) -> FloatArray:
    """f of a text of which one of ``num_words`` words is replaced, less f of the text: ``[words]``.

    Args:
        words: ``[words, dimensions]``.
        text: ``[dimensions]``, the mean vector of its words.
        num_words: at least 1.
    """
    replaced = text + (words - text) / num_words
    return scores(network, replaced) - scores(network, text[np.newaxis])
