"""Logs of evaluation harnesses, item by item: two systems on the same items, or several."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.upkeep.compare.item_pairs import pairs_between
from tiltmeter.jobs.upkeep.compare.log_settings import Logs
from tiltmeter.jobs.upkeep.compare.log_systems import System, read_system
from tiltmeter.jobs.upkeep.compare.pairs import Pair


@dataclass(frozen=True)
class TwoLogs:
    """The systems, and the pairs of them that are compared."""

    systems: Sequence[System]
    pairs: Sequence[Pair]

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return {system.name: {"files": [file.redacted for file in system.files]} for system in self.systems}


def find_logs(logs: Logs) -> TwoLogs:
    """Read the systems and pair their items.

    Raises:
        InputError: as :func:`.read_system`, or if systems have other items, tasks or scores.
    """
    paths = {"first": logs.first, "second": logs.second} | logs.others
    systems = [read_system(name, of_system, logs) for name, of_system in paths.items()]
    return TwoLogs(systems, pairs_between(systems, logs))
