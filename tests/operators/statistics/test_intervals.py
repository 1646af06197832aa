from typing import get_args

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tiltmeter.operators.statistics.intervals import (
    FISHER,
    HOLDS_ITS_ESTIMATE,
    LINEAR,
    LOG,
    LOGIT,
    MOST_SHIFT,
    IntervalSettings,
    Method,
    bootstrap_interval,
    empirical_interval,
    fisher,
    of_size,
    percentile_interval,
    shift,
)

HOLES = [np.nan, np.inf, -np.inf]


@settings(max_examples=50)
@given(
    arrays(
        np.float64, st.tuples(st.just(4), st.integers(0, 9)), elements=st.floats(-1e6, 1e6) | st.sampled_from(HOLES)
    ),
    st.floats(0.01, 0.99),
)
def test_agrees_with_nanquantile(values, level):
    low, high, num = percentile_interval(values, level)
    for row in range(4):
        finite = values[row][np.isfinite(values[row])]
        assert num[row] == finite.size
        if finite.size < 2:
            assert np.isnan(low[row])
            assert np.isnan(high[row])
        else:
            ends = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2])
            np.testing.assert_allclose([low[row], high[row]], ends, rtol=1e-9, atol=1e-6)


def test_reduces_the_axis_that_is_named():
    values = np.random.default_rng(0).normal(size=(30, 4, 5))
    first, last = percentile_interval(values, axis=0), percentile_interval(np.moveaxis(values, 0, -1))
    np.testing.assert_array_equal(first, last)


def test_ends_of_an_empirical_interval_are_among_the_values_infinite_ones_too():
    values = np.array([np.nan, 5.0, np.inf, 1.0, 4.0, np.inf, 2.0, 3.0, np.inf, 0.0])
    low, high, num = empirical_interval(values, 0.8)
    # Of 9 values, the first and the eighth reach shares of 0.1 and 0.9 only with the first and the last.
    assert (low, high, num) == (0.0, np.inf, 9)
    assert empirical_interval(values, 0.2)[:2] == (3.0, 5.0)
    assert np.isnan(empirical_interval(np.array([1.0, np.nan]))[:2]).all()


def test_the_averaged_interval_is_around_the_mean_of_the_replicas_and_reaches_to_the_estimate():
    values = np.array([0.1, 0.4, np.nan, 0.9])
    mean, sd = 1.4 / 3, np.std([0.1, 0.4, 0.9], ddof=1)
    assert np.isnan(bootstrap_interval(np.nan, values, 0.9, "averaged")[:2]).all()
    # So narrow that an estimate not yet a standard deviation off is outside.
    narrow = scipy.stats.t(df=2).ppf(0.55) * sd
    above, below = (bootstrap_interval(mean + side * 0.9 * sd, values, 0.1, "averaged") for side in (1, -1))
    assert above[:2] == pytest.approx((mean - narrow, mean + 0.9 * sd))
    assert below[:2] == pytest.approx((mean - 0.9 * sd, mean + narrow))
    assert bootstrap_interval(0.5, values) == bootstrap_interval(0.5, values, 0.95, "averaged")


@pytest.mark.parametrize("scale", [LINEAR, LOGIT, FISHER])
def test_numbers_that_resampling_shifts_by_more_than_its_spread_have_their_interval_around_them(scale):
    moved = np.array([-1.0, 0.0, 1.0])
    values, sd = (moved if scale is LINEAR else scale.backward(moved)), 1.0
    for by, is_shifted in ((0.99, False), (-0.99, False), (1.01, True), (-1.01, True)):
        estimate = by if scale is LINEAR else scale.backward(np.array(by))
        assert shift(estimate, values, scale) == pytest.approx(-by / sd)
        found = bootstrap_interval(estimate, values, 0.9, "averaged", scale)
        expected = bootstrap_interval(estimate, values, 0.9, "centred", scale)
        assert (found[:2] == expected[:2]) is is_shifted
        assert MOST_SHIFT == 1.0


@pytest.mark.parametrize("scale", [LINEAR, LOG, LOGIT, FISHER])
def test_sizes_have_their_interval_around_them_whatever_the_data_say(scale):
    values, estimate = np.array([0.2, 0.3, 0.5]), 0.36
    sized = bootstrap_interval(estimate, values, scale=of_size(scale))
    centred = bootstrap_interval(estimate, values, 0.95, "centred")
    assert sized[:2] == tuple(np.clip(end, scale.low, scale.high) for end in centred[:2])
    assert sized[:2] != bootstrap_interval(estimate, values, scale=scale)[:2]
    percentiles = [bootstrap_interval(estimate, values, 0.95, "percentile", kind)[:2] for kind in (scale, LINEAR)]
    assert percentiles[0] == percentiles[1], "a method that is asked for is taken"


def test_replicas_that_agree_on_another_number_reach_to_the_estimate():
    for scale in (LINEAR, of_size(LINEAR)):
        assert bootstrap_interval(0.5, np.full(8, 0.75), scale=scale)[:2] == (0.5, 0.75)
    assert [shift(t, np.full(8, 0.75)) for t in (0.5, 0.75)] == [np.inf, 0.0]
    assert np.isnan([shift(np.nan, np.ones(3)), shift(1.0, np.ones(1))]).all()


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.5, 4.0, np.nan, np.inf]), min_size=2, max_size=7),
    st.sampled_from([-100.0, 0.0, 1.5, 2.5, 100.0]),
    st.floats(0.05, 0.95),
)
def test_the_bias_corrected_interval_is_that_of_efron(values, estimate, level):
    """Percentiles at Phi(2 z0 -+ z), with z0 of the share below; ties count half, and no share is nearer to 0 or 1."""
    found = bootstrap_interval(estimate, np.array(values), level, "bias_corrected")
    finite = [value for value in values if np.isfinite(value)]
    if len(finite) < 2:
        assert np.isnan(found[:2]).all()
        return
    below = np.mean([(value < estimate) + (value == estimate) / 2 for value in finite])
    z0 = scipy.stats.norm.ppf(np.clip(below, 0.5 / len(finite), 1 - 0.5 / len(finite)))
    shares = scipy.stats.norm.cdf(2 * z0 + scipy.stats.norm.ppf([(1 - level) / 2, (1 + level) / 2]))
    assert found[:2] == pytest.approx(tuple(np.quantile(finite, shares)), abs=1e-9)
    assert np.isnan(bootstrap_interval(np.nan, np.array(values), level, "bias_corrected")[:2]).all()


@pytest.mark.parametrize("method", get_args(Method))
def test_too_few_replicas_have_no_interval(method):
    low, high, num = bootstrap_interval(0.5, np.array([0.4, np.nan]), method=method)
    assert np.isnan([low, high]).all()
    assert num == 1


SCALES = {
    "plain": (LINEAR, np.positive, np.positive, 0.6, [0.3, 0.5, 0.7, 0.9]),
    "correlation": (FISHER, np.arctanh, np.tanh, 0.6, [0.3, 0.5, 0.7, 0.9]),
    "width": (LOG, np.log, np.exp, 0.2, [0.05, 0.1, 0.3, 0.4]),
    "share": (LOGIT, scipy.special.logit, scipy.special.expit, 0.8, [0.5, 0.7, 0.9, 0.95]),
    "effect size": (fisher(2.0), lambda d: np.arctanh(d / 2), lambda z: 2 * np.tanh(z), 1.8, [1.2, 1.5, 1.9, 1.95]),
}


@pytest.mark.parametrize("name", SCALES)
def test_the_interval_on_a_scale_is_that_of_what_the_scale_makes_of_the_numbers(name):
    scale, there, back, estimate, values = SCALES[name]
    holes, values = np.append(values, [np.nan, np.inf]), np.array(values)
    reach = scipy.stats.t(df=3).ppf(0.975) * there(values).std(ddof=1)
    low, high, num = bootstrap_interval(estimate, holes, 0.95, "centred", scale)
    assert (float(low), float(high)) == pytest.approx((back(there(estimate) - reach), back(there(estimate) + reach)))
    mean = there(values).mean()
    averaged = bootstrap_interval(estimate, values, 0.95, "averaged", scale)
    assert averaged[:2] == pytest.approx((back(mean - reach), back(mean + reach)))
    assert scale.low <= low < high <= scale.high
    assert num == 4
    turned = bootstrap_interval(estimate, values, 0.5, "reflected", scale)
    ends = np.quantile(there(values), [0.75, 0.25])
    rel = 1e-9 if scale is LINEAR else 0.02  # between two values, quantiles of what the scale makes of them differ
    assert turned.low == pytest.approx(back(2 * there(estimate) - ends[0]), rel=rel)
    assert turned.high == pytest.approx(back(2 * there(estimate) - ends[1]), rel=rel)
    for method in ("percentile", "bias_corrected"):
        same = [bootstrap_interval(estimate, values, 0.5, method, kind)[:2] for kind in (scale, LINEAR)]
        assert same[0] == same[1]


def test_what_lies_on_a_border_leaves_the_linear_interval_cut_there():
    values = np.array([0.6, 0.8, 1.0])
    reach = scipy.stats.t(df=2).ppf(0.975) * 0.2
    assert bootstrap_interval(0.9, values, 0.95, "centred", LOGIT)[:2] == (max(0.0, 0.9 - reach), 1.0)
    rows = np.array([[0.6, 0.8, 0.7], [0.6, 0.8, 0.7]])
    low, high, _ = bootstrap_interval(np.array([1.0, 0.9]), rows, 0.95, "centred", FISHER)
    assert (low[0], high[0]) == pytest.approx((1.0 - reach / 2, 1.0))
    assert high[1] < 1.0, "the other row has its place on the scale"
    assert bootstrap_interval(1.0, np.ones(3), scale=FISHER)[:2] == (1.0, 1.0)
    assert np.isnan(bootstrap_interval(np.nan, values, scale=LOGIT)[:2]).all()


@pytest.mark.long
@pytest.mark.parametrize("method", sorted(HOLDS_ITS_ESTIMATE))
@given(
    st.sampled_from([LINEAR, LOG, LOGIT, FISHER, fisher(2.0)]),
    st.floats(0, 1),
    st.lists(st.floats(0, 1), min_size=2, max_size=8),
    st.floats(0.01, 0.99),
)
def test_an_interval_around_something_holds_its_estimate_and_stays_in_range(method, scale, estimate, values, level):
    low, high, num = bootstrap_interval(estimate, np.array(values), level, method, scale)
    assert num == len(values)
    assert scale.low <= low <= estimate <= high <= scale.high


def test_degrees_of_freedom_may_be_given():
    values = np.linspace(0, 1, 1001)
    low, high, _ = bootstrap_interval(0.5, values, 0.95, "centred", df=3.0)
    assert (high - low) / 2 == pytest.approx(scipy.stats.t(df=3).ppf(0.975) * values.std(ddof=1))
    wide = bootstrap_interval(0.5, values, 0.95, "centred", df=3.0, spread=2.5)
    assert (wide.high - wide.low) / (high - low) == pytest.approx(2.5)


def test_settings_are_what_an_interval_is_made_by():
    values = np.array([0.6, 0.8, 0.7, 0.95])
    found = IntervalSettings(0.8, "centred").around(0.9, values, FISHER)
    assert found == bootstrap_interval(0.9, values, 0.8, "centred", FISHER)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, -0.5, np.nan])
def test_levels_and_methods_that_there_are_not_are_refused(level):
    for ask in (percentile_interval, empirical_interval):
        with pytest.raises(ValueError, match=rf"level={level}.*strictly between 0 and 1"):
            ask(np.arange(5.0), level)
    for wrong in ({"level": level}, {"interval": "student"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            IntervalSettings(**wrong)
    with pytest.raises(ValueError, match=r"method='student': must be one of averaged, centred, percentile"):
        bootstrap_interval(0.5, np.array([0.4, 0.5]), method="student")
