"""Gates of a night: numbers that may move only so far."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import polars as pl
import pyarrow as pa
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.catalogue import job as catalogue_job
from tiltmeter.jobs.changes.differences import Limits
from tiltmeter.jobs.changes.history import History
from tiltmeter.jobs.changes.matching import UnmatchableError
from tiltmeter.jobs.changes.moves import moves
from tiltmeter.jobs.changes.numbers import differ_by_rounding
from tiltmeter.jobs.changes.wording import amount
from tiltmeter.jobs.runtime.columns import interval_columns
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.jobs.upkeep.overnight.tables import Gates
from tiltmeter.storage.errors import choices

_Word = Annotated[str, Field(min_length=1)]
_Size = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Gate:
    """The numbers of a column, and how far they may move from one night to the next.

    Attributes:
        table, column: where the numbers stand.
        name: of the job in the list; None: every job that publishes the table.
        difference: a number that moves by more fails the gate; in the column's own unit.
        half_widths: one that moves by more, in units of half its earlier interval, does. With neither, one does that
            moves beyond its interval.
        direction: which moves count.
        in_these_texts: whether one does, too, that moved in these texts, whatever others like them would say.
    """

    table: _Word
    column: _Word
    name: _Word | None = None
    difference: _Size | None = None
    half_widths: _Size | None = None
    direction: Literal["either", "up", "down"] = "either"
    in_these_texts: bool = False

    @pydantic.model_validator(mode="after")
    def _one_limit(self) -> "Gate":
        if self.difference is not None and self.half_widths is not None:
            raise ValueError("has both difference and half_widths: set one of them, or two gates")
        if self.in_these_texts and (self.difference, self.half_widths) != (None, None):
            raise ValueError("has in_these_texts beside difference or half_widths: leave it out, or set two gates")
        return self

    @property
    def needs_interval(self) -> bool:
        """Whether it judges a number by its interval."""
        return self.difference is None

    @property
    def limit(self) -> str:
        """What fails it, in words.

        >>> Gate("tests", "d", half_widths=2.0, direction="up").limit, Gate("tests", "d").limit
        ('moves up by more than 2 half-widths', 'moves beyond its interval')
        """
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
        raise ConfigError(
            f"{place}.column={gate.column}: has no interval in {gate.table}{with_one}; "
            f"say how far it may move with {place}.difference=<number>"
        )


def _is_number(field: pa.Field) -> bool:
    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type))


def verdicts(
    gates: Sequence[Gate],
    name: str,
    tables: Mapping[str, pa.Schema],
    history: History,
    status: str,
    limits: Limits | None = None,
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
    """
    rows = []
    for gate in gates:
        if gate.name in (None, name) and gate.table in tables:
            row = Gates(name=name, table=gate.table, column=gate.column, fails_if=f"a number {gate.limit}")
            row.verdict, row.sentence = "not_compared", f"the job {status}"
            if status == "ok":
                _judge(row, gate, history, limits)
            rows.append(row)
    return rows


def _judge(row: Gates, gate: Gate, history: History, limits: Limits | None) -> None:
    if history.runs is None:
        row.sentence = "there is no earlier run to compare with"
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
    row.sentence = f"{gate.table}: {gate.column} of {row.row} {_move(worst)}{unknown}{others}."


def _move(number: Mapping[str, Any]) -> str:
    if number["is_gone"]:
        return f"was {amount(number['before'])} and is gone"
    return f"went from {amount(number['before'])} to {amount(number['after'])}"
