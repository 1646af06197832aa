"""What the page of each kind shows, as a text of its own beside this file: a change of a page is a change of its text.

``TILTMETER_MODELS=write pytest tests/jobs/report/test_models.py`` writes the texts; look at what has changed in them.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.report.test_grids import KINDS
from tiltmeter.jobs.report.html.charts import as_json
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Details, Grid, Listing, Paragraph, Part, Passages

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


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_shows_what_it_showed(pages, kind):
    model, text = MODELS / f"{kind}.txt", "\n".join(shown(pages[kind]())) + "\n"
    if os.environ.get("TILTMETER_MODELS") == "write":
        model.write_text(text)
    assert text.splitlines() == model.read_text().splitlines()


def test_every_text_is_of_a_page():
    others = {"default_page", "bootstrap", "bootstrap_of_two", "notes_on_intervals"}
    assert {path.stem for path in MODELS.iterdir()} == {*KINDS} | others
