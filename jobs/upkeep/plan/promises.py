"""What earlier jobs of a night will have done, for those after them: units by their places, and parts of corpora."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tiltmeter.jobs.embedding.config import EmbeddingsRun
from tiltmeter.jobs.embedding.corpus.texts import Text
from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.upkeep.plan.counting import Counted, CountedStage
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Finished

Parts = Mapping[str, Mapping[str, float]]
"""Of stages on corpora, a digest of what the units of each corpus depend on, and how much of the stage they are."""

_READING = ("read", "inventory", "documents")
_COUNTING = ("co-occurrence", "combine", "merge")


class _Part(NamedTuple):
    job: str
    is_counted: bool


@dataclass
class Promises:
    """What the jobs so far will have done.

    Attributes:
        units: by place: the job that does each first, and a stand-in.
        parts: by stage and digest: the job, and whether its units are among ``units``.
    """

    units: dict[str, tuple[str, Finished]] = field(default_factory=dict)
    parts: dict[tuple[str, str], _Part] = field(default_factory=dict)

    def add(self, job: str, counted: Counted, parts: Parts) -> None:
        """Take a job of the list as done.

        Args:
            job: its name.
            counted: its units.
            parts: of the corpora that it reads.
        """
        self.units |= {place: (job, unit) for place, unit in counted.missing.items()}
        names = {stage.name for stage in counted.stages}
        for stage, digests in parts.items():
            for key in digests:
                self.parts.setdefault((stage, key), _Part(job, stage in names))

    def without_shared(self, stage: CountedStage, parts: Parts, *, is_counted: bool) -> CountedStage:
        """A stage without the missing units that an earlier job will have done, where places can't tell.

        That is where units of this job, or of the earlier one, depend on tables that are not there yet: those of the
        corpora, or replicas, that both go through in the same way are taken to be the same.

        Args:
            stage: as it was counted, or is taken to be.
            parts: of the corpora that its job reads.
            is_counted: whether its units were counted, and so without those that the earlier job's were found to be.
        """
        weights = parts.get(stage.name, {})
        promised = {key: self.parts[stage.name, key] for key in weights if (stage.name, key) in self.parts}
        if not promised:
            return stage
        others = sum(weight for key, weight in weights.items() if key not in promised) / sum(weights.values())
        num_units = stage.num_done + stage.num_shared + stage.num_missing
        by_place = is_counted and all(part.is_counted for part in promised.values())
        most = stage.num_expected if by_place else stage.num_missing
        num = max(0, min(most, stage.num_missing - round(others * num_units)))
        names = [*stage.shared_with, *(part.job for part in promised.values())] if num else stage.shared_with
        left = stage.num_missing - num
        return replace(
            stage,
            num_missing=left,
            num_expected=min(left, stage.num_expected),
            num_shared=stage.num_shared + num,
            shared_with=tuple(dict.fromkeys(names)),
        )


def corpus_parts(config: Any, sources: Any) -> Parts:
    """What the stages on the corpora of a job depend on; nothing for a job that trains no embeddings.

    Args:
        config: of the planned job.
        sources: what it starts from.
    """
    if not (isinstance(config, EmbeddingsRun) and isinstance(config.embedding, EmbeddingConfig)):
        return {}
    parts: dict[str, dict[str, float]] = {}
    for text in sources.texts if isinstance(sources, Sources) else ():
        size = float(sum(source.num_bytes for source in text.sources)) or 1.0
        for stage, keys in _keys(config, config.embedding, text):
            parts.setdefault(stage, {}).update(dict.fromkeys(map(digest, keys), size / len(keys)))
    return parts


def _keys(config: EmbeddingsRun, embedding: EmbeddingConfig, text: Text) -> Iterator[tuple[str, Sequence[Any]]]:
    """Of one corpus: what each replica's training depends on, and the units of other stages."""
    files = [(source.name, source.version) for source in text.sources]
    read = [files, config.reading, config.cluster.worker_megabytes, text.slicing]
    tokens = [read, text.tokenizer.identity]
    replicas = replace(embedding, num_replicas=2, num_starts=1, checkpoint_seconds=0.0)
    trained = [tokens, replicas, config.seed]
    yield from ((stage, [read]) for stage in _READING)
    yield "tokens", [tokens]
    yield from ((stage, [[tokens, embedding.min_count, text.lists]]) for stage in ("words", "vocabulary"))
    yield from ((stage, [[trained, embedding.num_replicas]]) for stage in _COUNTING)
    yield "train", [[trained, replica] for replica in embedding.replicas]
