"""What a run of `sentiment_posterior` starts from, found before any work."""

from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec

from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.operators.sentiment.posterior.samplers import nuts
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.vectors.files import check_pickle


def find_sources(config: SentimentPosteriorRun) -> Files:
    """Look for the texts, the vectors and the lexicon.

    Raises:
        InputError: if a file is missing, can't be read, or lacks a column.
        EmbeddingFileError: for vectors in gensim's format, unless it is allowed.
    """
    return Files(dict(_files(config)))


def missing_packages() -> list[str]:
    """What NUTS needs and this machine lacks."""
    return [package for package in nuts.PACKAGES if find_spec(package) is None]


def package_versions() -> dict[str, str]:
    """Of what NUTS draws with, as far as it is there: another version may draw otherwise."""
    return {package: version(package) for package in nuts.PACKAGES if find_spec(package) is not None}


def _files(config: SentimentPosteriorRun) -> Iterator[tuple[str, FoundFile]]:
    data, vectors, lexicon = config.data, config.vectors, config.lexicon
    if data.path is not None:
        yield "training", find_table(data.path, "data.path", [data.text, data.label], header=data.header)
    if vectors.path is not None:
        file = find_file(vectors.path, "vectors.path")
        check_pickle(file.uri, vectors.allow_pickle, "vectors.allow_pickle")
        yield "vectors", file
    if lexicon.path is not None:
        yield "lexicon", find_table(lexicon.path, "lexicon.path", [lexicon.word, lexicon.polarity])
