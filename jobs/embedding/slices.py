"""Corpora that are cut by a field of their documents: from parts to slices, each of which is a corpus from here on.

A slice is cut into shards behind documents whose keys say so, whatever comes before or after them and wherever the
spans of its file end: a document that changes leaves the shards of all other slices, and most of its own, as they were.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.pages import (
    PageRow,
    Pages,
    PartPages,
    Piece,
    ReadPart,
    in_shards,
    left_out_table,
    page_row,
    pages_table,
)
from tiltmeter.jobs.embedding.sources import Slice, Text
from tiltmeter.jobs.embedding.tables import CorpusSlices
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.jobs.runtime.work import Done, Work, do
from tiltmeter.operators.compute import slicing
from tiltmeter.operators.compute.slicing import Slicing
from tiltmeter.storage.corpora.corpora import fields_of
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Finished, Store, TableRef
from tiltmeter.storage.store.streaming import pieces

_MOST_SLICES = 256
"""Of a corpus: each is trained on its own, with all its replicas."""

_MOST_CHARACTERS = 100
"""Of the name of a slice, which is part of the names of folders."""

_PARTS = pa.schema([("slice", pa.string()), ("part", pa.int32()), ("ends", pa.bool_())])
_COUNTS = pa.schema([("slice", pa.string()), ("source", pa.int32()), ("num_article", pa.int64())])


# --- read: every page of a part, slice by slice ---------------------------------------------------------------------


class ReadSlices(ReadPart, unit="sliced_pages/2"):
    """The articles of a part in pieces of one slice each; the tables ``parts`` and ``counts`` say of which."""

    slices: Slicing
    slicing: str = slicing.VERSION

    def tables(self, _: Store) -> Tables:
        shard_bytes = self.shard_megabytes * 1e6
        counts: Counter[str | None] = Counter()
        replaced: Counter[str] = Counter()
        waiting: dict[str, _Waiting] = defaultdict(_Waiting)
        parts: list[dict[str, object]] = []

        def written(name: str, *, ends: bool) -> tuple[str, pa.Table]:
            parts.append({"slice": name, "part": len(parts), "ends": ends})
            return f"part_{len(parts) - 1:05d}", pages_table(waiting.pop(name).rows)

        pages, num_replaced = PartPages(self.part, self.document_bytes, self.slices.field), 0
        for page in pages:
            names = self.slices.names(page.value) if page.kind == "article" else ()
            if page.kind == "article" and not names:
                counts[None] += 1
                if self.slices.is_impossible(page.value):
                    pages.bad.add(pages.file, "a date that does not exist", f"the document {page.id!r}")
            row, num_bytes = page_row(page), len(page.text.encode())
            for name in names:
                counts[name] += 1
                replaced[name] += pages.num_replaced - num_replaced
                waiting[name].add(row, num_bytes)
                if _ends_shard(row.key, num_bytes, shard_bytes):
                    yield written(name, ends=True)
            num_replaced = pages.num_replaced
            self._check_number(counts)
            while sum(part.num_bytes for part in waiting.values()) >= shard_bytes:
                largest = max(waiting, key=lambda name: waiting[name].num_bytes)
                yield written(largest, ends=False)
        for name in list(waiting):
            yield written(name, ends=False)
        values = [name for name in counts if name is not None]
        for number, name in enumerate(values):
            row_counts = {"num_article": counts[name], "num_redirect": 0, "num_other_namespace": 0}
            yield f"source_{number:04d}", self.part.described(row_counts | {"num_replaced": replaced[name]})
        rows = [{"slice": name, "source": number, "num_article": counts[name]} for number, name in enumerate(values)]
        rows += [{"slice": None, "source": None, "num_article": counts[None]}] if counts[None] else []
        yield "counts", pa.Table.from_pylist(rows, _COUNTS)
        yield "parts", pa.Table.from_pylist(parts, _PARTS)
        yield from left_out_table(pages.bad)

    def _check_number(self, counts: Mapping[str | None, int]) -> None:
        longest = max((len(name) for name in counts if name is not None), default=0)
        if len(counts) > _MOST_SLICES or longest > _MOST_CHARACTERS:
            many = f"more than {_MOST_SLICES}" if longest <= _MOST_CHARACTERS else f"one of {longest:,} characters"
            raise InputError(
                f"corpus.slices={self.slices.field}: has {many} among its values, and each is trained as a corpus of "
                "its own; cut dates by corpus.slice_by=year, numbers by corpus.slice_cuts=[...], or name some values "
                "in corpus.slice_values=[...]"
            )


@dataclass
class _Waiting:
    """Pages of a slice that follow one another, until they are written."""

    rows: list[PageRow] = field(default_factory=list)
    num_bytes: int = 0

    def add(self, row: PageRow, num_bytes: int) -> None:
        self.rows.append(row)
        self.num_bytes += num_bytes


def _ends_shard(key: int, num_bytes: int, shard_bytes: float) -> bool:
    """Whether a shard ends behind a document; half as large as asked on average, as few then reach what is asked."""
    return key / 2**64 < 2 * num_bytes / shard_bytes


# --- cut: the slices of a corpus ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A corpus and what its documents were cut into.

    Attributes:
        slices: a text for each, in their order.
        read: what each slice was read into, by its name.
        num_documents: of each slice, by its name.
        num_without: documents in no slice.
    """

    text: Text
    slices: Sequence[Text]
    read: Mapping[str, Pages]
    num_documents: Mapping[str, int]
    num_without: int


def cut(runner: Runner, text: Text, read: Sequence[tuple[ReadPart, Finished]], megabytes: float) -> Cut:
    """The slices of a corpus whose parts were all read, put together in shards of so many megabytes.

    Raises:
        InputError: if no document has a value in the field.
        UnitsFailed: if no slice could be put together.
    """
    units = [unit for _, unit in read]
    counts, parts = (_of_parts(runner.store, units, name) for name in ("counts", "parts"))
    totals = dict(counts.group_by("slice").agg(pl.col("num_article").sum()).rows())
    num_without = totals.pop(None, 0)
    if not totals:
        raise _nowhere(text, num_without)
    texts = _slices(text, list(totals))
    values = {part.name: part.slice.value for part in texts if part.slice}
    sources = {name: _sources(units, counts.filter(slice=value)) for name, value in values.items()}
    runs = {name: list(_runs(read, parts.filter(slice=value), sources[name])) for name, value in values.items()}
    shards = _shards(runner, runs, megabytes)
    whole = {
        part.name: Pages(part, shards[part.name], list(sources[part.name].values()))
        for part in texts
        if part.name in shards
    }
    return Cut(text, texts, whole, {name: totals[value] for name, value in values.items()}, num_without)


def _nowhere(text: Text, num: int) -> InputError:
    known = sorted({name for source in text.sources[:1] for name in fields_of(source)})
    corpus = text.corpus
    kept = f" that is among corpus.slice_values={list(corpus.slice_values)}" if corpus.slice_values else ""
    by = f" of which corpus.slice_by={corpus.slice_by} makes a slice" if corpus.slice_by != "value" else ""
    return InputError(
        f"corpus.slices={corpus.slices}: none of the {num:,} documents of {text.name} has a value there{by}{kept}; its "
        f"documents have the fields {', '.join(known) or '(none)'}"
    )


def _slices(text: Text, values: Sequence[str]) -> list[Text]:
    """A text for each slice, in the order of their places, or of their names where they have none."""
    none: list[float | None] = [None] * len(values)
    places = (text.slicing.places(values) if text.slicing else None) or none
    slices = [Slice(text.name, value, place) for value, place in zip(values, places, strict=True)]
    ordered = sorted(slices, key=lambda part: (part.place or 0.0, part.value))
    return [replace(text, name=f"{text.name}/{part.value}", slice=part) for part in ordered]


def _of_parts(store: Store, units: Sequence[Finished], table: str) -> pl.DataFrame:
    """A table of every part, with the number of the part."""
    tables = (pl.DataFrame(store.read(unit.tables[table])) for unit in units)
    return pl.concat(rows.with_columns(span=pl.lit(number)) for number, rows in enumerate(tables))


def _sources(units: Sequence[Finished], counts: pl.DataFrame) -> dict[int, TableRef]:
    """By the parts that have documents of a slice, the tables that describe their sources."""
    return {
        span: units[span].tables[f"source_{number:04d}"] for span, number in counts.select("span", "source").iter_rows()
    }


def _runs(
    read: Sequence[tuple[ReadPart, Finished]], parts: pl.DataFrame, sources: Mapping[int, TableRef]
) -> Iterator[list[Piece]]:
    """Pieces of a slice from one end of a shard to the next, wherever spans of a file end between."""
    run: list[Piece] = []
    file = ""
    for span, number, ends in parts.select("span", "part", "ends").iter_rows():
        work, unit = read[span]
        if run and work.part.sources[0].uri != file:
            yield run
            run = []
        file = work.part.sources[0].uri
        run.append((unit.tables[f"part_{number:05d}"], sources[span]))
        if ends:
            yield run
            run = []
    if run:
        yield run


class JoinShards(Work, unit="slice_shards/1", stage="join slices"):
    """Pieces as shards of the size that is asked for, as if no span had ended between them."""

    shard_megabytes: float
    pages: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        rows = (
            PageRow(*row)
            for piece in pieces(store, self.pages)
            for row in zip(
                *(piece[name].to_pylist() for name in PageRow._fields if name in piece.column_names), strict=True
            )
        )
        yield from in_shards(rows, self.shard_megabytes)


def _shards(runner: Runner, runs: Mapping[str, Sequence[Sequence[Piece]]], megabytes: float) -> dict[str, list[Piece]]:
    """The shards of each slice that is whole."""
    works = (
        JoinShards(
            group=name, label=f"{name}: {len(run)} parts", shard_megabytes=megabytes, pages=[ref for ref, _ in run]
        )
        for name, slice_runs in runs.items()
        for run in slice_runs
        if len(run) > 1
    )
    joined = do(runner, works, complete=False).groups
    whole = [name for name in runs if not runner.failures.get(name)]
    if not whole:
        runner.check()
    return {name: list(_in_order(runs[name], joined.get(name, Done([])))) for name in whole}


def _in_order(runs: Sequence[Sequence[Piece]], joined: Done[JoinShards]) -> Iterator[Piece]:
    finished = (unit for _, unit in joined.pairs)
    for run in runs:
        if len(run) == 1:
            yield run[0]
        else:
            yield from ((ref, run[0][1]) for _, ref in sorted(next(finished).tables.items()))


# --- what became of them --------------------------------------------------------------------------------------------


class ListSlices(Work, unit="corpus_slices/1", stage="list slices", makes=[CorpusSlices]):
    """Rows that the driver has, as a unit so that later runs find them."""

    slices: Sequence[Row]

    def rows(self, _: Store) -> Iterator[CorpusSlices]:
        return (CorpusSlices(**row) for row in self.slices)


def slice_rows(
    cuts: Sequence[Cut], whole: Mapping[str, Pages], tokenised: Mapping[str, Pages], small: Mapping[str, str]
) -> Iterator[Row]:
    """Rows of the table ``corpus_slices``.

    Args:
        cuts: the corpora that were cut.
        whole: the others, of which those that are too small have a row, by name.
        tokenised: the slices that have a vocabulary, by name.
        small: why others have none, by name.
    """
    for name in sorted(whole.keys() & small.keys()):
        num = sum(ref.num_rows for ref, _ in whole[name].pages)
        row = {"language": whole[name].language, "num_documents": num, "corpus": name, "whole": name, "field": ""}
        yield row | failed("too_small", small[name])
    for parts in cuts:
        corpus = parts.text.corpus
        same = {"language": corpus.language, "whole": parts.text.name, "field": corpus.slices}
        for text in parts.slices:
            verdict = OK if text.name in tokenised else failed("failed", "units of it failed; run.json names them")
            verdict = failed("too_small", small[text.name]) if text.name in small else verdict
            where = {} if text.slice is None else {"value": text.slice.value, "place": text.slice.place}
            yield same | {"corpus": text.name, "num_documents": parts.num_documents[text.name]} | where | verdict
        if parts.num_without:
            reason = "documents without the field, or whose value makes none of the slices"
            row = {"corpus": parts.text.name, "num_documents": parts.num_without}
            yield same | row | failed("in_no_slice", reason)
