"""Words, titles, names of systems and files, and reasons are text in a report, whatever they hold."""

from html.parser import HTMLParser

import polars as pl
import pytest

from tiltmeter.jobs.report.html import elements
from tiltmeter.jobs.report.html.charts import as_json
from tiltmeter.jobs.report.html.elements import Chart, Listing, Page, Paragraph, Section, render
from tiltmeter.jobs.report.plots.figure import figure
from tiltmeter.jobs.report.plots.style import HOVER, plain
from tiltmeter.jobs.resolution.figures import cluster_graph

HOSTILE = [
    "</script><script>pwned = 1</script>",
    "<!--<script>",
    "]]><img src=x onerror='pwned = 1'>",
    '" onmouseover="pwned = 1" style="position: fixed',
    "' autofocus onfocus='pwned = 1",
    '<a href="javascript:pwned = 1">here</a>',
    "&lt;script&gt;pwned = 1&lt;/script&gt;",
    "{{ page.__class__ }} {% raw %}",
    "</style><style>* {display: none}</style>",
    "\u2028\u2029\u0000\ufeff\u202e",
    "</title></head><base href='https://example.org/'>",
]


class Structure(HTMLParser):
    """Elements with the names of their attributes, and of scripts and styles the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.texts: list[str] = []
        self._raw = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, *sorted(name for name, _ in attributes)))
        self._raw = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag):
        self.found.append((f"/{tag}",))
        self._raw = ""

    def handle_comment(self, _):
        self.found.append(("comment",))

    def handle_data(self, text):
        if self._raw:
            self.found.append((text,))
        elif text.strip():
            self.texts.append(text)


def page_of(text: str) -> str:
    """A page with the text wherever there can be one."""
    blocks = [
        Paragraph(text),
        Paragraph(text, "warning"),
        elements.Bullets([text]),
        elements.Grid(text, [text, "n"], [[text, text]], ["n"], {"n": [1.0]}),
        Listing(text),
        elements.Details(text, [Paragraph(text)]),
        elements.Part(text, [Listing(text)]),
        Chart(text, text, {"one": figure(), f"{text} two": figure()}, text),
    ]
    return render(Page(text, {text: text}, blocks, [Section("one", text, blocks)]))


@pytest.fixture(scope="module")
def harmless():
    return Structure(page_of("x"))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_adds_nothing_to_a_page_but_itself(harmless, text):
    page = Structure(page_of(text))
    assert page.found == harmless.found
    assert page.texts.count(text.replace("\r", "\n")) == harmless.texts.count("x")


def test_a_page_may_load_and_send_nothing(harmless):
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
    assert f'content="{policy}"' in page_of("x")
    attributes = {name for _, *names in harmless.found for name in names}
    assert not attributes & {"src", "action", "srcset", "ping", "formaction"}
    assert not {tag for tag, *_ in harmless.found} & {"iframe", "object", "embed", "link", "base", "form", "img"}


@pytest.mark.parametrize("text", HOSTILE)
def test_charts_are_told_that_a_text_is_text(text):
    """Plotly reads a few tags and entities in every label."""
    assert "<" not in plain(text)
    names = [f"{text}{end}" for end in "abc"]
    pairs = pl.DataFrame({"left": names[:2], "right": names[1:], "weight": [1.0, -1.0]})
    drawn = as_json([cluster_graph(pairs, dict.fromkeys(names[:2], 0) | {names[2]: 1}, 0)])
    for tag in ("<a", "<script", "<img", "<style", "<base"):
        assert tag not in drawn


@pytest.mark.slow
def test_nothing_of_it_runs_in_a_browser(browser, tmp_path):
    """The same in labels, hovers and legends of a chart, in Chromium."""
    labels = [plain(text) for text in HOSTILE]
    bar = {"type": "bar", "x": labels, "y": [1] * len(labels), "text": labels, "customdata": labels}
    chart = figure({**bar, "name": labels[0], "hovertemplate": HOVER, "showlegend": True}, title={"text": labels[5]})
    blocks = [Paragraph(text) for text in HOSTILE]
    path = tmp_path / "report.html"
    path.write_text(render(Page("T", {}, [], [Section("s", "S", [*blocks, Chart("A", "B", {"f": chart})])])), "utf-8")
    tab = browser.open(path, 1280)
    tab.run("typeof drawn === 'undefined' ? null : drawn")
    assert tab.run("typeof pwned") == "undefined"
    assert tab.run("document.querySelectorAll('.plot a, .plot img, main img, base').length") == 0
    assert tab.run("document.querySelectorAll('.plot g.xtick').length") == len(set(labels))
    assert tab.problems == []
