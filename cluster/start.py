"""The workers of a run: found room for and started when the first unit is missing, so that a run that finds all done
waits for no cluster.
"""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from tiltmeter.cluster import capacity
from tiltmeter.cluster.capacity import (
    BYTES_PER_MEGABYTE,
    Node,
    ResourceRequest,
    num_wide_workers,
    usual_request,
    workers_for,
)
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.cluster.scheduling import Queue
from tiltmeter.cluster.work import Outcome, Work
from tiltmeter.storage.store.ledger import Store

if TYPE_CHECKING:
    from tiltmeter.cluster.preflight import Preflight
    from tiltmeter.cluster.workers import Pool

_NVIDIA_DRIVER = Path("/dev/nvidiactl")
_BYTES_PER_MEBIBYTE = 2**20


@dataclass
class Workers:
    """The workers that a run may ask for; use as a context manager, at whose end those that were started go.

    Attributes:
        config: of the cluster.
        store: that its nodes share.
        requests: what stages ask of workers beyond the usual, given the number of free GPUs.
        packages: distributions that decide results.
        on_start: is given what was found of the cluster before its workers start.
    """

    config: ClusterConfig
    store: Store
    requests: Callable[[int], Sequence[ResourceRequest]]
    packages: Sequence[str]
    on_start: Callable[["Preflight"], None]
    _pool: "Pool | None" = None
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def run(self, work: Work, queue: Queue, *, on_gpu: bool = False, num_cpus: int = 1) -> Iterator[Outcome]:
        """Do all units of a queue; see :meth:`.workers.Pool.run`.

        Raises:
            ClusterError: if the cluster can't be reached, or has no room.
        """
        return self._started().run(work, queue, on_gpu=on_gpu, num_cpus=num_cpus)

    def ask_nodes(self, question: Callable[[], str]) -> dict[str, str]:
        """What every node answers; of this machine alone, this process's own answer.

        Raises:
            ClusterError: as for :meth:`run`.
        """
        if self.config.kind == "local":
            return {"this machine": question()}
        self._started()
        from tiltmeter.cluster.connection import nodes
        from tiltmeter.cluster.node_checks import ask_nodes

        return ask_nodes([node for node in nodes() if node.num_cpus], question)

    @property
    def num_workers(self) -> int:
        """Without a GPU."""
        return self._started().num_workers

    def num_wide_workers(self, num_cpus: int) -> int:
        """Of so many CPUs each, without a GPU."""
        return self._started().num_wide_workers(num_cpus)

    @property
    def num_gpus(self) -> int:
        """Workers with a GPU; of this machine it is known without a cluster if there are none."""
        if self._pool is None and _has_no_gpu(self.config):
            return 0
        return self._started().num_gpus

    def _started(self) -> "Pool":
        if self._pool is None:
            self._pool = self._open.enter_context(self._start())
        return self._pool

    @contextmanager
    def _start(self) -> Iterator["Pool"]:
        # Ray takes half a second to import.
        from tiltmeter.cluster.connection import connected
        from tiltmeter.cluster.preflight import preflight
        from tiltmeter.cluster.workers import Pool

        with connected(self.config):
            cluster = preflight(self.config, self.store, self.requests, self.packages)
            self.on_start(cluster)
            pool = Pool(self.store, self.config.max_retries)
            with pool.started(*cluster.workers):
                yield pool


@dataclass
class Prospect:
    """The workers that a run would have; none of them is started.

    Attributes:
        config: of the cluster.
        requests: what stages ask of workers beyond the usual, given the number of free GPUs.
        nodes_of: what the nodes of a cluster are.
    """

    config: ClusterConfig
    requests: Callable[[int], Sequence[ResourceRequest]]
    nodes_of: Callable[[ClusterConfig], Sequence[Node]]

    @property
    def num_gpus(self) -> int:
        """That are free."""
        return sum(node.free_gpus for node in self.nodes_of(self.config))

    @cached_property
    def found(self) -> capacity.Workers:
        """Their number and size, that of the largest stage, as they are kept from stage to stage.

        Raises:
            ClusterError: if the cluster can't be reached, or no node has room for one.
        """
        requests = [usual_request(self.config), *self.requests(self.num_gpus)]
        return workers_for(self.nodes_of(self.config), requests, self.config)

    @property
    def num_workers(self) -> int:
        """Without a GPU."""
        return self.found.num_workers

    def num_wide_workers(self, num_cpus: int) -> int:
        """Of so many CPUs each, without a GPU."""
        return self.num_workers if num_cpus == 1 else num_wide_workers(self.found.rooms, num_cpus)

    def ask_nodes(self, question: Callable[[], str]) -> NoReturn:  # noqa: ARG002
        """Never called: nobody is there to answer."""
        raise AssertionError("no node can be asked before a run")

    def run(self, work: Work, queue: Queue, *, on_gpu: bool = False, num_cpus: int = 1) -> NoReturn:  # noqa: ARG002
        """Never called: nobody is there to do it."""
        raise AssertionError("no unit can be done before a run")


def nodes_before(config: ClusterConfig) -> list[Node]:
    """The nodes that a run would have: of this machine without starting a cluster, unless it may have GPUs.

    Raises:
        ClusterError: if a cluster that runs can't be reached.
    """
    if _has_no_gpu(config):
        return [_this_machine(config)]
    # Ray takes half a second to import.
    from tiltmeter.cluster.connection import connected, nodes

    with connected(config):
        return nodes()


def _has_no_gpu(config: ClusterConfig) -> bool:
    """Whether the cluster is this machine, of which that is known."""
    return config.kind == "local" and not has_gpu_driver()


def has_gpu_driver() -> bool:
    """Whether this machine has NVIDIA's driver, without which there is no GPU to use."""
    return _NVIDIA_DRIVER.exists()


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
