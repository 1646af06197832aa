"""Columns that tables of all jobs share, and short forms for those of the usual types."""

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
