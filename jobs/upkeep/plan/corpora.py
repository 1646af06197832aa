"""The corpora of a planned job: what the stages on each depend on, and those that are read and can be counted."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsRun
from tiltmeter.jobs.embedding.sources import Sources, Text
from tiltmeter.storage.store.identity import digest

Parts = Mapping[str, Mapping[str, float]]
"""Of stages on corpora, a digest of what the units of each corpus depend on, and how much of the stage they are."""

_READING = ("read", "inventory", "documents")
_COUNTING = ("co-occurrence", "combine", "merge")


def texts_of(sources: Any) -> Sequence[Text]:
    """The corpora that a job trains on; none of a job that does not."""
    return sources.texts if isinstance(sources, Sources) else ()


def num_bytes(texts: Sequence[Text]) -> int:
    """Of all their files."""
    return sum(source.num_bytes for text in texts for source in text.sources)


def without(config: Any, sources: Any, groups: Collection[str]) -> tuple[Any, Any] | None:
    """A job on those of its corpora alone of which all is done that could be counted; None if these are all, or none.

    Args:
        config: of the job.
        sources: what it starts from.
        groups: corpora, and slices of them, of which units are missing.
    """
    texts = texts_of(sources)
    kept = [index for index, text in enumerate(texts) if not _is_among(text.name, groups)]
    if not kept or len(kept) == len(texts) or not isinstance(config, EmbeddingsRun):
        return None
    fewer = replace(config, corpora=tuple(config.corpora[index] for index in kept))
    return fewer, replace(sources, texts=[texts[index] for index in kept])


def _is_among(name: str, groups: Collection[str]) -> bool:
    return any(group == name or group.startswith(f"{name}/") for group in groups)


def corpus_parts(config: Any, texts: Sequence[Text]) -> Parts:
    """What the stages on the corpora of a job depend on; nothing for a job that trains no embeddings.

    Args:
        config: of the planned job.
        texts: its corpora, or some of them.
    """
    if not (isinstance(config, EmbeddingsRun) and isinstance(config.embedding, EmbeddingConfig)):
        return {}
    parts: dict[str, dict[str, float]] = {}
    for text in texts:
        size = float(num_bytes([text])) or 1.0
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
