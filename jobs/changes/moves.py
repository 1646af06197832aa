"""Every number of one column in two runs, side by side: what a gate looks at."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from tiltmeter.jobs.changes.differences import DrawsOfRuns, Limits, limits_of
from tiltmeter.jobs.changes.matching import Matched, UnmatchableError, match
from tiltmeter.jobs.changes.numbers import decided, judged_column
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.runtime.columns import interval_columns

_IS_NUMBER = pl.col("before").fill_nan(None).is_not_null()


@dataclass(frozen=True)
class Moves:
    """How far each number of a column moved from an earlier run to a later one.

    Attributes:
        matched: the rows of both.
        numbers: of each number of the earlier run ``before``, ``after``, ``difference``, ``half_widths`` and
            ``beyond``, as in the table ``changes``; ``beyond_in_texts``, whether it moved in these texts; ``is_gone``,
            whether there is none any more; and where it stands, ``pair`` or ``gone`` of the rows that were matched.
    """

    matched: Matched
    numbers: pl.DataFrame

    def row(self, number: dict[str, Any]) -> str:
        """The row of a number of ``numbers``, in words."""
        matched, pair = self.matched, number["pair"]
        by_key = matched.named_gone(number["gone"]) if pair is None else matched.named(pair)
        return str(by_key["row"])


def moves(before: PastRun, after: PastRun, table: str, column: str, limits: Limits | None = None) -> Moves:
    """See :class:`Moves`.

    Args:
        before, after: the earlier run and the later one.
        table, column: of numbers.
        limits: of numbers that moved; None: by the numbers of this column.

    Raises:
        UnmatchableError: if a run lacks the table or the column, or the rows can't be matched.
    """
    for run, which in ((before, "earlier"), (after, "later")):
        if table not in run.tables:
            raise UnmatchableError(f"the {which} run has no table {table}")
    matched = match(before.read(table), after.read(table))
    for frame, which in ((matched.before, "earlier"), (matched.after, "later")):
        if column not in frame.columns or not frame.schema[column].is_numeric():
            raise UnmatchableError(f"the {which} run's table {table} has no numbers {column}")
    numbers = judged_column(matched, column, interval_columns(matched.after.columns).get(column))
    judged = DrawsOfRuns(before, after).judged(table, column, matched, numbers)
    limits = limits or limits_of([judged])
    kept = decided(judged, limits.p).filter(_IS_NUMBER)
    is_gone = pl.col("after").fill_nan(None).is_null()
    in_texts = (pl.col("p_texts") <= limits.p_texts).fill_null(False).alias("beyond_in_texts")
    kept = kept.select("pair", "before", "after", "difference", "half_widths", "beyond", "p", in_texts, is_gone=is_gone)
    return Moves(matched, pl.concat([kept, _gone(matched, column)], how="diagonal"))


def _gone(matched: Matched, column: str) -> pl.DataFrame:
    """The numbers of rows that are gone."""
    numbers = matched.before[column].gather(matched.gone).cast(pl.Float64)
    rows = pl.DataFrame({"before": numbers}).with_row_index("gone").with_columns(is_gone=pl.lit(True))
    return rows.filter(_IS_NUMBER)
