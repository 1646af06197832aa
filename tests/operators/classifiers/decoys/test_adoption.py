"""By how much a model falls for a decoy, over texts and over whoever wrote several of them."""

import numpy as np
import pytest
import scipy.stats

from tiltmeter.operators.classifiers.decoys.adoption import fall
from tiltmeter.operators.statistics.text_intervals import ResampleSettings
from tiltmeter.operators.statistics.units import each, units_of

INTERVALS = ResampleSettings(num_resamples=2000)


def found(falls, others, *, is_paired, units=None, key=(0, 1)):
    num = len(falls) if is_paired else len(falls) + len(others)
    units = each(num, "text") if units is None else units
    return fall(np.array(falls), np.array(others), units, *key, is_paired=is_paired, intervals=INTERVALS)


def test_accuracy_that_is_lost_elsewhere_as_well_is_no_fall():
    lost = np.ones(60)
    assert found(lost, np.zeros(60), is_paired=True).inferred.low > 0.8
    assert found(lost, lost, is_paired=False).inferred.value == 0.0
    assert found(lost, lost, is_paired=False).inferred.low < 0.0
    assert found(np.empty(0), lost, is_paired=False) is None


def test_of_texts_apart_both_kinds_spread_and_the_fewer_say_how_sure_it_is():
    falls, others = np.repeat([1.0, 0.0, -1.0], [3, 2, 1]), np.repeat([1.0, 0.0], [10, 30])
    result, estimate = found(falls, others, is_paired=False)
    variance = falls.var(ddof=1) / 6 + others.var() / 40  # the many have no correction
    assert result.value == pytest.approx(1 / 3 - 1 / 4)
    assert (result.variance, result.df) == (pytest.approx(variance, rel=1e-3), pytest.approx(5.0))
    assert estimate.resamples.std() == pytest.approx((falls.var() / 6 + others.var() / 40) ** 0.5, rel=0.05)


@pytest.mark.parametrize("is_paired", [True, False])
def test_texts_of_one_group_count_once(is_paired):
    """Each of six people wrote five texts, of which all or none is fallen for."""
    people = np.repeat(np.arange(6), 5)
    falls = np.repeat([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], 5)
    units = units_of(people if is_paired else np.concatenate([people, people]), "group")
    result, estimate = found(falls, np.zeros(30), is_paired=is_paired, units=units)
    by_person = scipy.stats.sem([1, 1, 1, 1, 0, 0])
    assert (result.variance**0.5, result.df) == (pytest.approx(by_person), pytest.approx(5.0))
    assert estimate.num_texts == pytest.approx(6.0)
    for key in ((1, 1), (0, 2)):
        other = found(falls, np.zeros(30), is_paired=is_paired, units=units, key=key).estimate
        assert (other.resamples != estimate.resamples).any()
    assert estimate.resamples.std() == pytest.approx(by_person * (5 / 6) ** 0.5, rel=0.05)
    of_texts = found(falls, np.zeros(30), is_paired=is_paired).inferred
    assert result.low < 0.0 < of_texts.low


def test_three_people_say_nothing_of_others():
    units = units_of(np.repeat(np.arange(3), 20), "group")
    result = found(np.ones(60), np.zeros(60), is_paired=True, units=units).inferred
    assert (result.value, result.status, result.low != result.low) == (1.0, "too_few_units", True)
    assert '3 of the unit "group", and 4 are needed' in result.reason
