"""Stages from plain lines to words: tokens of each shard, counts over all shards, the vocabulary of each corpus."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from cluster.stages import Runner, Stage
from cluster.workers import each
from jobs import tables
from jobs.texts import Text
from operators.bootstrap import document_key
from operators.tokens import Tokenizer
from storage.ledger import Store, TableRef, Unit

Tables = Iterator[tuple[str, pa.Table]]

FEW_TOKENS = 500_000
"""Below it a corpus is read with a warning: most words then occur too rarely for vectors that mean much."""

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
class TokenisedCorpus:
    """A corpus as the counting stages need it.

    Attributes:
        language: its language code.
        shards: in the order of the corpus.
        summary: one row for the table `corpora`.
        vocabulary: ``word`` and ``count`` of the words with at least the minimum count, most frequent first.
        listed: the rows of the table `vocabulary`.
    """

    language: str
    shards: Sequence[Shard]
    summary: TableRef
    vocabulary: TableRef
    listed: TableRef


# --- tokens: words of each line, coded by the shard's own word list -------------------------------------------------


def tokens_stage(
    runner: Runner, texts: Mapping[str, Text], lines: Mapping[str, Sequence[TableRef]]
) -> dict[str, list[Shard]]:
    """Tokenise the shards of every corpus."""
    units = {
        name: [_tokens_unit(name, number, texts[name].tokenizer, shard) for number, shard in enumerate(shards)]
        for name, shards in lines.items()
    }
    done = runner.run(Stage("tokens", each(_tokenize), units))
    return {name: [Shard(**tokens.tables) for tokens in finished] for name, finished in done.items()}


def _tokens_unit(name: str, number: int, tokenizer: Tokenizer, lines: TableRef) -> Unit:
    identity = tokenizer.identity
    return Unit(identity["operator"], f"{name} part {number}", identity, {"lines": [lines]})


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
    rows = zip(*(table[column].to_pylist() for column in ("document", "line", "text")), strict=True)
    for name, number, text in rows:
        if words := tokenize(text):
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
    yield "words", pa.table({"word": pa.array(codes, pa.string()), "count": counts}, _WORDS)


# --- words: their counts over all shards, added up in parts that fit memory -----------------------------------------


_WORDS = pa.schema([("word", pa.string()), ("count", pa.int64())])
_COUNTED = _WORDS.append(pa.field("num_tokens", pa.int64()))


def words_stage(
    runner: Runner, texts: Mapping[str, Text], shards: Mapping[str, Sequence[Shard]], min_count: int, worker_bytes: int
) -> dict[str, list[TableRef]]:
    units = {}
    for name, parts in shards.items():
        inputs = {"words": [shard.words for shard in parts]}
        num_parts = 1 + sum(ref.num_rows for ref in inputs["words"]) * _BYTES_PER_WORD // worker_bytes
        listed = sorted({word for words in texts[name].lists.values() for word in words})
        identity = {"min_count": min_count, "listed": listed, "num_parts": num_parts}
        units[name] = [
            Unit("words/1", f"{name} words {part}", identity | {"part": part}, inputs) for part in range(num_parts)
        ]
    done = runner.run_whole(Stage("words", each(_count_words), units))
    return {name: [words.tables["words"] for words in finished] for name, finished in done.items()}


def _count_words(store: Store, unit: Unit) -> Tables:
    """Words of one part that occur often enough or are listed, and how many tokens all words of the part have."""
    config = unit.config
    in_part = pl.col("word").hash(seed=0) % config["num_parts"] == config["part"]
    shards = [pl.DataFrame(store.read(ref)).filter(in_part) for ref in unit.inputs["words"]]
    counted = pl.concat(shards).group_by("word").agg(pl.col("count").sum())
    kept = counted.filter((pl.col("count") >= config["min_count"]) | pl.col("word").is_in(config["listed"]))
    total = pl.lit(counted["count"].sum()).alias("num_tokens")
    yield "words", kept.sort("word").with_columns(total).to_arrow().cast(_COUNTED)


# --- vocabulary: the words that get a vector, and what became of the listed ones ------------------------------------


def vocabulary_stage(
    runner: Runner,
    texts: Mapping[str, Text],
    shards: Mapping[str, Sequence[Shard]],
    inventories: Mapping[str, TableRef],
    words: Mapping[str, Sequence[TableRef]],
    min_count: int,
) -> dict[str, TokenisedCorpus]:
    units = {
        name: [
            Unit(
                "vocabulary/2",
                f"{name} vocabulary",
                {
                    "corpus": name,
                    "language": texts[name].corpus.language,
                    "min_count": min_count,
                    "lists": texts[name].lists,
                },
                {
                    "words": parts,
                    "inventory": [inventories[name]],
                    "lines": [shard.lines.select("line") for shard in shards[name]],
                },
            )
        ]
        for name, parts in words.items()
    }
    done = runner.run_whole(Stage("vocabulary", each(_make_vocabulary), units))
    return {
        name: TokenisedCorpus(
            texts[name].corpus.language,
            shards[name],
            finished.tables["corpora"],
            finished.tables["words"].select("word", "count"),
            finished.tables["vocabulary"],
        )
        for name, [finished] in done.items()
    }


def _make_vocabulary(store: Store, unit: Unit) -> Tables:
    config = unit.config
    parts = [pl.DataFrame(store.read(ref)) for ref in unit.inputs["words"]]
    num_tokens = sum(part["num_tokens"][0] for part in parts if part.height)
    counted = pl.concat(parts).drop("num_tokens").sort("count", "word", descending=[True, False])
    frequent = counted.filter(pl.col("count") >= config["min_count"])
    if frequent.height < 2:
        raise ValueError(
            f"corpus {config['corpus']}: {frequent.height} different words among {num_tokens} occur "
            f"embedding.min_count={config['min_count']} times: set a lower embedding.min_count or a larger corpus.path"
        )
    yield "words", frequent.to_arrow().cast(_WORDS)
    yield "vocabulary", _listed(counted, config).to_arrow().cast(tables.VOCABULARY)
    [inventory] = store.read(unit.input("inventory")).to_pylist()
    row = _corpora_row(config, inventory) | {
        "num_lines": sum(ref.num_rows for ref in unit.inputs["lines"]),
        "num_tokens": num_tokens,
        "num_words": frequent.height,
        "warning": _warning(num_tokens),
    }
    yield "corpora", pa.Table.from_pylist([row], tables.CORPORA)


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


def _corpora_row(config: Mapping[str, Any], inventory: Mapping[str, int]) -> dict[str, Any]:
    return {
        "corpus": config["corpus"],
        "language": config["language"],
        "num_articles": inventory["num_article"] - inventory["num_repeated"],
        "num_repeated": inventory["num_repeated"],
        "num_redirects": inventory["num_redirect"],
        "num_other_namespaces": inventory["num_other_namespace"],
        "num_replaced": inventory["num_replaced"],
    }


def _warning(num_tokens: int) -> str:
    if num_tokens >= FEW_TOKENS:
        return ""
    return (
        f"only {num_tokens:,} running words: under {FEW_TOKENS:,}, most words occur too rarely for vectors to mean much"
    )
