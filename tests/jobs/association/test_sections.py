"""What the page says of the association tests, and where."""

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.association import page as association_page
from tiltmeter.jobs.association import sections as association_sections
from tiltmeter.jobs.association.figures import association_dots
from tiltmeter.jobs.association.findings import association_findings, p_cell, preferred
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Details, Grid, Paragraph
from tiltmeter.jobs.report.intervals import on_intervals
from tiltmeter.operators.statistics.intervals import IntervalSettings

BERT = {"model": "bert", "language": "en"}


def blocks(frames, anchor):
    [section] = [section for section in association_sections.sections(frames) if section.anchor == anchor]
    return section.blocks


def of_kind(kind, found):
    return [block for block in found if isinstance(block, kind)]


@pytest.fixture
def ways(embeddings):
    """Two tests by two similarities and two statistics: d = 0.1, 0.2, ... 0.8, of which the last has no result."""
    hows = [(name, how, of) for name in ("a", "b") for how in ("euclidean", "cosine") for of in ("median", "mean")]
    rows = [
        embeddings.association(name, 0.1 * at, similarity=how, statistic=of, ok=at < 8, p_value=0.02 if at % 2 else 0.9)
        for at, (name, how, of) in enumerate(hows, start=1)
    ]
    return embeddings.associations(*rows)


# --- findings -------------------------------------------------------------------------------------------------------


def test_findings_name_a_side_only_where_the_interval_does(embeddings):
    rows = [embeddings.association("a", 1.0), embeddings.association("b", -1.0), embeddings.association("c", 0.4)]
    first, second, rest = association_findings(embeddings.associations(*rows))
    assert "a puts insects rather with unpleasant, and flowers with <b>& (effect size d = 1.00 [0.50, 1.50])" in first
    assert "b puts insects rather with <b>&, and flowers with unpleasant" in second
    assert rest == "1 of 3 association tests names no side: the interval of d includes 0."


@pytest.fixture
def contradictory(embeddings):
    """The effect size of c lies beside its interval and its score has the other sign; d has only such a score."""
    return embeddings.associations(
        embeddings.association("a", 1.0, score=0.3),
        embeddings.association("c", 0.37, effect_size_low=-1.08, effect_size_high=-0.37, score=-0.08),
        embeddings.association("d", 1.0, score=-0.5),
        embeddings.association("e", 1.6, effect_size_high=1.5, score=0.5),
    )


def test_numbers_that_contradict_each_other_name_no_side(contradictory):
    first, doubt = association_findings(contradictory)
    assert "test a puts" in first
    assert doubt == (
        "3 of 4 association tests name no side, because the numbers contradict each other: "
        "c (d = 0.37 [−1.08, −0.37], score −0.08), d (d = 1.00 [0.50, 1.50], score −0.50) and "
        "e (d = 1.60 [1.10, 1.50])."
    )
    (short,) = association_findings(contradictory, in_short=True)
    assert short.endswith(
        "above 0 in 1 (a) and below 0 in none; in 3 the numbers contradict each other and name no side."
    )


def test_the_chart_colours_no_number_that_is_contradicted(contradictory):
    dots = [trace for trace in drawn(association_dots(contradictory)).data if trace.showlegend]
    assert {trace.name: list(trace.x) for trace in dots} == {
        "first go with first": [1.0],
        "contradicts its interval": [0.37, 1.0, 1.6],
    }


def test_how_sure_it_is_says_which_tests_contradict_themselves(contradictory):
    [measure] = association_page.measures({"associations": contradictory})
    warnings = [block.text for block in on_intervals(IntervalSettings(), 32, [measure.sides])[:-2]]
    assert [text.split(".")[0] for text in warnings] == [
        "3 of 4 effect sizes name no side, because their numbers contradict each other: c, d and e"
    ]
    assert "the target sets are of unequal size" in warnings[0]
    fine = contradictory.filter(pl.col("test") == "a")
    [measure] = association_page.measures({"associations": fine})
    assert [
        block
        for block in on_intervals(IntervalSettings(), 32, [measure.sides])
        if getattr(block, "tone", "") == "warning"
    ] == []


def test_a_p_value_names_no_side_where_score_and_effect_size_differ_in_sign(embeddings):
    rows = [
        embeddings.association("a", 1.0, half_width=None, score=0.2),
        embeddings.association("b", 1.5, half_width=None, score=-0.2),
    ]
    (sentence,) = association_findings(embeddings.associations(*rows))
    assert sentence.startswith("1 of 2 association tests has one-sided p < 0.05")
    assert sentence.endswith(
        "1 more names no side, as score and d have different signs: b (d = 1.50, score −0.20, p\u00a0=\u00a00.0040)."
    )


def test_without_replicas_findings_go_by_the_p_value(embeddings):
    rows = [
        embeddings.association("a", 1.0, half_width=None),
        embeddings.association("b", 1.5, half_width=None),
        embeddings.association("c", -1.0, half_width=None, p_value=0.98),
    ]
    (sentence,) = association_findings(embeddings.associations(*rows))
    assert sentence.startswith("2 of 3 association tests have one-sided p < 0.05: ")
    assert sentence.endswith("in b (d = 1.50, p\u00a0=\u00a00.0040), a (d = 1.00, p\u00a0=\u00a00.0040).")


@pytest.mark.parametrize(
    ("alternative", "says"),
    [
        ("greater", "has one-sided p < 0.05: the first targets go with the first attributes more than"),
        ("less", "has one-sided p < 0.05: the first targets go with the second attributes more than"),
        ("two-sided", "has two-sided p < 0.05: the targets differ in which attributes they go with by more than"),
    ],
)
def test_what_a_p_value_says_follows_from_its_alternative(embeddings, alternative, says):
    rows = embeddings.associations(embeddings.association("a", 1.0, half_width=None, alternative=alternative))
    (sentence,) = association_findings(rows)
    assert says in sentence
    text = blocks({"associations": rows}, "associations")[0].text
    assert f"Its p-value is {says.split()[1]}: " in text


@pytest.fixture
def gaps(embeddings):
    """By what has no direction, with intervals on one side, a score of the other sign, and none."""
    gap = {"statistic": "smallest_gap", "alternative": "two-sided"}
    return embeddings.associations(
        embeddings.association("a", 1.0, **gap),
        embeddings.association("b", -1.0, **gap, p_value=0.3),
        embeddings.association("c", 0.8, **gap, score=-0.4),
    )


@pytest.mark.parametrize("in_short", [False, True])
def test_a_gap_names_no_side_in_findings(gaps, in_short):
    (sentence,) = association_findings(gaps, in_short=in_short)
    assert sentence.startswith("By cosine, smallest gap, association tests name no side: ")
    assert "2 of 3 association tests have two-sided p < 0.05: the targets differ in how far from balance" in sentence
    assert "puts" not in sentence
    assert "different signs" not in sentence


def test_a_gap_names_no_side_in_colours_nor_in_how_sure_it_is(gaps):
    dots = [trace for trace in drawn(association_dots(gaps)).data if trace.showlegend]
    assert {trace.name: list(trace.x) for trace in dots} == {"has no direction": [1.0, -1.0, 0.8]}
    [measure] = association_page.measures({"associations": gaps})
    assert measure.sides.rows.is_empty()
    assert "The smallest gap names no side" in blocks({"associations": gaps}, "associations")[0].text


def test_findings_go_by_cosine_and_mean_where_there_is_such_a_row(ways):
    assert preferred(ways).select("similarity", "statistic").unique().rows() == [("cosine", "mean")]
    others = ways.filter(pl.col("similarity") == "euclidean")
    assert preferred(others).select("similarity", "statistic").unique().rows() == [("euclidean", "median")]


def test_several_models_have_a_sentence_each(embeddings):
    rows = [
        embeddings.association("a", 1.0),
        embeddings.association("b", -1.0),
        embeddings.association("c", 0.4),
        embeddings.association("a", 1.0, half_width=None, of=BERT),
        embeddings.association("a", 1.0, ok=False, of={"model": "dewiki", "language": "de"}),
    ]
    (found,) = association_sections.findings({"associations": embeddings.associations(*rows)})
    assert (
        found.items[0]
        == "enwiki (en): Of 3 association tests, d and its interval lie above 0 in 1 (a) and below 0 in 1 (b)."
    )
    assert found.items[1].startswith("bert (en): 1 of 1 association test has one-sided p < 0.05")
    assert found.items[2].startswith("dewiki (de): No association test could be measured (1 × missing_words).")


def test_an_empty_table_says_so_and_a_missing_one_nothing(embeddings):
    empty = {"associations": embeddings.associations()}
    (found,) = association_sections.findings(empty)
    assert "has none" in found.items[0]
    assert "has none" in blocks(empty, "associations")[0].text
    assert association_page.measures({}) == []


# --- tests ----------------------------------------------------------------------------------------------------------


def test_the_tests_have_stars_words_and_reasons(embeddings):
    rows = [
        embeddings.association("a", 1.0, missing_words=["gnat", "ممرضة"]),
        embeddings.association("b", 0.0, ok=False, status="too_few_words", reason="target_x (insects) has 1 of its 8"),
    ]
    (grid,) = of_kind(Grid, blocks({"associations": embeddings.associations(*rows)}, "associations"))
    sets = ["insects / flowers", "unpleasant / <b>&"]
    assert grid.rows[0] == [
        "a",
        *sets,
        "1.00 [0.50, 1.50]",
        "0.0040**",
        "8 + 16",
        "exact",
        "gnat, \u2068ممرضة\u2069",
    ]
    assert grid.rows[1][3:] == ["–", "–", "8 + 16", "–", "too few words: target_x (insects) has 1 of its 8"]
    assert "exact, where all regroupings were counted" in grid.caption
    assert "Monte Carlo" not in grid.caption


def test_many_lost_words_are_folded_below_the_tests(embeddings):
    many = [f"w{at}" for at in range(7)]
    rows = [
        embeddings.association("a", 1.0, missing_words=many),
        embeddings.association("b", 1.0),
        embeddings.association("c", 0, ok=False),
    ]
    grid, details = blocks({"associations": embeddings.associations(*rows)}, "associations")[2:]
    assert [row[-1] for row in grid.rows][:2] == ["7 words, listed below", "gnat"]
    assert details.blocks[0].rows == [["a", ", ".join(many)], ["c", "gnat"]]


def test_a_p_value_that_is_not_exact_has_its_bounds():
    row = {"p_value": 0.0128, "p_low": 0.012, "p_high": 0.0128, "p_method": "certified"}
    assert p_cell(row) == "0.013* [0.012, 0.013]"
    assert p_cell(row | {"p_method": "exact"}) == "0.013*"
    assert p_cell(dict.fromkeys(row)) == "–"


def test_similarities_and_statistics_are_compared_as_in_the_paper(ways):
    _, euclidean, cosine = of_kind(Grid, blocks({"associations": ways}, "associations"))
    assert euclidean.headings == cosine.headings == ["test", "median", "mean"]
    assert euclidean.rows == [["a", "0.10*", "0.20"], ["b", "0.50*", "0.60"]]
    assert cosine.rows == [["a", "0.30*", "0.40"], ["b", "0.70*", "–"]]


def test_stars_keep_the_digits_below_each_other_and_what_was_not_asked_for_is_empty(embeddings):
    rows = [
        embeddings.association("a", 1.0, p_value=0.0002),
        embeddings.association("b", -1.0, p_value=0.97),
        embeddings.association("a", 0.5, statistic="max", p_value=0.03),
    ]
    *_, grid = of_kind(Grid, blocks({"associations": embeddings.associations(*rows)}, "associations"))
    assert grid.rows == [["a", "1.00***", "0.50*"], ["b", "−1.00\u2004\u2004\u2004", ""]]


def test_the_chart_shows_cosine_and_mean_first(ways):
    (chart,) = of_kind(Chart, blocks({"associations": ways}, "associations"))
    assert list(chart.figures) == ["cosine, mean", "euclidean, median", "euclidean, mean", "cosine, median"]


def test_several_models_are_chosen_in_the_chart_and_folded_below(embeddings, ways):
    other = embeddings.associations(embeddings.association("a", 1.0, of=BERT))
    frames = {
        "associations": pl.concat([ways, other]),
        "association_summary": pl.concat(
            [embeddings.summary({}, {"statistic": "median"}), embeddings.summary({}, of=BERT)]
        ),
    }
    found = blocks(frames, "associations")
    (chart,) = of_kind(Chart, found)
    assert list(chart.figures) == ["enwiki", "bert"]
    (summary,) = of_kind(Grid, found)
    assert [row[:3] for row in summary.rows] == [["enwiki", "cosine", "mean"], ["bert", "cosine", "mean"]]
    details = of_kind(Details, found)
    assert [block.summary for block in details] == ["enwiki: tests one by one", "bert: tests one by one"]
    assert [len(block.blocks) for block in details] == [5, 2], (
        "tests, lost words, summary, and a table for each similarity"
    )


def test_the_summary_counts_significant_tests(embeddings):
    frames = {
        "associations": embeddings.associations(embeddings.association("a", 1.0)),
        "association_summary": embeddings.summary({}),
    }
    _, summary = of_kind(Grid, blocks(frames, "associations"))
    assert summary.rows == [["cosine", "mean", "2", "1", "−0.25 (0.50)", "0.75 (0.12)"]]
    assert "Significant: p < 0.05." in summary.caption


def test_tests_without_any_result_keep_their_table(embeddings):
    found = blocks(
        {"associations": embeddings.associations(embeddings.association("a", 0.0, ok=False))}, "associations"
    )
    assert [type(block) for block in found] == [Paragraph, Grid, Details]
    assert "No association test could be measured (1 × missing_words)" in found[0].text


# --- single words ---------------------------------------------------------------------------------------------------


def test_single_words_are_plotted_against_the_share_of_women(embeddings):
    found = blocks(embeddings.survey(), "wefat")
    (chart,) = of_kind(Chart, found)
    figure = drawn(chart.figures["jobs, cosine"])
    assert list(figure.data[-1].x) == [20.0, 40.0, 50.0, 90.0, 60.0]
    assert list(figure.data[-1].y) == pytest.approx([-1.0, -0.5, 0.0, 0.5, 1.0])
    assert figure.layout.yaxis.title.text == "WEFAT effect size d (positive: female terms)"


def test_their_correlation_is_that_of_the_table(embeddings):
    (grid,) = of_kind(Grid, blocks(embeddings.survey(), "wefat"))
    assert grid.rows == [
        ["enwiki", "cosine", "0.40 [0.30, 0.50]", "0.049", "0.40 [0.30, 0.50]", "1.2\u00a0×\u00a010⁻⁴", "5"],
    ]


def test_single_words_without_result_or_share_say_so(embeddings):
    assert (
        "No word could be measured (5 × missing_words)"
        in blocks({"word_associations": embeddings.word_associations(ok=False)}, "wefat")[0].text
    )
    unknown = embeddings.word_associations().with_columns(pl.lit(None, pl.Float64).alias("percent_women"))
    assert "Fewer than 5 words" in blocks({"word_associations": unknown}, "wefat")[1].text


def test_findings_are_a_list(embeddings):
    assert [type(block) for block in association_sections.findings(embeddings.survey())] == [Bullets]
