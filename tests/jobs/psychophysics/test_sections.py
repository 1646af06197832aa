"""What the page says of the psychophysics, as a text for each kind of tables beside this file."""

from functools import cache
from pathlib import Path

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tests.fixtures.page_models import check_model
from tests.fixtures.tables import embeddings
from tests.fixtures.tables.embeddings import (
    PAIRS,
    SHARES,
    correlation,
    points,
    pooled,
    psychometrics,
    survey,
    together,
)
from tiltmeter.jobs.psychophysics.page import both_ends, measures, occupation_findings, sections

FARSI = {"model": "fawiki", "language": "fa"}
FEW = dict(list(SHARES.items())[:4])


def _turned(rows):
    """Of the four rows whose flips lie on a side, two flip there in the original corpus too."""
    turned = pl.when(pl.col("cue_1") == "she").then(1.0 - pl.col("pse")).otherwise("pse")
    return rows.with_columns(flip_original=turned, num_outside=pl.lit(3))


LOVING = psychometrics(pairs=(("love", "hate"),), is_gender=False)
"""Of cues that stand for no gender."""


def _of(rows):
    return {"psychometrics": rows, "psychometric_points": points(rows)}


def _validated(*rows):
    return {"validation": embeddings.validation(*rows)}


def _wefat(r, **more):
    return correlation("wefat", "share_men", r, similarity="cosine", **more)


OTHER = survey()["word_associations"].with_columns(similarity=pl.lit("euclidean"), effect_size=-pl.col("effect_size"))
CORPORA = pl.DataFrame({"corpus": ["enwiki", "dewiki"], "language": ["en", "de"]})
LACKING = {"status": "too_few_occupations", "reason": "2 occupations have both, 3 are needed", "num_occupations": 2}
BESIDE = {"pearson_low": -0.3, "pearson_high": -0.1}

CHANGED = {
    "cues without gender": _of(pl.concat([psychometrics(), LOVING])),
    "cues without gender alone": _of(LOVING),
    "an original that contradicts its replicas": {"psychometrics": _turned(psychometrics())},
    "pooled beside its interval": {"pooled_psychometrics": pooled().with_columns(pse=pl.col("pse") + 0.1)},
    "lines matter more than cues": {"pooled_psychometrics": pooled().with_columns(sd_pairs=pl.lit(0.01))},
    "none pooled": {"pooled_psychometrics": pooled(ok=False)},
    "few occupations": {"psychometrics": psychometrics(words=FEW), "pooled_psychometrics": pooled(words=FEW)},
    "one occupation": {"pooled_psychometrics": pooled(words={"cook": 40.0})},
    "a corpus without occupations": {"corpora": CORPORA},
    "no shares of women": _validated(),
    "a correlation without result": _validated(correlation("pse", "share_men", 1.0, **LACKING)),
    "beside its interval": _validated(correlation("pse", "share_men", -0.6, **BESIDE), _wefat(-0.4)),
    "around 0": _validated(correlation("pse", "share_men", 0.6, pearson_low=-0.1), _wefat(0.2)),
    "by chance": _validated(correlation("pse", "share_men", -0.3, pearson_p=0.05), _wefat(-0.1, pearson_p=0.5)),
    "against the labour market": _validated(correlation("pse", "share_men", 0.3), _wefat(0.1)),
    "wefat is nearer": _validated(correlation("pse", "share_men", -0.6), _wefat(-0.9)),
    "pse is nearer": _validated(correlation("pse", "share_men", -0.6), _wefat(-0.1)),
    "wefat by another similarity first": {"word_associations": pl.concat([OTHER, survey()["word_associations"]])},
    "no common order": _validated(correlation("pse", "wefat", 0.3, spearman_p=0.2)),
}
"""Tables in the place of those of a survey of one model."""


@cache
def usual():
    [measure] = measures(survey())
    return measure


@pytest.mark.long
@pytest.mark.parametrize("case", CHANGED)
def test_the_page_says_what_it_said(case):
    [measure] = measures(survey() | CHANGED[case])
    check_model(Path(__file__), case, measure, usual())


@pytest.mark.parametrize(
    ("case", "frames"),
    [
        ("all measured", survey()),
        ("several models", together(survey(), survey(of=FARSI))),
        ("nothing measured", survey(ok=False)),
        ("one table", {"psychometrics": psychometrics()}),
        ("without wefat", {name: rows for name, rows in survey().items() if name != "word_associations"}),
    ],
)
def test_other_tables_say_what_they_said(case, frames):
    [measure] = measures(frames)
    check_model(Path(__file__), case, measure)


def test_without_the_table_nothing_is_said():
    assert measures({}) == []
    assert both_ends(pooled(words={"cook": 40.0}), psychometrics()) == []


@pytest.mark.parametrize("width", [0.001, 0.05, 0.149])
def test_monte_carlo_error_names_no_side(width):
    ends = (("low", -width), ("high", width))
    narrow = [(pl.col("pse") + reach).alias(f"pse_monte_carlo_{end}") for end, reach in ends]
    rows = psychometrics()
    assert occupation_findings(rows.with_columns(narrow)) == occupation_findings(rows)


def test_the_curves_of_a_model_are_made_of_its_own_points():
    def curves(frames):
        return sections(frames)[0].blocks[-1].figures

    both = curves(together(survey(), survey(of=FARSI)))
    label = " – ".join(PAIRS[1])
    assert drawn(both[f"fawiki (fa): {label}"]) == drawn(curves(survey())[label])
