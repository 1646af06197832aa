"""What the page says of the psychophysics, and where."""

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.psychophysics import page as psychophysics_page
from tiltmeter.jobs.psychophysics import sections as psychophysics_sections
from tiltmeter.jobs.psychophysics.findings import (
    by_cue_pair,
    occupation_findings,
    pooled_findings,
    validation_findings,
)
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Details, Grid, Paragraph
from tiltmeter.jobs.report.intervals import on_intervals
from tiltmeter.operators.statistics.intervals import IntervalSettings

LABELS = ["woman – man", "she – he"]
FARSI = {"model": "fawiki", "language": "fa"}


def blocks(frames, anchor):
    [section] = [section for section in psychophysics_sections.sections(frames) if section.anchor == anchor]
    return section.blocks


def of_kind(kind, found):
    return [block for block in found if isinstance(block, kind)]


def text(found):
    return broken(" ".join(block.text for block in of_kind(Paragraph, found)))


def broken(line):
    """With spaces that break lines."""
    return line.replace("\u00a0", " ")


# --- findings -------------------------------------------------------------------------------------------------------


def test_occupation_findings_count_both_sides(embeddings):
    (coverage,) = occupation_findings(embeddings.psychometrics())
    assert coverage.startswith("5 of 5 occupations could be measured, with 2 of 2 gender cue pairs.")
    outside = embeddings.psychometrics().with_columns(num_outside=pl.lit(3))
    assert occupation_findings(outside)[1].startswith("Of the 320 flips, 30 lie outside of [0, 1], where no mixture")
    assert "In 2 of these 10 combinations the interval of the PSE lies above 0.5" in coverage
    assert "in 2 below" in coverage
    assert coverage.endswith("in 6 it includes 0.5 and names no side.")


def test_a_pse_that_the_original_corpus_contradicts_name_no_side(embeddings):
    rows = embeddings.psychometrics()
    # Of the four rows whose flips lie on a side, two flip there in the original corpus too.
    turned = rows.with_columns(
        flip_original=pl.when(pl.col("cue_1") == "she").then(1.0 - pl.col("pse")).otherwise("pse")
    )
    (coverage,) = occupation_findings(turned)
    assert "In 1 of these 10 combinations" in coverage
    assert coverage.endswith("; in 2 the numbers contradict each other and name no side.")
    [measure] = psychophysics_page.measures({"psychometrics": turned})
    warning = on_intervals(IntervalSettings(), 32, [measure.sides])[0].text
    assert warning.startswith(
        "2 of 10 PSEs name no side, because their numbers contradict each other: guard (she – he)"
    )


def test_a_pooled_pse_beside_its_interval_is_on_no_side(embeddings):
    rows = embeddings.pooled().with_columns(pse=pl.col("pse") + 0.1)
    (sentence,) = pooled_findings(rows)
    assert "above 0.5 for 0 of 5 occupations and below for 0; for 4 the numbers contradict each other" in sentence


def test_a_correlation_beside_its_interval_or_around_0_has_no_direction(embeddings):
    beside = embeddings.correlation("pse", "share_men", 0.6, pearson_low=-0.5, pearson_high=-0.1)
    (sentence,) = validation_findings(embeddings.validation(beside))
    assert sentence.endswith(": it lies outside of its interval.")
    around = embeddings.correlation("pse", "share_men", 0.6, pearson_low=-0.1)
    (sentence,) = validation_findings(embeddings.validation(around))
    assert sentence.endswith(": its interval includes 0.")


@pytest.mark.parametrize("width", [0.001, 0.05, 0.149])
def test_monte_carlo_error_names_no_side(embeddings, width):
    ends = (("low", -width), ("high", width))
    narrow = [(pl.col("pse") + reach).alias(f"pse_monte_carlo_{end}") for end, reach in ends]
    rows = embeddings.psychometrics()
    assert occupation_findings(rows.with_columns(narrow)) == occupation_findings(rows)


def test_a_pair_without_gender_is_told_of_by_its_cues(embeddings):
    other = embeddings.psychometrics(pairs=(("love", "hate"),), is_gender=False)
    words, sides = occupation_findings(other)
    assert words == "5 of 5 occupations could be measured."
    assert "on the side of “love” for 1 of 5 occupations (“<b>&”) and on that of “hate” for 1 (“guard”)" in sides
    assert "male" not in words + sides
    both = occupation_findings(pl.concat([embeddings.psychometrics(), other]))
    assert "with 2 of 2 gender cue pairs. In 2 of these 10" in both[0]
    assert both[1] == sides


def test_pooled_findings_name_the_ends_and_count_the_intervals(embeddings):
    (sentence,) = pooled_findings(embeddings.pooled())
    assert "highest for “<b>&” (PSE 0.710 [0.660, 0.760]) and lowest for “guard” (PSE 0.310 [0.260, 0.360])" in sentence
    # 0.61 and 0.71 lie 0.05 and more above 0.5, 0.31 and 0.41 below; 0.51 does not.
    assert (
        "it lies above 0.5 for 2 of 5 occupations (“<b>&” and “nurse”) and below for 2 (“guard” and “cook”)."
        in sentence
    )
    assert pooled_findings(embeddings.pooled(ok=False)) == []


def test_the_sign_against_the_share_of_men_is_explained(embeddings):
    (usual,) = validation_findings(embeddings.validation(*embeddings.held_against()))
    assert "Over 5 occupations, pooled PSE and the share of men have Pearson r = −0.60 [−0.70, −0.50]" in usual
    assert "(p = 0.049): negative, as where the vectors follow the labour market." in broken(usual)
    (other,) = validation_findings(embeddings.validation(embeddings.correlation("pse", "share_men", 0.3)))
    assert "would make it negative" in other
    (vague,) = validation_findings(
        embeddings.validation(embeddings.correlation("pse", "share_men", -0.3, pearson_p=0.05))
    )
    assert vague.endswith("0.050): chance explains as much.")


def test_both_ends_show_the_pair_that_goes_furthest(embeddings):
    (grid,) = psychophysics_sections.both_ends(embeddings.pooled(), embeddings.psychometrics())
    assert [row[0] for row in grid.rows] == [embeddings.TAGGED, "nurse", "cook", "guard"]
    assert grid.rows[0][1:] == ["0.710 [0.660, 0.760]", "2", "60%", "she – he", "0.720 [0.570, 0.870]"]
    assert grid.rows[-1][-2:] == ["woman – man", "0.300 [0.150, 0.450]"]
    assert psychophysics_sections.both_ends(embeddings.pooled(words={"cook": 40.0}), embeddings.psychometrics()) == []


def test_findings_of_one_model_are_a_list_and_its_ends_a_table(embeddings):
    (sentences,) = psychophysics_sections.findings(embeddings.survey())
    assert len(sentences.items) == 3
    assert blocks(embeddings.survey(), "pooled")[-1].headings[:2] == ["occupation", "pooled PSE"]


def test_findings_of_several_models_are_a_line_each_and_the_rest_folded(embeddings):
    frames = embeddings.together(embeddings.survey(), embeddings.survey(of=FARSI))
    short, *details = psychophysics_sections.findings(frames)
    assert [item.split(":")[0] for item in short.items] == ["enwiki (en)", "fawiki (fa)"]
    assert [block.summary for block in details] == [
        f"{model}: cue pair by cue pair" for model in ("enwiki (en)", "fawiki (fa)")
    ]
    assert [type(block) for block in details[0].blocks] == [Bullets]
    *_, ends = blocks(frames, "pooled")
    assert ends.summary == "fawiki (fa): occupations at both ends"


def test_findings_say_why_there_are_none(embeddings):
    (first,) = psychophysics_sections.findings(embeddings.survey(ok=False))
    assert first.items == [
        "No occupation could be measured (10 × missing_words). The first one says: not in the vocabulary: 'x'."
    ]


# --- sections -------------------------------------------------------------------------------------------------------


def test_the_sections_come_in_order_and_go_with_their_tables(embeddings):
    frames = embeddings.survey()
    anchors = ["curves", "occupations", "pooled", "validation", "comparison"]
    assert [section.anchor for section in psychophysics_sections.sections(frames)] == anchors
    few = {"psychometrics": frames["psychometrics"]}
    assert [section.anchor for section in psychophysics_sections.sections(few)] == ["occupations"]
    assert psychophysics_page.measures({}) == []


def test_where_nothing_is_measured_there_is_a_sentence_and_no_chart(embeddings):
    (section,) = psychophysics_sections.sections(embeddings.survey(ok=False))
    assert "No occupation could be measured (10 × missing_words)." in text(section.blocks)


def test_a_corpus_without_occupations_is_told_of_and_the_other_named(embeddings):
    corpora = pl.DataFrame({"corpus": ["enwiki", "dewiki"], "language": ["en", "de"]})
    frames = embeddings.survey() | {"corpora": corpora}
    short, details = psychophysics_sections.findings(frames)
    assert short.items[0].startswith("enwiki (en): Pooled over the gender cue pairs")
    assert short.items[1] == "dewiki (de): No occupation was asked for: the word set has none."
    assert details.summary == "enwiki (en): cue pair by cue pair"
    (pooled,) = [block for block in blocks(frames, "pooled") if isinstance(block, Chart)]
    assert (pooled.question, list(pooled.figures)) == ("Model", ["enwiki (en)"])
    assert {label.partition(": ")[0] for label in blocks(frames, "curves")[-1].figures} == {"enwiki (en)"}


def test_curves_and_dots_are_chosen_by_model_and_cue_pair(embeddings):
    one = embeddings.survey()
    for anchor in ("curves", "occupations"):
        assert list(blocks(one, anchor)[-1].figures) == LABELS
    several = embeddings.together(one, embeddings.survey(of=FARSI))
    labels = [f"{model}: {label}" for model in ("enwiki (en)", "fawiki (fa)") for label in LABELS]
    assert list(blocks(several, "curves")[-1].figures) == labels
    (pooled,) = [block for block in blocks(several, "pooled") if isinstance(block, Chart)]
    assert list(pooled.figures) == ["enwiki (en)", "fawiki (fa)"]


def test_the_curves_of_a_model_are_made_of_its_own_points(embeddings):
    frames = embeddings.together(embeddings.survey(), embeddings.survey(of=FARSI))
    charts = blocks(frames, "curves")[-1].figures
    alone = blocks(embeddings.survey(), "curves")[-1].figures
    assert drawn(charts["fawiki (fa): she – he"]) == drawn(alone["she – he"])


def test_the_standard_deviations_say_what_matters_more(embeddings):
    # 0.06 between pairs, and between replicas 0.03 in all pairs alike and 0.01 beyond: sqrt(0.0009 + 0.0001) = 0.0316.
    found = text(blocks(embeddings.survey(), "pooled"))
    assert "of 0.060 between cue pairs, and of 0.032 between the replicas of one pair; the part that all" in found
    assert "So which words stand for the two sides matters more here" in found
    swapped = embeddings.survey() | {
        "pooled_psychometrics": embeddings.pooled().with_columns(pl.lit(0.01).alias("sd_pairs"))
    }
    assert "which lines are in the corpus matters at least as much" in text(blocks(swapped, "pooled"))


def test_pooled_says_why_there_is_nothing(embeddings):
    frames = embeddings.survey() | {"pooled_psychometrics": embeddings.pooled(ok=False)}
    assert "No occupation with gender cue pairs could be measured (5 × missing_words)." in text(
        blocks(frames, "pooled")
    )


def test_validation_has_a_row_for_each_pair_and_one_for_all(embeddings):
    of_pse, of_jnd = of_kind(Grid, blocks(embeddings.survey(), "validation"))
    pair = ["−0.50 [−0.60, −0.40]", "0.049", "−0.50 [−0.60, −0.40]", "1.2\u00a0×\u00a010⁻⁴", "5"]
    assert of_pse.rows[:2] == [[label, *pair] for label in LABELS]
    assert of_pse.rows[2][:2] == ["all gender cue pairs", "−0.60 [−0.70, −0.50]"]
    assert of_jnd.rows == [[label, "0.25", "0.049", "0.25", "1.2\u00a0×\u00a010⁻⁴", "5"] for label in LABELS]


def test_validation_names_the_figures_of_the_paper_and_the_sign(embeddings):
    found = text(blocks(embeddings.survey(), "validation"))
    assert "+0.368 (p = 0.049) for PSE, which presumably is −0.368 by this sign, and 0.401 (p = 0.031) for JND" in found
    assert "JND with its dispersion √(p(1 − p))" in found
    assert "give a negative correlation of PSE with the share of men" in found


def test_a_correlation_without_a_result_says_why_and_shows_no_number(embeddings):
    lack = {"status": "too_few_occupations", "reason": "2 occupations have both, 3 are needed", "num_occupations": 2}
    rows = embeddings.validation(embeddings.correlation("pse", "share_men", 1.0, **lack))
    (grid,) = of_kind(Grid, blocks(embeddings.survey() | {"validation": rows}, "validation"))
    assert grid.rows == [["all gender cue pairs", "–", "–", "–", "–", "2", lack["reason"]]]


def test_several_models_are_compared_over_all_pairs_and_unfolded_one_by_one(embeddings):
    found = blocks(embeddings.together(embeddings.survey(), embeddings.survey(of=FARSI)), "validation")
    (grid,) = of_kind(Grid, found)
    assert [row[:2] for row in grid.rows] == [
        [model, "−0.60 [−0.70, −0.50]"] for model in ("enwiki (en)", "fawiki (fa)")
    ]
    details = of_kind(Details, found)
    assert [block.summary for block in details] == [
        "enwiki (en): cue pairs one by one",
        "fawiki (fa): cue pairs one by one",
    ]
    assert [len(grid.rows) for grid in details[0].blocks] == [3, 2]


def test_pairs_without_gender_are_shown_but_not_validated(embeddings):
    other = embeddings.psychometrics(pairs=(("love", "hate"),), is_gender=False)
    rows = pl.concat([embeddings.psychometrics(), other])
    frames = embeddings.survey() | {"psychometrics": rows, "psychometric_points": embeddings.points(rows)}
    assert list(blocks(frames, "curves")[-1].figures) == [*LABELS, "love – hate"]
    assert list(blocks(frames, "validation")[-1].figures) == ["all gender cue pairs", *LABELS]


def test_fewer_than_five_occupations_make_no_scatter_plot(embeddings):
    words = dict(list(embeddings.SHARES.items())[:4])
    frames = embeddings.survey() | {
        "psychometrics": embeddings.psychometrics(words=words),
        "pooled_psychometrics": embeddings.pooled(words=words),
    }
    found = blocks(frames, "validation")
    assert of_kind(Chart, found) == []
    assert "Fewer than 5 occupations with a share of women" in text(found)


def test_without_shares_there_is_nothing_to_hold_pse_against(embeddings):
    found = blocks(embeddings.survey() | {"validation": embeddings.validation()}, "validation")
    assert "The word set has no shares of women and men" in text(found)


# --- beside WEAT and WEFAT ------------------------------------------------------------------------------------------


def test_the_comparison_answers_with_numbers(embeddings):
    found = text(blocks(embeddings.survey(), "comparison"))
    assert "have Spearman ρ = 0.80 [0.70, 0.90] (p = 1.2 × 10⁻⁴) and Pearson r = 0.90 [0.80, 1.00]" in found
    assert "so 64% of the variance of their ranks is in common" in found
    assert "PSE has r = −0.60 [−0.70, −0.50] (p = 0.049) and WEFAT has r = −0.40 [−0.50, −0.30]" in found
    assert "PSE follows the labour market more closely, but the intervals overlap." in found
    assert (
        "WEAT between insects and flowers, with unpleasant and <b>&: d = 0.70 [0.20, 1.20], one-sided p = 0.0040"
        in (found)
    )


@pytest.mark.parametrize(
    ("wefat", "verdict"),
    [
        (-0.9, "WEFAT follows the labour market more closely, and the intervals lie apart."),
        (-0.1, "PSE follows the labour market more closely, and the intervals lie apart."),
    ],
)
def test_the_nearer_measure_is_the_more_negative_one(embeddings, wefat, verdict):
    rows = embeddings.validation(
        embeddings.correlation("pse", "share_men", -0.6),
        embeddings.correlation("wefat", "share_men", wefat, similarity="cosine"),
    )
    assert verdict in text(blocks(embeddings.survey() | {"validation": rows}, "comparison"))


def test_the_nearer_measure_is_not_the_one_whose_numbers_contradict_each_other(embeddings):
    rows = embeddings.validation(
        embeddings.correlation("pse", "share_men", -0.6, pearson_low=-0.3, pearson_high=-0.1),
        embeddings.correlation("wefat", "share_men", -0.4, similarity="cosine"),
    )
    found = text(blocks(embeddings.survey() | {"validation": rows}, "comparison"))
    assert "WEFAT follows the labour market, and that PSE does is not sure. WEAT" in found


@pytest.mark.parametrize(("lower", "p"), [(0.1, 0.001), (-0.1, 0.5)])
def test_neither_follows_where_both_are_positive_or_chance_explains_as_much(embeddings, lower, p):
    rows = embeddings.validation(
        embeddings.correlation("pse", "share_men", 0.2),
        embeddings.correlation("wefat", "share_men", lower, pearson_p=p),
    )
    assert "neither follows the labour market" in text(blocks(embeddings.survey() | {"validation": rows}, "comparison"))


def test_an_order_that_chance_explains_is_not_claimed(embeddings):
    rows = embeddings.validation(embeddings.correlation("pse", "wefat", 0.3, spearman_p=0.2))
    assert "no common order can be told" in text(blocks(embeddings.survey() | {"validation": rows}, "comparison"))


def test_occupations_are_plotted_by_both_measures(embeddings):
    (chart,) = of_kind(Chart, blocks(embeddings.survey(), "comparison"))
    dots = drawn(chart.figures["enwiki"]).data[-1]
    assert list(dots.x) == pytest.approx([-1.0, -0.5, 0.0, 0.5, 1.0])
    assert list(dots.y) == pytest.approx([0.31, 0.41, 0.51, 0.61, 0.71])


def test_without_wefat_there_is_no_comparison(embeddings):
    frames = embeddings.survey() | {
        "validation": embeddings.validation(embeddings.correlation("pse", "share_men", -0.6))
    }
    del frames["word_associations"]
    assert "comparison" not in [section.anchor for section in psychophysics_sections.sections(frames)]


def test_cue_pairs_keep_the_order_of_the_table(embeddings):
    assert list(by_cue_pair(embeddings.psychometrics())) == LABELS
