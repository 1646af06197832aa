"""Stages from corpora to their words: read, inventory, documents, tokens, words, vocabulary.

A unit's identity is its operator, its config and the content of what it reads. So the number of workers, and any
sharding that yields the same content, leads to the same units downstream. Each stage does the units of all corpora; a
corpus of which a part can't be read goes on as far as its other parts allow, and leaves the rest to the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any

import polars as pl
import pyarrow as pa
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.corpus.left_out import left_out_of, left_out_table, refuse_bad_files
from tiltmeter.jobs.embedding.corpus.pages import SOURCE, PageRow, ReadCorpus, page_row, pages_table
from tiltmeter.jobs.embedding.corpus.parts import Part, PartPages, parts_of
from tiltmeter.jobs.embedding.corpus.sliced_pages import OPERATOR, read_sliced_pages
from tiltmeter.jobs.embedding.corpus.slices import Cut, check_any_large, cut
from tiltmeter.jobs.embedding.corpus.texts import Text
from tiltmeter.jobs.embedding.corpus.vocabulary import (
    Parts,
    TokenisedCorpus,
    tokens_stage,
    too_few,
    vocabulary_stage,
    words_stage,
)
from tiltmeter.jobs.runtime.config import CommonReading
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.compute import slicing
from tiltmeter.operators.text import wikitext
from tiltmeter.storage.corpora.lines import PART_LENGTH
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_BYTES_PER_PAGE = 100
"""Memory of a page while an inventory is taken."""

_MEMORY_PER_DOCUMENT_BYTE = 20
"""Of a document in one line, whose words are all in memory at once while it is tokenised; longer ones are refused."""


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Cutting:
    """How work on corpora is cut; no effect on results.

    Attributes:
        span_megabytes: bytes of a file, as it lies there, that one worker reads; a file that can't be split is read
            by one worker whatever its size.
        shard_megabytes: text of a shard, the unit of parsing and counting, in megabytes of UTF-8. At most 1000: the
            offsets of an Arrow string column have 32 bits.
    """

    span_megabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 64.0
    shard_megabytes: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 4.0


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class ReadingConfig(Cutting, CommonReading):
    """How corpora are read."""


@dataclass(frozen=True)
class Corpora:
    """What was read.

    Attributes:
        tokenised: the corpora and slices that could be read whole, by name.
        cuts: the corpora that were cut into slices.
        uncut: ``language`` and ``num_documents`` of the others, by name.
        small: why a corpus or slice is too small to be measured, by its name.
    """

    tokenised: Mapping[str, TokenisedCorpus]
    cuts: Sequence[Cut]
    uncut: Mapping[str, Row]
    small: Mapping[str, str]


def read_corpora(
    runner: Runner, texts: Sequence[Text], reading: ReadingConfig, min_count: int, worker_bytes: int
) -> Corpora:
    """Run the stages.

    Raises:
        UnitsFailed: if no corpus could be read whole.
        InputError: if a corpus is to be cut by a field that none of its documents has, or if all are too small.
    """
    read, by_name, cuts = _read(runner, {text.name: text for text in texts}, reading, worker_bytes)
    documents = _documents_stage(runner, _inventory_stage(runner, read, worker_bytes))
    shards = tokens_stage(runner, by_name, documents)
    whole = {name: finished for name, finished in shards.items() if not runner.failures[name]}
    if not whole:
        runner.check()
    parts = {name: Parts(read[name], documents[name], shards[name]) for name in whole}
    words = words_stage(runner, by_name, whole, min_count, worker_bytes)
    lacks = {name: too_few(runner.store, counted, min_count) for name, counted in words.items()}
    small = {name: reason for name, reason in lacks.items() if reason}
    check_any_large(small, len(words))
    large = {name: counted for name, counted in words.items() if name not in small}
    uncut = {
        name: {"language": text.corpus.language, "num_documents": sum(ref.num_rows for ref, _ in read[name].shards)}
        for name, text in by_name.items()
        if not text.slice and name in read
    }
    return Corpora(vocabulary_stage(runner, by_name, parts, large, min_count), cuts, uncut, small)


def _read(
    runner: Runner, texts: Mapping[str, Text], reading: ReadingConfig, worker_bytes: int
) -> tuple[dict[str, ReadCorpus], dict[str, Text], list[Cut]]:
    """What the corpora, and the slices of those that are to be cut, were read into; which texts these are; the cuts."""
    parts = {
        name: list(parts_of(text.sources, reading.span_megabytes, reading.shard_megabytes))
        for name, text in texts.items()
    }
    done = _read_stage(runner, texts, parts, reading, worker_bytes)
    read = {name: _read_corpus(finished) for name, finished in done.items() if not texts[name].slicing}
    by_name = {name: text for name, text in texts.items() if not text.slicing}
    cuts = [
        cut(runner, text, done[name], [part.sources[0].uri for part in parts[name]], reading.shard_megabytes)
        for name, text in texts.items()
        if text.slicing and not runner.failures[name]
    ]
    for slices in cuts:
        read |= slices.read
        by_name |= {text.name: text for text in slices.texts}
    if not read:
        runner.check()
    return read, by_name, cuts


def read_lines(
    runner: Runner, texts: Sequence[Text], reading: ReadingConfig, worker_bytes: int
) -> dict[str, list[Finished]]:
    """The shards of every corpus as plain lines, whatever its format: tables ``lines`` (document, line and text, the
    lines of a document one behind the other in one shard) and ``unreadable``; what has failed is missing."""
    read, _, _ = _read(runner, {text.name: text for text in texts}, reading, worker_bytes)
    return _documents_stage(runner, _inventory_stage(runner, read, worker_bytes))


# --- read: every page of a file, in spans that many workers share --------------------------------------------------


def _read_stage(
    runner: Runner,
    texts: Mapping[str, Text],
    parts: Mapping[str, Sequence[Part]],
    reading: ReadingConfig,
    worker_bytes: int,
) -> dict[str, list[Finished]]:
    """The units of all parts but those of files of which too many records are bad.

    Raises:
        InputError: if there is no other.
    """
    units = {name: [_read_unit(texts[name], part, reading) for part in some] for name, some in parts.items()}
    work = each(partial(_read_pages, document_bytes=worker_bytes // _MEMORY_PER_DOCUMENT_BYTE))
    done = runner.run(Stage("read", work, units))
    refused: dict[str, InputError] = {}
    for name, finished in done.items():
        by_place = {unit.place: part for unit, part in zip(units[name], parts[name], strict=True)}
        bad = left_out_of(runner.store, by_place, finished)
        runner.leave_out(bad)
        refused |= refuse_bad_files(runner, name, units[name], by_place, bad, reading.max_bad_share)
    sound = {name: [unit for unit in finished if unit.place not in refused] for name, finished in done.items()}
    if refused and not any(sound.values()):
        raise next(iter(refused.values()))
    return sound


def _read_unit(text: Text, part: Part, reading: ReadingConfig) -> Unit:
    config: dict[str, Any] = {"shard_megabytes": reading.shard_megabytes}
    config |= part.identity
    formats = {source.format for source in part.sources}
    if "mediawiki" in formats:
        config["revision"] = "newest"
    name = f"{text.name}: {part.title}"
    if text.slicing:
        return Unit(OPERATOR, name, config | {"slices": text.slicing, "slicing": slicing.VERSION})
    if "text" in formats:
        config["part_length"] = PART_LENGTH
    return Unit("pages/3", name, config)


def _read_pages(_store: Store, unit: Unit, document_bytes: int = 2**26) -> Tables:
    if unit.operator == OPERATOR:
        yield from read_sliced_pages(unit, document_bytes)
        return
    counts = {"article": 0, "redirect": 0, "other_namespace": 0}
    shard: list[PageRow] = []
    num_bytes = num_shards = 0
    pages = PartPages(unit, document_bytes)
    for page in pages:
        counts[page.kind] += 1
        if page.kind == "article":
            shard.append(page_row(page))
            num_bytes += len(page.text.encode())
        if num_bytes >= unit.config["shard_megabytes"] * 1e6:
            yield f"shard_{num_shards:05d}", pages_table(shard)
            shard, num_bytes, num_shards = [], 0, num_shards + 1
    if shard:
        yield f"shard_{num_shards:05d}", pages_table(shard)
    row = pages.described | {f"num_{kind}": number for kind, number in counts.items()}
    yield "source", pa.Table.from_pylist([row | {"num_replaced": pages.num_replaced}], SOURCE)
    yield from left_out_table(pages.bad)


def _read_corpus(read: Sequence[Finished]) -> ReadCorpus:
    """Every shard of pages with the table that describes its source, and all such tables."""
    tables = [(ref, name, done.tables["source"]) for done in read for name, ref in sorted(done.tables.items())]
    shards = [(ref, source) for ref, name, source in tables if name.startswith("shard_")]
    return ReadCorpus(shards, [done.tables["source"] for done in read])


# --- inventory: each page once --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Inventory:
    """Shards of pages, each with the source that it is from and the rows that the corpus has already."""

    shards: Sequence[tuple[TableRef, TableRef]]
    repeated: Mapping[int, Sequence[int]]


def _inventory_stage(runner: Runner, read: Mapping[str, ReadCorpus], worker_bytes: int) -> dict[str, _Inventory]:
    shards = {name: corpus.shards for name, corpus in read.items()}
    units = {
        name: _inventory_units(name, tables, worker_bytes)
        for name, tables in shards.items()
        if tables or not runner.failures[name]
    }
    done = runner.run(Stage("inventory", each(_take_inventory), units))
    return {
        name: _Inventory(shards[name], _rows_by_shard(runner.store, finished))
        for name, finished in done.items()
        if len(finished) == len(units[name])
    }


def _inventory_units(name: str, shards: Sequence[tuple[TableRef, TableRef]], worker_bytes: int) -> list[Unit]:
    names = ("key", "content", "timestamp")
    pages = {"pages": [table.select(*(name for name in names if name in table.columns)) for table, _ in shards]}
    num_parts = 1 + sum(table.num_rows for table, _ in shards) * _BYTES_PER_PAGE // worker_bytes
    return [
        Unit("inventory/1", f"{name} inventory {part}", {"part": part, "num_parts": num_parts}, pages)
        for part in range(num_parts)
    ]


def _rows_by_shard(store: Store, inventories: Sequence[Finished]) -> dict[int, list[int]]:
    parts = [pl.DataFrame(store.read(inventory.tables["repeated"])) for inventory in inventories]
    rows = pl.concat(parts).sort("shard", "row")
    return {shard: part["row"].to_list() for (shard,), part in rows.group_by("shard")}


def _take_inventory(store: Store, unit: Unit) -> Tables:
    """The pages that come again: extracts that were joined from parts repeat some, and histories have old revisions."""
    if not unit.inputs["pages"]:
        raise InputError(
            "its files hold no article, only blank lines, redirects, bad records or nothing: set another corpus.path"
        )
    in_part = pl.col("key") % unit.config["num_parts"] == unit.config["part"]
    shards = [
        pl.DataFrame(store.read(ref)).with_row_index("row").filter(in_part).with_columns(pl.lit(number).alias("shard"))
        for number, ref in enumerate(unit.inputs["pages"])
    ]
    pages = pl.concat(shards, how="diagonal")
    is_first = pl.col("key").is_first_distinct()
    firsts = pages.filter(is_first).select("key", first="content")
    differing = pages.join(firsts, on="key", maintain_order="left").filter(pl.col("content") != pl.col("first"))
    repeated = pages.filter(~is_first)
    if differing.height:
        versions = pages.join(differing.select("key").unique(), on="key", how="semi")
        if "timestamp" not in versions or versions["timestamp"].null_count():
            ids = _ids(store, unit, differing)
            raise InputError(f"{differing.height} ids come again with another text, such as {ids}")
        ordered = versions.sort("timestamp", "shard", "row", descending=True)
        older = ordered.filter(~pl.col("key").is_first_distinct())
        repeated = pl.concat([repeated.join(versions, on="key", how="anti"), older])
    yield "repeated", repeated.sort("shard", "row").select("shard", "row").to_arrow().cast(_ROWS)


_ROWS = pa.schema([("shard", pa.int32()), ("row", pa.int32())])


def _ids(store: Store, unit: Unit, pages: pl.DataFrame) -> list[str]:
    """The first few ids, from the tables of the pages."""
    refs = unit.inputs["pages"]
    places = pages.sort("shard", "row").head(3).select("shard", "row").iter_rows()
    return [store.read(replace(refs[shard], columns={"id": ""}))["id"][row].as_py() for shard, row in places]


# --- documents: markup to plain lines -------------------------------------------------------------------------------


def _documents_stage(runner: Runner, inventories: Mapping[str, _Inventory]) -> dict[str, list[Finished]]:
    units = {
        name: [
            Unit(
                wikitext.VERSION,
                f"{name} shard {number}",
                {"repeated": inventory.repeated.get(number, []), "mwparserfromhell": version("mwparserfromhell")},
                {"pages": [pages.select("id", "text")], "source": [source.select("markup", "media_prefixes")]},
            )
            for number, (pages, source) in enumerate(inventory.shards)
        ]
        for name, inventory in inventories.items()
    }
    return runner.run(Stage("documents", each(_plain_text), units))


def _plain_text(store: Store, unit: Unit) -> Tables:
    """Lines of all pages but those that come again; a page whose markup can't be read is left out, and listed."""
    pages = store.read(unit.input("pages"))
    [source] = store.read(unit.input("source")).to_pylist()
    repeated = set(unit.config["repeated"])
    ids: list[str] = []
    numbers: list[int] = []
    lines: list[str] = []
    unreadable: list[dict[str, str]] = []
    for row, (page_id, text) in enumerate(zip(pages["id"].to_pylist(), pages["text"].to_pylist(), strict=True)):
        if row in repeated:
            continue
        try:
            page_lines = _lines_of_page(text, source)
        except Exception as error:
            unreadable.append({"id": page_id, "reason": f"{type(error).__name__}: {error}"})
            continue
        ids += [page_id] * len(page_lines)
        numbers += range(len(page_lines))
        lines += page_lines
    columns = {"document": pa.array(ids, pa.string()), "line": pa.array(numbers, pa.int32())}
    yield "lines", pa.table(columns | {"text": pa.array(lines, pa.string())})
    yield "unreadable", pa.Table.from_pylist(unreadable, _UNREADABLE)


_UNREADABLE = pa.schema([("id", pa.string()), ("reason", pa.string())])


def _lines_of_page(text: str, source: dict[str, Any]) -> list[str]:
    if source["markup"] == "plain":
        return wikitext.text_lines(text)
    return wikitext.plain_lines(text, source["media_prefixes"])
