"""The figures of rated systems show the numbers of the tables."""

import math

import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.sentiment.rating.page import figures as rating_figures
from tiltmeter.jobs.sentiment.rating.page.causal_diagrams import causal_models, diagram, meaning
from tiltmeter.jobs.sentiment.rating.page.names import amount
from tiltmeter.jobs.sentiment.rating.page.names import rated as with_places

SYSTEMS = ["calm", "wild"]


def rating_map(frames, systems=SYSTEMS):
    return drawn(rating_figures.rating_map(with_places(frames), systems, amount))


def cells(trace):
    return [list(line) for line in trace.z]


def traces(figure, variant):
    lines, dots = [trace for trace in figure.data if trace.name == variant]
    return lines, dots


def arrows(model):
    """From where to where, by what the arrow is called."""
    figure = drawn(diagram(model))
    places = {(box.x, box.y): box.text for box in figure.layout.annotations}
    lines = [trace for trace in figure.data if trace.x[0] is not None]
    return {(trace.name, *(places[end] for end in zip(trace.x, trace.y, strict=True))) for trace in lines}


# --- the map of all ratings -----------------------------------------------------------------------------------------


def test_the_map_has_a_heading_for_each_case_and_a_row_for_each_variant(ratings):
    figure = rating_map(ratings.rated_run())
    assert figure.layout.yaxis.ticktext == ("", "original", "es", "", "original", "es")
    assert [(note.y, note.text) for note in figure.layout.annotations] == [
        (0, "<b>plain</b>, by gender (WRS)"),
        (3, "<b>mixed</b>, by gender (DIE)"),
    ]
    assert figure.layout.xaxis.ticktext == ("calm", "wild")


def test_cells_are_coloured_by_rating_and_grey_where_there_is_none(ratings):
    missing, found = rating_map(ratings.rated_run()).data
    empty = [None, None]
    assert cells(found) == [empty, [1, 2], [1, 2], empty, [1, 2], [None, 1]]
    assert cells(missing) == [empty, empty, empty, empty, empty, [0, None]]
    assert [list(line) for line in found.text][1:3] == [["0.0", "24.0"], ["4.8", "24.0"]]
    assert (found.zmin, found.zmax) == (1, 2)


def test_the_pointer_shows_place_and_interval_or_why_there_is_none(ratings):
    _, found = rating_map(ratings.rated_run(), ["calm", "wild", "gone"]).data
    assert found.customdata[1][1] == "<b>wild, original</b><br>rating 2 of 2<br>rank 2<br>WRS 24.0 [0.0, 25.0]"
    assert found.customdata[5][0] == ("<b>calm, es</b><br>undefined: an emotion and a value never come together")
    assert found.customdata[1][2] == "<b>gone, original</b><br>no scores of this system for these texts"


def test_a_single_level_has_one_colour(ratings):
    frames = ratings.rated_run()
    frames["ratings"] = frames["ratings"].with_columns(num_levels=1)
    _, found = rating_map(frames).data
    assert (found.zmin, found.zmax) == (1, 2)


def test_names_are_escaped_for_plotly_which_reads_tags(ratings):
    row = ratings.raw_score(ratings.TAGGED, 0.0, group=ratings.TAGGED)
    frames = {
        "raw_scores": ratings.table("raw_scores", row),
        "ratings": ratings.table("ratings", ratings.rating(row, 1, 1)),
    }
    figure = rating_map(frames, [ratings.TAGGED])
    assert figure.layout.annotations[0].text.startswith("<b>&lt;b&gt;&amp;</b>")
    assert figure.layout.xaxis.ticktext == ("&lt;b&gt;&amp;",)


# --- raw scores -----------------------------------------------------------------------------------------------------


def raw_scores(frames, group):
    rows = with_places(frames).filter(group=group)
    return drawn(rating_figures.raw_scores(rows, SYSTEMS, ["original", "es"]))


def test_raw_scores_lie_above_each_other_by_variant(ratings):
    figure = raw_scores(ratings.rated_run(), "plain")
    lines, dots = traces(figure, "original")
    assert list(dots.x) == [0.0, 24.0]
    assert list(dots.y) == pytest.approx([1.14, 0.14])
    assert list(lines.x) == [0.0, 1.0, None, 0.0, 25.0, None]
    assert list(traces(figure, "es")[1].y) == pytest.approx([0.86, -0.14])
    assert figure.layout.xaxis.title.text == "WRS, weighted rejection score"
    assert dict(zip(figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext, strict=True)) == {1: "calm", 0: "wild"}


def test_infinite_scores_lie_on_the_edge_and_undefined_ones_are_left_out(ratings):
    figure = raw_scores(ratings.rated_run(), "mixed")
    edge = 1.15 * 43.9
    assert list(traces(figure, "original")[1].x) == [6.5]
    lines, dots = traces(figure, "original, infinite")
    assert list(dots.x) == pytest.approx([edge])
    symbols = {trace.name: trace.marker.symbol for trace in figure.data if trace.showlegend}
    assert symbols == {"original": "circle", "original, infinite": "triangle-right", "es": "diamond"}
    assert lines.x[1] == pytest.approx(edge)
    assert dots.customdata[0] == "<b>wild, original</b><br>DIE ∞ [0.0, ∞]"
    assert list(traces(figure, "es")[1].x) == [42.9]
    assert figure.layout.xaxis.range[1] > edge


def test_the_axis_ends_at_twice_the_largest_score_where_an_interval_goes_on(ratings):
    rows = [ratings.raw_score("calm", 2.0, reach=3.0), ratings.raw_score("wild", 10.0, reach=990.0)]
    frames = {
        "raw_scores": ratings.table("raw_scores", *rows),
        "ratings": ratings.table("ratings", *(ratings.rating(row, 1, 1) for row in rows)),
    }
    lines, dots = traces(raw_scores(frames, "plain"), "original")
    assert list(lines.x) == [0.0, 5.0, None, 0.0, pytest.approx(1.15 * 20.0), None]
    assert dots.customdata[1] == "<b>wild, original</b><br>WRS 10.0 [0.0, 1,000.0]"


def test_scores_without_intervals_are_dots_alone(ratings):
    rows = [ratings.raw_score("calm", 0.0, reach=None), ratings.raw_score("wild", 0.0, reach=None)]
    frames = {
        "raw_scores": ratings.table("raw_scores", *rows),
        "ratings": ratings.table("ratings", *(ratings.rating(row, 1, 1) for row in rows)),
    }
    figure = raw_scores(frames, "plain")
    lines, dots = traces(figure, "original")
    assert set(lines.x) == {None}
    assert dots.customdata[0] == "<b>calm, original</b><br>WRS 0.0"
    assert all(map(math.isfinite, figure.layout.xaxis.range))


# --- causal diagrams ------------------------------------------------------------------------------------------------


def models(ratings, *rows):
    places = [ratings.rating(row, 1, 1) for row in rows if row["measure"] == ("die" if row["is_confounded"] else "wrs")]
    return causal_models(ratings.table("raw_scores", *rows), ratings.table("ratings", *places))


def of_group(ratings, group, confounded, *, emotion=True):
    """Raw scores of a group, by protected attribute whether it is confounded."""
    measures = ("wrs", "die") if emotion else ("wrs",)
    return [
        ratings.raw_score("calm", 0.0, group=group, protected=protected, measure=measure, confounded=is_confounded)
        for protected, is_confounded in confounded.items()
        for measure in measures
    ]


def test_groups_with_one_causal_model_share_its_diagram(ratings):
    groups = [*of_group(ratings, "a", {"gender": False}), *of_group(ratings, "b", {"gender": False})]
    [(model, names)] = models(ratings, *groups).items()
    assert names == ["a", "b"]
    assert arrows(model) == {("expected", "emotion", "sentiment"), ("tested", "gender", "sentiment")}
    assert meaning(model, names).startswith("Groups a and b: all values of gender come with the same emotions")
    assert meaning(model, names).endswith("Rated by WRS.")


def test_an_attribute_points_to_the_emotion_where_it_confounds(ratings):
    [(model, names)] = models(ratings, *of_group(ratings, "mixed", {"gender": True})).items()
    assert arrows(model) == {
        ("expected", "emotion", "sentiment"),
        ("confounding", "gender", "emotion"),
        ("tested", "gender", "sentiment"),
    }
    assert meaning(model, names).startswith("Group mixed: the emotion depends on gender")
    assert meaning(model, names).endswith("Rated by DIE.")


def test_two_attributes_stand_on_both_sides_and_are_rated_each_by_its_measure(ratings):
    rows = of_group(ratings, "both", {"gender": True, "race": False, "gender_race": True})
    [(model, names)] = models(ratings, *rows).items()
    assert {arrow for arrow in arrows(model) if arrow[0] != "expected"} == {
        ("confounding", "gender", "emotion"),
        ("tested", "gender", "sentiment"),
        ("tested", "race", "sentiment"),
    }
    assert meaning(model, names).endswith("Rated for gender by DIE, for gender and race by DIE and for race by WRS.")


def test_an_emotion_that_depends_on_both_together_depends_on_both(ratings):
    rows = of_group(ratings, "both", {"gender": False, "race": False, "gender_race": True})
    [model] = models(ratings, *rows)
    assert model.confounding == ("gender", "race")


def test_without_emotions_there_is_one_arrow(ratings):
    [(model, names)] = models(ratings, *of_group(ratings, "turns", {"gender": False}, emotion=False)).items()
    assert arrows(model) == {("tested", "gender", "sentiment")}
    assert "no emotion is known" in meaning(model, names)
