"""The model of docs/scale.md: what the stages of an embedding take that nobody has measured yet.

Core-time of a stage is a constant times what it goes through, and that follows from the number of tokens. Fitted to one
machine and to English; its own account takes a factor of 1.5 as its error.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsRun
from tiltmeter.jobs.embedding.pages import runs_of
from tiltmeter.jobs.embedding.pairs import pairs_in_range
from tiltmeter.jobs.embedding.resources import num_pairs, num_tokens, num_words
from tiltmeter.jobs.embedding.sources import Text
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.operators.embedding.glove import BYTES_PER_PAIR, GloveConfig

START_SECONDS = 42.0
"""Until Ray and the first workers are there."""

_BYTES_PER_TOKEN = 6.0
"""Of plain text."""

_MARKUP = ("mediawiki",)
_MARKUP_SECONDS = 1 / 9.4e6
"""For a byte of it."""

_READ_SECONDS = 0.041e-6
"""For a byte of text."""

_TOKENS_SECONDS, _COUNTING_SECONDS = 0.589e-6, 5.948e-6
"""For a token; counting is of 33 embeddings."""

_MERGE_SECONDS = 1.455e-6
"""For a row of pair counts."""

_UPDATE_SECONDS = 0.051e-6
"""For a pair, in one direction, in an epoch."""

_ROWS_FACTOR, _ROWS_EXPONENT = 1.24, 1.065
_UPDATES_FACTOR, _UPDATES_EXPONENT = 2610 / 3 / 33, 0.855
"""By tokens, for one epoch of one embedding."""

_EMBEDDINGS, _DIMENSIONS = 33, 100
"""Of the runs that were measured."""

_STORED = {"read": 2.4, "documents": 2.4, "tokens": 2.3, "co-occurrence": 21.9, "merge": 45.5, "train": 3.7}
"""Bytes in the store: for a token, a row, a pair (of 33 embeddings), and a number of a vector."""

_TEXT_PER_PART = 2e6
"""A shard of 4 MB gives two tables of pair counts."""

_MERGED_AT_ONCE = 32

_SELECT_SECONDS = 10.6 / 33
"""For an embedding whose listed words are taken out of it."""

_SURVEY = {"forced choice": (1, 11.9), "association tests": (10, 13.7)}
_SURVEY |= {"word associations, gender and summary": (3, 2.0)}
"""What the survey of one corpus does with 33 embeddings: units, and worker seconds, which depend on its word lists."""


class Modelled(NamedTuple):
    """A stage by the model; without seconds where it has no figures."""

    num_units: int
    worker_seconds: float | None
    num_bytes: float | None

    def times(self, num: int) -> "Modelled":
        """So many of the same."""
        return Modelled(num * self.num_units, *(None if value is None else num * value for value in self[1:]))


WHOLE = ("bootstrap", "survey")
"""Jobs of which the model has all stages."""


def modelled(config: Any, texts: Sequence[Text]) -> dict[str, Modelled]:
    """The stages of a job that trains embeddings, by name, whole; none of a job that does not.

    Args:
        config: of the planned job.
        texts: its corpora, or some of them.
    """
    if not isinstance(config, EmbeddingsRun):
        return {}
    stages: dict[str, Modelled] = {}
    for text in texts:
        for name, stage in _stages(config, text):
            stages[name] = _sum(stages[name], stage) if name in stages else stage
    return stages


def about_slices(texts: Sequence[Text]) -> str:
    """What the model can't know of corpora that are cut; empty if it knows all."""
    unknown = [text.name for text in texts if text.slicing and not _num_slices(text)]
    if not unknown:
        return ""
    return f"how many slices {listed(unknown)} will have is not known before they are read, and taken as one"


def _num_slices(text: Text) -> int:
    """Of a corpus that is cut, as far as its settings say it; 0 where they do not; 1 of one that stays whole."""
    if text.slicing is None:
        return 1
    return len(text.slicing.values) or (len(text.slicing.cuts) + 1 if text.slicing.cuts else 0)


def scratch_bytes(config: Any, texts: Sequence[Text]) -> float:
    """What a worker in training keeps on its local disk: the pairs of the largest corpus that do not fit its memory."""
    if not (isinstance(config, EmbeddingsRun) and texts):
        return 0.0
    needed = max(BYTES_PER_PAIR * num_pairs(num_tokens(text) / (_num_slices(text) or 1)) for text in texts)
    is_glove = isinstance(config.embedding, EmbeddingConfig) and isinstance(config.embedding.trainer, GloveConfig)
    return needed if is_glove and needed > config.cluster.worker_data_bytes else 0.0


def _sum(one: Modelled, other: Modelled) -> Modelled:
    seconds, num_bytes = (
        None if a is None or b is None else a + b
        for a, b in ((one.worker_seconds, other.worker_seconds), (one.num_bytes, other.num_bytes))
    )
    return Modelled(one.num_units + other.num_units, seconds, num_bytes)


def _stages(config: EmbeddingsRun, text: Text) -> Iterator[tuple[str, Modelled]]:
    tokens, num = num_tokens(text), _num_slices(text) or 1
    reading = config.reading
    num_runs = sum(1 for _ in runs_of(text.sources, reading.span_megabytes, reading.shard_megabytes))
    yield "read", Modelled(num_runs, _READ_SECONDS * tokens * _BYTES_PER_TOKEN, _STORED["read"] * tokens)
    markup = sum(source.num_bytes for source in text.sources if source.format in _MARKUP)
    for name, stage in _of_slice(config, tokens / num, markup / num):
        yield name, stage.times(num)
    if text.slicing:
        yield "list slices", Modelled(1, 0.0, 0.0)


def _of_slice(config: EmbeddingsRun, tokens: float, markup: float) -> Iterator[tuple[str, Modelled]]:
    """The stages of a corpus once it is read, or of each of its slices."""
    shards = math.ceil(tokens * _BYTES_PER_TOKEN / (config.reading.shard_megabytes * 1e6))
    yield "inventory", Modelled(1, 0.0, 0.0)
    yield "documents", Modelled(shards, _MARKUP_SECONDS * markup, _STORED["documents"] * tokens)
    yield "tokens", Modelled(shards, _TOKENS_SECONDS * tokens, _STORED["tokens"] * tokens)
    yield "words", Modelled(1, 0.0, 0.0)
    yield "vocabulary", Modelled(1, 0.0, 0.0)
    yield from _trained(config, tokens, shards)
    if config.job.name == "survey" and isinstance(config.embedding, EmbeddingConfig):
        num = len(config.embedding.replicas)
        yield "select words", Modelled(num, _SELECT_SECONDS * num, 0.0)
        yield from ((name, Modelled(units, seconds, 0.0)) for name, (units, seconds) in _SURVEY.items())


def _trained(config: EmbeddingsRun, tokens: float, shards: int) -> Iterator[tuple[str, Modelled]]:
    embedding = config.embedding
    if not isinstance(embedding, EmbeddingConfig):
        return
    num, trainer = len(embedding.replicas), embedding.trainer
    stored = _STORED["train"] * num * num_words(tokens) * trainer.dimensions
    if not isinstance(trainer, GloveConfig):
        yield "train", Modelled(num, None, stored)
        return
    share = (1 + embedding.num_replicas) / _EMBEDDINGS
    rows = _ROWS_FACTOR * tokens**_ROWS_EXPONENT
    at_once = pairs_in_range(embedding.num_replicas, config.cluster.worker_data_bytes)
    yield "co-occurrence", Modelled(shards, share * _COUNTING_SECONDS * tokens, share * _STORED["co-occurrence"] * rows)
    if combined := _combined_rows(tokens):
        units = math.ceil(combined / at_once)
        yield "combine", Modelled(units, share * _MERGE_SECONDS * combined, share * _STORED["merge"] * combined)
    merged = share * _STORED["merge"] * num_pairs(tokens)
    yield "merge", Modelled(math.ceil(rows / at_once), share * _MERGE_SECONDS * rows, merged)
    updates = num * trainer.epochs * _UPDATES_FACTOR * tokens**_UPDATES_EXPONENT
    yield "train", Modelled(num, _UPDATE_SECONDS * updates * trainer.dimensions / _DIMENSIONS, stored)


def _combined_rows(tokens: float) -> float:
    """Rows that the rounds before the merge write: each makes one part of up to 32, with its different pairs."""
    num_parts, rows = tokens * _BYTES_PER_TOKEN / _TEXT_PER_PART, 0.0
    while num_parts > _MERGED_AT_ONCE:
        num_parts = math.ceil(num_parts / _MERGED_AT_ONCE)
        rows += num_parts * num_pairs(tokens / num_parts)
    return rows
