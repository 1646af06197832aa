"""One self-contained HTML page of text, tables and plotly charts, which opens without a network.

The page is whole without its script, but for the charts. The script lets a reader sort and filter tables, draws the
charts and writes their numbers as tables for those who can't see them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import jinja2

from tiltmeter.jobs.report.html.charts import as_json, library, packed
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.style import FEMALE, MALE, shades

_HERE = Path(__file__).parent
_HEIGHT = 450
"""Of a plotly figure that does not say its own."""

_PAPER = "#fffefb"
_DEEPEST = 0.5
"""Share of the full colour behind the words of a passage, so that these can be read."""

_STEPS = 20
"""From no colour to the deepest."""


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
    """A table of text, which readers sort by any column.

    Attributes:
        numeric: the headings whose columns hold numbers, which are set flush right and sorted as numbers.
        bars: by heading of a numeric column, a number for each row, drawn as a bar beside the cell; none is negative.
        links: by heading, an address for each row, to which its cell leads; empty for none.
        is_list: whether its rows are things to find: they can always be filtered, and each is a card on a phone.
    """

    kind: ClassVar[str] = "grid"
    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[str] = ()
    bars: Mapping[str, Sequence[float]] = field(default_factory=dict)
    links: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_list: bool = False

    def share(self, heading: str, row: int) -> float | None:
        """How long the bar of a cell is, as a share of the longest of its column; none where it has no bar."""
        if heading not in self.bars:
            return None
        return self.bars[heading][row] / (max(self.bars[heading]) or 1.0)

    def link(self, heading: str, row: int) -> str:
        """Where a cell leads to; empty for nowhere."""
        return self.links[heading][row] if heading in self.links else ""


@dataclass(frozen=True)
class Chart:
    """A plotly figure, or several of which a reader chooses one.

    Attributes:
        alt: what the chart shows, for those who can't see it.
        caption: how to read it.
        figures: by the label under which a reader finds it; the first is shown first.
        question: what is chosen, for example "Cue pair"; with it, the label of a single figure is shown too.
    """

    kind: ClassVar[str] = "chart"
    alt: str
    caption: str
    figures: Mapping[str, Figure]
    question: str = ""

    @property
    def data(self) -> str:
        """The figures as a packed JSON list."""
        return packed(as_json(self.figures.values()))

    @property
    def height(self) -> int:
        """Of the figure that is shown first, in pixels, so that nothing moves when it is drawn."""
        height: int = next(iter(self.figures.values())).layout.get("height", _HEIGHT)
        return height


class Token(NamedTuple):
    """A word of a passage.

    Attributes:
        weight: from -1, the deepest orange, to 1, the deepest blue.
        number: that is written behind it, where it has one, for those who can't tell the colours.
    """

    text: str
    weight: float = 0.0
    number: str = ""

    @property
    def ground(self) -> str | None:
        """The colour behind it; none for so small a weight that it could not be seen."""
        step = round(_STEPS * self.weight)
        if not step:
            return None
        full = shades([_PAPER, MALE if step > 0 else FEMALE], 1 + round(_STEPS / _DEEPEST))
        return full[abs(step)]


class Passage(NamedTuple):
    """A text whose words are coloured, under what is said of it."""

    heading: str
    tokens: Sequence[Token]


@dataclass(frozen=True)
class Passages:
    """Rows of texts that stand beside each other, or below each other on a phone."""

    kind: ClassVar[str] = "passages"
    caption: str
    rows: Sequence[Sequence[Passage]]


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


@dataclass(frozen=True)
class Part:
    """A heading in the lead of a page and what stands under it, such as what was asked."""

    kind: ClassVar[str] = "part"
    title: str
    blocks: Sequence["Block"]


Block = Paragraph | Bullets | Grid | Chart | Passages | Listing | Details | Part


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
    blocks = [*page.lead, *(block for section in page.sections for block in section.blocks)]
    drawing = ["page_unpack.js", "page_numbers.js", "page_charts.js"] if _has_chart(blocks) else []
    script = "\n".join(asset(name) for name in ["page_tables.js", *drawing])
    packed_library = library() if drawing else ""
    return _template().render(page=page, library=packed_library, style=asset("page.css"), script=script)


def _has_chart(blocks: Iterable[Block]) -> bool:
    return any(
        isinstance(block, Chart) or (isinstance(block, Details | Part) and _has_chart(block.blocks)) for block in blocks
    )


def asset(name: str) -> str:
    """The text of a file that pages are made with."""
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["zip"] = zip
    return environment.get_template("page.html.jinja")
