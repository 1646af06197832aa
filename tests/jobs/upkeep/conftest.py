"""Verdicts of gates, and a server that is told of them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.history import History
from tiltmeter.jobs.upkeep.overnight.gates import Gate, verdicts


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
    return [*found, skipped | {"name": "lost"}]


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
