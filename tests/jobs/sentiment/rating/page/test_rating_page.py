"""The page on rated systems in every kind of run: all that it says and shows, held against what it said before."""

import math
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest

from tests.fixtures.figures import drawn
from tests.fixtures.page_models import check_text
from tests.fixtures.reports import reported
from tests.fixtures.tables import rating
from tests.jobs.report.test_models import lines
from tiltmeter.jobs.report.html.elements import Page
from tiltmeter.jobs.sentiment.rating import page_figures as figures
from tiltmeter.jobs.sentiment.rating.job import RatingSources
from tiltmeter.jobs.sentiment.rating.page import findings, page, sections
from tiltmeter.jobs.sentiment.rating.page_figures import amount, rated
from tiltmeter.jobs.sentiment.rating.tables import TABLES

CAUSES = {
    "both": {"gender": True, "race": False, "gender_race": True},
    "together": {"gender": False, "race": False, "gender_race": True},
    "no emotion": {"gender": False},
    "a": {"gender": False},
    "b": {"gender": False},
}
"""Of groups, whether each attribute confounds the emotion."""
TESTED = {"design": "tested", "dependence_p": 0.3}
ONE_VALUE = {"status": "incomparable", "reason": "the only gender is male: a comparison needs two values"}
TOO_FEW = {"p_value": None, "p_holm": None, "p_benjamini_hochberg": None, "status": "too_few", "reason": "too few"}


def run_of(ratings, raw, levels=None, **tables_of):
    """A run on the original texts with these raw scores, of one rank and rating."""
    shown = [row for row in raw if row["design"] == "tested" or row["is_confounded"] == (row["measure"] == "die")]
    places = [ratings.rating(row, 1, 1) | (levels or {}).get(row["measure"], {}) for row in shown]
    rows = {"raw_scores": ratings.table("raw_scores", *raw), "ratings": ratings.table("ratings", *places)}
    return ratings.rated_run() | rows | tables_of


def kinds(ratings):
    """Frames by the kind of run, with what is set beside them."""

    def words(*rows):
        return {"protected_words": ratings.table("protected_words", *rows)}

    whole = ratings.rated_run()
    every = [ratings.raw_score("calm", 0.0, protected=protected) for protected in ("gender", "race", "gender_race")]
    above = [ratings.raw_score(name, score) | {"raw_score_low": 0.5} for name, score in (("calm", 1.0), ("wild", 2.0))]
    warned = [ratings.raw_score(f"s{at}", 1.0, warning="many" if at < 2 else f"warning {at - 2}") for at in range(8)]
    undecided = [ratings.raw_score("calm", 0.0) | TESTED, ratings.raw_score("calm", 6.5, measure="die") | TESTED]
    long = ratings.table("tests", *(ratings.means_test("wild", -3.0, 0.01) for _ in range(100)))
    far = [ratings.raw_score("calm", 2.0, reach=3.0), ratings.raw_score("wild", 10.0, reach=990.0)]
    causes = [
        ratings.raw_score("calm", 0.0, group=group, protected=protected, measure=measure, confounded=is_confounded)
        for group, confounded in CAUSES.items()
        for protected, is_confounded in confounded.items()
        for measure in ("wrs", "die")[: 1 if group == "no emotion" else 2]
    ]
    lacking = ratings.table("tests", *(row | TOO_FEW for row in whole["tests"].to_dicts()))
    return {
        "round trip": (whole, {}),
        "human texts by the published convention": (whole, {"kind": "human", "convention": "published"}),
        "without resamples": (whole, {"num_resamples": 0}),
        "original texts alone": (ratings.original_only(), {}),
        "scores": (ratings.from_scores(), {"kind": ""}),
        "nothing": ({name: rows.clear() for name, rows in whole.items()}, {}),
        "one group": (ratings.only(whole, group="plain"), {}),
        "one attribute after the other": (run_of(ratings, every), {}),
        "many causes": (run_of(ratings, causes), {}),
        "an interval goes on": (run_of(ratings, far), {}),
        "no intervals": (run_of(ratings, [ratings.raw_score("calm", 0.0, reach=None)]), {}),
        "ties": (run_of(ratings, [ratings.raw_score(name, 0.0) for name in ("calm", "wild", "odd")]), {}),
        "one interval above 0": (run_of(ratings, above[:1]), {}),
        "two intervals above 0": (run_of(ratings, above), {}),
        "nothing to compare": (run_of(ratings, [ratings.raw_score(name, None) | ONE_VALUE for name in ("a", "b")]), {}),
        "one that can not be compared": (run_of(ratings, [ratings.raw_score("a", None) | ONE_VALUE]), {}),
        "warnings": (run_of(ratings, warned), {}),
        "a test decides": (run_of(ratings, undecided, {"die": {"decides": False, "rating": 2}}), {}),
        "many tests": (whole | {"tests": long}, {}),
        "tests without p": (whole | {"tests": lacking}, {}),
        "words lost by one of two trips": (whole | words(*lost_by_trips(ratings.protected_word)), {}),
        "all words kept": (whole | words(ratings.protected_word("boy", 0)), {}),
    }


def lost_by_trips(row):
    """Words that the trips lose in unlike numbers: the first is not lost most often by the first trip."""
    lost = {"es": {"boy": 3, "girl": 0, "aunt": 0}, "de": {"boy": 1, "girl": 7, "aunt": 0}}
    return [row(word, num, variant=trip, starts=(5, 2)) for trip, words in lost.items() for word, num in words.items()]


NAMES = list(kinds(rating))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_it_said(ratings, name):
    frames, of = kinds(ratings)[name]
    kind = of.get("kind", "synthetic")
    config = ratings.settings(**{key: value for key, value in of.items() if key != "kind"})
    left_out = {"da": "apertium is not installed"} if name == "original texts alone" else {}
    shown = [line for part in findings(frames, left_out).parts for line in lines(part)]
    for section in sections(frames, config, kind):
        shown += ["", f"## {section.anchor}: {section.title}"]
        shown += [line for block in section.blocks for line in lines(block)]
    check_text(Path(__file__), name, shown)


def test_no_number_is_shown_as_nan_and_every_name_is_escaped(ratings, html_of, figures_of):
    tagged = run_of(ratings, [ratings.raw_score(ratings.TAGGED, math.inf, group=ratings.TAGGED)])
    for frames in (ratings.original_only(), tagged):
        whole = Page("", {}, findings(frames, {}).parts, sections(frames, ratings.settings(), ""))
        html = html_of(whole)
        assert not {"NaN", "nan", "None", "Infinity"} & set((html + figures_of(whole)).replace(">", " ").split())
        assert ratings.TAGGED not in html
    assert "&lt;b&gt;&amp;" in html


def test_the_page_of_a_run_on_scores_has_facts_and_the_columns_of_large_tables(ratings, configured):
    published = {
        name: pa.Table.from_pylist(rows.to_dicts(), TABLES[name]) for name, rows in ratings.from_scores().items()
    }
    config = configured("job=sentiment_rating", "scores=some.csv", "rating.convention=published", "seed=7")
    run = SimpleNamespace(config=config, sources=RatingSources())
    shown = reported(partial(page, run), published | {"scores": TABLES["scores"].empty_table()})
    facts = {"variants": "original, es", "convention": "published", "seed": "7"}
    assert shown.facts == {"job": "sentiment_rating", "systems": "calm, wild"} | facts
    assert [section.anchor for section in shown.sections][-2:] == ["missing", "account"]
    listed = {details.summary for details in shown.sections[-1].blocks[-1].blocks}
    assert ("scores" in listed, "translations" in listed) == (True, False)


def test_what_is_pointed_at_tells_rating_rank_and_score_or_why_there_is_none(ratings):
    rows = rated(ratings.rated_run()).with_columns(rank=pl.col("rank") + 5)
    pointed = drawn(figures.rating_map(rows, ["calm", "wild", "gone"], amount)).data[1].customdata
    assert pointed[1][1] == "<b>wild, original</b><br>rating 2 of 2<br>rank 7<br>WRS 24.0 [0.0, 25.0]"
    assert pointed[5][0] == "<b>calm, es</b><br>undefined: an emotion and a value never come together"
    assert pointed[1][2] == "<b>gone, original</b><br>no scores of this system for these texts"


def test_names_are_escaped_for_plotly_which_reads_tags_and_a_single_level_has_one_colour(ratings):
    row = ratings.raw_score(ratings.TAGGED, 0.0, group=ratings.TAGGED)
    places = ratings.table("ratings", ratings.rating(row, 1, 1)).with_columns(num_levels=1)
    frames = {"raw_scores": ratings.table("raw_scores", row), "ratings": places}
    figure = drawn(figures.rating_map(rated(frames), [ratings.TAGGED], amount))
    assert figure.layout.annotations[0].text.startswith("<b>&lt;b&gt;&amp;</b>")
    assert figure.layout.xaxis.ticktext == ("&lt;b&gt;&amp;",)
    assert (figure.data[1].zmin, figure.data[1].zmax) == (1, 2)
