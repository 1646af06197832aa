"""The figures of rated systems show the numbers of the tables; what is drawn on all pages is held by their models."""

import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.sentiment.rating import page_figures as figures
from tiltmeter.jobs.sentiment.rating.page_figures import CausalModel, amount, diagram, rated

SYSTEMS = ["calm", "wild"]


def rating_map(frames, systems):
    return drawn(figures.rating_map(rated(frames), systems, amount))


def raw_scores(frames, group, variant):
    """The figure, and the lines and dots of a variant."""
    figure = drawn(figures.raw_scores(rated(frames).filter(group=group), SYSTEMS, ["original", "es"]))
    return figure, *(trace for trace in figure.data if trace.name == variant)


def test_the_map_has_a_heading_for_each_case_and_a_row_for_each_variant(ratings):
    figure = rating_map(ratings.rated_run(), [*SYSTEMS, "gone"])
    assert figure.layout.yaxis.ticktext == ("", "original", "es", "", "original", "es")
    headings = [(0, "<b>plain</b>, by gender (WRS)"), (3, "<b>mixed</b>, by gender (DIE)")]
    assert [(note.y, note.text) for note in figure.layout.annotations] == headings
    assert figure.layout.xaxis.ticktext == ("calm", "wild", "gone")
    missing, found = ([list(line)[:2] for line in trace.z] for trace in figure.data)
    empty = [None, None]
    assert found == [empty, [1, 2], [1, 2], empty, [1, 2], [None, 1]]
    assert missing == [empty, empty, empty, empty, empty, [0, None]]
    shown = figure.data[1]
    assert [list(line)[:2] for line in shown.text][1:3] == [["0.0", "24.0"], ["4.8", "24.0"]]
    assert (shown.zmin, shown.zmax) == (1, 2)
    pointed = shown.customdata
    assert pointed[1][1] == "<b>wild, original</b><br>rating 2 of 2<br>rank 2<br>WRS 24.0 [0.0, 25.0]"
    assert pointed[5][0] == "<b>calm, es</b><br>undefined: an emotion and a value never come together"
    assert pointed[1][2] == "<b>gone, original</b><br>no scores of this system for these texts"


def test_names_are_escaped_for_plotly_which_reads_tags_and_a_single_level_has_one_colour(ratings):
    row = ratings.raw_score(ratings.TAGGED, 0.0, group=ratings.TAGGED)
    places = ratings.table("ratings", ratings.rating(row, 1, 1)).with_columns(num_levels=1)
    frames = {"raw_scores": ratings.table("raw_scores", row), "ratings": places}
    figure = rating_map(frames, [ratings.TAGGED])
    assert figure.layout.annotations[0].text.startswith("<b>&lt;b&gt;&amp;</b>")
    assert figure.layout.xaxis.ticktext == ("&lt;b&gt;&amp;",)
    assert (figure.data[1].zmin, figure.data[1].zmax) == (1, 2)


def test_raw_scores_lie_above_each_other_by_variant(ratings):
    figure, lines, dots = raw_scores(ratings.rated_run(), "plain", "original")
    assert list(dots.x) == [0.0, 24.0]
    assert list(dots.y) == pytest.approx([1.14, 0.14])
    assert list(lines.x) == [0.0, 1.0, None, 0.0, 25.0, None]
    assert list(raw_scores(ratings.rated_run(), "plain", "es")[2].y) == pytest.approx([0.86, -0.14])
    assert dict(zip(figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext, strict=True)) == {1: "calm", 0: "wild"}


def test_infinite_scores_lie_on_the_edge_and_undefined_ones_are_left_out(ratings):
    edge = 1.15 * 43.9
    figure, lines, dots = raw_scores(ratings.rated_run(), "mixed", "original, infinite")
    assert [*dots.x, lines.x[1]] == pytest.approx([edge, edge])
    symbols = {trace.name: trace.marker.symbol for trace in figure.data if trace.showlegend}
    assert symbols == {"original": "circle", "original, infinite": "triangle-right", "es": "diamond"}
    assert dots.customdata[0] == "<b>wild, original</b><br>DIE ∞ [0.0, ∞]"
    others = {variant: list(raw_scores(ratings.rated_run(), "mixed", variant)[2].x) for variant in ("original", "es")}
    assert others == {"original": [6.5], "es": [42.9]}
    assert figure.layout.xaxis.range[1] > edge


TESTED = {("tested", "gender", "sentiment")}
ON_EMOTION = TESTED | {("expected", "emotion", "sentiment")}
ARROWS = [
    (CausalModel(("gender",), has_emotion=False, confounding=(), measures=()), TESTED),
    (CausalModel(("gender",), has_emotion=True, confounding=(), measures=()), ON_EMOTION),
    (
        CausalModel(("gender", "race"), has_emotion=True, confounding=("gender",), measures=()),
        ON_EMOTION | {("tested", "race", "sentiment"), ("confounding", "gender", "emotion")},
    ),
]


@pytest.mark.parametrize(("model", "arrows"), ARROWS, ids=["no emotion", "emotion", "confounded"])
def test_arrows_lead_from_causes_to_what_depends_on_them(model, arrows):
    figure = drawn(diagram(model))
    places = {(box.x, box.y): box.text for box in figure.layout.annotations}
    lines = [trace for trace in figure.data if trace.x[0] is not None]
    assert {(trace.name, *(places[end] for end in zip(trace.x, trace.y, strict=True))) for trace in lines} == arrows
