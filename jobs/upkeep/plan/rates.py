"""How long units take and what they store: by earlier runs in the store, and before there is one by a small table."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tiltmeter.cluster.scheduling import share_on_threads
from tiltmeter.jobs.changes.inputs import inputs as inputs_by_name
from tiltmeter.jobs.changes.inputs import leaves
from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsRun
from tiltmeter.jobs.embedding.resources import num_tokens
from tiltmeter.jobs.embedding.sources import Text
from tiltmeter.jobs.runtime.config import asked
from tiltmeter.operators.embedding.glove import GloveConfig
from tiltmeter.storage.store.registry import RegisteredRun


class Rate(NamedTuple):
    """What a unit takes, or all units of a stage: seconds of a worker with one thread, and bytes of the store."""

    worker_seconds: float
    num_bytes: float

    def times(self, factor: float) -> "Rate":
        """The same of so many times as much."""
        return Rate(self.worker_seconds * factor, self.num_bytes * factor)


_REPLICAS = "embedding.num_replicas"
_OF_ALL_REPLICAS = ("co-occurrence", "combine", "merge")
"""Stages whose units go through all replicas at once."""

_BEFORE_REPLICAS = ("read", "join slices", "inventory", "documents", "tokens", "words", "vocabulary", "list slices")
"""Stages that are the same for any number of replicas."""


@dataclass(frozen=True)
class EarlierRun:
    """A run that is compared with the planned one.

    Attributes:
        run: as its store remembers it.
        differing: settings that are not as they are planned.
        size: bytes of the planned inputs, to those of its own.
        growth: embeddings of each corpus that are planned, to those that it had.
    """

    run: RegisteredRun
    differing: Collection[str]
    size: float
    growth: float

    @property
    def is_alike(self) -> bool:
        """Whether its inputs are at most twice or half as large, and cut into the same slices, which are corpora."""
        is_cut_alike = not any(name.rpartition(".")[2].startswith("slice") for name in self.differing)
        return is_cut_alike and 0.5 <= self.size <= 2.0

    @property
    def moment(self) -> str:
        """When it started."""
        return f"{self.run.started:%Y-%m-%d %H:%M} UTC"

    @property
    def unlike(self) -> str:
        """In what it differs from the plan, but for how many replicas there are; empty if in nothing."""
        if not self.is_alike:
            return "inputs of another size"
        others = sorted({*self.differing} - {_REPLICAS})
        return f"other settings: {', '.join(others[:3])}{', ...' if others[3:] else ''}" if others else ""

    @property
    def names(self) -> list[str]:
        """Of its stages, in their order."""
        return list(dict.fromkeys(record["name"] for record in self.run.record["stages"]))

    @cached_property
    def stages(self) -> dict[str, tuple[int, Rate]]:
        """Of each stage that did some, all its units and what one would take; of several of a name, of all together."""
        stages = {}
        for name in self.names:
            rows = [record for record in self.run.record["stages"] if record["name"] == name]
            if num_done := sum(row["num_done"] for row in rows):
                seconds = sum(row["worker_seconds"] / share_on_threads(row.get("num_threads", 1)) for row in rows)
                rate = Rate(seconds, sum(row["num_bytes"] for row in rows)).times(1 / num_done)
                num = num_done + sum(row["num_reused"] for row in rows)
                stages[name] = num, rate.times(self.growth if name in _OF_ALL_REPLICAS else 1.0)
        return stages

    def whole(self, stage: str) -> Rate:
        """What all units of a stage of which it did some would take."""
        num, rate = self.stages[stage]
        is_by_replica = stage not in (*_OF_ALL_REPLICAS, *_BEFORE_REPLICAS)
        return rate.times(num * self.size * (self.growth if is_by_replica else 1.0))


def earlier_runs(
    registered: Iterable[RegisteredRun], job: str, settings: Mapping[str, Any], inputs: Mapping[str, Any]
) -> list[EarlierRun]:
    """Runs of a job that ended, or of others that train the same embeddings: of the job first, then those that ask most
    nearly the same, then the latest.

    Args:
        registered: all runs of a store, the latest first.
        settings, inputs: of the planned run, as a run records them.
    """
    trained = settings.get("embedding", object())
    related = [run for run in registered if run.job == job or run.settings.get("embedding") == trained]
    ended = [run for run in related if run.status != "running" and run.record.get("stages")]
    compared = [_compared(run, settings, inputs) for run in ended]
    return sorted(compared, key=lambda one: (one.run.job != job, len(one.differing)))


def _compared(run: RegisteredRun, settings: Mapping[str, Any], inputs: Mapping[str, Any]) -> EarlierRun:
    before, planned = (
        {".".join(path): value for path, value in leaves(asked(values))} for values in (run.settings, settings)
    )
    differing = {name for name in before.keys() | planned.keys() if before.get(name) != planned.get(name)}
    growth = (1 + planned.get(_REPLICAS, 0)) / (1 + before.get(_REPLICAS, 0))
    return EarlierRun(run, differing, _num_bytes(inputs) / _num_bytes(run.record.get("inputs", {})), growth)


def _num_bytes(record: Mapping[str, Any]) -> int:
    return sum(item.recorded.get("bytes", 0) for item in inputs_by_name(record).values()) or 1


# --- before a first run ---------------------------------------------------------------------------------------------

# From the constants that the model of docs/scale.md was fitted to, at 100 million tokens of an English Wikipedia and 33
# embeddings on its machine. With ten times as many tokens, one of them costs 1.4 times less in training.

_OF_TEXT = {"read": Rate(0.25, 2.4e6), "documents": Rate(2.2, 2.4e6), "tokens": Rate(0.6, 2.3e6)}
"""For a million tokens; the documents of plain text take less than those of markup."""

_OF_REPLICAS = {"co-occurrence": Rate(0.18, 2.7e6), "combine": Rate(0.08, 2.4e6), "merge": Rate(0.18, 1.7e6)}
"""For a million tokens and an embedding."""

_TRAIN = Rate(0.09, 0.8e6)
"""The same in 100 dimensions, the seconds for each epoch."""


def first_rates(config: Any, texts: Sequence[Text]) -> dict[str, Rate]:
    """What all units of the stages up to the training of embeddings by GloVe take; none of another job or trainer.

    Args:
        config: of the planned job.
        texts: its corpora.
    """
    embedding = config.embedding if isinstance(config, EmbeddingsRun) else None
    if not (isinstance(embedding, EmbeddingConfig) and isinstance(embedding.trainer, GloveConfig)):
        return {}
    tokens = sum(map(num_tokens, texts)) / 1e6
    num_trained = tokens * len(embedding.replicas) * embedding.trainer.dimensions / 100
    return (
        {name: rate.times(tokens) for name, rate in _OF_TEXT.items()}
        | {name: rate.times(tokens * (1 + embedding.num_replicas)) for name, rate in _OF_REPLICAS.items()}
        | {"train": Rate(_TRAIN.worker_seconds * embedding.trainer.epochs, _TRAIN.num_bytes).times(num_trained)}
    )
