"""What a terminal shows of the table `changes`."""

import polars as pl
from rich.console import Console

from tiltmeter.jobs.report.changes import change_findings

_MOST_CIRCUMSTANCES = 10


def print_changes(console: Console, rows: pl.DataFrame) -> None:
    """Print how many numbers moved beyond their intervals, the largest move, and which settings, inputs and versions
    differ."""
    circumstances = rows.filter(pl.col("kind").is_in(["setting", "input", "version"]))
    told = circumstances["sentence"].head(_MOST_CIRCUMSTANCES).to_list()
    if circumstances.height > _MOST_CIRCUMSTANCES:
        told.append(f"... and {circumstances.height - _MOST_CIRCUMSTANCES:,} more in the table changes")
    for sentence in (*change_findings(rows), *(f"  {text}" for text in told)):
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)
