"""Verdicts of gates, and a command that is told of them."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.history import History
from tiltmeter.jobs.upkeep.overnight.gates import Gate, verdicts
from tiltmeter.jobs.upkeep.overnight.notifying import VARIABLES


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
