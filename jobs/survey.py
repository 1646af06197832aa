"""Job `survey`: embeddings of a corpus and of its bootstrap replicas, and how far they lean."""

from typing import cast

from jobs import bootstrap
from jobs.config import SurveyJob
from jobs.context import Run
from jobs.embedding import embed
from jobs.measuring import check_coverage, measure
from jobs.reading import read_corpus
from jobs.report import write_report
from jobs.tables import MEASURED

TABLES = (*bootstrap.TABLES, *MEASURED)


def run(run: Run) -> None:
    """Embed the corpus, measure on every replica, publish tables and report."""
    config, how = run.config, cast(SurveyJob, run.config.job)
    corpus = config.corpus
    text = read_corpus(run.runner, corpus, run.inputs[corpus.name], config.embedding.min_count)
    check_coverage(run.runner.store.read(text.vocabulary), config.wordset)
    embeddings = embed(run.runner, text, corpus.language, config.embedding, config.seed)
    bootstrap.publish(run, text, embeddings)
    measured = measure(run.runner, embeddings, text.vocabulary, config.wordset, how, config.seed)
    for name, ref in measured.items():
        run.publish(name, [ref])
    write_report(run)
