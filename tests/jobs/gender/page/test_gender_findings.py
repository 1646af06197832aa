"""What the page says of gender bias in sentences."""

import polars as pl
import pytest

from tiltmeter.jobs.gender.findings import labelled, main_findings, most_alike, on_pairs, strongest_pairs
from tiltmeter.jobs.gender.page import doubts, measures
from tiltmeter.jobs.report.intervals import on_intervals
from tiltmeter.operators.statistics.intervals import IntervalSettings


def said(frames):
    return list(main_findings(labelled(frames)))


def test_findings_name_sides_by_whole_intervals(gender):
    wolof, direct, sides, female, male, alike = said(gender.survey())
    assert wolof == "Nothing can be said of professions in Wolof (wo): no defining pair has both words."
    assert direct.startswith("Direct bias is highest in Arabic (ar) (0.200 [0.190, 0.210]) and lowest in English (en)")
    assert "; their intervals lie apart." in direct
    # The intervals are 0.05 around 0.3, -0.1 and 0.02 in English, and around 0.1 and -0.2 in Arabic.
    assert sides.startswith("Of 5 measured professions, counted once for each of 2 languages, 2 lie on the female side")
    assert "and 2 on the male side" in sides
    assert sides.endswith("for 1 it includes 0.")
    assert female == "On the female side in the most languages, of those that have the word: nurse (2 of 2)."
    assert male.endswith("judge (2 of 2).")
    assert "for 1 and below for 0 of 1 pair of languages; it is highest for Arabic (ar) and English (en)" in alike
    assert "r = 0.90 [0.70, 1.10] over 3 professions" in alike


def test_a_corpus_without_lists_is_named_and_so_is_the_language_of_the_rest(gender):
    corpora = pl.DataFrame({"corpus": ["letters", "enwiki"], "language": ["de", "en"]})
    frames = gender.only("en") | {"corpora": corpora}
    none, direct, sides = said(frames)
    assert none == "The word set has no gendered words of German (de), letters, where nothing was measured."
    assert direct.startswith("Direct bias in English (en) is")
    assert "in English (en), 1 lies on the female side (nurse)" in sides
    [measure] = measures(frames)
    assert {measure.sides.label(row) for row in measure.sides.rows.to_dicts()} >= {"nurse in English (en)"}


def test_wider_intervals_name_fewer_sides(gender):
    frames = gender.survey()
    wide = [(pl.col("bias") + width).alias(f"bias_{end}") for end, width in (("low", -0.15), ("high", 0.15))]
    frames["gender_professions"] = frames["gender_professions"].with_columns(wide)
    sentences = said(frames)
    assert (
        "1 lies on the female side (nurse in English (en)) and 1 on the male side (judge in Arabic (ar))"
        in sentences[2]
    )
    assert not any(text.startswith("On the") for text in sentences), "no profession lies on a side in two languages"


def test_a_bias_beside_its_interval_is_on_no_side(gender):
    frames = gender.survey()
    frames["gender_professions"] = frames["gender_professions"].with_columns(bias=-pl.col("bias"))
    sides = said(frames)[2]
    assert "0 lie on the female side and 0 on the male side" in sides
    assert sides.endswith("for 1 it includes 0; for 4 the numbers contradict each other and name no side.")
    [measure] = measures(frames)
    warning = on_intervals(IntervalSettings(), 32, [measure.sides])[0].text
    assert warning.startswith("4 of 5 biases name no side, because their numbers contradict each other: nurse in ")


def test_direct_bias_outside_of_its_interval_is_told_of_once(gender):
    high = {"direct_bias_low": 0.01, "direct_bias_high": 0.05}
    rows = [gender.language("en", 0.1), *(gender.language(code, 0.2) | high for code in ("ar", "de", "fr"))]
    frames = gender.only("en") | {"gender_languages": gender.languages(*rows)}
    assert "; a number outside of its interval leaves the order open." in said(frames)[0]
    (warning,) = doubts(labelled(frames)["gender_languages"])
    assert warning.text.startswith(
        "Direct bias of the original corpus lies outside of its interval in 3 of 4 languages: "
        "Arabic (ar), German (de) and French (fr)."
    )
    (alone,) = doubts(labelled(frames)["gender_languages"].tail(1))
    assert alone.text == "Direct bias of the original corpus lies outside of its interval in French (fr)."


def test_without_replicas_no_side_is_named(gender):
    frames = gender.only("en")
    none = [pl.lit(None, pl.Float64).alias(f"bias_{end}") for end in ("low", "high")]
    frames["gender_professions"] = frames["gender_professions"].with_columns(none)
    assert said(frames)[1] == (
        "Of 3 measured professions in English (en), none can be put on a side of the gender direction: "
        "without replicas there are no intervals."
    )


def test_intervals_of_direct_bias_that_overlap_are_said_to(gender):
    wide = [gender.language(code, bias, half_width=0.1) for code, bias in (("en", 0.1), ("ar", 0.2))]
    direct, *_ = said(gender.survey() | {"gender_languages": gender.languages(*wide)})
    assert "; their intervals overlap." in direct


def test_one_language_has_its_direct_bias_and_sides(gender):
    direct, sides = said(gender.only("en"))
    assert direct.startswith(
        "Direct bias in English (en) is 0.100 [0.090, 0.110] over 3 professions. As a mean of absolute values"
    )
    assert sides.startswith(
        "Of 3 measured professions in English (en), 1 lies on the female side (nurse) and 1 on the male"
    )


def test_no_two_languages_are_singled_out_if_every_interval_includes_0(gender):
    (text,) = most_alike(gender.correlations({("en", "ar"): 0.1}, {"ar": 0, "en": 1}))
    assert text.endswith("for 0 and below for 0 of 1 pair of languages.")


def test_a_doubtful_direction_is_a_warning_with_its_variances(gender):
    doubt = "the first component of the pairs carries less than 2 times the second's variance"

    def of_languages(*rows):
        return doubts(labelled(gender.only("en") | {"gender_languages": gender.languages(*rows)})["gender_languages"])

    (warning,) = of_languages(gender.language("zh", 0.1, warning=doubt))
    assert warning.tone == "warning"
    text = f"Chinese (zh): {doubt} (first 60%, second 20%)."
    assert warning.text == f"{text} The bias along such a direction says little."
    both = [gender.language(code, 0.1, warning=doubt) for code in ("zh", "de")]
    warning, details = of_languages(*both, gender.language("en", 0.1))
    assert warning.text.startswith("The gender direction is doubtful in 2 of 3 languages.")
    assert details.blocks[0].items[0] == text


def test_the_pair_that_matters_most_is_counted_over_languages(gender):
    strongest = strongest_pairs(labelled(gender.survey())["gender_pairs"])
    assert strongest["pair"].to_list() == ["girl – boy", "woman – man"]
    assert on_pairs(strongest) == (
        "The pair that matters most, with the number of languages in which it does: girl – boy (1), woman – man (1). "
        "The interval of that change holds it and excludes 0 in 1 of 2."
    )


@pytest.mark.parametrize(
    ("half_width", "end"),
    [(0.01, "−0.0200 [−0.0300, −0.0100]."), (0.03, "−0.0200 [−0.0500, 0.0100], an interval that includes 0.")],
)
def test_the_pair_of_one_language_has_its_change(gender, half_width, end):
    rows = gender.pairs(gender.pair("en", "girl-boy", -0.02, half_width))
    assert (
        on_pairs(labelled(gender.only("en") | {"gender_pairs": rows})["gender_pairs"])
        == f"The pair that matters most in English (en) is girl – boy: without it direct bias changes by {end}"
    )
