"""What came of faults, as a table."""

from dataclasses import dataclass

TWO_RUNS = "two runs at once"
COLUMNS = ("fault", "moment", "run", "in ledger", "in flight", "done again", "tables")


@dataclass(frozen=True)
class Row:
    """
    Attributes:
        fault: its name.
        moment: when it happened.
        run: whether the run survived, or how often it was started again.
        num_in_ledger: units that were finished when it happened.
        num_in_flight: workers that were at a unit.
        num_again: finished units that were done once more; of two runs at once, units that both did.
        tables: whether they are those of the undisturbed run.
    """

    fault: str
    moment: str
    run: str
    num_in_ledger: int
    num_in_flight: int
    num_again: int
    tables: str


def lines(rows):
    """A table of rows as tuples, and their sum."""
    cells = [COLUMNS, *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    return [*table, _sum([Row(*row) for row in rows])]


def _sum(rows):
    survived = sum(row.run == "survived" for row in rows)
    identical = sum(row.tables == "identical" for row in rows)
    hit = [row for row in rows if row.fault != TWO_RUNS]
    return (
        f"{len(rows)} faults: {survived} survived, {len(rows) - survived} started again, {identical} with identical "
        f"tables; of {sum(row.num_in_ledger for row in hit)} finished units {sum(row.num_again for row in hit)} were "
        f"done again"
    )
