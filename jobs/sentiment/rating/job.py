"""Job `sentiment_rating`: how much sentiment systems lean, before and after round trips through other languages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import model_folder, model_request
from tiltmeter.jobs.sentiment.rating.config import FileSentences, RatingRun
from tiltmeter.jobs.sentiment.rating.given_scores import LogFiles, find_logs, find_scores, read_logs, read_scores
from tiltmeter.jobs.sentiment.rating.ratings import rate_systems
from tiltmeter.jobs.sentiment.rating.raw_scores import ORIGINS
from tiltmeter.jobs.sentiment.rating.scores import Rated, compare_votes, score
from tiltmeter.jobs.sentiment.rating.sentences import find_texts, find_turns
from tiltmeter.jobs.sentiment.rating.systems import FoundSystem, TransformerSystem, find_system
from tiltmeter.jobs.sentiment.rating.tables import TABLES
from tiltmeter.jobs.sentiment.translation.round_trips import (
    MarianTranslator,
    RoundTrip,
    find_round_trip,
    trace,
    translate,
)
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.store.identity import canonical
from tiltmeter.storage.store.ledger import TableRef


@dataclass(frozen=True)
class RatingSources:
    """What a rating starts from, found before any work.

    Attributes:
        scores: a file of scores; then there is nothing else.
        logs: by system, files of scores; then there is nothing else.
        sentences: a file of texts; None for sentences that are made.
        round_trips: by variant, those whose engines are there.
        missing: round trips that are left out, and why.
        systems: by name.
    """

    scores: FoundFile | None = None
    logs: LogFiles = field(default_factory=dict)
    sentences: FoundFile | None = None
    round_trips: Mapping[str, RoundTrip] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    systems: Mapping[str, FoundSystem] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Every input with its version, for ``run.json``."""
        files = {"scores": self.scores, "sentences": self.sentences}
        of_systems = {f"sentiment.{name}": _shown(system) for name, system in self.systems.items()}
        of_files = {name: file.redacted for name, file in files.items() if file is not None}
        trips = {
            f"translator.{name}": {"there": trip.there.identity, "back": trip.back.identity}
            for name, trip in self.round_trips.items()
        }
        logs = {f"logs.{name}": {"files": [file.redacted for file in files]} for name, files in self.logs.items()}
        return cast(dict[str, Any], canonical(of_files | logs | trips | of_systems))


def _shown(system: FoundSystem) -> Mapping[str, Any]:
    """What identifies a system, as it may be shown: a file without the credentials of its URI."""
    return {**system.identity, "file": system.file.redacted} if system.file else system.identity


def find_sources(config: RatingRun) -> RatingSources:
    """Look for whatever the run needs.

    Raises:
        InputError: if a file is missing, or lacks a column.
        CheckpointError: if a model can't be found.
        TranslationError: if an engine or a language pair is not installed.
    """
    if config.scores is not None:
        return RatingSources(scores=find_scores(config.scores))
    if config.logs.is_set:
        return RatingSources(logs=find_logs(config.logs))
    file = find_turns(config.sentences) if isinstance(config.sentences, FileSentences) else None
    trips = {name: find_round_trip(name, trip, config.language) for name, trip in config.translator.items()}
    return RatingSources(
        sentences=file,
        round_trips={name: trip for name, trip in trips.items() if isinstance(trip, RoundTrip)},
        missing={name: trip for name, trip in trips.items() if isinstance(trip, str)},
        systems={name: find_system(name, system, config.seed) for name, system in config.sentiment.items()},
    )


def rating_requests(config: RatingRun, sources: RatingSources, num_gpus: int) -> list[ResourceRequest]:
    """What scoring and translating ask for: a worker has a sentiment system or a translator in memory.

    Raises:
        ClusterError: if a setting wants GPUs and there are none.
    """
    requests = []
    for name in sources.systems:
        if isinstance(system := config.sentiment[name], TransformerSystem):
            setting = f"sentiment.{name}"
            models = {system.model: model_folder(system.model, system.revision, f"{setting}.model")}
            requests.append(model_request(f"score {name}", models, system.device, num_gpus, setting))
    for name in sources.round_trips:
        if isinstance(trip := config.translator[name], MarianTranslator):
            setting = f"translator.{name}"
            models = {trip.there: model_folder(trip.there, trip.revision_there, f"{setting}.there")}
            models |= {trip.back: model_folder(trip.back, trip.revision_back, f"{setting}.back")}
            requests.append(model_request(f"translate {name}", models, trip.device, num_gpus, setting))
    return requests


def run(run: Run[RatingRun, RatingSources]) -> None:
    """Score the sentences and their round trips, or read scores; rate the systems; publish tables."""
    scores, texts = _given(run) if run.config.has_scores else _scored(run)
    run.publish("scores", list(scores.values()))
    rate_systems(run, scores, texts)


_Scored = tuple[Mapping[Rated, TableRef], TableRef | None]
"""Scores, and a table with the number of each sentence, what it says or is called, and what it is made from; None if
nobody knows."""


def _given(run: Run[RatingRun, RatingSources]) -> _Scored:
    if run.sources.scores is not None:
        return read_scores(run, run.sources.scores), None
    items, scores = read_logs(run, run.config.logs, run.sources.logs)
    return scores, items.select("sentence", "item")


def _scored(run: Run[RatingRun, RatingSources]) -> _Scored:
    sources = run.sources
    for variant, reason in sources.missing.items():
        run.console.print(f"without the round trip {variant}: {reason}", style="yellow", highlight=False)
    texts = find_texts(run, sources.sentences)
    translated = translate(run, sources.round_trips, texts.chunks)
    trace(run, texts.sentences, translated)
    scores = score(run, sources.systems, texts, translated)
    if not scores:
        run.runner.check()  # every system failed: nothing is left to rate
    compare_votes(run, sources.systems, texts, translated, scores)
    return scores, texts.sentences.select("sentence", "text", *ORIGINS)


JOB = Job(
    RatingRun,
    find_sources,
    run,
    TABLES,
    "tiltmeter.jobs.sentiment.rating.page:page",
    rating_requests,
    extras=["sentiment"],
)
