"""Workers that hold a GPU, on a cluster of its own whose GPUs are Ray's bookkeeping only: no card is needed."""

import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import ray
from rich.console import Console

from cluster.connection import ClusterConfig, connected
from cluster.progress import Display
from cluster.stages import Runner, Stage
from cluster.workers import Pool, each
from storage.ledger import Store, Unit


def which_gpus(_store, _unit):
    yield (
        "gpus",
        pa.table({"number": [len(ray.get_gpu_ids())], "visible": [os.environ.get("CUDA_VISIBLE_DEVICES", "")]}),
    )


def main():
    ray.init(address="local", num_cpus=4, num_gpus=2, include_dashboard=False, log_to_driver=False)
    store = Store(tempfile.mkdtemp())
    pool = Pool(store, max_retries=0)
    with connected(ClusterConfig()) as workers, pool.started(*workers), Display(Console(file=io.StringIO())) as display:
        runner = Runner(store, pool, display)
        found = []
        for name, on_gpu in [("before", False), ("on GPUs", True), ("after", False)]:
            units = [Unit("which_gpus/1", f"{name} {n}", {"name": name, "n": n}) for n in range(4)]
            done = runner.run(Stage(name, each(which_gpus), {"all": units}, on_gpu=on_gpu))["all"]
            found.append([store.read(finished.tables["gpus"]).to_pylist()[0] for finished in done])
        runner.check()
    print(json.dumps({"workers": workers, "found": found}))


def test_a_stage_on_gpus_has_workers_of_its_own():
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    script = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=True)
    told = json.loads(script.stdout.splitlines()[-1])
    assert told["workers"] == [4, 2]
    before, on_gpus, after = told["found"]
    assert {unit["number"] for unit in before + after} == {0}
    assert {unit["number"] for unit in on_gpus} == {1}
    assert {unit["visible"] for unit in on_gpus} <= {"0", "1"}


if __name__ == "__main__":
    main()
