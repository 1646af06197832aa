"""Logs of evaluation harnesses, item by item: JSON lines, tables, and what Inspect writes."""

from tiltmeter.storage.item_logs.formats import is_log, read_scores
from tiltmeter.storage.item_logs.lines import ItemLog, LogColumns, label_in, number_in, read_item_log, task_of
from tiltmeter.storage.item_logs.scores import NO_TASK, ScoreColumns, ScoreLog

__all__ = [
    "NO_TASK", "ItemLog", "LogColumns", "ScoreColumns", "ScoreLog", "is_log", "label_in", "number_in", "read_item_log",
    "read_scores", "task_of",
]  # fmt: skip
