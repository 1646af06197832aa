"""Which units of a job are done and which are missing: its own planning code, where whatever is missing fails."""

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.stages import Pool, Runner, Stage, UnitsFailed
from tiltmeter.cluster.work import Failure
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.context import Run, Sources
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.wording import listed, verb
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.store.ledger import Finished
from tiltmeter.storage.store.read_only import NoRunDirectory, ReadOnlyStore, WriteRefused


@dataclass
class CountedStage:
    """Units of a stage; of one that runs several times, of all of them together.

    Attributes:
        without: groups of units, such as corpora, that could not be counted: what they read is missing.
        on_gpu, most_threads: as of :class:`.stages.Stage`.
    """

    name: str
    num_done: int = 0
    num_missing: int = 0
    without: Collection[str] = ()
    on_gpu: bool = False
    most_threads: int = 1

    @property
    def num_units(self) -> int:
        """That could be counted."""
        return self.num_done + self.num_missing


@dataclass(frozen=True)
class Counted:
    """The stages that a job came to; groups of units of which some are missing, or all; and why units of these, and
    stages after the last, could not be counted: empty if nothing is missing."""

    stages: Sequence[CountedStage]
    groups: Collection[str] = ()
    reason: str = ""


@dataclass
class _CountingRunner(Runner):
    """Looks for the units of each stage; those that are missing fail, which leaves the other groups alone.

    Attributes:
        missing: groups of which units are missing, and the stage of the first; none for one that can't be counted.
        whole: all others that it has come to.
    """

    counted: dict[str, CountedStage] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)

    def run(self, stage: Stage) -> dict[str, list[Finished]]:
        """The units of each group that are done, in their order."""
        counted = {group: units for group, units in stage.units.items() if self._is_countable(group)}
        finished = self._find(replace(stage, units=counted))
        row = self.counted.setdefault(stage.name, CountedStage(stage.name))
        row.num_done += len(finished)
        row.num_missing += len({unit.place for units in counted.values() for unit in units} - finished.keys())
        row.without = sorted(self.missing)
        row.on_gpu, row.most_threads = stage.on_gpu, stage.most_threads if stage.on_threads else 1
        done = {}
        for group, units in stage.units.items():
            there = finished if group in counted else {}
            done[group] = [there[unit.place] for unit in units if unit.place in there]
            failures = [Failure(unit, "is missing", "") for unit in units if unit.place not in there]
            self.failures.setdefault(group, []).extend(failures)
            if failures:
                self.missing.setdefault(group, stage.name if group in counted else "")
                self.whole.discard(group)
            elif group in counted:
                self.whole.add(group)
        return done

    def _is_countable(self, group: str) -> bool:
        """Whether all that a group may read is there: once units are missing, of groups that are whole so far, and of
        their parts, such as ``enwiki/1990`` of ``enwiki``; of no group that has parts without some."""
        is_whole = any(f"{group}/".startswith(f"{name}/") for name in self.whole)
        return not self.missing or (is_whole and not any(f"{name}/".startswith(f"{group}/") for name in self.missing))


def count_units(job: Job[Any, Any], config: CommonConfig, sources: Sources, pool: Pool) -> Counted:
    """Let a job plan its stages, as far as what is in the store allows; nothing is done or written.

    Args:
        job: that is planned.
        config, sources: its own.
        pool: says how many GPUs there are, and is asked for nothing else.

    Raises:
        Refusal: what the job refuses of its inputs.
        UnitsFailed: if the job would fail on what is in the store.
    """
    nowhere = Console(file=io.StringIO())
    if getattr(config.job, "export", ()):
        # Files of vectors are written after all units.
        config = replace(config, job=replace(config.job, export=()))
    runner, reason = _CountingRunner(ReadOnlyStore(config.store), pool, Display(nowhere)), ""
    try:
        job.run(Run(config, sources, runner, NoRunDirectory(Path()), nowhere))
    except (Refusal, UnitsFailed, WriteRefused) as error:
        if not (runner.missing or isinstance(error, WriteRefused)):
            raise
        # Of several corpora, a job may refuse to go on with those of which all is there.
        reason = "" if isinstance(error, UnitsFailed) else str(error)
    stages = [*dict.fromkeys(filter(None, runner.missing.values()))]
    unmade = f"they read what {listed(stages)} {verb(len(stages), 'have')} yet to make" if stages else ""
    return Counted([*runner.counted.values()], [*runner.missing] or ["all"], reason or unmade)
