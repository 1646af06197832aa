"""What a night with gates leaves: JUnit XML, JSON, sentences, a page, and a status of its own."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from tests.fixtures.nights import MOVES, NIGHT
from tests.fixtures.page_models import check_text
from tiltmeter.jobs.app import exit_status
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.jobs.upkeep.overnight.child import Ended
from tiltmeter.jobs.upkeep.overnight.junit import junit_xml
from tiltmeter.jobs.upkeep.overnight.outcome import as_json, moves, outcome, sentences
from tiltmeter.storage.store.identity import table_digest
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.tables import column


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


def test_the_text_says_each_thing_once(gates):
    assert sentences(NIGHT[:1], []) == [
        "All jobs succeeded.",
        MOVES,
    ]
    assert sentences(NIGHT[:1], gates[:2]) == [
        "1 of 2 gates failed.",
        "bias: tests: d of model en, word a went from 1 to 9.",
        MOVES,
    ]
    assert sentences(NIGHT, [])[-1] == "lost: 3 records left out: no JSON; first in a.csv, line 7."


# --- whole nights, of jobs that leave what they are told ------------------------------------------------------------

SCORES = pa.schema(
    [
        column("word", pa.string(), "the word", key=True),
        column("score", pa.float64(), "a number"),
        column("score_low", pa.float64(), "lower end"),
        column("score_high", pa.float64(), "upper end"),
    ]
)
NOISE = np.array([0.01, -0.02, 0.0, 0.02, -0.01, 0.01, 0.0, -0.01])


def scores(values, place, **scheme):
    """Tables of scores, all but those of x with draws that nights share but for noise."""
    rows = [
        {"word": word, "score": value, "score_low": 0.0, "score_high": 2.0}
        | ({} if word.startswith("x") else draws_of("score", value + np.linspace(-1.0, 1.0, 8) + place * NOISE))
        for word, value in values.items()
    ]
    return dict(with_draws({"associations": (rows, SCORES)}, {"paired_by": "replicas", "seed": 0} | scheme))


@pytest.fixture
def nights(configured, outcome_of, reader, tmp_path, monkeypatch):
    """Runs nights of association tests; each job is registered with the tables that it is given, or ends as told."""
    started = []

    def run(number, jobs, *settings):
        def run_job(listed, store, run_dir, *where):
            started.append((listed.name, *where))
            what, store = jobs[listed.name], Store(store)
            tables = {} if isinstance(what, str) else what
            entry = Registry(store).enter(listed.job, listed.name, run_dir=str(run_dir), settings={"seed": number})
            done = [
                store.commit(Unit("made/1", name, {"of": f"{number} {listed.name}"}), [(name, table)])
                for name, table in tables.items()
            ]
            entry.uses(unit.place for unit in done)
            described = {
                name: {"rows": table.num_rows, "digest": table_digest(table)} for name, table in tables.items()
            }
            record = {"job": listed.job, "versions": {}, "tables": described, "started": f"night {number}"}
            record |= {"units": {"done": 2, "reused": 5, "failed": 3}}
            entry.end(
                "failed" if isinstance(what, str) else "succeeded",
                record,
                {unit.name: [unit.tables[unit.name]] for unit in done},
            )
            status = what if isinstance(what, str) else "ok"
            return Ended(status, "" if status == "ok" else "why", 0, 1.5, run_dir, record)

        monkeypatch.setattr("tiltmeter.jobs.upkeep.overnight.job.run_job", run_job)
        lines = [f"{name}: job=association embedding=file embedding.path=x.txt" for name in jobs]
        (tmp_path / "night.yaml").write_text("\n".join(lines))
        command = ["job=overnight", f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/store"]
        config, code = configured(*command, f"run_dir={tmp_path}/{number}", *settings), 0
        try:
            with exit_status():
                execute(config)
        except SystemExit as ended:
            code = ended.code
        return code, outcome_of(tmp_path / str(number))

    return SimpleNamespace(run=run, started=started, reader=reader)


BEFORE = {"far": 1.0, "alone": 1.0, "x": 1.0}
MANY = {f"w{place}": 1.0 + place / 100 for place in range(20)}
GATES = (
    "fail_if=[{table: associations, column: score, name: one}, {table: associations, column: score, difference: 0.2}]"
)
UP_AND_DOWN = (
    "fail_if=[{table: associations, column: score, name: one, difference: 0.2, direction: up}, "
    "{table: associations, column: score, name: one, difference: 0.2, direction: down}, "
    "{table: associations, column: score, name: one, half_widths: 1.0}, "
    "{table: associations, column: score, name: near}, "
    "{table: associations, column: score, name: near, in_these_texts: true}]"
)
ALIKE = {"keyed_by": "word", "num_blocks": 4}
NEAR = {"near": scores({"w": 1.0}, 0, **ALIKE)}


def published(code, night):
    """How a night ended, and the rows that it published, but for the draws."""
    yield f"\n# night {night.path.name}: {code}, {night.record['status']}"
    for name in ("jobs", "gates", "changes"):
        for row in night.rows(name):
            known = {key: value for key, value in row.items() if value is not None and key not in ("run_dir", "key")}
            shown = {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in known.items()}
            yield f"{name}: {'; '.join(f'{key}: {value}' for key, value in shown.items())}"


def test_what_moved_is_judged_over_the_whole_night_and_since_each_job_last_succeeded(nights):
    """Of the first job one number moved far, one as it would alone, one without draws left its interval. In the last
    night all of it went down: by 0.5, 0.05 and 8 half-widths; that of another moved in its texts alone.
    """
    told = f"notify.command='{nights.reader.command}'"
    moved, usual = {"far": 1.5, "alone": 1.05, "x": 9.0}, {"one": scores(BEFORE, 0), "three": scores({"a": 1.0}, 0)}
    ended = [
        nights.run(1, usual | {"two": scores(MANY, 0)}, GATES, "job.max_hours=1.5"),
        nights.run(2, usual | {"two": "failed", "four": "interrupted", "five": "ok"}, told),
        nights.run(
            *(3, {"one": scores(moved, 1), "two": scores(MANY | {"w3": 1.031}, 1), "three": "stopped"} | NEAR, GATES),
            *("job.max_hours=2.5", "cluster.num_cpus=3", told),
        ),
        nights.run(
            *(4, {"one": scores(BEFORE, 0), "near": scores({"w": 1.025}, 1, **ALIKE)}, UP_AND_DOWN),
            told,
        ),
    ]
    check_text(Path(__file__), "nights", (line for code, night in ended for line in published(code, night)))
    assert [(name, cluster.num_cpus, max_hours) for name, cluster, _, max_hours in nights.started] == [
        *((name, None, 1.5) for name in ("one", "three", "two")),
        *((name, None, None) for name in ("one", "three", "two", "four")),
        *((name, 3, 2.5) for name in ("one", "two", "three", "near")),
        *((name, None, None) for name in ("one", "near")),
    ]
    messages = nights.reader.messages()
    assert [message["status"] for message in messages] == ["interrupted", "jobs_failed", "gates_failed"]
    assert len(messages[1]["gates"]) == 5
    assert "word x went from 1 to 9" in messages[1]["text"]
    first, _, (_, night), _ = ended
    differences = [row for row in night.rows("differences") if row["p"] is not None]
    p = np.array([row["p"] for row in differences])
    assert p.size == 22
    q = dict(zip(np.sort(p)[::-1], np.minimum.accumulate(np.sort(p)[::-1] * 22 / np.arange(22, 0, -1)), strict=True))
    assert [row["q"] for row in differences] == pytest.approx([q[value] for value in p])
    alone = next(row for row in differences if row["row"] == "word alone")
    assert 2 * alone["p"] < 0.05 < alone["q"]
    one = night.rows("jobs")[0]
    assert moves(one) == "1 of 2 judged numbers moved; 1 without draws left their interval (by chance one in six)"
    assert JUnitXml.fromfile(str(night.path / "exports/junit.xml")).failures == 2
    assert json.loads((night.path / "exports/outcome.json").read_text())["status"] == "jobs_failed"
    reports = [(run.path / "report.html").read_text() for _, run in (first, ended[2])]
    assert "There is no earlier run to compare one, three and two with." in reports[0]
    for sentence in (
        "A gate failed in one: associations: score of word x went from 1 to 9, the largest move of 2 numbers.",
        "one: associations: score of word far moved from 1 [0, 2] to 1.5 [0, 2]",
        "No judged number moved in two (20 numbers judged, ",
        "Numbers without draws to judge them by left their earlier interval in one (1). About one in six would by",
        "3 of 4 jobs succeeded; three (stopped) did not.",
    ):
        assert sentence in reports[1]
    assert not [path for path in night.path.parent.rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()]
