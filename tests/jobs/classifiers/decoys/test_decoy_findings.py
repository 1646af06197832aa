"""What is said of methods that find decoys: an order only where intervals lie apart and hold their averages."""

import polars as pl
import pytest

from tiltmeter.jobs.classifiers.decoys.findings import CHANCE, orderings, soonest


def utility(method, instances, low, high):
    way = {"decoy": "foo", "method": method, "selection": CHANCE, "adopted": True, "soonest": 0.9}
    return way | {"num_instances": instances, "num_instances_low": low, "num_instances_high": high}


@pytest.fixture
def decoys():
    return pl.DataFrame({"decoy": ["foo"], "pooled_coverage": [0.1], "perplexity_shift": [1.5]})


@pytest.mark.parametrize(
    ("instances", "verdict"),
    [
        (2.0, "found (1 of 1 comparison, intervals apart)."),
        (
            4.0,
            "not found (0 of 1 comparison, intervals apart; in 1 the numbers contradict each other and name no side).",
        ),
        (
            9.0,
            "not found (0 of 1 comparison, intervals apart; in 1 the numbers contradict each other and name no side).",
        ),
    ],
)
def test_intervals_that_lie_apart_beside_their_averages_are_no_finding(decoys, instances, verdict):
    rows = pl.DataFrame([utility("lime", instances, 1.0, 3.0), utility(CHANCE, 6.0, 5.0, 7.0)])
    first, *_ = orderings({"utility": rows, "decoys": decoys})
    assert first == f"That explanations need fewer instances than random attributions: {verdict}"


def test_the_soonest_way_is_doubted_where_its_average_lies_beside_its_interval():
    (sure,) = soonest(pl.DataFrame([utility("lime", 2.0, 1.0, 3.0)]))
    (doubted,) = soonest(pl.DataFrame([utility("lime", 0.5, 1.0, 3.0)]))
    assert "outside" not in sure
    assert doubted.endswith("That average lies outside of its interval, which leaves the order open.")
