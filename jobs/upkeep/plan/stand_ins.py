"""Tables that a missing unit has yet to make, standing where the planned job expects them.

A table that nobody has made has no content, but the unit that will read it has a name, a config and a place in its
stage: so much of the rest of a run can be counted. Where an earlier run made the same table for fewer replicas, its
rows and the content of its columns are known as well: draws are keyed by replica, so that a replica is in both runs
what it is in one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Self

import pyarrow as pa

from tiltmeter.storage.store.ledger import Finished, TableRef, Unit
from tiltmeter.storage.store.read_only import ReadOnlyStore

_UNMADE = "not made yet"


class NotMadeYet(Exception):
    """What comes next depends on what is in tables that are not there yet."""


class UnmadeTable(TableRef):
    """A table of a missing unit.

    Args:
        place: of the unit.
        name: of the table.
        twin: the same table as an earlier run made it, with fewer columns or more; None if there is none.
        columns: digests; None: of those of the twin the content is known, of others nothing is.
    """

    def __init__(
        self, place: str, name: str, twin: TableRef | None = None, columns: Mapping[str, str] | None = None
    ) -> None:
        known = dict(twin.columns) if twin else {}
        fields: dict[str, Any] = {"unit": place, "name": name, "twin": twin, "labels": {}}
        for field, value in {**fields, "columns": _Columns(place, name, known) if columns is None else columns}.items():
            object.__setattr__(self, field, value)

    twin: TableRef | None

    @property
    def num_rows(self) -> int:
        """As many as its twin has.

        Raises:
            NotMadeYet: if it has none.
        """
        if self.twin is None:
            raise NotMadeYet(f"it depends on how many rows the table {self.name} will have")
        return self.twin.num_rows

    def select(self, *names: str) -> Self:
        """The same table with these columns only."""
        return type(self)(self.unit, self.name, self.twin, {name: self.columns[name] for name in names})

    def labelled(self, **labels: str) -> Self:  # noqa: ARG002
        """The same table: labels are no part of any unit's identity."""
        return self

    def made(self) -> TableRef:
        """Its twin, with the same columns.

        Raises:
            NotMadeYet: if there is none, or if it lacks one of the columns.
        """
        wanted = [name for name in self.columns if name]
        if self.twin is None or not self.twin.columns.keys() >= set(wanted):
            raise NotMadeYet(f"it depends on what will be in the table {self.name}")
        return self.twin.select(*wanted)


class _Columns(Mapping[str, str]):
    """Digests of the known columns; any other has one that no table has, and so has the whole."""

    def __init__(self, place: str, name: str, known: Mapping[str, str]) -> None:
        self._known, self._mark = known, f"{_UNMADE}: {place} {name}"

    def __getitem__(self, name: str) -> str:
        return self._known.get(name, f"{self._mark} {name}")

    def __iter__(self) -> Iterator[str]:
        return iter([*self._known, ""])

    def __len__(self) -> int:
        return len(self._known) + 1


class _AnyTables(Mapping[str, TableRef]):
    """All tables that somebody asks a missing unit for by name; how many it will have is not known."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __getitem__(self, name: str) -> TableRef:
        return UnmadeTable(self._place, name)

    def __iter__(self) -> NoReturn:
        raise NotMadeYet("it depends on how many tables its units will have")

    def __len__(self) -> NoReturn:
        raise NotMadeYet("it depends on how many tables its units will have")


def stand_in(unit: Unit, twin: Finished | None) -> Finished:
    """What a missing unit will have made, as far as that can be said.

    Args:
        unit: that is missing.
        twin: the unit of its name in a run that asks the same of fewer or more replicas.
    """
    if twin is None:
        return Finished(unit.place, unit.name, 0, _AnyTables(unit.place))
    tables = {name: UnmadeTable(unit.place, name, ref) for name, ref in twin.tables.items()}
    return Finished(unit.place, unit.name, 0, tables)


class PlanningStore(ReadOnlyStore):
    """A store that is only read; of tables that are not made yet it reads the twins."""

    def location(self, ref: TableRef) -> str:
        """Path of a table's file, or of its twin's.

        Raises:
            NotMadeYet: if there is neither.
        """
        return super().location(ref.made() if isinstance(ref, UnmadeTable) else ref)

    def read(self, ref: TableRef) -> pa.Table:
        """The columns that the reference names.

        Raises:
            NotMadeYet: as :meth:`location`.
        """
        return super().read(ref.made() if isinstance(ref, UnmadeTable) else ref)
