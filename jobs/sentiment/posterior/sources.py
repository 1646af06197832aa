"""What a run of `sentiment_posterior` starts from, found before any work."""

from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.util import find_spec

import polars as pl

from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.operators.sentiment.posterior.samplers import nuts
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import GIVEN, LABEL, TEXT, Rules, one_of
from tiltmeter.storage.vectors.files import check_pickle

POLARITIES = ("positive", "negative")

_POSITIVE = ("positive", "pos", "+", "1", "true", "yes")
"""Labels that say which texts are the positive ones, in small letters."""


def find_sources(config: SentimentPosteriorRun) -> Files:
    """Look for the texts, the vectors and the lexicon.

    Raises:
        InputError: if a file is missing, can't be read, or lacks a column; if there are not two labels, one of which
            is positive; or if the lexicon has no word of one polarity.
        EmbeddingFileError: for vectors in gensim's format, unless it is allowed.
    """
    files = Files(dict(_files(config)))
    _check_content(config, files)
    return files


def _check_content(config: SentimentPosteriorRun, files: Files) -> None:
    data, lexicon = config.data, config.lexicon
    if (file := files.files.get("training")) is not None:
        column = read_records(file.uri, [data.label], header=data.header)[data.label]
        positive_label(column.cast(pl.String).str.strip_chars().drop_nulls(), data.positive)
    if (file := files.files.get("lexicon")) is not None:
        sides = {side for _, side in lexicon_entries(file.uri, lexicon.word, lexicon.polarity)}
        if missing := [polarity for polarity in POLARITIES if polarity not in sides]:
            raise InputError(
                f"lexicon.polarity: {lexicon.path} has no {missing[0]} word; take a lexicon with words of both "
                "polarities, positive and negative"
            )


def positive_label(given: Iterable[str], positive: str | None) -> str:
    """Of the labels of texts, the one of positive texts.

    Args:
        given: labels; empty ones are none.
        positive: the one that the settings name.

    Raises:
        InputError: unless there are two, and one of them is positive.
    """
    labels = sorted({label for label in given if label})
    if len(labels) != 2:
        names = ", ".join(map(repr, labels[:5])) or "none"
        raise InputError(
            f"data.label: the texts have {len(labels)} labels ({names}), and must have two, positive and negative; "
            "choose another column, or leave out other rows"
        )
    known = [label for label in labels if label.lower() in _POSITIVE]
    if positive is None and len(known) != 1:
        raise InputError(
            f"data.positive: neither of the labels {labels[0]!r} and {labels[1]!r} says which texts are the positive "
            "ones; set it to one of them"
        )
    if positive is not None and positive not in labels:
        raise InputError(
            f"data.positive={positive}: is not a label of the texts, which are {labels[0]!r} and {labels[1]!r}"
        )
    return positive or known[0]


def lexicon_entries(uri: str, word: str, polarity: str) -> Iterator[tuple[str, str]]:
    """Words in small letters, with their polarities; rows without a word are none.

    Args:
        uri: of the file.
        word, polarity: what it calls its columns.
    """
    table = read_records(uri, [word, polarity], rules=lexicon_rules(word, polarity)).cast(pl.String)
    for entry, side in zip(table[word].to_list(), table[polarity].to_list(), strict=True):
        yield entry.strip().lower(), side.strip()


def lexicon_rules(word: str, polarity: str) -> Rules:
    """Of the cells of a lexicon with these columns."""
    return {word: [GIVEN], polarity: [GIVEN, one_of(POLARITIES)]}


def missing_packages() -> list[str]:
    """What NUTS needs and this machine lacks."""
    return [package for package in nuts.PACKAGES if find_spec(package) is None]


def package_versions() -> dict[str, str]:
    """Of what NUTS draws with, as far as it is there: another version may draw otherwise."""
    return {package: version(package) for package in nuts.PACKAGES if find_spec(package) is not None}


def _files(config: SentimentPosteriorRun) -> Iterator[tuple[str, FoundFile]]:
    data, vectors, lexicon = config.data, config.vectors, config.lexicon
    if data.path is not None:
        yield (
            "training",
            find_table(
                data.path,
                "data.path",
                [data.text, data.label],
                header=data.header,
                rules={data.text: [TEXT], data.label: [LABEL]},
            ),
        )
    if vectors.path is not None:
        file = find_file(vectors.path, "vectors.path")
        check_pickle(file.uri, vectors.allow_pickle, "vectors.allow_pickle")
        yield "vectors", file
    if lexicon.path is not None:
        columns = [lexicon.word, lexicon.polarity]
        yield "lexicon", find_table(lexicon.path, "lexicon.path", columns, rules=lexicon_rules(*columns))
