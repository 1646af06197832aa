"""Stages from corpora to their words: read, inventory, documents, tokens, words, vocabulary.

A unit's identity is its operator, its config and the content of what it reads. So the number of workers, and any
sharding that yields the same content, leads to the same units downstream. Each stage does the units of all corpora; a
corpus of which a part can't be read goes on as far as its other parts allow, and leaves the rest to the others.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl
import pyarrow as pa
import pydantic
from pydantic import ConfigDict, Field

from cluster.stages import Runner, Stage
from cluster.workers import each
from jobs.texts import Text
from jobs.vocabulary import TokenisedCorpus, tokens_stage, vocabulary_stage, words_stage
from operators import wikitext
from storage.corpora import CorpusError, Source, Span, read_pages, split
from storage.ledger import Finished, Store, TableRef, Unit

Tables = Iterator[tuple[str, pa.Table]]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ReadingConfig:
    """How work on corpora is cut; no effect on results.

    Attributes:
        span_megabytes: bytes of a file, as it lies there, that one worker reads; a file that can't be split is read
            by one worker whatever its size.
        shard_megabytes: text of a shard, the unit of parsing and counting, in megabytes of UTF-8. At most 1000: the
            offsets of an Arrow string column have 32 bits.
    """

    span_megabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 64.0
    shard_megabytes: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 4.0


def read_corpora(
    runner: Runner, texts: Sequence[Text], reading: ReadingConfig, min_count: int, worker_bytes: int
) -> dict[str, TokenisedCorpus]:
    """Run the stages; returns the corpora that could be read whole, by name.

    Raises:
        UnitsFailed: if none could.
    """
    by_name = {text.corpus.name: text for text in texts}
    inventories = _inventory_stage(runner, _read_stage(runner, by_name, reading))
    shards = tokens_stage(runner, by_name, _documents_stage(runner, inventories))
    whole = {name: parts for name, parts in shards.items() if not runner.failures[name]}
    if not whole:
        runner.check()
    words = words_stage(runner, by_name, whole, min_count, worker_bytes)
    counts = {name: inventory.counts for name, inventory in inventories.items()}
    return vocabulary_stage(runner, by_name, whole, counts, words, min_count)


# --- read: every page of a file, in spans that many workers share --------------------------------------------------


_SOURCE = pa.schema(
    [
        ("markup", pa.string()),
        ("media_prefixes", pa.list_(pa.string())),
        ("num_article", pa.int64()),
        ("num_redirect", pa.int64()),
        ("num_other_namespace", pa.int64()),
        ("num_replaced", pa.int64()),
    ]
)
_PAGES = pa.schema([("id", pa.string()), ("title", pa.string()), ("text", pa.string()), ("content", pa.uint64())])


def _read_stage(runner: Runner, texts: Mapping[str, Text], reading: ReadingConfig) -> dict[str, list[Finished]]:
    units = {
        name: [
            _read_unit(name, source, span, reading)
            for source in text.sources
            for span in split(source, reading.span_megabytes)
        ]
        for name, text in texts.items()
    }
    return runner.run(Stage("read", each(_read_pages), units))


def _read_unit(name: str, source: Source, span: Span, reading: ReadingConfig) -> Unit:
    config = {"source": source, "span": span, "shard_megabytes": reading.shard_megabytes}
    return Unit("pages/2", f"{name}: {source.name} from {span.start:,}", config)


def _read_pages(_store: Store, unit: Unit) -> Tables:
    source = unit.config["source"]
    counts = {"article": 0, "redirect": 0, "other_namespace": 0}
    shard: list[tuple[str, str, str, int]] = []
    num_bytes = num_shards = 0
    pages = read_pages(source, unit.config["span"])
    for page in pages:
        counts[page.kind] += 1
        if page.kind == "article":
            content = page.text.encode()
            shard.append((page.id, page.title, page.text, _key(content)))
            num_bytes += len(content)
        if num_bytes >= unit.config["shard_megabytes"] * 1e6:
            yield f"shard_{num_shards:05d}", _pages_table(shard)
            shard, num_bytes, num_shards = [], 0, num_shards + 1
    if shard:
        yield f"shard_{num_shards:05d}", _pages_table(shard)
    described = {"markup": source.markup, "media_prefixes": source.media_prefixes, "num_replaced": pages.num_replaced}
    row = described | {f"num_{kind}": number for kind, number in counts.items()}
    yield "source", pa.Table.from_pylist([row], _SOURCE)


def _key(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _pages_table(pages: Sequence[tuple[str, str, str, int]]) -> pa.Table:
    columns = zip(*pages, strict=True)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, _PAGES, strict=True)], _PAGES)


def _shards(read: Sequence[Finished]) -> list[tuple[TableRef, TableRef]]:
    """Every shard of pages with the table that describes its source."""
    return [
        (ref, done.tables["source"]) for done in read for name, ref in sorted(done.tables.items()) if name != "source"
    ]


# --- inventory: what a corpus has, each page once -------------------------------------------------------------------


@dataclass(frozen=True)
class _Inventory:
    """Shards of pages with the source that they are from, and the rows of each that are in the corpus already."""

    counts: TableRef
    shards: Sequence[tuple[TableRef, TableRef]]
    repeated: Mapping[int, Sequence[int]]


def _inventory_stage(runner: Runner, read: Mapping[str, Sequence[Finished]]) -> dict[str, _Inventory]:
    shards = {name: _shards(finished) for name, finished in read.items()}
    units = {
        name: [
            Unit(
                "inventory/1",
                f"{name} inventory",
                {"corpus": name},
                {
                    "pages": [pages.select("id", "content") for pages, _ in shards[name]],
                    "sources": [done.tables["source"] for done in finished],
                },
            )
        ]
        for name, finished in read.items()
        if finished
    }
    done = runner.run(Stage("inventory", each(_take_inventory), units))
    return {
        name: _Inventory(found.tables["inventory"], shards[name], _rows_by_shard(runner.store, found))
        for name, finished in done.items()
        for found in finished
    }


def _rows_by_shard(store: Store, found: Finished) -> dict[int, list[int]]:
    rows = pl.DataFrame(store.read(found.tables["repeated"])).sort("shard", "row")
    return {shard: part["row"].to_list() for (shard,), part in rows.group_by("shard")}


def _take_inventory(store: Store, unit: Unit) -> Tables:
    """Counts over all sources; and which pages come again: extracts that were joined from parts repeat some."""
    corpus = unit.config["corpus"]
    sources = pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs["sources"]])
    counts = sources.select(pl.selectors.starts_with("num_").sum())
    if not unit.inputs["pages"]:
        raise CorpusError(f"corpus {corpus}: holds no article ({counts.to_dicts()[0]}); choose another corpus.path")
    shards = [pl.DataFrame(store.read(ref)).with_row_index("row") for ref in unit.inputs["pages"]]
    pages = pl.concat([shard.with_columns(pl.lit(number).alias("shard")) for number, shard in enumerate(shards)])
    repeated = pages.filter(~pl.col("id").is_first_distinct())
    firsts = pages.filter(pl.col("id").is_first_distinct()).select("id", first="content")
    differing = repeated.join(firsts, on="id").filter(pl.col("content") != pl.col("first"))["id"].unique().sort()
    if differing.len():
        raise CorpusError(
            f"corpus {corpus}: {differing.len()} ids come again with another text, such as {differing[:3].to_list()}; "
            "a document needs an id of its own"
        )
    yield "repeated", repeated.select("shard", "row").to_arrow().cast(_ROWS)
    yield "inventory", counts.with_columns(pl.lit(repeated.height).alias("num_repeated")).to_arrow()


_ROWS = pa.schema([("shard", pa.int32()), ("row", pa.int32())])


# --- documents: markup to plain lines -------------------------------------------------------------------------------


def _documents_stage(runner: Runner, inventories: Mapping[str, _Inventory]) -> dict[str, list[TableRef]]:
    units = {
        name: [
            Unit(
                wikitext.VERSION,
                f"{name} part {number}",
                {"repeated": inventory.repeated.get(number, [])},
                {"pages": [pages.select("id", "text")], "source": [source.select("markup", "media_prefixes")]},
            )
            for number, (pages, source) in enumerate(inventory.shards)
        ]
        for name, inventory in inventories.items()
    }
    done = runner.run(Stage("documents", each(_plain_text), units))
    return {name: [documents.tables["lines"] for documents in finished] for name, finished in done.items()}


def _plain_text(store: Store, unit: Unit) -> Tables:
    pages = store.read(unit.input("pages"))
    [how] = store.read(unit.input("source")).to_pylist()
    ids: list[str] = []
    numbers: list[int] = []
    lines: list[str] = []
    repeated = set(unit.config["repeated"])
    for row, (page_id, text) in enumerate(zip(pages["id"].to_pylist(), pages["text"].to_pylist(), strict=True)):
        found = _lines_of_page(page_id, text, how) if row not in repeated else []
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
