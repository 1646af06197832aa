"""Embeddings of the corpora of a run: read, trained, and published as tables."""

from collections.abc import Mapping
from typing import Any, cast

from tiltmeter.jobs.embedding.config import EmbeddingsRun
from tiltmeter.jobs.embedding.corpus.reading import read_corpora
from tiltmeter.jobs.embedding.corpus.vocabulary import TokenisedCorpus
from tiltmeter.jobs.embedding.embed import EmbeddingConfig, Embeddings, embed, replica_label
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store


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
        InputError: if documents are to be drawn, and a corpus has one.
    """
    config = cast(EmbeddingConfig, run.config.embedding)
    _check_documents(run.runner.store, corpora, config)
    embeddings = embed(run.runner, corpora, config, run.config.seed, run.config.cluster)
    _publish(run, corpora, embeddings)
    return embeddings


def _check_documents(store: Store, corpora: Mapping[str, TokenisedCorpus], config: EmbeddingConfig) -> None:
    for name, corpus in corpora.items() if config.resampling.unit == "document" else ():
        [num] = store.read(corpus.summary.select("num_articles"))["num_articles"].to_pylist()
        if num == 1:
            raise InputError(
                f"embedding.resampling.unit=document: the corpus {name} is one document, so there is nothing to draw; "
                "set it to line, or give the corpus's documents one by one"
            )


def _publish(run: Run[Any, Any], corpora: Mapping[str, TokenisedCorpus], embeddings: Mapping[str, Embeddings]) -> None:
    run.publish("corpora", [corpora[name].summary for name in embeddings])
    run.publish("vocabulary", [corpora[name].listed.labelled(corpus=name) for name in embeddings])
    losses = [ref.labelled(corpus=name) for name, trained in embeddings.items() for ref in trained.training]
    run.publish("training", losses)
    parts = [
        (f"{corpora[name].language}_{replica_label(replica)}", ref.labelled(corpus=name))
        for name, trained in embeddings.items()
        for replica, ref in trained.vectors.items()
    ]
    run.publish_parts("embeddings", parts)
