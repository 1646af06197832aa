"""Ratings as classes: the bins of Jaiswal and Mower Provost 2022, section 4.1."""

import pytest

from tiltmeter.operators.classifiers.privacy.bins import binned, check_bins

FIVE = {"low": (1, 2.75), "mid": (2.75, 3.25), "high": (3.25, 5)}
NINE = {"low": (1, 3.75), "mid": (3.75, 4.25), "high": (4.25, 9)}


@pytest.mark.parametrize(
    ("bins", "rating", "name"),
    [
        *[(FIVE, rating, "low") for rating in (1, 2.5, 2.75)],
        *[(FIVE, rating, "mid") for rating in (2.7500001, 3, 3.25)],
        *[(FIVE, rating, "high") for rating in (3.2500001, 5)],
        *[(NINE, 1, "low"), (NINE, 3.75, "low"), (NINE, 4, "mid"), (NINE, 4.25, "mid"), (NINE, 4.3, "high")],
    ],
)
def test_a_rating_where_bins_meet_is_of_the_lower_one(bins, rating, name):
    assert binned(rating, bins) == name


@pytest.mark.parametrize("rating", [0.99, 5.01, float("nan"), float("inf"), float("-inf")])
def test_what_is_outside_the_scale_is_refused(rating):
    with pytest.raises(ValueError, match="must be a number from 1 to 5"):
        binned(rating, FIVE)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mid": (2.5, 3.25)}, "low and mid overlap from 2.5 to 2.75"),
        ({"mid": (3, 3.25)}, "low and mid leave out ratings from 2.75 to 3"),
        ({"mid": (3.25, 2.75)}, "mid reaches from 3.25 to 2.75: must be two numbers, the lower one first"),
        ({"high": (3.25, float("inf"))}, "high reaches from 3.25 to inf"),
        ({"low": (float("nan"), 2.75)}, "low reaches from nan to 2.75"),
    ],
)
def test_bins_that_are_no_scale_are_refused(changed, message):
    check_bins("data.bins", FIVE)
    with pytest.raises(ValueError, match=f"^data.bins: {message}"):
        check_bins("data.bins", FIVE | changed)


def test_one_bin_is_refused():
    with pytest.raises(ValueError, match="must have a bin for each of two classes"):
        check_bins("data.bins", {"low": (1, 5)})
