"""What cannot be given on gender bias, and which words are the reason."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from tiltmeter.jobs.gender.findings import Tables, by_label, kind, pair_name
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Grid
from tiltmeter.jobs.report.wording import isolated

_NUM_NAMED = 5


def without_result(frames: Tables) -> list[Block]:
    """Languages, professions and pairs without a result by their status; the frames have labels."""
    tables = {"language": "gender_languages", "profession": "gender_professions", "pair": "gender_pairs"}
    rows = [
        [row["label"], what, str(row["num"]), _names(what, row["which"]), row["reason"]]
        for what, name in tables.items()
        for row in _lost(frames[name], what)
    ]
    headings = [kind(frames["gender_languages"]), "what", "number", "which", "why"]
    caption = f"What has no result: the first {_NUM_NAMED} by name, and the reason of the first."
    return [Grid(caption, headings, rows, numeric=["number"])] if rows else []


def _names(what: str, items: Sequence[str]) -> str:
    """A language stands in the first column already."""
    named = {"language": [], "profession": items, "pair": [pair_name(item) for item in items]}
    return ", ".join(named[what])


def _lost(rows: pl.DataFrame, what: str) -> Sequence[dict[str, Any]]:
    lost = rows.filter(pl.col("status") != "ok").group_by("label", "status", maintain_order=True)
    named = pl.col(what).head(_NUM_NAMED).alias("which")
    return lost.agg(pl.len().alias("num"), named, pl.col("reason").first()).to_dicts()


def without_vector(words: pl.DataFrame) -> list[Block]:
    """The words that each language lacks, to be opened when needed; rows of ``gender_words`` with labels."""
    listed = {label: part.height for label, part in by_label(words).items()}
    missing = words.filter(pl.col("status") == "missing_words")
    return [
        Details(f"{label}: {part.height} of {listed[label]} listed words have no vector", [Bullets(_by_item(part))])
        for label, part in by_label(missing).items()
    ]


def _by_item(words: pl.DataFrame) -> list[str]:
    parts = words.partition_by("list", "item", maintain_order=True)
    return [_item(part) if part["word"].to_list() == [part["item"][0]] else with_words(part) for part in parts]


def _item(words: pl.DataFrame) -> str:
    item = str(words["item"][0])
    return pair_name(item) if words["list"][0] == "defining" else item


def with_words(words: pl.DataFrame) -> str:
    """A pair or profession with its words; rows of ``gender_words`` for one item."""
    return f"{_item(words)} ({', '.join(isolated(word) for word in words['word'])})"
