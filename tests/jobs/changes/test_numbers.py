"""Which numbers moved beyond their interval, on cases worked out by hand."""

import math

import pyarrow as pa
import pytest

from tiltmeter.storage.store.tables import column

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("before", "low", "high", "after", "beyond", "half_widths"),
    [
        (1.0, 0.0, 2.0, 2.0, False, 1.0),  # at the end is within
        (1.0, 0.0, 2.0, 2.5, True, 1.5),
        (1.0, 0.0, 2.0, -0.5, True, 1.5),
        (1.5, 0.0, 2.0, 0.5, False, 1.0),
        (0.0, 0.5, 2.5, 0.0, False, 0.0),  # outside its own interval, and there it stays
        (0.0, 0.5, 2.5, 0.3, False, 0.3),
        (0.0, 0.5, 2.5, 2.0, False, 2.0),
        (0.0, 0.5, 2.5, 2.6, True, 2.6),
        (0.0, 0.5, 2.5, -0.1, True, 0.1),
        (1.0, 1.0, 1.0, 1.0 + 1e-12, False, INF),  # an interval without width holds what was rounded otherwise
        (1.0, 1.0, 1.0, 1.1, True, INF),
        (1.0, 0.0, 2.0, INF, True, INF),
        (INF, 0.0, INF, 5.0, False, None),
        (INF, 100.0, INF, 5.0, True, None),
        (1.0, -INF, INF, 1e300, False, 0.0),
        (1.0, None, 2.0, 9.0, None, None),
        (1.0, NAN, 2.0, 9.0, None, None),
        (1.0, 0.0, 2.0, None, None, None),
        (None, 0.0, 2.0, 1.0, None, None),
        (NAN, 0.0, 2.0, 1.0, None, None),
    ],
)
def test_a_number_moved_beyond_its_interval_or_not(history, before, low, high, after, beyond, half_widths):
    tables = [
        history.table({"nurse": {"d": d, "d_low": low, "d_high": high, "count": n}})
        for d, n in ((before, 1), (after, 2))
    ]
    found = history.changes(*tables).filter(column="d").to_dicts()
    if before == after:
        assert found == []
        return
    [row] = found
    assert row["beyond"] is beyond
    assert row["half_widths"] == (half_widths if half_widths is None else pytest.approx(half_widths))
    assert row["key"] == '{"model": "en", "word": "nurse"}'


def test_an_exact_number_is_said_to_be_and_how_far_it_moved(history):
    exact = {"d": 1.0, "d_low": 1.0, "d_high": 1.0}
    tables = history.table({"nurse": exact}), history.table({"nurse": {"d": 1.5, "d_low": 1.5, "d_high": 1.5}})
    [row] = history.changes(*tables).filter("beyond").to_dicts()
    assert row["sentence"] == "tests: d of model en, word nurse was exact, and moved from 1 to 1.5 [1.5, 1.5], by 0.5."


@pytest.mark.parametrize("ends", [("low", "high"), ("k_low", "k_high")])
def test_plain_ends_judge_the_column_before_them_and_a_rate_has_those_of_its_stem(history, ends):
    fields = [column("word", pa.string(), "the word", key=True)]
    fields += [column(name, pa.float64(), "a number") for name in ("k_rate", *ends, "other")]
    before, after = (
        history.table({"a": {"k_rate": rate, ends[0]: 0.4, ends[1]: 0.6, "other": rate}}, pa.schema(fields))
        for rate in (0.5, 0.7)
    )
    found = {row["column"]: row for row in history.changes(before, after).to_dicts()}
    assert {name: row["beyond"] for name, row in found.items()} == {"k_rate": True, "other": None}
    assert (found["k_rate"]["before_low"], found["k_rate"]["before_high"]) == (0.4, 0.6)


def test_null_nan_and_signed_zeros_are_what_they_were(history):
    words = {"none": {"d": None, "d_low": None}, "undefined": {"d": NAN}, "endless": {"d": -INF}, "zero": {"d": 0.0}}
    before = history.table(words | {"moved": {"count": 1}})
    after = history.table(words | {"moved": {"count": 2}, "zero": {"d": -0.0}})
    assert history.changes(before, after)["row"].to_list() == ["word moved"]


def test_numbers_beyond_are_listed_each_and_the_largest_first_however_few_may_be(history):
    before = history.table({f"word{at}": {} for at in range(6)})
    after = history.table({f"word{at}": {"d": 1.0 + at} for at in range(6)})
    found = history.changes(before, after, max_listed=0)
    assert found.select("row", "half_widths", "beyond", "num_changed").rows() == [
        *((f"word word{at}", float(at), True, 1) for at in (5, 4, 3, 2)),
        ("word word1", 1.0, False, 1),
    ]
    assert found["sentence"][0] == (
        "tests: d of word word5 moved beyond its interval, from 1 [0, 2] to 6 [0, 2], by 5 half-widths."
    )


def test_numbers_within_their_interval_are_one_row(history):
    before = history.table({word: {} for word in "abcde"})
    after = history.table({"a": {"d": 1.5}, "b": {"d": 0.9}, "c": {"d": 0.3}, "d": {"d_low": 0.5}, "e": {}})
    [row] = history.changes(before, after).to_dicts()
    assert (row["row"], row["before"], row["after"]) == ("word c", 1.0, 0.3)
    assert (row["num_changed"], row["num_compared"], row["beyond"]) == (4, 5, False)
    assert row["difference"] == pytest.approx(-0.7)
    assert row["median_difference"] == pytest.approx((0.1 + 0.5) / 2)
    assert row["sentence"] == (
        "tests: d changed in 4 of 5 rows within its interval, by 0.3 at the median and 0.7 at most, the most in word c."
    )


@pytest.mark.parametrize("num", [10, 11])
def test_numbers_without_an_interval_are_listed_if_they_are_few_or_else_one_row(history, num):
    before = history.table({f"word{at}": {} for at in range(20)})
    after = history.table({f"word{at}": {"count": 7 - at if 1 <= at <= num else 7} for at in range(20)})
    found = history.changes(before, after).to_dicts()
    if num == 10:
        assert [row["difference"] for row in found] == [-float(at) for at in range(10, 0, -1)]
        assert found[0]["sentence"] == "tests: count of word word10 went from 7 to −3."
        return
    [row] = found
    assert (row["row"], row["before"], row["after"], row["difference"]) == ("word word11", 7, -4, -11)
    assert (row["num_changed"], row["num_compared"], row["median_difference"]) == (11, 20, 6)


def test_numbers_that_come_and_go_without_a_change_of_status_are_changes(history):
    before = history.table({"a": {"count": None}, "b": {}, "c": {"d": NAN}})
    after = history.table({"a": {}, "b": {"count": None}, "c": {"d": None}})
    found = {(row["column"], row["row"]): row for row in history.changes(before, after).to_dicts()}
    assert {
        key: (row["before"], row["after"], row["difference"]) for key, row in found.items() if key[0] == "count"
    } == {
        ("count", "word a"): (None, 7, None),
        ("count", "word b"): (7, None, None),
    }
    assert found["d", "word c"]["sentence"] == "tests: d of word c went from undefined [0, 2] to none [0, 2]."
