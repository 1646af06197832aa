"""What the page of each kind shows, as a text beside this file; which columns are numbers; what plotly knows of it.

A change of a page is a change of its text: ``TILTMETER_MODELS=write pytest`` of this file writes the texts; look at
what has changed in them.
"""

import gzip
import hashlib
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs_version

from tests.fixtures.figures import drawn
from tiltmeter.jobs.report.html.charts import LIBRARY, as_json
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Details, Grid, Listing, Page, Paragraph, Part, Passages

WITH_CHARTS = (
    *("survey", "association", "psychophysics", "gender_survey", "sentiment_rating", "entity_resolution", "study"),
    *("gru_training", "decoy_benchmark", "privacy_metrics", "private_vectors", "private_release"),
    *("error_characterisation", "gender_adversary", "word_influence", "sentiment_posterior", "relation_rules"),
)
KINDS = (*WITH_CHARTS, "ledger", "compare", "overnight", "prune", "plan", "planned_night")

MODELS = Path(__file__).parent / "models"


def lines(block) -> Iterator[str]:
    """A block in lines; of figures, what they are called and a digest of what they draw."""
    match block:
        case Paragraph(text, tone):
            yield text if tone == "plain" else f"{tone}: {text}"
        case Bullets(items):
            yield from (f"- {item}" for item in items)
        case Listing(text):
            yield from text.splitlines()
        case Grid(caption, headings, rows, numeric):
            yield f"table: {caption}"
            for row in ([f"{name} #" if name in numeric else name for name in headings], *rows):
                yield f"| {' | '.join(row)} |"
            yield from (f"bars of {name}: {[block.share(name, at) for at in range(len(rows))]}" for name in block.bars)
        case Chart(alt, caption, figures, question):
            yield f"chart: {alt} {caption} {question}".rstrip()
            for name, drawing in figures.items():
                digest = hashlib.sha256(as_json([drawing]).encode()).hexdigest()
                yield f"  {name}: {len(drawing.data)} traces {digest[:9]}"
        case Passages(caption, rows):
            yield f"passages: {caption}"
            yield from (f"  {passage.heading}: {words(passage)}" for row in rows for passage in row)
        case Details(title, blocks) | Part(title, blocks):
            yield f"{'opens' if isinstance(block, Details) else 'part'}: {title}"
            yield from (f"  {line}" for inner in blocks for line in lines(inner))


def words(passage) -> str:
    """Of a passage, with the colours behind them."""
    return " ".join(
        f"{token.text}{token.number and f'({token.number})'}<{token.ground or ''}>" for token in passage.tokens
    )


def shown(page) -> Iterator[str]:
    """A page in lines."""
    yield f"{page.title}: {'; '.join(f'{name} {value}' for name, value in page.facts.items())}"
    for block in page.lead:
        yield from lines(block)
    for section in page.sections[: -1 if page.sections[-1].anchor == "account" else None]:
        yield f"\n# {section.title} ({section.anchor})"
        for block in section.blocks:
            yield from lines(block)


@pytest.fixture(scope="module")
def page_of(pages):
    """The page of a kind, which is made once."""
    return cache(lambda kind: pages[kind]())


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_shows_what_it_showed(page_of, kind):
    model, text = MODELS / f"{kind}.txt", "\n".join(shown(page_of(kind))) + "\n"
    if os.environ.get("TILTMETER_MODELS") == "write":
        model.write_text(text)
    assert text.splitlines() == model.read_text().splitlines()


def test_every_text_is_of_a_page_and_every_kind_of_page_has_one(pages):
    others = {"default_page", "bootstrap", "bootstrap_of_two", "notes_on_intervals"}
    assert {path.stem for path in MODELS.iterdir()} == {*pages} | others
    assert {*KINDS} == {*pages}


# --- columns of numbers ---------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_numbers_and_no_others_are_sorted_as_numbers(kind, page_of):
    page = page_of(kind)
    for grid in grids([*page.lead, *page.sections]):
        assert set(grid.numeric) <= set(grid.headings)
        for heading, *cells in zip(grid.headings, *grid.rows, strict=True):
            filled = [cell.replace("\u00a0", " ") for cell in cells if cell not in NO_NUMBER]
            are_numbers = all(map(NUMBER.fullmatch, filled))
            assert are_numbers if heading in grid.numeric else not (filled and are_numbers), (grid.caption, heading)


# --- figures, as plotly knows them ----------------------------------------------------------------------------------


def figures(blocks):
    for block in blocks:
        if isinstance(block, Chart):
            yield from block.figures.values()
        elif isinstance(block, Details | Part):
            yield from figures(block.blocks)


@pytest.fixture(scope="module")
def all_figures(page_of):
    """Of every kind of page."""
    pages = map(page_of, KINDS)
    return [figure for page in pages for part in (page, *page.sections) for figure in figures(blocks_of(part))]


def blocks_of(part):
    return part.lead if isinstance(part, Page) else part.blocks


@pytest.fixture(scope="module")
def bundle():
    """The library that pages carry, as text."""
    return gzip.decompress(LIBRARY.read_bytes()).decode()


@pytest.mark.long
def test_plotly_knows_every_setting_of_every_figure_and_the_bundle_every_kind_of_trace(all_figures, bundle):
    assert sum(len(drawn(shown).data) for shown in all_figures) == sum(len(shown.data) for shown in all_figures)
    used = {trace["type"] for shown in all_figures for trace in shown.data}
    assert {"bar", "box", "heatmap", "scatter"} == used
    assert used <= set(re.findall(r'moduleType:"trace",name:"(\w+)"', bundle))


def test_the_bundle_is_of_the_version_of_the_schema_and_named_with_its_licence(bundle):
    [version] = re.findall(r"plotly\.js \(cartesian - minified\) v([\d.]+)\n", bundle[:200])
    assert version == get_plotlyjs_version()
    assert LIBRARY.name == f"plotly-cartesian-{version}.min.js.gz"
    notice = (Path(__file__).parents[3] / "NOTICE").read_text()
    assert f"plotly.js {version}" in notice
    assert LIBRARY.name in notice
    assert "MIT License" in notice
