"""What the page of `gender_adversary` says, and what it does not show."""

import numpy as np
import polars as pl
import pytest

from tests.fixtures.tables.adversary import attacked
from tiltmeter.jobs.adversary.page.findings import asymmetries, doubts, headline, released, unfairness
from tiltmeter.jobs.adversary.page.page import _chart
from tiltmeter.jobs.adversary.page.passages import masked, passages
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import TooFew, each

FRAMES = Frames({name: pl.LazyFrame(pl.from_arrow(table)) for name, table in attacked().items()})
SUMMARY = FRAMES["summary"]
P_ADJUSTED = pl.col("p_adjusted").is_not_null()


def test_the_page_leads_with_the_excess_also_when_it_is_nothing():
    first, *_ = headline(SUMMARY, 99)
    for part in (
        "14.0% of 200 verdicts",
        "−2.0 points [−6.0, 3.0]",
        "p = 0.80",
        "p = 1.0 after Holm",
        "With 99 controls and 2 tests p could have come down to 0.02: that is no evidence",
    ):
        assert part in first.replace("\xa0", " ")
    assert len(list(headline(SUMMARY, 99))) == 2


def test_what_could_not_have_been_shown_is_no_lack_of_evidence():
    for sentence in headline(SUMMARY, 9):
        assert "With 9 controls and 2 tests no p-value could have been below 0.2" in sentence
        assert "no evidence" not in sentence


def test_gender_is_named_only_where_the_adjusted_p_value_and_the_shares_say_so():
    sure = SUMMARY.with_columns(p_adjusted=pl.when(P_ADJUSTED).then(0.05), excess=pl.col("excess").abs())
    assert "only 40% of the fall" in next(headline(sure, 99))
    assert "Gender matters: 90%" in next(headline(sure.with_columns(definitional_share=0.8), 99))


@pytest.mark.parametrize(("at_equal_size", "named"), [(0.6, False), (0.05, True)])
def test_where_controls_lack_words_gender_is_named_at_equal_size_only(at_equal_size, named):
    sure = SUMMARY.with_columns(p_adjusted=pl.when(P_ADJUSTED).then(0.01), definitional_share=0.8)
    fewer = sure.with_columns(mean_control_candidates=0.9 * pl.col("mean_candidates"), size_p_value=at_equal_size)
    sentence = next(headline(fewer, 99))
    assert ("Gender matters" in sentence) == named
    assert ("controls have fewer words to choose from, and at equal size p" in sentence) != named


@pytest.mark.parametrize(
    ("by_texts", "adjusted", "control", "named"),
    [(0.001, 0.002, 0.02, True), (0.001, 0.06, 0.02, False), (0.001, 0.002, 0.06, False), (0.001, 0.002, None, False)],
)
def test_a_side_is_named_only_if_texts_after_holm_and_controls_say_so(by_texts, adjusted, control, named):
    columns = {"asymmetry_p": by_texts, "asymmetry_p_adjusted": adjusted, "asymmetry_control_p": control}
    rows = SUMMARY.filter(direction="pair_to_female").with_columns(
        **{name: pl.lit(value, pl.Float64) for name, value in columns.items()}, asymmetry=0.2
    )
    [sentence] = asymmetries(rows)
    assert ("with more flips to women" in sentence) == named
    assert ("names neither" in sentence) != named
    assert f"p = {adjusted:#.2g}".rstrip("0") in sentence.replace("\xa0", " ")
    assert ("no controls" in sentence) == (control is None)
    other = next(asymmetries(rows.with_columns(asymmetry=-0.2)))
    assert ("with more flips to men" in other) == named


def test_where_too_few_texts_differ_the_sentence_says_how_many():
    reason = "asymmetry: " + TooFew(3, 6, "text that differs").reason
    rows = SUMMARY.with_columns(asymmetry_p=pl.lit(None, pl.Float64), reason=pl.lit(f"excess: none; {reason}"))
    for sentence in asymmetries(rows):
        assert 'no test, as there is too little to go by: 3 of the unit "text that differs", and 6' in sentence
        assert "names neither" in sentence


def test_texts_without_gendered_words_are_counted_apart():
    """Of 40, 31 have none: the share is of 9, and its interval is as wide as theirs."""
    found = share(np.zeros(9), each(9, "text"), level=0.95)
    row = {"search": "swap", "num_texts": 40, "flip_rate": 0.0, "num_changeable": 9}
    row |= {"changeable_rate": 0.0, "changeable_rate_low": found.low, "changeable_rate_high": found.high}
    rows = SUMMARY.filter(stratum="all", direction="swap_to_male", search="ladder")
    [sentence] = unfairness(rows.with_columns(**{name: pl.lit(value) for name, value in row.items()}))
    assert "0.0% [0.0%, 33.6%] of 9 verdicts on texts that have a word to swap flip" in sentence
    assert "31 other texts can't change" in sentence
    none = rows.with_columns(search=pl.lit("swap"), num_changeable=0)
    assert "200 texts, and none has a word to swap, so that nothing was tried" in next(unfairness(none))


@pytest.mark.parametrize(
    ("difference", "p_value", "verdict"),
    [(0.2, 0.001, "seen here, with no controls"), (-0.2, 0.001, "the reverse"), (0.2, 0.3, "not seen here")],
)
def test_the_claim_of_the_project_is_held_against_its_own_search(difference, p_value, verdict):
    columns = {"asymmetry": difference, "asymmetry_p": p_value, "asymmetry_p_adjusted": p_value}
    rows = SUMMARY.filter(stratum="all", search="greedy").with_columns(
        **{name: pl.lit(value) for name, value in columns.items()}
    )
    [sentence] = released(rows)
    assert "14.0% of the verdicts flip to women, 14.0% to men" in sentence
    assert verdict in sentence


def test_what_is_open_and_unequal_chances_are_doubts():
    told = " ".join(doubts(SUMMARY, 9))
    assert "With 9 controls and 2 tests no p-value after Holm is below 0.2" in told
    assert "Of 8 texts it is open" in told
    assert "fewer chances" not in told
    fewer = SUMMARY.with_columns(mean_control_candidates=0.9 * pl.col("mean_candidates"))
    assert "fewer chances; read the excess at equal size" in " ".join(doubts(fewer, 9))


@pytest.mark.parametrize(("mask", "shown"), [(True, "K•••,"), (False, "King,")])
def test_what_changed_is_coloured_and_slurs_are_masked_unless_told_otherwise(configured, mask, shown):
    settings = ["report.slurs=[king]", f"report.mask={str(mask).lower()}"]
    config = configured("job=gender_adversary", "data.path=a.csv", *settings).report
    [found] = passages(config, FRAMES)
    [[before, after]] = found.rows
    assert [token.text for token in before.tokens] == ["The", "<b>damned</b>", shown, "she", "said"]
    assert [token.weight for token in before.tokens] == [0, 0, -1.0, 0, 0]
    assert (after.tokens[2].text, after.tokens[2].weight, after.tokens[2].number) == ("Queen,", 1.0, "100%")
    assert ("masked" in found.caption) == mask


def test_usual_slurs_are_masked_in_any_form(configured):
    slurs = configured("job=gender_adversary", "data.path=a.csv").report.slurs
    assert masked("BITCHES!", slurs) == "B••••••!"
    assert masked("hello", slurs) == "hello"
    assert masked("stupid-bitch&#8221;bitches", slurs) == "stupid-b••••&#8221;b••••••"


@pytest.mark.parametrize(("mask", "expected"), [(True, "k••• − house"), (False, "king − house")])
def test_slurs_among_the_words_of_controls_are_masked_as_well(configured, mask, expected):
    settings = ["report.slurs=[king]", f"report.mask={str(mask).lower()}"]
    config = configured("job=gender_adversary", "data.path=a.csv", *settings)
    controls = pl.DataFrame(FRAMES["controls"]).with_columns(words=pl.lit("king − house"))
    overall = SUMMARY.filter(stratum="all", search="ladder")
    chart = _chart(config, Frames({"controls": controls.lazy()}), overall)
    written = str(chart.figures)
    assert expected in written
    assert ("king" in written) != mask


def test_without_controls_none_are_spoken_of():
    bare = SUMMARY.with_columns(p_value=pl.lit(None, pl.Float64))
    assert "no p-value" not in " ".join(doubts(bare, 9))
