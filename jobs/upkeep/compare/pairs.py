"""What is compared of two systems: the items that both have scores for."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

ITEMS: dict[str, type[pl.DataType]] = {
    "item": pl.String,
    "cluster": pl.String,
    "first": pl.Float64,
    "second": pl.Float64,
    "first_variance": pl.Float64,
    "second_variance": pl.Float64,
    "first_repeats": pl.Int32,
    "second_repeats": pl.Int32,
}


class Pair(NamedTuple):
    """Two systems on the items of one task, by one score.

    Attributes:
        task, score: which.
        first, second: names of the systems.
        items: a row for each item that both have a score for, with the columns of :data:`ITEMS`: the mean of each
            system's repeats, their unbiased variance (null for a single one) and how many have a score. ``cluster`` is
            null where nothing says what items share.
        num_unscored: repeats of these items without a score, of both systems, and what is known of why: such as
            ``{"error": 3, "refusal": 1}`` beside each.
        matched_by: ``item`` or ``content``: by which the items of both were found to be the same.
        num_missing: items of each system that the other one lacks.
    """

    task: str
    score: str
    first: str
    second: str
    items: pl.DataFrame
    num_unscored: tuple[dict[str, int], dict[str, int]] = ({}, {})
    matched_by: str = "item"
    num_missing: tuple[int, int] = (0, 0)


def reason_counts(reasons: Iterable[str | None]) -> dict[str, int]:
    """How often each reason is given, the most frequent first, of equally frequent ones by name."""
    counts = Counter(reason for reason in reasons if reason is not None)
    return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0])))
