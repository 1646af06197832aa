"""How many workers fit, by hand, and what is said where none does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.cluster.capacity import (
    Node,
    ResourceRequest,
    Room,
    Workers,
    memory_warning,
    num_wide_workers,
    num_workers_on,
    usual_request,
    workers_for,
)
from tiltmeter.cluster.config import ClusterConfig, ClusterError

CONFIG = ClusterConfig(kind="existing", worker_megabytes=1500)
TRAIN = ResourceRequest(
    "stage train", {"cluster.worker_megabytes": 1500, "vectors of about 300,000 words of enwiki": 1400}
)


def node(name="a", cpus=(4, 4), gpus=(0, 0), megabytes=(8000, 8000)):
    return Node(f"id of {name}", name, *cpus, *gpus, *megabytes)


def test_a_node_holds_as_many_workers_as_its_free_cpus_and_its_free_memory_allow():
    assert num_workers_on(node(), TRAIN) == 2  # 2 x 2,900 of 8,000 MB
    assert num_workers_on(node(cpus=(4, 1)), TRAIN) == 1
    assert num_workers_on(node(megabytes=(8000, 2899)), TRAIN) == 0
    assert num_workers_on(node(), usual_request(CONFIG)) == 4
    assert ClusterConfig(worker_megabytes=700).worker_data_bytes == 300_000_000


def test_workers_are_summed_over_nodes_and_have_the_size_of_the_largest_ask():
    nodes = [node(), node("b", megabytes=(3000, 3000)), node("c", cpus=(2, 0))]
    rooms = [Room(4, 2), Room(4, 1), Room(0, 2)]
    assert workers_for(nodes, [usual_request(CONFIG), TRAIN], CONFIG) == Workers(
        3, 0, 2_900_000_000, 2_900_000_000, rooms
    )
    assert workers_for(nodes, [usual_request(CONFIG)], CONFIG).num_workers == 4 + 2
    assert workers_for(nodes, [usual_request(CONFIG)], ClusterConfig(num_cpus=3)).num_workers == 3


@given(
    st.lists(st.tuples(st.integers(0, 64), st.integers(0, 100_000)), min_size=1, max_size=5).filter(
        lambda free: any(cpus and memory >= 1500 for cpus, memory in free)
    ),
    st.integers(1, 200),
    st.integers(1, 64),
)
def test_wide_workers_never_take_more_than_a_node_and_the_settings_allow(free, most_cpus, num_cpus):
    nodes = [node(f"{at}", cpus=(64, cpus), megabytes=(100_000, memory)) for at, (cpus, memory) in enumerate(free)]
    rooms = workers_for(nodes, [usual_request(CONFIG)], ClusterConfig(kind="existing", num_cpus=most_cpus)).rooms
    wide = [num_wide_workers([room], num_cpus) for room in rooms]
    assert all(num * num_cpus <= cpus and num * 1500 <= memory for num, (cpus, memory) in zip(wide, free, strict=True))
    assert sum(wide) * num_cpus <= most_cpus


def test_workers_with_a_gpu_have_a_size_of_their_own():
    request = ResourceRequest("stage train", {"torch for CUDA": 2500}, on_gpu=True)
    nodes = [node(gpus=(4, 4), megabytes=(8000, 8000)), node("b", gpus=(1, 0))]
    expected = Workers(8, 3, 1_500_000_000, 2_500_000_000, [Room(4, 5), Room(4, 5)])
    assert workers_for(nodes, [usual_request(CONFIG), request], CONFIG) == expected
    assert workers_for(nodes, [usual_request(CONFIG)], CONFIG).num_gpus == 4


@given(st.lists(st.tuples(st.integers(0, 64), st.integers(0, 500_000)), min_size=1), st.integers(500, 20_000))
def test_workers_never_take_more_than_a_node_has_free(free, megabytes):
    request = ResourceRequest("stage train", {"vectors": megabytes})
    for cpus, memory in free:
        num = num_workers_on(node(cpus=(64, cpus), megabytes=(500_000, memory)), request)
        assert num <= cpus
        assert num * megabytes <= memory
        assert num == cpus or (num + 1) * megabytes > memory


def test_a_stage_without_room_is_refused_with_the_arithmetic_and_what_would_fix_it():
    nodes = [node(cpus=(2, 2), megabytes=(3000, 1900)), node("b", cpus=(4, 0))]
    with pytest.raises(ClusterError) as refused:
        workers_for(nodes, [usual_request(CONFIG), TRAIN], CONFIG)
    parts = "1,500 cluster.worker_megabytes, 1,400 vectors of about 300,000 words of enwiki"
    assert str(refused.value).splitlines() == [
        f"stage train asks for 1 CPU and 2,900 MB for each worker ({parts}), and no node has room for one:",
        "  node a: 2 of 2 CPUs and 1,900 of 3,000 MB free -> 0 workers",
        "  node b: 0 of 4 CPUs and 8,000 of 8,000 MB free -> 0 workers",
        "set cluster.worker_megabytes=500; or wait for what else runs there; or add a node that has room",
    ]


def test_a_setting_that_can_not_be_low_enough_is_not_advised():
    with pytest.raises(ClusterError) as refused:
        workers_for([node(megabytes=(9000, 1800))], [usual_request(CONFIG), TRAIN], ClusterConfig())
    assert "set cluster.worker_megabytes" not in str(refused.value)
    assert "say with cluster.memory_megabytes what the workers may take together" in str(refused.value)


def test_a_gpu_that_no_node_with_memory_has_is_told_with_the_setting_that_does_without():
    request = ResourceRequest("stage encode", {"torch for CUDA": 2500}, on_gpu=True, advice="set embedding.device=cpu")
    with pytest.raises(ClusterError, match=r"(?s)1 CPU and 1 GPU and 2,500 MB.*1 of 2 GPUs.*set embedding.device=cpu"):
        workers_for([node(gpus=(2, 1), megabytes=(2600, 2400))], [usual_request(CONFIG), request], CONFIG)


def test_memory_that_leaves_cpus_idle_is_told():
    nodes = [node(megabytes=(8000, 3100))]
    given = workers_for(nodes, [usual_request(CONFIG)], CONFIG)
    said = "2 of 4 workers: every stage asks for 1,500 MB for each, and 3,100 MB are free"
    assert memory_warning(nodes, [usual_request(CONFIG)], given, CONFIG) == said
    assert memory_warning(nodes, [usual_request(CONFIG)], given, ClusterConfig(num_cpus=2)) is None
