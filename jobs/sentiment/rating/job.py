"""Job `sentiment_rating`: how much sentiment systems lean, before and after round trips through other languages."""

from collections.abc import Mapping

from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.sentiment.rating.agreement import agree
from tiltmeter.jobs.sentiment.rating.config import RatingRun
from tiltmeter.jobs.sentiment.rating.given_scores.logs import read_logs
from tiltmeter.jobs.sentiment.rating.given_scores.score_files import read_scores
from tiltmeter.jobs.sentiment.rating.rating import rate_systems
from tiltmeter.jobs.sentiment.rating.resources import rating_requests
from tiltmeter.jobs.sentiment.rating.rows import ORIGINS
from tiltmeter.jobs.sentiment.rating.scoring import Rated, score
from tiltmeter.jobs.sentiment.rating.sentences import find_texts
from tiltmeter.jobs.sentiment.rating.sources import RatingSources, find_sources
from tiltmeter.jobs.sentiment.rating.tables import TABLES
from tiltmeter.jobs.sentiment.translation.translation import trace, translate
from tiltmeter.storage.store.ledger import TableRef


def run(run: Run[RatingRun, RatingSources]) -> None:
    """Score the sentences and their round trips, or read scores; rate the systems; publish tables."""
    config = run.config
    scores, texts = _given(run) if config.has_scores else _scored(run)
    run.publish("scores", list(scores.values()))
    run.publish_all(rate_systems(run.runner, scores, texts, config.designed_rating, config.kinds, config.seed))


_Scored = tuple[Mapping[Rated, TableRef], TableRef | None]
"""Scores, and a table with the number of each sentence, what it says or is called, and what it is made from; None if
nobody knows."""


def _given(run: Run[RatingRun, RatingSources]) -> _Scored:
    if run.sources.scores is not None:
        return read_scores(run.runner, run.sources.scores), None
    items, scores = read_logs(run.runner, run.config.logs, run.sources.logs)
    run.publish("items", [items])
    return scores, items.select("sentence", "item")


def _scored(run: Run[RatingRun, RatingSources]) -> _Scored:
    config, sources = run.config, run.sources
    for variant, reason in sources.missing.items():
        run.console.print(f"without the round trip {variant}: {reason}", style="yellow", highlight=False)
    texts = find_texts(run.runner, config.sentences, sources.sentences, config.seed, config.unit_texts)
    run.publish_all({"sentences": [texts.sentences], "descriptions": [texts.descriptions]})
    translated = translate(run.runner, sources.round_trips, texts)
    if translated:
        run.publish_all(trace(run.runner, texts, translated))
    scores = score(run.runner, sources.systems, texts, translated)
    if not scores:
        run.runner.check()  # every system failed: nothing is left to rate
    run.publish_all(agree(run.runner, sources.systems, texts, translated, scores))
    return scores, texts.sentences.select("sentence", "text", *ORIGINS)


JOB = Job(RatingRun, find_sources, run, TABLES, "tiltmeter.jobs.sentiment.rating.page.body:page", rating_requests)
