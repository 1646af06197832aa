"""Which units of a job are done and which are missing: its own planning code, with workers that do nothing."""

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, Self

from rich.console import Console

from tiltmeter.cluster.dealing import Deck
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Work
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.context import Run, Sources
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.upkeep.plan.stand_ins import NotMadeYet, PlanningStore, UnmadeTable, stand_in
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.store.ledger import Finished, TableRef, Unit
from tiltmeter.storage.store.read_only import WriteRefused
from tiltmeter.storage.store.runs import RunDirectory

Twins = Mapping[tuple[str, str], Finished]
"""Units of a run that asks the same of fewer or more replicas, by operator and name."""

Promised = Mapping[str, tuple[str, Finished]]
"""Units that earlier jobs of a night will have done, by place: the job's name in the list, and a stand-in."""


@dataclass
class CountedStage:
    """Units of a stage; of one that runs several times, of all of them together.

    Attributes:
        num_expected: of those that are missing, the ones that read tables which are not there yet.
        num_shared: that an earlier job of the night will have done; neither done nor missing.
        shared_with: names of these jobs.
        num_bytes: that the units which are done have in the store.
        batch_size, on_gpu, most_threads: as of :class:`.stages.Stage`.
    """

    name: str
    num_done: int = 0
    num_missing: int = 0
    num_expected: int = 0
    num_shared: int = 0
    shared_with: tuple[str, ...] = ()
    num_bytes: int = 0
    batch_size: int | None = 1
    on_gpu: bool = False
    most_threads: int = 1

    def plus(self, other: Self) -> Self:
        """The same with units of other corpora."""
        return replace(
            self,
            num_done=self.num_done + other.num_done,
            num_missing=self.num_missing + other.num_missing,
            num_expected=self.num_expected + other.num_expected,
            num_shared=self.num_shared + other.num_shared,
            shared_with=tuple(dict.fromkeys([*self.shared_with, *other.shared_with])),
        )


@dataclass(frozen=True)
class Counted:
    """Attributes:
    stages: those that could be counted, in their order.
    reason: why what comes after them could not be; empty if nothing does.
    missing: stand-ins of the missing units, by place.
    groups: of units, such as corpora, of which some are missing.
    uncounted: corpora whose units could not be counted, where those of others could.
    partly: names of the stages that were counted without these.
    """

    stages: Sequence[CountedStage]
    reason: str = ""
    missing: Mapping[str, Finished] = field(default_factory=dict)
    groups: Collection[str] = ()
    uncounted: Sequence[str] = ()
    partly: frozenset[str] = frozenset()

    def with_others(self, others: Self, uncounted: Sequence[str]) -> Self:
        """The same with what could be counted of other corpora alone.

        Args:
            others: all of their stages.
            uncounted: the corpora that are left.
        """
        here = {stage.name: stage for stage in self.stages}
        stages = [here.get(stage.name, stage) for stage in others.stages]
        partly = frozenset(stage.name for stage in others.stages) - here.keys()
        return replace(
            self, stages=stages, missing={**self.missing, **others.missing}, uncounted=uncounted, partly=partly
        )


class _NoWorkers:
    """A pool that does nothing, and says how many GPUs there are."""

    num_workers = 1

    def __init__(self, num_gpus: Callable[[], int]) -> None:
        self._num_gpus = num_gpus

    @property
    def num_gpus(self) -> int:
        """That the cluster has, which is asked where a job's units depend on it."""
        return self._num_gpus()

    def num_wide_workers(self, num_cpus: int) -> int:  # noqa: ARG002
        """Of so many CPUs each."""
        return 1

    def ask_nodes(self, question: Callable[[], str]) -> NoReturn:  # noqa: ARG002
        """Never called: what asks its nodes is not planned."""
        raise AssertionError("a plan asks no node")

    def run(self, work: Work, deck: Deck, *, on_gpu: bool = False, num_cpus: int = 1) -> NoReturn:  # noqa: ARG002
        """Never called: what is missing is counted."""
        raise AssertionError("a plan does no unit")


@dataclass
class CountingRunner(Runner):
    """Looks for the units of each stage, and gives what is missing a stand-in."""

    twins: Twins = field(default_factory=dict)
    promised: Promised = field(default_factory=dict)
    counted: dict[str, CountedStage] = field(default_factory=dict)
    missing: dict[str, Finished] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)

    def run(self, stage: Stage) -> dict[str, list[Finished]]:
        """The units of each group, in their order: those that are done, and stand-ins."""
        finished = self._find(stage)
        wanted = {unit.place: unit for unit in stage.all_units() if unit.place not in finished}
        shared = {place: self.promised[place] for place in wanted if place in self.promised}
        missing = {place: unit for place, unit in wanted.items() if place not in shared}
        if finished or wanted:
            self._note(stage, finished, missing.values(), [name for name, _ in shared.values()])
        self.groups |= {group for group, units in stage.units.items() if any(unit.place in wanted for unit in units)}
        self.missing |= {place: stand_in(unit, self._twin(unit)) for place, unit in missing.items()}
        units = finished | {place: unit for place, (_, unit) in shared.items()} | self.missing
        for group in stage.units:
            self.failures.setdefault(group, [])
        return {group: [units[unit.place] for unit in wanted] for group, wanted in stage.units.items()}

    @property
    def stages(self) -> list[CountedStage]:
        """Those that it was asked for, in their order."""
        return [*self.counted.values()]

    @property
    def has_stand_ins(self) -> bool:
        """Whether some units are none."""
        return any(stage.num_missing + stage.num_shared for stage in self.stages)

    def result(self, reason: str = "") -> Counted:
        """What was counted, and why no more was."""
        return Counted(self.stages, reason, self.missing, self.groups)

    def _twin(self, unit: Unit) -> Finished | None:
        return self.twins.get((unit.operator, unit.name))

    def _note(
        self, stage: Stage, finished: Mapping[str, Finished], missing: Collection[Unit], sharing: Sequence[str]
    ) -> None:
        row = self.counted.setdefault(stage.name, CountedStage(stage.name))
        row.num_done += len(finished)
        row.num_bytes += sum(done.num_bytes for done in finished.values())
        row.num_missing += len(missing)
        row.num_expected += sum(map(_is_expected, missing))
        row.num_shared += len(sharing)
        row.shared_with = tuple(dict.fromkeys([*row.shared_with, *sharing]))
        row.batch_size, row.on_gpu = stage.batch_size, stage.on_gpu
        row.most_threads = stage.most_threads if stage.on_threads else 1


def _is_expected(unit: Unit) -> bool:
    return any(isinstance(ref, UnmadeTable) for refs in unit.inputs.values() for ref in refs)


class _CountingRun(Run[Any, Any]):
    """A run that publishes nothing."""

    def publish(self, name: str, refs: Sequence[TableRef]) -> None:
        """Nothing is written."""

    def publish_parts(self, name: str, parts: Sequence[tuple[str, TableRef]]) -> None:
        """Nothing is written."""


class _NoDirectory(RunDirectory):
    """A run directory that keeps no file."""

    def export(self, name: str) -> NoReturn:
        """A file would be written of what is in the store, which may take long.

        Raises:
            NotMadeYet: always.
        """
        raise NotMadeYet(f"it comes after {name} is written of what was done")

    def export_bytes(self, name: str, content: bytes) -> None:
        """Nothing is written."""

    def write_text(self, name: str, content: str) -> None:
        """Nothing is written."""


def count_units(
    job: Job[Any, Any],
    config: CommonConfig,
    sources: Sources,
    twins: Twins,
    num_gpus: Callable[[], int],
    promised: Promised | None = None,
) -> Counted:
    """Let a job plan its stages, as far as what is in the store allows; nothing is done or written.

    Args:
        job: that is planned.
        config, sources: its own.
        twins: units to take tables after that are not there yet.
        num_gpus: says how many the cluster has.
        promised: units that earlier jobs of a night will have done.

    Raises:
        Refusal: what the job refuses of its inputs.
    """
    with _run(config, sources, num_gpus, twins=twins, promised=promised or {}) as run:
        runner: CountingRunner = run.runner
        try:
            job.run(run)
        except (NotMadeYet, WriteRefused) as error:
            return runner.result(str(error))
        except Refusal:
            raise
        except Exception as error:
            if not runner.has_stand_ins:
                raise
            # What is not made yet can't stand for everything that a job may want of a table.
            return runner.result(f"it depends on tables that are not there yet ({type(error).__name__}: {error})")
        return runner.result()


@contextmanager
def _run(config: CommonConfig, sources: Sources, num_gpus: Callable[[], int], **known: Any) -> Iterator[Any]:
    nowhere = Console(file=io.StringIO())
    if getattr(config.job, "export", ()):
        # Files of vectors are written after all units.
        config = replace(config, job=replace(config.job, export=()))
    with TemporaryDirectory(prefix="tiltmeter-plan-") as folder:
        runner = CountingRunner(PlanningStore(config.store), _NoWorkers(num_gpus), Display(nowhere), **known)
        yield _CountingRun(config, sources, runner, _NoDirectory(Path(folder)), nowhere)
