"""What a cluster has room for: its nodes, what each worker of a stage asks for, and the arithmetic between the two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tiltmeter.cluster.config import LEAST_WORKER_MEGABYTES, WORKER_SETTING, ClusterConfig, ClusterError

BYTES_PER_MEGABYTE = 1_000_000
_ROUND_TO = 10


class Node(NamedTuple):
    """A node of the cluster, with what it has and what of that is free.

    Attributes:
        id: that Ray gives it.
        name: its host's, with the beginning of the id where several nodes run on one host.
    """

    id: str
    name: str
    num_cpus: int
    free_cpus: int
    num_gpus: int
    free_gpus: int
    megabytes: int
    free_megabytes: int


@dataclass(frozen=True)
class ResourceRequest:
    """What each worker of a stage asks for: a CPU, memory, and a GPU or none.

    Attributes:
        stage: for people.
        parts: megabytes, by what they are for or by the setting that says them; all of them at once.
        on_gpu: whether it is a GPU as well.
        advice: settings that lower it.
    """

    stage: str
    parts: Mapping[str, int]
    on_gpu: bool = False
    advice: str = ""

    @property
    def megabytes(self) -> int:
        """The memory in all."""
        return sum(self.parts.values())


class Room(NamedTuple):
    """What workers may take of a node: CPUs, and so many workers that its memory is enough for."""

    num_cpus: int
    num_workers: int


class Workers(NamedTuple):
    """The workers to start, and the memory that each of them asks Ray for.

    Attributes:
        num_workers: without a GPU.
        num_gpus: those with a GPU, one each.
        rooms: of the nodes, for workers without a GPU.
    """

    num_workers: int
    num_gpus: int
    worker_bytes: int = 0
    gpu_worker_bytes: int = 0
    rooms: Sequence[Room] = ()


def usual_request(config: ClusterConfig) -> ResourceRequest:
    """What workers ask for in stages that need nothing special."""
    return ResourceRequest("every stage", {WORKER_SETTING: config.worker_megabytes})


def num_workers_on(node: Node, request: ResourceRequest) -> int:
    """How many workers fit on a node.

    >>> num_workers_on(Node("", "a", 8, 8, 0, 0, 6000, 5900), ResourceRequest("train", {"vectors": 2900}))
    2
    """
    num = min(node.free_cpus, node.free_megabytes // request.megabytes)
    return min(num, node.free_gpus) if request.on_gpu else num


def num_wide_workers(rooms: Sequence[Room], num_cpus: int) -> int:
    """How many workers of so many CPUs each there is room for.

    >>> num_wide_workers([Room(16, 10), Room(4, 4)], 3)
    6
    """
    return sum(min(room.num_cpus // num_cpus, room.num_workers) for room in rooms)


def largest_request(requests: Sequence[ResourceRequest], *, on_gpu: bool) -> ResourceRequest | None:
    """The request that decides the size of the workers, which are kept from stage to stage."""
    requests = [request for request in requests if request.on_gpu == on_gpu]
    return max(requests, key=lambda request: request.megabytes, default=None)


def workers_for(nodes: Sequence[Node], requests: Sequence[ResourceRequest], config: ClusterConfig) -> Workers:
    """How many workers to start for stages that ask for so much; each node holds as many as fit.

    Raises:
        ClusterError: if no node has room for one, with the arithmetic.
    """
    request = largest_request(requests, on_gpu=False) or usual_request(config)
    gpu_request = largest_request(requests, on_gpu=True)
    num_workers = _num_workers(nodes, request, config)
    num_gpus = _num_workers(nodes, gpu_request, config) if gpu_request else sum(node.free_gpus for node in nodes)
    gpu_bytes = (gpu_request or request).megabytes * BYTES_PER_MEGABYTE
    return Workers(
        min(num_workers, config.num_cpus or num_workers),
        num_gpus,
        request.megabytes * BYTES_PER_MEGABYTE,
        gpu_bytes,
        _rooms(nodes, request, config),
    )


def _rooms(nodes: Sequence[Node], request: ResourceRequest, config: ClusterConfig) -> list[Room]:
    """Of the nodes in their order, until the CPUs are as many as the settings allow."""
    left, rooms = config.num_cpus or sum(node.free_cpus for node in nodes), []
    for node in nodes:
        num_cpus = min(node.free_cpus, left)
        left -= num_cpus
        rooms.append(Room(num_cpus, node.free_megabytes // request.megabytes))
    return rooms


def _num_workers(nodes: Sequence[Node], request: ResourceRequest, config: ClusterConfig) -> int:
    if num := sum(num_workers_on(node, request) for node in nodes):
        return num
    parts = ", ".join(f"{megabytes:,} {name}" for name, megabytes in request.parts.items())
    wanted = f"1 CPU{' and 1 GPU' if request.on_gpu else ''} and {request.megabytes:,} MB"
    lines = "".join(f"\n  {_free_resources(node, request)} -> 0 workers" for node in nodes)
    raise ClusterError(
        f"{request.stage} asks for {wanted} for each worker ({parts}), and no node has room for one:{lines}\n"
        f"{_remedy(nodes, request, config)}"
    )


def _free_resources(node: Node, request: ResourceRequest) -> str:
    gpus = f", {node.free_gpus} of {node.num_gpus} GPUs" if request.on_gpu else ""
    return (
        f"node {node.name}: {node.free_cpus} of {node.num_cpus} CPUs{gpus} and {node.free_megabytes:,} of "
        f"{node.megabytes:,} MB free"
    )


def _remedy(nodes: Sequence[Node], request: ResourceRequest, config: ClusterConfig) -> str:
    ways = [request.advice] if request.advice else []
    most = max((node.free_megabytes for node in nodes if node.free_cpus), default=0)
    lower = request.parts.get(WORKER_SETTING, 0) - (request.megabytes - most)
    if LEAST_WORKER_MEGABYTES <= lower < request.parts.get(WORKER_SETTING, 0):
        ways.append(f"set {WORKER_SETTING}={lower // _ROUND_TO * _ROUND_TO}")
    if config.kind == "local":
        ways.append("end other programs, or say with cluster.memory_megabytes what the workers may take together")
    else:
        ways += ["wait for what else runs there", "add a node that has room"]
    return "; or ".join(ways)


def memory_warning(
    nodes: Sequence[Node], requests: Sequence[ResourceRequest], workers: Workers, config: ClusterConfig
) -> str | None:
    """Says so if memory leaves CPUs without a worker that the settings would let have one."""
    request = largest_request(requests, on_gpu=False) or usual_request(config)
    num_cpus = sum(node.free_cpus for node in nodes)
    wanted = min(num_cpus, config.num_cpus or num_cpus)
    if workers.num_workers >= wanted:
        return None
    return (
        f"{workers.num_workers} of {wanted} workers: {request.stage} asks for {request.megabytes:,} MB for each, and "
        f"{sum(node.free_megabytes for node in nodes):,} MB are free"
    )
