"""Which slices of a corpus a document is in, by a field of it: its values, the years of a date, ranges of a number."""

import math
import re
import unicodedata
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

VERSION = "slicing/2"

By = Literal["value", "decade", "year", "quarter", "month"]

_YEAR = re.compile(r"(?<!\d)([12]\d{3})(?!\d)")
_MONTH = re.compile(r"(?<!\d)([12]\d{3})-(0[1-9]|1[0-2])(?!\d)")
_COMPACT = re.compile(r"([12]\d{3})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(\d{6})?Z?")
"""A date as whole numbers, such as 20260501 or MediaWiki's 20260501123000."""

_PARTS = {"quarter": 4, "month": 12}
"""Of a year."""

_ISO = re.compile(r"(?<!\d)([12]\d{3})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")


@dataclass(frozen=True)
class Slicing:
    """How a corpus is cut.

    Attributes:
        field: of the documents; a list in it puts a document into the slice of each of its items.
        by: ``value``: a slice for each value; ``decade``, ``year``, ``quarter`` or ``month``: of the date that it is.
        cuts: numbers between which slices lie, each in the slice above it; none: every number is a slice of its own.
        values: names of the slices that are kept; none: all.
    """

    field: str
    by: By = "value"
    cuts: tuple[float, ...] = ()
    values: tuple[str, ...] = ()

    def names(self, value: object) -> tuple[str, ...]:
        """The slices of a document, each once; none where its field is empty, or is no date or number as asked.

        >>> Slicing("born", by="year").names("May 1, 1899"), Slicing("born", by="month").names("18990501")
        (('1899',), ('1899-05',))
        >>> Slicing("born", by="decade").names(1899), Slicing("born", by="quarter").names("1899-05-01")
        (('1890s',), ('1899-Q2',))
        >>> Slicing("born", by="year", cuts=(1900, 1950)).names("1899-05-01")
        ('below 1900',)
        >>> Slicing("topics").names(["law", " art ", "law", ""]), Slicing("topics").names(None)
        (('law', 'art'), ())
        """
        values = value if isinstance(value, list | tuple) else [value]
        names = dict.fromkeys(name for item in values if (name := self._name(item)))
        return tuple(name for name in names if not self.values or name in self.values)

    def _name(self, value: object) -> str:
        text = slice_name(value)
        if self.by != "value":
            text = _date(text, self.by)
        return _range(text, self.cuts) if self.cuts and text else text

    def is_impossible(self, value: object) -> bool:
        """Whether dates are asked for, and one of them does not exist, such as 2026-02-30."""
        values = value if isinstance(value, list | tuple) else [value]
        return self.by != "value" and not all(_exists(slice_name(item)) for item in values)

    def places(self, names: Sequence[str]) -> list[float] | None:
        """Where slices lie in their order: years, numbers, or the number of a range; None where they have no order.

        >>> Slicing("year").places(["1999", "2000"]), Slicing("topic").places(["law", "1999"])
        ([1999.0, 2000.0], None)
        >>> Slicing("n", cuts=(10,)).places(["10 and above", "below 10"]), Slicing("d", "month").places(["1999-07"])
        ([1.0, 0.0], [1999.5])
        """
        if self.cuts:
            order = _ranges(self.cuts)
            return [float(order.index(name)) for name in names]
        if self.by in _PARTS:
            return [int(name[:4]) + (int(name[5:].removeprefix("Q")) - 1) / _PARTS[self.by] for name in names]
        if self.by == "decade":
            return [float(name.removesuffix("s")) for name in names]
        numbers = [_number(name) for name in names]
        return [number for number in numbers if number is not None] if None not in numbers else None


def slice_name(value: object) -> str:
    """A value as the name of a slice, in normal form C; nothing for what has none.

    >>> slice_name(" cafe\u0301\u00a0bar"), slice_name(2.0), slice_name(None)
    ('café bar', '2', '')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0") if math.isfinite(value) else ""
    return unicodedata.normalize("NFC", " ".join(str(value).split())) if isinstance(value, str | int) else ""


def _date(text: str, by: By) -> str:
    compact = _COMPACT.fullmatch(text)
    match = compact or (_YEAR if by in ("decade", "year") else _MONTH).search(text)
    if not match or not _exists(text):
        return ""
    year = match[1]
    if by in ("decade", "year"):
        return year if by == "year" else f"{year[:3]}0s"
    return f"{year}-{match[2]}" if by == "month" else f"{year}-Q{(int(match[2]) + 2) // 3}"


def _exists(text: str) -> bool:
    """Whether a text holds no date in figures that the calendar lacks."""
    match = _COMPACT.fullmatch(text) or _ISO.search(text)
    if match is None:
        return True
    year, month, day = (int(part or 1) for part in match.group(1, 2, 3))
    return 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def _range(text: str, cuts: Sequence[float]) -> str:
    number = _number(text)
    return "" if number is None else _ranges(cuts)[bisect_right(cuts, number)]


def _ranges(cuts: Sequence[float]) -> list[str]:
    between = [f"{low:.15g} to {high:.15g}" for low, high in pairwise(cuts)]
    return [f"below {cuts[0]:.15g}", *between, f"{cuts[-1]:.15g} and above"]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
