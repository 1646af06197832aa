"""Preflight on a real cluster of two nodes with token authentication, which answer for themselves.

A process of its own starts the cluster and looks at it again and again: once one node has other code, once it is
silent, and so on. The nodes are called large and small, after their memory.
"""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import psutil
import pyarrow as pa
import pytest
import ray
from ray.cluster_utils import Cluster
from rich.console import Console

from tiltmeter.cluster import node_checks
from tiltmeter.cluster import preflight as preflights
from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.config import ClusterConfig, ClusterError
from tiltmeter.cluster.connection import connected, nodes
from tiltmeter.cluster.environment import Environment
from tiltmeter.cluster.preflight import _many_processors, preflight
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import each
from tiltmeter.cluster.workers import Pool
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.probes import probe_in

ROOT = Path(__file__).parents[2]
LARGE, SMALL = 3_200_000_000, 1_900_000_000
CHANGED = "tiltmeter/jobs/app.py"
WORKER_BYTES = 1_500_000_000
VECTORS = ResourceRequest("stage train", {"cluster.worker_megabytes": 1500, "vectors": 2500})


_ray_wait, _answer = ray.wait, node_checks._answer


def main():
    """Prints what came of each look, by what was special about it; runs beside two copies of our code."""
    folder = Path.cwd()
    with (folder / "other" / CHANGED).open("a") as changed:
        changed.write("# changed\n")
    both = {"num_cpus": 2, "object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args=both | {"memory": LARGE, "include_dashboard": False})
    small = cluster.add_node(**both, memory=SMALL, env_vars={"PYTHONPATH": str(folder / "other")})
    config = ClusterConfig(kind="existing", address=cluster.address)
    with connected(config):
        names = {node.name: "large" if node.megabytes * 10**6 == LARGE else "small" for node in nodes()}
        results = {what: _told(result, names) for what, result in _looks(config, Store("store"), folder, small)}
        results["packed"] = _packed(Store("store"))
        while any(node.free_cpus < node.num_cpus for node in nodes()):
            time.sleep(0.01)  # until the last workers are gone
        with patch.object(node_checks, "_answer", _answer_or_lose_small):
            results["lost"] = _told(_look(config, Store("store")), names)
    cluster.shutdown()
    print(json.dumps(results))


def _looks(config, store, folder, small):
    yield "other code", _look(config, store)
    shutil.copy(folder / "ours" / CHANGED, folder / "other" / CHANGED)
    yield "nothing", _look(config, store)
    yield "left", sorted(os.listdir(store.path))
    yield "little memory", _look(config, store, VECTORS)
    os.chdir("other")  # nodes stay in the folder where they were started
    yield "other store", _look(config, Store("/proc/self/cwd/store"))
    yield "left there", [sorted(os.listdir("store")), sorted(os.listdir(store.path))]
    os.chdir(folder)
    raylet = _raylet_of(small)
    raylet.suspend()
    with patch.object(ray, "wait", _wait_for_one):
        yield "silent", _look(config, store)
    raylet.resume()


def _answer_or_lose_small(*asked):
    """On the small node, its end in the place of an answer: Ray takes it for alive for seconds after that."""
    if os.environ["PYTHONPATH"].endswith("other"):
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return _answer(*asked)


def _wait_for_one(refs, *, num_returns, timeout):
    """As if the time was over when one has answered, however long that takes."""
    assert num_returns == len(refs) == 2
    assert timeout == node_checks._SECONDS_TO_ANSWER
    return _ray_wait(refs, num_returns=1)


def _look(config, store, *asks):
    try:
        return preflight(config, store, lambda _: asks, ("numpy", "ray")).record()
    except (ClusterError, StorageError) as error:
        return str(error)


def _told(result, names):
    said = json.dumps(result)
    for name, kind in names.items():
        said = said.replace(name, kind)
    return json.loads(said)


def _raylet_of(node):
    children = psutil.Process().children(recursive=True)
    return next(
        child for child in children if child.name() == "raylet" and node.raylet_socket_name in str(child.cmdline())
    )


def which_process(store, _unit):
    """The process that does a unit, its node, and the memory that it holds there, when three are at work."""
    Path(store.path, f"worker-{os.getpid()}").touch()
    deadline = time.monotonic() + 120
    while len(list(Path(store.path).glob("worker-*"))) < 3:
        assert time.monotonic() < deadline, "fewer than three workers have come"
        time.sleep(0.01)
    memory, context = {node["NodeID"]: node["Resources"]["memory"] for node in ray.nodes()}, ray.get_runtime_context()
    held = context.get_assigned_resources()["memory"]
    yield "process", pa.table({"pid": [os.getpid()], "memory": [memory[context.get_node_id()]], "held": [held]})


def _packed(store):
    """Worker processes on the large and on the small node, when more are wanted than there is room for, units done, and
    the memory that each worker holds."""
    pool = Pool(store, max_retries=0)
    with pool.started(6, worker_bytes=WORKER_BYTES), Display(Console(file=io.StringIO())) as display:
        units = [Unit("which_process/1", str(number), number) for number in range(12)]
        done = Runner(store, pool, display).run(Stage("processes", each(which_process), {"all": units}))["all"]
        rows = [store.read(unit.tables["process"]).to_pylist()[0] for unit in done]
    counts = Counter(memory for _, memory in {(row["pid"], row["memory"]) for row in rows})
    return [counts[LARGE], counts[SMALL], len(done)], sorted({row["held"] for row in rows})


@pytest.fixture(scope="module")
def results(tmp_path_factory, turn):
    command, folder = [sys.executable, __file__], tmp_path_factory.mktemp("nodes")
    shutil.copytree(ROOT / "src", folder / "ours", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(folder / "ours", folder / "other")
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    # A lost node is looked after every second, so that five looks take five.
    soon = {"RAY_health_check_period_ms": "1000"}
    environment = os.environ | token | soon | {"PYTHONPATH": str(folder / "ours")}
    with turn:
        script = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert script.returncode == 0, script.stderr
    return json.loads(script.stdout.splitlines()[-1])


@pytest.mark.long
def test_nodes_are_recorded_with_what_they_have_and_the_workers_that_they_hold(results):
    record = results["nothing"]
    assert sorted(record["nodes"], key=lambda node: node["name"]) == [
        {"name": "large", "cpus": 2, "gpus": 0, "memory_megabytes": 3200, "workers": {"every stage": 2}},
        {"name": "small", "cpus": 2, "gpus": 0, "memory_megabytes": 1900, "workers": {"every stage": 1}},
    ]
    assert record["workers"]["num_workers"] == 3
    assert record["warnings"] == ["3 of 4 workers: every stage asks for 1,500 MB for each, and 5,100 MB are free"]
    assert results["left"] == [], "nothing stays behind in the store"


def test_ray_starts_no_more_workers_on_a_node_than_it_has_memory_for_and_those_without_room_hold_nothing_up(results):
    assert results["packed"] == [[2, 1, 12], [WORKER_BYTES]]


def test_a_stage_for_which_no_node_has_memory_is_refused_with_the_arithmetic(results):
    refusal = results["little memory"]
    assert refusal.startswith(
        "stage train asks for 1 CPU and 4,000 MB for each worker (1,500 cluster.worker_megabytes, "
    )
    assert "\n  node large: 2 of 2 CPUs and 3,200 of 3,200 MB free -> 0 workers" in refusal
    assert "\n  node small: 2 of 2 CPUs and 1,900 of 1,900 MB free -> 0 workers" in refusal
    assert "\nset cluster.worker_megabytes=700; or" in refusal


def test_other_code_on_a_node_is_refused_with_what_differs_where(results):
    refusal = results["other code"]
    assert "might compute something else:\n  code of jobs: " in refusal
    assert " here, on large; " in refusal
    assert " on small\n" in refusal
    assert refusal.count("code of") == 1


def test_a_store_that_is_another_one_on_the_nodes_is_refused_and_left_alone(results):
    refusal = results["other store"]
    assert refusal.startswith("2 of 2 nodes can't take part:")
    assert "node small: store=/proc/self/cwd/store differs there: it lacks the file that" in refusal
    assert "store=<path or URI> is a place that all nodes share" in refusal
    assert results["left there"] == [[], []]


def test_a_node_that_does_not_answer_is_named(results):
    silence = f"has not answered for {node_checks._SECONDS_TO_ANSWER:g} seconds"
    assert results["silent"].startswith(f"1 of 2 nodes can't take part:\n  node small: {silence}\n")


def test_a_node_that_is_lost_while_it_is_asked_is_done_without(results):
    assert [node["memory_megabytes"] for node in results["lost"]["nodes"]] == [3200]


def test_different_processors_are_a_warning():
    assert _many_processors({"a": Environment({}, "EPYC"), "b": Environment({}, "EPYC")}) is None
    assert "(EPYC; Xeon)" in _many_processors({"a": Environment({}, "Xeon"), "b": Environment({}, "EPYC")})


@pytest.mark.parametrize("has_token", [True, False])
def test_a_cluster_that_asks_for_no_token_is_a_warning(monkeypatch, has_token):
    monkeypatch.setattr(preflights, "is_token_auth_enabled", lambda: has_token)
    warning = preflights._without_token()
    assert (warning is None) == has_token
    assert has_token or "whoever reaches its ports can run programs there" in warning


def test_a_store_that_a_node_can_only_read_is_told(monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise StorageError("cannot write probe: Read-only file system")

    store = Store(str(tmp_path))
    with probe_in(store.filesystem, store.path) as probe:
        monkeypatch.setattr(node_checks, "write_bytes", refuse)
        assert node_checks._answer(store.root, probe, "b", []) == "cannot write probe: Read-only file system"


if __name__ == "__main__":
    main()
