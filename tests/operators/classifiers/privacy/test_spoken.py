"""Means and recalls of texts that people said, with what is known of other people."""

import numpy as np
import pytest

from tiltmeter.operators.classifiers.privacy.attacker import weighted_recalls
from tiltmeter.operators.classifiers.privacy.spoken import Spoken
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT
from tiltmeter.operators.statistics.units import each, units_of


def recalls(right, classes, units, *, is_of_units):
    every = weighted_recalls(np.ones(len(classes), bool), classes)
    shares = np.stack([weighted_recalls(these, classes) for these in np.atleast_2d(right)])
    return Spoken(shares, shares.mean(axis=0), units, classes, is_of_units, every)


def spoken_genders(num, size=6, share=0.5):
    """So many speakers of each gender, of whom all texts are recognised or none, and a few of both."""
    speakers = np.repeat(np.arange(2 * num), size)
    right = (speakers // 2 % 2 == 0) | (np.arange(speakers.size) % size < share)
    return speakers % 2, units_of(speakers, "speaker"), right


def test_uar_of_gender_spreads_as_speakers_of_each_gender_do():
    classes, units, right = spoken_genders(6)
    found = recalls(right, classes, units, is_of_units=True).inferred(0.95, LOGIT)
    by_speaker = units.sums(right) / 6
    expected = sum(by_speaker[gender::2].var(ddof=1) / 6 for gender in (0, 1)) / 4
    assert found.value == pytest.approx(by_speaker.mean())
    assert found.variance == pytest.approx(expected)
    assert found.low < 0.32 < 0.8 < found.high
    of_texts = recalls(right, classes, each(72, "text"), is_of_units=False).inferred(0.95, LOGIT)
    assert of_texts.high - of_texts.low < 0.6 * (found.high - found.low)


def test_uar_of_valence_spreads_as_sums_of_speakers_who_say_things_of_every_class():
    """Who is recognised in one class is not in the other: recalls of a class differ, their mean hardly does."""
    classes, speakers = np.tile([0, 0, 1, 1], 8), np.repeat(np.arange(8), 4)
    right = (speakers + classes) % 2 == 0
    found = recalls(right, classes, units_of(speakers, "speaker"), is_of_units=False).inferred(0.95, LOGIT)
    assert (found.value, found.variance) == (0.5, pytest.approx(0.0))
    assert recalls(right, classes, each(32, "text"), is_of_units=False).inferred(0.95, LOGIT).variance > 0.005


@pytest.mark.parametrize(("num", "status"), [(1, "too_few_units"), (3, "too_few_units"), (4, "ok")])
def test_the_uar_of_gender_needs_four_of_each(num, status):
    """One man and one woman are two people."""
    classes, units, right = spoken_genders(num)
    found = recalls(right, classes, units, is_of_units=True).inferred(0.95, LOGIT)
    assert (found.status, np.isnan(found.low)) == (status, status != "ok")
    if status != "ok":
        assert found.reason.endswith(f'{num} of the unit "speaker of one gender", and 4 are needed')


def test_two_models_that_may_be_interchanged_in_each_speaker_have_the_p_of_their_signs():
    classes, units, right = spoken_genders(4)
    first, second = (recalls(these, classes, units, is_of_units=True) for these in (right, ~right))
    difference = first - second
    p, too_few = difference.p_of_none(difference.inferred(0.95, FISHER))
    sums = units.sums(difference.values)
    signs = 1 - 2 * (np.arange(256)[:, None] >> np.arange(8) & 1)
    assert too_few is None
    assert p == pytest.approx((np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9).mean())


def test_seeds_without_a_value_say_nothing_of_training():
    values = np.array([[1.0, 2.0, 3.0, 5.0, 7.0, 2.0], [np.nan] * 6])
    spoken = Spoken(values, values[0], each(6, "text"))
    assert spoken.seeds.tolist() == [values[0].mean()]
    found = spoken.inferred(0.95, LINEAR)
    assert found.variance == pytest.approx(values[0].var(ddof=1) / 6)
    assert spoken.p_of_none(found)[0] == 2**-5
