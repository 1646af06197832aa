"""A table is a class of rows: what a column is called, holds and looks like is said once.

>>> class Masked(Table, name="masking"):
...     method: str = key("what orders the words")
...     coverage: Estimate = doc("share of texts whose class changes", show="percent")
...     num_texts: int = doc("that the teacher gets wrong", "texts")
>>> Masked.schema().names
['method', 'coverage', 'coverage_low', 'coverage_high', 'num_texts', 'status', 'reason']
>>> Masked(method="lime", coverage=Estimate(0.5, 0.4, 0.6)).num_texts is None
True

A row names its keys; any other column that it leaves out is null, and so is a number that is not finite.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Self, Union, dataclass_transform, get_args, get_origin

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.jobs.runtime.columns import REASON, STATUS
from tiltmeter.jobs.runtime.draws import Scheme, draws_of, with_draws
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.tables import column

Int8 = Annotated[int, pa.int8()]
Int16 = Annotated[int, pa.int16()]
Int32 = Annotated[int, pa.int32()]
Float32 = Annotated[float, pa.float32()]
_ARROW = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}

Look = str | Callable[[Any], str] | None
"""How a page writes a value: a form of :mod:`.grids` such as ``percent``, ``percentage`` of what is in percent already,
or a function; None: as its type suggests."""


@dataclass(frozen=True)
class Column:
    """A column as the class of its table declares it; see :func:`doc`.

    Attributes:
        ends: names of the columns of an estimate's interval; empty for any other column.
        is_label: whether units leave it out, as its one value comes where their tables are published.
        type: as annotated, without ``| None``.
    """

    sentence: str
    unit: str = ""
    heading: str | None = None
    show: Look = None
    digits: int | None = None
    interval: str | tuple[str, str] = ""
    ends: tuple[str, ...] = ()
    is_key: bool = False
    is_label: bool = False
    name: str = ""
    type: Any = None


class Number:
    """A kind of number that makes several columns: a subclass says which, and what of a value goes into each.

    Attributes:
        resamples: ``[resamples]``, which go to the table of draws; None: there are none.
        scheme: what they are keyed by, where the rows of a table differ in it; see :mod:`.draws`.
    """

    resamples: NDArray[np.float64] | None = None
    scheme: Scheme | None = None

    @classmethod
    def fields(cls, about: Column) -> Iterable[pa.Field]:
        """The columns that a column of this kind makes, the number itself first."""
        raise NotImplementedError

    def cells(self, about: Column) -> dict[str, Any]:
        """What goes into each."""
        raise NotImplementedError

    @classmethod
    def read(cls, about: Column, cells: Mapping[str, Any]) -> Self:
        """The number that a row of the store has; only of kinds that later units ask for."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Estimate(Number):
    """A number with its interval.

    Attributes:
        low, high: NaN where there is no interval.
    """

    value: float
    low: float = np.nan
    high: float = np.nan
    resamples: NDArray[np.float64] | None = None
    scheme: Scheme | None = None

    @classmethod
    def fields(cls, about: Column) -> Iterable[pa.Field]:
        """The number, and the ends of its interval."""
        yield column(about.name, pa.float64(), about.sentence, about.unit)
        intervals = [about.interval] * 2 if isinstance(about.interval, str) else about.interval
        for end, word, interval in zip(about.ends, ("lower", "upper"), intervals, strict=True):
            yield column(end, pa.float64(), f"{word} end of {interval}", about.unit)

    def cells(self, about: Column) -> dict[str, Any]:
        """Of the three columns."""
        return dict(zip((about.name, *about.ends), (self.value, self.low, self.high), strict=True))

    @classmethod
    def read(cls, about: Column, cells: Mapping[str, Any]) -> Self:
        """Without resamples, which are in a table of their own."""
        low, high = (np.nan if cells.get(end) is None else cells[end] for end in about.ends)
        return cls(cells[about.name], low, high)


def doc(
    sentence: str,
    unit: str = "",
    *,
    heading: str | None = None,
    show: Look = None,
    digits: int | None = None,
    interval: str | tuple[str, str] = "its interval",
    ends: tuple[str, ...] = (),
) -> Any:
    """A column.

    Args:
        sentence: what it holds.
        unit: of its values.
        heading: on a page; None: the name as a phrase.
        show, digits: how a page writes its values.
        interval: of an estimate, what ends its sentences: "lower end of ..."; of both, or of each.
        ends: of an estimate, columns of its interval where they are not ``<name>_low`` and ``<name>_high``.
    """
    return field(default=None, metadata={"column": Column(sentence, unit, heading, show, digits, interval, ends)})


def key(
    sentence: str,
    unit: str = "",
    *,
    heading: str | None = None,
    show: Look = None,
    digits: int | None = None,
    default: Any = MISSING,
) -> Any:
    """A column that tells rows apart, with others of its kind: every row has it, unless it has a default. Other
    arguments as of :func:`doc`."""
    return field(default=default, metadata={"column": Column(sentence, unit, heading, show, digits, is_key=True)})


def label(sentence: str, *, heading: str | None = None) -> Any:
    """A key that rows leave out, such as their corpus: tables are published with it (:meth:`.TableRef.labelled`)."""
    return field(default=None, metadata={"column": Column(sentence, heading=heading, is_key=True, is_label=True)})


@dataclass_transform(kw_only_default=True, field_specifiers=(key,))
@dataclass(kw_only=True, eq=False)
class Table:
    """A row. Subclasses are dataclasses without saying so: mypy knows their columns, those of base classes first.

    Class arguments:
        name: of the table.
        public: whether a run publishes it.
        has_status: whether its rows say ``ok``, or why they have no result.
    """

    table_name: ClassVar[str]
    is_public: ClassVar[bool]
    has_status: ClassVar[bool]
    columns: ClassVar[Sequence[Column]]
    status: str = "ok"
    reason: str = ""

    def __init_subclass__(cls, name: str = "", public: bool = True, has_status: bool = True) -> None:
        cls.table_name, cls.is_public, cls.has_status = name, public, has_status
        dataclass(kw_only=True, eq=False)(cls)
        cls.columns = list(_columns(cls))

    def fail(self, status: str, reason: str) -> Self:
        """The row, which has no result: why not, in a word and in a sentence."""
        self.status, self.reason = status, reason
        return self

    @classmethod
    def schema(cls, *, stored: bool = False) -> pa.Schema:
        """With type, sentence, unit and key of every column, in the order in which they are declared.

        Args:
            stored: as units leave it, without labels.
        """
        kept = [one for one in cls.columns if not (stored and one.is_label)]
        made = [made for one in kept for made in _arrow_fields(one)]
        return pa.schema([*made, *([STATUS, REASON] if cls.has_status else [])])

    @classmethod
    def read(cls, store: Store, ref: TableRef) -> list[Self]:
        """The rows of a table in the store; columns that it lacks are null."""
        return [cls(**_values(cls, cells)) for cells in store.read(ref).to_pylist()]


def schemas(*tables: type[Table]) -> dict[str, pa.Schema]:
    """By the name of the table, as a job declares what it may publish."""
    return {table.table_name: table.schema() for table in tables}


def table_from(
    rows: Iterable[Table],
    kind: type[Table],
    made: Callable[[Sequence[dict[str, Any]], pa.Schema], pa.Table] = table_of,
) -> pa.Table:
    """Rows as the table that a run publishes; arguments as of :func:`tables_of`."""
    return made([cells_of(row) for row in rows], kind.schema())


def tables_of(
    rows: Iterable[Table],
    kinds: Sequence[type[Table]],
    scheme: Scheme | None = None,
    made: Callable[[Sequence[dict[str, Any]], pa.Schema], pa.Table] = table_of,
) -> Iterator[tuple[str, pa.Table]]:
    """Rows by their table, and one table of the draws that their numbers leave.

    Args:
        kinds: the tables, in the order in which they come; one without a row is empty.
        scheme: what draws are keyed by whose number does not say.
        made: makes a table of cells; where an infinite number is a result, one that keeps it.
    """
    by_kind: dict[type[Table], list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for row in rows:
        by_kind[type(row)].append(cells_of(row))
    return with_draws(
        {kind.table_name: (cells, kind.schema(stored=True)) for kind, cells in by_kind.items()}, scheme, made
    )


def _columns(table: type[Table]) -> Iterator[Column]:
    bases = (base for base in reversed(table.__mro__) if base is not Table)
    names = dict.fromkeys(name for base in bases for name in vars(base).get("__annotations__", ()))
    by_name = {item.name: item for item in fields(table)}
    # A status of a table's own is where it is declared, and not where Table has it.
    for item in (by_name[name] for name in names if name in by_name):
        if "column" in item.metadata:
            declared, kind = item.metadata["column"], item.type
            if get_origin(kind) in (Union, UnionType):
                [kind] = [one for one in get_args(kind) if one is not NoneType]
            usual = ends(item.name) if _is_number(kind) else ()
            yield replace(declared, name=item.name, type=kind, ends=declared.ends or usual)


def ends(name: str) -> tuple[str, str]:
    """Usual names of the columns of a number's interval."""
    return f"{name}_low", f"{name}_high"


def _is_number(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Number)


def _arrow_type(kind: Any) -> pa.DataType:
    if get_origin(kind) is list:
        return pa.list_(_arrow_type(get_args(kind)[0]))
    return kind.__metadata__[0] if get_origin(kind) is Annotated else _ARROW[kind]


def _arrow_fields(one: Column) -> Iterable[pa.Field]:
    if _is_number(one.type):
        made: Iterable[pa.Field] = one.type.fields(one)
        return made
    return [column(one.name, _arrow_type(one.type), one.sentence, one.unit, key=one.is_key)]


def cells_of(row: Table) -> dict[str, Any]:
    """By column, and draws as :func:`.draws.with_draws` takes them."""
    cells = dict(vars(row))
    for one in row.columns:
        value = cells[one.name]
        if isinstance(value, Number):
            cells |= value.cells(one)
            if value.resamples is not None:
                cells |= draws_of(one.name, value.resamples, value.scheme)
    return cells


def _values(table: type[Table], cells: Mapping[str, Any]) -> dict[str, Any]:
    """Of a row, from what a table in the store has in it."""
    values = {name: cells[name] for name in ("status", "reason") if name in cells}
    for one in table.columns:
        value = cells.get(one.name)
        values[one.name] = one.type.read(one, cells) if value is not None and _is_number(one.type) else value
    return values
