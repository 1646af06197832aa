"""Probes: by hand, by brute force over signs, and by how often noise is called a finding."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.probes import Answers, filtered, probe, sampled_probe, unusual
from tiltmeter.operators.statistics.text_intervals import ResampleSettings
from tiltmeter.operators.statistics.units import each, units_of


def sampled(num):
    return SampledClusters(num, ResampleSettings(num_resamples=400), 0, 1, "sentence")


def answers(differences):
    """Of words that differ so; where they do not, both are positive."""
    return Answers(np.asarray(differences) >= 0, np.asarray(differences) <= 0)


def sentences(codes):
    return units_of(np.asarray(codes, np.int64), "sentence")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_p_counts_all_signs_of_sentences_from_six_that_differ(counts):
    differences = [step for one, other in counts for step in [1] * one + [-1] * other]
    codes = [number for number, (one, other) in enumerate(counts) for _ in range(one + other)]
    sums = np.array([one - other for one, other in counts])
    signed = [abs(np.dot(signs, sums)) for signs in product((-1, 1), repeat=len(sums))]
    found = probe(answers(differences), sentences(codes), level=0.95)
    assert found.num_differing == np.count_nonzero(sums)
    if found.num_differing < 6:
        assert np.isnan(found.difference.p)
        assert found.difference.too_few.need in (4, 6)
    else:
        assert found.difference.p == pytest.approx(np.mean([value >= abs(sums.sum()) for value in signed]))


def test_no_p_is_below_what_so_many_sentences_can_show():
    """60 sentences, 20 of two contexts: an FFT of their chances is off by more than the tail."""
    codes = np.concatenate([np.arange(60), np.arange(20)])
    found = probe(answers(np.ones(80)), sentences(codes), level=0.95)
    assert found.difference.p == pytest.approx(2.0**-59, rel=1e-6)


def test_a_sample_that_agrees_throughout_has_neither_a_p_of_0_nor_an_interval_of_width_0():
    differences = np.repeat([1, 1, 0], 100)
    rows = np.arange(0, 300, 3)
    found = sampled_probe(answers(differences), rows, answers(differences[rows]), each(300, "sentence"), level=0.95)
    assert found.difference.value == pytest.approx(2 / 3)
    assert found.difference.p >= 2.0 ** (1 - found.num_differing) > 0.0
    assert found.difference.low < 2 / 3 < found.difference.high
    assert found.rate.low < 2 / 3 < found.rate.high
    few = sampled_probe(
        *(answers(np.arange(50) < 2), np.arange(20), answers(np.arange(20) < 2)), each(50, "text"), level=0.9
    )
    assert few.num_differing == 2
    assert np.isnan(few.difference.p)
    assert few.difference.reason.endswith('2 of the unit "text that differs", and 6 are needed')


def interchanged(seed, num_sentences, num_judged, share=0.5):
    """A teacher to whom a coin per sentence says which word is which, and a student who is right in 80 %."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(num_sentences), rng.integers(1, 6, num_sentences))
    sides = np.where(rng.random(num_sentences) < share, 1, -1)[codes] * (rng.random(codes.size) < 0.6)
    student = np.where(rng.random(codes.size) < 0.8, sides, rng.integers(-1, 2, codes.size))
    rows = np.flatnonzero(codes < num_judged)
    return answers(student), rows, answers(sides[rows]), sentences(codes)


@pytest.mark.parametrize("num_sentences", [60, 70, 200])
def test_interchangeable_words_are_told_apart_no_more_often_than_they_should(num_sentences):
    """All judged, nearly all, and a third: as one who takes all contexts for all there are would not see."""
    p = [sampled_probe(*interchanged(seed, num_sentences, 60), level=0.95).difference.p for seed in range(400)]
    assert np.mean(np.array(p) <= 0.05) <= 0.075
    power = [
        sampled_probe(*interchanged(seed, num_sentences, 60, 0.75), level=0.95).difference.p for seed in range(100)
    ]
    assert np.mean(np.array(power) <= 0.05) >= 0.5


def test_contexts_taken_for_sentences_would_be_told_apart():
    single = []
    for seed in range(200):
        student, rows, truth, _ = interchanged(seed, 200, 60)
        single.append(sampled_probe(student, rows, truth, each(student.control.size, "text"), level=0.95).difference.p)
    assert np.mean(np.array(single) <= 0.05) > 0.12


def test_a_probe_by_hand():
    control = np.array([True, True, True, False, True])
    probed = np.array([False, False, True, True, True])
    result = probe(Answers(control, probed), each(5, "sentence"), level=0.95)
    assert (result.rate.value, result.rate_reversed, result.difference.value) == pytest.approx((0.4, 0.2, 0.2))
    # Clopper and Pearson 1934 of 2 of 5
    assert (result.rate.low, result.rate.high) == pytest.approx((0.0527, 0.8534), abs=1e-4)
    assert result.num_differing == 3


def test_both_ways_round_are_one_finding():
    rng = np.random.default_rng(1)
    control, probed, codes = rng.random(200) < 0.7, rng.random(200) < 0.4, rng.integers(0, 50, 200)
    there, back = (
        probe(Answers(*pair), sentences(codes), level=0.95) for pair in ((control, probed), (probed, control))
    )
    assert (there.rate.value, there.rate_reversed) == (back.rate_reversed, back.rate.value)
    assert there.difference.p == back.difference.p
    assert there.difference.low == pytest.approx(-back.difference.high)


def test_copies_of_contexts_add_nothing():
    rng = np.random.default_rng(2)
    control, probed, codes = rng.random(80) < 0.7, rng.random(80) < 0.5, np.arange(80)
    once = probe(Answers(control, probed), sentences(codes), level=0.95)
    thrice = probe(Answers(np.tile(control, 3), np.tile(probed, 3)), sentences(np.tile(codes, 3)), level=0.95)
    assert thrice.difference.p == pytest.approx(once.difference.p)
    assert (thrice.difference.low, thrice.difference.high) == pytest.approx((once.difference.low, once.difference.high))


def test_nothing_and_one_cluster_have_no_interval():
    nothing, alone = (
        sampled(3).rate(np.zeros(0, bool), np.zeros(0, int)),
        sampled(1).rate(np.ones(3, bool), np.zeros(3, int)),
    )
    assert np.isnan(nothing[:3]).all()
    assert np.isnan(alone[1:3]).all()
    assert nothing.resamples.size == alone.resamples.size == 0


def test_rates_of_clusters_hold_what_sentences_are_drawn_from_and_stay_between_borders():
    held = []
    for number in range(200):
        rng = np.random.default_rng(number)
        clusters = np.repeat(np.arange(40), rng.integers(1, 12, 40))
        chances = rng.beta(0.2, 1.8, 40)
        rate = sampled(40).rate(rng.random(clusters.size) < chances[clusters], clusters)
        assert 0.0 <= rate.low <= rate.value <= rate.high <= 1.0
        held.append(rate.low <= 0.1 <= rate.high)
    assert np.mean(held) >= 0.91


def test_where_all_agree_others_might_not():
    rate = sampled(20).rate(np.zeros(60, bool), np.repeat(np.arange(20), 3))
    # Clopper and Pearson of none of 20 sentences: 1 - 0.025^(1/20)
    assert (rate.low, rate.high) == (0.0, pytest.approx(0.16843, rel=1e-4))


def test_a_pair_is_ranked_among_all_pairs_of_other_words():
    shares = np.linspace(0.4, 0.6, 101)
    assert unusual(0.5, shares) == 1 / 5051
    assert unusual(0.0, shares) == 1.0
    # of two different numbers of 0..100, 51 + 50 + ... + 1 pairs have a distance of 50 or more
    assert unusual(0.1, shares) == pytest.approx((1 + 51 * 52 / 2) / 5051)
    assert unusual(-0.1, shares[::-1]) == unusual(0.1, shares)
    assert np.isnan(unusual(0.1, shares[:49]))


def test_pairs_that_are_like_all_others_are_rarely_unusual():
    p = []
    for seed in range(1000):
        shares = np.random.default_rng(seed).beta(8, 2, 52)
        p.append(unusual(shares[0] - shares[1], shares[2:]))
    assert np.mean(np.array(p) <= 0.05) <= 0.08


def test_the_filter_is_a_conjunction_and_its_steps_are_counted():
    is_positive = np.array([True, True, True, False, True])
    with_positive = np.array([[True, True], [True, False], [True, False], [True, True], [True, True]])
    with_negative = np.array([[True], [False], [True], [False], [False]])
    changeable = np.array([True, True, True, True, False])
    kept = filtered(is_positive, with_positive, with_negative, changeable)
    assert kept.rows.tolist() == [0, 1]  # the third is negative with a positive word and positive with a negative one
    assert kept.counts == {"all": 5, "positive": 4, "not_reversed": 3, "changeable": 2}
