"""What the page says of the association tests, as a text for each kind of tables beside this file."""

from pathlib import Path

import polars as pl
import pytest

from tests.fixtures.page_models import check_model
from tests.fixtures.tables import embeddings
from tests.fixtures.tables.embeddings import association, associations, correlation, summary, word_associations
from tiltmeter.jobs.association.page import association_findings, measures, p_cell

BERT, GERMAN = {"model": "bert", "language": "en"}, {"model": "dewiki", "language": "de"}
GAP = {"statistic": "smallest_gap", "alternative": "two-sided"}
ALONE = {"half_width": None}
"""Without replicas, and so without an interval."""


def _ways():
    """Two tests by two similarities and two statistics: d = 0.1, 0.2, ... 0.8, of which the last has no result."""
    hows = [(name, how, of) for name in ("a", "b") for how in ("euclidean", "cosine") for of in ("median", "mean")]
    return [
        association(name, 0.1 * at, similarity=how, statistic=of, ok=at < 8, p_value=0.02 if at % 2 else 0.9)
        for at, (name, how, of) in enumerate(hows, start=1)
    ]


TESTS = {
    "sides": [association("a", 1.0), association("b", -1.0), association("c", 0.4)],
    "numbers that contradict each other": [
        association("a", 1.0, score=0.3),
        association("c", 0.37, effect_size_low=-1.08, effect_size_high=-0.37, score=-0.08),
        association("d", 1.0, score=-0.5),
        association("e", 1.6, effect_size_high=1.5, score=0.5),
    ],
    "no replicas": [
        association("a", 1.0, **ALONE, score=0.2),
        association("b", 1.5, **ALONE, score=-0.2),
        association("c", -1.0, **ALONE, p_value=0.98),
        association("d", 1.2, **ALONE),
    ],
    "the other direction": [association("a", 1.0, **ALONE, alternative="less")],
    "either direction": [association("a", 1.0, **ALONE, alternative="two-sided")],
    "gaps": [
        association("a", 1.0, **GAP),
        association("b", -1.0, **GAP, p_value=0.3),
        association("c", 0.8, **GAP, score=-0.4),
    ],
    "several measures": _ways(),
    "other measures alone": [row for row in _ways() if row["similarity"] == "euclidean"],
    "a test that was not asked for with all": [
        association("a", 1.0, p_value=0.0002),
        association("b", -1.0, p_value=0.97),
        association("a", 0.5, statistic="max", p_value=0.03),
    ],
    "several models": [
        *(association("a", 1.0), association("b", -1.0), association("c", 0.4)),
        *(association("a", 1.0, **ALONE, of=BERT), association("a", 1.0, ok=False, of=GERMAN)),
    ],
    "words that are left out": [
        association("a", 1.0, missing_words=["gnat", "ممرضة"]),
        association("b", 1.0, missing_words=[f"w{at}" for at in range(7)]),
        association("c", 0.0, ok=False, status="too_few_words", reason="target_x (insects) has 1 of its 8"),
    ],
    "no result": [association("a", 0.0, ok=False)],
    "none": [],
}


@pytest.mark.parametrize("case", TESTS)
def test_the_page_says_of_tests_what_it_said(case):
    [measure] = measures({"associations": associations(*TESTS[case])})
    check_model(Path(__file__), case, measure)


WORDS, COSINE = ("wefat", "share_women"), {"similarity": "cosine"}
UNKNOWN = word_associations().with_columns(pl.lit(None, pl.Float64).alias("percent_women"))
WHOLE = {
    "several models and measures": {
        "associations": associations(*_ways(), association("a", 1.0, of=BERT)),
        "association_summary": pl.concat([summary({}, {"statistic": "median"}), summary({}, of=BERT)]),
    },
    "single words": embeddings.survey()
    | {"associations": associations(), "validation": embeddings.validation(correlation(*WORDS, 0.4, 0.7, **COSINE))},
    "single words without result": {"associations": associations(), "word_associations": word_associations(ok=False)},
    "single words without shares": {"associations": associations(), "word_associations": UNKNOWN},
}


@pytest.mark.parametrize("case", WHOLE)
def test_the_page_says_of_all_tables_what_it_said(case):
    [measure] = measures(WHOLE[case])
    check_model(Path(__file__), case, measure)


def test_without_the_table_nothing_is_said():
    assert measures({}) == []


def test_in_short_the_sides_are_counted_and_contradictions_too():
    (short,) = association_findings(associations(*TESTS["numbers that contradict each other"]), in_short=True)
    assert short.endswith(
        "above 0 in 1 (a) and below 0 in none; in 3 the numbers contradict each other and name no side."
    )
    (gaps,) = association_findings(associations(*TESTS["gaps"]), in_short=True)
    assert gaps.startswith("By cosine, smallest gap, association tests name no side: ")


def test_a_p_value_that_is_not_exact_has_its_bounds():
    row = {"p_value": 0.0128, "p_low": 0.012, "p_high": 0.0128, "p_method": "certified"}
    assert p_cell(row) == "0.013* [0.012, 0.013]"
    assert p_cell(row | {"p_method": "exact"}) == "0.013*"
    assert p_cell(dict.fromkeys(row)) == "–"
