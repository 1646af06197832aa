"""The page of `sentiment_rating`."""

from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.config import RatingRun
from tiltmeter.jobs.sentiment.rating.page.findings import findings
from tiltmeter.jobs.sentiment.rating.page.names import variants_of
from tiltmeter.jobs.sentiment.rating.page.sections import sections
from tiltmeter.jobs.sentiment.rating.sources import RatingSources
from tiltmeter.jobs.sentiment.rating.turns import FileSentences


def page(run: Run[RatingRun, RatingSources], frames: Frames) -> Body:
    """What the page of a run shows of its tables, all but those with a row for each text."""
    config, raw_scores = run.config, frames["raw_scores"]
    kind = "human" if isinstance(config.sentences, FileSentences) else "synthetic"
    facts = {
        "job": config.job.name,
        **({} if config.has_scores else {"language": config.language}),
        "systems": ", ".join(raw_scores["system"].unique(maintain_order=True)),
        "variants": ", ".join(variants_of(raw_scores)),
        "convention": config.rating.convention,
        "seed": str(config.seed),
    }
    return Body(
        "Sentiment systems, rated for bias",
        facts,
        findings(frames, run.sources.missing),
        sections(frames, config.rating, "" if config.has_scores else kind),
    )
