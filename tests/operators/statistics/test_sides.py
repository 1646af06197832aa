"""When an estimate may be said to lean to a side."""

import math

import numpy as np
import pytest

from tiltmeter.operators.statistics.sides import Estimate, compared, side

NAN = math.nan


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((0.5, 0.1, 0.9), "above"),
        ((0.9, 0.1, 0.9), "above"),
        ((1.2, 0.1, 0.9), "outside"),
        ((0.05, 0.1, 0.9), "outside"),
        ((0.36, -1.08, -0.37), "opposite"),
        ((0.0, 0.37, 1.08), "opposite"),
        ((0.5, -0.1, 0.9), "neither"),
        ((0.5, 0.0, 0.9), "neither"),
        ((0.0, 0.0, 0.0), "neither"),
        ((0.5, NAN, NAN), "unknown"),
        ((0.5, NAN, 0.9), "unknown"),
        ((NAN, 0.1, 0.9), "unknown"),
        ((math.inf, 0.1, math.inf), "above"),
        ((math.inf, 0.1, 0.9), "outside"),
    ],
)
@pytest.mark.parametrize("neutral", [0.0, 0.5])
def test_a_side_is_named_where_estimate_and_interval_agree(numbers, expected, neutral):
    assert side(Estimate(*(number + neutral for number in numbers)), neutral) == expected


@pytest.mark.parametrize(
    ("others", "expected"),
    [((0.2,), "above"), ((-0.08,), "disputed"), ((0.0,), "disputed"), ((NAN,), "above"), ((0.2, -1.0), "disputed")],
)
@pytest.mark.parametrize("neutral", [0.0, 0.5])
def test_another_statistic_must_not_contradict(others, expected, neutral):
    def side_of(*numbers):
        estimate, more = ([number + neutral for number in part] for part in (numbers, others))
        return side(Estimate(*estimate), neutral, *more)

    assert side_of(0.5, 0.1, 0.9) == expected
    assert side_of(0.5, -0.1, 0.9) == "neither", "where nothing is named, nothing is disputed"
    assert side_of(-0.5, 0.1, 0.9) == "opposite"


def test_an_estimate_that_rounding_puts_beside_its_interval_lies_in_it():
    values = np.full(3, 0.1)
    assert values.sum() / 3 != 0.1
    assert side(Estimate(float(values.sum() / 3), 0.1, 0.1)) == "above"


def test_mirrored_numbers_lie_on_the_mirrored_side():
    mirrored = {"above": "below", "below": "above"}
    for value, *ends, other in np.random.default_rng(0).normal(size=(500, 4)).round(1).tolist():
        low, high = sorted(ends)
        found = side(Estimate(value, low, high), 0.0, other)
        assert side(Estimate(-value, -high, -low), 0.0, -other) == mirrored.get(found, found)
        assert (found in mirrored) == (low * high > 0 and low <= value <= high and other * value > 0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0.5, 0.4, 0.6), (0.1, 0.0, 0.2), "above"),
        ((0.1, 0.0, 0.2), (0.5, 0.4, 0.6), "below"),
        ((0.5, 0.2, 0.6), (0.1, 0.0, 0.2), "neither"),
        ((0.7, 0.4, 0.6), (0.1, 0.0, 0.2), "outside"),
        ((0.5, 0.4, 0.6), (0.3, 0.0, 0.2), "outside"),
        ((0.1, 0.4, 0.6), (0.3, 0.0, 0.2), "opposite"),
        ((0.5, 0.4, 0.6), (0.1, NAN, NAN), "unknown"),
        ((NAN, 0.4, 0.6), (0.1, 0.0, 0.2), "unknown"),
    ],
)
def test_two_estimates_are_ordered_where_their_intervals_lie_apart_and_hold_them(first, second, expected):
    assert compared(Estimate(*first), Estimate(*second)) == expected
