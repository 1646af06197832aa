"""The plots that all capabilities share, where the models of pages do not show it: which number stands where."""

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots, sides
from tiltmeter.jobs.report.plots.heat import heat
from tiltmeter.jobs.report.plots.scatter import scatter
from tiltmeter.jobs.report.plots.style import FEMALE, LOOKS, MALE, NEUTRAL, Look, kinds
from tiltmeter.jobs.report.sides import Lean


@pytest.fixture
def rows():
    """Words on both sides of 0 and between, and one without an interval."""
    return pl.DataFrame(
        {
            "word": ["<b>", "cook", "guard", "judge"],
            "bias": [0.3, 0.1, -0.2, 0.0],
            "bias_low": [0.2, -0.1, -0.4, None],
            "bias_high": [0.5, 0.2, -0.1, None],
        }
    )


def traces(figure):
    """Those with dots in the legend, by name."""
    return {trace.name: trace for trace in figure.data if trace.showlegend and "markers" in (trace.mode or "")}


# --- dots -----------------------------------------------------------------------------------------------------------


def test_rows_without_a_number_keep_their_lines(rows):
    figure = drawn(dots(rows.with_columns(bias=pl.Series([None, 0.1, -0.2, 0.0])), "bias", "word"))
    interval, points = figure.data
    assert figure.layout.yaxis.ticktext == ("judge", "guard", "cook", "&lt;b&gt;")
    assert (list(points.x), list(points.y)) == ([0.1, -0.2, 0.0], [2.0, 1.0, 0.0])
    assert len(interval.x) == 9


def test_sides_are_named_by_intervals_alone(rows):
    named, looks = sides(rows, Lean("bias"), ("female side", FEMALE), ("male side", MALE))
    points = traces(drawn(dots(named, "bias", "word", by="side", looks=looks)))
    assert {name: list(trace.x) for name, trace in points.items()} == {
        "female side": [0.3],
        "interval includes 0": [0.1],
        "male side": [-0.2],
        "no interval": [0.0],
    }
    assert [trace.marker.line.color for trace in points.values()][:3] == [FEMALE, NEUTRAL, MALE]
    assert points["interval includes 0"].marker.color == "white", "the line does not show through"
    named, looks = sides(rows.with_columns(bias=-pl.col("bias")), Lean("bias"), ("female side", FEMALE), ("male", MALE))
    points = traces(drawn(dots(named, "bias", "word", by="side", looks=looks)))
    assert list(points["contradicts its interval"].x) == [-0.3, 0.2]
    assert points["contradicts its interval"].marker.line.color == NEUTRAL
    assert not {"female side", "male"} & set(points)
    named, looks = sides(rows.tail(1), Lean("bias"), ("a", FEMALE), ("b", MALE))
    assert traces(drawn(dots(named, "bias", "word", by="side", looks=looks))) == {}, "without any interval"


def test_a_wide_band_lies_below_the_thin_interval(rows):
    wide = rows.with_columns(pse_low=pl.col("bias") - 1, pse_high=pl.col("bias") + 1)
    band, interval, _ = drawn(dots(wide, "bias", "word", band="pse")).data
    assert (band.line.width, interval.line.width) == (8, 2)
    assert list(band.x[:2]) == pytest.approx([-0.7, 1.3])


# --- heat -----------------------------------------------------------------------------------------------------------


def test_cells_without_a_number_are_grey_and_those_of_no_row_empty():
    rows = pl.DataFrame({"x": ["en", "de", "en"], "y": ["cook", "cook", "guard"], "bias": [0.5, -0.25, None]})
    missing, numbers = drawn(heat(rows, "x", "y", "bias", hover=lambda row: row["y"])).data
    assert [list(line) for line in missing.z] == [[None, None], [0, None]]
    assert [list(line) for line in numbers.z] == [[0.5, -0.25], [None, None]]
    assert [list(line) for line in numbers.text] == [["0.50", "−0.25"], ["", ""]]
    assert (numbers.zmin, numbers.zmax) == (-0.5, 0.5)
    assert (numbers.colorscale[0][1], numbers.colorscale[-1][1]) == (MALE, FEMALE)
    assert [list(line) for line in missing.customdata] == [["cook", "cook"], ["guard", ""]]


# --- curves, scatter plots, bars ------------------------------------------------------------------------------------


def test_curves_have_a_band_where_rows_have_an_interval():
    rows = pl.DataFrame({"step": [2, 1], "p": [0.8, 0.5], "p_low": [0.7, 0.4], "p_high": [0.9, 0.6]})
    low, high, line = drawn(curves(rows, "step", "p")).data
    assert [list(trace.y) for trace in (low, high, line)] == [[0.4, 0.7], [0.6, 0.9], [0.5, 0.8]]
    assert len(drawn(curves(rows.select("step", "p"), "step", "p")).data) == 1


def test_the_words_of_many_dots_are_those_of_the_ends():
    many = pl.DataFrame({"x": [0.0] * 30, "y": [float(place) for place in range(30)]})
    words = many.with_columns(word=pl.format("w{}", pl.int_range(30)))
    (dots,) = drawn(scatter(words, "x", "y", "word", note="r = 1")).data
    assert [word for word in dots.text if word] == ["w0", "w1", "w2", "w27", "w28", "w29"]
    assert all(drawn(scatter(words.head(20), "x", "y", "word")).data[0].text)


def test_axes_of_dots_hold_what_leans_to_no_side_of_each():
    layout = drawn(
        scatter(pl.DataFrame({"x": [1.0], "y": [2.0], "word": ["w"]}), "x", "y", "word", neutral=(9.0, -7.0))
    ).layout
    assert layout.xaxis.range[0] < 1 < 9 < layout.xaxis.range[1] < 10
    assert -8 < layout.yaxis.range[0] < -7 < 2 < layout.yaxis.range[1]


def test_kinds_without_a_look_differ_from_each_other():
    rows = pl.DataFrame({"kind": [*"abcdefgh"]})
    found = kinds(rows, "kind", {"h": Look("#000000")})
    assert [kind.name for kind in found] == ["h", *"abcdefg"]
    assert len({kind.look for kind in found[1 : 1 + len(LOOKS)]}) == len(LOOKS)
