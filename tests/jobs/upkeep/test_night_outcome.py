"""What a night with gates leaves: JUnit XML, JSON, sentences, a page, and a status of its own."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from tests.fixtures.nights import MOVES, NIGHT
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
    assert sentences(NIGHT[:1], gates[:1])[:2] == [
        "1 of 1 gate failed.",
        "bias: tests: d of model en, word a went from 1 to 9.",
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
def nights(configured, outcome_of, webhook, tmp_path, monkeypatch):
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

    return SimpleNamespace(run=run, started=started, told=webhook.told)


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


def test_what_moved_is_judged_over_the_whole_night_and_since_each_job_last_succeeded(nights):
    """Of the first job one number moved far, one as it would alone, and one without draws left its interval."""
    code, first = nights.run(
        1,
        {"one": scores(BEFORE, 0), "two": scores(MANY, 0), "three": scores({"a": 1.0}, 0)},
        GATES,
        "job.max_hours=1.5",
    )
    assert (code, {row["verdict"] for row in first.rows("gates")}) == (0, {"not_compared"})
    assert ({max_hours for *_, max_hours in nights.started}, nights.told) == ({1.5}, [])
    assert {row["compared_with"] for row in first.rows("jobs")} == {None}
    code, second = nights.run(
        2,
        {
            "one": scores(BEFORE, 0),
            "two": "failed",
            "three": scores({"a": 1.0}, 0),
            "four": "interrupted",
            "five": "ok",
        },
        "job.notify=webhook",
    )
    assert (code, second.record["status"]) == (130, "interrupted")
    assert [row["status"] for row in second.rows("jobs")] == ["ok", "failed", "ok", "interrupted", "interrupted"]
    assert [name for name, *_ in nights.started[3:]] == ["one", "two", "three", "four"]
    moved = {"far": 1.5, "alone": 1.05, "x": 9.0}
    jobs = {"one": scores(moved, 1), "two": scores(MANY | {"w3": 1.031}, 1), "three": "stopped"}
    jobs["near"] = scores({"w": 1.0}, 0, **ALIKE)
    code, night = nights.run(3, jobs, GATES, "job.max_hours=2.5", "cluster.num_cpus=3", "job.notify=webhook")
    assert code == 1
    for _, cluster, _, max_hours in nights.started[-4:]:
        assert (cluster.num_cpus, max_hours) == (3, 2.5)
    differences = night.rows("differences")
    p = np.array([row["p"] for row in differences if row["p"] is not None])
    assert p.size == 22
    ranks = np.arange(22, 0, -1)
    q = dict(zip(np.sort(p)[::-1], np.minimum.accumulate(np.sort(p)[::-1] * 22 / ranks), strict=True))
    assert [row["q"] for row in differences if row["p"] is not None] == pytest.approx([q[value] for value in p])
    alone = next(row for row in differences if row["row"] == "word alone")
    assert 2 * alone["p"] < 0.05 < alone["q"]
    one, two, three, _ = night.rows("jobs")
    counts = ("num_done", "num_reused", "num_failed", "num_judged", "num_moved", "num_beyond")
    assert [one[name] for name in counts] == [2, 5, 3, 2, 1, 2]
    assert [two[name] for name in counts] == [2, 5, 3, 20, 0, 0]
    assert [three[name] for name in counts] == [2, 5, 3, None, None, None]
    assert [row["compared_with"] for row in (one, two, three)] == ["night 2", "night 1", None]
    changes = night.rows("changes")
    assert [row["num_changes"] for row in (one, two)] == [
        sum(change["name"] == row["name"] for change in changes) for row in (one, two)
    ]
    assert {(row["name"], row["row"]) for row in changes if row["beyond"]} == {("one", "word far"), ("one", "word x")}
    assert {(row["before"], row["after"]) for row in changes if row["row"] == "word far"} == {(1.0, 1.5)}
    verdicts = [(row["name"], row["verdict"], row["num_failed"], row["num_compared"]) for row in night.rows("gates")]
    assert verdicts == [
        ("one", "failed", 2, 3),
        ("one", "failed", 2, 3),
        ("two", "passed", 0, 20),
        ("three", "not_compared", None, None),
        ("near", "not_compared", None, None),
    ]
    worst = night.rows("gates")[0]
    assert (worst["row"], worst["before"], worst["after"], worst["difference"]) == ("word x", 1.0, 9.0, 8.0)
    assert moves(one) == "1 of 2 judged numbers moved; 1 without draws left their interval (by chance one in six)"
    assert JUnitXml.fromfile(str(night.path / "exports/junit.xml")).failures == 2
    assert [message.body["status"] for message in nights.told] == ["interrupted", "jobs_failed"]
    assert json.loads((night.path / "exports/outcome.json").read_text())["status"] == "jobs_failed"
    assert len(nights.told[-1].body["gates"]) == 5
    assert "word x went from 1 to 9" in nights.told[-1].body["text"]
    reports = [(run.path / "report.html").read_text() for run in (first, night)]
    assert "There is no earlier run to compare one, two and three with." in reports[0]
    for sentence in (
        "A gate failed in one: associations: score of word x went from 1 to 9, the largest move of 2 numbers.",
        "one: associations: score of word far moved from 1 [0, 2] to 1.5 [0, 2]",
        "No judged number moved in two (20 numbers judged, ",
        "Numbers without draws to judge them by left their earlier interval in one (1). About one in six would by",
        "3 of 4 jobs succeeded; three (stopped) did not.",
    ):
        assert sentence in reports[1]
    assert not [path for path in night.path.parent.rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()]
    jobs = {"one": scores(BEFORE, 0), "near": scores({"w": 1.025}, 1, **ALIKE)}
    code, last = nights.run(4, jobs, UP_AND_DOWN, "job.notify=webhook")
    assert (code, last.record["status"], nights.told[-1].body["status"]) == (3, "succeeded", "gates_failed")
    assert {row["compared_with"] for row in last.rows("jobs")} == {"night 3"}
    # All of the first job went down: by 0.5, 0.05 and 8 half-widths; that of the other moved in its texts alone.
    verdicts = [(row["verdict"], row["num_failed"], row["num_compared"]) for row in last.rows("gates")]
    assert verdicts == [("passed", 0, 3), ("failed", 2, 3), ("failed", 1, 3), ("passed", 0, 1), ("failed", 1, 1)]
