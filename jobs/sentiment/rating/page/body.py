"""The page of `sentiment_rating`."""

import polars as pl

from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.config import RatingRun
from tiltmeter.jobs.sentiment.rating.page.findings import findings
from tiltmeter.jobs.sentiment.rating.page.names import variants_of
from tiltmeter.jobs.sentiment.rating.page.sections import sections
from tiltmeter.jobs.sentiment.rating.sentences import FileSentences
from tiltmeter.jobs.sentiment.rating.sources import RatingSources


def page(run: Run[RatingRun, RatingSources], frames: Frames) -> Body:
    """What the page of a run shows of its tables, all but those with a row for each text."""
    config = run.config
    return Body(
        "Sentiment systems, rated for bias",
        _facts(config, frames["raw_scores"]),
        findings(frames, run.sources.missing),
        sections(frames, config.rating, _kind(config)),
    )


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
