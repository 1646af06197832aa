"""Job `bootstrap`: from a corpus to its vocabulary and one embedding per bootstrap replica."""

from jobs.context import Run
from jobs.embedding import Embeddings, embed
from jobs.reading import TokenisedCorpus, read_corpus
from jobs.report import write_report

TABLES = ("corpora", "vocabulary", "training", "embeddings")


def run(run: Run) -> None:
    """Embed the corpus and publish what came of it."""
    corpus, config = run.config.corpus, run.config.embedding
    text = read_corpus(run.runner, corpus, run.inputs[corpus.name], config.min_count)
    embeddings = embed(run.runner, text, corpus.language, config, run.config.seed)
    publish(run, text, embeddings)
    write_report(run)


def publish(run: Run, text: TokenisedCorpus, embeddings: Embeddings) -> None:
    """The tables that both jobs share."""
    run.publish("corpora", [text.summary])
    run.publish("vocabulary", [text.vocabulary])
    run.publish("training", embeddings.training)
    run.publish_parts("embeddings", {f"replica_{number:04d}": ref for number, ref in enumerate(embeddings.replicas)})
