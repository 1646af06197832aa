"""What a page and a terminal say of the table `changes`."""

import polars as pl
import pytest

from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.tables import CHANGES
from tiltmeter.jobs.report.changes import change_findings, change_sections, changes_since, move_of
from tiltmeter.jobs.report.html.elements import Bullets, Details, Grid, Page, Paragraph, render

MOMENT = "2026-11-20 22:00:00 UTC"
NONE = pl.DataFrame(CHANGES.empty_table())


@pytest.fixture(scope="module")
def night(history):
    """Thirty words of which most moved; a word came, one went, and one became too rare."""
    rare = {"status": "too_rare", "reason": "it occurs twice", "d": None}
    words = {f"word{at}": {} for at in range(30)}
    moved = {f"word{at}": {"d": 2.0 + at / 2} for at in range(1, 26)} | {"word26": rare, "وظيفة": {}}
    before = {"tests": history.table(words | {"gone": {}}), "old": history.table({}), "same": history.table({"a": {}})}
    after = {"tests": history.table(words | moved), "same": history.table({"a": {}})}
    runs = history.run(before, {"seed": 0, "words": "a" * 100}), history.run(after, {"seed": 1, "words": "b"})
    return pl.DataFrame(compare(*runs))


def test_the_findings_come_in_order_of_importance(night):
    counts, largest, *others = change_findings(night, 2)
    far, without = "25 of them by half its width or more", ", and 25 without draws to judge them by"
    assert counts == f"25 of 29 numbers with an interval moved beyond it, {far}{without}; 1 of 2 tables differs."
    moved = "d of word word25 moved beyond its interval, from 1 [0, 2] to 14.5 [0, 2], by 13.5 half-widths."
    assert largest == f"The largest move: tests: {moved}"
    assert others == [
        "1 table went, 1 row came, 1 row went, 1 row changed its status.",
        "How the runs were made differs: 2 settings (seed, words).",
    ]


def test_a_section_shows_the_largest_moves_and_leaves_the_rest_to_be_opened(night):
    section = changes_since(night, 2, MOMENT)
    assert section.title == "What changed since the last run"
    first, findings, grid, *details = section.blocks
    assert isinstance(first, Paragraph)
    assert first.text.startswith(f"The last run that asked the same and succeeded started at {MOMENT}. 25 of 29")
    assert isinstance(findings, Bullets)
    assert isinstance(grid, Grid)
    assert grid.rows[0] == ["tests", "d", "word word25", "1 [0, 2]", "14.5 [0, 2]", "13.5"]
    assert len(grid.rows) == 20
    assert grid.caption.endswith("The first 20 of 25.")
    assert [block.summary for block in details if isinstance(block, Details)] == [
        "Settings, inputs and versions",
        "Tables and rows",
    ]
    html = render(Page("A page", {}, [], [section]))
    assert f"was “{'a' * 78}… and is “b” now.</td>" in html
    assert "<li>tests: row word وظيفة came.</li>" in html


def test_nothing_is_said_of_what_did_not_change(history):
    same = [history.run({"tests": history.table({"a": {}})}) for _ in range(2)]
    assert change_sections(pl.DataFrame(compare(*same))) == []
    [block] = changes_since(NONE, 9, MOMENT).blocks
    assert block.text.endswith(f"{MOMENT}. Nothing changed: all 9 tables are identical.")
    assert change_findings(NONE) == ["Nothing changed: all tables are identical."]
    assert change_findings(NONE, 0) == ["The runs have no table in common."]


def test_a_new_version_that_changes_no_table_is_told(history):
    runs = (history.run({"tests": history.table({"a": {}})}, versions={"numpy": version}) for version in ("2.4", "2.5"))
    assert change_findings(pl.DataFrame(compare(*runs)), 1) == [
        "No result changed: the table is identical.",
        "How the runs were made differs: 1 version (numpy).",
    ]


def test_numbers_without_intervals_move_without_a_judgement(history):
    tables = [history.table({"a": {"d_low": None, "count": count}}) for count in (1, 2)]
    found = pl.DataFrame(compare(*(history.run({"tests": table}) for table in tables)))
    assert change_findings(found, 1)[0] == "1 of 1 table differs; no number was compared that has an interval."
    [section] = [section for section in change_sections(found) if section.anchor == "others"]
    assert section.blocks[0].items == ["tests: count of model en, word a went from 1 to 2."]


def test_numbers_that_were_exact_have_no_half_widths(history):
    before = {"a": {"d_low": 1.0, "d_high": 1.0}, "b": {}}
    tables = [history.table(before), history.table({word: {"d": 4.0} for word in before})]
    [section] = change_sections(history.changes(*tables))
    [numbers] = section.blocks
    assert [row[numbers.headings.index("half-widths")] for row in numbers.rows] == ["exact", "3"]


def test_tables_that_could_not_be_compared_are_named(history):
    tables = [history.table({"a": {"count": count}}).drop_columns(["model", "word"]) for count in (1, 2)]
    found = pl.DataFrame(compare(*(history.run({"tests": table, "same": tables[0]}) for table in tables)))
    assert change_findings(found, 2) == [
        "1 of 2 tables differs; no number was compared that has an interval.",
        "Not compared row by row: tests.",
        "No setting, input or version differs.",
    ]


def test_the_first_run_has_no_earlier_one():
    [block] = changes_since(NONE, 0, None).blocks
    assert block.text.startswith("This is the first run of its kind in this store")


def judged(night, *words):
    """The same changes, of which the numbers of some words have been judged by draws."""
    is_judged = pl.col("row").is_in(words) & pl.col("beyond")
    return night.with_columns(p=pl.when(is_judged).then(0.001))


def test_a_job_of_a_night_is_led_by_the_judged_number_that_moved_most(night):
    """Not by word25, which left its earlier interval by more and has no draws."""
    moved = "tests: d of word word9 moved beyond its interval, from 1 [0, 2] to 6.5 [0, 2], by 5.5 half-widths"
    some = judged(night, "word word3", "word word9")
    assert (
        move_of("ratings", 28, some) == f"ratings: {moved}; the largest of 2 numbers that did, of 28 that were judged."
    )
    one = judged(night, "word word9")
    assert move_of("ratings", 9, one) == f"ratings: {moved}; the only number that did, of 9 that were judged."
    first, largest, *_ = change_findings(one, 2)
    assert ", and 24 without draws to judge them by; " in first
    assert largest == f"The largest move: {moved}."
