import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tiltmeter.operators.statistics.intervals import empirical_interval, percentile_coverage, percentile_interval


def test_by_hand() -> None:
    # 0..100: position (n - 1) q, so the 2.5 % point is 2.5 and the 97.5 % point 97.5.
    interval = percentile_interval(np.arange(101.0)[::-1], level=0.95)
    assert interval.low == pytest.approx(2.5)
    assert interval.high == pytest.approx(97.5)
    assert interval.num == 101


@given(arrays(np.float64, (4, 9), elements=st.floats(-1e6, 1e6) | st.just(np.nan)), st.floats(0.01, 0.99))
def test_agrees_with_nanquantile(values: np.ndarray, level: float) -> None:
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


def test_reduces_the_axis_that_is_named() -> None:
    values = np.random.default_rng(0).normal(size=(30, 4, 5))
    first = percentile_interval(values, axis=0)
    last = percentile_interval(np.moveaxis(values, 0, -1))
    assert first.low.shape == (4, 5)
    np.testing.assert_array_equal(first.low, last.low)
    np.testing.assert_array_equal(first.high, last.high)


def test_infinite_values_are_left_out() -> None:
    interval = percentile_interval(np.array([np.inf, 1.0, 3.0, -np.inf]), level=0.5)
    np.testing.assert_array_equal([interval.low, interval.high, interval.num], [1.5, 2.5, 2])


def test_no_replicas() -> None:
    interval = percentile_interval(np.empty((2, 0)))
    assert np.isnan(interval.low).all()
    assert np.isnan(interval.high).all()
    assert (interval.num == 0).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, -0.5, float("nan")])
def test_level_out_of_range_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match=r"level=.*strictly between 0 and 1"):
        percentile_interval(np.arange(5.0), level)


def test_one_more_uniform_value_is_covered_as_the_formula_says():
    values = np.random.default_rng(5).random((20_000, 33))
    low, high, _ = percentile_interval(values[:, 1:], 0.95)
    # The standard error is 0.2 %.
    assert np.mean((low < values[:, 0]) & (values[:, 0] < high)) == pytest.approx(
        percentile_coverage(0.95, 32), abs=0.01
    )


def test_ends_of_an_empirical_interval_are_among_the_values_infinite_ones_too():
    values = np.array([np.nan, 5.0, np.inf, 1.0, 4.0, np.inf, 2.0, 3.0, np.inf, 0.0])
    low, high, num = empirical_interval(values, 0.8)
    # Of 9 values, the first and the eighth reach shares of 0.1 and 0.9 only with the first and the last.
    assert (low, high, num) == (0.0, np.inf, 9)
    assert empirical_interval(values, 0.2)[:2] == (3.0, 5.0)


def test_an_empirical_interval_needs_two_values():
    assert np.isnan(empirical_interval(np.array([1.0, np.nan]))[:2]).all()
    with pytest.raises(ValueError, match="level=1"):
        empirical_interval(np.array([1.0, 2.0]), 1.0)
