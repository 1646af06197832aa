"""From the files of corpora to plain lines: pages read in parts, each page once, markup taken off.

A unit's identity is its operator, its config and the content of what it reads. So the number of workers, and any
sharding that yields the same content, leads to the same units downstream. Each stage does the units of all corpora; a
corpus of which a part can't be read goes on as far as its other parts allow, and leaves the rest to the others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner
from tiltmeter.cluster.work import Failure, Tables
from tiltmeter.jobs.embedding.sources import Text
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.jobs.runtime.work import Done, SomeWork, Subject, Work, aside, do
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text import wikitext
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.cards import digests
from tiltmeter.storage.corpora.corpora import Page, Source, Span, pages_of, split
from tiltmeter.storage.corpora.pages import Repairs
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_SMALL_SHARE = 1 / 4
"""Of a shard, below which a file is small."""

_NUM_FILES = 512
"""Of almost no size, that one unit reads on average: each takes a request or two to open."""

_MOST_SHARES = 2
"""Of what a run has on average."""

_BYTES_PER_PAGE = 100
"""Memory of a page while an inventory is taken."""

_SOURCE = pa.schema(
    [
        ("markup", pa.string()),
        ("media_prefixes", pa.list_(pa.string())),
        *((f"num_{what}", pa.int64()) for what in ("article", "redirect", "other_namespace", "replaced")),
    ]
)
_PAGES = pa.schema(
    [("id", pa.string()), ("title", pa.string()), ("text", pa.string()), ("key", pa.uint64()), ("content", pa.uint64())]
)
_TIMESTAMP = pa.field("timestamp", pa.string())
"""Of dumps only."""

_ROWS = pa.schema([("shard", pa.int32()), ("row", pa.int32())])
_UNREADABLE = pa.schema([("id", pa.string()), ("reason", pa.string())])

Piece = tuple[TableRef, TableRef]
"""A shard of pages, and the table that describes their source."""


@dataclass(frozen=True)
class Pages:
    """A corpus, or a slice of one, as it was read.

    Attributes:
        text: where it lies, how its words are told, and which are looked for.
        pages: its shards.
        sources: what describes them, of every part.
    """

    text: Text
    pages: Sequence[Piece]
    sources: Sequence[TableRef]

    @property
    def language(self) -> str:
        """Its language code."""
        return self.text.corpus.language


# --- parts: what one unit reads -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part(Subject):
    """What one unit reads: a span of a file, or the whole of several that have markup and prefixes in common.

    Which small files are together depends on their names and sizes alone, and a run of them ends behind a file whose
    name says so: one file more or less moves the ends of one run.
    """

    sources: Sequence[Source]
    span: Span

    @property
    def identity(self) -> dict[str, Any]:
        """Its files, and what of the only one."""
        return {"sources": list(self.sources), "span": self.span}

    @property
    def title(self) -> str:
        """For people."""
        first, *others = self.sources
        return f"{first.name} from {self.span.start:,}" + (f" and {plural(len(others), 'more file')}" if others else "")

    def described(self, counts: Mapping[str, int]) -> pa.Table:
        """The row of its sources, with how many pages of each kind they have."""
        first = self.sources[0]
        row = {"markup": first.markup, "media_prefixes": first.media_prefixes, **counts}
        return pa.Table.from_pylist([row], _SOURCE)


def parts_of(sources: Sequence[Source], span_megabytes: float, shard_megabytes: float) -> Iterator[Part]:
    """The parts of a corpus, in its order; arguments as of :func:`runs_of`."""
    for run in runs_of(sources, span_megabytes, shard_megabytes):
        spans = [Span(0, run[0].num_bytes)]
        if len(run) == 1:
            # Where it fails, reading fails in the same way, as a unit, and so alone.
            with suppress(InputError):
                spans = split(run[0], span_megabytes)
        yield from (Part(run, span) for span in spans)


def runs_of(sources: Sequence[Source], span_megabytes: float, shard_megabytes: float) -> Iterator[tuple[Source, ...]]:
    """Small files that are read together, and each large one by itself; no file is opened.

    Args:
        sources: of a corpus.
        span_megabytes: size of the spans of a file that can be cut.
        shard_megabytes: of text that later stages take together; what is far smaller is a small file.
    """
    small_bytes = min(shard_megabytes * _SMALL_SHARE, span_megabytes) * 1e6
    for kind, group in groupby(sources, partial(_kind, small_bytes)):
        alike = list(group)
        yield from [(source,) for source in alike] if kind is None else _runs(alike, shard_megabytes * 1e6)


def _kind(small_bytes: float, source: Source) -> tuple[str, tuple[str, ...]] | None:
    """What small files need to have in common; None for a large one, and for one that fails when it is read."""
    is_small = source.num_bytes < small_bytes and source.format != "unreadable"
    return (source.markup, source.media_prefixes) if is_small else None


def _runs(sources: Sequence[Source], shard_bytes: float) -> Iterator[tuple[Source, ...]]:
    run: list[Source] = []
    shares = 0.0
    for source in sources:
        share = source.num_bytes / shard_bytes + 1 / _NUM_FILES
        run.append(source)
        shares += share
        if document_key(source.name) / 2**64 < share or shares > _MOST_SHARES:
            yield tuple(run)
            run, shares = [], 0.0
    if run:
        yield tuple(run)


class PartPages(Repairs):
    """The pages of a part, to be iterated once, and what was replaced or left out of them so far."""

    def __init__(self, part: Part, document_bytes: int, field: str | None = None) -> None:
        super().__init__()
        self._part, self._document_bytes, self._field = part, document_bytes, field

    def __iter__(self) -> Iterator[Page]:
        """The pages, file after file.

        Raises:
            InputError: naming each file that is damaged.
        """
        problems: list[InputError] = []
        sources = self._part.sources
        for source in sources:
            span = self._part.span if len(sources) == 1 else Span(0, source.num_bytes)
            try:
                yield from pages_of(source, span, self, self._document_bytes, self._field)
            except InputError as error:
                problems.append(error)
        if problems:
            more = f"; and {plural(len(problems) - 1, 'more file')}" if problems[1:] else ""
            raise InputError(f"{problems[0]}{more}", is_unreadable=problems[0].is_unreadable) from problems[0]


# --- records that were left out of files ----------------------------------------------------------------------------

_LEFT_OUT = "left_out"
_TEXTS, _NUMBERS = ("file", "reason", "kind", "first"), ("num", "num_records")
_BAD_RECORDS = pa.schema([*((name, pa.string()) for name in _TEXTS), *((name, pa.int64()) for name in _NUMBERS)])
"""The last is of the file, as far as the unit read it."""


def left_out_table(bad: BadRecords) -> Tables:
    """The table ``left_out`` of a unit, if anything was."""
    rows = [row | {"num_records": bad.num_records.get(row["file"], 0)} for row in bad.rows()]
    if rows:
        yield _LEFT_OUT, pa.Table.from_pylist(rows, _BAD_RECORDS)


def _counted(store: Store, units: Iterable[Finished]) -> BadRecords:
    """Of the files of which anything was left out."""
    bad = BadRecords()
    for unit in units:
        if _LEFT_OUT in unit.tables:
            rows = store.read(unit.tables[_LEFT_OUT]).to_pylist()
            bad.add_rows(rows)
            for file, num in {row["file"]: row["num_records"] for row in rows}.items():
                bad.read(file, num)
    return bad


def left_out_of(store: Store, read: "Done[ReadPart]") -> BadRecords:
    """What was left out of a corpus, by those of its parts that were read."""
    bad = _counted(store, (unit for _, unit in read.pairs))
    known = set(bad.num_records)
    for work, unit in read.pairs:
        files = {redacted(source.uri) for source in work.part.sources}
        if _LEFT_OUT not in unit.tables and files <= known:
            pages = [ref for name, ref in unit.tables.items() if name.startswith(("shard_", "part_"))]
            bad.read(files.pop(), sum(ref.num_rows for ref in pages))
    return bad


def refuse_bad_files(
    runner: Runner, works: "Sequence[ReadPart]", bad: BadRecords, max_share: float
) -> "Iterator[tuple[ReadPart, InputError]]":
    """Enter the parts of files of which too many records are bad among the failures of their corpus; yields them and
    why."""
    for file, error in sorted(bad.refusals(max_share)):
        reading = [work for work in works if any(_holds(source, file) for source in work.part.sources)]
        _fail(runner, reading[0].group, reading[0].unit(), error)
        yield from ((work, error) for work in reading)


def _holds(source: Source, file: str) -> bool:
    """Whether it is the file, or the archive that the file is in, whose name begins with the archive's."""
    return f"{file}/".startswith(f"{redacted(source.uri)}/")


def _fail(runner: Runner, group: str, unit: Unit, error: InputError) -> None:
    runner.failures[group].append(Failure(unit, f"InputError: {error}", ""))


def without_bad_files(runner: Runner, done: Done[SomeWork], max_share: float) -> Done[SomeWork]:
    """Of work of which each reads a file, the groups of which all files can be used.

    Raises:
        InputError: if too many records of a file are bad, and no group is left.
    """
    refusals: list[InputError] = []
    for work, unit in done.pairs:
        bad = _counted(runner.store, [unit])
        runner.leave_out(bad)
        for _, error in bad.refusals(max_share):
            _fail(runner, work.group, work.unit(), error)
            refusals.append(error)
    kept = [(work, unit) for work, unit in done.pairs if not runner.failures[work.group]]
    if refusals and not kept:
        raise refusals[0]
    return Done(kept)


# --- read: every page of a part -------------------------------------------------------------------------------------


class PageRow(NamedTuple):
    """A row of a shard: a page with the keys of its id and of its text, and of a dump the moment of its revision."""

    id: str
    title: str
    text: str
    key: int
    content: int
    timestamp: str = ""


def page_row(page: Page) -> PageRow:
    """The row of a page."""
    return PageRow(page.id, page.title, page.text, document_key(page.id), document_key(page.text), page.timestamp)


def pages_table(rows: Sequence[PageRow]) -> pa.Table:
    """Rows as a shard."""
    columns = zip(*rows, strict=True)
    schema = _PAGES.append(_TIMESTAMP) if any(row.timestamp for row in rows) else _PAGES
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=False)], schema)


def in_shards(rows: Iterable[PageRow], megabytes: float) -> Iterator[tuple[str, pa.Table]]:
    """Rows in tables of so many megabytes of text."""
    shard: list[PageRow] = []
    num_bytes = num_shards = 0
    for row in rows:
        shard.append(row)
        num_bytes += len(row.text.encode())
        if num_bytes >= megabytes * 1e6:
            yield f"shard_{num_shards:05d}", pages_table(shard)
            shard, num_bytes, num_shards = [], 0, num_shards + 1
    if shard:
        yield f"shard_{num_shards:05d}", pages_table(shard)


class ReadPart(Work, stage="read"):
    """Pages of a part; ``revision``: which of a page is kept, of a dump."""

    part: Part
    shard_megabytes: float
    revision: str | None = None
    document_bytes: int = aside(default=2**26)


class ReadPages(ReadPart, unit="pages/3"):
    """The articles of a part in shards, and a row on its sources."""

    part_length: int | None = None

    def tables(self, _: Store) -> Tables:
        return self.read(lambda _pages, _page: None)

    def read(self, note: Callable[[PartPages, Page], None], field: str | None = None) -> Tables:
        """The tables; ``note`` sees every article, with the value of the field, before its shard comes."""
        counts = {"article": 0, "redirect": 0, "other_namespace": 0}
        pages = PartPages(self.part, self.document_bytes, field)

        def articles() -> Iterator[PageRow]:
            for page in pages:
                counts[page.kind] += 1
                if page.kind == "article":
                    note(pages, page)
                    yield page_row(page)

        yield from in_shards(articles(), self.shard_megabytes)
        row = {f"num_{kind}": number for kind, number in counts.items()} | {"num_replaced": pages.num_replaced}
        yield "source", self.part.described(row)
        yield from left_out_table(pages.bad)


class DigestFile(Work, unit="file_digest/1", stage="digest files"):
    """Name, size and digests of a file."""

    source: Source

    def tables(self, _: Store) -> Tables:
        row = {"name": redacted(self.source.name), "bytes": self.source.num_bytes}
        yield "digest", pa.Table.from_pylist([row | digests(self.source)])


def file_digests(runner: Runner, sources: Iterable[Source], group: str) -> dict[str, dict[str, Any]]:
    """Of each file, by where it lies, its name, ``bytes``, ``sha256`` and ``sha1``."""
    files = {source.uri: source for source in sources}
    done = do(runner, (DigestFile(group=group, label=one.name, source=one) for one in files.values()))
    return {work.source.uri: runner.store.read(unit.tables["digest"]).to_pylist()[0] for work, unit in done.pairs}


# --- each page once, as plain lines ---------------------------------------------------------------------------------


class FindRepeated(Work, unit="inventory/1", stage="inventory"):
    """The pages that come again: extracts that were joined from parts repeat some, and histories have old revisions."""

    part: int
    num_parts: int
    pages: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        if not self.pages:
            raise InputError(
                "its files hold no article, only blank lines, redirects, bad records or nothing: set another "
                "corpus.path"
            )
        in_part = pl.col("key") % self.num_parts == self.part
        shards = [
            pl.DataFrame(store.read(ref)).with_row_index("row").filter(in_part).with_columns(shard=pl.lit(number))
            for number, ref in enumerate(self.pages)
        ]
        pages = pl.concat(shards, how="diagonal")
        is_first = pl.col("key").is_first_distinct()
        firsts = pages.filter(is_first).select("key", first="content")
        differing = pages.join(firsts, on="key", maintain_order="left").filter(pl.col("content") != pl.col("first"))
        repeated = pages.filter(~is_first)
        if differing.height:
            versions = pages.join(differing.select("key").unique(), on="key", how="semi")
            if "timestamp" not in versions or versions["timestamp"].null_count():
                ids = self._ids(store, differing)
                raise InputError(f"{differing.height} ids come again with another text, such as {ids}")
            ordered = versions.sort("timestamp", "shard", "row", descending=True)
            older = ordered.filter(~pl.col("key").is_first_distinct())
            repeated = pl.concat([repeated.join(versions, on="key", how="anti"), older])
        yield "repeated", repeated.sort("shard", "row").select("shard", "row").to_arrow().cast(_ROWS)

    def _ids(self, store: Store, pages: pl.DataFrame) -> list[str]:
        """The first few ids, from the tables of the pages."""
        places = pages.sort("shard", "row").head(3).select("shard", "row").iter_rows()
        return [store.read(replace(self.pages[shard], columns={"id": ""}))["id"][row].as_py() for shard, row in places]


class ExtractLines(Work, unit=wikitext.VERSION, stage="documents"):
    """Lines of all pages but those that come again; a page whose markup can't be read is left out, and listed."""

    repeated: Sequence[int]
    mwparserfromhell: str = version("mwparserfromhell")
    pages: TableRef
    source: TableRef

    def tables(self, store: Store) -> Tables:
        pages, repeated = store.read(self.pages), set(self.repeated)
        [source] = store.read(self.source).to_pylist()
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


def _lines_of_page(text: str, source: Mapping[str, Any]) -> list[str]:
    if source["markup"] == "plain":
        return wikitext.text_lines(text)
    return wikitext.plain_lines(text, source["media_prefixes"])


def extract_lines(runner: Runner, read: Mapping[str, Pages], worker_bytes: int) -> Done[ExtractLines]:
    """The shards of every corpus as plain lines, whatever its format: tables ``lines`` (document, line and text, the
    lines of a document one behind the other in one shard) and ``unreadable``; what has failed is missing."""
    return do(
        runner,
        (
            ExtractLines(
                group=name,
                label=f"{name} shard {number}",
                repeated=rows.get(number, []),
                pages=pages.select("id", "text"),
                source=source.select("markup", "media_prefixes"),
            )
            for name, rows in find_repeated(runner, read, worker_bytes).items()
            for number, (pages, source) in enumerate(read[name].pages)
        ),
        complete=False,
    )


def find_repeated(runner: Runner, read: Mapping[str, Pages], worker_bytes: int) -> dict[str, dict[int, list[int]]]:
    """Rows of pages that come again, by corpus and number of the shard; what has failed is missing."""
    works = {
        name: _inventory(name, corpus.pages, worker_bytes)
        for name, corpus in read.items()
        if corpus.pages or not runner.failures[name]
    }
    inventories = do(runner, (work for some in works.values() for work in some), complete=False)
    return {
        name: _rows_by_shard(runner.store, done.refs("repeated"))
        for name, done in inventories.groups.items()
        if len(done.pairs) == len(works[name])
    }


def _inventory(name: str, shards: Sequence[Piece], worker_bytes: int) -> list[FindRepeated]:
    names = ("key", "content", "timestamp")
    pages = [table.select(*(name for name in names if name in table.columns)) for table, _ in shards]
    num = 1 + sum(table.num_rows for table in pages) * _BYTES_PER_PAGE // worker_bytes
    return [
        FindRepeated(group=name, label=f"{name} inventory {part}", part=part, num_parts=num, pages=pages)
        for part in range(num)
    ]


def _rows_by_shard(store: Store, inventories: Sequence[TableRef]) -> dict[int, list[int]]:
    rows = pl.concat([pl.DataFrame(store.read(ref)) for ref in inventories]).sort("shard", "row")
    return {shard: part["row"].to_list() for (shard,), part in rows.group_by("shard")}
