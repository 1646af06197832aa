"""The plots that all capabilities share: which number stands where, and what it is called."""

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.report.plots.bars import bars
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import beside, dots, sides
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


def test_dots_stand_on_their_lines_and_the_first_one_at_the_top(rows):
    figure = drawn(dots(rows, "bias", "word", neutral=0.0, hover=lambda row: f"{row['bias']}"))
    neutral, interval, points = figure.data
    assert list(neutral.x) == [0.0, 0.0]
    assert list(interval.x[:3]) == [0.2, 0.5, None]
    assert list(points.x) == [0.3, 0.1, -0.2, 0.0]
    assert list(points.y) == [3.0, 2.0, 1.0, 0.0]
    assert list(figure.layout.yaxis.ticktext) == ["judge", "guard", "cook", "&lt;b&gt;"]
    assert points.customdata[0] == "0.3"
    low, high = figure.layout.xaxis.range
    assert low < -0.4
    assert high > 0.5


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


def test_a_dot_that_contradicts_its_interval_has_the_colour_of_no_side(rows):
    turned = rows.with_columns(bias=-pl.col("bias"))
    named, looks = sides(turned, Lean("bias"), ("female side", FEMALE), ("male side", MALE))
    points = traces(drawn(dots(named, "bias", "word", by="side", looks=looks)))
    assert list(points["contradicts its interval"].x) == [-0.3, 0.2]
    assert points["contradicts its interval"].marker.line.color == NEUTRAL
    assert not {"female side", "male side"} & set(points)


def test_without_any_interval_no_side_is_named(rows):
    named, looks = sides(rows.tail(1), Lean("bias"), ("a", FEMALE), ("b", MALE))
    assert traces(drawn(dots(named, "bias", "word", by="side", looks=looks))) == {}


def test_kinds_of_one_line_stand_above_each_other(rows):
    both = pl.concat([rows.with_columns(kind=pl.lit(kind)) for kind in ("before", "after")])
    points = traces(
        drawn(dots(both, "bias", "word", by="kind", looks={"before": Look(shift=0.2), "after": Look(shift=-0.2)}))
    )
    assert list(points["before"].y) == [3.2, 2.2, 1.2, 0.2]
    assert list(points["after"].y) == [2.8, 1.8, 0.8, -0.2]


def test_panels_keep_their_axes(rows):
    figure = drawn(beside(dots(rows, "bias", "word", title="left"), dots(rows, "bias_low", "word", title="right")))
    assert [axis.title.text for axis in (figure.layout.xaxis, figure.layout.xaxis2)] == ["left", "right"]
    assert figure.data[-1].xaxis == "x2"


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


def test_a_scale_has_a_title_or_is_not_shown():
    rows = pl.DataFrame({"x": ["a"], "y": ["b"], "z": [1.0]})
    assert not drawn(heat(rows, "x", "y", "z")).data[1].showscale
    assert drawn(heat(rows, "x", "y", "z", title="bias")).data[1].colorbar.title.text == "bias"


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


def test_bars_lie_where_the_categories_are_y():
    rows = pl.DataFrame({"language": ["en", "de"], "num": [3, 4], "kind": ["a", "a"]})
    (lying,) = drawn(bars(rows, "num", "language", by="kind")).data
    (standing,) = drawn(bars(rows, "language", "num", by="kind")).data
    assert (lying.orientation, standing.orientation) == ("h", "v")
    assert (list(lying.x), list(standing.x)) == ([3, 4], ["en", "de"])


def test_kinds_without_a_look_differ_from_each_other():
    rows = pl.DataFrame({"kind": [*"abcdefgh"]})
    found = kinds(rows, "kind", {"h": Look("#000000")})
    assert [kind.name for kind in found] == ["h", *"abcdefg"]
    assert len({kind.look for kind in found[1 : 1 + len(LOOKS)]}) == len(LOOKS)
