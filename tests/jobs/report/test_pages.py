"""Every kind of page in a real browser, at the widths of a phone and of a desk: drawn, within its width, accessible.

A browser needs a second for each page and a fifth of one for each chart. So one page has the charts of all kinds; each
kind by itself, at both widths, is checked by ``make faults``.
"""

from pathlib import Path

import pytest

from tests.jobs.report.test_models import WITH_CHARTS
from tiltmeter.jobs.psychophysics.figures import psychometric_curves
from tiltmeter.jobs.report.grids import grid
from tiltmeter.jobs.report.html.charts import library, packed
from tiltmeter.jobs.report.html.elements import Chart, Details, Grid, Page, Paragraph, Section, render

PHONE, DESK, PAPER = 390, 1280, 672
"""Widths in pixels; A4 less 16 mm at each side is 672.8."""

SCRIPT = (Path(__file__).parent / "facts.js").read_text(encoding="utf-8")
TOGETHER = WITH_CHARTS[:0:-1]
"""Kinds that have all charts among them."""

SIMILAR = ("curves", "pooled", "validation", "comparison", "wefat", "direct-bias")
"""Sections whose charts are drawn like those of others."""


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """Opens a page in the browser, and waits until all its charts are drawn."""

    def show(page, width, before=""):
        path = tmp_path_factory.mktemp("page") / "report.html"
        path.write_text(render(page), encoding="utf-8")
        tab = browser.open(path, width, before)
        tab.run("typeof drawn === 'undefined' ? null : drawn")
        return tab

    return show


# --- what holds for every page --------------------------------------------------------------------------------------


def check(tab, num_charts, num_headings, width):
    tab.resize(width)
    tab.run(f"{SCRIPT}; settled()")
    facts = tab.run("facts()")
    assert facts.pop("failed") == []
    assert facts.pop("overflow") <= 0
    assert facts.pop("headings") == [1] + [2] * num_headings
    # Plotly draws three layers per figure: lines, legend, and what is under the pointer.
    assert facts.pop("layers") == 3 * num_charts
    assert {name: value for name, value in facts.items() if value} == {}
    assert tab.problems == []


def of(section):
    return [block for block in section.blocks if isinstance(block, Chart)]


def charts_of(page):
    return [chart for section in page.sections for chart in of(section)]


OPEN = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"


@pytest.fixture(scope="module")
def together(pages, opened, embeddings):
    """A page with one section of each name, with charts if a kind has some there; open on a phone, all unfolded."""
    lead, sections = [], {"lines": Section("lines", "Lines", [chosen_lines(embeddings)])}
    for page in (pages[kind]() for kind in TOGETHER):
        lead += page.lead
        named = {section.anchor: section for section in page.sections}
        sections = named | {name: part for name, part in sections.items() if name not in named or list(of(part))}
    page = Page("All kinds", {}, lead, [part for name, part in sections.items() if name not in SIMILAR])
    tab = opened(page, PHONE)
    tab.run(OPEN)
    return page, tab


def chosen_lines(embeddings):
    """Curves of which not all are shown at first."""
    rows = embeddings.psychometrics(words={f"word{at}": 10.0 * at for at in range(8)}, pairs=(("she", "he"),))
    return Chart("Curves.", "Some of them.", {"x": psychometric_curves(rows, embeddings.points(rows))})


def test_every_figure_is_drawn_on_a_phone_and_everybody_can_use_the_page(together):
    page, tab = together
    check(tab, len(charts_of(page)), len(page.lead) + len(page.sections), PHONE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WITH_CHARTS)
def test_a_page_is_drawn_at_both_widths_and_everybody_can_use_it(kind, pages, opened):
    page = pages[kind]()
    tab = opened(page, PHONE)
    tab.run(OPEN)
    for width in (PHONE, DESK):
        check(tab, len(charts_of(page)), len(page.lead) + len(page.sections), width)
    tab.close()


COMPONENTS = [
    {"component": "1", "records": "1,204", "pairs": "12,040", "clusters": "377", "status": "time limit"}
    | {"objective": "−12,345.67", "bound": "−12,346.78", "gap": "0.009%", "seconds": "600.1", "cuts": "1,234"}
    | {"branches": "12,345", "solver": "branch and cut"}
]
"""A table as wide as those of a run whose components are not all proven."""

CUT = """[...document.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth).map(
  (box) => [box.ariaLabel, box.clientWidth, box.scrollWidth]
)"""

LAID_OUT = """new Promise((done) => {{
  const wait = () => innerWidth === {} && matchMedia("{}").matches ? done() : setTimeout(wait, 10);
  wait();
}})"""
"""The browser says that it has taken a size before the page has it."""


def without_charts(blocks):
    for block in blocks:
        if isinstance(block, Details):
            yield Details(block.summary, list(without_charts(block.blocks)))
        elif not isinstance(block, Chart):
            yield block


def test_no_table_of_any_kind_is_cut_at_a_desk_or_on_paper(pages, opened):
    made = [pages[kind]() for kind in WITH_CHARTS]
    tables = [section for page in made for section in page.sections]
    tables += [Section("components", "Components", [grid("All.", COMPONENTS, *COMPONENTS[0])])]
    kept = [Section(section.anchor, section.title, list(without_charts(section.blocks))) for section in tables]
    tab = opened(Page("Tables", {}, [block for page in made for block in page.lead], kept), DESK)
    tab.run(OPEN)
    tab.run(LAID_OUT.format(DESK, "screen"))
    assert tab.run(CUT) == []
    assert tab.run("document.documentElement.scrollWidth - innerWidth") <= 0
    tab.resize(PAPER)
    tab.call("Emulation.setEmulatedMedia", media="print")
    tab.run(LAID_OUT.format(PAPER, "print"))
    assert tab.run(CUT) == []
    tab.close()


# --- what a reader does ---------------------------------------------------------------------------------------------


def numbered(cells, **more):
    rows = [[f"w{at}", cell] for at, cell in enumerate(cells)]
    return Page("", {}, [], [Section("x", "X", [Grid("G.", ["word", "d"], rows, numeric=["d"])])], **more)


SHOWN = (
    "[...document.querySelectorAll('tbody tr')].filter((row) => !row.hidden).map((row) => row.cells[{}].textContent)"
)


def test_columns_are_sorted_from_the_keyboard_as_numbers_with_empty_cells_last(opened):
    cells = [
        *("1,234", "–", "0.12 [0.10, 0.14]", "1.2\u00a0×\u00a010⁻³", "−0.50*", "∞", "", "0.12", "9 (3%)", "−∞"),
        *("1e−09", "1.235e+04"),
    ]
    tab = opened(numbered(cells), DESK)
    tab.run("document.querySelectorAll('th button')[1].focus()")
    state = "document.querySelectorAll('thead th')[1].getAttribute('aria-sort')"
    ascending = ["−∞", "−0.50*", "1e−09", cells[3], "0.12 [0.10, 0.14]", "0.12", "9 (3%)", "1,234", "1.235e+04", "∞"]
    tab.press("Enter", 13, "\r")
    assert (tab.run(state), tab.run(SHOWN.format(1))) == ("ascending", [*ascending, "–", ""])
    tab.press(" ", 32, " ")
    # What is alike keeps its order.
    descending = ["∞", "1.235e+04", "1,234", "9 (3%)", "0.12 [0.10, 0.14]", "0.12", cells[3], "1e−09", "−0.50*", "−∞"]
    assert (tab.run(state), tab.run(SHOWN.format(1))) == ("descending", [*descending, "–", ""])
    tab.press("Enter", 13, "\r")
    assert (tab.run(state), tab.run(SHOWN.format(1))) == (None, cells)
    tab.run("document.querySelectorAll('th button')[0].click()")
    assert tab.run(SHOWN.format(0)) == [f"w{at}" for at in range(12)], "w10 would come after w9"


def test_a_long_table_is_short_at_first_and_filtered_as_a_whole(opened):
    tab = opened(numbered([str(at) for at in range(60)]), DESK)
    assert tab.run(SHOWN.format(0)) == [f"w{at}" for at in range(20)]
    said = "document.querySelector('[role=status]').textContent"
    assert tab.run(said) == "20 of 60 rows"
    tab.run("document.querySelector('input').focus()")
    tab.press("5", 53, "5")
    assert tab.run(SHOWN.format(0)) == ["w5", "w15", "w25", "w35", "w45", *(f"w{at}" for at in range(50, 60))]
    assert tab.run(said) == "15 of 15 that fit, of 60 rows"
    tab.run("document.querySelector('.tools button').click()")
    tab.press("Backspace", 8)
    assert len(tab.run(SHOWN.format(0))) == 60


TABLES = """Object.fromEntries([...document.querySelectorAll(".chart")].map((chart) => [
  chart.querySelector(".plot").getAttribute("aria-label"),
  [...(chart.querySelector("table")?.rows ?? [])].map((row) => [...row.cells].map((cell) => cell.textContent)),
]))"""


def test_the_numbers_of_a_chart_are_a_table_of_what_the_pointer_shows(together):
    page, tab = together
    select = "document.querySelectorAll('#occupations select')[0]"
    tab.run(f"{select}.value = '1'; {select}.dispatchEvent(new Event('change'))")
    tab.run("new Promise((done) => setTimeout(done, 200))")
    tables = tab.run(TABLES)
    (alt,) = [chart.alt for chart in charts_of(page) if "just noticeable difference of every" in chart.alt]
    heads, *rows = tables[alt]
    assert heads == ["what", "PSE", "Monte Carlo interval", "JND", "women", "further"]
    # The second choice is that of she – he, 0.02 above the first.
    guard = ["guard", "0.320 [0.170, 0.470]", "[0.290, 0.350]", "0.200 [0.150, 0.250]", "20%", "32 replicas"]
    assert guard in rows
    assert "<b>&" in [row[0] for row in rows]
    (losses,) = [rows for alt, rows in tables.items() if alt.startswith("Line chart of the loss")]
    assert losses[:2] == [["what", "epoch", "loss (nats)"], ["training", "1", "1.0000"]]


def test_lines_that_are_not_shown_at_first_are_chosen_from_the_keyboard(together):
    _, tab = together
    boxes = "[...document.querySelectorAll('#lines [type=checkbox]')]"
    shown = tab.run(f"{boxes}.map((box) => box.checked)")
    assert (shown.count(True), len(shown)) == (5, 8)
    tab.run(f"{boxes}[{shown.index(False)}].focus()")
    tab.press(" ", 32, " ")
    tab.run("new Promise((done) => setTimeout(done, 200))")
    visible = tab.run("document.querySelector('#lines .plot').data.filter((trace) => trace.visible === true).length")
    assert visible == 6 * 3, "steps, fit and marks of each"


def test_figures_are_drawn_anew_where_the_page_becomes_wider(together):
    page, tab = together
    kept = "#associations, #professions, #components, #lead"
    tab.run(f"document.querySelectorAll('section[id]:not({kept})').forEach((section) => section.remove())")
    charts = [chart for section in page.sections if f"#{section.anchor}" in kept for chart in of(section)]
    check(tab, len(charts), len(page.lead) + 3, DESK)
    widths = "[...document.querySelectorAll('.plot')].map((plot) => plot.querySelector('.main-svg').clientWidth)"
    assert min(tab.run(widths)) > 900
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    assert max(tab.run(widths)) < 673, "A4 less 16 mm at each side is 673 pixels wide"


DRAWN_AT_ONCE = """addEventListener("DOMContentLoaded", () => {
  const plots = [...document.querySelectorAll(".plot")];
  globalThis.drawnAtOnce = plots.map((plot) => plot.querySelectorAll(".trace").length);
});"""


def test_charts_in_view_are_drawn_when_the_page_has_been_read_and_the_others_follow(embeddings, opened):
    section = Section("x", "X", [chosen_lines(embeddings), *[Paragraph("x")] * 100, chosen_lines(embeddings)])
    tab = opened(Page("Curves", {}, [], [section]), DESK, before=DRAWN_AT_ONCE)
    num_traces = tab.run(
        "[...document.querySelectorAll('.plot')].map((plot) => plot.querySelectorAll('.trace').length)"
    )
    assert num_traces[0] == num_traces[1] > 0
    assert tab.run("drawnAtOnce[0]") == num_traces[0]


TEXTS = ["", "a", "dots", "<b>\u00e9\U0001f600</b>" * 300, "x" * 100_000, "".join(map(chr, range(32, 50_000)))]


def test_texts_are_unpacked_as_they_were(embeddings, opened):
    """Long runs have lengths of many bytes, and repetitions reach over each other."""
    tab = opened(Page("", {}, [], [Section("x", "X", [chosen_lines(embeddings)])]), DESK)
    assert [tab.run(f"unpacked({packed(text)!r})") for text in TEXTS] == TEXTS


def test_a_browser_that_can_not_unpack_shows_the_tables_and_says_so(pages, opened):
    tab = opened(pages["gru_training"](), DESK, before="delete globalThis.atob;")
    assert tab.run("document.querySelector('.plot').textContent").startswith(
        "This chart can't be drawn by this browser"
    )
    assert tab.run("document.querySelectorAll('th button').length") > 0
    assert tab.problems == []


# --- how large a page is --------------------------------------------------------------------------------------------


def test_a_page_with_all_kinds_of_charts_is_less_than_half_as_large_again_as_its_library(together):
    page, _ = together
    assert len(render(page)) < 1.5 * len(library())
