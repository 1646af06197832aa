"""The plots that all capabilities share, where the models of pages do not show it: which number stands where."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.psychophysics.figures import occupation_dots, pse_and_women, psychometric_curves
from tiltmeter.jobs.report.plots import style as figures
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots, sides
from tiltmeter.jobs.report.plots.heat import MIDDLE, heat
from tiltmeter.jobs.report.plots.scatter import scatter
from tiltmeter.jobs.report.plots.style import FEMALE, LOOKS, MALE, NEUTRAL, Look, kinds
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.resolution import figures as resolution_figures
from tiltmeter.jobs.sentiment.rating import page_figures as rating_figures


@pytest.fixture
def rows():
    """Words on both sides of 0 and between, and one without an interval."""
    numbers = {"bias": [0.3, 0.1, -0.2, 0.0], "bias_low": [0.2, -0.1, -0.4, None], "bias_high": [0.5, 0.2, -0.1, None]}
    return pl.DataFrame({"word": ["<b>", "cook", "guard", "judge"]} | numbers)


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
    rows = pl.DataFrame({"x": [1.0], "y": [2.0], "word": ["w"]})
    layout = drawn(scatter(rows, "x", "y", "word", neutral=(9.0, -7.0))).layout
    assert layout.xaxis.range[0] < 1 < 9 < layout.xaxis.range[1] < 10
    assert -8 < layout.yaxis.range[0] < -7 < 2 < layout.yaxis.range[1]


def test_kinds_without_a_look_differ_from_each_other():
    rows = pl.DataFrame({"kind": [*"abcdefgh"]})
    found = kinds(rows, "kind", {"h": Look("#000000")})
    assert [kind.name for kind in found] == ["h", *"abcdefg"]
    assert len({kind.look for kind in found[1 : 1 + len(LOOKS)]}) == len(LOOKS)


# --- of the psychophysics -------------------------------------------------------------------------------------------


def test_an_occupation_without_a_fit_shows_its_steps_alone_and_words_are_escaped_for_plotly(embeddings):
    """Which reads tags."""
    rows = embeddings.psychometrics().head(5)
    without = rows.head(1).with_columns(pl.lit(None, pl.Float64).alias("jnd_fit"))
    (steps,) = drawn(psychometric_curves(without, embeddings.points(rows))).data
    assert steps.name == "guard: no fit"
    dots, scatter = drawn(occupation_dots(rows)), drawn(pse_and_women(rows)).data[-1]
    curves = drawn(psychometric_curves(rows, embeddings.points(rows)))
    shown = [dots.layout.yaxis.ticktext[-1], scatter.text[-1], curves.data[-2].name.split(":")[0]]
    assert shown == ["&lt;b&gt;&amp;"] * 3
    assert scatter.customdata[-1].startswith(
        "<b>&lt;b&gt;&amp;</b><br>PSE 0.700 [0.550, 0.850]<br>Monte Carlo interval [0.670, 0.730]<br>"
    )


# --- colours --------------------------------------------------------------------------------------------------------

STYLE = (Path(figures.__file__).parents[1] / "html/page.css").read_text(encoding="utf-8")
PAPER, TINT = (re.search(rf"--{name}: (#\w+)", STYLE).group(1) for name in ("paper", "tint"))
PALETTE = [figures.FEMALE, figures.MALE, figures.NEUTRAL, figures.INK, figures.FIRST, figures.SECOND]

# Machado, Oliveira and Fernandes 2009, severity 1.0; they apply to linear RGB.
SIGHTS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = XYZ.sum(axis=1)


def linear(colour):
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(channels):
    """CIELAB under D65, of linear RGB."""
    ratios = XYZ @ np.clip(channels, 0, 1) / WHITE
    x, y, z = np.where(ratios > (6 / 29) ** 3, np.cbrt(ratios), ratios * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one, other, sight):
    """How different two colours look; about 2 can just be told apart side by side."""
    return np.linalg.norm(lab(sight @ linear(one)) - lab(sight @ linear(other)))


def contrast(one, other):
    """As WCAG 2 defines it."""
    low, high = sorted((XYZ @ linear(colour))[1] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_of_a_series_and_sides_of_a_diverging_map_differ_and_ratings_darken(sight):
    distances = {pair: distance(*pair, SIGHTS[sight]) for pair in combinations(PALETTE, 2)}
    assert min(distances.values()) > 25, min(distances, key=distances.get)
    assert set(resolution_figures._COLOURS) | {look.colour for look in figures.LOOKS} <= set(PALETTE)
    for ends in ((figures.MALE, figures.FEMALE), (figures.SECOND, figures.FIRST)):
        assert distance(*ends, SIGHTS[sight]) > 20
        assert min(distance(end, MIDDLE, SIGHTS[sight]) for end in ends) > 10
    first, second, third = (lab(SIGHTS[sight] @ linear(colour))[0] for colour in rating_figures.DARKENING)
    assert first > second + 15 > third + 30


def test_marks_and_letters_stand_out_from_the_paper():
    assert min(contrast(colour, PAPER) for colour in PALETTE) > 3
    assert min(contrast(colour, PAPER) for colour in [*figures.TEXT.values(), figures.INK]) > 4.5
    letters = [re.search(rf"--{name}: (#\w+)", STYLE).group(1) for name in ("ink", "soft", "warn", "focus")]
    assert min(contrast(colour, ground) for colour in letters for ground in (PAPER, TINT)) > 4.5
