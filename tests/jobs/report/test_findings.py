"""How numbers and words are written, rows are put together, and which lean to a side."""

import re
from functools import partial
from operator import itemgetter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tiltmeter.jobs
from tests.fixtures.page_models import check_text
from tests.jobs.report.test_models import lines
from tiltmeter.jobs.association import page as association
from tiltmeter.jobs.psychophysics import page as psychophysics
from tiltmeter.jobs.report.findings import (
    by_model,
    correlations,
    ends,
    folded,
    furthest,
    in_model,
    measured,
    of_model,
    paragraphs,
)
from tiltmeter.jobs.report.html.elements import Bullets, Details, Paragraph
from tiltmeter.jobs.report.intervals import on_intervals, on_shifts
from tiltmeter.jobs.report.sides import Lean, on_sides, sides_of
from tiltmeter.jobs.report.wording import estimate, number, p_value, quoted, significant, stars
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.intervals import IntervalSettings


def test_correlations_are_those_done_by_hand():
    # Deviations (-2, -1, 0, 1, 2) and (-2, 0, -1, 1, 2): r = (4 + 0 + 0 + 1 + 4) / 10; ranks are the values themselves.
    found = correlations(pl.Series([1, 2, 3, 4, 5, None]), pl.Series([1.0, 3.0, 2.0, 4.0, 5.0, 9.0]))
    assert found == pytest.approx((0.9, 0.9, 5))
    assert np.isnan(correlations(pl.Series([1.0, 1.0]), pl.Series([1.0, 2.0])).pearson)


def test_numbers_and_words_are_written_so_that_they_are_read_as_meant():
    assert estimate({"pse": None}, "pse") == number(None, 2) == p_value(None) == "–"
    assert number(float("nan"), 2) == "undefined"
    small = ["0.50", "9.9\u00a0×\u00a010⁻⁴", "1.2\u00a0×\u00a010⁻¹²", "0.0"]
    assert [p_value(p) for p in (0.5, 0.00099, 1.2345e-12, 0.0)] == small
    # Words from right to left are isolated from the numbers beside them.
    assert [quoted(word) for word in ("ممرضة", "nurse")] == ["“\u2068ممرضة\u2069”", "“nurse”"]


def test_stars_begin_below_their_bounds():
    bounds = {0.0009: "***", 0.001: "**", 0.0099: "**", 0.01: "*", 0.0499: "*", 0.05: "", 1.0: ""}
    assert {p: stars(p) for p in bounds} == bounds
    assert {p: significant(p) for p in bounds} == {p: mark != "" for p, mark in bounds.items()}
    assert (stars(None), significant(None)) == ("", False)


def test_ends_are_the_lowest_and_the_highest_and_all_rows_where_there_are_few():
    rows = pl.DataFrame({"d": [5, 1, 4, 2, 3]})
    assert [ends(rows, "d", num)["d"].to_list() for num in (1, 2, 3)] == [[1, 5], [1, 2, 4, 5], [1, 2, 3, 4, 5]]
    away = pl.DataFrame({"word": ["a", "b", "c", "b"], "pse": [0.9, 0.2, 0.6, 0.3]})
    assert furthest(away, "pse", itemgetter("word"), neutral=0.8, most=2) == " (b, c and 1 more)"


def test_the_part_of_a_table_about_a_model_is_of_its_corpus_and_its_language():
    models = pl.DataFrame({"model": ["a", "a", "b"], "language": ["en", "de", "en"], "n": [1, 2, 3]})
    parts = [of_model(models, models.filter(n=number))["n"].to_list() for number in (1, 2, 3)]
    assert parts == [[1], [2], [3]]


def test_models_are_named_where_there_are_several_and_with_their_language_where_one_has_several():
    rows = pl.DataFrame({"model": ["bert", "enwiki", "bert"], "language": ["en", "en", "de"], "test": ["a", "b", "c"]})
    assert list(by_model(rows)) == ["bert (en)", "enwiki (en)", "bert (de)"]
    assert list(by_model(rows.head(2))) == ["bert", "enwiki"]
    assert [in_model(rows, itemgetter("test"))(row) for row in rows.to_dicts()][1] == "enwiki (en): b"
    assert in_model(rows.head(1), itemgetter("test"))(rows.row(0, named=True)) == "a"
    assert paragraphs({"en": ["One.", "Two."]}) == [Paragraph("One."), Paragraph("Two.")]
    assert paragraphs({"en": ["One."], "de": ["Two."]}) == [Bullets(["en: One.", "de: Two."])]
    block = Paragraph("x")
    assert folded({"en": [block]}, "tests") == [block]
    assert folded({"en": [block], "de": []}, "tests") == [Details("en: tests", [block])]


def test_a_corpus_of_which_nothing_was_measured_counts_among_those_of_the_page():
    rows = pl.DataFrame({"model": ["letters"], "language": ["en"], "test": ["a"]})
    frames = {"corpora": pl.DataFrame({"corpus": ["de", "letters"], "language": ["de", "en"]})}
    parts = by_model(rows, frames)
    assert {label: part.height for label, part in parts.items()} == {"de": 0, "letters (en)": 1}
    assert in_model(rows, itemgetter("test"), frames)(rows.row(0, named=True)) == "letters (en): a"


def test_only_rows_with_a_result_are_measured(embeddings):
    assert measured(embeddings.psychometrics()).height == 10
    assert measured(embeddings.psychometrics(ok=False)).is_empty()


# --- coverage -------------------------------------------------------------------------------------------------------


def note(intervals, num_replicas, frames):
    measures = [measure for page in (psychophysics, association) for measure in page.measures(frames)]
    for block in on_intervals(intervals, num_replicas, [measure.sides for measure in measures]):
        yield from lines(block)


@pytest.mark.long
def test_the_note_says_what_intervals_are_for_and_how_they_are_made(embeddings):
    """Of 10 PSEs and 1 effect size: 0.1 of each are named by chance at a level of 0.9; percentiles of 32 replicas cover
    0.95 x 31 / 33 = 0.892, of 100 at 0.9 0.882. Student's t of 3 degrees of freedom reaches 3.18, and the normal 1.96.
    """
    survey, percentile = embeddings.survey(), partial(IntervalSettings, interval="percentile")
    without = {"associations": embeddings.associations(embeddings.association("a", 1.0, half_width=None))}
    cases = {
        "usual": (IntervalSettings(), 32, survey),
        "centred": (IntervalSettings(interval="centred"), 32, survey),
        "of 0.9": (IntervalSettings(0.9), 32, survey),
        "percentiles": (percentile(), 32, survey),
        "percentiles of 0.9": (percentile(0.9), 100, survey),
        "of effect sizes alone": (IntervalSettings(), 32, {"associations": survey["associations"]}),
        "of one without an interval": (IntervalSettings(), 32, without),
        "4 replicas": (IntervalSettings(), 4, survey),
        "percentiles of 4 replicas": (percentile(), 4, survey),
        "10 replicas": (IntervalSettings(), 10, survey),
    }
    said = (line for case, given in cases.items() for line in [f"\n# {case}", *note(*given)])
    check_text(Path(__file__), "notes_on_intervals", said)


def test_numbers_that_resampling_shifts_are_a_warning():
    rows = pl.LazyFrame({"size": [1.0] * 4, "size_shift": [2.1, -2.3, 1.0, np.nan], "bias_shift": [0.0, 3.0, None, 1]})
    [block] = on_shifts(Frames({"lists": rows, "words": pl.LazyFrame({"word": ["a"]})}), 0.95, 32)
    # Student's t of 31 degrees of freedom reaches 2.04.
    assert block == Paragraph(block.text, "warning")
    assert block.text.startswith(
        "Resampling alone shifts 3 of 6 numbers by more than 2.0 standard deviations of the replicas: size in lists "
        "(2, by up to −2.3) and bias in lists (1, by up to 3.0). Their intervals lie around the numbers themselves"
    )
    assert not on_shifts(Frames({"lists": rows.head(1)}), 0.95, 8), "2.4 with 8"
    assert not on_shifts(Frames({"words": pl.LazyFrame({"word": ["a"]})}), 0.95, 32)
    assert not on_shifts(Frames({"lists": rows}), 0.95, 0)


JOBS = Path(tiltmeter.jobs.__file__).parent
NAN = float("nan")

ROWS = {
    "agrees": (0.6, 0.55, 0.8, 0.7),
    "is below": (0.3, 0.1, 0.4, 0.2),
    "includes": (0.6, 0.4, 0.8, 0.7),
    "lies outside": (0.9, 0.55, 0.8, 0.7),
    "lies opposite": (0.4, 0.55, 0.8, 0.7),
    "is disputed": (0.6, 0.55, 0.8, 0.3),
    "has no interval": (0.6, None, None, 0.7),
    "is undefined": (NAN, 0.55, 0.8, 0.7),
    "has nothing else": (0.6, 0.55, 0.8, None),
}


@pytest.fixture
def rows():
    return pl.DataFrame(
        [(name, *numbers) for name, numbers in ROWS.items()],
        schema=["name", "pse", "pse_low", "pse_high", "original"],
        orient="row",
    )


def test_rows_are_told_apart_by_what_may_be_said_of_them(rows):
    found = on_sides(rows, Lean("pse", 0.5, others=("original",)))
    assert {name: part["name"].to_list() for name, part in found._asdict().items()} == {
        "above": ["agrees", "has nothing else"],
        "below": ["is below"],
        "neither": ["includes"],
        "contradictory": ["lies outside", "lies opposite", "is disputed"],
        "unknown": ["has no interval", "is undefined"],
    }
    assert found.leaning["name"].to_list() == ["agrees", "has nothing else", "is below"]


def test_a_number_without_a_direction_is_on_no_side_and_disputed_by_nothing(rows):
    lean = Lean("pse", 0.5, others=("original",), has_direction=lambda row: row["name"] != "agrees")
    found = on_sides(rows, lean)
    assert found.above["name"].to_list() == ["has nothing else"]
    assert found.unknown["name"].to_list() == ["agrees", "has no interval", "is undefined"]
    assert sides_of(rows, lean)[0] == "undirected"
    nowhere = lean._replace(has_direction=lambda _: False)
    assert not any(map(nowhere.is_disputed, rows.to_dicts()))
    assert sides_of(rows.clear(), lean).to_list() == []
    assert on_sides(rows.clear(), lean).leaning.is_empty()


def test_a_dispute_is_told_whatever_the_interval(rows):
    lean = Lean("pse", 0.5, others=("original",))
    assert [row["name"] for row in rows.to_dicts() if lean.is_disputed(row)] == ["lies opposite", "is disputed"]


END = r"""(row|rows|pl\.col)[\[(]f?"[^"]*_(low|high)[^"]*"[\])]"""


def test_no_page_compares_the_end_of_an_interval_on_its_own():
    compared = re.compile(rf"{END}\)* *[<>]|[<>]=? *{END}")
    assert compared.search('pl.col("change_low") > 0')
    assert compared.search('0 < row["d_high"]')
    names = {"page", "findings", "sections", "figures"}
    pages = [path for path in JOBS.rglob("*.py") if names & {path.stem, path.parent.name, path.stem.split("_")[-1]}]
    assert len(pages) > 20
    assert [path.name for path in pages if compared.search(path.read_text(encoding="utf-8"))] == []
