"""What a page and a terminal say of the table `changes`."""

import polars as pl
import pytest

from tests.fixtures.history import past, rows
from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.sections import change_findings, changes_since, move_of
from tiltmeter.jobs.changes.tables import Changes
from tiltmeter.jobs.report.html.elements import Page, render

MOMENT = "2026-11-20 22:00:00 UTC"
NONE = pl.DataFrame(Changes.schema().empty_table())
ONE = rows({"a": {}})
RARE = {"status": "too_rare", "reason": "it occurs twice", "d": None}
WORDS = {f"word{at}": {} for at in range(30)}
MOVED = {f"word{at}": {"d": 2.0 + at / 2} for at in range(1, 26)} | {"word26": RARE, "وظيفة": {}}
NIGHT = (
    past({"tests": rows(WORDS | {"gone": {}}), "old": rows({}), "same": ONE}, {"seed": 0, "words": "a" * 100}),
    past({"tests": rows(WORDS | MOVED), "same": ONE}, {"seed": 1, "words": "b"}),
)
"""Thirty words of which most moved; a word came, one went, and one became too rare."""

PAGE = {"has_page": True}
CASES = {
    "a night": (*NIGHT, PAGE),
    "nothing": (ONE, ONE, PAGE),
    "a new version that changes no table": (
        *(past({"tests": ONE}, versions={"numpy": version}) for version in ("2.4", "2.5")),
        PAGE,
    ),
    "numbers without intervals": (
        *(rows({"a": {"d_low": None, "count": count}}) for count in (1, 2)),
        PAGE,
    ),
    "numbers that were exact have no half-widths": (
        rows({"a": {"d_low": 1.0, "d_high": 1.0}, "b": {}}),
        rows({word: {"d": 4.0} for word in "ab"}),
        PAGE,
    ),
    "tables that could not be compared": (
        *({"tests": rows({"a": {"count": count}}).drop_columns(["model", "word"]), "same": ONE} for count in (1, 2)),
        PAGE,
    ),
}


def test_the_findings_and_sections_of_changes(check_cases):
    check_cases("sections", CASES)


@pytest.fixture(scope="module")
def night():
    return pl.DataFrame(compare(*NIGHT))


def test_a_page_says_since_when_and_escapes_words(night):
    section = changes_since(night, 2, MOMENT)
    said = section.blocks[0].text
    assert said.startswith(f"The last run that asked the same and succeeded started at {MOMENT}. 25 of 29")
    html = render(Page("A page", {}, [], [section]))
    assert f"was “{'a' * 78}… and is “b” now.</td>" in html
    assert "<li>tests: row word وظيفة came.</li>" in html
    [block] = changes_since(NONE, 9, MOMENT).blocks
    assert block.text.endswith(f"{MOMENT}. Nothing changed: all 9 tables are identical.")
    assert change_findings(NONE, 0) == ["The runs have no table in common."]
    assert change_findings(night, 2)[0].endswith("; 1 of 2 tables differs.")
    [block] = changes_since(NONE, 0, None).blocks
    assert block.text.startswith("This is the first run of its kind in this store")


def judged(night, *words):
    """The same changes, of which the numbers of some words have been judged by draws."""
    is_judged = pl.col("row").is_in(words) & pl.col("beyond")
    return night.with_columns(p=pl.when(is_judged).then(0.001))


def test_a_job_of_a_night_is_led_by_the_judged_number_that_moved_most(night):
    """Not by word25, which left its earlier interval by more and has no draws."""
    moved = "tests: d of word word9 moved beyond its interval, from 1 [0, 2] to 6.5 [0, 2], by 5.5 half-widths"
    some, one = judged(night, "word word3", "word word9"), judged(night, "word word9")
    assert move_of("ratings", 28, some) == (
        f"ratings: {moved}; the largest of 2 numbers that did, of 28 that were judged."
    )
    assert move_of("ratings", 9, one) == f"ratings: {moved}; the only number that did, of 9 that were judged."
    first, largest, *_ = change_findings(one, 2)
    assert ", and 24 without draws to judge them by; " in first
    assert largest == f"The largest move: {moved}."
