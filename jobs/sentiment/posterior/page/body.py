"""The page of `sentiment_posterior`."""

from typing import Any

from tiltmeter.jobs.report.html.elements import Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.page.findings import doubts, findings
from tiltmeter.jobs.sentiment.posterior.page.sections import sections
from tiltmeter.storage.files.redaction import redacted

_ASKED = (
    "Given that a text is called positive, what does the classifier take it for? Inputs are drawn from the posterior "
    "p(s | y) = p(y | s) p0(s) / P(y) of vectors s, for either label, and words are held against the draws: which are "
    "near, does that agree with a lexicon, and are words of women and of men at different distances?"
)


def page(run: Run[SentimentPosteriorRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config = run.config
    texts = "made-up reviews" if config.data.path is None else redacted(config.data.path).rsplit("/", 1)[-1]
    facts = {"job": config.job.name, "from": texts, "priors": ", ".join(config.priors), "seed": str(config.seed)}
    sentences, unsure = list(findings(frames)), list(doubts(frames, made_up=config.data.path is None))
    return Body(
        "Which inputs a sentiment classifier expects",
        facts,
        Lead([Paragraph(_ASKED)], [Bullets(sentences)] if sentences else [], [Bullets(unsure)]),
        list(sections(frames)),
    )
