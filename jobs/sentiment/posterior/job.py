"""Job `sentiment_posterior`: which inputs a sentiment classifier expects of a label, and what words are near them."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.sentiment.posterior.classifiers import ask_cues, train_classifiers
from tiltmeter.jobs.sentiment.posterior.comparisons import compare
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.draws import LABELS, diagnose, draw, evidence_of, fit_priors, project
from tiltmeter.jobs.sentiment.posterior.tables import TABLES
from tiltmeter.jobs.sentiment.posterior.texts import PosteriorRun, cut_texts, make_vectors, positive_label
from tiltmeter.jobs.sentiment.posterior.words import LexiconSource, count_words, find_words, lexicon_rules, measure
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import LABEL, TEXT
from tiltmeter.storage.vectors.files import check_pickle


def find_sources(config: SentimentPosteriorRun) -> Files:
    """Look for the texts, the vectors and the lexicon.

    Raises:
        InputError: if a file is missing, can't be read, or lacks a column; if there are not two labels, one of which
            is positive; or if the lexicon has no word of one polarity.
        EmbeddingFileError: for vectors in gensim's format, unless it is allowed.
    """
    files = Files(dict(_files(config)))
    data, lexicon = config.data, _lexicon(config, files)
    if (file := files.files.get("training")) is not None:
        column = read_records(file.uri, [data.label], header=data.header)[data.label]
        positive_label(column.cast(pl.String).str.strip_chars().drop_nulls(), data.positive)
    sides = {side for _, side in lexicon.entries()}
    if missing := [polarity for polarity in LABELS if polarity not in sides]:
        raise InputError(
            f"lexicon.polarity: {config.lexicon.path} has no {missing[0]} word; take a lexicon with words of both "
            "polarities, positive and negative"
        )
    return files


def _files(config: SentimentPosteriorRun) -> Iterator[tuple[str, FoundFile]]:
    data, vectors, lexicon = config.data, config.vectors, config.lexicon
    if data.path is not None:
        columns, rules = [data.text, data.label], {data.text: [TEXT], data.label: [LABEL]}
        yield "training", find_table(data.path, "data.path", columns, header=data.header, rules=rules)
    if vectors.path is not None:
        file = find_file(vectors.path, "vectors.path")
        check_pickle(file.uri, vectors.allow_pickle, "vectors.allow_pickle")
        yield "vectors", file
    if lexicon.path is not None:
        columns = [lexicon.word, lexicon.polarity]
        yield "lexicon", find_table(lexicon.path, "lexicon.path", columns, rules=lexicon_rules(*columns))


def _lexicon(config: SentimentPosteriorRun, files: Files) -> LexiconSource:
    return LexiconSource(files.files.get("lexicon"), (config.lexicon.word, config.lexicon.polarity))


def run(run: PosteriorRun) -> None:
    """Train classifiers, draw the inputs that they expect, and ask what the draws say of words."""
    lexicon = _lexicon(run.config, run.sources)
    cut = cut_texts(run)
    lexicon.check(run.runner.store, cut.one("vocabulary"))
    texts = make_vectors(run, cut)
    asked = find_words(run, lexicon, texts)
    models = train_classifiers(run, texts)
    priors = fit_priors(run, texts)
    drawn = draw(run, models, priors, texts)
    diagnosed = diagnose(run, drawn)
    compare(run, measure(run, drawn, diagnosed, texts, asked), diagnosed, asked)
    evidence = [ref for seed in range(len(models)) for prior in priors for ref in evidence_of(drawn, seed, prior)]
    run.publish("evidence", [*evidence, *count_words(run, models, texts)])
    project(run, drawn, texts)
    ask_cues(run, models, texts)


JOB = Job(
    SentimentPosteriorRun,
    find_sources,
    run,
    TABLES,
    "tiltmeter.jobs.sentiment.posterior.page:page",
    extras=["posterior"],
)
