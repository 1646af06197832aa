"""What the page of `gender_adversary` says, and what it does not show."""

import polars as pl
import pytest

from tests.fixtures.tables.adversary import attacked
from tiltmeter.jobs.adversary.page.findings import asymmetries, doubts, headline
from tiltmeter.jobs.adversary.page.page import _chart
from tiltmeter.jobs.adversary.page.passages import masked, passages
from tiltmeter.jobs.runtime.published import Frames

FRAMES = Frames({name: pl.LazyFrame(pl.from_arrow(table)) for name, table in attacked().items()})
SUMMARY = FRAMES["summary"]
P_ADJUSTED = pl.col("p_adjusted").is_not_null()


def test_the_page_leads_with_the_excess_also_when_it_is_nothing():
    first, *_ = headline(SUMMARY)
    for part in (
        "14.0% of 200 verdicts",
        "−2.0 points [−6.0, 3.0]",
        "p = 0.80",
        "p = 1.0 after Holm",
        "no evidence",
    ):
        assert part in first.replace("\xa0", " ")
    assert len(list(headline(SUMMARY))) == 2


def test_gender_is_named_only_where_the_adjusted_p_value_and_the_shares_say_so():
    sure = SUMMARY.with_columns(p_adjusted=pl.when(P_ADJUSTED).then(0.01), excess=pl.col("excess").abs())
    assert "only 40% of the fall" in next(headline(sure))
    assert "Gender matters: 90%" in next(headline(sure.with_columns(definitional_share=0.8)))


def test_an_asymmetry_names_a_side_only_where_the_test_does():
    assert all("names neither" in sentence for sentence in asymmetries(SUMMARY))
    unequal = SUMMARY.with_columns(asymmetry_p=0.001, asymmetry=0.2)
    assert all("more flips to women" in sentence for sentence in asymmetries(unequal))


def test_what_is_open_and_unequal_chances_are_doubts():
    told = " ".join(doubts(SUMMARY, 9))
    assert "With 9 controls no p-value is below 0.100" in told
    assert "Of 8 texts it is open" in told
    assert "controls.equal=true" in told


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
    assert "controls no p-value" not in " ".join(doubts(bare, 9))
