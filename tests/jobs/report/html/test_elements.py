"""Pages as text: what they carry, and how tables, bars and figures stand in them."""

import base64
import json
import re

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.jobs.report.html.charts import as_json, library
from tiltmeter.jobs.report.html.elements import (
    Chart,
    Details,
    Grid,
    Listing,
    Page,
    Paragraph,
    Part,
    Passage,
    Passages,
    Section,
    Token,
    render,
)
from tiltmeter.jobs.report.plots.figure import Figure


def page(*blocks):
    return render(Page("T", {}, [], [Section("s", "S", list(blocks))]))


def test_figures_keep_the_digits_that_can_be_seen():
    trace = {
        "x": np.array([1.23456789, np.inf]),
        "y": [1234567, 0.000123456],
        "text": pl.Series(["a"]),
        "customdata": [["a", 0.1]],
    }
    (figure,) = json.loads(as_json([Figure([trace], {"xaxis": {"range": (0, 1 / 3)}})]))
    assert figure["data"] == [
        {"x": [1.2346, None], "y": [1234567, 0.00012346], "text": ["a"], "customdata": [["a", 0.1]]}
    ]
    assert figure["layout"] == {"xaxis": {"range": [0, 0.33333]}}
    (heat,) = json.loads(as_json([Figure([{"z": np.arange(6.0).reshape(2, 3)}], {})]))
    assert heat["data"][0]["z"] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_the_figures_of_a_page_are_unpacked_as_they_were():
    chart = Chart("A.", "B.", {"one": Figure([{"y": [1]}], {}), "two": Figure([{"y": [2]}], {})})
    content = base64.b64decode(re.search(r'<script type="text/plain">(.*?)</script>', page(chart)).group(1))
    text = pa.decompress(content[4:], int.from_bytes(content[:4], "little"), "lz4_raw", asbytes=True)
    assert json.loads(text) == json.loads(as_json(chart.figures.values()))


def test_only_a_page_with_a_chart_carries_the_library_wherever_the_chart_stands():
    chart = Chart("A.", "B.", {"one": Figure([], {})})
    assert library() not in page(Paragraph("x"))
    assert library() in page(Details("d", [chart]))
    assert library() in render(Page("T", {}, [Part("p", [chart])], []))
    assert page(chart) == page(chart)


def test_bars_are_shares_of_the_longest_of_their_column():
    grid = Grid("", ["stage", "s"], [["a", "1"], ["b", "4"]], ["s"], {"s": [1.0, 4.0]})
    assert re.findall(r'<td class="number" style="--share: ([\d.]+)">(\d)', page(grid)) == [("0.25", "1"), ("1.0", "4")]
    assert Grid("", ["s"], [["0"]], ["s"], {"s": [0.0]}).share("s", 0) == 0.0


def test_a_box_that_scrolls_is_named_by_its_caption_and_what_it_stands_in():
    html = page(Grid("Caption.", ["a"], [["1"]]), Details("Sum", [Grid("", ["a"], [["1"]]), Listing("x")]))
    assert re.findall(r'role="region" tabindex="0" aria-label="(.*?)"', html) == ["S: Caption.", "Sum", "Sum"]
    html = page(Grid("", ["word", "d"], [["nurse", "1"]], ["d"]), Grid("", ["d"], [["1"]], ["d"]))
    assert re.findall(r'<th scope="row">(.*?)</th>', html) == ["nurse"], "a number names no row"


def test_words_of_a_passage_are_coloured_by_their_weight_and_escaped():
    tokens = [Token("<i>", 1.0, "+2.00"), Token("dull", -0.5), Token("film", 0.001)]
    html = page(Passages("C.", [[Passage("without", tokens), Passage("with", [])]]))
    assert '<span style="background: rgb(128,184,214)">&lt;i&gt; <small>+2.00</small></span>' in html
    assert re.search(r'<span style="background: rgb\(2\d\d,2\d\d,\d+\)">dull</span>', html)
    assert "<span>film</span>" in html
    assert re.findall("<dt>(.*?)</dt>", html) == ["without", "with"]


def test_the_label_of_a_single_figure_is_shown_where_something_is_chosen():
    figure = Figure([{"x": [1.0]}], {})
    assert '<p class="choice">Model: a &lt;b&gt;</p>' in page(Chart("alt", "caption", {"a <b>": figure}, "Model"))
    assert 'class="choice"' not in page(Chart("alt", "caption", {"means": figure}))
    assert "<label" in page(Chart("alt", "caption", {"a": figure, "b": figure}, "Model"))
