"""Runs that can not see each other, on clocks that stand apart, share a store; and what is pruned meanwhile."""

import os
import subprocess
import sys
import time

import pytest

from tests.faults.scene import ROOT, TINY
from tiltmeter.storage.store.identity import table_digest
from tiltmeter.storage.store.runs import read_run_table

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
UNSHARED = ["unshare", "--fork", "--pid", "--mount-proc", "--time", "--boottime"]


@pytest.fixture
def start(tmp_path):
    """Starts the command in a PID namespace of its own, whose machine seems to run for so many seconds longer."""
    if subprocess.run([*UNSHARED, "1", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make namespaces")

    def run(name, seconds, *words):
        command = [*UNSHARED, str(seconds), sys.executable, "-m", "tiltmeter.jobs.app", *words]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        places = [f"store={tmp_path}/store", f"run_dir={tmp_path}/{name}"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen([*command, *places], cwd=tmp_path, env=environment, **pipes)

    return run


def digests(run_dir):
    return {name: table_digest(read_run_table(run_dir, name)) for name in ("vocabulary", "training")}


def test_two_runs_end_well_and_nothing_of_theirs_is_pruned(start, tmp_path):
    words = [*TINY, "cluster.num_cpus=1"]
    runs = [start("one", 0, *words), start("other", 10**6, *words)]
    while len(list((tmp_path / "store/ledger").rglob("*.json"))) < 2:
        assert all(run.poll() is None for run in runs)
        time.sleep(0.2)
    prune = start("pruned", 10**5, "job=prune", "job.remove=true")
    assert "runs are at work: bootstrap" in prune.communicate()[0]
    assert prune.returncode == 2
    output = "\n".join(run.communicate()[0] for run in runs)
    assert [run.returncode for run in runs] == [0, 0], output
    assert digests(tmp_path / "one") == digests(tmp_path / "other")
    prune = start("pruned", 0, "job=prune", "job.remove=true")
    assert "went" not in prune.communicate()[0]
    assert prune.returncode == 0
