"""A unit of work is a record: its fields say what it is, its method makes its tables.

>>> class CountWords(Work, unit="words_counted/1", stage="count words", makes=[Counts]):  # doctest: +SKIP
...     texts: TableRef
...     min_length: int
...
...     def rows(self, store):
...         for row in Texts.read(store, self.texts):
...             yield Counts(text=row.text, num_words=len([word for word in row.words if len(word) >= self.min_length]))
>>> done = run.do([CountWords(texts=texts, min_length=2)])  # doctest: +SKIP
>>> done.one(Counts)  # doctest: +SKIP

What a field means for the identity of a unit, its type says: a :class:`TableRef`, or a sequence of them, is what it
reads; a :class:`Subject` brings settings and tables of its own; any other is a setting, called as the field is. Only
what is ``aside`` changes no identity. A worker gets the record whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import groupby
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, dataclass_transform

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.table import Table, tables_of
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_ONE, _ONE_OR_NONE, _SEVERAL = TableRef, TableRef | None, Sequence[TableRef]


def aside(*, default: Any) -> Any:
    """A field that says where or how something is done, and never what comes of it: no part of the identity."""
    return field(default=default, metadata={"is_aside": True})


class Subject:
    """What units are about, and load in a worker: a model or a corpus, which was there before or which a unit made.

    It travels with each of them: what only the driver needs of it stays in a record of its own.
    """

    on_gpu: bool = False

    @property
    def identity(self) -> Mapping[str, Any]:
        """Settings of every unit that is about it."""
        return {}

    @property
    def inputs(self) -> Mapping[str, Sequence[TableRef]]:
        """Tables that every unit reads that is about it, by role."""
        return {}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field, aside))
@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """A unit. Subclasses are frozen dataclasses without saying so: mypy knows their fields.

    Class arguments:
        unit: name and version of its operator, such as ``glove/1``; a subclass says it again.
        stage: that does such units, for people.
        makes: tables of its rows; a run publishes those that are public.

    Attributes:
        label: of the unit, for people; empty: that of its stage.
        group: what fails together, such as all units of a corpus.
        needs_gpu: whether its worker needs a GPU although no subject of it does.
    """

    operator_name: ClassVar[str] = ""
    stage: ClassVar[str] = ""
    makes: ClassVar[Sequence[type[Table]]] = ()
    label: str = aside(default="")
    group: str = aside(default="data")
    needs_gpu: bool = aside(default=False)

    def __init_subclass__(cls, unit: str = "", stage: str = "", makes: Sequence[type[Table]] = ()) -> None:
        cls.operator_name, cls.stage, cls.makes = unit, stage or cls.stage, makes or cls.makes
        dataclass(frozen=True, kw_only=True, eq=False)(cls)

    @property
    def scheme(self) -> Scheme | None:
        """What the draws of its rows are keyed by, where all have the same; see :mod:`.draws`."""
        return None

    def rows(self, store: Store) -> Iterable[Table]:
        """Rows of its tables, in any order of tables."""
        raise NotImplementedError

    def tables(self, store: Store) -> Tables:
        """What the unit leaves in the store. Work on arrays, or on tables that are large, has its own."""
        return tables_of(self.rows(store), self.makes, self.scheme)

    @classmethod
    def batch(cls, store: Store, works: Sequence[Self], num_threads: int) -> Iterator[Tables]:  # noqa: ARG003
        """The tables of each of several units; work that shares a costly preparation, or uses threads, has its own."""
        for work in works:
            yield work.tables(store)

    @property
    def on_gpu(self) -> bool:
        """Whether its worker needs a GPU."""
        return self.needs_gpu or any(value.on_gpu for value in vars(self).values() if isinstance(value, Subject))

    def unit(self) -> "WorkUnit":
        """As the store knows it: found again by its operator, its settings and the content of what it reads.

        Raises:
            TypeError: for a table in a field that is not annotated as one, a setting that a subject has too, and work
                of no operator.
        """
        name = type(self).__name__
        if not self.operator_name:
            raise TypeError(f"{name} has no unit=: say which operator it is in its class line")
        config: dict[str, Any] = {}
        inputs: dict[str, Sequence[TableRef]] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.metadata.get("is_aside"):
                continue
            if isinstance(value, Subject):
                _add(config, value.identity, name)
                _add(inputs, value.inputs, name)
            elif item.type in (_ONE, _ONE_OR_NONE):
                _add(inputs, {} if value is None else {item.name: [value]}, name)
            elif item.type == _SEVERAL:
                _add(inputs, {item.name: value}, name)
            elif isinstance(value, TableRef):
                raise TypeError(f"{name}.{item.name} is a table: annotate it as TableRef, and nothing else")
            else:
                _add(config, {item.name: value}, name)
        return WorkUnit(self.operator_name, self.label or self.stage, config, inputs, self)


def _add(known: dict[str, Any], more: Mapping[str, Any], name: str) -> None:
    if twice := known.keys() & more.keys():
        raise TypeError(f"{name}: {min(twice)} is said by two of its fields")
    known |= more


@dataclass(frozen=True)
class WorkUnit(Unit):
    """A unit with the work that it is."""

    work: Work | None = None


@dataclass(frozen=True)
class _Doing:
    """What workers do with a batch of units, by so many threads each."""

    num_threads: int = 1

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for kind, batch in groupby(cast(Sequence[WorkUnit], units), lambda unit: type(cast(Work, unit.work))):
            of_kind = list(batch)
            works = [cast(Work, unit.work) for unit in of_kind]
            yield from zip(of_kind, kind.batch(store, works, self.num_threads), strict=True)


SomeWork = TypeVar("SomeWork", bound=Work, covariant=True)


@dataclass(frozen=True)
class Done(Generic[SomeWork]):
    """What a stage made: its work, each with the finished unit."""

    pairs: Sequence[tuple[SomeWork, Finished]]

    def refs(self, table: type[Table] | str) -> list[TableRef]:
        """One table of all units, those that have it."""
        name = table if isinstance(table, str) else table.table_name
        return [unit.tables[name] for _, unit in self.pairs if name in unit.tables]

    def one(self, table: type[Table] | str) -> TableRef:
        """A table of the only unit."""
        [ref] = self.refs(table)
        return ref

    @property
    def groups(self) -> dict[str, "Done[SomeWork]"]:
        """The units of each group, in their order."""
        groups: dict[str, list[tuple[SomeWork, Finished]]] = {}
        for work, unit in self.pairs:
            groups.setdefault(work.group, []).append((work, unit))
        return {group: Done(pairs) for group, pairs in groups.items()}


def do(
    runner: Runner,
    works: Iterable[SomeWork],
    *,
    stage: str = "",
    complete: bool = True,
    in_driver: bool = False,
    batch_size: int | None = 1,
    most_threads: int | None = None,
) -> Done[SomeWork]:
    """Have the work of a stage done, or find it in the store.

    Args:
        stage: what it is called; empty: what the class of the first says.
        complete: whether only groups count of which nothing has failed so far; otherwise what is there of each.
        in_driver: whether the driver does it, as it is little and on rows that it has.
        batch_size: as :class:`.stages.Stage` has it.
        most_threads: that are of use to a unit; None: it knows of no threads.

    Raises:
        UnitsFailed: if there was work, and no group is complete.
    """
    groups: dict[str, list[tuple[SomeWork, Unit]]] = {}
    has_work = False
    for work in works:
        has_work = True
        if not (complete and runner.failures.get(work.group)):
            groups.setdefault(work.group, []).append((work, work.unit()))
    if not groups:
        if complete and has_work:
            runner.check()
        return Done([])
    first = next(iter(groups.values()))[0][0]
    made = Stage(
        stage or first.stage,
        _Doing(),
        {group: [unit for _, unit in part] for group, part in groups.items()},
        batch_size,
        on_gpu=any(work.on_gpu for part in groups.values() for work, _ in part),
        most_threads=most_threads or 1,
        on_threads=None if most_threads is None else _Doing,
        in_driver=in_driver,
    )
    by_group = runner.run_whole(made) if complete else runner.run(made)
    finished = {unit.place: unit for units in by_group.values() for unit in units}
    return Done(
        [(work, finished[unit.place]) for group in by_group for work, unit in groups[group] if unit.place in finished]
    )
