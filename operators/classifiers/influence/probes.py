"""Whether one word makes a classifier lean another way than another does, over many contexts.

Kumar et al. 2021, section 4.5: of contexts whose text the teacher calls positive, the share that stays positive with a
control word and turns negative with a probe. A count of these says nothing without that of the reverse, so both are
given with a test of whether they are equal. Contexts of one sentence are not independent: of a sentence with b_k
contexts one way and c_k the other, d_k = b_k - c_k has either sign with the same chance if the words are
interchangeable within it. Where the teacher judged all contexts, p is that of these signs (:mod:`.statistics.flips`;
McNemar's exact test where each sentence has one context); where it judged a sample of sentences and a student all, it
is Student's t in two phases (:func:`.statistics.means.judged_sample`). Contexts are draws from sentences in both: p and
intervals are about other sentences of this kind. What remains to be asked is whether any two words would differ as
much: :func:`unusual` ranks a pair among pairs of other words.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import judged_sample, paired, share
from tiltmeter.operators.statistics.units import Inferred, Units

VERSION = "influence_probes/2"

MIN_RANDOM = 50
"""Words that a pair is ranked among: of 10, 8 % of pairs that are like all others have p <= 0.05; of 50, 5 %."""


class Answers(NamedTuple):
    """Whether contexts are of the class with either of two words.

    Attributes:
        control, probed: ``[contexts]``.
    """

    control: BoolArray
    probed: BoolArray

    @property
    def forward(self) -> BoolArray:
        """With the control and not with the probe."""
        return self.control & ~self.probed

    @property
    def backward(self) -> BoolArray:
        """With the probe and not with the control."""
        return self.probed & ~self.control

    @property
    def differences(self) -> IntArray:
        """1 one way, -1 the other, 0 where both words do the same."""
        return self.control.astype(np.int64) - self.probed


class Probe(NamedTuple):
    """Of a control word and a probe.

    Attributes:
        rate: share of contexts that are positive with the control and not with the probe.
        rate_reversed: share that is positive with the probe and not with the control.
        difference: ``rate`` less ``rate_reversed``; its p is of words that are interchangeable in each sentence.
        num_differing: sentences, of those judged, in which the two words are not level: no p is below 2^(1 - these).
    """

    rate: Inferred
    rate_reversed: float
    difference: Inferred
    num_differing: int


def probe(truth: Answers, units: Units, *, level: float) -> Probe:
    """Compare two words where the teacher judged all contexts.

    Args:
        truth: of the teacher.
        units: of the contexts, such as their sentences.
        level: of the intervals.

    >>> from tiltmeter.operators.statistics.units import each
    >>> found = probe(Answers(np.arange(9) < 7, np.arange(9) > 7), each(9, "sentence"), level=0.95)
    >>> round(found.difference.value, 3), found.difference.p, found.num_differing
    (0.667, 0.0703125, 8)
    """
    difference = paired(truth.forward, truth.backward, units, level=level, scale=FISHER)
    num = int(np.count_nonzero(units.sums(truth.differences)))
    rates = [share(flags, units, level=level) for flags in (truth.forward, truth.backward)]
    return Probe(rates[0], rates[1].value, difference, num)


def sampled_probe(student: Answers, rows: IntArray, truth: Answers, units: Units, *, level: float) -> Probe:
    """Compare two words where a student judged all contexts, and the teacher those of a sample of units.

    Args:
        student: of all contexts.
        rows: of these, those that the teacher judged.
        truth: of the teacher, of these.
        units: of all contexts.
        level: of the intervals.
    """
    if rows.size == units.codes.size:
        return probe(truth, units.part(rows), level=level)
    rate, reverse = (
        judged_sample(called, rows, true, units, level=level, scale=LOGIT)
        for called, true in ((student.forward, truth.forward), (student.backward, truth.backward))
    )
    both = judged_sample(student.differences, rows, truth.differences, units, level=level, scale=FISHER)
    return Probe(rate, reverse.value, both, int(np.count_nonzero(units.part(rows).sums(truth.differences))))


def sampled_contexts(units: Units, order: IntArray, num: int) -> IntArray:
    """All contexts of the first units of an order, two at least, that together have so many.

    Args:
        units: of the contexts.
        order: ``[units]``, a permutation that was drawn.
        num: contexts; the last unit may bring more.

    >>> from tiltmeter.operators.statistics.units import units_of
    >>> sampled_contexts(units_of(["a", "a", "b", "c", "b"], "sentence"), np.array([1, 2, 0]), 3)
    array([2, 3, 4])
    """
    enough = max(2, int(np.searchsorted(np.cumsum(units.sizes[order]), num)) + 1)
    return np.flatnonzero(np.isin(units.codes, order[:enough]))


def surest_claims(student: Answers, odds: FloatArray, most: int) -> IntArray:
    """Contexts that a student calls positive with the control and not with the probe, the surest first.

    It is as sure of one as the product of both probabilities, sigma(o_control) sigma(-o_probe), says.

    Args:
        student: its answers.
        odds: ``[contexts, 2]``, log odds of positive with the control and with the probe.
        most: that are taken.

    >>> claims = Answers(np.array([True, True, True]), np.array([False, True, False]))
    >>> surest_claims(claims, np.array([[1.0, -1.0], [9.0, -9.0], [2.0, -2.0]]), 5)
    array([2, 0])
    """
    claimed = np.flatnonzero(student.forward)
    sureness = expit(odds[claimed, 0]) * expit(-odds[claimed, 1])
    return np.asarray(claimed[np.argsort(-sureness, kind="stable")[:most]])


def unusual(difference: float, shares: FloatArray) -> float:
    """Chance that two words of the same kind differ by as much as two that were asked about.

    Any two words have different vectors, so that over enough contexts any two differ: what would be said of words drawn
    at random is no finding. Of all pairs of W random words, p = (1 + pairs with |s_i - s_j| >= |difference|) / (1 +
    W (W - 1) / 2).

    Args:
        difference: of the pair, s_control - s_probe, by whoever judged the random words and in the same contexts.
        shares: ``[words]``, share of contexts in which other words make the class positive.

    Returns:
        NaN with fewer than ``MIN_RANDOM`` words.

    >>> [round(unusual(difference, np.arange(100) / 100), 6) for difference in (0.5, 0.98)]
    [0.257726, 0.000808]
    """
    num = shares.size
    if num < MIN_RANDOM:
        return np.nan
    ordered = np.sort(shares)
    beyond = np.searchsorted(ordered, ordered + (abs(difference) - 1e-12), side="left")
    larger = int((num - np.maximum(beyond, np.arange(num) + 1)).sum())
    return (1 + larger) / (1 + num * (num - 1) // 2)


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
