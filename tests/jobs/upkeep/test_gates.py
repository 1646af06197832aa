"""Numbers that may move only so far: which moves fail a gate, which gates are refused, and who is told."""

import json
import math
import socket
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from tiltmeter.jobs.app import exit_status
from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.history import History
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.upkeep.overnight.gates import Gate, check_gates, verdicts
from tiltmeter.jobs.upkeep.overnight.junit import junit_xml
from tiltmeter.jobs.upkeep.overnight.notifying import NotificationFailed, check_notification, notify
from tiltmeter.jobs.upkeep.overnight.outcome import as_json, outcome, sentences
from tiltmeter.jobs.upkeep.overnight.page import page
from tiltmeter.jobs.upkeep.overnight.tables import CHANGES, DIFFERENCES, GATES, JOBS


@pytest.fixture
def judged(history):
    """What gates say of two runs with the table ``tests``, each given by what is unusual about its words."""

    def verdict(before, after, *gates, status="ok"):
        runs = tuple(history.run({"tests": history.table(words)}) for words in (before, after))
        past = History("yesterday", runs, compare(*runs), 1)
        return verdicts(gates, "bias", {"tests": history.schema}, past, status)

    return verdict


def test_a_number_beyond_its_interval_fails_a_gate_and_one_within_does_not(judged):
    before = {"a": {}, "b": {}}
    [passed] = judged(before, {"a": {"d": 1.9}, "b": {"d": 0.1}}, Gate("tests", "d"))
    assert (passed["verdict"], passed["num_failed"], passed["num_compared"]) == ("passed", 0, 2)
    [failed] = judged(before, {"a": {"d": 1.9}, "b": {"d": 4.0}}, Gate("tests", "d"))
    assert (failed["verdict"], failed["num_failed"], failed["num_compared"]) == ("failed", 1, 2)
    assert (failed["before"], failed["after"], failed["difference"], failed["half_widths"]) == (1.0, 4.0, 3.0, 3.0)
    assert failed["sentence"] == "tests: d of word b went from 1 to 4."
    assert failed["fails_if"] == "a number moves beyond its interval"


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
    assert (verdict["verdict"] == "failed") is fails


def test_columns_without_an_interval_are_judged_by_their_difference(judged):
    words = {word: {"count": 7} for word in "abcdefghijklm"}
    moved = words | {"c": {"count": 12}, "d": {"count": 9}}
    [verdict] = judged(words, moved, Gate("tests", "count", difference=1))
    assert (verdict["num_failed"], verdict["num_compared"], verdict["difference"]) == (2, 13, 5)
    assert verdict["sentence"].endswith("count of word c went from 7 to 12, the largest move of 2 numbers.")


@pytest.mark.parametrize("after", [{"a": {}}, {"a": {}, "b": {"d": None}}, {"a": {}, "b": {"d": math.nan}}])
def test_a_number_that_is_gone_fails_its_gate(judged, after):
    [verdict] = judged({"a": {}, "b": {}}, after, Gate("tests", "d", difference=100.0))
    assert (verdict["verdict"], verdict["after"], verdict["num_failed"]) == ("failed", None, 1)
    assert "word b was 1 and is gone." in verdict["sentence"]


def test_a_number_that_is_new_has_not_moved(judged):
    [verdict] = judged({"a": {}, "b": {"d": None}}, {"a": {}, "b": {}, "c": {}}, Gate("tests", "d", difference=0.0))
    assert (verdict["verdict"], verdict["num_compared"]) == ("passed", 1)


def test_what_cannot_be_judged_is_not_passed(judged, history):
    twice = pa.concat_tables([history.table({"a": {}})] * 2)
    runs = history.run({"tests": twice}), history.run({"tests": history.table({"a": {}})})
    gates, schemas = [Gate("tests", "d")], {"tests": history.schema}
    [unmatched] = verdicts(gates, "bias", schemas, History("then", runs), "ok")
    assert unmatched["verdict"] == "failed"
    assert unmatched["sentence"].startswith("can't be judged: in the earlier run, 1 row of it has the key of another")
    runs = history.run({}), history.run({"tests": history.table({"a": {}})})
    [absent] = verdicts(gates, "bias", schemas, History("then", runs), "ok")
    assert (absent["verdict"], absent["sentence"]) == ("failed", "can't be judged: the earlier run has no table tests")


NO_INTERVAL = {"d_low": None, "d_high": None}


@pytest.mark.parametrize(
    ("after", "limits", "fails"),
    [
        (1.0 + 1e-15, {}, False),
        (1.5, {}, True),
        (1.5, {"half_widths": 3.0}, True),
        (1.5, {"direction": "down"}, False),
        (0.5, {"direction": "down"}, True),
        (1.5, {"difference": 0.6}, False),
    ],
)
def test_a_number_that_had_no_interval_fails_where_one_is_needed_if_it_moved(judged, after, limits, fails):
    [verdict] = judged({"a": NO_INTERVAL, "b": {}}, {"a": {"d": after}, "b": {}}, Gate("tests", "d", **limits))
    assert (verdict["verdict"] == "failed", verdict["num_failed"], verdict["num_compared"]) == (fails, int(fails), 2)
    if fails:
        assert "word a went from 1 to" in verdict["sentence"]
        assert verdict["sentence"].endswith(", and had no interval.")


def test_a_number_that_stays_has_not_moved_by_any_of_its_half_widths(judged):
    exact = {"d_low": 1.0, "d_high": 1.0}
    [stays] = judged({"a": exact}, {"a": exact}, Gate("tests", "d", half_widths=2.0))
    assert (stays["verdict"], stays["num_compared"]) == ("passed", 1)
    [moves] = judged({"a": exact}, {"a": {"d": 1.1}}, Gate("tests", "d", half_widths=2.0))
    assert (moves["verdict"], moves["half_widths"]) == ("failed", math.inf)


def test_gates_of_a_first_night_and_of_a_job_that_failed_are_not_compared(judged, history):
    [first] = verdicts([Gate("tests", "d")], "bias", {"tests": history.schema}, History(), "ok")
    assert (first["verdict"], first["sentence"]) == ("not_compared", "there is no earlier run to compare with")
    [failed] = judged({"a": {}}, {"a": {}}, Gate("tests", "d"), status="refused")
    assert (failed["verdict"], failed["sentence"]) == ("not_compared", "the job refused")


def test_a_gate_is_about_its_job_only(judged):
    assert judged({"a": {}}, {"a": {"d": 9.0}}, Gate("tests", "d", name="other"), Gate("points", "d")) == []


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (Gate("psychometrics", "pse", name="nobody"), r"fail_if\[0\].name=nobody: no job of the list .* bias, records"),
        (Gate("psychometrix", "pse"), r"fail_if\[0\].table=psychometrix: no such table is published; there are .*pse"),
        (Gate("psychometrics", "pse", name="records"), r"fail_if\[0\].table=psychometrics: no such .*clusters"),
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
    with pytest.raises(
        ConfigError, match=r"^fail_if\[2\]: says of again what fail_if\[0\] says; leave one of them out"
    ):
        check_gates([*gates, Gate("psychometrics", "pse", name="again")], jobs)


def test_one_limit_for_a_gate(configured, tmp_path):
    command = ["job=overnight", f"jobs={tmp_path}/night.yaml"]
    both = "fail_if=[{table: a, column: b, difference: 1, half_widths: 2}]"
    with pytest.raises(ConfigError, match="has both difference and half_widths: set one of them"):
        configured(*command, both)
    with pytest.raises(
        ConfigError,
        match=r"^fail_if\[0\].diference=1: there is no such setting; set it as in 'fail_if=\[{table: text, ",
    ):
        configured(*command, "fail_if=[{table: a, column: b, diference: 1}]")


# --- what is left and told ------------------------------------------------------------------------------------------

ENDED = {"job": "psychophysics", "reason": "", "seconds": 3.0, "num_done": 1, "num_reused": 0, "num_failed": 0}
ENDED |= {"exit_status": 0, "compared_with": "yesterday", "num_changes": 3, "num_beyond": 1, "run_dir": "runs/bias"}
NIGHT = [
    ENDED | {"name": "bias", "status": "ok"},
    ENDED | {"name": "lost", "status": "refused", "reason": "no file\nsecond line", "num_beyond": None},
]


@pytest.fixture
def gates(judged):
    before, after = {"a": {}}, {"a": {"d": 9.0}}
    found = judged(before, after, Gate("tests", "d"), Gate("tests", "d", difference=100.0))
    [skipped] = judged(before, after, Gate("tests", "count", difference=1), status="refused")
    return [*found, skipped | {"name": "lost"}]


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
    frames["jobs"] = frames["jobs"].with_columns(num_beyond=0)
    body = page(None, frames)
    assert body.lead.findings[0].text == "A gate failed in bias: tests: d of model en, word a went from 1 to 9."
    assert [section.title for section in body.sections] == ["The jobs", "Gates"]


@pytest.fixture
def webhook(monkeypatch):
    """A server that remembers what it is sent, and answers with the statuses that it is given."""
    told, statuses = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.append(SimpleNamespace(path=self.path, body=json.loads(body), headers=dict(self.headers)))
            self.answer()

        def do_GET(self):
            told.append(SimpleNamespace(path=self.path, body=None, headers=dict(self.headers)))
            self.answer()

        def answer(self):
            status = statuses.pop(0) if statuses else 204
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("TILTMETER_WEBHOOK", f"http://127.0.0.1:{server.server_port}/hooks/s3cr3t-path?key=s3cr3t-key")
    monkeypatch.setenv("TILTMETER_WEBHOOK_TOKEN", "s3cr3t-token")
    yield SimpleNamespace(told=told, statuses=statuses)
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_webhook_is_posted_the_outcome(webhook, gates, tmp_path):
    webhook.statuses.append(503)
    notify("webhook", sentences(NIGHT, gates), outcome(tmp_path, NIGHT, gates))
    assert len(webhook.told) == 2
    message = webhook.told[-1]
    assert message.path == "/hooks/s3cr3t-path?key=s3cr3t-key"
    assert message.headers["Authorization"] == "Bearer s3cr3t-token"
    assert message.body["status"] == "jobs_failed"
    assert message.body["text"].splitlines() == [
        "1 of 2 jobs did not succeed: lost (refused).",
        "lost refused: no file",
        "second line",
        "bias: tests: d of model en, word a went from 1 to 9.",
        "bias: 1 number moved beyond its interval since yesterday.",
    ]


def test_the_text_says_each_thing_once(gates):
    assert sentences(NIGHT[:1], []) == [
        "All jobs succeeded.",
        "bias: 1 number moved beyond its interval since yesterday.",
    ]
    assert sentences(NIGHT[:1], gates[:1])[:2] == [
        "1 of 1 gate failed.",
        "bias: tests: d of model en, word a went from 1 to 9.",
    ]


def test_a_webhook_that_refuses_is_named_without_its_secrets(webhook, tmp_path):
    webhook.statuses.extend([403] * 3)
    with pytest.raises(NotificationFailed, match=r"^job.notify=webhook: 127.0.0.1 answered 403 Forbidden$") as failure:
        notify("webhook", ["done"], {})
    assert "s3cr3t" not in "".join(traceback.format_exception(failure.value))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TILTMETER_WEBHOOK", "https://"),
        ("TILTMETER_WEBHOOK", "ftp://example.org/s3cr3t"),
        ("TILTMETER_WEBHOOK", "https://me:s3cr3t@example.org/"),
        ("TILTMETER_WEBHOOK", "https://example.org:s3cr3t/"),
        ("TILTMETER_WEBHOOK", "https://[s3cr3t/"),
        ("TILTMETER_WEBHOOK", "https://example.org/s3cr3t path"),
        ("TILTMETER_WEBHOOK", "https://example.org/s3cr3t\n"),
        ("TILTMETER_WEBHOOK", "https://example.org/s3cr\u00e9t"),
        ("TILTMETER_WEBHOOK_TOKEN", "s3cr3t\n"),
        ("TILTMETER_WEBHOOK_TOKEN", "s3cr3t token"),
        ("TILTMETER_WEBHOOK_TOKEN", "s3cr\u00e9t"),
    ],
)
def test_credentials_that_cannot_be_sent_are_refused_before_any_work_and_never_said(
    webhook, monkeypatch, variable, value
):
    check_notification("webhook")
    monkeypatch.setenv(variable, value)
    for attempt in (lambda: check_notification("webhook"), lambda: notify("webhook", ["done"], {})):
        with pytest.raises(ConfigError, match=rf"^job.notify=webhook: .*{variable}[ :]") as refused:
            attempt()
        assert "s3cr" not in "".join(traceback.format_exception(refused.value))


def test_what_speaks_no_http_is_named(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("TILTMETER_WEBHOOK", f"http://127.0.0.1:{server.getsockname()[1]}/s3cr3t")
        answering = threading.Thread(target=_answer_nonsense, args=[server])
        answering.start()
        with pytest.raises(NotificationFailed, match=r"127.0.0.1 speaks no HTTP \(BadStatusLine\)$") as failure:
            notify("webhook", ["done"], {})
        answering.join()
    assert "s3cr3t" not in "".join(traceback.format_exception(failure.value))


def _answer_nonsense(server):
    connection, _ = server.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"hello s3cr3t\r\n\r\n")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_message_and_its_token_are_taken_nowhere_else(webhook, status):
    """A redirected one would be asked for without its body, by whomever the answer names, with the token."""
    webhook.statuses.extend([status] * 3)
    with pytest.raises(NotificationFailed, match=rf"answered {status}"):
        notify("webhook", ["done"], {})
    assert {message.path for message in webhook.told} == {"/hooks/s3cr3t-path?key=s3cr3t-key"}


def test_a_webhook_is_posted_numbers_that_json_has(webhook):
    notify("webhook", ["done"], {"gates": [{"half_widths": math.inf, "before": math.nan, "after": 1.0}]})
    [message] = webhook.told
    assert message.body["gates"] == [{"half_widths": None, "before": None, "after": 1.0}]


def test_a_command_reads_the_text(tmp_path):
    program = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())"
    notify(f'{sys.executable} -c "{program}" {tmp_path}/mail', ["one", "two"], {})
    assert (tmp_path / "mail").read_text() == "one\ntwo"
    with pytest.raises(NotificationFailed, match=r"ended with status 3: no such user$"):
        notify(f"{sys.executable} -c \"import sys; sys.stderr.write('no such user'); sys.exit(3)\"", ["one"], {})


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("webhook", "posts to the URL in the environment variable TILTMETER_WEBHOOK: set it"),
        ("no-such-mailer -s night", "there is no command no-such-mailer"),
        ("mail 'open", "is not a command line"),
        ("' '", "there is no command"),
    ],
)
def test_what_nobody_could_be_told_by_is_refused_before_any_work(configured, monkeypatch, tmp_path, how, message):
    monkeypatch.delenv("TILTMETER_WEBHOOK", raising=False)
    (tmp_path / "night.yaml").write_text("store: job=prune")
    quoted = "'" + how.replace("'", "\\'") + "'"
    config = configured("job=overnight", f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/s", f"job.notify={quoted}")
    with pytest.raises(ConfigError, match=r"^job.notify=.*" + message):
        execute(config)


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
