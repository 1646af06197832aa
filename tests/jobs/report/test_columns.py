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
