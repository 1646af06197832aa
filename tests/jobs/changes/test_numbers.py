"""Which numbers moved beyond their interval, on cases worked out by hand; others, whose changes are a text beside."""

import math

import pyarrow as pa
import pytest

from tests.fixtures.history import rows
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


def rated(low, high, rate):
    """A number with the ends of its interval, and one without."""
    names = ("k_rate", low, high, "other")
    fields = [column("word", pa.string(), "word", key=True), *(column(name, pa.float64(), name) for name in names)]
    return pa.table({"word": ["a"]} | dict(zip(names, ([rate], [0.4], [0.6], [rate]), strict=True)), pa.schema(fields))


EXACT = {"d": 1.0, "d_low": 1.0, "d_high": 1.0}
USUAL = {"none": {"d": None, "d_low": None}, "undefined": {"d": NAN}, "endless": {"d": -INF}, "zero": {"d": 0.0}}
SIX, TWENTY = rows({f"word{at}": {} for at in range(6)}), rows({f"word{at}": {} for at in range(20)})
CASES = {
    "an exact number": (rows({"nurse": EXACT}), rows({"nurse": {"d": 1.5, "d_low": 1.5, "d_high": 1.5}})),
    "plain ends judge the column before them": (rated("low", "high", 0.5), rated("low", "high", 0.7)),
    "a rate has those of its stem": (rated("k_low", "k_high", 0.5), rated("k_low", "k_high", 0.7)),
    "null, undefined and signed zeros are what they were": (
        rows(USUAL | {"moved": {"count": 1}}),
        rows(USUAL | {"moved": {"count": 2}, "zero": {"d": -0.0}}),
    ),
    "numbers beyond are listed each, the largest first, however few may be": (
        *(SIX, rows({f"word{at}": {"d": 1.0 + at} for at in range(6)}), {"max_listed": 0}),
    ),
    "numbers within their interval are one row": (
        rows({word: {} for word in "abcde"}),
        rows({"a": {"d": 1.5}, "b": {"d": 0.9}, "c": {"d": 0.3}, "d": {"d_low": 0.5}, "e": {}}),
    ),
    "ten numbers without an interval are listed": (
        *(TWENTY, rows({f"word{at}": {"count": 7 - at if 1 <= at <= 10 else 7} for at in range(20)})),
    ),
    "eleven are one row": (
        *(TWENTY, rows({f"word{at}": {"count": 7 - at if 1 <= at <= 11 else 7} for at in range(20)})),
    ),
    "numbers that come and go without a change of status": (
        rows({"a": {"count": None}, "b": {}, "c": {"d": NAN}}),
        rows({"a": {}, "b": {"count": None}, "c": {"d": None}}),
    ),
}


def test_numbers_that_differ_are_told(check_cases):
    check_cases("numbers", CASES)
