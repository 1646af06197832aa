"""A stage on simulated workers, dealt by the code that deals units in a run, on a clock that nobody waits for."""

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tiltmeter.cluster.dealing import _COST_OF_A_THREAD, Deck
from tiltmeter.storage.store.ledger import Unit


class Simulated(NamedTuple):
    """A stage on simulated workers: how long it took, and how long each worker was busy."""

    seconds: float
    worker_seconds: Sequence[float]


def simulate(deck: Deck, num_workers: int, seconds: Callable[[Unit], float]) -> Simulated:
    """Deal a deck to workers that take so many seconds for each unit, and no time between them."""
    free, busy, end = [(0.0, worker) for worker in range(num_workers)], [0.0] * num_workers, 0.0
    while deck:
        moment, worker = heapq.heappop(free)
        spent = sum(map(seconds, deck.take(num_workers)))
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
