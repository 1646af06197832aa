"""Which columns of the tables in a page are sorted as numbers."""

import re

import pytest

from tiltmeter.jobs.report.html.elements import Grid

KINDS = (
    *("survey", "association", "psychophysics", "gender_survey", "sentiment_rating", "entity_resolution", "study"),
    "ledger",
    *("gru_training", "decoy_benchmark", "privacy_metrics", "error_characterisation", "compare", "overnight", "prune"),
    *("plan", "planned_night"),
    *("private_vectors", "private_release", "gender_adversary", "word_influence", "sentiment_posterior"),
    "relation_rules",
)
NO_NUMBER = ("", "–", "undefined", "none")
POWER = r"(?:\s×\s10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|e[+−]\d+)"
ONE = rf"[+−]?(?:∞|\d[\d,]*(?:\.\d+)?{POWER}?)%?"
INTERVAL = rf"\[{ONE}, {ONE}\]"
NUMBER = re.compile(
    rf"{ONE}\*{{0,3}}(?:(?:/| / | → | \+ )(?:{ONE}|–))*(?: {INTERVAL}| \({ONE}\))?|{INTERVAL}", flags=re.ASCII
)
"""A number with its stars, its interval or its share, an interval alone, or several numbers in a row."""


def grids(blocks):
    for block in blocks:
        if isinstance(block, Grid):
            yield block
        yield from grids(getattr(block, "blocks", ()))


def is_number(cell):
    return NUMBER.fullmatch(cell.replace("\u00a0", " ")) is not None


def test_every_kind_of_page_is_looked_at(pages):
    assert set(KINDS) == set(pages)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_numbers_and_no_others_are_sorted_as_numbers(kind, pages):
    page = pages[kind]()
    for grid in grids([*page.lead, *page.sections]):
        assert set(grid.numeric) <= set(grid.headings)
        for heading, *cells in zip(grid.headings, *grid.rows, strict=True):
            filled = [cell for cell in cells if cell not in NO_NUMBER]
            if heading in grid.numeric:
                assert all(map(is_number, filled)), (grid.caption, heading)
            else:
                assert not filled or not all(map(is_number, filled)), (grid.caption, heading)
