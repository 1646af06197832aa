"""Slices of a corpus, and corpora of one language, beside each other on a page."""

import json

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.embedding.slice_sections import Compared, slice_sections
from tiltmeter.jobs.report.html.charts import as_json
from tiltmeter.jobs.report.html.elements import Chart, Details

TESTS = ("flowers", "instruments")
SCHEMA = {"corpus": pl.String, "language": pl.String, "whole": pl.String, "field": pl.String, "value": pl.String}
SCHEMA |= {"place": pl.Float64, "num_documents": pl.Int64, "status": pl.String, "reason": pl.String}


def compared(*names, missing=()):
    """Two tests on each corpus."""
    rows = [
        {"model": name, "language": "en", "test": test, "d": None if name in missing else place + 0.1 * number}
        for place, name in enumerate(names)
        for number, test in enumerate(TESTS)
    ]
    ends = {"d_low": pl.col("d") - 0.5, "d_high": pl.col("d") + 0.5}
    return Compared(
        "Effect size d",
        "d",
        pl.DataFrame(
            rows, {"model": pl.String, "language": pl.String, "test": pl.String, "d": pl.Float64}
        ).with_columns(**ends),
        "d",
        "test",
        0.0,
    )


def corpora(*names, language="en"):
    return pl.DataFrame({"corpus": names, "language": [language] * len(names)})


def sliced(places):
    """Slices of a corpus, the last too small; and documents in none."""
    rows = [
        ("a", None, None, 3, "in_no_slice"),
        *((f"a/{value}", value, place, 9, "ok") for value, place in places.items()),
    ]
    return pl.DataFrame(
        [(name, "en", "a", "f", value, place, num, status, "") for name, value, place, num, status in rows],
        SCHEMA,
        orient="row",
    )


def figures(frames, numbers):
    [section] = slice_sections(frames, [numbers])
    [chart] = [block for block in section.blocks if isinstance(block, Chart)]
    return section, chart.figures


def test_slices_with_an_order_are_lines_over_their_places_with_a_gap_for_what_has_no_result():
    names = ("a/1999", "a/2001", "a/2000")
    frames = {"corpora": corpora(*names), "corpus_slices": sliced({"1999": 1999.0, "2001": 2001.0, "2000": 2000.0})}
    section, shown = figures(frames, compared(*names, missing=["a/2001"]))
    assert list(shown) == list(TESTS)
    low, high, curve, stems = drawn(shown["flowers"]).data
    assert list(stems.x)[:2] == [0, 0]
    assert list(stems.y)[:2] == [-0.5, 0.5]
    assert list(curve.x) == [0, 1, 2]
    assert list(curve.y) == pytest.approx([0, 2, float("nan")], nan_ok=True)
    assert [list(edge.y)[:2] for edge in (low, high)] == [[-0.5, 1.5], [0.5, 2.5]]
    assert list(drawn(shown["flowers"]).layout.xaxis.ticktext) == ["1999", "2000", "2001"]
    [table] = [block for block in section.blocks if isinstance(block, Details)]
    assert table.summary == "3 slices, and what is in none"
    assert [row[2] for row in table.blocks[0].rows] == ["(in no slice)", "1999", "2001", "2000"]


def test_months_of_a_year_stand_apart_in_the_digits_that_a_page_keeps():
    months = {f"2016-{number:02d}": 2016 + (number - 1) / 12 for number in range(1, 13)}
    names = [f"a/{month}" for month in months]
    _, shown = figures({"corpora": corpora(*names), "corpus_slices": sliced(months)}, compared(*names))
    *_, curve, _ = json.loads(as_json([shown["flowers"]]))[0]["data"]
    assert len(set(curve["x"])) == 12


def test_a_few_slices_without_an_order_are_dots_on_the_line_of_each_number():
    frames = {"corpora": corpora("a/x", "a/y"), "corpus_slices": sliced({"x": None, "y": None})}
    _, shown = figures(frames, compared("a/x", "a/y"))
    figure = drawn(shown["Effect size d"])
    dots = {trace.name: list(trace.x) for trace in figure.data if trace.mode == "markers"}
    assert dots == {"x": [0, 0.1], "y": [1, 1.1]}
    assert list(figure.layout.yaxis.ticktext) == list(reversed(TESTS))


def test_many_without_an_order_have_a_line_each():
    names = [f"a/{letter}" for letter in "vwxyz"]
    frames = {"corpora": corpora(*names), "corpus_slices": sliced(dict.fromkeys("vwxyz"))}
    _, shown = figures(frames, compared(*names))
    assert list(shown) == list(TESTS)
    assert list(drawn(shown["flowers"]).layout.yaxis.ticktext) == list("zyxwv")


def test_corpora_of_one_language_are_compared_and_those_of_several_are_not():
    numbers = compared("a", "b")
    section, shown = figures({"corpora": corpora("a", "b")}, numbers)
    assert section.title == "Corpora of one language beside each other"
    assert len(shown) == 1
    others = pl.concat([corpora("a"), corpora("b", language="de")])
    assert slice_sections({"corpora": others}, [numbers]) == []
    assert slice_sections({}, [numbers]) == []


def test_slices_of_two_corpora_are_told_apart_in_captions_and_legends():
    """Of both the same values, one in another language."""
    slices = [sliced({"x": None, "y": None}), sliced({"x": None, "y": None})]
    slices[1] = slices[1].with_columns(pl.col("corpus").str.replace("a", "b"), whole=pl.lit("b"), language=pl.lit("de"))
    frames = {
        "corpora": pl.concat([corpora("a/x", "a/y"), corpora("b/x", "b/y", language="de")]),
        "corpus_slices": pl.concat(slices),
    }
    [section] = slice_sections(frames, [compared("a/x", "a/y", "b/x", "b/y")])
    charts = [block for block in section.blocks if isinstance(block, Chart)]
    assert [chart.caption.partition(". ")[0] for chart in charts] == [
        "Effect size d: 2 slices of a (en)",
        "Effect size d: 2 slices of b (de)",
    ]
    names = [{trace.name for trace in drawn(next(iter(chart.figures.values()))).data} - {None} for chart in charts]
    assert names == [{"a/x", "a/y"}, {"b/x", "b/y"}]


def test_corpora_of_two_languages_are_told_apart_too():
    frames = {"corpora": pl.concat([corpora("a", "b"), corpora("c", "d", language="de")])}
    [section] = slice_sections(frames, [compared("a", "b", "c", "d")])
    charts = [block for block in section.blocks if isinstance(block, Chart)]
    assert [chart.caption.partition(". ")[0] for chart in charts] == [
        "Effect size d: 2 corpora in en",
        "Effect size d: 2 corpora in de",
    ]
    assert "c (de)" in {trace.name for trace in drawn(charts[1].figures["Effect size d"]).data}


@pytest.mark.parametrize("num", [1, 30])
def test_ticks_name_the_first_and_the_last_slice_and_some_between(num):
    years = {str(1990 + year): 1990.0 + year for year in range(num + 1)}
    names = [f"a/{year}" for year in years]
    frames = {"corpora": corpora(*names), "corpus_slices": sliced(years)}
    _, shown = figures(frames, compared(*names))
    ticks = list(drawn(shown["flowers"]).layout.xaxis.ticktext)
    assert (ticks[0], ticks[-1]) == ("1990", str(1990 + num))
    assert len(ticks) == min(num + 1, 8)
