"""Who gets which units when: the longest first, in batches that shrink, so that all workers work and end together.

Nothing here runs anything, so that a simulation schedules as a run does.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, TypeVar

from tiltmeter.storage.store.ledger import Unit

T = TypeVar("T")

_BATCHES_PER_WORKER = 8
_MOST_AT_ONCE = 16

_COST_OF_A_THREAD = 0.1
"""Two threads of a unit take 1.1 times half of the time of one, as measured; three 1.2 times a third, and so on."""


class Queue:
    """Batches of units that wait for a worker.

    Args:
        batches: in the order in which they are handed out.
        joins: whether several are handed out as one as long as they are less than an eighth of a worker's share of what
            waits. So cheap units cost little to hand out, and no worker is left with much when the others are done.
    """

    def __init__(self, batches: Iterable[Sequence[Unit]] = (), *, joins: bool = False) -> None:
        self._batches: deque[Sequence[Unit]] = deque()
        self._length, self._joins = 0, joins
        for units in batches:
            self.add(units)

    def __len__(self) -> int:
        """The most batches that are left."""
        return len(self._batches)

    def add(self, units: Sequence[Unit]) -> None:
        """Put a batch behind the others, unless it is empty."""
        if units:
            self._batches.append(units)
            self._length += _length(units)

    def take(self, num_workers: int) -> list[Unit]:
        """What one of so many workers does next."""
        share = self._length / (_BATCHES_PER_WORKER * num_workers) if self._joins else 0
        units = [*self._pop()]
        while self._batches and len(units) < _MOST_AT_ONCE and _length(units) + _length(self._batches[0]) <= share:
            units += self._pop()
        return units

    def _pop(self) -> Sequence[Unit]:
        units = self._batches.popleft()
        self._length -= _length(units)
        return units


def threads_per_unit(num_units: int, num_workers: Callable[[int], int], most_threads: int) -> int:
    """The threads for each unit with which units of one length end soonest; the fewer of two that are as good.

    Args:
        num_units: that are left to do.
        num_workers: of so many CPUs each.
        most_threads: that are of use to a unit.

    >>> [threads_per_unit(units, lambda threads: 8 // threads, 8) for units in (1, 2, 3, 4, 5, 6, 8, 9, 33)]
    [8, 4, 2, 2, 4, 4, 1, 4, 2]
    """

    def seconds(threads: int) -> float:
        rounds = -(-num_units // num_workers(threads))
        return rounds * (1 + _COST_OF_A_THREAD * (threads - 1)) / threads

    return min(filter(num_workers, range(1, most_threads + 1)), key=seconds, default=1)


def longest_first(groups: Iterable[Sequence[Unit]], batch_size: int) -> list[Sequence[Unit]]:
    """Even batches of the units of each group, those first that may take longest, by the rows that they read.

    Batches of which none takes twice as long as the other stay with their group, and in its order: they may share what
    a worker has prepared. Of such groups that with the longest unit is first.
    """
    batches = []
    for units in groups:
        longest = max((_length([unit]) for unit in units), default=0)
        batches += [((_length(batch).bit_length(), longest), batch) for batch in evenly(units, batch_size)]
    return [batch for _, batch in sorted(batches, key=itemgetter(0), reverse=True)]


def evenly(units: Sequence[T], batch_size: int) -> list[Sequence[T]]:
    """As few batches as possible of at most ``batch_size`` units, whose sizes differ by at most one, larger first.

    >>> [len(batch) for batch in evenly(range(33), 8)]
    [7, 7, 7, 6, 6]
    """
    num_batches = -(-len(units) // batch_size)
    if not num_batches:
        return []
    size, larger = divmod(len(units), num_batches)
    starts = [index * size + min(index, larger) for index in range(num_batches + 1)]
    return [units[start:stop] for start, stop in pairwise(starts)]


def _length(units: Sequence[Unit]) -> int:
    return sum(1 + sum(ref.num_rows for refs in unit.inputs.values() for ref in refs) for unit in units)


# --- on a clock that nobody waits for -------------------------------------------------------------------------------


class Simulated(NamedTuple):
    """A stage on simulated workers: how long it took, and how long each worker was busy."""

    seconds: float
    worker_seconds: Sequence[float]


def simulate(queue: Queue, num_workers: int, seconds: Callable[[Unit], float]) -> Simulated:
    """Hand a queue out to workers that take so many seconds for each unit, and no time between them."""
    free, busy, end = [(0.0, worker) for worker in range(num_workers)], [0.0] * num_workers, 0.0
    while queue:
        moment, worker = heapq.heappop(free)
        spent = sum(map(seconds, queue.take(num_workers)))
        busy[worker] += spent
        end = max(end, moment + spent)
        heapq.heappush(free, (moment + spent, worker))
    return Simulated(end, busy)


def share_on_threads(num_threads: int) -> float:
    """How long a unit takes with so many threads, in times with one, by the model that chooses their number.

    >>> [round(share_on_threads(threads), 3) for threads in (1, 2, 4)]
    [1.0, 0.55, 0.325]
    """
    return (1 + _COST_OF_A_THREAD * (num_threads - 1)) / num_threads
