"""What the planned job starts from, as it finds it itself, but fetched from nowhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from tiltmeter.jobs.catalogue import job
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.context import Sources
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.upkeep.plan.config import PlanRun
from tiltmeter.storage.corpora.corpora import CorpusConfig
from tiltmeter.storage.files.files import is_web
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Store


@dataclass(frozen=True)
class PlannedSources:
    """The planned job, and what it starts from."""

    job: Job[Any, Any]
    sources: Sources

    def record(self) -> dict[str, Any]:
        """Every input with its version, for ``run.json``."""
        return self.sources.record()


def find_planned(config: PlanRun) -> PlannedSources:
    """Look for whatever the planned job starts from.

    Raises:
        ConfigError: for a corpus that would be fetched first.
        Refusal: as the planned job refuses it.
    """
    planned = job(config.job.planned)
    root = Store(config.store).root
    for corpus in _corpora(config.planned):
        _check_copies(corpus, root)
    return PlannedSources(planned, planned.find_sources(config.planned))


def _check_copies(corpus: CorpusConfig, store: str) -> None:
    if not corpus.download:
        return
    from tiltmeter.storage.files.downloads import has_copy  # its libraries take 0.2 s to import

    for path in corpus.paths:
        if is_web(path) and not has_copy(path, store):
            raise ConfigError(
                f"{corpus.name}: {redacted(path)} is not in the store, and a plan fetches nothing: set corpus.path to "
                "a copy that you have, or start the job, which fetches it first"
            )


def _corpora(node: Any) -> Iterator[CorpusConfig]:
    """All corpora of a config, wherever they stand in it."""
    if isinstance(node, CorpusConfig):
        yield node
    elif is_dataclass(node):
        for field in fields(node):
            yield from _corpora(getattr(node, field.name))
    elif isinstance(node, Mapping):
        for inner in node.values():
            yield from _corpora(inner)
    elif isinstance(node, list | tuple):
        for inner in node:
            yield from _corpora(inner)
