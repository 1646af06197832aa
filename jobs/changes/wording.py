"""How a comparison writes values, rows and numbers of things."""

import json
import math
from collections.abc import Mapping
from typing import Any

_MOST_CHARACTERS = 80


def amount(value: float | None) -> str:
    """A number to four digits, whole ones in full, with a real minus sign.

    >>> amount(1012345.0), amount(-0.123456), amount(1e-9), amount(None), amount(math.nan), amount(-math.inf)
    ('1,012,345', '−0.1235', '1e−09', 'none', 'undefined', '−∞')
    """
    if value is None:
        return "none"
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    is_whole = float(value).is_integer() and abs(value) < 1e15
    return (f"{value:,.0f}" if is_whole else f"{value:.4g}").replace("-", "−")


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """A number and its interval, if it has one.

    >>> with_interval(0.5, 0.25, 0.75), with_interval(0.5, None, None)
    ('0.5 [0.25, 0.75]', '0.5')
    """
    return amount(value) if low is None or high is None else f"{amount(value)} [{amount(low)}, {amount(high)}]"


def as_text(value: Any) -> str | None:
    """A value as text: words as they are, the rest as JSON; None for none.

    >>> as_text("nurse"), as_text(["a", None]), as_text(True), as_text(None)
    ('nurse', '["a", null]', 'true', None)
    """
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def value_text(value: Any) -> str:
    """A value in a sentence, cut if it is long; words are quoted.

    >>> value_text("nurse"), value_text(["a", 1]), value_text(None), value_text(True), value_text("a" * 100)[-4:]
    ('“nurse”', '["a", 1]', 'none', 'true', 'aaa…')
    """
    text = f"“{value}”" if isinstance(value, str) else as_text(value) or "none"
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def change_text(before: Any, after: Any) -> str:
    """What a value was and is now; long texts without the part with which both begin.

    >>> change_text(10, 5), change_text("a" * 100 + "b", "a" * 100 + "c")
    ('was 10 and is 5 now', 'was “…b” and is “…c” now')
    """
    if isinstance(before, str) and isinstance(after, str) and max(len(before), len(after)) > _MOST_CHARACTERS:
        pairs = enumerate(zip(before, after, strict=False))
        shared = next((place for place, (one, other) in pairs if one != other), min(len(before), len(after)))
        before, after = (f"…{text[shared:]}" if shared else text for text in (before, after))
    return f"was {value_text(before)} and is {value_text(after)} now"


def row_name(key: Mapping[str, Any]) -> str:
    """A row by its key columns, those that have a value.

    >>> row_name({"word": "nurse", "cue_1": "she", "test": None})
    'word nurse, cue_1 she'
    """
    return ", ".join(f"{name} {value}" for name, value in key.items() if value is not None)


def is_exact(row: Mapping[str, Any]) -> bool:
    """Whether a number moved that had an interval without width, in which no distance can be measured.

    >>> is_exact({"difference": 0.5, "half_widths": math.inf}), is_exact({"difference": 0.5, "half_widths": 2.0})
    (True, False)
    """
    return row["half_widths"] == math.inf and math.isfinite(row["difference"])


def half_widths_text(row: Mapping[str, Any]) -> str:
    """In a cell: how many half-widths a number moved, unless it was exact.

    >>> half_widths_text({"difference": 0.5, "half_widths": math.inf}), half_widths_text({"half_widths": None})
    ('exact', 'none')
    """
    return "exact" if is_exact(row) else amount(row["half_widths"])


def widths(num: float | None) -> str:
    """How many half-widths a number moved.

    >>> widths(1.0), widths(2.5)
    ('1 half-width', '2.5 half-widths')
    """
    return f"{amount(num)} {'half-width' if num == 1 else 'half-widths'}"
