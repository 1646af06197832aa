"""Who is told how a night went: a webhook or a command, whose credentials are said nowhere."""

import math
import socket
import sys
import threading
import traceback

import pytest

from tests.fixtures.nights import MOVES, NIGHT
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.upkeep.overnight.notifying import NotificationFailed, check_notification, notify
from tiltmeter.jobs.upkeep.overnight.outcome import outcome, sentences


def test_a_webhook_is_posted_the_outcome(webhook, gates, tmp_path):
    webhook.statuses.append(503)
    gates[0] |= {"half_widths": math.inf, "before": math.nan, "after": 1.0}  # of which JSON has the last
    notify("webhook", sentences(NIGHT, gates), outcome(tmp_path, NIGHT, gates))
    assert len(webhook.told) == 2
    message = webhook.told[-1]
    assert message.path == "/hooks/s3cr3t-path?key=s3cr3t-key"
    assert message.headers["Authorization"] == "Bearer s3cr3t-token"
    assert message.body["status"] == "jobs_failed"
    assert [message.body["gates"][0][name] for name in ("half_widths", "before", "after")] == [None, None, 1.0]
    assert message.body["text"].splitlines() == [
        "1 of 2 jobs did not succeed: lost (refused).",
        "lost refused: no file",
        "second line",
        "bias: tests: d of model en, word a went from 1 to 9.",
        MOVES,
        "lost: 3 records left out: no JSON; first in a.csv, line 7.",
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
