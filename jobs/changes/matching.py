"""Which rows of two tables are about the same thing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.changes.wording import row_name
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.storage.store.tables import key_columns

_MANY = 10
"""Values of a key column, that are not listed."""


class UnmatchableError(ValueError):
    """The rows of two tables can't be matched; the message says why."""


@dataclass(frozen=True)
class Matched:
    """Two tables whose rows were matched by their key columns.

    Attributes:
        before, after: the tables.
        keys: names of the key columns.
        pairs: columns ``before`` and ``after``, the numbers of the rows that match, in the order of ``after``.
        gone, came: numbers of the rows of ``before`` and of ``after`` that have no match.
        written: the keys of ``before`` as the earlier run wrote them, where these have other names in the later one.
    """

    before: pl.DataFrame
    after: pl.DataFrame
    keys: Sequence[str]
    pairs: pl.DataFrame
    gone: pl.Series
    came: pl.Series
    written: pl.DataFrame

    def key_before(self, pair: int) -> str:
        """The key of a pair, by its number, as the earlier run wrote it."""
        return self._key(self.written, self.pairs["before"][pair])

    def key_after(self, pair: int) -> str:
        """The same of the later run."""
        return self._key(self.after, self.pairs["after"][pair])

    def _key(self, table: pl.DataFrame, row: int) -> str:
        return json.dumps({name: table[name][row] for name in self.keys}, ensure_ascii=False, default=str)

    @property
    def apart(self) -> dict[str, str]:
        """Why no row matches: values of key columns that only the earlier run has, and those of the later in place."""
        aliases: dict[str, str] = {}
        for name in self.keys:
            one, other = (frame[name].drop_nulls().unique(maintain_order=True) for frame in (self.before, self.after))
            if (
                one.dtype == other.dtype == pl.String
                and set(one).isdisjoint(other)
                and max(one.len(), other.len()) < _MANY
            ):
                aliases |= dict(zip(one, other, strict=False))
        return aliases

    def both(self, name: str) -> pl.DataFrame:
        """Columns ``before`` and ``after``: a column's values in the rows that match."""
        return pl.DataFrame(
            {
                "before": self.before[name].gather(self.pairs["before"]),
                "after": self.after[name].gather(self.pairs["after"]),
            }
        )

    def named(self, pair: int) -> Row:
        """Columns ``row`` and ``key`` of the table of changes, for a pair by its number."""
        return self._named(self.after, self.pairs["after"][pair])

    def named_gone(self, number: int) -> Row:
        """The same for a row of ``gone``."""
        return self._named(self.before, self.gone[number])

    def named_came(self, number: int) -> Row:
        """The same for a row of ``came``."""
        return self._named(self.after, self.came[number])

    def _named(self, table: pl.DataFrame, row: int) -> Row:
        shown = {name: table[name][row] for name in self._telling}
        return {"row": row_name(shown), "key": self._key(table, row)}

    @cached_property
    def _telling(self) -> list[str]:
        """The key columns that have several values; all if none has."""
        keys = pl.concat([table.select(self.keys) for table in (self.before, self.after)], how="vertical_relaxed")
        return [name for name in self.keys if keys[name].n_unique() > 1] or list(self.keys)


def match(before: pa.Table, after: pa.Table, aliases: Mapping[str, str] | None = None) -> Matched:
    """Match the rows of two tables by the key columns that the later one declares, or else the earlier one.

    A key column that one of them does not have yet, as a table of an earlier release, is left out where the others tell
    all rows of both apart.

    Null matches null, NaN matches NaN, and 0.0 matches -0.0.

    Args:
        aliases: what values of key columns of the earlier table are called in the later one.

    Raises:
        UnmatchableError: if no key columns are declared, one is missing or of another type in either table, or two
            rows of a table have one key.
    """
    keys = key_columns(after.schema) or key_columns(before.schema)
    if not keys:
        raise UnmatchableError("neither run's table says which of its columns tell rows apart")
    frames = pl.DataFrame(before), pl.DataFrame(after)
    keys = _sufficient(keys, frames)
    written = frames[0].select(name for name in keys if name in frames[0].columns)
    if aliases:
        renamed = [pl.col(name).replace(aliases) for name, kind in written.schema.items() if kind == pl.String]
        frames = frames[0].with_columns(renamed), frames[1]
    for name in keys:
        _check_kinds(name, *frames)
    numbered = [_numbered(frame, keys, side) for frame, side in zip(frames, ("before", "after"), strict=True)]
    joined = numbered[0].join(numbered[1], on=keys, how="full", nulls_equal=True).select("before", "after")
    pairs = joined.drop_nulls().sort("after")
    gone = joined.filter(pl.col("after").is_null())["before"].sort()
    came = joined.filter(pl.col("before").is_null())["after"].sort()
    return Matched(*frames, keys, pairs, gone, came, written)


def _sufficient(keys: list[str], frames: tuple[pl.DataFrame, pl.DataFrame]) -> list[str]:
    """The key columns that both tables have, if these tell the rows of each apart; else all."""
    shared = [name for name in keys if all(name in frame.columns for frame in frames)]
    return shared if shared and not any(num_repeated(frame, shared) for frame in frames) else keys


def num_repeated(table: pl.DataFrame, keys: Sequence[str]) -> int:
    """How many rows have a key that an earlier row has.

    >>> num_repeated(pl.DataFrame({"word": ["a", "b", "a"], "n": [1, 2, 3]}), ["word"])
    1
    """
    return table.height - table.n_unique(subset=list(keys))


def _check_kinds(name: str, before: pl.DataFrame, after: pl.DataFrame) -> None:
    kinds = []
    for frame, which in ((before, "earlier"), (after, "later")):
        if name not in frame.columns:
            raise UnmatchableError(f"the {which} run's table has no column {name}, which tells rows apart")
        kinds.append(frame.schema[name])
    if kinds[0] != kinds[1] and not all(kind.is_integer() for kind in kinds):
        raise UnmatchableError(f"{name}, which tells rows apart, was {kinds[0]} and is {kinds[1]} now")


def _numbered(frame: pl.DataFrame, keys: Sequence[str], side: str) -> pl.DataFrame:
    if num := num_repeated(frame, keys):
        which = {"before": "earlier", "after": "later"}[side]
        raise UnmatchableError(
            f"in the {which} run, {plural(num, 'row')} of it {'has' if num == 1 else 'have'} the key of another "
            f"({', '.join(keys)})"
        )
    integers = [pl.col(name).cast(pl.Int64) for name in keys if frame.schema[name].is_integer()]
    return frame.select(keys).with_columns(integers).with_row_index(side)
