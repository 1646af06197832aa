"""Job `bootstrap`: from corpora to their vocabularies and one embedding per bootstrap replica."""

from collections.abc import Mapping
from typing import cast

from tiltmeter.jobs.embedding.config import BootstrapJob, EmbeddingsRun
from tiltmeter.jobs.embedding.corpus.reading import read_corpora
from tiltmeter.jobs.embedding.corpus.vocabulary import TokenisedCorpus
from tiltmeter.jobs.embedding.embed import EmbeddingConfig, Embeddings, embed
from tiltmeter.jobs.embedding.exports import export
from tiltmeter.jobs.embedding.page import write_embeddings_report
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run

TABLES = ("corpora", "vocabulary", "training", "embeddings")


def run(run: Run[EmbeddingsRun, Sources]) -> None:
    """Embed the corpora and publish what came of it."""
    config = cast(EmbeddingConfig, run.config.embedding)
    corpora = read(run)
    embeddings = embed(run.runner, corpora, config, run.config.seed, run.config.cluster)
    publish(run, corpora, embeddings)
    export(run, corpora, embeddings, cast(BootstrapJob, run.config.job).export)
    write_embeddings_report(run)


def read(run: Run[EmbeddingsRun, Sources]) -> dict[str, TokenisedCorpus]:
    """The corpora that could be read whole, by name.

    Raises:
        UnitsFailed: if none could.
    """
    config, cluster = run.config, run.config.cluster
    embedding = cast(EmbeddingConfig, config.embedding)
    return read_corpora(run.runner, run.sources.texts, config.reading, embedding.min_count, cluster.worker_data_bytes)


def publish(
    run: Run[EmbeddingsRun, Sources], corpora: Mapping[str, TokenisedCorpus], embeddings: Mapping[str, Embeddings]
) -> None:
    """The tables of what was read and trained, of the corpora that could be embedded whole."""
    run.publish("corpora", [corpora[name].summary for name in embeddings])
    run.publish("vocabulary", [corpora[name].listed for name in embeddings])
    run.publish("training", [ref for found in embeddings.values() for ref in found.training])
    parts = {
        f"{corpora[name].language}_replica_{number:04d}": ref
        for name, found in embeddings.items()
        for number, ref in enumerate(found.replicas)
    }
    run.publish_parts("embeddings", parts)
