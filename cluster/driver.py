"""The driver as a pool of one: for units that are few and small, and on rows that it has."""

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from tiltmeter.cluster.scheduling import Queue
from tiltmeter.cluster.work import Failure, Outcome, Report, Work
from tiltmeter.storage.store.ledger import Store, Unit


@dataclass(frozen=True)
class Driver:
    """Does units in this process, one after the other, for a run that need start no worker for them."""

    store: Store
    num_workers: ClassVar[int] = 1
    num_gpus: ClassVar[int] = 0

    def num_wide_workers(self, num_cpus: int) -> int:
        """Of so many CPUs each, without a GPU."""
        return int(num_cpus == 1)

    def ask_nodes(self, question: Callable[[], str]) -> dict[str, str]:
        """What this machine answers."""
        return {"this machine": question()}

    def run(self, work: Work, queue: Queue, *, on_gpu: bool = False, num_cpus: int = 1) -> Iterator[Outcome]:  # noqa: ARG002
        """Do all units of a queue; yields what becomes of each."""
        with self.store.leased() as lease:
            store = Store(self.store.root, lease)
            while queue:
                for unit in queue.take(1):
                    yield _done(store, work, unit)


def _done(store: Store, work: Work, unit: Unit) -> Report | Failure:
    try:
        [finished] = [store.commit(unit, tables) for _, tables in work(store, [unit])]
    except Exception as error:
        return Failure(unit, f"{type(error).__name__}: {error}", traceback.format_exc())
    return Report(finished)
