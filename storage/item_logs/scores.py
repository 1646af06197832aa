"""What is read of a log of any format: scores, a row for each repeat of an item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

NO_TASK = "items"
"""Of files that name none."""

SCORES: dict[str, type[pl.DataType]] = {
    "task": pl.String,
    "item": pl.String,
    "repeat": pl.String,
    "sample": pl.String,
    "content": pl.UInt64,
    "cluster": pl.String,
    "score": pl.String,
    "value": pl.String,
    "reason": pl.String,
    "edited": pl.Boolean,
}


@dataclass(frozen=True)
class ScoreColumns:
    """What is read, by the settings ``logs.<name>``.

    Attributes:
        item, score, cluster, repeat, task: columns, within others with dots; None or empty: those of the format.
        only: by column, the value of the lines that are read.
        is_mapped: whether values that are no numbers may be scores.
        whole: whether the content of items is read whole, and not what Inspect's summaries have of it.
    """

    item: str | None = None
    score: Sequence[str] = ()
    cluster: str | None = None
    repeat: str | None = None
    task: str | None = None
    only: Mapping[str, str] = field(default_factory=dict)
    is_mapped: bool = False
    whole: bool = False

    def settings(self, item: str, scores: Sequence[str]) -> dict[str, str]:
        """By column, the setting that names it."""
        others = {"cluster": self.cluster, "repeat": self.repeat, "task": self.task}
        named = {column: f"logs.{name}" for name, column in others.items() if column}
        return {item: "logs.item"} | named | dict.fromkeys(scores, "logs.score")

    def takes(self, score: str) -> bool:
        """Whether a score is read: all are, unless some are named, with or without what follows a comma or dot.

        >>> [ScoreColumns(score=["f1"]).takes(name) for name in ("f1", "f1,strict", "f1.macro", "f10")]
        [True, True, True, False]
        """
        return not self.score or any(score == name or score.startswith((f"{name},", f"{name}.")) for name in self.score)


class ScoreLog(NamedTuple):
    """Attributes:
    format: of the file, such as ``Inspect``.
    rows: columns of :data:`SCORES`. ``sample`` is the same where several files have one sample, ``content`` is a hash
        of what an item says, ``value`` the score as it is written, ``reason`` the log's own word for why there is none,
        and ``edited`` whether it was changed afterwards; null where the log does not tell.
    known: names of all scores in the file, read or not.
    is_run: whether a file is one run, so that several files of a task repeat its items.
    num_left_out: lines that could not be read.
    num_replaced: lines of which the file has a later one for the same item.
    is_complete: whether the run that wrote it ended.
    version: of the task, and the model that did it.
    """

    format: str
    rows: pl.DataFrame
    known: Sequence[str]
    is_run: bool = True
    num_left_out: int = 0
    num_replaced: int = 0
    is_complete: bool = True
    version: str | None = None


def score_rows(
    cells: pl.DataFrame, scores: Mapping[str, pl.Expr], values: Sequence[str], **others: pl.Expr
) -> pl.DataFrame:
    """Rows of :data:`SCORES` of a wide table.

    Args:
        scores: by column of values, the name of the score.
        others: columns of :data:`SCORES`; null where it is not among them.
    """
    known = {name: others.get(name, pl.lit(None)).cast(kind) for name, kind in SCORES.items()}
    of_each = [cells.select(**known | {"score": scores[path], "value": pl.col(path)}) for path in values]
    return pl.concat([pl.DataFrame(schema=SCORES), *of_each])
