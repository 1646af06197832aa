"""A cluster, a store of each kind, the undisturbed run, and the table of what came of the faults."""

import os
import random

import hydra
import pytest

from tests.faults.account import lines
from tests.faults.bucket import Proxy
from tests.faults.machines import Machines
from tests.faults.network import Networked, NotAllowed
from tests.faults.scene import Scene
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.composing import build
from tiltmeter.storage.store.ledger import Store

SEED = os.environ.get("FAULT_SEED", "0")
"""Decides when and whom faults hit."""


def pytest_terminal_summary(terminalreporter):
    """The figures of all faults."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    if rows := [value for report in reports for name, value in report.user_properties if name == "fault"]:
        terminalreporter.section(f"faults, seed {SEED}")
        for line in lines(rows):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def machines(turn):
    """The cluster, which faults may leave without some of its nodes."""
    with turn:
        machines = Machines()
    yield machines
    machines.shutdown()


@pytest.fixture(scope="session")
def networked():
    """A cluster whose nodes can be cut off."""
    try:
        machines = Networked()
    except NotAllowed as reason:
        pytest.skip(f"needs the right to make networks: {reason}")
    yield machines
    machines.shutdown()


@pytest.fixture(scope="session")
def proxy(s3_bucket, tmp_path_factory):
    """A connection to a bucket that is good between faults."""
    proxy = Proxy(s3_bucket, tmp_path_factory.mktemp("bucket"))
    yield proxy
    proxy.stop()


@pytest.fixture
def place(request, tmp_path):
    """Makes an empty store of a kind: as the command is told, as no fault touches it, and what can disturb it."""

    def make(kind):
        if kind == "bucket":
            proxy = request.getfixturevalue("proxy")
            proxy.mode("pass")
            told, seen = (proxy.bucket.uri(tmp_path.name, port) for port in (proxy.port, None))
            return {"store": told, "seen": Store(seen), "proxy": proxy}
        path = request.getfixturevalue("small_disk")("64m") if kind == "small disk" else tmp_path / "store"
        return {"store": str(path), "seen": Store(str(path))}

    return make


@pytest.fixture
def scene(request, place, tmp_path):
    """Makes a scene, before its command is started."""

    def make(name, kind="disk", cluster="machines", **options):
        machines = request.getfixturevalue(cluster)
        machines.repair()
        return Scene(machines, tmp_path, random.Random(f"{SEED} {name}"), **place(kind), **options)

    return make


@pytest.fixture(scope="session")
def undisturbed(machines, tmp_path_factory):
    """A run to which nothing happens."""
    folder = tmp_path_factory.mktemp("undisturbed")
    it = Scene(machines, folder, random.Random(), str(folder / "store"), Store(str(folder / "store")))
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        words = [*it.words(), "cluster.num_cpus=1"]
        execute(build(hydra.compose("tiltmeter", words), words))
    assert it.tables()
    return it
