"""What the page says of gender bias, in one language or across several, as a text for each kind of tables."""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tests.fixtures.page_models import check_model
from tests.fixtures.tables import gender
from tests.fixtures.tables.gender import correlations, defining, language, languages, lost, only, pair, pairs, survey
from tests.fixtures.tables.gender import profession as of_profession
from tests.fixtures.tables.gender import professions as of_professions
from tiltmeter.jobs.gender import figures
from tiltmeter.jobs.gender.findings import labelled
from tiltmeter.jobs.gender.page import measures
from tiltmeter.jobs.report.html.elements import Page
from tiltmeter.operators.statistics.correlation import cluster_order

DOUBT = "the first component of the pairs carries less than 2 times the second's variance"
TABLES = ("gender_languages", "gender_professions", "gender_pairs")


def _with(frames, name, *more, **changes):
    """Tables with further rows in one of them, and columns changed there."""
    rows = pl.concat([frames[name], *more]).with_columns(**changes)
    return frames | {name: rows}


def _intervals(low, high):
    return {"bias_low": low, "bias_high": high}


def _renamed(frames, **columns):
    """With the same tables once more under another name."""
    again = {column: pl.lit(value) for column, value in columns.items()}
    return {name: pl.concat([rows, rows.with_columns(**again)]) for name, rows in frames.items()}


def _languages(*rows):
    return only("en") | {"gender_languages": languages(*rows)}


def _many():
    """More professions than are shown, of biases that rise with their number."""
    biases = {f"job {at}": at / 1000 for at in range(41)}
    words = [gender.word("en", "professions", name, name, "neutral", bias) for name, bias in biases.items()]
    rows = of_professions(*(of_profession("en", name, bias) for name, bias in biases.items()))
    return only("en") | {"gender_professions": rows, "gender_words": gender.words(*defining("en"), *words)}


NONE = _intervals(*[pl.lit(None, pl.Float64)] * 2)
HIGH = {"direct_bias_low": 0.01, "direct_bias_high": 0.05}
GONE = {name: {"status": pl.lit("no_professions"), "reason": pl.lit("there are none")} for name in TABLES}
BOY = {"word": "boy", "list": "defining", "item": "girl-boy", "gender": "masculine", "note": ""}
SHARED = [gender.word("en", "professions", "actor", text, "neutral", note="of both") for text in ("actor", "player")]
RISING = [of_profession("en", name, 0.1 * at) | {"count": 5**at} for at, name in enumerate("abc")]
WIFE = pairs(pair("en", "wife-husband", 0.0, gap=0.7), pair("en", "girl-boy", 0.0, gap=0.3))
CORPORA = pl.DataFrame({"corpus": ["letters", "enwiki"], "language": ["de", "en"]})

CHANGED = {
    "wider intervals": _with(
        survey(), "gender_professions", **_intervals(pl.col("bias") - 0.15, pl.col("bias") + 0.15)
    ),
    "biases beside their intervals": _with(survey(), "gender_professions", bias=-pl.col("bias")),
    "intervals that overlap": survey()
    | {"gender_languages": languages(language("en", 0.1, half_width=0.1), language("ar", 0.2, half_width=0.1))},
    "weighted by gender": _with(survey(), "gender_languages", weights=pl.lit("gender")),
    "wife and husband": survey()
    | {"gender_pairs": pl.concat([survey()["gender_pairs"].filter(pl.col("pair") != "girl-boy"), WIFE])},
    "correlations around 0": survey() | {"language_correlation": correlations({("en", "ar"): 0.1}, {"ar": 0, "en": 1})},
    "three languages joined": survey()
    | {
        "language_correlation": correlations(
            {("en", "ar"): 0.9, ("en", "wo"): 0.1, ("ar", "wo"): 0.3}, {"en": 1, "ar": 0, "wo": 2}
        )
    },
}
"""Tables in the place of those of several languages."""

ALONE = {
    "a corpus without lists": only("en") | {"corpora": CORPORA},
    "no replicas": _with(only("en"), "gender_professions", **NONE),
    "no direction": only("wo"),
    "no word list": {name: rows.clear() for name, rows in only("en").items()},
    "no professions": only("en") | {name: only("en")[name].with_columns(**GONE[name]) for name in TABLES},
    "a word without a vector": only("en") | {"gender_words": gender.words(*defining("en")[:3], lost("en", **BOY))},
    "forms that share a note": only("en") | {"gender_words": gender.words(*SHARED)},
    "bias that rises with the count": only("en") | {"gender_professions": of_professions(*RISING)},
    "many professions": _many(),
    "a pair of which the interval includes 0": only("en")
    | {"gender_pairs": pairs(pair("en", "girl-boy", -0.02, 0.03))},
    "outside in one": _languages(language("fr", 0.2) | HIGH),
    "outside in several": _languages(language("en", 0.1), *(language(code, 0.2) | HIGH for code in ("ar", "de", "fr"))),
    "doubt in one": _languages(language("zh", 0.1, warning=DOUBT)),
    "doubt in several": _languages(*(language(code, 0.1, warning=DOUBT) for code in ("zh", "de")), language("en", 0.1)),
    "several models": _renamed(only("en"), model="glove"),
    "many professions in two languages": _renamed(_many(), model="dewiki", language="de"),
}
"""Of one language in the first place."""


def _shown(frames):
    (measure,) = measures(frames)
    return measure


USUAL = {"survey": cache(lambda: _shown(survey())), "english": cache(lambda: _shown(only("en")))}


@pytest.mark.long
@pytest.mark.parametrize("case", CHANGED)
def test_several_languages_say_what_they_said(case):
    check_model(Path(__file__), case, _shown(CHANGED[case]), USUAL["survey"]())


@pytest.mark.long
@pytest.mark.parametrize("case", ALONE)
def test_one_language_says_what_it_said(case):
    check_model(Path(__file__), case, _shown(ALONE[case]), USUAL["english"]())


@pytest.mark.parametrize("case", USUAL)
def test_the_usual_pages_say_what_they_said(case):
    check_model(Path(__file__), case, USUAL[case]())


def test_every_profession_is_called_by_its_language_where_there_are_several():
    sides = _shown(only("en") | {"corpora": CORPORA}).sides
    assert {sides.label(row) for row in sides.rows.to_dicts()} >= {"nurse in English (en)"}


def test_no_two_brackets_of_the_tree_cross():
    r = np.corrcoef(np.random.default_rng(3).normal(size=(9, 12)))
    codes = [f"l{at}" for at in range(9)]
    places = {codes[leaf]: place for place, leaf in enumerate(cluster_order(r).order)}
    values = {(codes[one], codes[other]): float(r[one, other]) for one in range(9) for other in range(one)}
    frames = labelled(survey() | {"language_correlation": correlations(values, places)})
    figure = drawn(figures.correlations(frames["language_correlation"]))
    brackets = [(trace.x, trace.y) for trace in figure.data if trace.type == "scatter"]
    assert len(brackets) == 8
    bars = [(min(x), max(x), y[1]) for x, y in brackets]
    legs = [(x[end], y[end], y[1]) for x, y in brackets for end in (0, -1)]
    assert not any(left < x < right and foot < height < top for left, right, height in bars for x, foot, top in legs)


def test_bold_says_that_the_interval_excludes_0():
    rows = [of_profession("en", name, bias) for name, bias in (("a", 0.06), ("b", 0.04), ("c", -0.06))]
    known = of_professions(*rows).with_columns(label=pl.lit("English (en)"))
    _, found = drawn(figures.profession_map(known, known["profession"])).data
    assert [text for (text,) in found.text] == ["<b>0.06</b>", "0.04", "<b>−0.06</b>"]


def test_every_word_is_escaped(html_of):
    said = _shown(survey())
    assert gender.TAGGED not in html_of(Page("", {}, said.findings, said.sections))
