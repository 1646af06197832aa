"""Gates on numbers, and what a night leaves: JUnit XML, JSON, sentences, a page, a status, and messages."""

import json
import math
import shutil
import sys
import threading
import time
import traceback
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pyarrow as pa
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from scipy import stats

from tests.docs.pages import PAGES
from tests.fixtures.history import SCHEMA, past, rows
from tests.fixtures.page_models import check_text
from tiltmeter.jobs.app import exit_status
from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.history import History
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.jobs.upkeep.overnight import notifying
from tiltmeter.jobs.upkeep.overnight.child import Ended
from tiltmeter.jobs.upkeep.overnight.gates import Gate, check_gates, verdicts
from tiltmeter.jobs.upkeep.overnight.junit import junit_xml
from tiltmeter.jobs.upkeep.overnight.notifying import VARIABLES, NotificationFailed, notify
from tiltmeter.jobs.upkeep.overnight.outcome import as_json, moves, outcome, sentences
from tiltmeter.storage.store.identity import table_digest
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.tables import column


@pytest.mark.parametrize(
    ("after", "limits", "fails"),
    [
        (1.5, {"difference": 0.5}, False),
        (1.5, {"difference": 0.49}, True),
        (0.5, {"difference": 0.49}, True),
        (0.5, {"difference": 0.49, "direction": "up"}, False),
        (0.5, {"difference": 0.49, "direction": "down"}, True),
        (2.5, {"half_widths": 2.0}, False),
        (3.5, {"half_widths": 2.0}, True),
        (3.5, {"direction": "down"}, False),
        (-3.5, {"direction": "down"}, True),
    ],
)
def test_how_far_and_which_way_a_number_may_move(judged, after, limits, fails):
    [verdict] = judged({"a": {}}, {"a": {"d": after}}, Gate("tests", "d", **limits))
    assert (verdict.verdict == "failed") is fails


@pytest.mark.parametrize(("scheme", "fails"), [({"num_blocks": 4}, True), ({}, False)])
def test_a_gate_may_ask_what_moved_in_these_texts(history, scheme, fails):
    """By 0.06, where replicas spread by one, and their differences by 0.05: in the mean of them it shows."""
    spread = np.array([-1.0, 0.0, 1.0, 0.5, -0.5, 2.0, -2.0, 0.0])
    keyed_by = {"paired_by": "replicas", "keyed_by": "word", **scheme}

    def night(value, draws):
        row = history.table({"a": {"d": value}}).to_pylist()[0] | draws_of("d", draws)
        return history.run(dict(with_draws({"tests": ([row], history.schema)}, keyed_by)))

    runs = night(1.0, 1.0 + spread), night(1.06, 1.06 + spread + 0.05 * spread[::-1])
    in_texts = (Gate("tests", "d", in_these_texts=True, direction=way) for way in ("either", "down"))
    gates = [Gate("tests", "d"), *in_texts]
    found = verdicts(gates, "bias", {"tests": history.schema}, History("yesterday", runs, compare(*runs), 1), "ok")
    assert [row.verdict == "failed" for row in found] == [False, fails, False]
    assert found[1].fails_if == "a number moves beyond its interval or in these texts"


ONE, TWO = rows({"a": {}}), rows({"a": {}, "b": {}})
EXACT, UNKNOWN = {"d_low": 1.0, "d_high": 1.0}, {"a": {"d_low": None, "d_high": None}, "b": {}}
SEVEN = {word: {"count": 7} for word in "abcdefghijklm"}
D, FAR = Gate("tests", "d"), Gate("tests", "d", difference=100.0, direction="up")
CASES = {
    "numbers within their intervals": (TWO, rows({"a": {"d": 1.9}, "b": {"d": 0.1}}), D),
    "one beyond": (TWO, rows({"a": {"d": 1.9}, "b": {"d": 4.0}}), D),
    "counts by their difference": (
        *(rows(SEVEN), rows(SEVEN | {"c": {"count": 12}, "d": {"count": 9}})),
        Gate("tests", "count", difference=1),
    ),
    "a number that is gone with its row": (TWO, ONE, FAR),
    "one that is null": (TWO, rows({"a": {}, "b": {"d": None}}), FAR),
    "one that is undefined": (TWO, rows({"a": {}, "b": {"d": math.nan}}), FAR),
    "one that is new has not moved": (
        *(rows({"a": {}, "b": {"d": None}}), rows({"a": {}, "b": {}, "c": {}})),
        Gate("tests", "d", difference=0.0),
    ),
    "rows that can't be matched": (pa.concat_tables([ONE, ONE]), ONE, D),
    "no earlier table": (None, ONE, D),
    "no interval, and rounding": (rows(UNKNOWN), rows({"a": {"d": 1.0 + 1e-15}, "b": {}}), D),
    "no interval, and a move": (
        *(rows(UNKNOWN), rows({"a": {"d": 1.5}, "b": {}}), D, Gate("tests", "d", half_widths=3.0)),
        *(Gate("tests", "d", direction="down"), Gate("tests", "d", direction="up"), Gate("tests", "d", difference=0.6)),
    ),
    "an exact number stays": (rows({"a": EXACT}), rows({"a": EXACT}), Gate("tests", "d", half_widths=2.0)),
    "and moves": (rows({"a": EXACT}), rows({"a": {"d": 1.1}}), Gate("tests", "d", half_widths=2.0)),
    "gates of others": (ONE, rows({"a": {"d": 9.0}}), Gate("tests", "d", name="other"), Gate("points", "d")),
}


SHOWN = ("column", "row", "before", "difference", "half_widths", "after", "num_failed", "num_compared")


def said(before, after, *gates):
    runs = tuple(past({} if table is None else {"tests": table}) for table in (before, after))
    for row in verdicts(gates, "bias", {"tests": SCHEMA}, History("yesterday", runs, compare(*runs), 1), "ok"):
        yield f"{row.fails_if}: {row.verdict}: {row.sentence}"
        known = {name: value for name in SHOWN if (value := getattr(row, name)) is not None}
        shown = {name: f"{value:.9g}" if isinstance(value, float) else value for name, value in known.items()}
        yield f"  {'; '.join(f'{name}: {value}' for name, value in shown.items())}"


def test_what_gates_say_of_numbers():
    told = [line for case, given in CASES.items() for line in [f"\n# {case}", *said(*given)]]
    check_text(Path(__file__), "gates", told)


def test_gates_of_a_first_night_and_of_a_job_that_failed_are_not_compared(judged, history):
    [first] = verdicts([D], "bias", {"tests": history.schema}, History(), "ok")
    assert (first.verdict, first.sentence) == ("not_compared", "there is no earlier run to compare with")
    [failed] = judged({"a": {}}, {"a": {}}, D, status="refused")
    assert (failed.verdict, failed.sentence) == ("not_compared", "the job refused")


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (Gate("psychometrics", "pse", name="nobody"), r"fail_if\[0\].name=nobody: no job of the list .* bias, records"),
        (Gate("psychometrix", "pse"), r"fail_if\[0\].table=psychometrix: no such table is published; there are .*pse"),
        (Gate("psychometrics", "pse", name="records"), r"fail_if\[0\].table=psychometrics: no such .*metrics"),
        (Gate("psychometrics", "pce"), r"fail_if\[0\].column=pce: psychometrics has no such numbers; it has .*pse"),
        (Gate("psychometrics", "word"), r"fail_if\[0\].column=word: psychometrics has no such numbers"),
        (Gate("psychometrics", "flip_sd"), r"fail_if\[0\].column=flip_sd: has no interval .*difference=<number>"),
    ],
)
def test_a_gate_that_no_job_can_fail_is_refused_with_its_key(gate, message):
    with pytest.raises(ConfigError, match=message.replace(".*pse", ".*psycho") if "table" in message else message):
        check_gates([gate], {"bias": "psychophysics", "records": "entity_resolution"})


def test_two_gates_that_say_the_same_of_a_job_are_refused():
    """They would be two rows of one key."""
    jobs = {"bias": "psychophysics", "again": "psychophysics"}
    gates = [Gate("psychometrics", "pse"), Gate("psychometrics", "pse", direction="up")]
    check_gates(gates, jobs)
    with pytest.raises(ConfigError, match=r"^fail_if\[2\]: says of again what fail_if\[0\] says; leave one of them"):
        check_gates([*gates, Gate("psychometrics", "pse", name="again")], jobs)


# --- files and messages ---------------------------------------------------------------------------------------------

ENDED = {"job": "psychophysics", "reason": "", "seconds": 3.0, "num_done": 1, "num_reused": 0, "num_failed": 0}
ENDED |= {"exit_status": 0, "compared_with": "yesterday", "num_changes": 3, "num_judged": 9, "num_moved": 1}
ENDED |= {"num_beyond": 3, "run_dir": "runs/bias", "left_out": ""}
NIGHT = [
    ENDED | {"name": "bias", "status": "ok"},
    ENDED
    | {"name": "lost", "status": "refused", "reason": "no file\nsecond line", "num_judged": None, "num_moved": None}
    | {"num_beyond": None, "left_out": "3 records left out: no JSON; first in a.csv, line 7"},
]

MOVES = (
    "bias, since yesterday: 1 of 9 judged numbers moved; 2 without draws left their interval (by chance one in six)."
)
"""What is said of the first."""
PLACE = "bias: see runs/bias"


@pytest.fixture
def judged(history):
    """What gates say of two runs with the table ``tests``, each given by what is unusual about its words."""

    def verdict(before, after, *gates, status="ok"):
        runs = tuple(history.run({"tests": history.table(words)}) for words in (before, after))
        past = History("yesterday", runs, compare(*runs), 1)
        return verdicts(gates, "bias", {"tests": history.schema}, past, status)

    return verdict


@pytest.fixture
def gates(judged):
    before, after = {"a": {}}, {"a": {"d": 9.0}}
    found = judged(before, after, Gate("tests", "d"), Gate("tests", "d", difference=100.0))
    [skipped] = judged(before, after, Gate("tests", "count", difference=1), status="refused")
    return [vars(row) for row in (*found, replace(skipped, name="lost"))]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A command that keeps what it reads, told a secret by a variable."""
    program, kept = tmp_path / "reader.py", tmp_path / "kept"
    program.write_text("import sys\nopen(sys.argv[1], 'ab').write(sys.stdin.buffer.read() + bytes(1))\n")
    monkeypatch.setenv(f"{VARIABLES}TOKEN", "s3cr3t-token")

    def messages():
        return [json.loads(message) for message in kept.read_bytes().split(bytes(1)) if message]

    return SimpleNamespace(command=f"{sys.executable} {program} {kept}", messages=messages)


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


def test_the_text_says_each_thing_once_and_a_command_reads_it_with_the_outcome(reader, gates, tmp_path):
    assert sentences(NIGHT[:1], []) == ["All jobs succeeded.", MOVES]
    moved = "bias: tests: d of model en, word a went from 1 to 9."
    assert sentences(NIGHT[:1], gates[:2]) == ["1 of 2 gates failed.", moved, PLACE, MOVES]
    gates[0] |= {"half_widths": math.inf, "before": math.nan, "after": 1.0}  # of which JSON has the last
    notify(reader.command, sentences(NIGHT, gates), outcome(tmp_path, NIGHT, gates))
    [message] = reader.messages()
    assert message["status"] == "jobs_failed"
    assert [message["gates"][0][name] for name in ("half_widths", "before", "after")] == [None, None, 1.0]
    assert message["text"].splitlines() == [
        "1 of 2 jobs did not succeed: lost (refused).",
        "lost refused: no file",
        "second line",
        moved,
        PLACE,
        MOVES,
        "lost: 3 records left out: no JSON; first in a.csv, line 7.",
    ]


# --- whole nights, of jobs that leave what they are told ------------------------------------------------------------

ENDS = [column(f"score{end}", pa.float64(), "a number or an end of its interval") for end in ("", "_low", "_high")]
SCORES = pa.schema([column("word", pa.string(), "the word", key=True), *ENDS])
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
            digests = {name: table_digest(table) for name, table in tables.items()}
            described = {name: {"rows": tables[name].num_rows, "digest": digests[name]} for name in tables}
            record = {"job": listed.job, "versions": {}, "tables": described, "started": f"night {number}"}
            record |= {"units": {"done": 2, "reused": 5, "failed": 3}}
            status = what if isinstance(what, str) else "ok"
            published = {unit.name: [unit.tables[unit.name]] for unit in done}
            entry.end("succeeded" if status == "ok" else "failed", record, published)
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


@pytest.mark.long
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
        nights.run(4, {"one": scores(BEFORE, 0), "near": scores({"w": 1.025}, 1, **ALIKE)}, UP_AND_DOWN, told),
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
    assert len(differences) == 22
    corrected = stats.false_discovery_control([row["p"] for row in differences])
    assert [row["q"] for row in differences] == pytest.approx(corrected.tolist())
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


@pytest.fixture
def script(tmp_path):
    """A command that runs lines of a shell."""

    def of(*lines):
        (tmp_path / "script.sh").write_text("\n".join(lines))
        return f"sh {tmp_path}/script.sh"

    return of


def test_a_command_that_fails_is_named_with_the_end_of_what_it_says_and_without_credentials(script):
    address = "https://me:s3cr3t@example.org/hooks?key=s3cr3t"
    said = r"^notify.command: sh ended with status 3: no route to https"
    with pytest.raises(NotificationFailed, match=said) as failure:
        notify(script(f"echo 'no route to {address}' >&2", "exit 3"), ["done"], {})
    assert "s3cr3t" not in "".join(traceback.format_exception(failure.value))
    with pytest.raises(NotificationFailed) as failure:
        notify(script("yes complaint | head -n 100000 >&2", "exit 1"), ["done"], {})
    assert len(str(failure.value)) < 3000


def test_a_command_that_takes_too_long_is_stopped_with_what_it_started(script, monkeypatch, tmp_path):
    monkeypatch.setattr(notifying, "_SECONDS", 1.0)
    with pytest.raises(NotificationFailed, match=r"^notify.command: sh took longer than 1 s$"):
        notify(script(f"sleep 600 & echo $! > {tmp_path}/started", "wait"), ["done"], {})
    started = int((tmp_path / "started").read_text())
    deadline = time.monotonic() + 30
    while psutil.pid_exists(started) and psutil.Process(started).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_nobody_waits_for_what_a_command_leaves_behind_nor_for_one_that_reads_nothing(script):
    began = time.monotonic()
    notify(script("sleep 60 &", "exit 0"), ["done"], {"jobs": ["x" * 10_000_000]})
    assert time.monotonic() - began < 50


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-mailer -s night", "there is no command no-such-mailer"),
        ("curl https://me:s3cr3t@example.org 'open", "is not a command line"),
        ("no-such-mailer https://me:s3cr3t@example.org", "there is no command no-such-mailer"),
        (" ", "must be a command that reads the outcome, or null"),
    ],
)
def test_what_nobody_could_be_told_by_is_refused_before_any_work(configured, tmp_path, command, message):
    (tmp_path / "night.yaml").write_text("store: job=prune")
    quoted = "'" + command.replace("'", "\\'") + "'"
    words = ["job=overnight", f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/s", f"notify.command={quoted}"]
    with pytest.raises(ConfigError, match=r"^notify.command=.*" + message) as refused:
        execute(configured(*words))
    assert "s3cr3t" not in str(refused.value)
    assert not (tmp_path / "s").exists()


# --- as docs/overnight.md has it ------------------------------------------------------------------------------------


@pytest.fixture
def webhook():
    """A server that remembers what it is sent, and answers with the status that it is given."""
    server = HTTPServer(("127.0.0.1", 0), _Hook)
    server.messages, server.status = [], 204
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.messages.append(SimpleNamespace(path=self.path, body=body, headers=dict(self.headers)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        pass


def block(caption):
    [text] = [block.text for block in PAGES["docs/overnight.md"].blocks if block.text.startswith(f"# {caption}")]
    return text


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_curl_posts_the_outcome_to_a_webhook(webhook, tmp_path):
    address = f"http://127.0.0.1:{webhook.server_port}"
    (tmp_path / "webhook.curl").write_text(block("webhook.curl").replace("https://chat.example.org", address))
    notify(f"curl --config {tmp_path}/webhook.curl", ["done"], {"status": "succeeded"})
    [message] = webhook.messages
    assert (message.path, message.body) == ("/hooks/secret", {"text": "done", "status": "succeeded"})
    assert message.headers["Authorization"] == "Bearer secret"
    assert message.headers["Content-Type"] == "application/json"
    webhook.status = 403
    with pytest.raises(NotificationFailed, match="403") as failure:
        notify(f"curl --config {tmp_path}/webhook.curl", ["done"], {})
    assert "secret" not in str(failure.value)


@pytest.mark.skipif(not shutil.which("jq"), reason="there is no jq")
def test_a_script_mails_the_text(monkeypatch, tmp_path):
    """By a `mail` that writes down what it is given."""
    written = f"open('{tmp_path}/sent', 'w').write(f'{{sys.argv[1:]}} {{sys.stdin.read()}}')"
    program = f"#!{sys.executable}\nimport sys\n{written}\n"
    (tmp_path / "mail").write_text(program)
    (tmp_path / "mail").chmod(0o700)
    (tmp_path / "mail.sh").write_text(block("mail.sh"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    notify(f"sh {tmp_path}/mail.sh", ["one", "two"], {})
    assert (tmp_path / "sent").read_text() == "['-s', 'night', 'team@example.org'] one\ntwo\n"


# --- baselines, and bounds of numbers themselves --------------------------------------------------------------------

PASSED = "{table: associations, column: score, difference: 0.2, baseline: passed}"


@pytest.mark.long
def test_a_failed_night_is_no_baseline_and_drift_is_judged_from_the_last_that_passed(nights):
    gates = f"fail_if=[{PASSED}, {{table: associations, column: score, difference: 0.2}}]"
    found = []
    for number, value in enumerate([1.0, 1.5, 1.5, 1.1, 1.25, 1.4], start=1):
        code, night = nights.run(number, {"one": scores({"w": value}, 0)}, gates)
        found.append((code, *(row["verdict"] for row in night.rows("gates"))))
    assert found == [
        (0, "not_compared", "not_compared"),
        (3, "failed", "failed"),
        (3, "failed", "passed"),
        (3, "passed", "failed"),
        (3, "failed", "passed"),
        (3, "failed", "passed"),
    ]
    rows = night.rows("gates")
    assert rows[0]["fails_if"] == "a number moves by more than 0.2 since the last run that passed"
    assert rows[0]["before"] == 1.0
    assert "Beside it setting seed was 1 and is 6 now." in rows[0]["sentence"]
    assert nights.run(1, {"one": scores({"w": 1.0}, 0)}, f"fail_if=[{PASSED}]")[0] == 0


@pytest.mark.parametrize(
    ("gate", "verdict", "sentence"),
    [
        (
            {"at_least": 1.5},
            "failed",
            "tests: d of model en, word b is 0.5 and lies below 1.5, the furthest of 2 numbers.",
        ),
        ({"at_least": 0.5}, "passed", ""),
        ({"at_most": 0.9}, "failed", "tests: d of model en, word a is 1 and lies above 0.9."),
        ({"at_least": 1.5, "sure": True}, "passed", ""),
        (
            {"at_least": 2.5, "sure": True},
            "failed",
            "lies with all of its interval below 2.5, the furthest of 2 numbers.",
        ),
        ({"at_least": 0.0, "at_most": 0.7, "sure": True}, "passed", ""),
    ],
)
def test_numbers_themselves_are_bounded_on_a_first_night_too(history, gate, verdict, sentence):
    """Their intervals are from 0 to 2; a null is none of them."""
    table = history.table({"a": {}, "b": {"d": 0.5}, "c": {"d": None}})
    bound = Gate("tests", "d", **gate)
    [row] = verdicts([bound], "bias", {"tests": table.schema}, History(), "ok", read={"tests": table}.get)
    assert (row.verdict, row.num_compared) == (verdict, 2)
    assert row.sentence.endswith(sentence)
    [row] = verdicts([bound], "bias", {"tests": table.schema}, History(), "ok")
    assert (row.verdict, row.sentence) == ("failed", "can't be judged: the run has no table tests")
    nothing = history.table({"c": {"d": None}})
    [row] = verdicts([bound], "bias", {"tests": table.schema}, History(), "ok", read={"tests": nothing}.get)
    assert (row.verdict, row.sentence) == ("failed", "can't be judged: no row has a number")


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ({"at_least": 1.0, "baseline": "passed"}, "has baseline beside at_least or at_most"),
        ({"at_most": 1.0, "difference": 2.0}, "has difference beside at_least or at_most"),
        ({"sure": True}, "has sure without at_least or at_most"),
    ],
)
def test_a_bound_stands_alone(gate, message):
    with pytest.raises(ValueError, match=message):
        Gate("tests", "d", **gate)


def test_a_baseline_is_a_word_or_a_run_directory(tmp_path):
    jobs = {"bias": "psychophysics"}
    gate = Gate("psychometrics", "pse", baseline=str(tmp_path))
    with pytest.raises(ConfigError, match=r"^fail_if\[0\].baseline=.*: must be last, passed or a run directory"):
        check_gates([gate], jobs)
    (tmp_path / "run.json").touch()
    check_gates([gate], jobs)
    with pytest.raises(ConfigError, match=r"flip_sd: has no interval .*; leave out sure$"):
        check_gates([Gate("psychometrics", "flip_sd", at_most=1.0, sure=True)], jobs)


def test_what_else_changed_is_said_inputs_first():
    settings = {"seed": 1, "level": 0.9, "window": 5, "workers": 3}
    runs = [
        replace(past({"tests": ONE}, settings), record=past({"tests": ONE}).record | {"inputs": {"list": "a"}}),
        past(
            {"tests": rows({"a": {"d": 9.0}})},
            {name: value + 1 for name, value in settings.items()},
            inputs={"list": "b"},
        ),
    ]
    [row] = verdicts([D], "bias", {"tests": SCHEMA}, History("then", tuple(runs), compare(*runs), 1), "ok")
    assert "from 1 to 9. Beside it input list " in row.sentence
    assert row.sentence.endswith("setting level was 0.9 and is 1.9 now and 2 other changes.")
