"""Tables of a page from rows and columns."""

from datetime import UTC, datetime

import polars as pl

from tiltmeter.jobs.report.grids import (
    cell,
    count,
    estimate,
    grid,
    listed,
    number,
    optional,
    p_value,
    percent,
    text,
    yes,
)
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.runtime.table import Table, doc, key

ROWS = pl.DataFrame(
    {
        "word": ["nurse", "judge"],
        "num_texts": [1204, None],
        "share": [0.125, None],
        "d": [-0.5, None],
        "d_low": [-1.0, None],
        "d_high": [0.0, None],
        "p": [0.031, None],
        "is_kept": [True, None],
        "missing": [["a", "b"], []],
        "moment": [datetime(2026, 11, 20, 7, 5, tzinfo=UTC), None],
    }
)


def test_each_kind_of_column_writes_its_values_and_a_dash_where_there_is_none():
    columns = {
        count("num_texts"): "1,204",
        number("d", digits=1): "−0.5",
        number("num_texts", "MB", 1, scale=1e-3): "1.2",
        percent("share"): "12.5%",
        estimate("d", digits=1): "−0.5 [−1.0, 0.0]",
        p_value("p"): "0.031",
        yes("is_kept"): "yes",
        listed("missing"): "a, b",
        text("moment"): "2026-11-20 07:05",
        text("p", names=lambda p: f"p {p}"): "p 0.031",
        cell("both", lambda row: row["word"] if row["p"] else ""): "nurse",
    }
    for column, first in columns.items():
        assert grid("", ROWS, column).rows == [[first], ["–"]]


def test_headings_are_the_names_as_phrases_and_numbers_are_numeric():
    made = grid("", ROWS, "word", count("num_texts"), text("is_kept"), number("d", "d (sd)"))
    assert made.headings == ["word", "texts", "is kept", "d (sd)"]
    assert made.numeric == ["texts", "d (sd)"]
    empty = grid("", ROWS.head(0), "word", estimate("d"))
    assert (empty.headings, empty.rows) == (["word", "d"], [])
    barred = grid("", ROWS, "word", count("num_texts", bar=True))
    assert (barred.bars, barred.share("texts", 0)) == ({"texts": [1204.0, 0.0]}, 1.0)


def test_a_long_table_is_cut_and_says_where_the_others_are():
    made = grid("Words.", ROWS, "word", most=1, table="words")
    assert made.rows == [["nurse"]]
    assert made.caption == "Words. The first 1 of 2; the others are in the table words."
    assert grid("Words.", ROWS, "word", most=2).caption == "Words."


def test_an_optional_column_is_left_out_where_it_says_nothing():
    empty = {"word": "nurse", "reason": ""}
    assert grid("", [empty], "word", optional("reason")).headings == ["word"]
    assert grid("", [empty, empty | {"reason": "rare"}], "word", optional("reason")).rows == [
        ["nurse", "–"],
        ["nurse", "rare"],
    ]


class Kept(Table, name="kept"):
    word: str = key("a word")
    num_texts: int = doc("that have it", "texts")


def test_a_section_names_columns_in_texts_with_others_among_them():
    columns = ["word=a_word", cell("twice", lambda row: str(2 * row["num_texts"])), "num_texts reason?"]
    rows = pl.DataFrame({"word": ["nurse"], "num_texts": [3], "status": ["ok"], "reason": [""]})
    [made] = Show(Kept, "Kept.", columns).blocks({"kept": rows})
    assert (made.headings, made.rows) == (["a word", "twice", "texts"], [["nurse", "6", "3"]])
    [made] = Show(Kept, "Kept.", columns).blocks({"kept": rows.with_columns(reason=pl.lit("rare"))})
    assert made.rows == [["nurse", "6", "3", "rare"]]
