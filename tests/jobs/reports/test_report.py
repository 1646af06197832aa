"""The whole report on small tables made by hand, and in a real browser where there is one."""

import re
import shutil
import subprocess

import hydra
import pyarrow as pa
import pytest

from cluster.stages import StageRecord
from jobs import tables
from jobs.config import build
from jobs.measures import tables as measures
from jobs.report import compose
from jobs.reports.embeddings_body import embeddings_body
from storage.html import Chart, Page, Paragraph, render

TAGGED = "<b>&"
VOCABULARY = [
    {"language": "en", "word": word, "count": count, "lists": lists, "status": status}
    for word, count, lists, status in (
        ("she", 9, ["cue_pairs"], "ok"),
        ("the", 8, [], "ok"),
        ("he", 2, ["cue_pairs"], "too_rare"),
        ("hers", 0, ["cue_pairs"], "absent"),
    )
]
CORPUS = {
    "corpus": TAGGED,
    "language": "en",
    "num_articles": 1234,
    "num_tokens": 98765,
    "num_words": 432,
    "warning": "",
}
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def of_corpora():
    losses = [{"language": "en", "replica": r, "epoch": e, "loss": 1 / e + r} for r in range(3) for e in (1, 2)]
    return {
        "corpora": pa.Table.from_pylist([CORPUS], tables.CORPORA),
        "vocabulary": pa.Table.from_pylist(VOCABULARY, tables.VOCABULARY),
        "training": pa.Table.from_pylist(losses, tables.TRAINING),
    }


@pytest.fixture
def survey(made):
    """The tables of a run on one corpus, with results or without."""

    def publish(*, ok=True):
        frames = made.survey(ok=ok)
        schemas = {name: getattr(measures, name.upper()) for name in frames}
        return of_corpora() | {
            name: pa.Table.from_pylist(frame.to_dicts(), schemas[name]) for name, frame in frames.items()
        }

    return publish


def report(published, *overrides):
    with hydra.initialize_config_module("conf", version_base="1.3"):
        config = build(hydra.compose("tiltmeter", overrides=list(overrides)), overrides)
    stages = [StageRecord("train", num_done=3, num_reused=1, seconds=2.04, peak_worker_memory_bytes=5 * 2**20)]
    return compose(embeddings_body(config), published, stages, f"word: {TAGGED}\n")


def charts(page: Page):
    return [block for section in page.sections for block in section.blocks if isinstance(block, Chart)]


def without_library(html):
    """The page less plotly's own code, which is the first script."""
    return re.sub(r"<script>.*?</script>", "", html, count=1, flags=re.DOTALL)


def test_the_sections_of_a_survey_come_in_order(survey):
    page = report(survey())
    of_occupations = ["curves", "occupations", "pooled", "validation", "comparison"]
    anchors = [*of_occupations, "associations", "wefat", "words", "training", "missing", "account"]
    assert [section.anchor for section in page.sections] == anchors


def test_the_report_of_bootstrap_has_no_word_of_what_it_did_not_measure():
    page = report(of_corpora(), "job=bootstrap")
    assert [section.anchor for section in page.sections] == ["words", "training", "account"]
    assert "PSE" not in without_library(render(page))


def test_words_of_the_lists_are_counted_by_status():
    page = report(of_corpora(), "job=bootstrap")
    grid, details = [block for block in page.sections[0].blocks if not isinstance(block, Paragraph)]
    # The median of the counts 9, 2 and 0.
    assert grid.rows == [["en", "cue_pairs", "3", "1", "1", "1", "2"]]
    assert details.summary == "en: 2 listed words without a vector"
    assert details.blocks[0].text == "he (2), hers (0)"


def test_several_corpora_are_a_table_with_their_warnings_and_losses():
    published = of_corpora()
    both = [{"corpus": "enwiki"}, {"corpus": "dewiki", "language": "de", "warning": "only 5 running words"}]
    corpora = [CORPUS | change for change in both]
    losses = [row | {"language": code} for code in ("en", "de") for row in published["training"].to_pylist()]
    published |= {
        "corpora": pa.Table.from_pylist(corpora, tables.CORPORA),
        "training": pa.Table.from_pylist(losses, tables.TRAINING),
    }
    page = report(published, "job=bootstrap", "corpus=[enwiki,dewiki]")
    assert page.title == "Bootstrapped word vectors: enwiki, dewiki"
    assert page.facts["languages"] == "en, de"
    assert [row[:3] for row in page.lead[0].rows] == [["enwiki", "en", "1,234"], ["dewiki", "de", "1,234"]]
    assert [block.text for block in page.lead if getattr(block, "tone", "") == "warning"] == [
        "dewiki: only 5 running words."
    ]
    assert list(charts(page)[0].figures) == ["en", "de"]


def test_a_trainer_without_losses_has_a_sentence_for_them():
    published = of_corpora()
    rows = [row | {"loss": None} for row in published["training"].to_pylist()]
    published["training"] = pa.Table.from_pylist(rows, tables.TRAINING)
    page = report(published, "job=bootstrap", "embedding=fasttext")
    assert charts(page) == []
    assert "This trainer gives none." in render(page)


def test_where_little_is_measured_there_are_sentences(survey):
    page = report(survey(ok=False))
    html = without_library(render(page))
    assert "No occupation could be measured (10 × missing_words)." in html
    assert "No word could be measured (5 × missing_words)" in html


def test_every_word_is_escaped_for_html(survey):
    html = without_library(render(report(survey())))
    assert TAGGED not in html
    assert "&lt;b&gt;&amp;" in html


def test_the_page_loads_nothing(survey):
    html = render(report(survey()))
    assert "default-src 'none'" in html
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", without_library(html))
    assert "http" not in without_library(html).replace("http-equiv", "")


def test_rows_and_stages_are_accounted_for(survey):
    html = without_library(render(report(survey())))
    assert "gnat" in html
    assert "worker peak so far (MiB)" in html
    assert re.search(r"<td>train</td>.*>3<.*>1<.*>2.0<.*>0.0<.*>5<", html)
    assert "word: &lt;b&gt;&amp;" in html
    assert "share of women in the occupation, from the word set" in html


PROBE = """<script>
for (const select of document.querySelectorAll("select")) {
  select.value = "1";
  select.dispatchEvent(new Event("change"));
}
document.title = `${performance.getEntriesByType("resource").length} requests`;
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="needs chromium on PATH")
def test_a_browser_draws_every_figure_and_asks_the_network_for_nothing(survey, tmp_path):
    page = report(survey())
    (tmp_path / "report.html").write_text(render(page).replace("</body>", PROBE))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", f"--user-data-dir={tmp_path}"]
    command = [str(BROWSER), *flags, "--dump-dom", (tmp_path / "report.html").as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    drawn = dom.split("</head>")[1]
    # Plotly draws three layers per figure: lines, legend, and what is under the pointer.
    assert len(re.findall(r'<svg class="main-svg"', drawn)) == 3 * len(charts(page)) == 24
    assert "<title>0 requests</title>" in dom
    shown = re.sub(r"<script.*?</script>", "", drawn, flags=re.DOTALL)
    # The second choice: she - he in the curves and the dots, woman - man in the scatter plot.
    assert "guard: 0.32, 0.20" in shown
    assert "female side" in shown
    assert "sd: cue pairs" in shown
