"""What a rating starts from, found before any work: files, engines and models."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tiltmeter.jobs.sentiment.rating.config import RatingRun
from tiltmeter.jobs.sentiment.rating.given_scores.logs import LogFiles, find_logs
from tiltmeter.jobs.sentiment.rating.given_scores.score_files import find_scores
from tiltmeter.jobs.sentiment.rating.systems import FoundSystem, find_system
from tiltmeter.jobs.sentiment.rating.turns import FileSentences
from tiltmeter.jobs.sentiment.translation.translators import RoundTrip, find_round_trip
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.store.identity import canonical


@dataclass(frozen=True)
class RatingSources:
    """Attributes:
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
    file = config.sentences.file() if isinstance(config.sentences, FileSentences) else None
    trips = {name: find_round_trip(name, trip, config.language) for name, trip in config.translator.items()}
    return RatingSources(
        sentences=file,
        round_trips={name: trip for name, trip in trips.items() if isinstance(trip, RoundTrip)},
        missing={name: trip for name, trip in trips.items() if isinstance(trip, str)},
        systems={name: find_system(name, system, config.seed) for name, system in config.sentiment.items()},
    )
