"""What is claimed of every published p-value and end of an interval, and how it is put to the test."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

import numpy as np
import pyarrow as pa

import benchmarks.calibration
from tiltmeter.jobs import catalogue
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.storage.store.ledger import Unit

Kind = Literal["size", "coverage", "power"]
Level = Literal["operator", "stage", "job"]
Outcome = float | bool | None
Run = Callable[[int], Mapping[str, Outcome]]

ALPHA = 0.05
FRAME = ("registry", "running", "__main__")

# With 200 columns of true size 5 % a joint false alarm of 1 %, by the binomial distribution.
_SIZES = {2000: 0.07, 1000: 0.08, 400: 0.098, 200: 0.12}
_COVERAGES = {2000: 0.93, 1000: 0.921, 400: 0.902, 200: 0.88}
_DOCUMENTED = 0.105

INFERENCE = ("p", "q", "p_*", "*_p", "*_p_value", "low", "high", "*_low", "*_high")
"""Names of columns that are p-values or ends of intervals."""


@dataclass(frozen=True)
class Claim:
    """What columns of a table promise, in one experiment.

    Attributes:
        name: by which a repetition reports: the p-value for a size or a power, whether it held for a coverage; None
            where the job gave no number.
        table, columns: that it is about; names may have wildcards.
        kind: share of p <= 0.05 where the null is true; of intervals that hold the truth; of p <= 0.05 where it is not.
        unit: that was drawn independently.
        truth: what is true of the data, or the null.
        bound: at most (size) or at least (others); None: by the number of repetitions. A power has no usual one.
        documented: whether the method's size is larger by its own description, such as of few, skewed clusters.
    """

    name: str
    table: str
    columns: tuple[str, ...]
    kind: Kind
    unit: str
    truth: str
    bound: float | None = None
    documented: bool = False

    def limit(self, repetitions: int) -> float:
        """The bound of so many repetitions with a number."""
        if self.bound is not None:
            return self.bound
        if self.kind == "power":
            raise ValueError(f"{self.name}: a power needs a bound")
        bounds = _SIZES if self.kind == "size" else _COVERAGES
        usual = bounds[max((known for known in bounds if known <= repetitions), default=min(bounds))]
        if not self.documented:
            return usual
        return max(_DOCUMENTED, usual) if self.kind == "size" else min(1.0 - _DOCUMENTED, usual)

    def counts(self, outcome: float | bool) -> bool:
        """Whether a repetition is one of the share."""
        return bool(outcome) if self.kind == "coverage" else float(outcome) <= ALPHA

    def holds(self, share: float, repetitions: int) -> bool:
        """Whether a share is within the bound."""
        limit = self.limit(repetitions)
        return share <= limit if self.kind == "size" else share >= limit


def ends(*names: str) -> tuple[str, ...]:
    """Columns of the intervals of numbers."""
    return tuple(f"{name}_{end}" for name in names for end in ("low", "high"))


@dataclass(frozen=True)
class Experiment:
    """Data whose truth is known, through a job.

    Attributes:
        job: whose columns it is about.
        name: what is special about it: the path through the job.
        repetitions: how many.
        run: one, told by its number alone.
        claims: that it tests.
        level: what the data go through: an operator, the work of a job's last stage, or the whole job.
    """

    job: str
    name: str
    repetitions: int
    run: Run
    claims: tuple[Claim, ...]
    level: Level = "stage"


@dataclass(frozen=True)
class Exemption:
    """Columns that are named like inference and are none, and why."""

    job: str
    table: str
    columns: tuple[str, ...]
    reason: str


# --- the work of a stage on tables that are made up -------------------------------------------------------------------


class Ref(str):
    """Stands for a reference to a table, of whatever columns."""

    def select(self, *_: str) -> "Ref":
        """The same."""
        return self


class Held:
    """In place of a store: tables by their names."""

    def __init__(self, tables: Mapping[Any, pa.Table]) -> None:
        self._tables = tables

    def read(self, name: Any) -> pa.Table:
        """A table."""
        return self._tables[name]


def done(work: Any, config: Mapping[str, Any], inputs: Mapping[str, Sequence[pa.Table]]) -> dict[str, pa.Table]:
    """What the work of a stage makes of tables."""
    names: dict[str, Any] = {role: [Ref(f"{role} {place}") for place in range(len(of))] for role, of in inputs.items()}
    held = {name: table for role, tables in inputs.items() for name, table in zip(names[role], tables, strict=True)}
    return dict(work(Held(held), Unit("made/1", "made", dict(config), names)))


def holds(row: Mapping[str, Any], name: str, truth: float) -> bool | None:
    """Whether the interval of a number holds it, or without a name the row's own; None without an interval."""
    low, high = (row.get(f"{name}_{end}" if name else end) for end in ("low", "high"))
    return None if low is None or high is None else bool(low <= truth <= high)


def share(effects: FloatArray, level: float = 0.0) -> FloatArray:
    """Chances by their logits."""
    return np.asarray(1.0 / (1.0 + np.exp(-(level + effects))))


# --- all of them ------------------------------------------------------------------------------------------------------


def experiments() -> list[Experiment]:
    """All of them, by module."""
    return [one for module in _modules() for one in getattr(module, "EXPERIMENTS", ())]


def exemptions() -> list[Exemption]:
    """All of them."""
    return [one for module in _modules() for one in getattr(module, "EXEMPTIONS", ())]


def _modules() -> list[object]:
    found = sorted(module.name for module in iter_modules(benchmarks.calibration.__path__))
    return [import_module(f"benchmarks.calibration.{name}") for name in found if name not in FRAME]


def unclaimed() -> list[str]:
    """Columns of all jobs that are p-values or ends of intervals, and of which nothing is claimed.

    Those of equal tables count once.
    """
    entries = list(_entries())
    return [
        f"{job}: {table}.{column}"
        for job in catalogue.OURS
        for table, schema in _tables(job).items()
        for column in schema.names
        if _is_any(column, INFERENCE) and not any(_covers(entry, job, table, column) for entry in entries)
    ]


def unknown() -> list[str]:
    """Claims and exemptions of columns that no table has."""
    names = {(job, table): list(schema.names) for job in catalogue.OURS for table, schema in _tables(job).items()}
    return sorted(
        {
            f"{job}: {table}.{pattern}"
            for job, table, patterns in _entries()
            for pattern in patterns
            if not any(fnmatchcase(name, pattern) for name in names.get((job, table), ()))
        }
    )


def _entries() -> Iterator[tuple[str, str, Sequence[str]]]:
    """Jobs, tables and columns of claims and exemptions."""
    yield from ((one.job, claim.table, claim.columns) for one in experiments() for claim in one.claims)
    yield from ((one.job, one.table, one.columns) for one in exemptions())


def _covers(entry: tuple[str, str, Sequence[str]], job: str, table: str, column: str) -> bool:
    other, named, patterns = entry
    if named != table or not _is_any(column, patterns):
        return False
    return other == job or _tables(other).get(table) == _tables(job)[table]


def _is_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _tables(job: str) -> Mapping[str, pa.Schema]:
    return catalogue.job(job).tables
