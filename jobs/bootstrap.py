"""Job `bootstrap`: from corpora to their vocabularies and one embedding per bootstrap replica."""

from collections.abc import Mapping
from typing import cast

from jobs.config import BootstrapJob
from jobs.context import Run
from jobs.embedding import Embeddings, embed, trains_on_gpu
from jobs.exports import export
from jobs.reading import read_corpora
from jobs.report import write_report
from jobs.vocabulary import TokenisedCorpus

TABLES = ("corpora", "vocabulary", "training", "embeddings")


def run(run: Run) -> None:
    """Embed the corpora and publish what came of it."""
    corpora, embeddings = read_and_embed(run)
    publish(run, corpora, embeddings)
    export(run, corpora, embeddings, cast(BootstrapJob, run.config.job).export)
    write_report(run)


def read_and_embed(run: Run) -> tuple[dict[str, TokenisedCorpus], dict[str, Embeddings]]:
    """The corpora that could be read and embedded whole, by name.

    Raises:
        UnitsFailed: if none could.
    """
    config, cluster = run.config, run.config.cluster
    trains_on_gpu(config.embedding.device, run.runner.pool.num_gpus)  # refuses before hours of reading
    corpora = read_corpora(run.runner, run.texts, config.reading, config.embedding.min_count, cluster.worker_data_bytes)
    embeddings = embed(run.runner, corpora, config.embedding, config.seed, cluster)
    return {name: corpora[name] for name in embeddings}, embeddings


def publish(run: Run, corpora: Mapping[str, TokenisedCorpus], embeddings: Mapping[str, Embeddings]) -> None:
    """The tables that both jobs share."""
    run.publish("corpora", [corpus.summary for corpus in corpora.values()])
    run.publish("vocabulary", [corpus.listed for corpus in corpora.values()])
    run.publish("training", [ref for found in embeddings.values() for ref in found.training])
    parts = {
        f"{corpora[name].language}_replica_{number:04d}": ref
        for name, found in embeddings.items()
        for number, ref in enumerate(found.replicas)
    }
    run.publish_parts("embeddings", parts)
