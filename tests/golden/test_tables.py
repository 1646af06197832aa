"""What is held of tables and pages: each cell and its place; not where a run lies, nor the last digits of fractions."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.golden.tables import HERE, OF_MACHINES, hold, record, settle
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.report.html.elements import Chart, Grid, Page, Paragraph, Section, render
from tiltmeter.jobs.report.plots.figure import Figure

ROWS = [
    {"word": "oak", "count": 3, "score": 0.25, "parts": [1.0, -2.0], "test": {"p": 0.5, "label": "a"}},
    {"word": "elm", "count": 0, "score": None, "parts": [], "test": {"p": 0.04, "label": "b"}},
    {"word": None, "count": 7, "score": -0.75, "parts": [0.5], "test": {"p": 0.9, "label": "a"}},
]


@pytest.fixture
def run(tmp_path):
    """Writes what a run of such rows and settings leaves."""

    def write(rows, name="run", **settings):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        table = pa.Table.from_pylist(
            rows, pa.Table.from_pylist(ROWS).schema if rows[0].keys() == ROWS[0].keys() else None
        )
        pq.write_table(table, folder / "words.parquet")
        about = {"status": "succeeded", "job": "trees", "tables": {"words": {"rows": len(rows)}, "none": None}}
        (folder / "run.json").write_text(json.dumps(about))
        usual = {"store": str(folder / "store"), "cluster": {"num_cpus": 2}, "corpus": {"path": f"{folder}3/a.txt"}}
        (folder / "config.yaml").write_text(yaml.dump(usual | settings))
        return folder

    return write


@pytest.fixture
def golden(run, tmp_path):
    """A folder in which the run of those rows is recorded."""
    (tmp_path / "golden").mkdir()
    record(run(ROWS, "recorded"), tmp_path / "golden")
    return tmp_path / "golden"


def changed(at, **cells):
    return [row | cells if number == at else row for number, row in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (changed(0, word="oaks"), "word"),
        (changed(0, word="oak/elm"), "word"),
        (changed(2, word=""), "word"),
        (changed(1, count=1), "count"),
        (changed(0, score=0.26), "score"),
        (changed(1, score=float("nan")), "score"),
        (changed(0, parts=[-2.0, 1.0]), "parts: items"),
        (changed(1, parts=[0.5]), "parts: lengths, parts: items"),
        (changed(1, test={"p": 0.96, "label": "b"}), "test.p"),
        (changed(1, test={"p": 0.04, "label": "a"}), "test.label"),
        (ROWS[:2], "rows, count, parts: lengths, parts: items, score, test.p, test.label, word"),
        ([ROWS[0], ROWS[2], ROWS[1]], "count, parts: lengths, score, test.p, test.label, word"),
        ([{"words" if key == "word" else key: row[key] for key in row} for row in ROWS], "columns"),
    ],
)
def test_a_changed_cell_is_refused(run, golden, rows, columns):
    with pytest.raises(AssertionError, match=rf"^trees: words: {columns} changed \("):
        hold(run(rows), golden)


def page(
    bar=0.5,
    word="oak",
    number="−1,234.50",
    drawn=2.0,
    took="3 s",
    title="Trees, elm < oak",
    solved="0.2 s",
    column="score",
):
    chart = Chart("", "Heights.", {"all": Figure([{"x": ["oak"], "y": [drawn]}], {})})
    grid = Grid("", ["word", column], [[word, number]], [column], {column: [bar]})
    sections = [Section("heights", "Heights", [grid, chart]), Section("account", "How it was run", [Paragraph(took)])]
    return render(
        Page(
            title,
            {"list": "/tmp/a/x.csv"},
            [Paragraph(f"{bar} m, in {solved}. Oak 3 (1.5 m) took 0.9 s. End.")],
            sections,
        )
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"word": "elm"}, "heights"),
        ({"number": "−1,234.60"}, None),
        ({"number": "1,234.50"}, "heights"),
        ({"number": "none"}, "heights"),
        ({"drawn": 2.1}, "heights"),
        ({"bar": 0.6}, "lead"),
        ({"title": "Wood"}, "lead"),
        ({"title": "Trees, elm < ash"}, "lead"),
        ({"took": "4 hours"}, None),
        ({"solved": "17 s"}, None),
        ({"solved": "0.2 s. Elm 7 (2.5 m) took 1.5 s in all; elm took 1 s"}, None),
        ({"solved": "17 days"}, "lead"),
    ],
)
def test_a_changed_page_is_refused(run, golden, change, what):
    folder = run(ROWS)
    (folder / "report.html").write_text(page())
    record(folder, golden)
    hold(folder, golden)
    (folder / "report.html").write_text(page(**change).replace("/tmp/a/x.csv", "/home/b/y.csv"))
    if what is None:
        hold(folder, golden)
    else:
        with pytest.raises(AssertionError, match=rf"^trees: page: {what} changed \("):
            hold(folder, golden)


def test_numbers_beside_seconds_are_not_held(run, golden):
    folder = run(ROWS)
    (folder / "report.html").write_text(page(column="seconds", number="2"))
    record(folder, golden)
    (folder / "report.html").write_text(page(column="seconds", number="7"))
    hold(folder, golden)


def test_places_layout_and_last_digits_are_not_held(run, golden):
    record(run(changed(2, word="no file /tmp/a/x.csv"), seed=2), golden)
    hold(run(changed(2, word="no file /home/b/y.csv"), seed=2), golden)
    rows = changed(0, score=0.25 + 1e-6, test={"p": 0.5 - 1e-6, "label": "a"})
    hold(run(rows, "elsewhere", cluster={"num_cpus": 4}), golden)


def test_other_settings_are_another_run(run, golden):
    with pytest.raises(AssertionError, match="no run with these settings was recorded that has the table words"):
        hold(run(ROWS, seed=1), golden)


def test_a_table_more_or_less_is_refused(run, golden):
    folder = run(ROWS)
    about = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(about | {"tables": {}}))
    with pytest.raises(AssertionError, match="trees: -: tables changed"):
        hold(folder, golden)


def test_what_recordings_disagree_on_is_not_held(run, golden, tmp_path, monkeypatch):
    other, settled = tmp_path / "other", tmp_path / "settled"
    other.mkdir()
    settled.mkdir()
    record(run(changed(1, count=1), "again"), other)
    monkeypatch.setattr("tests.golden.tables.HERE", settled)
    settle([golden, other])
    hold(run(changed(1, count=5)), settled)
    with pytest.raises(AssertionError, match="word changed"):
        hold(run(changed(0, word="ash")), settled)


def test_a_table_is_added_once(run, golden):
    file = golden / "trees.txt"
    before = file.read_text()
    record(run(changed(0, score=0.25 + 1e-6)), golden)
    file.write_text(before.replace(before.split()[4], "*"))
    record(run(changed(0, count=9)), golden)
    assert file.read_text().count("\n") == before.count("\n")
    record(run(changed(0, score=0.5)), golden)
    assert file.read_text().count("\n") == before.count("\n") + 1


def test_a_job_that_was_never_recorded_is_not_held(run, golden):
    (golden / "trees.txt").unlink()
    hold(run(ROWS, seed=1), golden)


def test_every_job_is_recorded():
    assert {file.stem for file in HERE.glob("*.txt")} == {*catalogue.OURS} - {*OF_MACHINES}
