"""Gates of a night: numbers that may move, or lie, only so far."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import pyarrow as pa
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.catalogue import job as catalogue_job
from tiltmeter.jobs.changes.circumstances import circumstances
from tiltmeter.jobs.changes.differences import Limits
from tiltmeter.jobs.changes.history import History
from tiltmeter.jobs.changes.matching import UnmatchableError
from tiltmeter.jobs.changes.moves import moves
from tiltmeter.jobs.changes.numbers import differ_by_rounding
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.changes.wording import amount, row_name
from tiltmeter.jobs.runtime.columns import interval_columns
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.jobs.upkeep.overnight.tables import Gates
from tiltmeter.storage.errors import choices
from tiltmeter.storage.store.tables import key_columns

_MOST_CHANGES = 3
_Word = Annotated[str, Field(min_length=1)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Size = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Gate:
    """The numbers of a column, and how far they may move since an earlier run, or may lie.

    Attributes:
        table, column: where the numbers stand.
        name: of the job in the list; None: every job that publishes the table.
        difference: a number that moves by more fails the gate; in the column's own unit.
        half_widths: one that moves by more, in units of half its earlier interval, does. With neither, one does that
            moves beyond its interval.
        direction: which moves count.
        in_these_texts: whether one does, too, that moved in these texts, whatever others like them would say.
        baseline: what they move from: the ``last`` run, the last that ``passed``, or a run directory.
        at_least, at_most: a number fails that lies below or above, whatever it was.
        sure: whether its whole interval must lie there.
    """

    table: _Word
    column: _Word
    name: _Word | None = None
    difference: _Size | None = None
    half_widths: _Size | None = None
    direction: Literal["either", "up", "down"] = "either"
    in_these_texts: bool = False
    baseline: _Word = "last"
    at_least: _Number | None = None
    at_most: _Number | None = None
    sure: bool = False

    @pydantic.model_validator(mode="after")
    def _one_limit(self) -> "Gate":
        if self.difference is not None and self.half_widths is not None:
            raise ValueError("has both difference and half_widths: set one of them, or two gates")
        if self.in_these_texts and (self.difference, self.half_widths) != (None, None):
            raise ValueError("has in_these_texts beside difference or half_widths: leave it out, or set two gates")
        moving = {"difference", "half_widths", "direction", "in_these_texts", "baseline"}
        others = [name for name in moving if getattr(self, name) != getattr(Gate, name)]
        if self.is_bound and others:
            raise ValueError(f"has {min(others)} beside at_least or at_most, which bound a number itself: leave it out")
        if self.sure and not self.is_bound:
            raise ValueError("has sure without at_least or at_most: leave it out, or set one of them")
        return self

    @property
    def is_bound(self) -> bool:
        """Whether it bounds numbers themselves, and not their moves."""
        return (self.at_least, self.at_most) != (None, None)

    @property
    def needs_interval(self) -> bool:
        """Whether it judges a number by its interval."""
        return self.sure if self.is_bound else self.difference is None

    @property
    def limit(self) -> str:
        """What fails it, in words.

        >>> Gate("tests", "d", half_widths=2.0, direction="up").limit, Gate("tests", "d").limit
        ('moves up by more than 2 half-widths', 'moves beyond its interval')
        """
        if self.is_bound:
            sides = {"below": self.at_least, "above": self.at_most}
            limits = [f"{side} {amount(limit)}" for side, limit in sides.items() if limit is not None]
            return f"lies {'with all of its interval ' if self.sure else ''}{' or '.join(limits)}"
        since = {"last": "", "passed": " since the last run that passed"}.get(self.baseline, f" since {self.baseline}")
        return f"{self._move}{since}"

    @property
    def _move(self) -> str:
        way = "" if self.direction == "either" else f" {self.direction}"
        if self.difference is not None:
            return f"moves{way} by more than {amount(self.difference)}"
        if self.half_widths is not None:
            return f"moves{way} by more than {amount(self.half_widths)} half-widths"
        return f"moves{way} beyond its interval{' or in these texts' if self.in_these_texts else ''}"

    def exceeds(self) -> pl.Expr:
        """Of each of :attr:`.Moves.numbers`, whether it fails the gate.

        A number that had no interval fails if it moved at all: nothing says that it stayed within one.
        """
        sizes = {"difference": pl.col("difference").abs(), "half_widths": pl.col("half_widths")}
        limits = {name: getattr(self, name) for name in sizes}
        name = next((name for name, limit in limits.items() if limit is not None), None)
        is_far = pl.col("beyond") if name is None else sizes[name] > limits[name]
        has_moved = ~differ_by_rounding(pl.col("before"), pl.col("after"))
        is_far = is_far.fill_null(has_moved)
        if self.in_these_texts:
            is_far |= pl.col("beyond_in_texts").fill_null(False)
        way = {"either": pl.lit(True), "up": pl.col("difference") > 0, "down": pl.col("difference") < 0}
        return pl.col("is_gone") | (is_far & way[self.direction])


def check_gates(gates: Sequence[Gate], jobs: Mapping[str, str]) -> None:
    """Refuse gates that no job of the list can fail.

    Args:
        gates: ``fail_if``.
        jobs: of the list, what each name runs.

    Raises:
        ConfigError: for a name, a table or a column that there is not, a column that has no numbers, or no interval
            where one is needed, and for two gates that say the same of a job.
    """
    schemas = {name: catalogue_job(job).tables for name, job in jobs.items()} if gates else {}
    for index, gate in enumerate(gates):
        place = f"fail_if[{index}]"
        if gate.name is not None and gate.name not in jobs:
            raise ConfigError(
                f"{place}.name={gate.name}: no job of the list is called so; it has {choices(gate.name, [*jobs])}"
            )
        asked = schemas if gate.name is None else {gate.name: schemas[gate.name]}
        publishing = [tables[gate.table] for tables in asked.values() if gate.table in tables]
        if not publishing:
            names = sorted({name for tables in asked.values() for name in tables})
            there = choices(gate.table, names)
            raise ConfigError(f"{place}.table={gate.table}: no such table is published; there are {there}")
        for schema in publishing:
            _check_column(place, gate, schema)
        if gate.baseline not in ("last", "passed") and not Path(gate.baseline, "run.json").is_file():
            raise ConfigError(f"{place}.baseline={gate.baseline}: must be last, passed or a run directory")
    _check_distinct(gates, jobs)


def _check_distinct(gates: Sequence[Gate], names: Iterable[str]) -> None:
    first: dict[tuple[str, ...], int] = {}
    for index, gate in enumerate(gates):
        for name in names if gate.name is None else [gate.name]:
            other = first.setdefault((name, gate.table, gate.column, gate.limit), index)
            if other != index:
                raise ConfigError(f"fail_if[{index}]: says of {name} what fail_if[{other}] says; leave one of them out")


def _check_column(place: str, gate: Gate, schema: pa.Schema) -> None:
    numbers = [field.name for field in schema if _is_number(field)]
    if gate.column not in numbers:
        where = f"{place}.column={gate.column}: {gate.table} has no such numbers"
        raise ConfigError(f"{where}; it has {choices(gate.column, numbers) or 'none'}")
    judged = interval_columns(numbers)
    if gate.needs_interval and gate.column not in judged:
        with_one = f" (these have one: {', '.join(judged)})" if judged else ""
        instead = "leave out sure" if gate.sure else f"say how far it may move with {place}.difference=<number>"
        raise ConfigError(f"{place}.column={gate.column}: has no interval in {gate.table}{with_one}; {instead}")


def _is_number(field: pa.Field) -> bool:
    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type))


def verdicts(
    gates: Sequence[Gate],
    name: str,
    tables: Mapping[str, pa.Schema],
    history: History,
    status: str,
    limits: Limits | None = None,
    read: Callable[[str], pa.Table | None] = lambda _: None,
) -> list[Gates]:
    """What the gates say of a job: rows of the table ``gates``.

    A gate that can't be judged, as the rows of the table can't be matched, has failed: nothing says that its numbers
    stayed where they were. So has one of whose numbers one is gone. Numbers that are new have not moved.

    Args:
        gates: ``fail_if``.
        name: of the job in the list.
        tables: that the job may publish.
        history: it and the last run that succeeded before it.
        status: how the job ended; one that did not succeed is not judged.
        limits: of numbers of the night that moved; None: by the numbers of each gate.
        read: gives a table of the job, or None, for gates that bound its numbers.
    """
    rows = []
    for gate in gates:
        if gate.name in (None, name) and gate.table in tables:
            row = Gates(name=name, table=gate.table, column=gate.column, fails_if=f"a number {gate.limit}")
            row.verdict, row.sentence = "not_compared", f"the job {status}"
            if status == "ok" and gate.is_bound:
                _judge_bound(row, gate, read(gate.table))
            elif status == "ok":
                _judge(row, gate, history, limits)
            rows.append(row)
    return rows


def gates_of_comparison(name: str, rows: Iterable[Mapping[str, Any]]) -> list[Gates]:
    """Rows of the table ``gates`` of ``compare`` as those of a night; what is no pass has failed."""
    return [
        Gates(
            name=name,
            table="systems",
            column=f"{row['score']} of {row['second']} in {row['task']}",
            fails_if=row["fails_if"],
            verdict="passed" if row["verdict"] == "passed" else "failed",
            sentence=row["sentence"],
        )
        for row in rows
    ]


def _judge_bound(row: Gates, gate: Gate, table: pa.Table | None) -> None:
    if table is None:
        row.verdict, row.sentence = "failed", f"can't be judged: the run has no table {gate.table}"
        return
    numbers = pl.DataFrame(table).filter(pl.col(gate.column).cast(pl.Float64).is_finite())
    low, high = interval_columns(numbers.columns)[gate.column] if gate.sure else (gate.column, gate.column)
    below = pl.lit(0.0) if gate.at_least is None else gate.at_least - pl.col(high)
    above = pl.lit(0.0) if gate.at_most is None else pl.col(low) - gate.at_most
    by = numbers.with_columns(by=pl.max_horizontal(below, above)).filter(pl.col("by") > 0.0).sort("by", descending=True)
    row.num_failed, row.num_compared = by.height, numbers.height
    row.verdict, row.sentence = ("passed", "") if numbers.height else ("failed", "can't be judged: no row has a number")
    if by.height:
        worst, keys = by.row(0, named=True), key_columns(table.schema)
        row.verdict, row.row, row.after = "failed", row_name({name: worst[name] for name in keys}), worst[gate.column]
        others = f", the furthest of {plural(by.height, 'number')}" if by.height > 1 else ""
        row.sentence = f"{gate.table}: {gate.column} of {row.row} is {amount(row.after)} and {gate.limit}{others}."


def _judge(row: Gates, gate: Gate, history: History, limits: Limits | None) -> None:
    if history.runs is None:
        row.sentence = (
            f"there is no earlier run {'whose gates passed' if gate.baseline == 'passed' else 'to compare with'}"
        )
        return
    try:
        moved = moves(*history.runs, gate.table, gate.column, limits)
    except UnmatchableError as error:
        row.verdict, row.sentence = "failed", f"can't be judged: {error}"
        return
    judged = moved.numbers.with_columns(exceeds=gate.exceeds())
    failing = judged.filter("exceeds").sort(
        "is_gone", "half_widths", pl.col("difference").abs(), descending=True, nulls_last=True, maintain_order=True
    )
    row.num_failed, row.num_compared = failing.height, judged.height
    if failing.is_empty():
        row.verdict, row.sentence = "passed", ""
        return
    worst = failing.row(0, named=True)
    row.before, row.difference, row.half_widths = worst["before"], worst["difference"], worst["half_widths"]
    row.after = None if worst["is_gone"] else worst["after"]
    others = f", the largest move of {plural(failing.height, 'number')}" if failing.height > 1 else ""
    unknown = (
        ", and had no interval" if gate.needs_interval and worst["beyond"] is None and not worst["is_gone"] else ""
    )
    row.verdict, row.row = "failed", moved.row(worst)
    row.sentence = f"{gate.table}: {gate.column} of {row.row} {_move(worst)}{unknown}{others}.{_changed(history.runs)}"


def _changed(runs: tuple[PastRun, PastRun]) -> str:
    """Which inputs, versions and settings differ, inputs first."""
    kinds = ("input", "version", "setting")
    changed = sorted(circumstances(*runs), key=lambda change: kinds.index(change.kind))
    others = f" and {plural(len(changed) - _MOST_CHANGES, 'other change')}" if len(changed) > _MOST_CHANGES else ""
    listed = "; ".join(change.sentence.removesuffix(".") for change in changed[:_MOST_CHANGES])
    return f" Beside it {listed}{others}." if changed else ""


def _move(number: Mapping[str, Any]) -> str:
    if number["is_gone"]:
        return f"was {amount(number['before'])} and is gone"
    return f"went from {amount(number['before'])} to {amount(number['after'])}"
