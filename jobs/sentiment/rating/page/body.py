"""The page of `sentiment_rating`."""

from collections.abc import Callable, Mapping

import polars as pl

from tiltmeter.jobs.report.findings import Frames
from tiltmeter.jobs.report.page import Body, write_report
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.config import RatingRun
from tiltmeter.jobs.sentiment.rating.page.findings import findings
from tiltmeter.jobs.sentiment.rating.page.names import variants_of
from tiltmeter.jobs.sentiment.rating.page.sections import sections
from tiltmeter.jobs.sentiment.rating.sentences import FileSentences
from tiltmeter.jobs.sentiment.rating.sources import RatingSources

_LARGE = {"sentences": tables.SENTENCES, "translations": tables.TRANSLATIONS, "scores": tables.SCORES}


def write_rating_report(run: Run[RatingRun, RatingSources]) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published."""
    published = {name for name, entry in run.directory.tables.items() if entry}
    write_report(run, rating_body(run.config, run.sources.missing, published), large_tables=list(_LARGE))


def rating_body(config: RatingRun, left_out: Mapping[str, str], published: set[str]) -> Callable[[Frames], Body]:
    """What the page of a run shows of its tables, all but those with a row for each text.

    Args:
        left_out: round trips that were not made, and why.
        published: names of all tables.
    """

    def body(frames: Frames) -> Body:
        return Body(
            "Sentiment systems, rated for bias",
            _facts(config, frames["raw_scores"]),
            findings(frames, left_out),
            sections(frames, config.rating, _kind(config)),
            {name: schema for name, schema in _LARGE.items() if name in published},
        )

    return body


def _kind(config: RatingRun) -> str:
    if config.scores is not None:
        return ""
    return "human" if isinstance(config.sentences, FileSentences) else "synthetic"


def _facts(config: RatingRun, raw_scores: pl.DataFrame) -> dict[str, str]:
    systems = raw_scores["system"].unique(maintain_order=True)
    language = {} if config.scores is not None else {"language": config.language}
    return {
        "job": config.job.name,
        **language,
        "systems": ", ".join(systems),
        "variants": ", ".join(variants_of(raw_scores)),
        "convention": config.rating.convention,
        "seed": str(config.seed),
    }
