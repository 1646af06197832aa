"""Disjoint samples of a corpus: whole articles, in an order drawn at random, until each sample has its tokens."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.command import DATA, read_corpus
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream, philox
from tiltmeter.operators.text.tokens import Tokenizer

TOKENS = 1_000_000
"""Of a sample, less in a corpus that has not so many for each."""

_SEED = 0


@dataclass(frozen=True)
class Corpus:
    """A corpus to be cut.

    Attributes:
        language: its code, by which word lists are found.
        file: in the development data.
        num_samples: disjoint ones.
    """

    language: str
    file: str
    num_samples: int


CORPORA = {
    "simple": Corpus("en", "corpora/en/simplewiki.jsonl.bz2", 6),
    "es": Corpus("es", "corpora/es/eswiki.wikiextractor.txt.bz2", 5),
    "en": Corpus("en", "corpora/en/enwiki.wikiextractor.txt.bz2", 10),
    "de": Corpus("de", "corpora/de/dewiki.wikiextractor.txt.bz2", 5),
}
"""Those that an interval is chosen on, simple and es, and those that it is confirmed on, en and de."""


class Article(NamedTuple):
    """A page as a line of JSON, how many tokens it has, and where the draw puts it."""

    line: str
    num_tokens: int
    rank: int


def write_samples(corpus: Corpus, folder: Path) -> list[Path]:
    """The files of the samples, written unless they are there; together the last file says that all are."""
    files = [folder / f"{number}.jsonl" for number in range(corpus.num_samples)]
    if not files[-1].exists():
        folder.mkdir(parents=True, exist_ok=True)
        articles = list(read_articles(corpus))
        for file, sample in zip(files, dealt(articles, corpus.num_samples), strict=True):
            file.write_text("".join(f"{article.line}\n" for article in sample), encoding="utf-8")
    return files


def dealt(articles: Sequence[Article], num_samples: int, tokens: int = TOKENS) -> list[list[Article]]:
    """Articles in the order of their ranks, cut where a sample has its tokens; what is left over is in none.

    >>> articles = [Article("b", 2, 5), Article("a", 3, 1), Article("c", 2, 9), Article("d", 1, 7)]
    >>> [[article.line for article in sample] for sample in dealt(articles, num_samples=2, tokens=3)]
    [['a'], ['b', 'd']]
    """
    ordered = sorted(articles, key=lambda article: article.rank)
    starts = [0, *accumulate(article.num_tokens for article in ordered)]
    size = min(tokens, starts[-1] / num_samples)
    samples: list[list[Article]] = [[] for _ in range(num_samples)]
    for article, start in zip(ordered, starts[:-1], strict=True):
        if start < size * num_samples:
            samples[int(start / size)].append(article)
    return samples


def read_articles(corpus: Corpus) -> Iterator[Article]:
    """Of the corpus, with ranks drawn by their ids."""
    tokenize = Tokenizer(corpus.language)
    for _, page in read_corpus(str(DATA / corpus.file), corpus.language):
        line = json.dumps({"id": page.id, "title": page.title, "text": page.text}, ensure_ascii=False)
        yield Article(line, sum(len(tokenize(text)) for text in page.text.split("\n")), _rank(page.id))


def _rank(page_id: str) -> int:
    key, zero = np.uint64(document_key(page_id)), np.uint64(0)
    return int(philox(np.uint64(_SEED), np.uint64(Stream.PARTITION), key, zero, zero, zero)[0])
