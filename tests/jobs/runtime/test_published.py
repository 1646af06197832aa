"""Published tables, and a report that reads no more of them than it shows."""

import shutil
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body, write_report
from tiltmeter.jobs.runtime.published import Frames, PublishedTable, published_tables
from tiltmeter.storage.store.runs import opened
from tiltmeter.storage.store.tables import column

SCORES = pa.schema(
    [
        column("text", pa.string(), "a text"),
        column("status", pa.string(), "ok, or why not"),
        column("reason", pa.string(), "why not"),
    ]
)
ROWS = [
    {"text": str(n), "status": "no_score" if n % 3 else "ok", "reason": "none" if n == 1 else "b" * (n % 3)}
    for n in range(9)
]


@pytest.fixture
def directory(tmp_path):
    with opened(tmp_path / "run") as directory:
        directory.begin(["words", "scores", "never"], job="rating", versions={})
        directory.write_text("config.yaml", "job: rating\n")
        directory.write_table("words", pa.table({"word": ["a", "b"], "count": [1, 2]}))
        directory.write_table("scores", pa.Table.from_pylist(ROWS, SCORES))
        yield directory


def test_a_table_is_read_when_it_is_asked_for_and_once(directory):
    frames = Frames({name: table.rows for name, table in published_tables(directory).items()})
    (directory.path / "scores.parquet").unlink()
    assert list(frames) == ["words", "scores"]
    assert ("scores" in frames, "never" in frames, len(frames)) == (True, False, 2)
    assert frames["words"]["count"].to_list() == [1, 2]
    assert frames["words"] is frames["words"]
    with pytest.raises(FileNotFoundError):
        frames["scores"]


def test_a_table_in_memory_and_one_in_a_folder_are_alike(directory, tmp_path):
    folder = tmp_path / "run/parts"
    folder.mkdir()
    for name in ("b", "a"):
        shutil.copy(tmp_path / "run/scores.parquet", folder / f"{name}.parquet")
    read, held = (
        PublishedTable.read(directory.path, "parts"),
        PublishedTable(pl.LazyFrame(pa.Table.from_pylist(ROWS, SCORES)), SCORES),
    )
    assert read.rows.collect().height == 18
    assert read.rows.collect_schema() == held.rows.collect_schema()
    assert (read.by_status(), held.by_status()) == ({"ok": 6, "no_score": 12}, {"ok": 3, "no_score": 6})
    assert held.commonest_reasons() == [("no_score", "bb", 3, 6)]
    assert read.schema.field("text").metadata[b"description"] == b"a text"


def test_a_report_counts_and_describes_tables_that_its_page_does_not_read(directory):
    def page(run, frames):
        assert frames.scan("words").filter(pl.col("count") > 1).collect().to_dicts() == [{"word": "b", "count": 2}]
        return Body("A run", {}, Lead([], []), [])

    run = SimpleNamespace(directory=directory, runner=SimpleNamespace(records=[], failures={}, entry=None, store=None))
    assert write_report(run, page) == Lead([], [])
    html = (directory.path / "report.html").read_text()
    assert "no_score" in html
    assert "why not" in html
