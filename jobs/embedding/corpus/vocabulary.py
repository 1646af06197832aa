"""Stages from plain lines to words: tokens of each shard, counts over all shards, the vocabulary of each corpus."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding import tables
from tiltmeter.jobs.embedding.corpus.pages import ReadCorpus
from tiltmeter.jobs.embedding.corpus.texts import Text
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text.segmentation import SEGMENTATION_ADVICE, unsegmented_share
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

FEW_TOKENS = 500_000
"""Below it a corpus is read with a warning: most words then occur too rarely for vectors that mean much."""

FEW_LINES = 1000
"""Below it there is little to resample."""

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
class Parts:
    """What a corpus was read into, unit by unit."""

    read: ReadCorpus
    documents: Sequence[Finished]
    shards: Sequence[Shard]


@dataclass(frozen=True)
class TokenisedCorpus:
    """A corpus as the counting stages need it.

    Attributes:
        text: which it is, and how its words are told.
        shards: in the order of the corpus.
        summary: one row for the table `corpora`.
        vocabulary: ``word`` and ``count`` of the words with at least the minimum count, most frequent first.
        listed: the rows of the table `vocabulary`.
    """

    text: Text
    shards: Sequence[Shard]
    summary: TableRef
    vocabulary: TableRef
    listed: TableRef

    @property
    def language(self) -> str:
        """Its language code."""
        return self.text.corpus.language


# --- tokens: words of each line, coded by the shard's own word list -------------------------------------------------


def tokens_stage(
    runner: Runner, texts: Mapping[str, Text], documents: Mapping[str, Sequence[Finished]]
) -> dict[str, list[Shard]]:
    """Tokenise the shards of every corpus."""
    units = {
        name: [
            _tokens_unit(name, number, texts[name].tokenizer, shard.tables["lines"])
            for number, shard in enumerate(shards)
        ]
        for name, shards in documents.items()
    }
    done = runner.run(Stage("tokens", each(_tokenize), units))
    return {name: [Shard(**tokens.tables) for tokens in finished] for name, finished in done.items()}


def _tokens_unit(name: str, number: int, tokenizer: Tokenizer, lines: TableRef) -> Unit:
    identity = tokenizer.identity
    return Unit(identity["operator"], f"{name} shard {number}", identity, {"lines": [lines]})


@cache
def _tokenizer(language: str, fold_case: bool, phrases: tuple[str, ...]) -> Tokenizer:
    """Loading dictionaries takes longer than a shard: a worker keeps what it has loaded."""
    return Tokenizer(language, fold_case, phrases)


def _tokenize(store: Store, unit: Unit) -> Tables:
    language = unit.config["language"]
    tokenize = _tokenizer(language, unit.config["fold_case"], tuple(unit.config["phrases"]))
    table = store.read(unit.input("lines"))
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


_WORDS = pa.schema([("word", pa.string()), ("count", pa.int64())])


def words_stage(
    runner: Runner, texts: Mapping[str, Text], shards: Mapping[str, Sequence[Shard]], min_count: int, worker_bytes: int
) -> dict[str, list[Finished]]:
    """Count the words of every corpus, in partitions by the hash of the word."""
    units = {}
    for name, parts in shards.items():
        inputs = {"words": [shard.words for shard in parts]}
        num_parts = 1 + sum(ref.num_rows for ref in inputs["words"]) * _BYTES_PER_WORD // worker_bytes
        listed = sorted({word for words in texts[name].lists.values() for word in words})
        # Polars promises its hash for one version only.
        identity = {"min_count": min_count, "listed": listed, "num_parts": num_parts, "polars": pl.__version__}
        units[name] = [
            Unit("words/1", f"{name} words {part}", identity | {"part": part}, inputs) for part in range(num_parts)
        ]
    return runner.run_whole(Stage("words", each(_count_words), units))


def _count_words(store: Store, unit: Unit) -> Tables:
    """Words of one partition that occur often enough or are listed; and how many the partition has in all."""
    config = unit.config
    in_part = pl.col("word").hash(seed=0) % config["num_parts"] == config["part"]
    shards = [pl.DataFrame(store.read(ref)).filter(in_part) for ref in unit.inputs["words"]]
    counted = pl.concat(shards).group_by("word").agg(pl.col("count").sum())
    kept = counted.filter((pl.col("count") >= config["min_count"]) | pl.col("word").is_in(config["listed"]))
    yield "words", kept.sort("word").to_arrow().cast(_WORDS)
    yield "totals", pa.table({"num_words": [counted.height], "num_tokens": [counted["count"].sum()]})


# --- vocabulary: the words that get a vector, and what became of the listed ones ------------------------------------


def vocabulary_stage(
    runner: Runner,
    texts: Mapping[str, Text],
    parts: Mapping[str, Parts],
    words: Mapping[str, Sequence[Finished]],
    min_count: int,
) -> dict[str, TokenisedCorpus]:
    """The vocabulary of every corpus, and the account of what was read."""
    units = {name: [_vocabulary_unit(texts[name], parts[name], counted, min_count)] for name, counted in words.items()}
    done = runner.run_whole(Stage("vocabulary", each(_make_vocabulary), units))
    return {
        name: TokenisedCorpus(
            texts[name],
            parts[name].shards,
            finished.tables["corpora"],
            finished.tables["words"],
            finished.tables["vocabulary"],
        )
        for name, [finished] in done.items()
    }


def _vocabulary_unit(text: Text, parts: Parts, counted: Sequence[Finished], min_count: int) -> Unit:
    name = text.name
    config = {"corpus": name, "language": text.corpus.language, "min_count": min_count, "lists": text.lists}
    inputs = {
        "words": [done.tables["words"] for done in counted],
        "totals": [done.tables["totals"] for done in counted],
        "sources": list(parts.read.sources),
        "unreadable": [done.tables["unreadable"] for done in parts.documents],
        "pages": [ref.select("key", "content") for ref, _ in parts.read.shards],
        "lines": [shard.lines.select("line") for shard in parts.shards],
    }
    return Unit("vocabulary/3", f"{name} vocabulary", config, inputs)


def too_few(store: Store, counted: Sequence[Finished], min_count: int) -> str:
    """Why the counted words of a corpus make no vocabulary; nothing if they do."""
    counts = [store.read(done.tables["words"].select("count"))["count"] for done in counted]
    num = sum(pc.sum(pc.greater_equal(part, min_count)).as_py() or 0 for part in counts)
    few = (
        f"has {num} different words that occur embedding.min_count={min_count} times, and {_LEAST_WORDS} are needed: "
        "set a lower embedding.min_count or a larger corpus.path"
    )
    return few if num < _LEAST_WORDS else ""


def _make_vocabulary(store: Store, unit: Unit) -> Tables:
    config = unit.config
    counted = _together(store, unit, "words").sort("count", "word", descending=[True, False])
    frequent = counted.filter(pl.col("count") >= config["min_count"])
    totals = _together(store, unit, "totals").sum().to_dicts()[0]
    check_segmented(counted, config)
    yield "words", frequent.to_arrow().cast(_WORDS)
    yield "vocabulary", _listed(counted, config).to_arrow().cast(tables.Vocabulary.schema(stored=True))
    row = _account(store, unit) | {"num_tokens": totals["num_tokens"], "num_words": frequent.height}
    yield (
        "corpora",
        pa.Table.from_pylist([row | {"warning": "; ".join(_warnings(store, unit, row))}], tables.Corpora.schema()),
    )


def check_segmented(counted: pl.DataFrame, config: Mapping[str, Any]) -> None:
    """Refuse a vocabulary of characters.

    Raises:
        ValueError: with their share of the running words, and what to do.
    """
    share = unsegmented_share(counted["word"], counted["count"], config["language"])
    if share > _MOST_UNSEGMENTED:
        raise ValueError(
            f"corpus {config['corpus']}: {share:.0%} of its words are single characters of a script without spaces, "
            f"and corpus.language={config['language']} has no dictionary of it: {SEGMENTATION_ADVICE}"
        )


def _together(store: Store, unit: Unit, role: str) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs[role]])


def _listed(counted: pl.DataFrame, config: Mapping[str, Any]) -> pl.DataFrame:
    """Every counted word and every listed one, with the lists that it is on."""
    rows = [(word, name) for name, words in config["lists"].items() for word in words]
    lists = (
        pl.DataFrame(rows, schema={"word": pl.String, "list": pl.String}, orient="row")
        .group_by("word")
        .agg(pl.col("list").unique().sort().alias("lists"))
    )
    count = pl.col("count").fill_null(0)
    status = (
        pl.when(count >= config["min_count"]).then(pl.lit("ok")).when(count > 0).then(pl.lit("too_rare"))
    ).otherwise(pl.lit("absent"))
    return (
        counted.join(lists, on="word", how="full", coalesce=True)
        .with_columns(status.alias("status"), count, pl.col("lists").fill_null([]))
        .sort("count", "word", descending=[True, False])
        .select(pl.lit(config["language"]).alias("language"), "word", "count", "lists", "status")
    )


def _account(store: Store, unit: Unit) -> dict[str, Any]:
    """What was read, and what was left out of it."""
    counts = _together(store, unit, "sources").select(pl.selectors.starts_with("num_").sum()).to_dicts()[0]
    num_unreadable = sum(ref.num_rows for ref in unit.inputs["unreadable"])
    num_pages = _together(store, unit, "pages")["key"].n_unique()
    return {
        "corpus": unit.config["corpus"],
        "language": unit.config["language"],
        "num_articles": num_pages - num_unreadable,
        "num_repeated": counts["num_article"] - num_pages,
        "num_unreadable": num_unreadable,
        "num_redirects": counts["num_redirect"],
        "num_other_namespaces": counts["num_other_namespace"],
        "num_replaced": counts["num_replaced"],
        "num_lines": sum(ref.num_rows for ref in unit.inputs["lines"]),
    }


def _warnings(store: Store, unit: Unit, row: Mapping[str, Any]) -> Iterator[str]:
    if row["num_tokens"] < FEW_TOKENS:
        yield (
            f"only {row['num_tokens']:,} running words: under {FEW_TOKENS:,}, most words occur too rarely for vectors "
            "to mean much"
        )
    if row["num_lines"] < FEW_LINES:
        yield f"only {row['num_lines']:,} lines: the bootstrap resamples lines, and so few leave it little to draw from"
    if row["num_replaced"] * _WORDS_PER_REPLACED > row["num_tokens"]:
        yield (
            f"{row['num_replaced']:,} bytes or characters are not in the encoding of the files and were replaced: "
            "convert them to UTF-8"
        )
    pages = _together(store, unit, "pages").unique("key")
    num_equal = pages.height - pages["content"].n_unique()
    if num_equal * _PAGES_PER_EQUAL > pages.height:
        yield f"{num_equal:,} of {pages.height:,} documents have the text of another under another id, and are kept"
    if row["num_unreadable"]:
        unreadable = _together(store, unit, "unreadable").row(0, named=True)
        yield f"{row['num_unreadable']:,} pages can't be read, such as {unreadable['id']} ({unreadable['reason']})"
