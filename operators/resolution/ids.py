"""Ids as text, whatever their type: one text for one id; and as numbers, in the order of these texts."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import polars as pl

from tiltmeter.operators.compute.arrays import IntArray

_SPARSE, _LARGE = 4, 2**62
"""Whole numbers are looked up in a table if they are no sparser than one in so many, and no larger."""


def as_text(column: pl.Series) -> pl.Series:
    """The values as text: text, numbers, dates, or bytes that are text in UTF-8.

    Raises:
        ValueError: for values of another type, such as lists.

    >>> as_text(pl.Series([b"caf\\xc3\\xa9", None])).to_list()
    ['café', None]
    """
    try:
        if column.dtype.is_nested():
            raise pl.exceptions.InvalidOperationError(f"{column.dtype} has values within values")
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise ValueError(
            f"column {column.name!r} of type {column.dtype} can't be read as text ({error}): must have text, numbers "
            "or dates"
        ) from error


def as_ids(column: pl.Series) -> pl.Series:
    """The ids as text; null stays null, and 0.0 and -0.0 are one.

    Raises:
        ValueError: for a number that is not finite, naming its row, and values that can't be read as text.

    >>> as_ids(pl.Series([-0.0, 0.0, 2.5])).to_list()
    ['0.0', '0.0', '2.5']
    """
    if not column.dtype.is_float():
        return as_text(column)
    if (wrong := (~column.is_finite()).arg_true()).len():
        raise ValueError(f"{column.name} {column[wrong[0]]} in row {wrong[0] + 1} is no id: must be a finite number")
    return as_text(column.set(column == 0.0, 0.0))


def different_ids(columns: Sequence[pl.Series]) -> pl.Series:
    """The ids of columns of one type, each once, in any order.

    >>> different_ids([pl.Series([7, 9]), pl.Series([9, 8])]).to_list()
    [7, 8, 9]
    """
    if (table := _table(columns)) is None:
        return pl.concat([column.unique() for column in columns]).unique()
    first, size = table
    is_there = np.zeros(size, dtype=np.bool_)
    for column in columns:
        is_there[_places(column, first)] = True
    return pl.Series(np.flatnonzero(is_there) + first)


def numbered_ids(
    different: pl.Series, columns: Sequence[pl.Series], others: Sequence[pl.Series] = ()
) -> tuple[pl.Series, list[IntArray]]:
    """All ids as text, sorted, and the number of each id of the columns among them, in the smallest type for it.

    Args:
        different: those of the columns, each once.
        columns: ids of one type, none of them null.
        others: more ids, as text, that are to be numbered too.

    >>> ids, [numbers] = numbered_ids(pl.Series([9, 10]), [pl.Series([10, 9, 9])], [pl.Series(["11"])])
    >>> ids.to_list(), numbers
    (['10', '11', '9'], array([0, 2, 2], dtype=uint8))
    """
    texts = as_ids(different)
    every = pl.concat([texts, *others]).unique(maintain_order=True) if others else texts
    order = every.arg_sort().to_numpy()
    number = np.empty(order.size, dtype=np.min_scalar_type(order.size))
    number[order] = np.arange(order.size)
    return every.gather(order), _looked_up(different, number[: different.len()], columns)


def _looked_up(different: pl.Series, numbers: IntArray, columns: Sequence[pl.Series]) -> list[IntArray]:
    """Of each id of the columns its number."""
    if (table := _table(columns)) is None:
        known = pl.DataFrame({"id": different, "number": numbers})
        frames = (column.alias("id").to_frame() for column in columns)
        return [frame.join(known, on="id", how="left", maintain_order="left")["number"].to_numpy() for frame in frames]
    first, size = table
    by_place = np.empty(size, dtype=numbers.dtype)
    by_place[_places(different, first)] = numbers
    return [by_place[_places(column, first)] for column in columns]


def _table(columns: Sequence[pl.Series]) -> tuple[int, int] | None:
    """The first id of a table that has room for all of them, and its size; None for such as take too large a one."""
    num = sum(column.len() for column in columns)
    if not num or not all(column.dtype.is_integer() for column in columns):
        return None
    ends = [int(cast(int, end)) for column in columns for end in (column.min(), column.max())]
    first, last = min(ends), max(ends)
    return (first, last - first + 1) if last - first < _SPARSE * num and max(-first, last) < _LARGE else None


def _places(column: pl.Series, first: int) -> IntArray:
    places = column.cast(pl.Int64).to_numpy()
    return places - first if first else places
