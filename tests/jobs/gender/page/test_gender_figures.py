"""The figures of gender bias show the numbers of the tables."""

import re

import numpy as np
import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.gender import figures
from tiltmeter.jobs.gender.findings import WEIGHTED, by_label, gaps, labelled
from tiltmeter.jobs.report.plots.style import FEMALE, INK, MALE, TEXT
from tiltmeter.operators.statistics.correlation import cluster_order

SPAN = [-1.0, 1.0]


def dots(figure, name):
    return next(trace for trace in figure.data if trace.name == name and trace.mode.startswith("markers"))


def ends(figure, name):
    """The intervals behind the dots of that name."""
    lines = next(trace for trace in figure.data if trace.name == name and trace.mode == "lines")
    return [end for end in lines.x if end is not None]


def numbers(trace):
    return [list(row) for row in trace.z]


def of_list(frames, listed, label):
    return by_label(labelled(frames)["gender_words"].filter(pl.col("list") == listed))[label]


def professions_of(frames, label):
    rows = by_label(labelled(frames)["gender_professions"].filter(pl.col("status") == "ok"))[label]
    return drawn(figures.professions(rows, of_list(frames, "professions", label), SPAN))


def with_wife_and_husband(gender):
    """The survey with this pair in English, and a gap of 0.7 without it."""
    frames = gender.survey()
    pair = gender.pairs(gender.pair("en", "wife-husband", 0.0, gap=0.7))
    return frames | {"gender_pairs": pl.concat([frames["gender_pairs"], pair])}


def correlations(gender, values, places):
    frames = gender.survey() | {"language_correlation": gender.correlations(values, places)}
    return drawn(figures.correlations(labelled(frames)["language_correlation"]))


# --- dot plots ------------------------------------------------------------------------------------------------------


def test_defining_words_stand_on_the_row_of_their_pair_in_their_own_spelling(gender):
    figure = drawn(figures.defining_words(of_list(gender.survey(), "defining", "Arabic (ar)"), SPAN))
    female, male = (dots(figure, f"{side} words") for side in ("female", "male"))
    assert list(female.x) == pytest.approx([0.3, 0.4])
    assert list(male.x) == pytest.approx([-0.3, -0.2])
    assert ends(figure, "female words") == pytest.approx([0.25, 0.35, 0.35, 0.45])
    assert list(female.y) == [1.0, 0.0], "the first pair at the top"
    assert figure.layout.yaxis.ticktext == ("girl – boy", "woman – man")
    assert [text.strip("\u2068\u2069") for text in male.text] == ["رجل", "صبي"]


def test_a_defining_word_without_a_vector_is_left_out_of_its_row(gender):
    boy = gender.lost("en", word="boy", list="defining", item="girl-boy", gender="masculine", note="")
    figure = drawn(figures.defining_words(gender.words(*gender.defining("en")[:3], boy), SPAN))
    assert list(dots(figure, "male words").text) == ["man"]
    assert len(figure.layout.yaxis.ticktext) == 2


def test_means_by_gender_have_a_row_for_each_language(gender):
    figure = drawn(figures.means_by_gender(labelled(gender.survey())["gender_languages"].head(2)))
    assert list(dots(figure, "female words").x) == [0.35, 0.35]
    assert list(dots(figure, "male words").x) == [-0.25, -0.25]
    assert figure.layout.yaxis.ticktext == ("Arabic (ar)", "English (en)")


def test_professions_are_coloured_by_side_and_their_forms_by_gender(gender):
    figure = professions_of(gender.survey(), "Arabic (ar)")
    assert list(dots(figure, "female side").x) == [0.1]
    assert list(dots(figure, "male side").x) == [-0.2]
    assert list(dots(figure, "feminine form").x) == [0.2]
    assert list(dots(figure, "masculine form").x) == [-0.2] * 3
    assert list(dots(figure, "every form weighted equally").x) == pytest.approx([0.2, -0.1])
    assert list(dots(figure, "every gender weighted equally").x) == pytest.approx([0.3, 0.0])
    judge, nurse = figure.layout.yaxis2.ticktext
    assert re.findall(r"color:(#\w+)", nurse) == [TEXT[FEMALE], TEXT[MALE]]
    assert judge.endswith(" …</span>"), "the other spelling is under the pointer"


def test_words_that_are_the_english_ones_are_not_repeated(gender):
    figure = professions_of(gender.survey(), "English (en)")
    assert "yaxis2" not in figure.layout
    assert figure.layout.yaxis.ticktext == ("judge", "&lt;b&gt;&amp;", "nurse")
    assert not {trace.name for trace in figure.data} & set(WEIGHTED.values())


def test_without_intervals_no_dot_has_the_colour_of_a_side(gender):
    frames = gender.only("en")
    none = [pl.lit(None, pl.Float64).alias(f"bias_{end}") for end in ("low", "high")]
    frames["gender_professions"] = frames["gender_professions"].with_columns(none)
    points = dots(professions_of(frames, "English (en)"), "")
    assert list(points.x) == pytest.approx([0.3, 0.02, -0.1])
    assert (points.marker.color, points.showlegend) == (INK, False)


def test_direct_bias_is_ordered(gender):
    figure = drawn(figures.direct_bias(labelled(gender.survey())["gender_languages"].head(2)))
    assert figure.layout.yaxis.ticktext == ("English (en)", "Arabic (ar)"), "from the bottom"
    assert list(dots(figure, "forms weighted by count").x) == [0.2, 0.1]
    assert list(dots(figure, "every form weighted equally").x) == pytest.approx([0.22, 0.12])
    assert list(dots(figure, "every gender weighted equally").x) == pytest.approx([0.23, 0.13])


def test_what_the_forms_are_weighted_by_is_what_the_job_was_asked_for(gender):
    frames = gender.survey()
    frames["gender_languages"] = frames["gender_languages"].with_columns(weights=pl.lit("gender"))
    figure = drawn(figures.direct_bias(labelled(frames)["gender_languages"].head(2)))
    assert list(dots(figure, "every gender weighted equally").x) == [0.2, 0.1]
    assert {"forms weighted by count", "every form weighted equally"} < {trace.name for trace in figure.data}


def test_the_gap_stands_beside_the_one_without_wife_and_husband(gender):
    tables = labelled(with_wife_and_husband(gender))
    rows = gaps(tables["gender_languages"].head(2), tables["gender_pairs"])
    figure = drawn(figures.gaps(rows))
    assert figure.layout.yaxis.ticktext == ("Arabic (ar)", "English (en)")
    assert list(dots(figure, "all pairs").x) == [0.4, 0.4]
    assert list(dots(figure, "without wife – husband").x) == [0.7], "Arabic lacks the pair"
    assert ends(figure, "without wife – husband") == pytest.approx([0.65, 0.75])


def test_changes_are_coloured_by_where_direct_bias_goes(gender):
    figure = drawn(figures.pair_changes(labelled(gender.only("en"))["gender_pairs"]))
    assert figure.layout.yaxis.ticktext == ("girl – boy", "woman – man"), "from the bottom"
    assert list(dots(figure, "direct bias rises").x) == [0.01]
    assert list(dots(figure, "direct bias falls").x) == [-0.02]


# --- heat maps ------------------------------------------------------------------------------------------------------


def test_the_map_of_professions_has_numbers_and_says_what_is_missing(gender):
    rows = labelled(gender.survey())["gender_professions"]
    figure = drawn(figures.profession_map(rows, pl.Series("profession", ["nurse", gender.TAGGED, "judge"])))
    missing, found = figure.data
    assert figure.layout.yaxis.ticktext == ("nurse", "&lt;b&gt;&amp;", "judge"), "as they were given"
    assert numbers(found) == [[0.3, 0.1, None], [0.02, None, None], [-0.1, -0.2, None]]
    assert numbers(missing) == [[None, None, 0], [None, 0, 0], [None, None, 0]]
    assert missing.customdata[0][2] == "<b>nurse, Wolof (wo)</b><br>no_direction: no defining pair has both words"
    assert found.zmax == -found.zmin == 0.3
    assert found.customdata[0][0].startswith("<b>nurse, English (en)</b><br>bias 0.300 [0.250, 0.350]<br>")


def test_bold_says_that_the_interval_excludes_0(gender):
    rows = [gender.profession("en", name, bias) for name, bias in (("a", 0.06), ("b", 0.04), ("c", -0.06))]
    known = gender.professions(*rows).with_columns(label=pl.lit("English (en)"))
    _, found = drawn(figures.profession_map(known, known["profession"])).data
    assert [text for (text,) in found.text] == ["<b>0.06</b>", "0.04", "<b>−0.06</b>"]


def test_the_map_of_changes_keeps_the_order_of_the_pairs(gender):
    rows = labelled(gender.survey())["gender_pairs"]
    figure = drawn(figures.pair_map(rows))
    assert figure.layout.yaxis.ticktext == ("woman – man", "girl – boy")
    assert numbers(figure.data[1]) == [[0.01, 0.003, None], [-0.02, 0.001, None]]
    assert figure.data[0].customdata[1][2].endswith("not on the word list")


def test_languages_are_joined_at_their_mean_distance(gender):
    values = {("es", "fr"): 0.9, ("es", "zh"): 0.1, ("fr", "zh"): 0.3}
    figure = correlations(gender, values, {"es": 1, "fr": 0, "zh": 2})
    first, second, _, found = figure.data
    assert figure.layout.yaxis2.ticktext == ("French (fr)", "Spanish (es)", "Chinese (zh)")
    assert numbers(found) == [[1.0, 0.9, 0.3], [0.9, 1.0, 0.1], [0.3, 0.1, 1.0]]
    # 1 - 0.9, and the mean of 1 - 0.3 and 1 - 0.1; Spanish and French meet halfway between their columns.
    assert sorted(first.x) == [0.0, 0.0, 1.0, 1.0]
    assert list(first.y) == pytest.approx([0.0, 0.1, 0.1, 0.0])
    assert sorted(second.x) == [0.5, 0.5, 2.0, 2.0]
    assert sorted(second.y) == pytest.approx([0.0, 0.1, 0.8, 0.8])


def test_no_two_brackets_of_the_tree_cross(gender):
    r = np.corrcoef(np.random.default_rng(3).normal(size=(9, 12)))
    codes = [f"l{at}" for at in range(9)]
    places = {codes[leaf]: place for place, leaf in enumerate(cluster_order(r).order)}
    values = {(codes[one], codes[other]): float(r[one, other]) for one in range(9) for other in range(one)}
    figure = correlations(gender, values, places)
    brackets = [(trace.x, trace.y) for trace in figure.data if trace.type == "scatter"]
    assert len(brackets) == 8
    bars = [(min(x), max(x), y[1]) for x, y in brackets]
    legs = [(x[end], y[end], y[1]) for x, y in brackets for end in (0, -1)]
    assert not any(left < x < right and foot < height < top for left, right, height in bars for x, foot, top in legs)


def test_unknown_correlations_are_grey_with_their_reason(gender):
    *_, missing, found = drawn(figures.correlations(gender.survey()["language_correlation"])).data
    assert numbers(found) == [[1.0, 0.9, None], [0.9, 1.0, None], [None, None, 1.0]]
    assert missing.customdata[0][2].endswith("too_few_professions: both have 0 professions, and 3 are needed")
    assert found.customdata[0][1].endswith("over 3 professions")
