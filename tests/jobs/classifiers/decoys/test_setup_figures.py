"""What the charts of setups III and IV show: each number of the tables where its row says."""

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.setups import figures


def improved(decoy, method, budget, gain, misled=None):
    row = {"decoy": decoy, "method": method, "selection": "random", "budget": budget, "gain": gain}
    row |= {"gain_low": gain - 0.25, "gain_high": gain + 0.25, "gain_on_decoy_rows": misled}
    return row if misled is None else row | {"gain_on_decoy_rows_low": misled, "gain_on_decoy_rows_high": misled}


def relabelled(order, share, uncovered, gain):
    return {"order": order, "share": share, "uncovered": uncovered, "gain": gain} | {
        f"{name}_{end}": value for name, value in (("uncovered", uncovered), ("gain", gain)) for end in ("low", "high")
    }


IMPROVEMENT = [
    *(improved("zq", "lime", 5, 0.125, 0.5), improved("zq", "lime", 20, 0.25, 0.75)),
    *(improved("zq", "random", 5, 0.0, 0.625), improved("zq", "random", 20, 0.375, 0.0)),
    *(improved("movie", "lime", 5, 0.0), improved("movie", "lime", 20, -0.125)),
]
CONTAMINATION = [
    *(relabelled("loss", 0.1, 0.75, 0.125), relabelled("loss", 0.2, 0.875, 0.0)),
    *(relabelled("random", 0.1, 0.125, 0.0), relabelled("random", 0.2, 0.25, 0.25)),
]


def frame(rows, schema):
    return pl.DataFrame(pa.Table.from_pylist(rows, schema))


def dots_of(figure):
    """Numbers by what was looked at and by the line that they stand on."""
    lines = dict(zip(figure.layout["yaxis"]["tickvals"], figure.layout["yaxis"]["ticktext"], strict=True))
    return {
        (trace["name"], lines[round(height)]): x
        for trace in figure.data
        if "markers" in trace["mode"]
        for x, height in zip(trace["x"], trace["y"], strict=True)
    }


def lines_of(figure):
    """From the top."""
    return list(figure.layout["yaxis"]["ticktext"])[::-1]


def test_gains_stand_on_the_line_of_their_method_with_the_largest_of_the_largest_budget_on_top():
    shown = figures.gains(frame(IMPROVEMENT, tables.IMPROVEMENT))
    assert list(shown) == ["zq, where it misleads", "zq, all test texts", "movie, all test texts"]
    assert dots_of(shown["zq, where it misleads"]) == {
        ("5 instances", "LIME"): 0.5,
        ("20 instances", "LIME"): 0.75,
        ("5 instances", "random attributions"): 0.625,
        ("20 instances", "random attributions"): 0.0,
    }
    assert lines_of(shown["zq, where it misleads"]) == ["LIME", "random attributions"]
    assert lines_of(shown["zq, all test texts"]) == ["random attributions", "LIME"]
    assert dots_of(shown["movie, all test texts"]) == {("5 instances", "LIME"): 0.0, ("20 instances", "LIME"): -0.125}


def test_labels_uncovered_and_what_it_gains_are_two_charts_of_the_same_orders():
    shown = figures.contamination(frame(CONTAMINATION, tables.CONTAMINATION))
    assert list(shown) == ["labels uncovered", "accuracy gained"]
    uncovered, gained = shown.values()
    assert dots_of(uncovered)["20% of the texts", "the loss"] == 0.875
    assert lines_of(uncovered) == ["the loss", "a random order"]
    assert dots_of(gained)["20% of the texts", "a random order"] == 0.25
    assert lines_of(gained) == ["a random order", "the loss"]


@pytest.mark.parametrize("budgets", [2, 5])
def test_dots_of_all_budgets_stay_within_their_row(budgets):
    rows = [improved("zq", method, budget, 0.0) for method in ("lime", "random") for budget in range(1, 1 + budgets)]
    [figure] = figures.gains(frame(rows, tables.IMPROVEMENT)).values()
    heights = sorted(height for trace in figure.data if "markers" in trace["mode"] for height in trace["y"])
    assert len(set(heights)) == 2 * budgets
    assert all(abs(height - round(height)) < 0.5 for height in heights)
    assert heights[budgets] - heights[budgets - 1] > heights[-1] - heights[-2]


def test_nothing_is_drawn_of_no_rows():
    assert figures.gains(frame([], tables.IMPROVEMENT)) == {}
    assert figures.contamination(frame([], tables.CONTAMINATION)) == {}
