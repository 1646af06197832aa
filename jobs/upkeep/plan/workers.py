"""How many workers the cluster has room for, without starting any."""

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tiltmeter.cluster.capacity import (
    BYTES_PER_MEGABYTE,
    Node,
    ResourceRequest,
    Workers,
    num_wide_workers,
    usual_request,
    workers_for,
)
from tiltmeter.cluster.config import ClusterConfig

_NVIDIA_DRIVER = Path("/dev/nvidiactl")
_BYTES_PER_MEBIBYTE = 2**20


def nodes_of(config: ClusterConfig) -> list[Node]:
    """The nodes of a cluster; Ray is asked where a cluster runs already, and where there may be GPUs.

    Raises:
        ClusterError: if the cluster can't be reached.
    """
    if _is_plain(config):
        return [_this_machine(config)]
    # Ray takes half a second to import.
    from tiltmeter.cluster.connection import connected, nodes

    with connected(config):
        return nodes()


def _is_plain(config: ClusterConfig) -> bool:
    return config.kind == "local" and not _NVIDIA_DRIVER.exists()


@dataclass
class Cluster:
    """The cluster that a run would have.

    Attributes:
        config: of it.
        requested: what the stages ask of workers beyond the usual, given the number of free GPUs.
        nodes_of: what the nodes of a cluster are.
    """

    config: ClusterConfig
    requested: Callable[[int], Sequence[ResourceRequest]]
    nodes_of: Callable[[ClusterConfig], list[Node]] = nodes_of

    @cached_property
    def nodes(self) -> list[Node]:
        """Its nodes.

        Raises:
            ClusterError: if the cluster can't be reached.
        """
        return self.nodes_of(self.config)

    @property
    def num_gpus(self) -> int:
        """That are free; of this machine it is known without Ray if there are none."""
        return 0 if _is_plain(self.config) else sum(node.free_gpus for node in self.nodes)

    @cached_property
    def requests(self) -> list[ResourceRequest]:
        """Of all stages, the usual one first, as the preflight has them."""
        return [usual_request(self.config), *self.requested(self.num_gpus)]

    @cached_property
    def workers(self) -> Workers:
        """Those that would be started.

        Raises:
            ClusterError: if no node has room for one, with the arithmetic.
        """
        return workers_for(self.nodes, self.requests, self.config)

    def num_wide(self, num_cpus: int) -> int:
        """How many workers of so many CPUs there are, without a GPU."""
        return self.workers.num_workers if num_cpus == 1 else num_wide_workers(self.workers.rooms, num_cpus)

    def worker_bytes(self, *, on_gpu: bool) -> int:
        """What each worker asks for: workers are kept from stage to stage, at the size of the largest."""
        return self.workers.gpu_worker_bytes if on_gpu else self.workers.worker_bytes


def _this_machine(config: ClusterConfig) -> Node:
    """What Ray would say of it."""
    num_cpus = config.num_cpus or os.cpu_count() or 1
    megabytes = config.memory_megabytes
    if megabytes is None:
        from ray._private.utils import estimate_available_memory

        shared = config.object_store_megabytes * _BYTES_PER_MEBIBYTE
        free = int(estimate_available_memory())  # type: ignore[no-untyped-call]
        megabytes = max(0, free - shared) // BYTES_PER_MEGABYTE
    return Node("", socket.gethostname(), num_cpus, num_cpus, 0, 0, megabytes, megabytes)
