"""What clusters had to obey beside the scores, on the page."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.grids import cell, count, grid, text
from tiltmeter.jobs.report.html.elements import Block
from tiltmeter.jobs.resolution.page import words

_NAMES = {
    "must_link": "records that are one entity",
    "cannot_link": "records that are not",
    "one_per_source": "one record of each source",
}


def constraints(counts: pl.DataFrame) -> Iterator[Block]:
    """How many constraints there were, and which scores they overrule."""
    if counts.height:
        yield grid(
            "What the clusters obey, whatever the scores say. A pair is overruled if its weight says the reverse.",
            counts,
            text("constraint", names=_NAMES),
            count("num_given", "given"),
            count("num_unknown", "of records that are not here"),
            count("num_scored", "scored pairs decided"),
            count("num_against", "overruled"),
            cell("weight overruled", lambda row: words.weight(row["weight_against"]), is_numeric=True),
        )
