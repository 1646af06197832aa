"""What earlier runs in the store say of one that is planned: how long units took, and what they left."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tiltmeter.cluster.dealing import share_on_threads
from tiltmeter.jobs.changes.inputs import inputs as inputs_by_name
from tiltmeter.jobs.changes.inputs import leaves
from tiltmeter.jobs.runtime.config import asked
from tiltmeter.jobs.upkeep.plan.counting import Twins
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.registry import RegisteredRun, Registry

REPLICAS = "embedding.num_replicas"
"""The setting."""

_NUMBERS = frozenset({REPLICAS, "embedding.num_starts"})
"""Settings that say how many replicas there are, and nothing about what each of them is."""

_WITH_REPLICAS = ("co-occurrence", "combine", "merge")
"""Stages whose units go through all replicas at once."""

_MOST_TIMES = 2.0
"""By which inputs may differ in size for units to be taken as alike."""

_CUT = "slice"
"""How the settings begin that say into which parts a corpus is cut, each of which is a corpus from there on."""

_LOOKS_AT_ONCE = 16


@dataclass(frozen=True)
class Rate:
    """What a unit of a stage took.

    Attributes:
        worker_seconds: with one thread.
        num_bytes: in the store.
    """

    worker_seconds: float
    num_bytes: float

    def times(self, factor: float) -> "Rate":
        """The same of units that go through so many times as much."""
        return Rate(self.worker_seconds * factor, self.num_bytes * factor)


@dataclass(frozen=True)
class EarlierRun:
    """A run beside the planned one.

    Attributes:
        run: as its store remembers it.
        differing: settings that are not as they are planned.
        same_inputs: whether it started from the same versions of the same files.
        is_alike: whether its inputs are about as large, and cut into the same slices.
        growth: embeddings of each corpus that are planned, to those that it had.
    """

    run: RegisteredRun
    differing: frozenset[str]
    same_inputs: bool
    is_alike: bool
    growth: float

    @property
    def num_bytes(self) -> int:
        """Of all that it started from."""
        return _num_bytes(self.run.record.get("inputs", {}))

    @property
    def moment(self) -> str:
        """When it started."""
        return f"{self.run.started:%Y-%m-%d %H:%M} UTC"

    @property
    def unlike(self) -> str:
        """In which settings it differs from the plan, but for how many replicas there are; empty if in none."""
        others = sorted(self.differing - _NUMBERS)
        return f"other settings: {', '.join(others[:3])}{', ...' if others[3:] else ''}" if others else ""

    @property
    def has_twins(self) -> bool:
        """Whether it is the same but for the number of replicas."""
        return self.run.status == "succeeded" and self.same_inputs and self.differing <= _NUMBERS

    @cached_property
    def stages(self) -> dict[str, dict[str, float]]:
        """What it recorded of each stage; of one that came several times, all together."""
        stages: dict[str, dict[str, float]] = {}
        for record in self.run.record.get("stages", []):
            row = stages.setdefault(record["name"], dict.fromkeys(("done", "reused", "seconds", "bytes"), 0.0))
            row["done"] += record["num_done"]
            row["reused"] += record["num_reused"]
            row["seconds"] += record["worker_seconds"] / share_on_threads(record.get("num_threads", 1))
            row["bytes"] += record["num_bytes"]
        return stages

    def rate(self, stage: str) -> Rate | None:
        """What a unit of a stage took in it; None if it did none."""
        row = self.stages.get(stage)
        if not row or not row["done"]:
            return None
        rate = Rate(row["seconds"] / row["done"], row["bytes"] / row["done"])
        return rate.times(self.growth) if stage in _WITH_REPLICAS else rate

    @property
    def other_seconds(self) -> float:
        """What it took beside its units, such as starting workers and writing the report."""
        busy: float = sum(
            record["worker_seconds"] / record["num_workers"]
            for record in self.run.record["stages"]
            if record["num_workers"]
        )
        return max(0.0, float(self.run.record["seconds"]) - busy)


def earlier_runs(
    registered: Iterable[RegisteredRun], job: str, settings: Mapping[str, Any], inputs: Mapping[str, Any]
) -> list[EarlierRun]:
    """Runs that ended, those first that ask most nearly the same, the latest of these first.

    Runs of another job count where they train the same embeddings.

    Args:
        registered: all runs of a store, the latest first.
        job: that is planned.
        settings: of it, as a run records them.
        inputs: of it, as a run records them.
    """
    runs = [
        _beside(run, settings, inputs)
        for run in registered
        if run.status != "running" and run.record.get("stages") and _is_related(run, job, settings)
    ]
    return sorted(runs, key=lambda one: (one.run.job != job, len(one.differing)))


def _is_related(run: RegisteredRun, job: str, settings: Mapping[str, Any]) -> bool:
    return run.job == job or ("embedding" in settings and run.settings.get("embedding") == settings["embedding"])


def _beside(run: RegisteredRun, settings: Mapping[str, Any], inputs: Mapping[str, Any]) -> EarlierRun:
    before, planned = _leaves(run.settings), _leaves(settings)
    differing = {name for name in before.keys() | planned.keys() if before.get(name) != planned.get(name)}
    recorded = run.record.get("inputs", {})
    sizes = [_num_bytes(record) for record in (recorded, inputs)]
    is_cut_alike = not any(name.rpartition(".")[2].startswith(_CUT) for name in differing)
    is_alike = is_cut_alike and max(sizes) <= _MOST_TIMES * min(sizes)
    growth = (1 + planned.get(REPLICAS, 0)) / (1 + before.get(REPLICAS, 0))
    return EarlierRun(run, frozenset(differing), _versions(recorded) == _versions(inputs), is_alike, growth)


def _leaves(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {".".join(path): value for path, value in leaves(asked(settings))}


def _num_bytes(record: Mapping[str, Any]) -> int:
    return sum(item.recorded.get("bytes", 0) for item in inputs_by_name(record).values())


def _versions(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: dict(item.recorded) for name, item in inputs_by_name(record).items()}


def twins(store: Store, runs: Sequence[EarlierRun]) -> Twins:
    """The units of the nearest run that is the same but for the number of replicas; none if there is no such run."""
    nearest = next((one.run for one in runs if one.has_twins), None)
    if nearest is None:
        return {}
    with ThreadPoolExecutor(_LOOKS_AT_ONCE) as pool:
        units = pool.map(store.find_at, sorted(Registry(store).units(nearest)))
        return {(unit.place.rpartition("/")[0], unit.name): unit for unit in units if unit}
