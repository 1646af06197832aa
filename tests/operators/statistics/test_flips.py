import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from tiltmeter.operators.statistics.flips import flip_p, flips
from tiltmeter.operators.statistics.units import each, units_of


def brute_force(sums):
    signs = itertools.product((1, -1), repeat=len(sums))
    reached = [abs(sum(sign * value for sign, value in zip(one, sums, strict=True))) >= abs(sum(sums)) for one in signs]
    return sum(reached) / len(reached)


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=10))
def test_whole_sums_are_exact(sums):
    assert flip_p(np.array(sums)) == pytest.approx(brute_force([value for value in sums if value] or [0]))


@settings(max_examples=50)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=8))
def test_other_sums_are_enumerated(sums):
    parts = [Fraction(value, 7) for value in sums if value] or [Fraction(0)]
    assert flip_p(np.array([float(part) for part in parts])) == pytest.approx(brute_force(parts))


def test_units_of_one_item_are_mcnemars_test():
    first = np.arange(40) < 14
    second = (np.arange(40) >= 14) & (np.arange(40) < 19)
    p, too_few = flips(first.astype(int) - second, each(40, "text"))
    assert p == pytest.approx(binomtest(14, 19).pvalue)
    assert too_few is None


def test_texts_of_one_speaker_flip_together():
    texts = np.ones(60)
    assert flips(texts, each(60, "text"))[0] == 2.0**-59
    assert flips(texts, units_of(np.arange(60) // 10, "speaker"))[0] == 2.0**-5
    p, too_few = flips(texts, units_of(np.arange(60) // 12, "speaker"))
    assert np.isnan(p)
    assert (too_few.have, too_few.need, too_few.kind) == (5, 6, "speaker that differs")


def test_no_p_lies_below_what_signs_can_show():
    mixed = np.tile([3, 1, 7, 2], 25)
    assert flip_p(mixed) == 2.0**-99
    # By FFT, chances as small as these are rounding alone.
    large = np.tile(np.arange(1, 101) * 100, 3)
    assert flip_p(large) >= 2.0**-299


def test_drawn_signs_agree_with_exact_ones():
    sums = np.random.default_rng(1).integers(-9, 12, 60)
    drawn = flip_p(sums + np.where(np.arange(60) % 2, 1e-7, -1e-7) * 3)
    assert drawn == pytest.approx(flip_p(sums), abs=0.02)
    many = np.random.default_rng(1).normal(0.02, 1.0, 5000)
    assert flip_p(many) == pytest.approx(2 * norm.sf(abs(many.sum()) / np.sqrt((many**2).sum())))
