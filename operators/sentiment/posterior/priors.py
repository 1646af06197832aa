"""Priors p0(s) of vectors that a classifier may be asked about.

Liang and Acuna 2020 give no prior. Their Table 1 goes with any that is symmetric about 0, under which the mean angle to
every word is a right one; N(0, I) is what a sampler without a prior has, and is taken here. It is far from any review:
draws have norm sqrt(dimensions) and any direction. Beside it stand normal distributions with the moments of texts, of
words and of bags of words, and the texts themselves.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream

VERSION = "posterior_prior/1"

Name = Literal["standard", "texts", "words", "bag", "empirical"]
"""Of priors that are drawn from."""

_JITTER = 1e-9
"""Of the mean variance, added to each, so that a covariance of few vectors has a root."""


class Gaussian(NamedTuple):
    """N(mean, factor factor^T).

    Attributes:
        mean: ``[dimensions]``.
        factor: ``[dimensions, dimensions]``, a lower triangle; s = mean + factor u with u standard normal.
    """

    mean: FloatArray
    factor: FloatArray

    def draws(self, generator: np.random.Generator, num: int) -> FloatArray:
        """``[num, dimensions]``."""
        return self.vectors(generator.standard_normal((num, self.mean.size)))

    def vectors(self, whitened: FloatArray) -> FloatArray:
        """s of u, along the last axis."""
        return np.asarray(self.mean + whitened @ self.factor.T)


class Points(NamedTuple):
    """Vectors that are, each as likely as any other.

    Attributes:
        vectors: ``[points, dimensions]``.
    """

    vectors: FloatArray

    def draws(self, generator: np.random.Generator, num: int) -> FloatArray:
        """``[num, dimensions]``, with repetitions."""
        return self.vectors[generator.integers(len(self.vectors), size=num)]


Prior = Gaussian | Points


def generator_of(seed: int, about: str, *numbers: int) -> np.random.Generator:
    """What draws of a run are made of.

    Args:
        about: a posterior or a prior, with what draws.
        numbers: of the classifier and the chain.
    """
    return keyed_generator(seed, Stream.POSTERIOR_DRAW, document_key(about), *numbers)


def prior_of(name: Name, texts: FloatArray, words: FloatArray, counts: NDArray[np.number]) -> Prior:
    """The prior of a name; arguments as of :func:`of_bags`."""
    match name:
        case "empirical":
            return Points(texts)
        case "standard":
            return standard(texts.shape[1])
        case "texts":
            return of_texts(texts)
        case "words":
            return of_words(words, counts)
    return of_bags(words, counts, texts)


def standard(num_dimensions: int) -> Gaussian:
    """N(0, I)."""
    return Gaussian(np.zeros(num_dimensions), np.eye(num_dimensions))


def of_texts(texts: FloatArray) -> Gaussian:
    """The mean and the shrunk covariance of texts (Ledoit and Wolf 2004, *A well-conditioned estimator*).

    Args:
        texts: ``[texts, dimensions]``.
    """
    from sklearn.covariance import ledoit_wolf

    covariance, _ = ledoit_wolf(texts)
    return _gaussian(texts.mean(axis=0), covariance)


def of_words(words: FloatArray, counts: NDArray[np.number]) -> Gaussian:
    """The mean and the covariance of words as often as they are used.

    Args:
        words: ``[words, dimensions]``.
        counts: ``[words]``, of their occurrences.
    """
    return _gaussian(*_moments(words, counts))


def of_bags(words: FloatArray, counts: NDArray[np.number], texts: FloatArray) -> Gaussian:
    """Means of n words that are drawn by their frequencies: N(mu, Sigma / n).

    n is such that the variance is that of texts: n = tr Sigma / tr Cov(texts).

    Args:
        words, counts: as for :func:`of_words`.
        texts: ``[texts, dimensions]``.
    """
    mean, covariance = _moments(words, counts)
    num_words = np.trace(covariance) / texts.var(axis=0).sum()
    return _gaussian(mean, covariance / num_words)


def _moments(words: FloatArray, counts: NDArray[np.number]) -> tuple[FloatArray, FloatArray]:
    shares = counts / counts.sum()
    mean = shares @ words
    deviations = words - mean
    return mean, (deviations * shares[:, np.newaxis]).T @ deviations


def _gaussian(mean: FloatArray, covariance: FloatArray) -> Gaussian:
    jitter = _JITTER * np.trace(covariance) / len(mean)
    return Gaussian(mean, np.linalg.cholesky(covariance + jitter * np.eye(len(mean))))


def share_beyond(vectors: FloatArray, texts: FloatArray, quantile: float = 0.999) -> float:
    """Share of vectors that are farther from the texts than nearly all texts are, by Mahalanobis distance.

    Args:
        vectors: ``[vectors, dimensions]``.
        texts: ``[texts, dimensions]``; their mean and shrunk covariance make the distance.
        quantile: of the texts' own distances.
    """
    from scipy.linalg import solve_triangular

    support = of_texts(texts)
    usual, distances = (
        np.linalg.norm(solve_triangular(support.factor, (rows - support.mean).T, lower=True), axis=0)
        for rows in (texts, vectors)
    )
    return float((distances > np.quantile(usual, quantile)).mean())
