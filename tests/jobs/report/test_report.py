"""The whole report on small tables made by hand."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from tests.fixtures.page_models import check_text
from tests.fixtures.tables.kinds import page_of
from tests.jobs.report.test_models import shown
from tiltmeter.cluster.stages import StageRecord
from tiltmeter.jobs.association import tables as association
from tiltmeter.jobs.embedding import tables
from tiltmeter.jobs.psychophysics import tables as psychophysics
from tiltmeter.jobs.report.html.elements import Chart, render
from tiltmeter.jobs.report.run_log import run_log
from tiltmeter.operators.embedding.fasttext import FastTextConfig

MEASURES = psychophysics.TABLES | association.TABLES
TAGGED = "<b>&"
VOCABULARY = [
    {"corpus": TAGGED, "language": "en", "word": word, "count": count, "lists": lists, "status": status}
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
    "num_lines": 1234,
    "num_tokens": 98765,
    "num_words": 432,
    "warning": "",
}


def of_corpora():
    key = {"corpus": TAGGED, "language": "en"}
    losses = [key | {"replica": r, "epoch": e, "loss": 1 / e + r} for r in range(3) for e in (1, 2)]
    return {
        "corpora": pa.Table.from_pylist([CORPUS], tables.TABLES["corpora"]),
        "vocabulary": pa.Table.from_pylist(VOCABULARY, tables.TABLES["vocabulary"]),
        "training": pa.Table.from_pylist(losses, tables.TABLES["training"]),
    }


@pytest.fixture
def survey(embeddings):
    """The tables of a run on one corpus, with results or without."""

    def publish(*, ok=True):
        frames = embeddings.survey(ok=ok)
        return of_corpora() | {
            name: pa.Table.from_pylist([row | {"model": TAGGED} for row in frame.to_dicts()], MEASURES[name])
            for name, frame in frames.items()
        }

    return publish


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
    corpora = [CORPUS | change for change in both]
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


def test_where_little_is_measured_there_are_sentences(survey, report, html_of):
    page = report(survey(ok=False))
    html = html_of(page)
    assert "No occupation could be measured (10 × missing_words)." in html
    assert "No word could be measured (5 × missing_words)" in html


def test_every_word_is_escaped_for_html_and_the_page_loads_nothing(survey, report, html_of):
    page = report(survey())
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
