"""Job `survey`: embeddings of a corpus and of its bootstrap replicas, and how far they lean."""

from typing import cast

from jobs import bootstrap
from jobs.config import SurveyJob
from jobs.context import Run
from jobs.embedding import embed
from jobs.measuring import check_coverage, measure, survey_words
from jobs.reading import read_corpora
from jobs.report import write_report
from jobs.tables import MEASURED
from operators.wordsets import normalised

TABLES = (*bootstrap.TABLES, *MEASURED)


def run(run: Run) -> None:
    """Embed the corpus, measure on every replica, publish tables and report."""
    config, runner, cluster = run.config, run.runner, run.config.cluster
    [text] = run.texts
    language = text.corpus.language
    wordset = survey_words(normalised(config.wordset[language], text.tokenizer), language)
    corpora = read_corpora(runner, run.texts, config.reading, config.embedding.min_count, cluster.worker_data_bytes)
    [(name, corpus)] = corpora.items()
    check_coverage(runner.store.read(corpus.vocabulary), wordset)
    embeddings = embed(runner, corpora, config.embedding, config.seed, cluster)
    bootstrap.publish(run, corpora, embeddings)
    how = cast(SurveyJob, config.job)
    measured = measure(runner, embeddings[name], corpus.vocabulary, wordset, how, config.seed)
    for table, ref in measured.items():
        run.publish(table, [ref])
    write_report(run)
