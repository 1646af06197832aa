"""Embeddings of the corpora of a run: read, trained, and published as tables."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from tiltmeter.cluster.stages import Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.config import EmbeddingsRun
from tiltmeter.jobs.embedding.corpus.reading import Corpora, read_corpora
from tiltmeter.jobs.embedding.corpus.slices import check_any_large, slice_rows
from tiltmeter.jobs.embedding.corpus.vocabulary import TokenisedCorpus
from tiltmeter.jobs.embedding.embed import EmbeddingConfig, Embeddings, embed, replica_label
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.tables import CorpusSlices
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.storage.store.ledger import Store, Unit


def read(run: Run[EmbeddingsRun, Sources]) -> Corpora:
    """The corpora and slices that could be read whole, and are large enough to draw from.

    Raises:
        UnitsFailed: if none could.
        InputError: for slices by a field that no document has, or if all corpora and slices are too small.
    """
    config, cluster = run.config, run.config.cluster
    embedding = cast(EmbeddingConfig, config.embedding)
    corpora = read_corpora(
        run.runner, run.sources.texts, config.reading, embedding.min_count, cluster.worker_data_bytes
    )
    return without_small(corpora, _of_one_document(run.runner.store, corpora.tokenised, embedding))


def without_small(corpora: Corpora, small: Mapping[str, str]) -> Corpora:
    """The corpora, less those that are too small, which are noted with the reasons; raises InputError if all are."""
    check_any_large(small, len(corpora.tokenised))
    large = {name: corpus for name, corpus in corpora.tokenised.items() if name not in small}
    return replace(corpora, tokenised=large, small={**corpora.small, **small})


def train(run: Run[EmbeddingsRun, Sources], corpora: Mapping[str, TokenisedCorpus]) -> dict[str, Embeddings]:
    """The embeddings of the corpora that could be embedded whole, by name; publishes what was read and trained.

    Raises:
        UnitsFailed: if none could.
    """
    config = cast(EmbeddingConfig, run.config.embedding)
    embeddings = embed(run.runner, corpora, config, run.config.seed, run.config.cluster)
    _publish(run, corpora, embeddings)
    return embeddings


def publish_slices(run: Run[Any, Any], corpora: Corpora) -> None:
    """Publish the table ``corpus_slices``, if a corpus was cut or is too small."""
    rows = list(slice_rows(corpora.cuts, corpora.uncut, corpora.tokenised, corpora.small))
    if rows:
        unit = Unit("corpus_slices/1", "slices", {"rows": rows})
        [done] = run.runner.run_whole(Stage("list slices", each(_list_slices), {"slices": [unit]}))["slices"]
        run.publish("corpus_slices", [done.tables["corpus_slices"]])


def _list_slices(_store: Store, unit: Unit) -> Tables:
    yield "corpus_slices", table_of(unit.config["rows"], CorpusSlices.schema())


def _of_one_document(store: Store, corpora: Mapping[str, TokenisedCorpus], config: EmbeddingConfig) -> dict[str, str]:
    """Why nothing can be drawn of corpora with a single document, if documents are asked to be drawn."""
    reason = (
        "is one document, so there is nothing to draw with embedding.resampling.unit=document: set it to line, or give "
        "the corpus's documents one by one"
    )
    asked = corpora if config.resampling.unit == "document" else {}
    counts = {name: store.read(corpus.summary.select("num_articles")) for name, corpus in asked.items()}
    return {name: reason for name, count in counts.items() if count["num_articles"].to_pylist() == [1]}


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
