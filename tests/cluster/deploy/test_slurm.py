"""The SLURM script, with stand-ins for SLURM's own programs on this machine."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ray.scripts.scripts import start

from tiltmeter.cluster.capacity import Node, num_workers_on, usual_request
from tiltmeter.cluster.config import ClusterConfig

SCRIPT = Path(__file__).parents[3] / "cluster/deploy/slurm.sh"
SRUN = """#!/bin/bash
# Runs a command once for each node, all of them on this machine.
while [[ $1 == --* ]]; do
  case $1 in
    --nodes=*) nodes=${1#*=} ;;
    --relative=*) first=${1#*=} ;;
  esac
  shift
done
trap 'kill $(jobs -p)' TERM
for ((node = 0; node < nodes; node++)); do
  SLURM_NODEID=$((node + ${first:-0})) SLURM_CPUS_ON_NODE=$SLURM_CPUS_PER_TASK "$@" &
done
wait
wait
"""
"""Stands in for SLURM's."""


@pytest.fixture
def allocation(tmp_path, monkeypatch):
    """Two nodes of one CPU, as SLURM describes them; returns what makes more stand-ins."""

    def stand_in(name, text):
        (programs / name).write_text(text)
        (programs / name).chmod(0o700)

    programs = tmp_path / "bin"
    programs.mkdir()
    stand_in("srun", SRUN)
    environment = {"JOB_ID": os.getpid(), "JOB_NUM_NODES": 2, "CPUS_PER_TASK": 1, "MEM_PER_NODE": 6000}
    for name, value in environment.items():
        monkeypatch.setenv(f"SLURM_{name}", str(value))
    monkeypatch.setenv("HOME", str(tmp_path))
    path = [programs, Path(sys.executable).parent, "/usr/bin", "/bin"]
    monkeypatch.setenv("PATH", ":".join(map(str, path)))
    return stand_in


def run_script(folder, *command, seconds=200):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    script = subprocess.Popen(["bash", SCRIPT, *command], cwd=folder, **pipes)
    try:
        output, errors = script.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        script.terminate()  # it stops Ray; nobody would, were it killed
        script.communicate()
        raise
    return subprocess.CompletedProcess(script.args, script.returncode, output, errors)


def directives():
    """What the script asks SLURM for."""
    return dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(\S+))?$", SCRIPT.read_text(), re.MULTILINE))


def test_the_script_is_sound_bash(check):
    subprocess.run(["bash", "-n", SCRIPT], check=True)
    assert check("shellcheck", SCRIPT) == (0, "")


def test_the_allocation_has_room_for_a_worker_on_each_cpu():
    own, object_store = (
        int(re.search(rf"{name}_megabytes=(\d+)", SCRIPT.read_text())[1]) for name in ("own", "object_store")
    )
    asked = directives()
    megabytes = ((int(asked["mem"].removesuffix("G")) << 30) - ((own + object_store) << 20)) // 1_000_000
    num_cpus = int(asked["cpus-per-task"])
    node = Node("", "", num_cpus, num_cpus, 0, 0, megabytes, megabytes)
    assert num_workers_on(node, usual_request(ClusterConfig(kind="existing"))) == num_cpus


def test_the_script_says_what_it_lacks(allocation, tmp_path, monkeypatch):
    assert "no command: sbatch" in run_script(tmp_path).stderr
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    refused = run_script(tmp_path, "tiltmeter")
    assert refused.returncode == 2
    assert "activate Tiltmeter's environment before sbatch" in refused.stderr


@pytest.mark.long
def test_ray_that_does_not_start_ends_the_script_and_leaves_no_token(allocation, tmp_path):
    allocation("ray", "#!/bin/bash\necho $* >>started\nstat --format=%a $RAY_AUTH_TOKEN_PATH >>started\nexit 1\n")
    ended = run_script(tmp_path, "tiltmeter")
    assert ended.returncode == 2
    assert "Ray did not start on" in ended.stderr
    words, mode = (tmp_path / "started").read_text().splitlines()
    assert mode == "600"
    assert not list((tmp_path / ".ray").iterdir())
    params = start.make_context("start", words.split()[1:]).params
    assert params["head"]
    assert params["num_cpus"] == 1
    assert params["memory"] == (6000 - 2000 - 256) << 20
    assert params["port"] != params["ray_client_server_port"]


TINY = (
    "tiltmeter job=bootstrap cluster=existing store={folder}/store run_dir={folder}/run corpus=file corpus.language=en "
    "corpus.path=package://gensim/test/test_data/enwiki-table-markup.xml.bz2 embedding.num_replicas=2 "
    "embedding.trainer.dimensions=4 embedding.trainer.epochs=1"
)


@pytest.mark.slow
def test_a_job_runs_on_two_nodes_and_nothing_of_it_stays(allocation, tmp_path):
    nodes = 'python -c \'import ray; ray.init(); print(sum(node["Alive"] for node in ray.nodes()), "nodes")\''
    command = f"{TINY.format(folder=tmp_path)} && {nodes} && exit 7"
    ended = run_script(tmp_path, "bash", "-c", command)
    assert ended.returncode == 7, ended.stderr
    assert "2 nodes" in ended.stdout
    assert json.loads((tmp_path / "run/run.json").read_text())["status"] == "succeeded"
    assert not list((tmp_path / ".ray").iterdir())
    temporary = f"/tmp/ray-{os.getpid()}"
    assert not Path(temporary).exists()
    assert not subprocess.run(["pgrep", "--full", temporary], capture_output=True, check=False).stdout
