"""What the page of `gender_adversary` says of tables that are not the usual ones, and what it does not show."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.fixtures.page_models import check_text
from tests.fixtures.tables.adversary import attacked
from tiltmeter.jobs.adversary import page
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import TooFew, each

FRAMES = Frames({name: pl.LazyFrame(pl.from_arrow(table)) for name, table in attacked().items()})
SUMMARY = FRAMES["summary"]
HAS_TEST = pl.col("p_adjusted").is_not_null()
FEWER = {"mean_control_candidates": 0.9 * pl.col("mean_candidates")}


def sure(p_adjusted=0.01, share_of_fall=0.8, **others):
    excess = {"excess": pl.col("excess").abs(), "p_adjusted": pl.when(HAS_TEST).then(p_adjusted)}
    return excess | {"definitional_share": share_of_fall} | others


def two_ways(asymmetry, by_texts, adjusted, control):
    values = {"asymmetry_p": by_texts, "asymmetry_p_adjusted": adjusted, "asymmetry_control_p": control}
    return {name: pl.lit(value, pl.Float64) for name, value in values.items()} | {"asymmetry": asymmetry}


def swapped(num_texts, num_changeable):
    """Of 40 texts, 31 have nothing to swap: the share is of 9, and its interval is as wide as theirs."""
    found = share(np.zeros(9), each(9, "text"), level=0.95)
    values = {"changeable_rate": 0.0, "changeable_rate_low": found.low, "changeable_rate_high": found.high}
    values |= {"search": "swap", "num_texts": num_texts, "num_changeable": num_changeable}
    is_swap = (pl.col("direction") == "swap_to_male") & (pl.col("search") == "greedy")
    return {name: pl.when(is_swap).then(pl.lit(value)).otherwise(pl.col(name)) for name, value in values.items()}


FEW = "asymmetry: " + TooFew(3, 6, "text that differs").reason
FIT = {"direction": pl.col("direction").replace("pair_to_female", "masked")}
CASES = {
    "9 controls": {},
    "no controls": {"p_value": pl.lit(None, pl.Float64), "excess": pl.lit(None, pl.Float64)},
    "sure, and words that have no gender": sure(0.05, 0.3),
    "sure, and words that have one": sure(),
    "sure, but controls have fewer words": sure(size_p_value=0.6, **FEWER),
    "sure, also at equal size": sure(size_p_value=0.05, **FEWER),
    "words that fit": FIT,
    "sure, and words that fit": sure() | FIT,
    "sure, but random words are fewer": sure(size_p_value=0.6, **FEWER) | FIT,
    "more flips to women": two_ways(0.2, 0.001, 0.002, 0.02),
    "more flips to men": two_ways(-0.2, 0.001, 0.002, 0.02),
    "a side that is not sure after Holm": two_ways(0.2, 0.001, 0.06, 0.02),
    "a side that is not sure among the controls": two_ways(0.2, 0.001, 0.002, 0.06),
    "a side without controls": two_ways(0.2, 0.001, 0.002, None),
    "too few texts differ": two_ways(0.2, None, None, 0.02) | {"reason": pl.lit(f"excess: none; {FEW}")},
    "some texts have nothing to swap": swapped(40, 9),
    "no text has anything to swap": swapped(200, 0),
}


def sentences(num_controls=99, **values):
    rows = SUMMARY.with_columns(
        **{name: value if isinstance(value, pl.Expr) else pl.lit(value) for name, value in values.items()}
    )
    parts = (page.asymmetries, page.released, page.unfairness)
    about = [sentence for part in parts for sentence in part(rows)]
    return [*page.headline(rows, num_controls), *about, *page.doubts(rows, num_controls)]


def test_the_page_says_of_other_tables_what_it_said():
    """Sentences that are not among the usual ones, and how many of these are gone."""
    usual, said = sentences(), []
    for case, values in CASES.items():
        made = sentences(9 if case == "9 controls" else 99, **values)
        said += [f"# {case}: {len({*usual} - {*made})} are gone", *(one for one in made if one not in usual)]
    check_text(Path(__file__), "adversary_sentences", said)


@pytest.mark.long
@pytest.mark.parametrize("mask", [True, False])
def test_slurs_in_texts_and_among_words_of_controls_are_masked_unless_told_otherwise(configured, mask):
    settings = ["report.slurs=[king]", f"report.mask={str(mask).lower()}"]
    config = configured("job=gender_adversary", "data.path=a.csv", *settings)
    [found] = page.passages(config.report, FRAMES)
    assert found.rows[0][0].tokens[2].text == ("K•••," if mask else "King,")
    assert ("masked" in found.caption) == mask
    controls = pl.DataFrame(FRAMES["controls"]).with_columns(words=pl.lit("king − house"))
    drawn = str(page._chart(config, controls, SUMMARY.filter(stratum="all", search="ladder")).figures)
    assert (("k••• − house" if mask else "king − house") in drawn, "king" in drawn) == (True, not mask)


def test_usual_slurs_are_masked_in_any_form(configured):
    config = configured("job=gender_adversary", "data.path=a.csv").report
    texts = {"BITCHES!": "B••••••!", "hello": "hello", "stupid-bitch&#8221;bitches": "stupid-b••••&#8221;b••••••"}
    assert {text: page.masked(text, config) for text in texts} == texts
