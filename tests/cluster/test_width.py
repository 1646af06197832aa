"""Every node of a real cluster works, for as long as there are replicas to train."""

import json

import pytest

from tests.faults.machines import Machines

NUM_NODES = 4
NUM_UNITS = 33


@pytest.fixture(scope="module")
def nodes(turn):
    """A head and four nodes of one CPU each."""
    with turn:
        machines = Machines(NUM_NODES, num_cpus=1)
    yield machines
    machines.shutdown()


@pytest.mark.slow
def test_four_nodes_train_replicas_for_all_of_the_stage(nodes, tiltmeter, tmp_path):
    process = tiltmeter(
        "job=bootstrap",
        "cluster=existing",
        f"cluster.address={nodes.address}",
        "cluster.worker_megabytes=800",
        f"embedding.num_replicas={NUM_UNITS - 1}",
        "embedding.trainer.epochs=4",
        f"store={tmp_path}/store",
        f"run_dir={tmp_path}/run",
    )
    output, errors = process.communicate(timeout=1200)
    assert process.returncode == 0, output + errors
    stages = {stage["name"]: stage for stage in json.loads((tmp_path / "run/run.json").read_text())["stages"]}
    train = stages["train"]
    print(f"busy: all {train['busy_share']:.1%}, the least busy {train['least_busy_share']:.1%}")
    assert (train["num_done"], train["num_workers"]) == (NUM_UNITS, NUM_NODES)
    # While the last of 33 replicas is trained, three nodes have none: for a ninth of the stage, if nodes are alike.
    num_rounds = -(-NUM_UNITS // NUM_NODES)
    assert train["least_busy_share"] > 0.9 * (NUM_UNITS // NUM_NODES) / num_rounds
    assert train["busy_share"] > 0.9 * NUM_UNITS / (NUM_NODES * num_rounds)
