"""Runs whose processes can't see each other: in other PID namespaces, of other clocks, or on machines of one name."""

import dataclasses
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files import locks
from tiltmeter.storage.store import processes
from tiltmeter.storage.store.processes import ABANDONED, Process
from tiltmeter.storage.store.registry import Registry

pytestmark = pytest.mark.usefixtures("marked")

AT_WORK = """
import sys
from pyarrow import fs
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.tables import write_file

store = Store(sys.argv[1])

def write(sink):
    print("at work", flush=True)
    sys.stdin.read()

with store.leased():
    Registry(store).enter("survey", "nightly", run_dir="/there", settings={})
    write_file(fs.LocalFileSystem(), f"{store.path}/registry/words.txt", write, setting="")
"""
LOOK = """
import sys
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.registry import Registry

store = Store(sys.argv[1])
print(store.clean_up())
try:
    with Registry(store).pruning():
        print("pruning")
except StorageError as error:
    print(error)
"""


def elsewhere(script, store, *options):
    """A process of a PID namespace of its own."""
    command = ["unshare", "--fork", "--pid", "--mount-proc", *options]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make namespaces")
    command += [sys.executable, "-c", script, store.path]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def at_work(store):
    """A run of another PID namespace, on a clock that started elsewhere."""
    process = elsewhere(AT_WORK, store, "--time", "--boottime", "100000")
    assert process.stdout.readline() == "at work\n"
    yield process
    # With its input it ends.
    process.stdin.close()
    process.wait()


@pytest.mark.long
def test_a_run_that_can_not_be_seen_keeps_its_files_and_its_units(store, at_work):
    before = sorted(path for path in Path(store.path).rglob("*"))
    assert store.clean_up() == 0
    with pytest.raises(StorageError, match=r"can't be removed while runs are at work: survey on .* into /there; if"):
        Registry(store).pruning().__enter__()
    answer = elsewhere(LOOK, store).communicate()[0].splitlines()
    assert answer[0] == "0"
    assert "runs are at work: survey" in answer[1]
    assert sorted(path for path in Path(store.path).rglob("*") if ".pruning" not in path.name) == before
    at_work.stdin.close()
    assert at_work.wait() == 0
    with Registry(store).pruning():
        pass


@pytest.mark.long
def test_one_that_was_killed_holds_nothing_up(store, at_work):
    with pytest.raises(StorageError):
        Registry(store).pruning().__enter__()
    [child] = psutil.Process(at_work.pid).children()
    child.kill()
    at_work.wait()
    assert store.clean_up() == 1
    assert elsewhere(LOOK, store).communicate()[0].splitlines() == ["0", "pruning"]
    assert not [
        path for path in Path(store.path).rglob("*") if ".partial" in path.name or path.parent.name == ".leases"
    ]


def test_a_process_that_nobody_has_asked_how_it_ended_is_dead():
    """Its number stays taken, for ever where the first process of a container asks for none."""
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    named = dataclasses.replace(Process.current(), number=process.pid, created=processes._created(str(process.pid)))
    assert named.is_alive(datetime.now(UTC))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not named.is_alive(datetime.now(UTC))
    process.communicate()
    assert not named.is_alive(datetime.now(UTC))


@pytest.mark.parametrize("name", ["", "7", "7-1.5@", "7@host", "a-1.5@host", "7-1.5@a/b", "7-1.5@a@b"])
def test_what_is_no_name_of_a_process_is_refused(name):
    with pytest.raises(ValueError, match="not the name of a process"):
        Process.named(name)


@pytest.mark.parametrize("seconds", [-(10**6), -1, 1, 10**6])
def test_a_clock_that_is_set_changes_nobody(monkeypatch, seconds):
    current, now = Process.current(), datetime.now(UTC) + timedelta(seconds=seconds)
    monkeypatch.setattr(processes, "datetime", type("Set", (), {"now": staticmethod(lambda _: now)}))
    assert Process.current() == current
    assert current.is_alive(now)
    assert not dataclasses.replace(current, created=current.created + 1).is_alive(now)


@pytest.mark.parametrize(
    ("is_locked", "seen", "is_alive"),
    [
        (True, ABANDONED * 2, True),
        (False, ABANDONED / 2, False),
        (None, ABANDONED / 2, True),
        (None, ABANDONED * 2, False),
    ],
)
def test_whom_nobody_can_look_up_is_told_by_its_lock_and_else_by_when_it_was_seen(is_locked, seen, is_alive):
    other = dataclasses.replace(Process.current(), space="0a1b2c3d4e5f.1")
    assert other.is_alive(datetime.now(UTC) - seen, is_locked) == is_alive


def test_a_process_of_an_earlier_version_has_locked_nothing(store):
    row = {"host": Process.current().host, "number": 1, "created": 1732312345.67}
    old = Process(**row)
    assert Process.named(old.name) == old == Process.named(f"1-1732312345.67@{old.host}")
    assert [old.is_alive(datetime.now(UTC) - seen, False) for seen in (ABANDONED / 2, ABANDONED * 2)] == [True, False]
    assert "space" not in json.dumps(row)


def test_a_free_lock_says_nothing_where_other_machines_may_have_theirs(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path)
    for place, is_free in ((tmp_path, False), (tmp_path / "link", None)):
        with locks.examined(place) as is_locked:
            assert is_locked is is_free
    monkeypatch.setattr(locks, "_is_of_this_machine", lambda _: False)
    for place in (tmp_path, tmp_path / "none"):
        with locks.examined(place) as is_locked:
            assert is_locked is None
