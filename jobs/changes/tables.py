"""The table `changes`: what differs between two runs, one row for each change or for many of one kind."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import count, number, text
from tiltmeter.storage.store.tables import column

Change = dict[str, Any]
"""A row of the table, by column."""


CHANGES = pa.schema(
    [
        text(
            "kind",
            "'setting', 'input', 'version'; 'table' (it differs, came or is gone), 'column', 'row' (came or is gone), "
            "'status', 'number', or 'text', which is any other value",
            key=True,
        ),
        text("table", "table that differs; null for settings, inputs and versions", key=True),
        text("column", "column that differs; null where it is not about one", key=True),
        text("item", "key of the setting, name of the input or of the package; null for tables", key=True),
        text("row", "the row's key columns in words, without those that are the same in all rows of the table"),
        text("key", "all its key columns as a JSON object; null where it is not about rows", key=True),
        number("before", "number in the earlier run; of a table, its rows"),
        number("before_low", "lower end of its interval"),
        number("before_high", "upper end of its interval"),
        number("after", "number in the later run; of a table, its rows"),
        number("after_low", "lower end of its interval"),
        number("after_high", "upper end of its interval"),
        number("difference", "after less before; of lists of numbers, the largest distance of two items"),
        number("difference_low", "lower end of the interval of the difference"),
        number("difference_high", "upper end of the interval of the difference"),
        number(
            "half_widths",
            "distance of before and after in units of half the earlier interval; infinite if that was exact",
            "half-widths",
        ),
        column(
            "beyond",
            pa.bool_(),
            "whether it moved: by the interval of the difference, or where there is none, beyond the earlier interval; "
            "null for what has neither",
        ),
        number("p", "p-value of the difference; null where it is judged by the earlier interval"),
        text("paired_by", "what both runs share: 'replicas' or 'items'; 'unpaired', or null without draws"),
        column(
            "num_changed",
            pa.int64(),
            "rows that this row stands for; of a table whose rows were compared, its numbers beyond",
        ),
        column(
            "num_compared",
            pa.int64(),
            "of so many rows; of a table whose rows were compared, of so many numbers with an interval",
        ),
        number("median_difference", "median distance of before and after over these rows, where they are several"),
        text("text_before", "value in the earlier run as text; null if there was none"),
        text("text_after", "value in the later run as text; null if there is none"),
        text("sentence", "the same in words"),
    ]
)
"""Where one row sums up several that changed alike, it shows the row that moved the most, or else the first one."""

DIFFERENCES = pa.schema(
    [
        text("table", "table of the number", key=True),
        text("column", "its column", key=True),
        text("row", "its row's key columns in words, without those that are the same in all rows of the table"),
        text("key", "all its key columns as a JSON object", key=True),
        number("before", "number in the earlier run"),
        number("after", "number in the later run"),
        number("difference", "after less before"),
        number("low", "lower end of the interval of the difference; null without draws"),
        number("high", "upper end of the interval of the difference"),
        number("p", "p-value of no difference but by chance; null without draws"),
        number("q", "the same adjusted for all numbers of the table, by Benjamini and Hochberg"),
        number(
            "p_texts",
            "p-value of no difference of the mean over replicas of these very texts; null unless both runs draw and "
            "train alike what they share (embedding.keyed_by=word, and as many blocks of words)",
        ),
        number("q_texts", "the same adjusted for all numbers of the table"),
        count("num_draws", "replicas or resamples that the interval rests on, of both runs", "draws"),
        text(
            "paired_by",
            "what both runs share, draw by draw: 'replicas' (their lines are drawn alike), or 'items' (texts, records: "
            "the same ones, drawn alike); 'unpaired': each has draws of its own; 'none': there are no draws",
        ),
        text(
            "verdict",
            "'moved' (q is at most 0.05; without draws, beyond the earlier interval); 'moved in these texts' (q_texts "
            "is, so that these texts have another number, and others of their kind might have the same); 'stayed'; or "
            "'came' or 'gone' with its row",
        ),
    ]
)
"""Every number with an interval in a table that differs, and those that came or went with their row."""


def change_table(changes: Sequence[Change]) -> pa.Table:
    """The changes as a table; what a change does not say is null."""
    return pa.Table.from_pylist(list(changes), CHANGES)
