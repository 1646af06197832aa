"""The whole report on small tables made by hand, the blocks that it consists of, and what a terminal says of it."""

import base64
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest
from rich.console import Console

from tests.fixtures.figures import drawn
from tests.fixtures.page_models import check_text
from tests.fixtures.reports import reported
from tests.fixtures.tables.kinds import page_of
from tests.jobs.report.test_models import shown
from tiltmeter.cluster.stages import StageRecord
from tiltmeter.jobs.association import tables as association
from tiltmeter.jobs.embedding import tables
from tiltmeter.jobs.psychophysics import tables as psychophysics
from tiltmeter.jobs.report import default_page, grids
from tiltmeter.jobs.report.grids import cell, count, estimate, grid, number, text
from tiltmeter.jobs.report.html.charts import as_json, library
from tiltmeter.jobs.report.html.elements import (
    Bullets,
    Chart,
    Details,
    Grid,
    Listing,
    Page,
    Paragraph,
    Part,
    Passage,
    Passages,
    Section,
    Token,
    render,
)
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.run_log import run_log
from tiltmeter.jobs.report.terminal import print_outcome
from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key
from tiltmeter.operators.embedding.fasttext import FastTextConfig

MEASURES = psychophysics.TABLES | association.TABLES
TAGGED = "<b>&"
KEY = {"corpus": TAGGED, "language": "en"}
COUNTS = {"num_articles": 1234, "num_lines": 1234, "num_tokens": 98765, "num_words": 432, "warning": ""}


VOCABULARY = [
    KEY | {"word": word, "count": count, "lists": lists, "status": status}
    for word, count, lists, status in (
        ("she", 9, ["cue_pairs"], "ok"),
        ("the", 8, [], "ok"),
        ("he", 2, ["cue_pairs"], "too_rare"),
        ("hers", 0, ["cue_pairs"], "absent"),
    )
]


def of_corpora():
    losses = [KEY | {"replica": r, "epoch": e, "loss": 1 / e + r} for r in range(3) for e in (1, 2)]
    return {
        "corpora": pa.Table.from_pylist([KEY | COUNTS], tables.TABLES["corpora"]),
        "vocabulary": pa.Table.from_pylist(VOCABULARY, tables.TABLES["vocabulary"]),
        "training": pa.Table.from_pylist(losses, tables.TABLES["training"]),
    }


@pytest.fixture
def report(page_config):
    def write(published, kind="survey", *languages, trainer=None):
        config = page_config(kind, *(languages or ("en",)), trainer=trainer)
        stages = [StageRecord("train", num_done=3, num_reused=1, seconds=2.04, peak_worker_memory_bytes=5 * 2**20)]
        return page_of(kind, published, stages, f"word: {TAGGED}\n", config=config)

    return write


def test_the_page_of_bootstrap_counts_words_and_has_no_word_of_what_it_did_not_measure(report, html_of):
    page = report(of_corpora(), "bootstrap")
    assert "PSE" not in html_of(page)
    check_text(Path(__file__), "bootstrap", shown(page))


def test_several_corpora_are_a_table_with_their_warnings_and_losses_if_the_trainer_gives_any(report):
    published = of_corpora()
    both = [{"corpus": "enwiki"}, {"corpus": "dewiki", "language": "de", "warning": "only 5 running words"}]
    corpora = [KEY | COUNTS | change for change in both]
    losses = [row | {"corpus": name} for name in ("enwiki", "dewiki") for row in published["training"].to_pylist()]
    published |= {
        "corpora": pa.Table.from_pylist(corpora, tables.TABLES["corpora"]),
        "training": pa.Table.from_pylist(losses, tables.TABLES["training"]),
    }
    check_text(Path(__file__), "bootstrap_of_two", shown(report(published, "bootstrap", "en", "de")))
    published["training"] = pa.Table.from_pylist([row | {"loss": None} for row in losses], tables.TABLES["training"])
    page = report(published, "bootstrap", trainer=FastTextConfig())
    assert [block for section in page.sections for block in section.blocks if isinstance(block, Chart)] == []
    assert "This trainer gives none." in render(page)


def test_every_word_is_escaped_for_html_and_the_page_loads_nothing(embeddings, report, html_of):
    rows = {name: [row | {"model": TAGGED} for row in frame.to_dicts()] for name, frame in embeddings.survey().items()}
    page = report(of_corpora() | {name: pa.Table.from_pylist(rows[name], MEASURES[name]) for name in rows})
    assert "default-src 'none'" in render(page)
    html = html_of(page)
    assert TAGGED not in html
    assert "&lt;b&gt;&amp;" in html
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", html)
    assert "http" not in html.replace("http-equiv", "")


def test_every_stage_has_its_time_as_a_bar():
    stages = [StageRecord("count", seconds=1.0), StageRecord("train", num_done=3, num_reused=1, seconds=4.0)]
    stages[1].peak_worker_memory_bytes, stages[1].worker_seconds = 500 * 2**20, 6.0
    stages[1].busy_share, stages[1].least_busy_share = 0.75, 0.5
    grid, *_ = run_log(stages, "", {}).blocks
    assert "5.0 seconds in all" in grid.caption
    assert [grid.share("seconds", row) for row in (0, 1)] == [0.25, 1.0]
    assert grid.share("stage", 0) is None
    # Nothing was done by any process of the first.
    assert grid.rows == [
        ["count", "1.0", "0", "0", "0", "0.0", "–", "–", "–"],
        ["train", "4.0", "3", "1", "0", "6.0", "75%", "50%", "500"],
    ]


# --- the page of a job that has none of its own ---------------------------------------------------------------------


class Leanings(Table):
    word: str = key("the word")
    lean: Estimate = doc("how far it leans", "degrees", interval="the interval of lean")
    num_texts: int = doc("texts with the word", "texts")
    is_rare: bool = doc("whether it is rare")
    forms: list[str] = doc("how it is spelled")


LEANINGS = [
    {"word": "a", "lean": 1.5, "lean_low": 1.0, "lean_high": 2.0, "num_texts": 1200, "is_rare": False, "forms": ["a"]},
    {"word": "b", "lean": -0.5, "lean_low": -1.0, "lean_high": 0.0, "num_texts": 3, "is_rare": True, "forms": [*"bB"]},
    {"word": "c", "lean": 9.0, "num_texts": 0, "status": "absent", "reason": "it does not occur"},
]


def test_a_job_without_a_page_shows_findings_tables_with_units_and_a_dot_plot_of_each_number_with_an_interval():
    schema = Leanings.schema()
    rows = pa.Table.from_pylist([{"status": "ok", "reason": ""} | row for row in LEANINGS], schema)
    run = SimpleNamespace(config=SimpleNamespace(job=SimpleNamespace(name="word_leanings"), seed=7))
    make = default_page.page_of({"leanings": schema, "never": pa.schema([])})
    page = reported(lambda frames: make(run, frames), {"leanings": rows})
    check_text(Path(__file__), "default_page", shown(page))
    [chart] = [block for section in page.sections for block in section.blocks if isinstance(block, Chart)]
    [figure] = map(drawn, chart.figures.values())
    assert list(figure.layout.yaxis.ticktext) == ["b", "a", "c"]
    assert [list(trace.x) for trace in figure.data if trace.mode == "markers"] == [[9.0, 1.5, -0.5]]


# --- blocks as HTML -------------------------------------------------------------------------------------------------


def page(*blocks):
    return render(Page("T", {}, [], [Section("s", "S", list(blocks))]))


def test_the_figures_of_a_page_are_unpacked_as_they_were():
    chart = Chart("A.", "B.", {"one": Figure([{"y": [1]}], {}), "two": Figure([{"y": [2]}], {})})
    content = base64.b64decode(re.search(r'<script type="text/plain">(.*?)</script>', page(chart)).group(1))
    text = pa.decompress(content[4:], int.from_bytes(content[:4], "little"), "lz4_raw", asbytes=True)
    assert json.loads(text) == json.loads(as_json(chart.figures.values()))


def test_only_a_page_with_a_chart_carries_the_library_wherever_the_chart_stands():
    chart = Chart("A.", "B.", {"one": Figure([], {})})
    assert library() not in page(Paragraph("x"))
    assert library() in page(Details("d", [chart]))
    assert library() in render(Page("T", {}, [Part("p", [chart])], []))
    assert page(chart) == page(chart)


def test_bars_are_shares_of_the_longest_of_their_column():
    grid = Grid("", ["stage", "s"], [["a", "1"], ["b", "4"]], ["s"], {"s": [1.0, 4.0]})
    assert re.findall(r'<td class="number" style="--share: ([\d.]+)">(\d)', page(grid)) == [("0.25", "1"), ("1.0", "4")]
    assert Grid("", ["s"], [["0"]], ["s"], {"s": [0.0]}).share("s", 0) == 0.0


def test_a_box_that_scrolls_is_named_by_its_caption_and_what_it_stands_in():
    html = page(Grid("Caption.", ["a"], [["1"]]), Details("Sum", [Grid("", ["a"], [["1"]]), Listing("x")]))
    assert re.findall(r'role="region" tabindex="0" aria-label="(.*?)"', html) == ["S: Caption.", "Sum", "Sum"]
    html = page(Grid("", ["word", "d"], [["nurse", "1"]], ["d"]), Grid("", ["d"], [["1"]], ["d"]))
    assert re.findall(r'<th scope="row">(.*?)</th>', html) == ["nurse"], "a number names no row"


def test_words_of_a_passage_are_coloured_by_their_weight_and_escaped():
    tokens = [Token("<i>", 1.0, "+2.00"), Token("dull", -0.5), Token("film", 0.001)]
    html = page(Passages("C.", [[Passage("without", tokens), Passage("with", [])]]))
    assert '<span style="background: rgb(128,184,214)">&lt;i&gt; <small>+2.00</small></span>' in html
    assert re.search(r'<span style="background: rgb\(2\d\d,2\d\d,\d+\)">dull</span>', html)
    assert "<span>film</span>" in html
    assert re.findall("<dt>(.*?)</dt>", html) == ["without", "with"]


def test_the_label_of_a_single_figure_is_shown_where_something_is_chosen():
    figure = Figure([{"x": [1.0]}], {})
    assert '<p class="choice">Model: a &lt;b&gt;</p>' in page(Chart("alt", "caption", {"a <b>": figure}, "Model"))
    assert 'class="choice"' not in page(Chart("alt", "caption", {"means": figure}))
    assert "<label" in page(Chart("alt", "caption", {"a": figure, "b": figure}, "Model"))


# --- tables from rows and columns -----------------------------------------------------------------------------------

NURSE = {"word": "nurse", "num_texts": 1204, "share": 0.125, "d": -0.5, "d_low": -1.0, "d_high": 0.0, "p": 0.031}
NURSE |= {"is_kept": True, "missing": ["a", "b"], "moment": datetime(2026, 11, 20, 7, 5, tzinfo=UTC)}
ROWS = pl.DataFrame([NURSE, {"word": "judge", "missing": []}])


def test_each_kind_of_column_writes_its_values_and_a_dash_where_there_is_none():
    columns = {
        count("num_texts"): "1,204",
        number("d", digits=1): "−0.5",
        number("num_texts", "MB", 1, scale=1e-3): "1.2",
        grids.percent("share"): "12.5%",
        estimate("d", digits=1): "−0.5 [−1.0, 0.0]",
        grids.p_value("p"): "0.031",
        grids.yes("is_kept"): "yes",
        grids.listed("missing"): "a, b",
        text("moment"): "2026-11-20 07:05",
        text("p", names=lambda p: f"p {p}"): "p 0.031",
        cell("both", lambda row: row["word"] if row["p"] else ""): "nurse",
    }
    for column, first in columns.items():
        assert grid("", ROWS, column).rows == [[first], ["–"]]


def test_a_long_table_is_cut_one_without_rows_has_its_headings_and_a_bar_is_the_longest_of_its_column():
    made = grid("Words.", ROWS, "word", most=1, table="words")
    assert made.rows == [["nurse"]]
    assert made.caption == "Words. The first 1 of 2; the others are in the table words."
    empty = grid("", ROWS.head(0), "word", estimate("d"))
    assert (empty.headings, empty.rows) == (["word", "d"], [])
    barred = grid("", ROWS, "word", count("num_texts", bar=True))
    assert (barred.bars, barred.share("texts", 0)) == ({"texts": [1204.0, 0.0]}, 1.0)


# --- what a run prints when it ends ---------------------------------------------------------------------------------

LEAD = Lead(
    [Paragraph("How far does it lean?")],
    [
        Bullets(["It leans by 0.3 [0.1, 0.5].", "[bold]names[/bold] stay"]),
        Grid("By word.", ["word", "d"], [["[x]", "1"]]),
    ],
    [Paragraph("too few words", "warning"), Paragraph("a note", "note"), Details("more", [Paragraph("folded")])],
)
DONE = {"units": {"done": 1, "reused": 2, "failed": 3}, "seconds": 4.25, "stages": [{}]}


def printed(lead, record=DONE):
    console = Console(file=io.StringIO(), width=80)
    directory = SimpleNamespace(record=record, path=Path("/runs") / ("a" * 100))
    print_outcome(SimpleNamespace(console=console, lead=lead, directory=directory))
    return console.file.getvalue()


def test_findings_and_doubts_are_printed_and_neither_the_question_nor_what_a_reader_opens():
    text = printed(LEAD)
    assert text.index("What was found") < text.index("• It leans by 0.3 [0.1, 0.5].") < text.index("How sure it is")
    assert "warning: too few words" in text
    assert not [word for word in ("How far", "a note", "folded", "more") if word in text]
    assert "[bold]names[/bold] stay" in text, "words that look like markup are printed as they are"
    assert "│ [x]  │ 1 │" in text


def test_the_last_lines_are_what_was_left_out_the_counts_and_the_directory_in_one_piece():
    row = {"file": "[a].csv", "reason": "no number", "kind": "bad", "num": 3, "first": "line 7, column 'age'"}
    assert printed(None, DONE | {"left_out": [row]}).splitlines()[-3:] == [
        "3 records left out: no number; first in [a].csv, line 7, column 'age'",
        "1 unit done, 2 reused, 3 failed in 4.2 s",
        f"run directory: /runs/{'a' * 100}",
    ]
    assert printed(None, DONE | {"stages": []}).splitlines()[-2] == "done in 4.2 s"
