"""Stages from a corpus to its words: read, documents, tokens, vocabulary.

A unit's identity is its operator, its config and the content of what it reads. So the number of workers, and any
sharding that yields the same content, leads to the same units downstream.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from cluster.stages import Runner, Stage
from cluster.workers import each
from jobs import tables
from operators import tokens, wikitext
from operators.bootstrap import document_key
from storage.corpora import CorpusConfig, CorpusError, locate, read_pages, source_digest
from storage.ledger import Store, TableRef, Unit

Tables = Iterator[tuple[str, pa.Table]]


@dataclass(frozen=True)
class Shard:
    """Part of a corpus, tokenised.

    Attributes:
        lines: ``document`` (key), ``line`` (number), ``tokens`` (codes); lines without a word are left out.
        words: ``word`` and ``count``; a word's row is its code.
    """

    lines: TableRef
    words: TableRef


@dataclass(frozen=True)
class TokenisedCorpus:
    """A corpus as the counting stages need it.

    Attributes:
        summary: one row for the table `corpora`.
        vocabulary: words with at least the minimum count, most frequent first.
    """

    shards: Sequence[Shard]
    summary: TableRef
    vocabulary: TableRef


def read_corpus(runner: Runner, corpus: CorpusConfig, content: str, min_count: int) -> TokenisedCorpus:
    """Run the stages for one corpus, whose file has the digest ``content``."""
    corpus = dataclasses.replace(corpus, path=str(locate(corpus)))
    pages, source = _read_stage(runner, corpus, content)
    lines = _documents_stage(runner, corpus, pages, source)
    shards = _tokens_stage(runner, corpus, lines)
    vocabulary, summary = _vocabulary_stage(runner, corpus, min_count, shards, source)
    return TokenisedCorpus(shards, summary, vocabulary)


# --- read: the one sequential pass over a source file ---------------------------------------------------------------


def _read_stage(runner: Runner, corpus: CorpusConfig, content: str) -> tuple[list[TableRef], TableRef]:
    identity = {"content": content, "format": corpus.format, "shard_megabytes": corpus.shard_megabytes}
    unit = Unit("pages/1", corpus.name, identity)
    [read] = runner.run(Stage("read", each(partial(_read_pages, corpus)), [unit]))
    return [ref for name, ref in read.tables.items() if name != "source"], read.tables["source"]


_SOURCE = pa.schema(
    [
        ("markup", pa.string()),
        ("media_prefixes", pa.list_(pa.string())),
        ("num_article", pa.int64()),
        ("num_redirect", pa.int64()),
        ("num_other_namespace", pa.int64()),
    ]
)


def _read_pages(corpus: CorpusConfig, _store: Store, unit: Unit) -> Tables:
    source = read_pages(corpus)
    counts = {"article": 0, "redirect": 0, "other_namespace": 0}
    shard: list[tuple[str, str]] = []
    num_bytes = num_shards = 0
    for page in source.pages:
        counts[page.kind] += 1
        if page.kind == "article":
            shard.append((page.id, page.text))
            num_bytes += len(page.text.encode())
        if num_bytes >= corpus.shard_megabytes * 1e6:
            yield f"shard_{num_shards:05d}", _pages_table(shard)
            shard, num_bytes, num_shards = [], 0, num_shards + 1
    if shard:
        yield f"shard_{num_shards:05d}", _pages_table(shard)
    if source_digest(source.path) != unit.config["content"]:
        raise CorpusError(f"{source.path} is not the file that the run began with: leave it alone and run again")
    described = {"markup": source.markup, "media_prefixes": sorted(source.media_prefixes)}
    row = described | {f"num_{kind}": number for kind, number in counts.items()}
    yield "source", pa.Table.from_pylist([row], _SOURCE)


def _pages_table(pages: Sequence[tuple[str, str]]) -> pa.Table:
    ids, texts = zip(*pages, strict=True)
    return pa.table({"id": pa.array(ids, pa.string()), "text": pa.array(texts, pa.string())})


# --- documents: markup to plain lines -------------------------------------------------------------------------------


def _documents_stage(
    runner: Runner, corpus: CorpusConfig, pages: Sequence[TableRef], source: TableRef
) -> list[TableRef]:
    how = source.select("markup", "media_prefixes")
    units = [
        Unit(wikitext.VERSION, f"{corpus.name} {shard.name}", {}, {"pages": [shard], "source": [how]})
        for shard in pages
    ]
    return [done.tables["lines"] for done in runner.run(Stage("documents", each(_plain_text), units))]


def _plain_text(store: Store, unit: Unit) -> Tables:
    pages = store.read(unit.input("pages"))
    [how] = store.read(unit.input("source")).to_pylist()
    ids: list[str] = []
    numbers: list[int] = []
    lines: list[str] = []
    for page_id, text in zip(pages["id"].to_pylist(), pages["text"].to_pylist(), strict=True):
        found = _lines_of_page(page_id, text, how)
        ids += [page_id] * len(found)
        numbers += range(len(found))
        lines += found
    columns = {"document": pa.array(ids, pa.string()), "line": pa.array(numbers, pa.int32())}
    yield "lines", pa.table(columns | {"text": pa.array(lines, pa.string())})


def _lines_of_page(page_id: str, text: str, how: dict[str, Any]) -> list[str]:
    if how["markup"] == "plain":
        return wikitext.text_lines(text)
    try:
        return wikitext.plain_lines(text, how["media_prefixes"])
    except Exception as error:
        raise CorpusError(f"page {page_id}: its markup cannot be read ({type(error).__name__}: {error})") from error


# --- tokens: words of each line, coded by the shard's own word list -------------------------------------------------


def _tokens_stage(runner: Runner, corpus: CorpusConfig, lines: Sequence[TableRef]) -> list[Shard]:
    units = [
        Unit(tokens.VERSION, f"{corpus.name} part {index}", {"language": corpus.language}, {"lines": [shard]})
        for index, shard in enumerate(lines)
    ]
    return [Shard(**done.tables) for done in runner.run(Stage("tokens", each(_tokenize), units))]


def _tokenize(store: Store, unit: Unit) -> Tables:
    table = store.read(unit.input("lines"))
    keys = {name: document_key(f"{unit.config['language']}:{name}") for name in table["document"].unique().to_pylist()}
    codes: dict[str, int] = {}
    documents, numbers, coded = [], [], []
    rows = zip(*(table[column].to_pylist() for column in ("document", "line", "text")), strict=True)
    for name, number, text in rows:
        if words := tokens.tokenize(text):
            documents.append(keys[name])
            numbers.append(number)
            coded.append([codes.setdefault(word, len(codes)) for word in words])
    columns = {
        "document": pa.array(documents, pa.uint64()),
        "line": pa.array(numbers, pa.int32()),
        "tokens": pa.array(coded, pa.list_(pa.int32())),
    }
    yield "lines", pa.table(columns)
    flat = columns["tokens"].flatten().to_numpy()
    counts = np.bincount(flat, minlength=len(codes)).astype(np.int64)
    yield "words", pa.table({"word": pa.array(codes, pa.string()), "count": counts})


# --- vocabulary: over all shards ------------------------------------------------------------------------------------


def _vocabulary_stage(
    runner: Runner, corpus: CorpusConfig, min_count: int, shards: Sequence[Shard], source: TableRef
) -> tuple[TableRef, TableRef]:
    identity = {"corpus": corpus.name, "language": corpus.language, "min_count": min_count}
    inputs = {
        "words": [shard.words for shard in shards],
        "lines": [shard.lines.select("line") for shard in shards],
        "source": [source],
    }
    unit = Unit("vocabulary/1", corpus.name, identity, inputs)
    [done] = runner.run(Stage("vocabulary", each(_count_words), [unit]))
    return done.tables["vocabulary"], done.tables["corpora"]


def _count_words(store: Store, unit: Unit) -> Tables:
    counted = pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs["words"]])
    language, min_count = unit.config["language"], unit.config["min_count"]
    vocabulary = (
        counted.group_by("word")
        .agg(pl.col("count").sum())
        .filter(pl.col("count") >= min_count)
        .sort("count", "word", descending=[True, False])
    )
    if vocabulary.height < 2:
        raise ValueError(
            f"corpus {unit.config['corpus']}: {vocabulary.height} different words among {counted['count'].sum()} occur "
            f"embedding.min_count={min_count} times: set a lower embedding.min_count or a larger corpus.path"
        )
    columns = [pl.lit(language).alias("language"), "word", "count"]
    yield "vocabulary", vocabulary.select(columns).to_arrow().cast(tables.VOCABULARY)
    [source] = store.read(unit.input("source")).to_pylist()
    row = {
        "corpus": unit.config["corpus"],
        "language": language,
        "num_articles": source["num_article"],
        "num_redirects": source["num_redirect"],
        "num_other_namespaces": source["num_other_namespace"],
        "num_lines": sum(ref.num_rows for ref in unit.inputs["lines"]),
        "num_tokens": counted["count"].sum(),
        "num_words": vocabulary.height,
    }
    yield "corpora", pa.Table.from_pylist([row], tables.CORPORA)
