"""From files to corpora that can be counted: pages, tokens of each shard, counts over all shards, the vocabulary."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.cluster.stages import Runner
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsRun, ReadingConfig
from tiltmeter.jobs.embedding.pages import (
    ExtractLines,
    Pages,
    Part,
    ReadPages,
    ReadPart,
    extract_lines,
    left_out_of,
    parts_of,
    refuse_bad_files,
)
from tiltmeter.jobs.embedding.slices import Cut, ListSlices, ReadSlices, cut, slice_rows
from tiltmeter.jobs.embedding.sources import Sources, Text
from tiltmeter.jobs.embedding.tables import Corpora, Vocabulary
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.work import Done, Subject, Work, do
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding.bootstrap import Resampling
from tiltmeter.operators.text import tokens
from tiltmeter.operators.text.segmentation import SEGMENTATION_ADVICE, unsegmented_share
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.corpora.lines import PART_LENGTH
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef

FEW_TOKENS = 500_000
"""Below it a corpus is read with a warning: most words then occur too rarely for vectors that mean much."""

FEW_LINES = 1000
"""Below it there is little to resample."""

_MEMORY_PER_DOCUMENT_BYTE = 20
"""Of a document in one line, whose words are all in memory at once while it is tokenised; longer ones are refused."""

_LEAST_WORDS = 2
"""Of a vocabulary."""

_MOST_UNSEGMENTED = 0.2
"""Share of running words that may be characters of scripts without spaces, such as names in a text of another."""

_WORDS_PER_REPLACED = 1000
"""At least, in files of the encoding that they are read in."""

_PAGES_PER_EQUAL = 10
"""At least, where the same texts come under different ids by chance."""

_LONGEST_LINE = 10_000
"""Words of a line; what is beyond is a line of its own, so that a corpus in one line can be resampled and counted."""

_BYTES_PER_WORD = 200
"""Memory of a different word of a shard while the shards' counts are added up."""

_WORDS = pa.schema([("word", pa.string()), ("count", pa.int64())])


@dataclass(frozen=True)
class Corpus(Pages):
    """A corpus, or a slice of one, ready to be counted.

    Attributes:
        lines: of each shard ``document`` (key), ``line`` (number), ``tokens`` (codes); lines without a word are left
            out.
        words: of each shard ``word`` and ``count``; a word's row is its code.
        summary: one row for the table `corpora`.
        vocabulary: ``word`` and ``count`` of the words with at least the minimum count, most frequent first.
        listed: the rows of the table `vocabulary`.
    """

    lines: Sequence[TableRef]
    words: Sequence[TableRef]
    summary: TableRef
    vocabulary: TableRef
    listed: TableRef

    def numbers(self, store: Store, *names: str) -> list[int]:
        """Some of the summary."""
        [row] = store.read(self.summary.select(*names)).to_pylist()
        return [row[name] for name in names]

    def extent(self, store: Store) -> tuple[int, int]:
        """Documents and lines."""
        num_documents, num_lines = self.numbers(store, "num_articles", "num_lines")
        return num_documents, num_lines

    def resampling(self, store: Store, embedding: EmbeddingConfig) -> Resampling:
        """How its replicas are drawn."""
        return embedding.resampling.of(*self.extent(store))


@dataclass(frozen=True)
class ReadCorpora:
    """What was read.

    Attributes:
        corpora: the corpora and slices that could be read whole, by name.
        cuts: the corpora that were cut into slices.
        whole: the others, by name.
        small: why a corpus or slice is too small to be measured, by its name.
    """

    corpora: Mapping[str, Corpus]
    cuts: Sequence[Cut]
    whole: Mapping[str, Pages]
    small: Mapping[str, str]

    def without(self, small: Mapping[str, str]) -> "ReadCorpora":
        """The same, less those that are too small, which are noted with the reasons; raises InputError if all are."""
        _check_any_large(small, len(self.corpora))
        large = {name: corpus for name, corpus in self.corpora.items() if name not in small}
        return replace(self, corpora=large, small={**self.small, **small})

    def publish_slices(self, run: Run[EmbeddingsRun, Sources]) -> None:
        """Publish the table ``corpus_slices``, if a corpus was cut or is too small."""
        if rows := list(slice_rows(self.cuts, self.whole, self.corpora, self.small)):
            run.do([ListSlices(group="slices", label="slices", slices=rows)], in_driver=True)


def _check_any_large(small: Mapping[str, str], num: int) -> None:
    """Refuse corpora and slices that are all too small.

    Args:
        small: why each of those is that is.
        num: of all corpora and slices.

    Raises:
        InputError: with the reason of the first.
    """
    if small and len(small) == num:
        name, reason = next(iter(small.items()))
        which = f"all {num} corpora and slices are too small; {name}, as the first," if num > 1 else name
        raise InputError(f"corpus: {which} {reason}")


# --- pages ----------------------------------------------------------------------------------------------------------


def read_texts(
    runner: Runner, texts: Sequence[Text], reading: ReadingConfig, worker_bytes: int
) -> tuple[dict[str, Pages], list[Cut]]:
    """What the corpora, and the slices of those that are to be cut, were read into; the cuts.

    Raises:
        InputError: if all files have too many bad records.
        UnitsFailed: if nothing could be read.
    """
    parts = read_parts(runner, texts, reading, worker_bytes)
    read = {text.name: pages_of_parts(text, parts[text.name]) for text in texts if not text.slicing}
    cuts = [
        cut(runner, text, parts[text.name].pairs, reading.shard_megabytes)
        for text in texts
        if text.slicing and not runner.failures[text.name]
    ]
    read |= {name: pages for slices in cuts for name, pages in slices.read.items()}
    if not read:
        runner.check()
    return read, cuts


def read_parts(
    runner: Runner,
    texts: Sequence[Text],
    reading: ReadingConfig,
    worker_bytes: int,
    sliced: Callable[..., ReadPart] = ReadSlices,
) -> dict[str, Done[ReadPart]]:
    """The parts of every corpus that could be read, by its name; ``sliced`` reads those of corpora with slices.

    Raises:
        InputError: if all files have too many bad records.
    """
    works = [
        _reading(text, part, reading.shard_megabytes, worker_bytes // _MEMORY_PER_DOCUMENT_BYTE, sliced)
        for text in texts
        for part in parts_of(text.sources, reading.span_megabytes, reading.shard_megabytes)
    ]
    done = _without_bad_files(runner, works, do(runner, works, complete=False), reading.max_bad_share).groups
    return {text.name: done.get(text.name, Done([])) for text in texts}


def _reading(
    text: Text, part: Part, megabytes: float, document_bytes: int, sliced: Callable[..., ReadPart] = ReadSlices
) -> ReadPart:
    formats = {source.format for source in part.sources}
    same: dict[str, Any] = {"group": text.name, "label": f"{text.name}: {part.title}", "part": part}
    same |= {"shard_megabytes": megabytes, "document_bytes": document_bytes}
    same |= {"revision": "newest" if "mediawiki" in formats else None}
    if text.slicing:
        return sliced(**same, slices=text.slicing)
    return ReadPages(**same, part_length=PART_LENGTH if "text" in formats else None)


def _without_bad_files(
    runner: Runner, works: Sequence[ReadPart], done: Done[ReadPart], max_share: float
) -> Done[ReadPart]:
    """All parts but those of files of which too many records are bad.

    Raises:
        InputError: if there is no other.
    """
    refused: dict[ReadPart, InputError] = {}
    for name, read in done.groups.items():
        bad = left_out_of(runner.store, read)
        runner.leave_out(bad)
        refused |= refuse_bad_files(runner, [work for work in works if work.group == name], bad, max_share)
    sound = [(work, unit) for work, unit in done.pairs if work not in refused]
    if refused and not sound:
        raise next(iter(refused.values()))
    return Done(sound)


def pages_of_parts(text: Text, parts: Done[ReadPart]) -> Pages:
    """Every shard of pages with the table that describes its source, and all such tables."""
    tables = [
        (ref, name, unit.tables["source"]) for _, unit in parts.pairs for name, ref in sorted(unit.tables.items())
    ]
    return Pages(
        text, [(ref, source) for ref, name, source in tables if name.startswith("shard_")], parts.refs("source")
    )


def read_lines(runner: Runner, texts: Sequence[Text], reading: ReadingConfig, worker_bytes: int) -> Done[ExtractLines]:
    """The shards of every corpus as plain lines: see :func:`.pages.extract_lines`."""
    read, _ = read_texts(runner, texts, reading, worker_bytes)
    return extract_lines(runner, read, worker_bytes)


# --- tokens: words of each line, coded by the shard's own word list -------------------------------------------------


@dataclass(frozen=True)
class Tokens(Subject):
    """What a tokeniser says of itself, as it would load dictionaries wherever it travels."""

    settings: Mapping[str, Any]

    @property
    def identity(self) -> Mapping[str, Any]:
        """Language, spelling, phrases and versions."""
        return self.settings

    def tokenizer(self) -> Tokenizer:
        """The tokeniser itself."""
        settings = self.settings
        return _tokenizer(settings["language"], settings["fold_case"], tuple(settings["phrases"]))


@cache
def _tokenizer(language: str, fold_case: bool, phrases: tuple[str, ...]) -> Tokenizer:
    """Loading dictionaries takes longer than a shard: a worker keeps what it has loaded."""
    return Tokenizer(language, fold_case, phrases)


class Tokenize(Work, unit=tokens.VERSION, stage="tokens"):
    """The lines of a shard as words."""

    tokens: Tokens
    lines: TableRef

    def tables(self, store: Store) -> Tables:
        tokenize, language = self.tokens.tokenizer(), self.tokens.settings["language"]
        table = store.read(self.lines)
        keys = {name: document_key(f"{language}:{name}") for name in table["document"].unique().to_pylist()}
        codes: dict[str, int] = {}
        documents, numbers, coded = [], [], []
        num_cut: Counter[str] = Counter()
        rows = zip(*(table[column].to_pylist() for column in ("document", "line", "text")), strict=True)
        for name, number, text in rows:
            words = tokenize(text)
            for start in range(0, len(words), _LONGEST_LINE):
                # Further pieces of a line are numbered downwards from -1, where no other line is.
                num_cut[name] += start > 0
                documents.append(keys[name])
                numbers.append(-num_cut[name] if start else number)
                coded.append([codes.setdefault(word, len(codes)) for word in words[start : start + _LONGEST_LINE]])
        columns = {
            "document": pa.array(documents, pa.uint64()),
            "line": pa.array(numbers, pa.int32()),
            "tokens": pa.array(coded, pa.list_(pa.int32())),
        }
        yield "lines", pa.table(columns)
        flat = columns["tokens"].flatten().to_numpy()
        counts = np.bincount(flat, minlength=len(codes)).astype(np.int64)
        yield "words", pa.table({"word": pa.array(codes, pa.string()), "count": counts}, _WORDS)


# --- words: their counts over all shards, added up in parts that fit memory -----------------------------------------


class CountWords(Work, unit="words/1", stage="words"):
    """Words of one partition that occur often enough or are listed; and how many the partition has in all."""

    min_count: int
    listed: Sequence[str]
    num_parts: int
    part: int
    polars: str = pl.__version__  # it promises its hash for one version only
    words: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        in_part = pl.col("word").hash(seed=0) % self.num_parts == self.part
        shards = [pl.DataFrame(store.read(ref)).filter(in_part) for ref in self.words]
        counted = pl.concat(shards).group_by("word").agg(pl.col("count").sum())
        kept = counted.filter((pl.col("count") >= self.min_count) | pl.col("word").is_in(self.listed))
        yield "words", kept.sort("word").to_arrow().cast(_WORDS)
        yield "totals", pa.table({"num_words": [counted.height], "num_tokens": [counted["count"].sum()]})


def too_few(store: Store, counted: Sequence[TableRef], min_count: int) -> str:
    """Why the counted words of a corpus make no vocabulary; nothing if they do."""
    counts = [store.read(ref.select("count"))["count"] for ref in counted]
    num = sum(pc.sum(pc.greater_equal(part, min_count)).as_py() or 0 for part in counts)
    few = (
        f"has {num} different words that occur embedding.min_count={min_count} times, and {_LEAST_WORDS} are needed: "
        "set a lower embedding.min_count or a larger corpus.path"
    )
    return few if num < _LEAST_WORDS else ""


# --- vocabulary: the words that get a vector, and what became of the listed ones ------------------------------------


class MakeVocabulary(Work, unit="vocabulary/3", stage="vocabulary"):
    """Of a corpus, with the account of what was read."""

    corpus: str
    language: str
    min_count: int
    lists: Mapping[str, Sequence[str]]
    words: Sequence[TableRef]
    totals: Sequence[TableRef]
    sources: Sequence[TableRef]
    unreadable: Sequence[TableRef]
    pages: Sequence[TableRef]
    lines: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        counted = _together(store, self.words).sort("count", "word", descending=[True, False])
        frequent = counted.filter(pl.col("count") >= self.min_count)
        totals = _together(store, self.totals).sum().to_dicts()[0]
        check_segmented(counted, self.corpus, self.language)
        yield "words", frequent.to_arrow().cast(_WORDS)
        yield "vocabulary", self._listed(counted).to_arrow().cast(Vocabulary.schema(stored=True))
        row = self._account(store) | {"num_tokens": totals["num_tokens"], "num_words": frequent.height}
        yield (
            "corpora",
            pa.Table.from_pylist([row | {"warning": "; ".join(self.warnings(store, row))}], Corpora.schema()),
        )

    def _listed(self, counted: pl.DataFrame) -> pl.DataFrame:
        """Every counted word and every listed one, with the lists that it is on."""
        rows = [(word, name) for name, words in self.lists.items() for word in words]
        lists = (
            pl.DataFrame(rows, schema={"word": pl.String, "list": pl.String}, orient="row")
            .group_by("word")
            .agg(pl.col("list").unique().sort().alias("lists"))
        )
        count = pl.col("count").fill_null(0)
        status = (
            pl.when(count >= self.min_count).then(pl.lit("ok")).when(count > 0).then(pl.lit("too_rare"))
        ).otherwise(pl.lit("absent"))
        return (
            counted.join(lists, on="word", how="full", coalesce=True)
            .with_columns(status.alias("status"), count, pl.col("lists").fill_null([]))
            .sort("count", "word", descending=[True, False])
            .select(pl.lit(self.language).alias("language"), "word", "count", "lists", "status")
        )

    def _account(self, store: Store) -> dict[str, Any]:
        """What was read, and what was left out of it."""
        counts = _together(store, self.sources).select(pl.selectors.starts_with("num_").sum()).to_dicts()[0]
        num_unreadable = sum(ref.num_rows for ref in self.unreadable)
        num_pages = _together(store, self.pages)["key"].n_unique()
        return {
            "corpus": self.corpus,
            "language": self.language,
            "num_articles": num_pages - num_unreadable,
            "num_repeated": counts["num_article"] - num_pages,
            "num_unreadable": num_unreadable,
            "num_redirects": counts["num_redirect"],
            "num_other_namespaces": counts["num_other_namespace"],
            "num_replaced": counts["num_replaced"],
            "num_lines": sum(ref.num_rows for ref in self.lines),
        }

    def warnings(self, store: Store, row: Mapping[str, Any]) -> Iterator[str]:
        """What makes results doubtful; ``row``: of the table `corpora`."""
        if row["num_tokens"] < FEW_TOKENS:
            yield (
                f"only {row['num_tokens']:,} running words: under {FEW_TOKENS:,}, most words occur too rarely for "
                "vectors to mean much"
            )
        if row["num_lines"] < FEW_LINES:
            yield (
                f"only {row['num_lines']:,} lines: the bootstrap resamples lines, and so few leave it little to draw "
                "from"
            )
        if row["num_replaced"] * _WORDS_PER_REPLACED > row["num_tokens"]:
            yield (
                f"{row['num_replaced']:,} bytes or characters are not in the encoding of the files and were replaced: "
                "convert them to UTF-8"
            )
        pages = _together(store, self.pages).unique("key")
        num_equal = pages.height - pages["content"].n_unique()
        if num_equal * _PAGES_PER_EQUAL > pages.height:
            yield f"{num_equal:,} of {pages.height:,} documents have the text of another under another id, and are kept"
        if row["num_unreadable"]:
            page = _together(store, self.unreadable).row(0, named=True)
            yield f"{row['num_unreadable']:,} pages can't be read, such as {page['id']} ({page['reason']})"


def check_segmented(counted: pl.DataFrame, corpus: str, language: str) -> None:
    """Refuse a vocabulary of characters.

    Raises:
        ValueError: with their share of the running words, and what to do.
    """
    share = unsegmented_share(counted["word"], counted["count"], language)
    if share > _MOST_UNSEGMENTED:
        raise ValueError(
            f"corpus {corpus}: {share:.0%} of its words are single characters of a script without spaces, and "
            f"corpus.language={language} has no dictionary of it: {SEGMENTATION_ADVICE}"
        )


def _together(store: Store, refs: Sequence[TableRef]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(store.read(ref)) for ref in refs])


# --- the stages -----------------------------------------------------------------------------------------------------


def read_corpora(run: Run[EmbeddingsRun, Sources]) -> ReadCorpora:
    """The corpora and slices that could be read whole, and are large enough to draw from.

    Raises:
        UnitsFailed: if none could.
        InputError: for slices by a field that no document has, or if all corpora and slices are too small.
    """
    runner, worker_bytes = run.runner, run.config.cluster.worker_data_bytes
    embedding = cast(EmbeddingConfig, run.config.embedding)
    read, cuts = read_texts(runner, run.sources.texts, run.config.reading, worker_bytes)
    lines = extract_lines(runner, read, worker_bytes)
    shards = _tokenized(runner, read, lines)
    counted = run.do(_counting(read, shards, embedding.min_count, worker_bytes)).groups
    lacks = {name: too_few(runner.store, done.refs("words"), embedding.min_count) for name, done in counted.items()}
    small = {name: reason for name, reason in lacks.items() if reason}
    _check_any_large(small, len(counted))
    documents = lines.groups
    made = run.do(
        _vocabulary(
            read[name], words, embedding.min_count, shards[name].refs("lines"), documents[name].refs("unreadable")
        )
        for name, words in counted.items()
        if name not in small
    )
    corpora = {name: _corpus(read[name], shards[name], done) for name, done in made.groups.items()}
    whole = {name: pages for name, pages in read.items() if not pages.text.slice}
    large = ReadCorpora(corpora, cuts, whole, small)
    return large.without(_of_one_document(runner.store, corpora, embedding))


def _tokenized(runner: Runner, read: Mapping[str, Pages], lines: Done[ExtractLines]) -> dict[str, Done[Tokenize]]:
    """The shards of every corpus as words."""
    works = (
        Tokenize(
            group=name,
            label=f"{name} shard {number}",
            tokens=Tokens(read[name].text.tokenizer.identity),
            lines=ref,
        )
        for name, documents in lines.groups.items()
        for number, ref in enumerate(documents.refs("lines"))
    )
    return do(runner, works, complete=False).groups


def make_vocabularies(
    run: Run[EmbeddingsRun, Sources], copies: Mapping[str, Corpus], shards: Mapping[str, Done[Any]], min_count: int
) -> dict[str, Corpus]:
    """Copies of corpora whose lines have other words now, with the words that are frequent in them.

    Args:
        copies: with their new names, lists and lines.
        shards: units with the tables ``words`` of those lines, by the same names.
        min_count: of a word of the vocabulary.
    """
    worker_bytes = run.config.cluster.worker_data_bytes
    counted = run.do(_counting(copies, shards, min_count, worker_bytes)).groups
    made = run.do(_vocabulary(copies[name], done, min_count, copies[name].lines) for name, done in counted.items())
    corpora = {name: _corpus(copies[name], shards[name], done) for name, done in made.groups.items()}
    return {name: replace(corpus, summary=copies[name].summary) for name, corpus in corpora.items()}


def _vocabulary(
    pages: Pages,
    counted: Done[CountWords],
    min_count: int,
    lines: Sequence[TableRef],
    unreadable: Sequence[TableRef] = (),
) -> MakeVocabulary:
    name = pages.text.name
    return MakeVocabulary(
        group=name,
        label=f"{name} vocabulary",
        corpus=name,
        language=pages.language,
        min_count=min_count,
        lists=pages.text.lists,
        words=counted.refs("words"),
        totals=counted.refs("totals"),
        sources=pages.sources,
        unreadable=unreadable,
        pages=[ref.select("key", "content") for ref, _ in pages.pages],
        lines=[ref.select("line") for ref in lines],
    )


def _counting(
    read: Mapping[str, Pages], shards: Mapping[str, Done[Any]], min_count: int, worker_bytes: int
) -> Iterator[CountWords]:
    for name, tokenized in shards.items():
        words = tokenized.refs("words")
        num_parts = 1 + sum(ref.num_rows for ref in words) * _BYTES_PER_WORD // worker_bytes
        listed = sorted(set(chain.from_iterable(read[name].text.lists.values())))
        for part in range(num_parts):
            yield CountWords(
                group=name,
                label=f"{name} words {part}",
                min_count=min_count,
                listed=listed,
                num_parts=num_parts,
                part=part,
                words=words,
            )


def _corpus(pages: Pages, shards: Done[Any], made: Done[MakeVocabulary]) -> Corpus:
    lines, words = (shards.refs(table) for table in ("lines", "words"))
    summary, vocabulary, listed = (made.one(table) for table in ("corpora", "words", "vocabulary"))
    return Corpus(pages.text, pages.pages, pages.sources, lines, words, summary, vocabulary, listed)


def _of_one_document(store: Store, corpora: Mapping[str, Corpus], embedding: EmbeddingConfig) -> dict[str, str]:
    """Why nothing can be drawn of corpora with a single document, if documents are asked to be drawn."""
    reason = (
        "is one document, so there is nothing to draw with embedding.resampling.unit=document: set it to line, or give "
        "the corpus's documents one by one"
    )
    asked = corpora if embedding.resampling.unit == "document" else {}
    return {name: reason for name, corpus in asked.items() if corpus.numbers(store, "num_articles") == [1]}
