"""The sections on slices of the page of `error_characterisation`."""

import polars as pl

from tiltmeter.jobs.classifiers.errors.page.findings import leading, not_one
from tiltmeter.jobs.classifiers.errors.page.words import in_words
from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.grids import cell, count, estimate, grid, optional, p_value, percent
from tiltmeter.jobs.report.html.elements import Block, Chart, Details, Grid, Paragraph
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.style import Row, lines
from tiltmeter.jobs.runtime.published import Frames

_MOST = 40
_ROW = 56
"""Pixels for a label of three lines."""


def slice_blocks(frames: Frames) -> list[Block]:
    first, others = leading(frames), frames["slices"].filter(pl.col("leading").is_null())
    significant = others.filter(pl.col("p_value") < wording.SIGNIFICANCE)
    blocks: list[Block] = []
    if not first.is_empty():
        blocks.append(_dots(first))
        blocks.append(
            _grid(
                "Slices that say what all significant ones say: each as short as it can be, none a shadow of another.",
                first,
            )
        )
    else:
        blocks.append(Paragraph(f"{not_one(frames)}."))
    blocks.append(
        Details("All other significant slices", [_grid("Parts and shadows of the slices above.", significant)])
    )
    return blocks


def _grid(caption: str, rows: pl.DataFrame) -> Grid:
    return grid(
        f"{caption} Rates, and by how much they exceed that of the same predictions, are of texts that did not choose "
        "the slices; p (max-T) is of those that did.",
        rows,
        cell("slice", lambda row: in_words(row["predicates"])),
        cell("wrong", _confirmed, is_numeric=True),
        percent("confirmed_difference", "difference", 0),
        count("confirmed_size", "texts"),
        p_value("p_value", "p (max-T)"),
        optional(p_value("confirmed_p", "p (Holm)")),
        percent("suspected_share", "suspected labels", 0),
        most=_MOST,
        table="slices",
    )


def _confirmed(row: Row) -> str:
    if row["confirmed_rate"] is None:
        return ""
    rate, low, high = (wording.percent(row[f"confirmed_{end}"], 0) for end in ("rate", "low", "high"))
    return f"{rate} [{low}, {high}]"


def _dots(rows: pl.DataFrame) -> Chart:
    shown = rows.head(20).with_columns(
        pl.Series("name", [in_words(names).removeprefix("texts ") for names in rows.head(20)["predicates"]]),
        rate=pl.col("confirmed_rate"),
        rate_low=pl.col("confirmed_low"),
        rate_high=pl.col("confirmed_high"),
    )
    figure = dots(
        shown,
        "rate",
        "name",
        title="error rate of texts that confirm",
        hover=lambda row: lines(row["name"], _confirmed(row)),
        label=_wrapped,
        row_height=_ROW,
    )
    return Chart(
        "Dot plot of the error rates of slices on texts that did not choose them.",
        "Error rates on the half of the texts that did not choose the slices, with intervals by their groups.",
        {"": figure},
    )


def _wrapped(name: str, width: int = 34) -> str:
    """A label of several lines, as plotly breaks them."""
    broken, length = [], 0
    for word in wording.isolated(name).replace("&", "&amp;").replace("<", "&lt;").split():
        length += len(word) + 1
        broken.append(f"<br>{word}" if length > width else word)
        length = len(word) if length > width else length
    return " ".join(broken)


def versions_grid(frames: Frames) -> Grid:
    return grid(
        "Error rates of both versions on the same texts; the interval of a change is that of one slice, p is "
        "adjusted. Slices are of what both versions share.",
        frames["versions"],
        cell("slice", lambda row: row["slice"] if row["slice"] == "all texts" else in_words(row["predicates"])),
        count("size", "texts"),
        percent("before"),
        percent("after"),
        estimate("change"),
        p_value("p_value", "p (max-T)"),
        most=_MOST,
        table="versions",
    )
