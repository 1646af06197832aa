"""Who is told how a night went: a command that reads it, such as those of docs/overnight.md."""

import json
import math
import shutil
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import psutil
import pytest

from tests.docs.pages import PAGES
from tests.fixtures.nights import MOVES, NIGHT
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition
from tiltmeter.jobs.upkeep.overnight import notifying
from tiltmeter.jobs.upkeep.overnight.notifying import NotificationFailed, notify
from tiltmeter.jobs.upkeep.overnight.outcome import outcome, sentences


@pytest.fixture
def script(tmp_path):
    """A command that runs lines of a shell."""

    def of(*lines):
        (tmp_path / "script.sh").write_text("\n".join(lines))
        return f"sh {tmp_path}/script.sh"

    return of


def test_a_command_reads_the_outcome(reader, gates, tmp_path):
    gates[0] |= {"half_widths": math.inf, "before": math.nan, "after": 1.0}  # of which JSON has the last
    notify(reader.command, sentences(NIGHT, gates), outcome(tmp_path, NIGHT, gates))
    [message] = reader.messages()
    assert message["status"] == "jobs_failed"
    assert [message["gates"][0][name] for name in ("half_widths", "before", "after")] == [None, None, 1.0]
    assert message["text"].splitlines() == [
        "1 of 2 jobs did not succeed: lost (refused).",
        "lost refused: no file",
        "second line",
        "bias: tests: d of model en, word a went from 1 to 9.",
        MOVES,
        "lost: 3 records left out: no JSON; first in a.csv, line 7.",
    ]


def test_a_command_that_fails_is_named_with_the_end_of_what_it_says_and_without_credentials(script):
    address = "https://me:s3cr3t@example.org/hooks?key=s3cr3t"
    with pytest.raises(
        NotificationFailed, match=r"^notify.command: sh ended with status 3: no route to https"
    ) as failure:
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


@pytest.mark.parametrize("value", ["webhook", "'mail -s night me'", "null"])
def test_the_former_setting_is_refused_with_the_one_in_its_place(configured, hydra_restored, value):
    confine_composition()
    with pytest.raises(
        ConfigError, match=r"^job.notify=.*: is no longer a setting: set notify.command to a command that"
    ):
        configured("job=overnight", "jobs=night.yaml", f"job.notify={value}")


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
