"""Embeddings of the corpora of a run: read, trained, and published as tables."""

from collections.abc import Mapping
from typing import Any, cast

from tiltmeter.jobs.embedding.config import EmbeddingsRun
from tiltmeter.jobs.embedding.corpus.reading import read_corpora
from tiltmeter.jobs.embedding.corpus.vocabulary import TokenisedCorpus
from tiltmeter.jobs.embedding.embed import EmbeddingConfig, Embeddings, embed
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run


def read(run: Run[EmbeddingsRun, Sources]) -> dict[str, TokenisedCorpus]:
    """The corpora that could be read whole, by name.

    Raises:
        UnitsFailed: if none could.
    """
    config, cluster = run.config, run.config.cluster
    embedding = cast(EmbeddingConfig, config.embedding)
    return read_corpora(run.runner, run.sources.texts, config.reading, embedding.min_count, cluster.worker_data_bytes)


def train(run: Run[EmbeddingsRun, Sources], corpora: Mapping[str, TokenisedCorpus]) -> dict[str, Embeddings]:
    """The embeddings of the corpora that could be embedded whole, by name; publishes what was read and trained.

    Raises:
        UnitsFailed: if none could.
    """
    config = cast(EmbeddingConfig, run.config.embedding)
    embeddings = embed(run.runner, corpora, config, run.config.seed, run.config.cluster)
    _publish(run, corpora, embeddings)
    return embeddings


def _publish(run: Run[Any, Any], corpora: Mapping[str, TokenisedCorpus], embeddings: Mapping[str, Embeddings]) -> None:
    run.publish("corpora", [corpora[name].summary for name in embeddings])
    run.publish("vocabulary", [corpora[name].listed for name in embeddings])
    run.publish("training", [ref for trained in embeddings.values() for ref in trained.training])
    parts = {
        f"{corpora[name].language}_replica_{number:04d}": ref
        for name, trained in embeddings.items()
        for number, ref in enumerate(trained.replicas)
    }
    run.publish_parts("embeddings", parts)
