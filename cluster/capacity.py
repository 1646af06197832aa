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
class Ask:
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


class Workers(NamedTuple):
    """The workers to start, and the memory that each of them asks Ray for.

    Attributes:
        num_workers: without a GPU.
        num_gpus: those with a GPU, one each.
    """

    num_workers: int
    num_gpus: int
    worker_bytes: int = 0
    gpu_worker_bytes: int = 0


def usual(config: ClusterConfig) -> Ask:
    """What workers ask for in stages that need nothing special."""
    return Ask("every stage", {WORKER_SETTING: config.worker_megabytes})


def places(node: Node, ask: Ask) -> int:
    """How many workers fit on a node.

    >>> places(Node("", "a", 8, 8, 0, 0, 6000, 5900), Ask("train", {"vectors": 2900}))
    2
    """
    fitting = min(node.free_cpus, node.free_megabytes // ask.megabytes)
    return min(fitting, node.free_gpus) if ask.on_gpu else fitting


def largest(asks: Sequence[Ask], *, on_gpu: bool) -> Ask | None:
    """The ask that decides the size of the workers, which are kept from stage to stage."""
    return max((ask for ask in asks if ask.on_gpu == on_gpu), key=lambda ask: ask.megabytes, default=None)


def room_for(found: Sequence[Node], asks: Sequence[Ask], config: ClusterConfig) -> Workers:
    """How many workers to start for stages that ask for so much; each node holds as many as fit.

    Raises:
        ClusterError: if no node has room for one, with the arithmetic.
    """
    ask, gpu_ask = largest(asks, on_gpu=False) or usual(config), largest(asks, on_gpu=True)
    num_workers = _fitting(found, ask, config)
    num_gpus = _fitting(found, gpu_ask, config) if gpu_ask else sum(node.free_gpus for node in found)
    gpu_bytes = (gpu_ask or ask).megabytes * BYTES_PER_MEGABYTE
    return Workers(
        min(num_workers, config.num_cpus or num_workers), num_gpus, ask.megabytes * BYTES_PER_MEGABYTE, gpu_bytes
    )


def _fitting(found: Sequence[Node], ask: Ask, config: ClusterConfig) -> int:
    if num := sum(places(node, ask) for node in found):
        return num
    parts = ", ".join(f"{megabytes:,} {name}" for name, megabytes in ask.parts.items())
    wanted = f"1 CPU{' and 1 GPU' if ask.on_gpu else ''} and {ask.megabytes:,} MB"
    each = "".join(f"\n  {_free(node, ask)} -> 0 workers" for node in found)
    raise ClusterError(
        f"{ask.stage} asks for {wanted} for each worker ({parts}), and no node has room for one:{each}\n"
        f"{_remedy(found, ask, config)}"
    )


def _free(node: Node, ask: Ask) -> str:
    gpus = f", {node.free_gpus} of {node.num_gpus} GPUs" if ask.on_gpu else ""
    return (
        f"node {node.name}: {node.free_cpus} of {node.num_cpus} CPUs{gpus} and {node.free_megabytes:,} of "
        f"{node.megabytes:,} MB free"
    )


def _remedy(found: Sequence[Node], ask: Ask, config: ClusterConfig) -> str:
    ways = [ask.advice] if ask.advice else []
    most = max((node.free_megabytes for node in found if node.free_cpus), default=0)
    lower = ask.parts.get(WORKER_SETTING, 0) - (ask.megabytes - most)
    if LEAST_WORKER_MEGABYTES <= lower < ask.parts.get(WORKER_SETTING, 0):
        ways.append(f"set {WORKER_SETTING}={lower // _ROUND_TO * _ROUND_TO}")
    if config.kind == "local":
        ways.append("end other programs, or say with cluster.memory_megabytes what the workers may take together")
    else:
        ways += ["wait for what else runs there", "add a node that has room"]
    return "; or ".join(ways)


def bound_by_memory(found: Sequence[Node], asks: Sequence[Ask], given: Workers, config: ClusterConfig) -> str | None:
    """Says so if memory leaves CPUs without a worker that the settings would let have one."""
    ask = largest(asks, on_gpu=False) or usual(config)
    num_cpus = sum(node.free_cpus for node in found)
    wanted = min(num_cpus, config.num_cpus or num_cpus)
    if given.num_workers >= wanted:
        return None
    return (
        f"{given.num_workers} of {wanted} workers: {ask.stage} asks for {ask.megabytes:,} MB for each, and "
        f"{sum(node.free_megabytes for node in found):,} MB are free"
    )
