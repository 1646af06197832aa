"""Columns that tables of all jobs share, and short forms for those of the usual types."""

from collections.abc import Sequence

import pyarrow as pa

from tiltmeter.storage.store.tables import column

_WHOLE = pa.int64()

STATUS = column("status", pa.string(), "'ok', or why there is no result, in a word")
REASON = column("reason", pa.string(), "why the status is not 'ok', in a sentence; empty otherwise")


def text(name: str, sentence: str, *, key: bool = False) -> pa.Field:
    """A column of text."""
    return column(name, pa.string(), sentence, key=key)


def number(name: str, sentence: str, unit: str = "") -> pa.Field:
    """A column of numbers."""
    return column(name, pa.float64(), sentence, unit)


def count(name: str, sentence: str, unit: str = "", *, key: bool = False, type: pa.DataType = _WHOLE) -> pa.Field:
    """A column of whole numbers."""
    return column(name, type, sentence, unit, key=key)


ENDS = ("low", "high")
"""Of the columns of an interval; see :func:`interval`. Plain, they are of the column that they follow."""

OTHER_ENDS = ("percentile", "monte_carlo", "cues", "band")
"""Of other intervals of a number, which end in these and in ``_low`` and ``_high``."""

SPREAD = (*(f"{kind}_{end}" for kind in OTHER_ENDS for end in ENDS), "sd_training", "sd_sampling")
"""Endings of other columns that say how sure a number is, which are about it and no numbers of their own."""


def interval(name: str, sentence: str, unit: str = "") -> list[pa.Field]:
    """The two ends of the interval of the number ``name``, by which a comparison of runs judges it.

    Args:
        name: of the number.
        sentence: whose interval it is, such as ``interval of the replicas' values of bias``.
        unit: of the number.
    """
    return [
        number(f"{name}_low", f"lower end of the {sentence}", unit),
        number(f"{name}_high", f"upper end of the {sentence}", unit),
    ]


def interval_columns(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The columns that have an interval, with those of its ends.

    ``x_low`` and ``x_high`` are the ends of ``x``, ``x_rate`` or ``x_ratio``; plain ``low`` and ``high`` those of the
    column before.

    >>> interval_columns(["d", "d_low", "d_high", "p_low", "p_high", "k_rate", "k_low", "k_high", "n", "low", "high"])
    {'d': ('d_low', 'd_high'), 'k_rate': ('k_low', 'k_high'), 'n': ('low', 'high')}
    >>> interval_columns(["flip_rate", "flip_rate_low", "flip_rate_high"])
    {'flip_rate': ('flip_rate_low', 'flip_rate_high')}
    """
    low, high = ENDS
    without_rate = {name: name.removesuffix("_rate").removesuffix("_ratio") for name in names}
    ends_of = {stem: (f"{stem}_{low}", f"{stem}_{high}") for stem in [*names, *without_rate.values()]}
    named = {
        name: ends_of[name if ends_of[name][0] in names or stem in names else stem]
        for name, stem in without_rate.items()
    }
    follows = {first: ENDS for first, *ends in zip(names, names[1:], names[2:], strict=False) if tuple(ends) == ENDS}
    return {name: ends for name, ends in (named | follows).items() if {*ends} <= {*names}}
