"""The sections of a page on rated systems, in every kind of run, and the page as a whole."""

import re
from functools import partial
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tests.fixtures.reports import reported
from tiltmeter.jobs.report.html.elements import Chart, Details, Grid, Page, Paragraph
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.page.body import page
from tiltmeter.jobs.sentiment.rating.page.findings import findings
from tiltmeter.jobs.sentiment.rating.page.sections import sections
from tiltmeter.jobs.sentiment.rating.rules import RatingConfig
from tiltmeter.jobs.sentiment.rating.sources import RatingSources


def sections_of(frames, kind="synthetic", **config):
    return {section.anchor: section.blocks for section in sections(frames, RatingConfig(**config), kind)}


def grids(blocks):
    """Those that are shown, and those that a reader opens."""
    for block in blocks:
        if isinstance(block, Grid):
            yield block
        elif isinstance(block, Details):
            yield from grids(block.blocks)


def texts(blocks):
    return " ".join(block.text for block in blocks if isinstance(block, Paragraph))


# --- which sections there are ---------------------------------------------------------------------------------------


def test_sections_follow_the_questions(ratings):
    asked = ["ratings", "causes", "raw-scores", "round-trips", "words", "people", "deconfounding", "tests", "texts"]
    assert list(sections_of(ratings.rated_run())) == asked


def test_without_round_trips_nothing_is_said_of_them(ratings):
    asked = ["ratings", "causes", "raw-scores", "people", "deconfounding", "tests", "texts"]
    assert list(sections_of(ratings.original_only())) == asked


def test_a_file_of_scores_has_no_words_and_no_texts(ratings):
    shown = sections_of(ratings.from_scores(), kind="")
    assert list(shown) == ["ratings", "causes", "raw-scores", "round-trips", "deconfounding", "tests"]
    assert "scores do not tell them apart" in texts(shown["round-trips"])


def test_without_ratings_there_are_no_sections(ratings):
    assert sections_of({name: rows.clear() for name, rows in ratings.rated_run().items()}) == {}


def test_groups_without_confounding_need_no_deconfounding(ratings):
    assert "deconfounding" not in sections_of(ratings.only(ratings.rated_run(), group="plain"))


# --- what they show -------------------------------------------------------------------------------------------------


def test_both_measures_of_a_case_stand_in_one_row(ratings):
    plain, mixed = grids(sections_of(ratings.rated_run())["raw-scores"])
    assert plain.headings[-4:] == ["WRS", "DIE", "rank", "rating"]
    assert plain.rows[1] == [
        *("original", "wild", "3", "1 / 2 / 3", "0 / 0 / 1", "0 / 1 / 1"),
        *("24.0 [0.0, 25.0]", "0.0% [0.0, 1.0]", "2", "2"),
    ]
    # Ratings of the other group go by DIE.
    by_variant = {(row[0], row[1]): row[-4:] for row in mixed.rows}
    assert by_variant["original", "wild"] == ["0.0 [0.0, 1.0]", "∞ [0.0, ∞]", "2", "2"]
    assert by_variant["es", "calm"] == ["0.0 [0.0, 1.0]", "–", "–", "–"]


def test_scores_without_an_emotion_have_no_column_for_deconfounding(ratings):
    row = ratings.raw_score("calm", 0.0)
    frames = ratings.rated_run() | {
        "raw_scores": ratings.table("raw_scores", row),
        "ratings": ratings.table("ratings", ratings.rating(row, 1, 1)),
    }
    (grid,) = grids(sections_of(frames)["raw-scores"])
    assert grid.headings[-3:] == ["WRS", "rank", "rating"]
    assert grid.rows[0][-3:] == ["0.0 [0.0, 1.0]", "1", "1"]


def test_the_convention_says_when_a_test_rejects(ratings):
    definition, published = (
        texts(sections_of(ratings.rated_run(), convention=convention)["raw-scores"])
        for convention in ("definition", "published")
    )
    assert (
        "below 0.05, 0.3 and 0.4 (the convention “definition”), and the rejections count 1, 0.8 and 0.6" in definition
    )
    assert (
        "below 0.025, 0.15 and 0.2 (the convention “published”), and the rejections count 1, 0.7 and 0.6" in published
    )
    assert "Intervals" not in texts(sections_of(ratings.rated_run(), num_resamples=0)["raw-scores"])


def test_comparisons_are_counted_by_side(ratings):
    summary, moved, every = grids(sections_of(ratings.rated_run())["round-trips"])
    assert summary.rows == [["es", "2", "1", "0", "1", "2", "0", "0"]]
    assert moved.rows == [["es", "plain, by gender (WRS)", "calm", "0.0", "4.8", "4.8 [0.6, 7.8]", "–", "1 → 1"]]
    assert [row[3:5] for row in every.rows] == [["0.0", "4.8"], ["24.0", "24.0"], ["6.5%", "–"], ["∞", "42.9%"]]


@pytest.mark.parametrize(("kind", "other"), [("synthetic", "human"), ("human", "synthetic")])
def test_one_run_has_texts_of_one_kind(ratings, kind, other):
    shown = texts(sections_of(ratings.rated_run(), kind)["round-trips"])
    assert f"The texts of this run are {kind}: the first question needs another run, on {other} ones." in shown


def test_lost_words_are_those_that_were_lost(ratings):
    (grid,) = grids(sections_of(ratings.rated_run())["words"])
    assert grid.rows == [["plain", "girl", "100", "30 (30%)", "–"], ["plain", "boy", "50", "0 (0%)", "10 (25%)"]]
    assert "of 2 words those that were lost" in grid.caption
    frames = ratings.rated_run() | {
        "protected_words": ratings.table("protected_words", ratings.protected_word("boy", 0))
    }
    assert texts(sections_of(frames)["words"]).endswith("Here none was lost.")


def test_people_and_systems_that_agree_with_them_are_shown(ratings):
    people, systems = grids(sections_of(ratings.rated_run())["people"])
    assert people.rows[0] == ["original", "plain", "people", "50", "40", "75.0%", "80.0%", "2.50%"]
    assert systems.rows == [
        ["original", "plain", "people", "calm", "40", "31", "77.5%"],
        ["original", "plain", "people", "wild", "40", "10", "25.0%"],
    ]
    assert "people" not in sections_of(ratings.from_scores())


def test_the_largest_impact_of_each_system_is_its_raw_score_and_an_undefined_one_comes_first(ratings):
    blocks = sections_of(ratings.rated_run())["deconfounding"]
    (grid,) = grids(blocks)
    assert grid.rows == [
        ["original", "calm", "E1", "negative", "12", "−0.500", "−0.468", "6.5%"],
        ["original", "wild", "E1", "positive", "12", "0.000", "−0.250", "∞"],
        ["es", "calm", "E1", "positive", "12", "0.500", "–", "–"],
    ]
    cells = next(block for block in blocks if isinstance(block, Details))
    assert cells.summary == "1 cell without texts"
    assert cells.blocks[0].items == ["mixed, by gender, data set E1: no text of female with emotion positive"]


def test_tests_that_reject_are_shown_with_an_infinite_t(ratings):
    blocks = sections_of(ratings.rated_run())["tests"]
    assert texts(blocks).startswith(
        "1 of 2 t-tests over texts rejects equal means at the 95% level, as the score counts them. 1 has an infinite t:"
    )
    assert "p-values go by names: which have which value has nothing to do" in texts(blocks)
    assert "1 of 2 is at most 0.05 after Holm, over the tests of one raw score." in texts(blocks)
    (grid,) = grids(blocks)
    assert grid.rows == [
        [
            "original",
            "plain",
            "E1",
            "wild",
            "gender",
            "male / female",
            "−0.50 / 0.25",
            "−∞",
            "14.0",
            "0.0",
            "0.0",
            "0.0",
            "name",
            "16",
        ]
    ]


def test_tests_without_a_p_value_say_why(ratings):
    frames = ratings.rated_run()
    lacking = {"p_value": None, "p_holm": None, "p_benjamini_hochberg": None, "status": "too_few", "reason": "too few"}
    frames["tests"] = ratings.table("tests", *(row | lacking for row in frames["tests"].to_dicts()))
    assert (
        "0 of 0 are at most 0.05 after Holm, over the tests of one raw score. 2 tests have no p-value (too few)."
        in (texts(sections_of(frames)["tests"]))
    )


def test_where_a_test_decides_ratings_by_both_measures_stand_beside_each_other(ratings):
    tested = {"design": "tested", "dependence_p": 0.3}
    rows = [ratings.raw_score("calm", 0.0) | tested, ratings.raw_score("calm", 6.5, measure="die") | tested]
    places = [ratings.rating(rows[0], 1, 1), ratings.rating(rows[1], 1, 2) | {"decides": False}]
    frames = ratings.rated_run() | {
        "raw_scores": ratings.table("raw_scores", *rows),
        "ratings": ratings.table("ratings", *places),
    }
    shown = sections_of(frames)
    (grid,) = grids(shown["ratings"])
    assert grid.rows == [["original", "plain, by gender", "calm", "0.30", "WRS", "1", "DIE 2"]]
    assert "A p above it does not show that they are independent" in texts(shown["ratings"])
    assert "no proof that they do not; so ratings by both measures" in str(shown["causes"])


def test_long_tables_are_cut_and_say_where_the_rest_is(ratings):
    many = ratings.table("tests", *(ratings.means_test("wild", -3.0, 0.01) for _ in range(100)))
    (grid,) = grids(sections_of(ratings.rated_run() | {"tests": many})["tests"])
    assert len(grid.rows) == 60
    assert grid.caption.endswith("The first 60 of 100; the others are in the table tests.")


def test_descriptions_leave_out_columns_that_say_nothing(ratings):
    (grid,) = grids(sections_of(ratings.rated_run())["texts"])
    heads = ["group", "data set", "texts", "words", "words per text", "stop words", "stop words per text"]
    assert grid.headings == heads
    assert grid.rows[0] == ["plain", "E1", "240", "1,200", "5.00 [3, 8]", "480", "2.00 [0, 6]"]
    assert grid.numeric == heads[2:]


# --- the page -------------------------------------------------------------------------------------------------------


def page_of(frames, kind="synthetic"):
    return Page("", {}, findings(frames, {}).parts, sections(frames, RatingConfig(), kind))


@pytest.mark.parametrize("run", ["rated_run", "original_only", "from_scores"])
def test_no_number_is_shown_as_nan_or_none(ratings, run, html_of, figures_of):
    frames = getattr(ratings, run)()
    shown = [
        cell for blocks in sections_of(frames).values() for grid in grids(blocks) for row in grid.rows for cell in row
    ]
    assert not [cell for cell in shown if re.search("nan|none|null|inf|undefined", cell, re.IGNORECASE)]
    whole = page_of(frames)
    assert not re.search("NaN|Infinity", html_of(whole) + figures_of(whole))


def test_every_name_is_escaped(ratings, html_of):
    row = ratings.raw_score(ratings.TAGGED, 0.0, group=ratings.TAGGED)
    frames = ratings.from_scores() | {
        "raw_scores": ratings.table("raw_scores", row),
        "ratings": ratings.table("ratings", ratings.rating(row, 1, 1)),
    }
    html = html_of(page_of(frames, ""))
    assert ratings.TAGGED not in html
    assert "&lt;b&gt;&amp;" in html


def composed(config, frames):
    """The page of a run that has published these tables and those of the scores."""
    published = {
        name: pa.Table.from_pylist(rows.to_dicts(), getattr(tables, name.upper())) for name, rows in frames.items()
    }
    run = SimpleNamespace(config=config, sources=RatingSources())
    return reported(partial(page, run), published | {"scores": tables.SCORES.empty_table()})


def test_the_page_of_a_run_has_facts_and_the_columns_of_large_tables(ratings, configured):
    config = configured("job=sentiment_rating", "translator=[]", "rating.convention=published", "seed=7")
    shown = composed(config, ratings.rated_run())
    assert shown.facts == {
        "job": "sentiment_rating",
        "language": "en",
        "systems": "calm, wild",
        "variants": "original, es",
        "convention": "published",
        "seed": "7",
    }
    assert [section.anchor for section in shown.sections][-2:] == ["missing", "account"]
    listed = {details.summary for details in shown.sections[-1].blocks[-1].blocks}
    assert "scores" in listed
    assert "translations" not in listed
    charts = [block for section in shown.sections for block in section.blocks if isinstance(block, Chart)]
    assert [list(chart.figures) for chart in charts] == [
        ["ratings", "raw scores"],
        ["diagram"],
        ["diagram"],
        ["plain, by gender", "mixed, by gender"],
    ]


def test_a_file_of_scores_has_no_language(ratings, configured):
    config = configured("job=sentiment_rating", "scores=some.csv")
    shown = composed(config, ratings.from_scores())
    assert "language" not in shown.facts
    assert "words" not in [section.anchor for section in shown.sections]
