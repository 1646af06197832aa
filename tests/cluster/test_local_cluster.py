"""A local cluster as a run starts it, in a process of its own: who can reach it, and workers that hold a GPU.

Its GPUs are Ray's bookkeeping only: no card is needed.
"""

import functools
import io
import ipaddress
import json
import os
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import psutil
import pyarrow as pa
import pytest
import ray
from rich.console import Console

from tiltmeter.cluster.config import ClusterConfig, ClusterError
from tiltmeter.cluster.connection import connected
from tiltmeter.cluster.preflight import preflight
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import each
from tiltmeter.cluster.workers import Pool
from tiltmeter.storage.store.ledger import Store, Unit

ROOT = Path(__file__).parents[2]
LOCAL = ClusterConfig(num_cpus=4, worker_megabytes=500, memory_megabytes=2100)


def main():
    """Prints what was seen; runs in an empty folder, which is also its home."""
    ray.init = functools.partial(ray.init, num_gpus=2)
    store = Store("store")
    with connected(LOCAL):
        stranger = _stranger(ray.get_runtime_context().gcs_address)
        session = Path(ray._private.worker._global_node.get_session_dir_path())
        folder = session.parents[1]
        folder_mode = stat.S_IMODE(folder.stat().st_mode)
        with patch.object(ray, "remote", wraps=ray.remote) as remote, patch.object(ray, "get", wraps=ray.get) as get:
            found = preflight(LOCAL, store, lambda _: (), ("numpy", "torch", "transformers"))
        cost = {"num_tasks": remote.call_count + get.call_count}
        cost["modules"] = sorted({"torch", "transformers"} & {*sys.modules})
        gpus = _gpus_of_workers(store, found.workers)
        seen = cost | {"record": found.record(), "gpus": gpus, "listening": _listening()}
        seen |= {"mode": os.environ["RAY_AUTH_MODE"], "refusal": stranger.communicate()[0]}
    seen |= {"session": str(session), "folder_mode": folder_mode, "left": folder.exists()}
    print(json.dumps(seen | {"token_mode": stat.S_IMODE(Path(".ray/auth_token").stat().st_mode)}))


def _stranger(address):
    """A process with another token, which tries to connect."""
    environment = os.environ | {"RAY_AUTH_TOKEN": "0" * 64}
    return subprocess.Popen([sys.executable, __file__, address], env=environment, stdout=subprocess.PIPE, text=True)


def connect(address):
    """Prints why it can't."""
    try:
        with connected(ClusterConfig(kind="existing", address=address)):
            print("connected")
    except ClusterError as error:
        print(error)


def _listening():
    """Addresses on which this process and all that it started wait for connections."""
    found = set()
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # workers of the last stage are on their way out
            listening = [at for at in process.net_connections("inet") if at.status == psutil.CONN_LISTEN]
            found |= {at.laddr.ip for at in listening}
    return sorted(found)


def which_gpus(_store, _unit):
    yield (
        "gpus",
        pa.table({"number": [len(ray.get_gpu_ids())], "visible": [os.environ.get("CUDA_VISIBLE_DEVICES", "")]}),
    )


def _gpus_of_workers(store, workers):
    pool = Pool(store, max_retries=0)
    with pool.started(*workers), Display(Console(file=io.StringIO())) as display:
        runner = Runner(store, pool, display)
        found = []
        for name, on_gpu in [("before", False), ("on GPUs", True), ("after", False)]:
            units = [Unit("which_gpus/1", f"{name} {n}", {"name": name, "n": n}) for n in range(4)]
            done = runner.run(Stage(name, each(which_gpus), {"all": units}, on_gpu=on_gpu))["all"]
            found.append([store.read(finished.tables["gpus"]).to_pylist()[0] for finished in done])
        runner.check()
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory, turn):
    home = tmp_path_factory.mktemp("home")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "HOME": str(home)}
    with turn:
        script = subprocess.run(
            [sys.executable, __file__], cwd=home, env=environment, capture_output=True, text=True, check=False
        )
    assert script.returncode == 0, script.stderr
    return json.loads(script.stdout.splitlines()[-1])


@pytest.mark.long
def test_a_stage_on_gpus_has_workers_of_its_own(seen):
    before, on_gpus, after = seen["gpus"]
    assert {unit["number"] for unit in before + after} == {0}
    assert {unit["number"] for unit in on_gpus} == {1}
    assert {unit["visible"] for unit in on_gpus} <= {"0", "1"}


def test_only_this_machine_can_reach_a_local_cluster(seen):
    addresses = [ipaddress.ip_address(address) for address in seen["listening"]]
    assert addresses
    assert all((getattr(address, "ipv4_mapped", None) or address).is_loopback for address in addresses)


def test_a_local_cluster_has_a_token_and_a_folder_that_only_its_owner_can_enter_and_goes_with_it(seen):
    assert (seen["mode"], seen["token_mode"]) == ("token", 0o600)
    assert Path(seen["session"]).name.startswith("session_")
    assert (seen["folder_mode"], seen["left"]) == (0o700, False)


def test_who_has_another_token_is_refused(seen):
    assert (
        "the cluster has token authentication, and this process not its token: set RAY_AUTH_MODE=token"
        in seen["refusal"]
    )


def test_the_preflight_of_a_local_cluster_waits_for_no_worker_and_loads_no_library(seen):
    assert (seen["num_tasks"], seen["modules"]) == (0, [])
    [node] = seen["record"]["nodes"]
    assert (node["cpus"], node["gpus"], node["memory_megabytes"], node["workers"]) == (4, 2, 2100, {"every stage": 4})
    assert seen["record"]["workers"]["num_workers"] == 4


if __name__ == "__main__":
    connect(sys.argv[1]) if len(sys.argv) > 1 else main()
