"""One self-contained HTML page of text, tables and plotly charts, which opens without a network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import jinja2
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain text; a warning is set off from the rest."""

    kind: ClassVar[str] = "paragraph"
    text: str
    tone: Literal["plain", "note", "warning"] = "plain"


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    items: Sequence[str]


@dataclass(frozen=True)
class Grid:
    """A table of text.

    Attributes:
        numeric: the headings whose columns hold numbers, which are set flush right.
    """

    kind: ClassVar[str] = "grid"
    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[str] = ()


@dataclass(frozen=True)
class Chart:
    """A plotly figure, or several of which a reader chooses one.

    Attributes:
        alt: what the chart shows, for those who can't see it.
        caption: how to read it.
        figures: by the label under which a reader finds it; the first is shown first.
        question: what is chosen, for example "Cue pair".
    """

    kind: ClassVar[str] = "chart"
    alt: str
    caption: str
    figures: Mapping[str, go.Figure]
    question: str = "Show"

    @property
    def data(self) -> str:
        """The figures as a JSON list that is safe inside a ``script`` element."""
        figures = ",".join(figure.to_json() for figure in self.figures.values())
        return f"[{figures}]".replace("<", r"\u003c")


@dataclass(frozen=True)
class Listing:
    """Text with its line breaks, such as a configuration."""

    kind: ClassVar[str] = "listing"
    text: str


@dataclass(frozen=True)
class Details:
    """Blocks that a reader opens when needed."""

    kind: ClassVar[str] = "details"
    summary: str
    blocks: Sequence["Block"]


Block = Paragraph | Bullets | Grid | Chart | Listing | Details


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; ``anchor`` is its address in the page."""

    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A whole page.

    Attributes:
        facts: short facts under the title, by name.
        lead: what stands before the table of contents.
        language: of the text, as in the ``lang`` attribute.
    """

    title: str
    facts: Mapping[str, str]
    lead: Sequence[Block]
    sections: Sequence[Section]
    language: str = "en"


def render(page: Page) -> str:
    """The page as HTML; every text is escaped, and the page's own policy forbids it to load anything.

    >>> html = render(Page("a < b", {}, [Paragraph("<b>bold</b>")], []))
    >>> "<h1>a &lt; b</h1>" in html, "&lt;b&gt;bold&lt;/b&gt;" in html
    (True, True)
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    return environment.get_template("page.html.jinja").render(page=page, style=style, library=get_plotlyjs())
