"""What the page says of rated systems in sentences."""

import polars as pl
import pytest

from tiltmeter.jobs.report.html.elements import Bullets, Grid, Paragraph
from tiltmeter.jobs.sentiment.rating.page.findings import findings
from tiltmeter.jobs.sentiment.rating.page.names import rated as with_places
from tiltmeter.jobs.sentiment.rating.page.round_trips import changes, lost_words, rated_comparisons


@pytest.fixture
def said(of_kind):
    """What a page says: its texts of a tone, or the items of its lists."""

    def say(frames, tone=None, left_out=()):
        blocks = findings(frames, dict(left_out)).parts
        if tone is None:
            return [item for bullets in of_kind(blocks, Bullets) for item in bullets.items]
        return [block.text for block in of_kind(blocks, Paragraph) if block.tone == tone]

    return say


@pytest.fixture
def ends(of_kind):
    return lambda frames: next(iter(of_kind(findings(frames, {}).parts, Grid))).rows


# --- who leans least and most ---------------------------------------------------------------------------------------


def test_the_page_begins_with_what_was_measured_and_who_leans_least_and_most(ratings, said):
    (asked, sure), (order, *_) = said(ratings.rated_run(), "plain"), said(ratings.rated_run())
    assert asked == (
        "Do the scores of sentiment systems depend on whom a text is about? The bias of 2 systems was measured in 2 "
        "groups of texts, by gender, on the original texts and after 1 round trip (es)."
    )
    # All but the undefined one; every interval begins at 0.
    assert sure.startswith("7 raw scores have intervals from resamples of the texts; 0 of them lie wholly above 0")
    assert order == (
        "On the original texts, the lowest raw score (least bias) is most often that of calm (2 of 2); the highest, "
        "that of wild (2 of 2)."
    )


def test_groups_with_several_attributes_are_counted_as_cases(ratings, said, ends):
    both = [ratings.raw_score("calm", 0.0, protected=protected) for protected in ("gender", "race", "gender_race")]
    frames = ratings.rated_run()
    frames |= {
        "raw_scores": ratings.table("raw_scores", *both),
        "ratings": ratings.table("ratings", *(ratings.rating(row, 1, 1) for row in both)),
    }
    assert said(frames, "plain")[0].endswith(
        "The bias of 1 system was measured in 3 cases (1 group of texts, each by every protected attribute that its "
        "texts tell)."
    )
    assert [row[0] for row in ends(frames)] == ["plain, by gender", "plain, by race", "plain, by gender and race"]


def test_both_ends_of_every_case_have_raw_score_and_rating(ratings, ends):
    assert ends(ratings.rated_run()) == [
        ["plain, by gender", "calm: WRS 0.0 (rating 1)", "wild: WRS 24.0 (rating 2)"],
        ["mixed, by gender", "calm: DIE 6.5% (rating 1)", "wild: DIE ∞ (rating 2)"],
    ]


def test_systems_that_tie_are_named_together_and_none_is_the_most_biased(ratings, said, ends):
    rows = [ratings.raw_score(system, 0.0) for system in ("calm", "wild", "odd")]
    frames = ratings.rated_run() | {
        "raw_scores": ratings.table("raw_scores", *rows),
        "ratings": ratings.table("ratings", *(ratings.rating(row, 1, 1) for row in rows)),
    }
    assert ends(frames) == [["plain, by gender", "calm, wild and odd: WRS 0.0 (rating 1)", "–"]]
    assert said(frames)[0].endswith("the lowest raw score (least bias) is that of calm, odd and wild.")


def test_measures_are_explained_where_they_are_used(ratings, said):
    assert [note.split(",")[0] for note in said(ratings.rated_run(), "note")] == ["WRS", "DIE"]
    assert [note.split(",")[0] for note in said(ratings.only(ratings.rated_run(), group="plain"), "note")] == ["WRS"]


def test_without_two_values_of_anything_there_is_a_sentence(ratings, said):
    frames = {name: rows.clear() for name, rows in ratings.rated_run().items()}
    assert said(frames, "plain")[-1] == "Nothing could be rated."


@pytest.mark.parametrize(
    ("scores", "low", "sentence"),
    [
        ([1.0], 0.0, "1 raw score has an interval from resamples of the texts, which does not lie wholly above 0."),
        ([1.0], 0.5, "1 raw score has an interval from resamples of the texts, which lies wholly above 0."),
        ([1.0, 2.0], 0.5, "2 raw scores have intervals from resamples of the texts; 2 of them lie wholly above 0."),
    ],
)
def test_one_and_several_intervals_are_counted(ratings, said, scores, low, sentence):
    rows = [ratings.raw_score(f"s{score}", score) | {"raw_score_low": low} for score in scores]
    frames = ratings.rated_run() | {
        "raw_scores": ratings.table("raw_scores", *rows),
        "ratings": ratings.table("ratings", *(ratings.rating(row, 1, 1) for row in rows)),
    }
    assert said(frames, "plain")[-1].startswith(sentence)


def test_what_can_not_be_compared_is_said_with_its_reason(ratings, said):
    reason = {"status": "incomparable", "reason": "the only gender is male: a comparison needs two values"}
    rows = [ratings.raw_score(name, None) | reason for name in ("calm", "wild")]
    for shown, scores in ((rows, "2 of 2 raw scores are"), (rows[:1], "1 of 1 raw score is")):
        frames = ratings.rated_run() | {
            "raw_scores": ratings.table("raw_scores", *shown),
            "ratings": ratings.table("ratings", *(ratings.rating(row, None, None) for row in shown)),
        }
        assert said(frames, "warning") == [f"{scores} undefined: {reason['reason']}."]
        assert said(frames, "plain")[-1] == "Nothing could be rated."


# --- round trips ----------------------------------------------------------------------------------------------------


def test_changes_count_raw_scores_that_ratings_go_by(ratings):
    rows = rated_comparisons(ratings.rated_run())
    assert rows.select("group", "measure").unique().sort("group").rows() == [("mixed", "die"), ("plain", "wrs")]
    (text,) = changes(rows)
    assert text == (
        "After the round trip es, 2 raw scores can be compared with the original's: 1 is higher (calm 1); for 1 the "
        "interval of the change includes 0. 2 more can't be compared: a raw score is undefined or infinite. No rating "
        "moved."
    )


def test_changes_have_a_direction_by_their_interval_alone(ratings):
    rows = [
        ratings.comparison("calm", 1.0, 3.0, (1, 2), (0.5, 2.5)),
        ratings.comparison("wild", 3.0, 1.0, (2, 1), (-2.5, -0.5)),
        ratings.comparison("odd", 3.0, 1.0, (2, 2), (-2.5, 0.0)),
        ratings.comparison("calm", 1.0, 9.0, (1, 1), (-0.1, 8.0), variant="da"),
    ]
    spanish, danish = changes(ratings.table("comparisons", *rows))
    assert "3 raw scores can be compared" in spanish
    assert "1 is higher (calm 1); 1 is lower (wild 1); for 1 the interval" in spanish
    assert spanish.endswith("2 ratings moved.")
    assert "the original's: the interval of the change includes 0. No rating moved." in danish


def test_a_change_beside_its_interval_has_no_direction(ratings):
    rows = [
        ratings.comparison("calm", 1.0, 3.0, (1, 1), (-2.5, -0.5)),
        ratings.comparison("wild", 1.0, 3.0, (1, 1), (0.5, 2.5)),
    ]
    (text,) = changes(ratings.table("comparisons", *rows))
    assert "1 is higher (wild 1); for 1 the numbers contradict each other and name no side." in text
    assert "lower" not in text


def test_without_intervals_nothing_is_told_from_chance(ratings):
    rows = [ratings.comparison("calm", 1.0, 3.0, (1, 1)), ratings.comparison("wild", 1.0, 2.0, (1, 1))]
    (text,) = changes(ratings.table("comparisons", *rows))
    assert "2 are higher (calm 1, wild 1); without resamples nothing tells a change from chance." in text


def test_a_round_trip_of_which_nothing_can_be_compared_says_so(ratings):
    (text,) = changes(ratings.table("comparisons", ratings.comparison("calm", None, 3.0, (None, 1))))
    assert text == "After the round trip es, no raw score can be compared with the original's."


def test_round_trips_that_were_left_out_have_their_reason(ratings, said):
    (text,) = said(ratings.original_only(), "warning", {"es": "apertium is not installed"}.items())
    assert text == "The round trip es was left out. apertium is not installed."


@pytest.mark.parametrize("frames", ["original_only", "from_scores"])
def test_without_words_nothing_is_said_of_lost_ones(ratings, frames):
    assert list(lost_words(getattr(ratings, frames)())) == []


def test_lost_words_are_counted_over_data_sets(ratings):
    (text,) = lost_words(ratings.rated_run())
    # girl: 30 of 100 texts, boy: 0 of 50, of which 40 start with it.
    assert text == (
        "The round trip es lost 30 of 150 words that tell gender or race (20%), most often “girl” in group plain (30%)."
        " Of 40 texts that started with one, 10 no longer do (25%)."
    )


def test_a_round_trip_that_keeps_all_words_says_so(ratings):
    frames = {"protected_words": ratings.table("protected_words", ratings.protected_word("boy", 0))}
    assert list(lost_words(frames)) == ["The round trip es lost none of 50 words that tell gender or race."]


# --- doubts ---------------------------------------------------------------------------------------------------------


def test_raw_scores_without_a_result_are_counted_with_their_reason(ratings, said):
    (text,) = said(ratings.rated_run(), "warning")
    assert text == "1 of 8 raw scores is undefined: an emotion and a value never come together."


def test_warnings_are_counted_and_rare_ones_taken_together(ratings, said):
    texts = ["many"] * 2 + [f"warning {number}" for number in range(6)]
    rows = [ratings.raw_score(f"s{at}", 1.0, warning=text) for at, text in enumerate(texts)]
    frames = ratings.rated_run() | {
        "raw_scores": ratings.table("raw_scores", *rows),
        "ratings": ratings.table("ratings", *(ratings.rating(row, 1, 1) for row in rows)),
    }
    shown = said(frames, "warning")
    assert shown[0] == "2 of 8 raw scores: many."
    assert shown[-1] == "2 of 8 raw scores: see the column warning of the table raw_scores."
    assert len(shown) == 6


def test_places_join_the_raw_scores_that_ratings_go_by(ratings):
    rows = with_places(ratings.rated_run())
    assert rows.height == 8
    assert rows.filter(pl.col("rank").is_null())["status"].to_list() == ["undefined"]
