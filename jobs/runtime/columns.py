"""Columns that tables of all jobs share, and what the names of columns say of numbers and their intervals."""

from collections.abc import Sequence

import pyarrow as pa

from tiltmeter.storage.store.tables import column

STATUS = column("status", pa.string(), "'ok', or why there is no result, in a word")
REASON = column("reason", pa.string(), "why the status is not 'ok', in a sentence; empty otherwise")


ENDS = ("low", "high")
"""Of the columns of an interval. Plain, they are of the column that they follow."""

OTHER_ENDS = ("percentile", "monte_carlo", "cues", "band")
"""Of other intervals of a number, which end in these and in ``_low`` and ``_high``."""

SPREAD = (*(f"{kind}_{end}" for kind in OTHER_ENDS for end in ENDS), "sd_training", "sd_sampling")
"""Endings of other columns that say how sure a number is, which are about it and no numbers of their own."""


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
