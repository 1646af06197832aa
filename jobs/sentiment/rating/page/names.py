"""How the page on sentiment systems names cases and writes raw scores, and which of them ratings go by."""

import polars as pl

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.wording import estimate, number
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL

MEASURES = {"wrs": "WRS", "die": "DIE"}
_UNITS = {"wrs": "", "die": "%"}

MOST_ROWS = 60
"""Of a table on the page."""


def attribute(protected: str) -> str:
    """A protected attribute as it is shown.

    >>> attribute("gender_race"), attribute("race")
    ('gender and race', 'race')
    """
    return protected.replace("_", " and ")


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


def amount(row: Row, name: str = "raw_score") -> str:
    """A raw score in the unit of its measure.

    >>> amount({"measure": "die", "raw_score": 211.11}), amount({"measure": "wrs", "raw_score": None})
    ('211.1%', '–')
    """
    return number(row[name], 1, _UNITS[row["measure"]])


def scored(row: Row, name: str = "raw_score") -> str:
    """A raw score, or a change of one, with its interval.

    >>> scored({"measure": "die", "raw_score": 7.5, "raw_score_low": 0.0, "raw_score_high": float("inf")})
    '7.5% [0.0, ∞]'
    """
    return estimate(row, name, 1, _UNITS[row["measure"]])


def rated(frames: Frames) -> pl.DataFrame:
    """The raw scores that ratings go by, with rank and rating; those that are undefined as well."""
    key = ["variant", "group", "protected", "system", "measure"]
    places = frames["ratings"].filter("decides").select(*key, "rank", "rating", "num_levels")
    return frames["raw_scores"].join(places, on=key, maintain_order="left")
