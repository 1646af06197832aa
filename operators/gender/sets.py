"""Whether another set of pairs and professions measures the same: Welch's t of the biases that both give, and its p.

Matthews et al. 2021, *Gender bias in natural language processing across human languages*, section 2.2, hold the scores
of their 7 pairs and 32 professions against those of the 10 pairs and the professions of Bolukbasi et al. 2016. The
version of this function is that of :mod:`.direction`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.designs.groups import two_groups
from tiltmeter.operators.statistics.two_samples import Moments, TTest, two_sample_t
from tiltmeter.operators.statistics.units import Inferred, each


class SetComparison(NamedTuple):
    """Biases of two sets of professions, ``[replicas]`` each.

    Attributes:
        original_mean, modified_mean: mean biases.
        test: Welch's of equal means, t positive where the original set has the larger one; NaN where a set has fewer
            than two professions with a bias. Its p takes the words of one corpus for independent, and is not published:
            see :func:`dealt`.
    """

    original_mean: FloatArray
    modified_mean: FloatArray
    test: TTest


def compare_sets(original: NDArray[np.floating], modified: NDArray[np.floating]) -> SetComparison:
    """Welch's t of two sets of professions, with which it is asked whether they have one mean bias.

    The paper says no more than t-test. Its sets differ in size, so that it cannot be one of pairs; professions that are
    in both make the two means more alike than independent ones would be.

    Args:
        original, modified: ``[replicas, professions]`` biases, each along the direction of its own pairs; NaN for a
            profession that a replica lacks.

    >>> compare_sets(np.array([[0.2, 0.4, 0.6, np.nan]]), np.array([[0.6, 1.0]])).test.t.round(4)
    array([-1.7321])
    """
    first, second = _moments(original), _moments(modified)
    return SetComparison(first.mean, second.mean, two_sample_t(first, second))


def dealt(original: NDArray[np.floating], modified: NDArray[np.floating], *, level: float, seed: int) -> Inferred:
    """Whether two sets were dealt from one by chance: the labels of words are dealt again (:mod:`.designs.groups`).

    Words that share a corpus and its direction vary together, whichever set they are in. A deal moves all of them
    alike, so that p speaks of these words in this corpus; a word that is in both sets makes it larger, not smaller.

    Args:
        original, modified: ``[professions]``, their biases in one embedding; NaN for those that it lacks.
        level: nominal coverage of the interval of the difference.
        seed: of the deals.

    >>> found = dealt(np.array([0.0, 0.1, 0.2, 0.3]), np.array([0.6, 0.7, 0.8, 0.9]), level=0.95, seed=0)
    >>> round(found.value, 2), round(found.p, 4)
    (-0.6, 0.0286)
    >>> dealt(np.array([0.0, 0.1, 0.2]), np.array([0.6, 0.7, 0.8, 0.9]), level=0.95, seed=0).status
    'too_few_units'
    """
    values = np.concatenate([original, modified])
    is_original = np.arange(values.size) < original.size
    about = document_key("professions of two lists")
    return two_groups(values, each(values.size, "word"), is_original, level=level, seed=seed, about=about)


def _moments(biases: NDArray[np.floating]) -> Moments:
    """Over the professions that each replica has."""
    present = np.isfinite(biases)
    num = present.sum(axis=1, dtype=np.int64)
    values = np.where(present, biases, 0.0).astype(np.float64)
    mean = values.sum(axis=1) / np.where(num > 0, num, np.nan)
    squares = np.where(present, values - mean[:, np.newaxis], 0.0) ** 2
    return Moments(num, mean, squares.sum(axis=1) / np.where(num > 1, num - 1, np.nan))
