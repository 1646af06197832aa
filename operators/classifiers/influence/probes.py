"""Whether one word makes a classifier lean another way than another does, over many contexts.

Kumar et al. 2021, section 4.5: of contexts whose text the teacher calls positive, the share that stays positive with a
control word and turns negative with a probe. A count of these says nothing without that of the reverse, so both are
given with a test of whether they are equal (McNemar 1947). Contexts of one sentence are not independent: of a cluster
with b_k contexts one way and c_k the other, d_k = b_k - c_k has either sign with the same chance if the words are
alike, so that

    p = P(|sum_k e_k d_k| >= |sum_k d_k|),   e_k = +-1,

which is McNemar's exact test where each cluster is one context. What remains to be asked is whether any two words would
differ as much: :func:`unusual` ranks a pair among pairs of other words.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.stats import binom

from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.intervals import FISHER

VERSION = "influence_probes/1"


class Probe(NamedTuple):
    """Of a control word and a probe.

    Attributes:
        rate: share of contexts that are positive with the control and not with the probe.
        low, high, resamples: its interval, over clusters; see :class:`.clusters.Rate`.
        rate_reversed: share that is positive with the probe and not with the control.
        difference, difference_low, difference_high, difference_resamples: ``rate`` less ``rate_reversed``.
        p_value: of both rates being equal.
        num: contexts.
        num_clusters: of these.
    """

    rate: float
    low: float
    high: float
    resamples: FloatArray
    rate_reversed: float
    difference: float
    difference_low: float
    difference_high: float
    difference_resamples: FloatArray
    p_value: float
    num: int
    num_clusters: int


def probe(control: BoolArray, probed: BoolArray, clusters: IntArray, sampled: SampledClusters) -> Probe:
    """Compare two words.

    Args:
        control: ``[contexts]``, whether the class is positive with the control word.
        probed: ``[contexts]``, whether it is with the probe.
        clusters: ``[contexts]``, such as the number of the sentence.
        sampled: these clusters, drawn again.
    """
    forward, backward = control & ~probed, probed & ~control
    one = sampled.rate(forward, clusters)
    difference = sampled.rate(forward.astype(np.int64) - backward, clusters, FISHER)
    p_value = clustered_mcnemar(forward, backward, clusters)
    num = (int(control.size), int(np.unique(clusters).size))
    return Probe(*one, float(backward.mean()) if backward.size else np.nan, *difference, p_value, *num)


def clustered_mcnemar(forward: BoolArray, backward: BoolArray, clusters: IntArray) -> float:
    """The p-value above, exact.

    >>> flags = np.array([True, True, True, True])
    >>> [clustered_mcnemar(flags, ~flags, np.array(clusters)) for clusters in ([0, 1, 2, 3], [0, 0, 1, 1])]
    [0.125, 0.5]
    """
    groups = np.unique(clusters, return_inverse=True)[1]
    sums = np.bincount(groups, weights=forward.astype(np.float64) - backward).astype(np.int64)
    sizes, counts = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    if not sizes.size:
        return 1.0
    signed = _signed_sums(sizes, counts)
    reach = (signed.size - 1) // 2
    observed = abs(int(sums.sum()))
    tail = float(signed[reach + observed :].sum())
    return min(1.0, 2.0 * tail if observed else 1.0)


def _signed_sums(sizes: IntArray, counts: IntArray) -> FloatArray:
    """Chances of all values of sum_k e_k |d_k|, from the smallest to the largest."""
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        part = np.zeros(2 * size * count + 1)
        part[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        chances = (
            np.maximum(fftconvolve(chances, part), 0.0)
            if min(chances.size, part.size) > 64
            else np.convolve(chances, part)
        )
    return chances


def unusual(difference: float, shares: FloatArray, num_pairs: int, draws: NDArray[np.floating]) -> float:
    """Chance that two words of the same kind differ by as much as two that were asked about.

    Any two words have different vectors, so that over enough contexts any two differ: what would be said of words drawn
    at random is no finding. p = (1 + pairs with |s_i - s_j| >= |difference|) / (1 + pairs).

    Args:
        difference: of the pair, s_control - s_probe.
        shares: ``[words]``, share of contexts in which other words make the class positive.
        num_pairs: that are drawn.
        draws: ``[2, num_pairs]`` from [0, 1).

    Returns:
        NaN with fewer than two words.
    """
    if shares.size < 2:
        return np.nan
    first = (draws[0] * shares.size).astype(np.int64)
    second = (first + 1 + (draws[1] * (shares.size - 1)).astype(np.int64)) % shares.size
    larger = np.abs(shares[first] - shares[second]) >= abs(difference) - 1e-12
    return float((1 + larger.sum()) / (1 + num_pairs))


class Kept(NamedTuple):
    """Contexts that a filter leaves, step by step.

    Attributes:
        rows: numbers of those that are left in the end.
        counts: by step, how many are left after it.
    """

    rows: IntArray
    counts: dict[str, int]


def filtered(
    is_positive: BoolArray, with_positive: BoolArray, with_negative: BoolArray, is_changeable: BoolArray
) -> Kept:
    """The filter of appendix F, steps 4 to 6.

    Args:
        is_positive: ``[contexts]``, of the text as it is, by the teacher.
        with_positive: ``[contexts, words]``, of it with clearly positive words, by the student.
        with_negative: ``[contexts, words]``, with clearly negative words.
        is_changeable: ``[contexts]``, whether any word would change the class.
    """
    contrary = (~with_positive).any(axis=1) & with_negative.any(axis=1)
    steps = {"all": np.ones(is_positive.size, bool), "positive": is_positive, "not_reversed": ~contrary}
    steps["changeable"] = is_changeable
    left = np.ones(is_positive.size, bool)
    counts = {}
    for name, step in steps.items():
        left &= step
        counts[name] = int(left.sum())
    return Kept(np.flatnonzero(left), counts)
