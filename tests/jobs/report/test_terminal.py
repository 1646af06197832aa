"""What a run prints when it ends: what its page says first, in plain text, and its counts."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from tiltmeter.jobs.report.html.elements import Bullets, Details, Grid, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.terminal import print_outcome

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


@pytest.mark.parametrize(
    ("record", "counts"),
    [(DONE, "1 unit done, 2 reused, 3 failed in 4.2 s"), (DONE | {"stages": []}, "done in 4.2 s")],
)
def test_the_last_lines_are_the_counts_and_the_directory_in_one_piece(record, counts):
    *_, first, last = printed(None, record).splitlines()
    assert first == counts
    assert last == f"run directory: /runs/{'a' * 100}"


def test_what_was_left_out_of_files_stands_before_the_counts():
    row = {"file": "[a].csv", "reason": "no number", "kind": "bad", "num": 3, "first": "line 7, column 'age'"}
    *_, first, _, _ = printed(None, DONE | {"left_out": [row]}).splitlines()
    assert first == "3 records left out: no number; first in [a].csv, line 7, column 'age'"
