"""The sections on gender bias, in one language and across several."""

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.gender.findings import labelled
from tiltmeter.jobs.gender.page import measures
from tiltmeter.jobs.gender.sections import sections
from tiltmeter.jobs.gender.words import counts_by_gender, occurrences
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Details, Grid, Page


def findings(frames):
    (measure,) = measures(frames)
    return measure.findings


def anchors(frames):
    return [section.anchor for section in sections(labelled(frames))]


def blocks_of(frames, anchor, kind):
    (section,) = [section for section in sections(labelled(frames)) if section.anchor == anchor]
    return [block for block in section.blocks if isinstance(block, kind)]


# --- which sections there are ---------------------------------------------------------------------------------------


def test_sections_follow_the_questions(gender):
    asked = ["gender-direction", "professions", "direct-bias", "left-out", "alike", "original-lists", "gender-words"]
    asked.append("not-given")
    assert anchors(gender.survey()) == asked


def test_one_language_has_no_comparison_of_languages(gender):
    frames = gender.only("en")
    asked = ["gender-direction", "professions", "direct-bias", "left-out", "original-lists", "gender-words"]
    assert anchors(frames) == asked
    charts = {anchor: [len(chart.figures) for chart in blocks_of(frames, anchor, Chart)] for anchor in anchors(frames)}
    assert charts["gender-direction"] == charts["professions"] == charts["left-out"] == [1]
    assert charts["direct-bias"] == charts["gender-words"] == []


def test_without_any_direction_the_reason_stands_in_its_place(gender):
    frames = gender.only("wo")
    (bullets,) = findings(frames)
    assert bullets.items == [
        "No gender direction could be measured (1 × no_direction). The first one says: no defining pair has both words."
    ]
    assert anchors(frames) == ["gender-direction", "gender-words", "not-given"]
    assert not any(blocks_of(frames, anchor, Chart) for anchor in anchors(frames))


def test_without_a_word_list_there_is_a_sentence(gender):
    frames = {name: rows.clear() for name, rows in gender.only("en").items()}
    assert anchors(frames) == ["gender-direction"]
    assert findings(frames)[0].items == ["No gender direction was asked for: the word set has none."]


def test_a_direction_is_shown_even_if_no_profession_has_a_vector(gender):
    frames = gender.only("en")
    for name in ("gender_languages", "gender_professions", "gender_pairs"):
        frames[name] = frames[name].with_columns(status=pl.lit("no_professions"), reason=pl.lit("there are none"))
    assert anchors(frames) == ["gender-direction", "professions", "original-lists", "gender-words", "not-given"]
    (paragraph,) = blocks_of(frames, "professions", object)
    assert "No profession could be measured" in paragraph.text


# --- what they show -------------------------------------------------------------------------------------------------


def test_choosers_name_languages_in_the_order_of_the_table(gender):
    words, _ = blocks_of(gender.survey(), "gender-direction", Chart)
    assert words.question == "Language"
    assert list(words.figures) == ["English (en)", "Arabic (ar)"]
    assert len({tuple(figure.layout["xaxis"]["range"]) for figure in words.figures.values()}) == 1
    (changes,) = blocks_of(gender.survey(), "left-out", Chart)
    assert list(changes.figures) == ["all languages", "English (en)", "Arabic (ar)"]


def test_models_are_named_where_a_language_has_several(gender):
    frames = gender.only("en")
    twice = {name: pl.concat([rows, rows.with_columns(model=pl.lit("glove"))]) for name, rows in frames.items()}
    words, _ = blocks_of(twice, "gender-direction", Chart)
    assert words.question == "Model"
    assert list(words.figures) == ["English (en), enwiki", "English (en), glove"]
    assert blocks_of(twice, "direct-bias", Grid)[0].headings[0] == "model"


def test_components_are_given_with_their_intervals(gender):
    (grid,) = blocks_of(gender.survey(), "gender-direction", Grid)
    words, shares = ["0.35 [0.30, 0.40]", "−0.25 [−0.30, −0.20]"], ["0.60 [0.55, 0.65]", "0.20 [0.15, 0.25]"]
    assert grid.rows[0] == ["English (en)", *words, *shares, "0.40 [0.35, 0.45]", "2", "clear"]


def test_a_doubtful_direction_is_marked(gender):
    doubtful = gender.languages(gender.language("en", 0.1, warning="it rests on 2 of 7 pairs"))
    (grid,) = blocks_of(gender.only("en") | {"gender_languages": doubtful}, "gender-direction", Grid)
    assert grid.rows[0][-1] == "doubtful"


def test_professions_of_two_languages_are_compared(gender):
    across, each = blocks_of(gender.survey(), "professions", Chart)
    # The third profession has a result in English only.
    assert across.caption.startswith("All 2 professions that at least two languages have")
    assert drawn(across.figures["bias"]).layout.yaxis.ticktext == ("nurse", "judge")
    assert len(drawn(each.figures["English (en)"]).layout.yaxis.ticktext) == 3


def test_of_many_professions_both_ends_are_shown(gender):
    many = {f"job {at}": at / 1000 for at in range(41)}
    words = [gender.word("en", "professions", name, name, "neutral", bias) for name, bias in many.items()]
    frames = gender.only("en") | {
        "gender_professions": gender.professions(*(gender.profession("en", name, bias) for name, bias in many.items())),
        "gender_words": gender.words(*gender.defining("en"), *words),
    }
    (chart,) = blocks_of(frames, "professions", Chart)
    labels = drawn(chart.figures["English (en)"]).layout.yaxis.ticktext
    assert [labels[at] for at in (0, 14, 15, -1)] == ["job 0", "job 14", "job 26", "job 40"]
    assert chart.caption.startswith("The 15 highest and 15 lowest of 41 measured professions.")
    german = {name: rows.with_columns(model=pl.lit("dewiki"), language=pl.lit("de")) for name, rows in frames.items()}
    both = {name: pl.concat([rows, german[name]]) for name, rows in frames.items()}
    across, _ = blocks_of(both, "professions", Chart)
    labels = drawn(across.figures["bias"]).layout.yaxis.ticktext
    assert [labels[at] for at in (0, 14, 15, -1)] == ["job 40", "job 26", "job 14", "job 0"], "from the top"


def test_bias_is_held_against_frequency(gender):
    rising = [gender.profession("en", name, 0.1 * at) | {"count": 5**at} for at, name in enumerate("abc")]
    frames = gender.only("en") | {"gender_professions": gender.professions(*rising)}
    (note,) = [block for block in blocks_of(frames, "professions", object) if getattr(block, "tone", "") == "note"]
    assert note.text.startswith("How often a profession occurs and its bias have Spearman ρ = 1.00 in English (en).")


def test_direct_bias_and_the_strongest_pair_are_given_by_language(gender):
    direct, means = blocks_of(gender.survey(), "direct-bias", Grid)
    by_weights = ["0.200 [0.190, 0.210]", "0.220 [0.210, 0.230]", "0.230 [0.220, 0.240]"]
    assert direct.rows[1] == ["Arabic (ar)", *by_weights, "3", "2", "0.300 [0.290, 0.310]"]
    weights = ["forms weighted by count", "every form weighted equally", "every gender weighted equally"]
    assert direct.headings[1:4] == means.headings[1:] == weights
    signed = ["−0.100 [−0.150, −0.050]", "−0.050 [−0.100, 0.000]", "0.050 [0.000, 0.100]"]
    assert means.rows[1] == ["Arabic (ar)", *signed]
    (strongest,) = blocks_of(gender.survey(), "left-out", Grid)
    assert strongest.rows[0][:3] == ["English (en)", "girl – boy", "−0.0200 [−0.0250, −0.0150]"]


def test_the_gap_without_wife_and_husband_is_held_against_that_without_another_pair(gender):
    frames = gender.survey()
    pairs = gender.pairs(
        *(gender.pair("en", "wife-husband", 0.0, gap=0.7), gender.pair("en", "girl-boy", 0.0, gap=0.3))
    )
    frames["gender_pairs"] = pl.concat([frames["gender_pairs"].filter(pl.col("pair") != "girl-boy"), pairs])
    _, grid = blocks_of(frames, "left-out", Grid)
    # Without woman – man it is 0.5, without girl – boy 0.3.
    assert grid.rows[0] == ["English (en)", "0.400 [0.350, 0.450]", "0.700 [0.650, 0.750]", "0.400"]
    assert grid.rows[1] == ["Arabic (ar)", "0.400 [0.350, 0.450]", "–", "0.500"]


def test_the_original_lists_are_tested_against_those_of_the_survey(gender):
    (grid,) = blocks_of(gender.survey(), "original-lists", Grid)
    means = ["0.020 [−0.030, 0.070]", "0.010 [−0.040, 0.060]"]
    assert grid.rows[0][:4] == ["English (en)", "bias", *means]
    assert grid.rows[0][5:] == ["34.2", "0.62", "0.800 [0.750, 0.850]"]
    assert [row[1] for row in grid.rows] == ["bias", "size"]


def test_what_has_no_result_is_listed_with_the_reason(gender):
    (grid,) = blocks_of(gender.survey(), "not-given", Grid)
    reason = "no defining pair has both words"
    assert grid.rows == [
        ["Wolof (wo)", "language", "1", "–", reason],
        ["Arabic (ar)", "profession", "1", gender.TAGGED, "not in the vocabulary: 'x'"],
        ["Wolof (wo)", "profession", "3", f"nurse, judge, {gender.TAGGED}", reason],
        ["Wolof (wo)", "pair", "1", "woman – man", reason],
    ]


# --- words ----------------------------------------------------------------------------------------------------------


def test_a_word_that_stands_in_two_pairs_counts_once(gender):
    counted = counts_by_gender(labelled(gender.survey())["gender_words"])
    arabic = {row["list"]: row for row in counted.filter(pl.col("language") == "ar").to_dicts()}
    # One woman's word in both pairs and two men's, 10 times each.
    assert [arabic["defining"][name] for name in ("feminine", "masculine", "neutral")] == [10, 20, 0]
    assert arabic["defining"]["share"] == pytest.approx(1 / 3)
    assert [arabic["professions"][name] for name in ("feminine", "masculine", "neutral")] == [1, 30, 10]
    assert "wo" not in counted["language"].to_list(), "no count is known"


def test_counts_are_shares_in_the_chart_and_numbers_in_the_grid(gender):
    chart, grid, _ = blocks_of(gender.survey(), "gender-words", Chart | Grid)
    feminine, masculine, _ = drawn(chart.figures["forms of professions"]).data
    assert list(feminine.x) == pytest.approx([0.0, 1 / 41])
    assert masculine.customdata[1] == "<b>Arabic (ar)</b><br>masculine: 30"
    assert grid.rows[:2] == [
        ["English (en)", "forms of professions", "0", "0", "30", "–"],
        ["Arabic (ar)", "forms of professions", "1", "30", "10", "3.2%"],
    ]


def test_forms_of_professions_are_given_as_a_share_of_the_corpus(gender):
    *_, grid = blocks_of(gender.survey(), "gender-words", Grid)
    assert grid.rows == [["English (en)", "0.026%"], ["Arabic (ar)", "0.026%"]]


def test_missing_words_and_notes_are_kept_for_those_who_ask(gender):
    missing, notes = blocks_of(gender.survey(), "gender-words", Details)
    assert missing.summary == "Wolof (wo): 1 of 1 listed word has no vector"
    assert missing.blocks == [Bullets(["nurse (fajkat)"])]
    assert notes.blocks == [Bullets(["nurse (fajkat): a healer too."])]


def test_forms_that_share_a_note_have_it_once(gender):
    rows = [gender.word("en", "professions", "actor", text, "neutral", note="of both") for text in ("actor", "player")]
    frames = labelled(gender.only("en") | {"gender_words": gender.words(*rows)})
    *_, details = occurrences(frames["gender_words"])
    assert details.blocks == [Bullets(["actor (actor, player): of both."])]


# --- the page -------------------------------------------------------------------------------------------------------


def test_every_word_is_escaped(gender, html_of):
    page = Page("", {}, findings(gender.survey()), sections(labelled(gender.survey())))
    assert gender.TAGGED not in html_of(page)
