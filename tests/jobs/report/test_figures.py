"""Figures of a page as files: what a browser draws of them, their numbers, and what becomes of those that fail."""

import csv
import re
import zlib

import polars as pl
import pytest

from tiltmeter.jobs.report.figures import check_figures, export_figures
from tiltmeter.jobs.report.html.elements import Chart, Details, Page, Section
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import StorageError, WorkFailed
from tiltmeter.storage.store.runs import opened

ROWS = pl.DataFrame({"word": ["R&D", "=1+1"], "d": [0.1, -0.25], "d_low": [0.0, -0.5], "d_high": [0.2, 0.1]})
SILENT = dots(ROWS, "d", "word", title="effect")
SAID = dots(ROWS, "d", "word", hover=lambda row: f"<b>{row['word']}</b><br>bias {row['d']}".replace("-", "−"))
BROKEN = Figure([{"type": "heatmap", "z": []}], {})


@pytest.fixture(scope="module")
def exported(browser, tmp_path_factory):
    """Of a page with two figures to choose from, and between them one that no browser can draw."""
    two = Chart("dots", "Effects.", {"she": SILENT, "he": SAID}, "Cue")
    page = Page(
        "", {}, [], [Section("a/b", "", [two, Details("", [Chart("", "Bad.", {"": BROKEN})])]), Section("c", "", [two])]
    )
    folder = tmp_path_factory.mktemp("figures")
    with opened(folder) as directory:
        directory.begin([], job="survey", versions={})
        with pytest.raises(WorkFailed) as failure:
            export_figures(directory, page)
    return folder, str(failure.value)


def test_each_figure_has_all_its_files_and_one_that_fails_has_none_and_is_named(exported):
    folder, message = exported
    names = [
        f"{section}-1-{choice}.{ending}"
        for section in ("a-b", "c")
        for choice in (1, 2)
        for ending in ("csv", "pdf", "svg")
    ]
    assert sorted(path.name for path in (folder / "exports/figures").iterdir()) == names
    assert message.startswith("exports.figures=true: 1 of 5 figures could not be drawn: a-b-2 (Error 525: ")


def test_letters_of_figures_are_text(exported):
    drawing = (exported[0] / "exports/figures/a-b-1-1.svg").read_text()
    assert re.findall(r"<text[^>]*>([^<]*)</text>", drawing)[-1] == "effect"
    assert "R&amp;D" in drawing
    assert "<image" not in drawing
    content = (exported[0] / "exports/figures/a-b-1-1.pdf").read_bytes()
    streams = b"".join(zlib.decompress(part) for part in re.findall(rb"stream\n(x.*?)\nendstream", content, re.DOTALL))
    assert b"/BaseFont" in content
    assert b"Tj" in streams
    assert b"/Subtype /Image" not in content
    assert re.findall(rb"/MediaBox \[0 0 (\d+)[.\d]* (\d+)", content) == [(b"759", b"131")], (
        "of 992 and 154 pixels, with 20 of margins"
    )


def test_figures_alike_are_files_alike(exported):
    folder = exported[0] / "exports/figures"
    assert (
        len(
            {(folder / f"{section}-1-1.{ending}").read_bytes() for section in ("a-b", "c") for ending in ("svg", "pdf")}
        )
        == 2
    )


def test_numbers_are_those_under_the_pointer_or_where_there_are_none_those_of_the_dots(exported):
    silent, said = (
        list(csv.reader((exported[0] / f"exports/figures/c-1-{choice}.csv").read_text().splitlines()))
        for choice in (1, 2)
    )
    assert silent == [
        ["# Effects. Cue: she."],
        ["what", "effect", "from", "to"],
        ["R&D", "0.1", "0", "0.2"],
        ["'=1+1", "-0.25", "-0.5", "0.1"],
    ]
    assert said == [["# Effects. Cue: he."], ["what", "bias"], ["R&D", "0.1"], ["'=1+1", "-0.25"]]


def test_the_next_run_removes_figures_and_follows_no_link_to_them(exported, tmp_path):
    def begin(folder):
        with opened(folder) as directory:
            directory.begin([], job="survey", versions={})

    folder, outside = tmp_path / "run", tmp_path / "outside"
    with opened(folder) as directory:
        directory.begin([], job="survey", versions={})
        directory.export_bytes("figures/a-1.svg", b"<svg/>")
    begin(folder)
    assert list((folder / "exports/figures").iterdir()) == []
    with opened(folder) as directory:
        directory.begin([], job="survey", versions={})
        directory.export_bytes("figures/a-1.svg", b"<svg/>")
    (folder / "exports/figures").rename(outside)
    (folder / "exports/figures").symlink_to(outside)
    with pytest.raises(StorageError, match="its exports/figures is not one of ours"):
        begin(folder)
    assert (outside / "a-1.svg").exists()


def test_without_a_browser_a_run_is_refused(monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    with pytest.raises(ConfigError) as refusal:
        check_figures()
    assert str(refusal.value) == (
        "exports.figures=true: figures are drawn by Chromium or Chrome, and there is none at "
        "BROWSER_PATH=/nowhere/chromium; install it, set the variable BROWSER_PATH to its program, or set "
        "exports.figures=false"
    )
