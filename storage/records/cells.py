"""Cells as what they stand for, whatever the file's type: text, numbers, labels."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import polars as pl

from tiltmeter.storage.bad_records import Kind
from tiltmeter.storage.errors import InputError

_UUID_BYTES = 16
_MOST = sys.float_info.max
_DECIMAL_COMMA, _THOUSANDS = r"^[+-]?\d+,\d+$", r"^[+-]?[1-9]\d{0,2},\d{3}$"
"""Of whole numbers in thousands a comma is no decimal one, and which of both it is can't be told of a few cells."""
_SEEN = r"[^\s\p{Default_Ignorable_Code_Point}]"


def plain(column: pl.Series, where: str) -> pl.Series:
    """A column of a type that all readers know: categories and bytes as text, UUIDs as they are written, decimals as
    numbers, or as text where they are whole.

    Raises:
        InputError: naming the column, if its bytes are no text.
    """
    if isinstance(column.dtype, pl.BaseExtension):
        column = column.ext.storage()
    match column.dtype:
        case pl.Categorical() | pl.Enum() | pl.Null():
            return column.cast(pl.String)
        case pl.Decimal(scale=scale):
            return column.cast(pl.Float64 if scale else pl.String)
        case pl.Duration():
            return column.dt.to_string("iso")
        case pl.Binary():
            return _text(column, where)
    return column


def _text(column: pl.Series, where: str) -> pl.Series:
    try:
        return column.cast(pl.String)
    except pl.exceptions.ComputeError as error:
        values = column.to_list()
        if {len(value) for value in values if value is not None} != {_UUID_BYTES}:
            raise InputError(f"{where}: column {column.name!r} has bytes that are no text in UTF-8") from error
        return pl.Series(column.name, [None if value is None else str(UUID(bytes=value)) for value in values])


def numbers(rows: pl.DataFrame, column: str) -> pl.Series:
    """A column as numbers, with points or with decimal commas; null where a cell is empty, NaN or no number.

    >>> numbers(pl.DataFrame({"w": ["0,5", "-1,25", "2", "x"]}), "w").to_list()
    [0.5, -1.25, 2.0, None]
    >>> numbers(pl.DataFrame({"w": ["1,250", "0.5"]}), "w").to_list()
    [None, 0.5]
    """
    return _numbers(rows[column]).fill_nan(None).alias(column)


def _numbers(column: pl.Series) -> pl.Series:
    if column.dtype.is_numeric():
        return column.cast(pl.Float64)
    cells = column.cast(pl.String).str.strip_chars()
    with_commas = cells.filter(cells.str.contains(_DECIMAL_COMMA).fill_null(value=False))
    is_usual = cells.str.contains(".", literal=True).any() or with_commas.str.contains(_THOUSANDS).all()
    return (cells if is_usual else cells.str.replace(",", ".", literal=True)).cast(pl.Float64, strict=False)


def is_empty(column: pl.Series) -> pl.Series:
    """Whether each cell is null, NaN in a column of numbers, or has nothing that is seen: space, soft hyphens, marks of
    no width.

    >>> is_empty(pl.Series(["a", " ", "\\u00ad\\u200b", None])).to_list()
    [False, True, True, True]
    """
    column = column.fill_nan(None) if column.dtype.is_float() else column
    return ~column.cast(pl.String).str.contains(_SEEN).fill_null(value=False)


def _is_off(column: pl.Series, low: float, high: float) -> pl.Series:
    """Whether each cell has something that is no number in an interval, nor NaN."""
    values = _numbers(column).fill_null(float("inf"))
    return ~(values.is_between(low, high, closed="both") | values.is_nan() | is_empty(column))


def labels(column: pl.Series) -> pl.Series:
    """A column as text that tells things apart: whole numbers as such, whatever the file's type; null where a cell is
    empty or NaN.

    >>> labels(pl.Series([1.0, float("nan")])).to_list(), labels(pl.Series([" user", ""])).to_list()
    (['1', None], ['user', None])
    """
    if column.dtype.is_float() and (column.drop_nulls().drop_nans() % 1 == 0).all():
        column = column.fill_nan(None).cast(pl.Int64)
    cells = column.cast(pl.String).str.normalize("NFC").str.strip_chars()
    return cells.replace({"nan": None, "NaN": None}).set(is_empty(column), None)


def one_spelling(*columns: pl.Series) -> list[pl.Series]:
    """Labels of several columns, each class as it is written first: 0, 0.0 and "0" are one, and so are True and "true".

    Truth and 0 or 1 are one where each column has nothing but the one or the other.

    >>> [column.to_list() for column in one_spelling(pl.Series(["True", "False"]), pl.Series(["0", "1.0", None]))]
    [['True', 'False'], ['False', 'True', None]]
    """
    given = [column.drop_nulls().unique(maintain_order=True).to_list() for column in columns]
    sides = [{_class(label) for label in labels} for labels in given if labels]
    truth = _TRUTH if all(side <= _TRUTH.keys() or side <= {*_TRUTH.values()} for side in sides) else {}
    spelling: dict[str, str] = {}
    for label in (label for labels in given for label in labels):
        spelling.setdefault(truth.get(_class(label), _class(label)), label)
    names = {label: spelling[truth.get(_class(label), _class(label))] for labels in given for label in labels}
    return [column.replace(names) for column in columns]


def spelled(column: pl.Series, values: Sequence[str]) -> pl.Series:
    """Labels of a column, those of a class that is known as it is written here."""
    return one_spelling(pl.Series(list(values), dtype=pl.String), labels(column))[1].alias(column.name)


_TRUTH = {"true": "1", "false": "0"}


def _class(label: str) -> str:
    """What a label stands for.

    >>> _class("-0.0"), _class("1.50"), _class("TRUE"), _class("Yes")
    ('0', '1.50', 'true', 'Yes')
    """
    if label.lower() in _TRUTH:
        return label.lower()
    whole = re.fullmatch(r"(-?\d+)\.0+", label)
    return label if whole is None else str(int(whole[1]))


# --- rules ----------------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """What a cell may not be.

    Attributes:
        reason: why the record is left out, in a phrase.
        breaks: which cells of a column break it.
        kind: whether it is bad then, or no more than empty.
    """

    reason: str
    breaks: Callable[[pl.Series], pl.Series]
    kind: Kind = "bad"


Rules = Mapping[str, Sequence[Rule]]
"""By column."""

NO_RULES: Rules = {}

TEXT, LABEL, GIVEN = (Rule(f"no {thing}", is_empty, "empty") for thing in ("text", "label", "value"))
NEEDED = Rule("nothing where something is needed", is_empty)
NUMBER = Rule("no number", lambda column: _is_off(column, -_MOST, _MOST))


def between(low: float, high: float) -> Rule:
    """For numbers on a scale, unless they are missing.

    >>> between(0, 1).breaks(pl.Series(["0.5", "", "1.5", "x"])).to_list()
    [False, False, True, True]
    """
    return Rule(f"no number from {low:g} to {high:g}", lambda column: _is_off(column, low, high))


def one_of(values: Sequence[str]) -> Rule:
    """For labels that are known, unless they are missing."""
    known = {_class(value) for value in values}

    def breaks(column: pl.Series) -> pl.Series:
        given = labels(column)
        unknown = [label for label in given.drop_nulls().unique() if _class(label) not in known]
        return given.is_in(unknown).fill_null(value=False)

    return Rule(f"none of {', '.join(values)}", breaks)


def broken(rows: pl.DataFrame, rules: Rules) -> tuple[list[tuple[str, Rule, pl.Series]], pl.Series]:
    """By column and rule, the rows that break it and none before it; and whether each row breaks any."""
    faults, is_broken = [], pl.repeat(value=False, n=rows.height, eager=True)
    for name, of_column in rules.items():
        for rule in of_column:
            breaks = rule.breaks(rows[name]) & ~is_broken
            faults.append((name, rule, breaks))
            is_broken = is_broken | breaks
    return faults, is_broken
