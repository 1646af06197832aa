"""Which rows lean to a side of a neutral value: the one place that sentences, colours, bold cells and legends ask."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import polars as pl

from tiltmeter.operators.statistics.sides import CONTRADICTORY, Estimate, Side, side


class Lean(NamedTuple):
    """The columns of a table that say to which side its rows lean.

    Attributes:
        value: the column of the estimate.
        neutral: what leans to no side.
        others: columns of other statistics of the same thing, which must not contradict.
        has_direction: whether the number of a row says which way, and not only how much.
    """

    value: str
    neutral: float = 0.0
    others: tuple[str, ...] = ()
    has_direction: Callable[[Mapping[str, Any]], bool] = lambda _: True

    def side(self, row: Mapping[str, Any]) -> Side:
        """The side of a row.

        >>> Lean("d").side({"d": 0.36, "d_low": -1.08, "d_high": -0.37})
        'opposite'
        """
        if not self.has_direction(row):
            return "undirected"
        estimate = estimate_of(row, self.value)
        return side(estimate, self.neutral, *(_known(row.get(name)) for name in self.others))

    def is_disputed(self, row: Mapping[str, Any]) -> bool:
        """Whether another statistic does not lie on the side of the estimate, whatever their intervals.

        >>> Lean("d", others=("score",)).is_disputed({"d": 0.36, "score": -0.08})
        True
        """
        alone = Estimate(*[_known(row.get(self.value))] * 3)
        return (
            self.has_direction(row)
            and side(alone, self.neutral, *(_known(row.get(name)) for name in self.others)) == "disputed"
        )


class Sides(NamedTuple):
    """Rows by what may be said of them.

    Attributes:
        above, below: those that lean.
        neither: those whose interval includes the neutral value.
        contradictory: those whose interval names a side that the estimate, or another statistic, does not bear out.
        unknown: those without an estimate, an interval or a direction.
    """

    above: pl.DataFrame
    below: pl.DataFrame
    neither: pl.DataFrame
    contradictory: pl.DataFrame
    unknown: pl.DataFrame

    @property
    def leaning(self) -> pl.DataFrame:
        """The rows that lean to a side."""
        return pl.concat([self.above, self.below])


def estimate_of(row: Mapping[str, Any], name: str, ending: str = "") -> Estimate:
    """A number of a row with an interval, whose columns may all have an ending; NaN for what the row does not have."""
    return Estimate(*(_known(row.get(f"{column}{ending}")) for column in (name, f"{name}_low", f"{name}_high")))


def on_sides(rows: pl.DataFrame, lean: Lean) -> Sides:
    """The rows by side, each in the order of the table."""
    directions = sides_of(rows, lean)
    kinds = (["above"], ["below"], ["neither"], CONTRADICTORY, ["unknown", "undirected"])
    return Sides(*(rows.filter(directions.is_in(list(kind))) for kind in kinds))


def sides_of(rows: pl.DataFrame, lean: Lean) -> pl.Series:
    """The side of every row, called ``side``."""
    return pl.Series("side", map(lean.side, rows.iter_rows(named=True)), pl.String)


def contradictory(preposition: str, num: int) -> str:
    """The end of a sentence that counts sides; empty where no numbers contradict each other.

    >>> contradictory("in", 3), contradictory("for", 0)
    ('; in 3 the numbers contradict each other and name no side', '')
    """
    return f"; {preposition} {num:,} the numbers contradict each other and name no side" if num else ""


OPEN_ORDER = "a number outside of its interval leaves the order open"
"""Of two estimates whose intervals lie apart."""


def _known(number: float | None) -> float:
    return float("nan") if number is None else number
