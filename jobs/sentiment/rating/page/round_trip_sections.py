"""The sections of a report on sentiment systems that say what round trips did to raw scores and to words."""

import polars as pl

from tiltmeter.jobs.report.findings import measured, on_side
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Grid, Paragraph
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.page import grids as rating_grids
from tiltmeter.jobs.sentiment.rating.page.findings import changes
from tiltmeter.jobs.sentiment.rating.page.names import by_word, rated_comparisons


def round_trips(frames: Frames, kind: str) -> list[Block]:
    """The questions of Lakkaraju et al. 2023, as far as the run answers them; nothing without a round trip.

    Args:
        kind: of the texts: synthetic or human; empty if it is not known.
    """
    rows = rated_comparisons(frames["comparisons"])
    if rows.is_empty():
        return []
    every = Details("All of them", [rating_grids.comparisons(rows, "Raw scores that ratings go by.")])
    return [Paragraph(_questions(kind)), _summary(rows), Bullets(list(changes(rows))), *_moved(rows), every]


def _moved(rows: pl.DataFrame) -> list[Grid]:
    above, below = on_side(measured(rows), "change", 0.0)
    moved = pl.concat([above, below])
    return [rating_grids.comparisons(moved, "Changes whose interval excludes 0.")] if moved.height else []


def _questions(kind: str) -> str:
    other = {"synthetic": "human", "human": "synthetic"}
    first = (
        f"The texts of this run are {kind}: the first question needs another run, on {other[kind]} ones."
        if kind
        else "For the first one, set the groups that people wrote beside the others: scores do not tell them apart."
    )
    return (
        "Lakkaraju et al. 2023 ask whether texts that people wrote show more bias than synthetic ones, whether a round "
        f"trip changes the bias that systems show, and in which direction. {first} The interval of a change is of the "
        "same resamples before and after; none is widened for there being many."
    )


def _summary(rows: pl.DataFrame) -> Grid:
    numbers = ["compared", "higher", "lower", "interval includes 0", "not comparable", "rated higher", "rated lower"]
    return Grid(
        "Raw scores after each round trip, against those of the original texts. Higher, lower: the whole interval of "
        "the change lies on that side of 0.",
        ["round trip", *numbers],
        [_counts(variant, part) for (variant,), part in rows.group_by("variant", maintain_order=True)],
        numeric=numbers,
    )


def _counts(variant: object, rows: pl.DataFrame) -> list[str]:
    compared = measured(rows)
    sides = [part.height for part in on_side(compared, "change", 0.0)]
    between = compared.drop_nulls("change_low").height - sum(sides)
    moved = compared["rating"] - compared["original_rating"]
    counts = [compared.height, *sides, between, rows.height - compared.height, (moved > 0).sum(), (moved < 0).sum()]
    return [str(variant), *map(str, counts)]


def words(frames: Frames) -> list[Block]:
    """Which words that tell gender or race were lost, and how often."""
    rows = by_word(frames)
    if rows.is_empty():
        return []
    text = (
        "A text tells gender or race by certain words. If a round trip loses them, a system can't lean on them any "
        "longer: less bias after a round trip may mean that there is less to see."
    )
    if not rows["num_lost"].sum():
        return [Paragraph(f"{text} Here none was lost.")]
    return [Paragraph(text), rating_grids.lost_words(rows, rows["variant"].unique(maintain_order=True).to_list())]
