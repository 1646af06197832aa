"""Names and raw scores as the report on sentiment systems writes them, and the rows that belong together."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.wording import interval, number
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL

Row = Mapping[str, Any]

MEASURES = {"wrs": "WRS", "die": "DIE"}
KEY = ["variant", "group", "protected", "system", "measure"]

_ATTRIBUTES = {"gender_race": "gender and race"}


def attribute(protected: str) -> str:
    """A protected attribute as it is shown.

    >>> attribute("gender_race"), attribute("race")
    ('gender and race', 'race')
    """
    return _ATTRIBUTES.get(protected, protected)


def case_name(row: Row) -> str:
    """Where systems are put in order: in a group of texts, by a protected attribute."""
    return f"{row['group']}, by {attribute(row['protected'])}"


def by_case(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows by their case, in the order of the table."""
    parts = rows.partition_by("group", "protected", maintain_order=True)
    return {case_name(part.row(0, named=True)): part for part in parts}


def variants_of(rows: pl.DataFrame) -> list[str]:
    """The variants, the original first.

    >>> variants_of(pl.DataFrame({"variant": ["es", "original", "es", "da"]}))
    ['original', 'es', 'da']
    """
    return sorted(rows["variant"].unique(maintain_order=True), key=lambda variant: variant != ORIGINAL)


def texts_of(variant: str) -> str:
    """The texts of a variant as a sentence names them."""
    return "the original texts" if variant == ORIGINAL else f"the texts of the round trip {variant}"


def amount(value: float | None, measure: str) -> str:
    """A raw score, or a change of one.

    >>> amount(4.4, "wrs"), amount(211.11, "die"), amount(None, "die"), amount(float("inf"), "die")
    ('4.4', '211.1%', '–', '∞')
    """
    return number(value, 1, "%" if measure == "die" else "")


def scored(row: Row, name: str = "raw_score") -> str:
    """A raw score with its interval.

    >>> scored({"measure": "die", "raw_score": 7.5, "raw_score_low": 0.0, "raw_score_high": float("inf")})
    '7.5% [0.0, ∞]'
    """
    return f"{amount(row[name], row['measure'])} {interval(row, name, 1)}".rstrip()


# --- rows that belong together ---------------------------------------------------------------------------------------


def rated(frames: Frames) -> pl.DataFrame:
    """The raw scores that ratings go by, with rank and rating; those that are undefined as well."""
    places = frames["ratings"].select(*KEY, "rank", "rating", "num_levels")
    return frames["raw_scores"].join(places, on=KEY, maintain_order="left")


def rated_comparisons(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Those of raw scores that ratings go by: with a rating before or after."""
    return comparisons.filter(pl.any_horizontal(pl.col("original_rating", "rating").is_not_null()))


def by_word(frames: Frames) -> pl.DataFrame:
    """Protected words by variant and group, over the group's data sets."""
    if "protected_words" not in frames:
        return pl.DataFrame(schema=["variant", "group", "word", "num_texts", "num_lost", "percent_lost"])
    counts = pl.col("num_texts", "num_lost").sum()
    rows = frames["protected_words"].group_by("variant", "group", "word", maintain_order=True).agg(counts)
    return rows.with_columns((100.0 * pl.col("num_lost") / pl.col("num_texts")).alias("percent_lost"))
