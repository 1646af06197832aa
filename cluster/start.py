"""The workers of a run: found room for and started when the first unit is missing, so that a run that finds all done
waits for no cluster.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.cluster.dealing import Deck
from tiltmeter.cluster.work import Outcome, Work
from tiltmeter.storage.store.ledger import Store

if TYPE_CHECKING:
    from tiltmeter.cluster.preflight import Preflight
    from tiltmeter.cluster.workers import Pool

_NVIDIA_DRIVER = Path("/dev/nvidiactl")


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

    def run(self, work: Work, deck: Deck, *, on_gpu: bool = False, num_cpus: int = 1) -> Iterator[Outcome]:
        """Do all units of a deck; see :meth:`.workers.Pool.run`.

        Raises:
            ClusterError: if the cluster can't be reached, or has no room.
        """
        return self._started().run(work, deck, on_gpu=on_gpu, num_cpus=num_cpus)

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
        if self._pool is None and self.config.kind == "local" and not _NVIDIA_DRIVER.exists():
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
