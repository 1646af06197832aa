"""How pages write numbers and words; what is missing is a dash."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from tiltmeter.jobs.runtime.wording import listed as listed
from tiltmeter.jobs.runtime.wording import plural as plural
from tiltmeter.jobs.runtime.wording import plural_form as plural_form
from tiltmeter.jobs.runtime.wording import verb as verb

DASH = "–"
"""Where there is no value."""

SIGNIFICANCE = 0.05
"""Where sentences and stars begin to take a p-value for more than chance."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_STARS = ((0.001, "***"), (0.01, "**"), (SIGNIFICANCE, "*"))
_WHOLE_SECONDS = 100.0
"""From here on a duration has no fraction of a second."""


# --- numbers --------------------------------------------------------------------------------------------------------


def number(value: float | None, digits: int, unit: str = "") -> str:
    """A number with a real minus sign and its unit; "undefined" for NaN, a dash where there is none.

    >>> number(-0.25, 1), number(-0.001, 2), number(-math.inf, 2), number(1234.5, 1), number(-12.4, 0, "%")
    ('−0.2', '0.00', '−∞', '1,234.5', '−12%')
    """
    if value is None:
        return DASH
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}"
    return f"{text.lstrip('-') if not text.strip('-0.') else text.replace('-', '−')}{unit}"


def small(value: float | None, digits: int) -> str:
    """The same of what may be small: what would be 0 by so many digits is a power of ten.

    >>> small(-0.25, 2), small(-0.000078, 2), small(0.0, 2)
    ('−0.25', '−7.8\xa0×\xa010⁻⁵', '0.00')
    """
    is_small = value is not None and 0.0 < abs(value) < 0.5 / 10**digits
    return _power(value or 0.0) if is_small else number(value, digits)


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a percentage.

    >>> percent(0.9571), percent(0.5, 0), percent(math.inf), percent(None)
    ('95.7%', '50%', '∞', '–')
    """
    return number(None if share is None else 100.0 * share, digits, "%")


def estimate(row: Mapping[str, Any], name: str, digits: int = 3, unit: str = "") -> str:
    """A number with its unit and its interval, as far as the row has them; a dash where it has no number.

    >>> estimate({"d": -0.5, "d_low": -1.25, "d_high": 0.0}, "d", 2)
    '−0.50 [−1.25, 0.00]'
    """
    if row.get(name) is None:
        return DASH
    return f"{number(row[name], digits, unit)} {interval(row, name, digits)}".rstrip()


def interval(row: Mapping[str, Any], name: str, digits: int = 3) -> str:
    """The interval of a number in brackets; empty where the row has none.

    >>> interval({"pse_low": 0.25, "pse_high": 0.75}, "pse", 2)
    '[0.25, 0.75]'
    """
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    return "" if low is None or high is None else f"[{number(low, digits)}, {number(high, digits)}]"


def duration(seconds: float) -> str:
    """A time.

    >>> duration(0.004), duration(0.25), duration(1234.5)
    ('under 0.01 s', '0.25 s', '1,234 s')
    """
    return "under 0.01 s" if seconds < 0.01 else number(seconds, 0 if seconds >= _WHOLE_SECONDS else 2, " s")


# --- probabilities --------------------------------------------------------------------------------------------------


def p_value(p: float | None) -> str:
    """A probability to two digits, however small it is; its spaces break no line.

    >>> p_value(0.0494), p_value(0.000078), p_value(1.0)
    ('0.049', '7.8\xa0×\xa010⁻⁵', '1.0')
    """
    if p is None:
        return DASH
    return f"{p:#.2g}" if p == 0 or p >= 0.001 else _power(p)


def _power(value: float) -> str:
    mantissa, exponent = f"{abs(value):.1e}".split("e")
    return f"{'−' if value < 0 else ''}{mantissa}\u00a0×\u00a010{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def p_equals(p: float | None) -> str:
    """How a sentence gives a p-value.

    >>> p_equals(0.031)
    'p\xa0=\xa00.031'
    """
    return f"p\u00a0=\u00a0{p_value(p)}"


def stars(p: float | None) -> str:
    """How small a p-value is: * below 0.05, ** below 0.01, *** below 0.001.

    >>> stars(0.03), stars(0.0001), stars(0.05)
    ('*', '***', '')
    """
    return "" if p is None else next((mark for bound, mark in _STARS if p < bound), "")


def significant(p: float | None) -> bool:
    """Whether chance alone is a poor explanation, at the level that one star stands for."""
    return p is not None and p < SIGNIFICANCE


# --- words ----------------------------------------------------------------------------------------------------------


def some(names: Sequence[str], most: int = 5) -> str:
    """The first of many names as a sentence lists them, and how many more there are.

    >>> some(["a", "b"]), some(["a", "b", "c", "d"], most=2)
    ('a and b', 'a, b and 2 more')
    """
    return listed([*names[:most], *([f"{len(names) - most:,} more"] if len(names) > most else [])])


def phrase(name: str) -> str:
    """A name of the tables as a page writes it.

    >>> phrase("smallest_gap")
    'smallest gap'
    """
    return name.replace("_", " ")


def isolated(text: str) -> str:
    """Text that keeps to itself where it runs from right to left, so that numbers beside it stay in their order.

    >>> isolated("nurse"), len(isolated("ممرضة"))
    ('nurse', 7)
    """
    turns = any(unicodedata.bidirectional(character) in {"R", "AL"} for character in text)
    return f"\u2068{text}\u2069" if turns else text


def quoted(word: str) -> str:
    """A word as a sentence mentions it.

    >>> quoted("nurse")
    '“nurse”'
    """
    return f"“{isolated(word)}”"
