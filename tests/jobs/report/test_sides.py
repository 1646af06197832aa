"""Which rows lean to a side, and that nothing but the one rule says so."""

import re
from pathlib import Path

import polars as pl
import pytest

import tiltmeter.jobs
from tiltmeter.jobs.report.sides import Lean, on_sides, sides_of

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
