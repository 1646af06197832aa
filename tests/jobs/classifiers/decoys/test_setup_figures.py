"""What the charts of setups III and IV show: each number of the tables where its row says."""

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.page import contamination, gains


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


def shown(figure):
    """The lines from the top, and the numbers on each by what was looked at."""
    lines = dict(zip(figure.layout["yaxis"]["tickvals"], figure.layout["yaxis"]["ticktext"], strict=True))
    yield f"lines: {', '.join([*lines.values()][::-1])}"
    for trace in figure.data:
        if "markers" in trace["mode"]:
            yield from (f"{trace['name']}, {lines[round(y)]}: {x}" for x, y in zip(trace["x"], trace["y"], strict=True))


def test_numbers_stand_on_the_line_of_their_method_with_the_largest_of_the_largest_budget_on_top(check_sentences):
    drawn = gains(frame(IMPROVEMENT, tables.Improvement.schema()))
    drawn |= contamination(frame(CONTAMINATION, tables.Contamination.schema()))
    check_sentences({name: shown(figure) for name, figure in drawn.items()})


@pytest.mark.parametrize("budgets", [2, 5])
def test_dots_of_all_budgets_stay_within_their_row(budgets):
    rows = [improved("zq", method, budget, 0.0) for method in ("lime", "random") for budget in range(1, 1 + budgets)]
    [figure] = gains(frame(rows, tables.Improvement.schema())).values()
    heights = sorted(height for trace in figure.data if "markers" in trace["mode"] for height in trace["y"])
    assert len(set(heights)) == 2 * budgets
    assert all(abs(height - round(height)) < 0.5 for height in heights)
    assert heights[budgets] - heights[budgets - 1] > heights[-1] - heights[-2]


def test_nothing_is_drawn_of_no_rows():
    assert gains(frame([], tables.Improvement.schema())) == {}
    assert contamination(frame([], tables.Contamination.schema())) == {}
