"""What a night with gates leaves: JUnit XML, JSON, sentences, a page, and a status of its own."""

import json
import math

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from tests.fixtures.nights import MOVES, NIGHT
from tiltmeter.jobs.app import exit_status
from tiltmeter.jobs.changes.comparing import Comparison
from tiltmeter.jobs.changes.differences import limits_of
from tiltmeter.jobs.changes.history import History
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.jobs.upkeep.overnight.child import Ended
from tiltmeter.jobs.upkeep.overnight.config import ListedJob
from tiltmeter.jobs.upkeep.overnight.job import _row
from tiltmeter.jobs.upkeep.overnight.junit import junit_xml
from tiltmeter.jobs.upkeep.overnight.outcome import as_json, moves, outcome, sentences
from tiltmeter.jobs.upkeep.overnight.page import page
from tiltmeter.jobs.upkeep.overnight.tables import CHANGES, DIFFERENCES, GATES, JOBS


def test_junit_has_a_suite_for_each_job_that_a_parser_reads(gates, tmp_path):
    (tmp_path / "junit.xml").write_bytes(junit_xml(NIGHT, gates))
    file = JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    assert (file.tests, file.failures, file.errors, file.skipped) == (5, 1, 1, 1)
    bias, lost = file
    results = {case.name: [type(result) for result in case.result] for suite in (bias, lost) for case in suite}
    assert results == {
        "job=psychophysics": [Error],
        "no number of d moves beyond its interval": [Failure],
        "no number of d moves by more than 100": [],
        "no number of count moves by more than 1": [Skipped],
    }
    [failure] = [case.result[0] for case in bias if case.result]
    assert (failure.message, failure.text) == ("tests: d of model en, word a went from 1 to 9.",) * 2
    assert next(case.result[0].message for case in lost) == "no file"


def test_junit_is_xml_whatever_a_job_printed_last(tmp_path):
    lost = NIGHT[1] | {"reason": "\x1b[31mno file\x00\x1b[0m \ud800\n\tsecond line & <more> \U0001f4c9"}
    content = junit_xml([lost], []).decode()
    [[case]] = JUnitXml.fromstring(content)
    assert case.result[0].message == "\ufffd[31mno file\ufffd\ufffd[0m \ufffd"
    assert case.result[0].text.endswith("\n\tsecond line & <more> \U0001f4c9")


def test_the_outcome_is_plain_json(gates, tmp_path):
    content = json.loads(as_json(outcome(tmp_path, NIGHT[:1], [gates[0] | {"before": math.nan}])))
    assert (content["status"], content["gates"][0]["before"]) == ("gates_failed", None)
    assert json.loads(as_json(outcome(tmp_path, NIGHT, [])))["status"] == "jobs_failed"
    assert json.loads(as_json(outcome(tmp_path, NIGHT[:1], [])))["status"] == "succeeded"


def test_the_page_leads_with_gates_that_failed(gates):
    frames = {
        "jobs": pl.DataFrame(pa.Table.from_pylist(NIGHT[:1], JOBS)),
        "gates": pl.DataFrame(pa.Table.from_pylist(gates, GATES)),
        "changes": pl.DataFrame(CHANGES.empty_table()),
        "differences": pl.DataFrame(DIFFERENCES.empty_table()),
    }
    frames["jobs"] = frames["jobs"].with_columns(num_moved=0, num_beyond=0)
    body = page(None, frames)
    assert body.lead.findings[0].text == "A gate failed in bias: tests: d of model en, word a went from 1 to 9."
    assert [section.title for section in body.sections] == ["The jobs", "Gates"]


def test_the_text_says_each_thing_once(gates):
    assert sentences(NIGHT[:1], []) == [
        "All jobs succeeded.",
        MOVES,
    ]
    assert sentences(NIGHT[:1], gates[:1])[:2] == [
        "1 of 1 gate failed.",
        "bias: tests: d of model en, word a went from 1 to 9.",
    ]
    assert sentences(NIGHT, [])[-1] == "lost: 3 records left out: no JSON; first in a.csv, line 7."


def test_a_night_whose_gate_fails_ends_with_a_status_of_its_own(configured, joining, outcome_of, webhook, tmp_path):
    """Two whole nights: the second one's pairs differ, and so do its components."""
    pairs = tmp_path / "pairs.csv"
    (tmp_path / "night.yaml").write_text(f"records: job=entity_resolution pairs={pairs} {' '.join(joining)}")
    settings = ["job=overnight", f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/store", "job.notify=webhook"]
    gate = "fail_if=[{table: components, column: num_records, difference: 0}]"
    pairs.write_text("left,right,weight\na,b,1.0\nb,c,0.5\na,c,-0.2\n")
    first = outcome_of(execute(configured(*settings, gate, f"run_dir={tmp_path}/first")))
    assert [row["verdict"] for row in first.table("gates").to_pylist()] == ["not_compared"]
    pairs.write_text("left,right,weight\na,b,1.0\nb,c,0.5\na,c,-0.2\nc,d,2.0\n")
    with pytest.raises(SystemExit) as ended, exit_status():
        execute(configured(*settings, gate, f"run_dir={tmp_path}/second"))
    assert ended.value.code == 3
    second = outcome_of(tmp_path / "second")
    [failed] = second.table("gates").to_pylist()
    assert (failed["verdict"], failed["before"], failed["after"]) == ("failed", 3.0, 4.0)
    assert second.record["status"] == "succeeded"
    assert JUnitXml.fromfile(str(second.path / "exports/junit.xml")).failures == 1
    assert json.loads((second.path / "exports/outcome.json").read_text())["status"] == "gates_failed"
    assert [message.body["status"] for message in webhook.told] == ["succeeded", "gates_failed"]
    assert "A gate failed in records" in (second.path / "report.html").read_text()
    left = [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()]
    assert left == []


def test_the_row_of_a_job_counts_what_was_judged_apart_from_what_nothing_judges(history, tmp_path):
    """Of three numbers one has draws and moved, one has and stayed, and one without left its earlier interval."""

    def made(values):
        rows = history.table({word: {"d": value} for word, value in values.items()}).to_pylist()
        wide = np.linspace(-1.0, 1.0, 8)
        rows = [row | (draws_of("d", row["d"] + wide) if row["word"] != "c" else {}) for row in rows]
        return history.run(dict(with_draws({"tests": (rows, history.schema)}, {"paired_by": "replicas", "seed": 0})))

    comparison = Comparison(made({"a": 1.0, "b": 1.0, "c": 1.0}), made({"a": 1.5, "b": 1.0, "c": 9.0}))
    past = History("yesterday", comparison=comparison)
    ended = Ended("ok", "", 0, 1.0, tmp_path)
    row = _row(ListedJob("bias", ("job=association",)), ended, past, past.changes(limits_of(comparison.p_values)))
    assert (row["num_judged"], row["num_moved"], row["num_beyond"]) == (2, 1, 2)
    assert moves(row) == "1 of 2 judged numbers moved; 1 without draws left their interval (by chance one in six)"
