"""The page of all runs below a folder: what it lists, what it leaves alone, and what it refuses."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import filelock
import pytest

from tiltmeter.jobs.report.html.elements import Bullets, render
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.upkeep.runs import page_of_runs, read_runs, write_index
from tiltmeter.storage.errors import Refusal

NOW = datetime(2026, 5, 4, 3, 2, tzinfo=UTC)
NO_RUN = {"versions": {}, "tables": {}}


def write(folder: Path, report: str | None = "page", **entries):
    folder.mkdir(parents=True, exist_ok=True)
    record = NO_RUN | {"job": "survey", "status": "succeeded", "started": "2026-05-01T10:00:00+00:00"} | entries
    (folder / "run.json").write_text(json.dumps(record))
    if report:
        (folder / "report.html").write_text(report)
    return folder


def listed(folder):
    [table] = page_of_runs("runs", *read_runs(folder), NOW).sections[0].blocks
    return table


def test_runs_are_listed_the_latest_first_with_what_they_found_and_links_to_their_pages(tmp_path):
    write(tmp_path / "a & b", headline="4 of 9 lean.", changes="No result changed.")
    write(tmp_path / "night/jobs/x", started="2026-05-01T14:00:00+02:00", job="compare")
    write(tmp_path / "night", started="2026-05-02T00:00:00+00:00", job="overnight", report=None)
    table = listed(tmp_path)
    assert table.headings == ["started", "job", "status", "headline", "changes", "place"]
    assert table.rows == [
        ["2026-05-02 00:00", "overnight", "succeeded", "–", "–", "night"],
        ["2026-05-01 12:00", "compare", "succeeded", "–", "–", "night/jobs/x"],
        ["2026-05-01 10:00", "survey", "succeeded", "4 of 9 lean.", "No result changed.", "a & b"],
    ]
    assert table.links == {"started": ["", "night/jobs/x/report.html", "a%20%26%20b/report.html"]}


def test_what_a_run_failed_with_stands_where_it_found_nothing_and_a_killed_run_is_told_from_one_at_work(tmp_path):
    write(tmp_path / "failed", status="failed", error={"error": "UnitsFailed: 2 units", "traceback": "..."})
    write(tmp_path / "partly", status="failed", error={"error": "UnitsFailed"}, headline="3 lean.")
    for name in ("working", "killed"):
        (write(tmp_path / name, status="running", started="?") / ".lock").touch()
    with filelock.FileLock(tmp_path / "working/.lock"):
        rows = {row[-1]: row for row in listed(tmp_path).rows}
        lead = page_of_runs("runs", *read_runs(tmp_path), NOW).lead[0].blocks[0].text
    assert [rows[name][2:4] for name in ("failed", "partly")] == [
        ["failed", "UnitsFailed: 2 units"],
        ["failed", "3 lean."],
    ]
    assert [rows[name][:3] for name in ("working", "killed")] == [["–", "survey", "running"], ["–", "survey", "killed"]]
    assert lead == "4 runs: 2 failed, 1 killed and 1 running."


def test_a_record_that_cannot_be_read_is_said_and_costs_no_other(tmp_path):
    write(tmp_path / "good")
    broken = {
        "cut": b'{"job": "surv',
        "deep": b"[" * 100_000,
        "bytes": b"\xff\xfe\x00",
        "other": b'{"epochs": 3}',
        "list": b"[1]",
        "kind": json.dumps(NO_RUN | {"job": ["x"], "changes": 1}).encode(),
    }
    for name, content in broken.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_bytes(content)
    (tmp_path / "folder/run.json").mkdir(parents=True)
    os.mkfifo(write(tmp_path / "pipe").joinpath("pipe.json"))
    os.replace(tmp_path / "pipe/pipe.json", tmp_path / "pipe/run.json")
    runs, problems = read_runs(tmp_path)
    assert [run.place for run in runs] == ["good"]
    assert problems == [
        "bytes/run.json: is no JSON, or not all of it",
        "cut/run.json: is no JSON, or not all of it",
        "deep/run.json: is no JSON, or not all of it",
        "kind/run.json: job and changes are no text",
        "list/run.json: is not the record of a run",
        "other/run.json: is not the record of a run",
        "pipe/run.json: is no file",
    ]
    assert page_of_runs("runs", runs, problems, NOW).lead[1].blocks == [Bullets(problems)]


def test_no_link_is_followed_and_no_record_of_the_register_or_of_exports_is_a_run(tmp_path):
    below = tmp_path / "below"
    write(below / "store/runs/survey/one")
    (below / "store/tiltmeter-store.json").touch()
    for place in ("store/registry/survey/s/m", "store/runs/survey/one/exports", ".venv/x"):
        write(below / place)
    write(below / "registry")
    (below / "linked").symlink_to(write(tmp_path / "outside"))
    (below / "half").mkdir()
    (below / "half/run.json").symlink_to(tmp_path / "outside/run.json")
    (write(below / "page", report=None) / "report.html").symlink_to(tmp_path / "outside/report.html")
    runs, problems = read_runs(below)
    assert (sorted(run.place for run in runs), problems) == (["page", "registry", "store/runs/survey/one"], [])
    assert [run.has_report for run in runs if run.place == "page"] == [False]


def test_texts_and_addresses_are_escaped(tmp_path):
    write(tmp_path / 'x" onclick="y', headline="<script>alert(1)</script>", job="<b>")
    html = render(page_of_runs("<i>", *read_runs(tmp_path), NOW))
    assert not re.search(r"<(b|i)>|<script>alert|onclick=\"", html)
    assert '<a href="x%22%20onclick%3D%22y/report.html">' in html


def test_the_page_is_written_again_and_no_file_of_others_is_replaced(tmp_path):
    write(tmp_path / "one")
    target = write_index([str(tmp_path)])
    assert target == tmp_path / "runs.html"
    write(tmp_path / "two")
    assert write_index([str(tmp_path)]).read_text().count("report.html") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "runs.html", "two"]
    target.write_text("<h1>mine</h1>")
    with pytest.raises(
        Refusal, match=r"its runs\.html was not written by tiltmeter; move it, or choose another folder"
    ):
        write_index([str(tmp_path)])
    assert target.read_text() == "<h1>mine</h1>"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "tiltmeter runs: needs one folder, and has 0; as in tiltmeter runs store/runs"),
        (["a", "b"], "tiltmeter runs: needs one folder, and has 2; as in tiltmeter runs store/runs"),
        (["absent"], "tiltmeter runs absent: there is no such folder; name one that has runs below it"),
        (["."], "tiltmeter runs .: there is no run.json below it; name a folder that has runs below it"),
    ],
)
def test_what_is_no_folder_of_runs_is_refused(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refusal) as refused:
        write_index(words)
    assert str(refused.value) == message
    assert not (tmp_path / "runs.html").exists()


def test_the_headline_of_a_lead_is_the_first_sentence_of_its_findings():
    assert Lead([Bullets(["Asked."])], [Bullets([]), Bullets(["First.", "Second."])]).headline == "First."
    assert Lead([Bullets(["Asked."])], []).headline == ""


def test_runs_are_found_by_any_of_their_words_and_are_cards_on_a_phone(browser, tmp_path):
    for at, (job, status) in enumerate([("survey", "succeeded"), ("survey", "failed"), ("compare", "failed")]):
        write(tmp_path / f"run{at}", job=job, status=status, headline="one very long finding " * 9)
    tab = browser.open(write_index([str(tmp_path)]), 390)
    assert tab.run("document.documentElement.scrollWidth") <= 390
    rows = "[...document.querySelectorAll('tbody tr')].filter((row) => row.offsetHeight)"
    shown = f"{rows}.map((row) => row.cells[5].textContent)"
    assert tab.run(shown) == ["run0", "run1", "run2"]
    tab.run("document.querySelector('input').focus()")
    for letter in "failed sur":
        tab.press(letter, ord(letter.upper()), letter)
    assert tab.run(shown) == ["run1"]
    assert tab.run("document.querySelector('[role=status]').textContent") == "1 of 1 that fit, of 3 rows"
    assert tab.problems == []
