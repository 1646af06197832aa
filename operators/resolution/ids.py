"""Ids as text, whatever their type: one text for one id."""

import polars as pl


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
