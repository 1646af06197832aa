"""Corpora that are cut by a field of their documents: from spans to slices, each of which is a corpus from here on."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.corpus.pages import PageRow, ReadCorpus, pages_table
from tiltmeter.jobs.embedding.corpus.texts import Slice, Text
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.storage.corpora.corpora import fields_of
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit
from tiltmeter.storage.store.streaming import pieces

_Piece = tuple[TableRef, TableRef]
"""Pages of a slice that follow one another in a span, and the table that describes their source."""


@dataclass(frozen=True)
class Cut:
    """A corpus and what its documents were cut into.

    Attributes:
        texts: a text for each slice, in their order.
        read: what each slice was read into, by its name.
        num_documents: of each slice, by its name.
        num_without: documents in no slice.
    """

    text: Text
    texts: Sequence[Text]
    read: Mapping[str, ReadCorpus]
    num_documents: Mapping[str, int]
    num_without: int


def cut(runner: Runner, text: Text, read: Sequence[Finished], files: Sequence[str], megabytes: float) -> Cut:
    """The slices of a corpus whose spans were all read.

    Args:
        runner: of the stage.
        text: the corpus.
        read: its spans, in their order.
        files: of the spans.
        megabytes: of a shard.

    Raises:
        InputError: if no document has a value in the field.
        UnitsFailed: if no slice could be put together.
    """
    counts, parts = (_of_spans(runner.store, read, name) for name in ("counts", "parts"))
    totals = dict(counts.group_by("slice").agg(pl.col("num_article").sum()).rows())
    num_without = totals.pop(None, 0)
    if not totals:
        raise _nowhere(text, num_without)
    texts = _texts(text, list(totals))
    values = {sliced.name: sliced.slice.value for sliced in texts if sliced.slice}
    sources = {name: _sources(read, counts.filter(slice=value)) for name, value in values.items()}
    runs = {name: list(_runs(read, parts.filter(slice=value), sources[name], files)) for name, value in values.items()}
    shards = _shards(runner, runs, megabytes)
    whole = {name: ReadCorpus(shards[name], list(sources[name].values())) for name in shards}
    return Cut(text, texts, whole, {name: totals[value] for name, value in values.items()}, num_without)


def check_any_large(small: Mapping[str, str], num: int) -> None:
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


def slice_rows(
    cuts: Sequence[Cut], uncut: Mapping[str, Row], tokenised: Collection[str], small: Mapping[str, str]
) -> Iterator[Row]:
    """Rows of the table ``corpus_slices``.

    Args:
        cuts: the corpora that were cut.
        uncut: the others, of which those that are too small have a row, by name.
        tokenised: names of the slices that have a vocabulary.
        small: why others have none, by name.
    """
    for name in sorted(uncut.keys() & small.keys()):
        yield uncut[name] | {"corpus": name, "whole": name, "field": ""} | failed("too_small", small[name])
    for parts in cuts:
        corpus = parts.text.corpus
        same = {"language": corpus.language, "whole": parts.text.name, "field": corpus.slices}
        for text in parts.texts:
            verdict = OK if text.name in tokenised else failed("failed", "units of it failed; run.json names them")
            verdict = failed("too_small", small[text.name]) if text.name in small else verdict
            where = {} if text.slice is None else {"value": text.slice.value, "place": text.slice.place}
            yield same | {"corpus": text.name, "num_documents": parts.num_documents[text.name]} | where | verdict
        if parts.num_without:
            reason = "documents without the field, or whose value makes none of the slices"
            row = {"corpus": parts.text.name, "num_documents": parts.num_without}
            yield same | row | failed("in_no_slice", reason)


def _nowhere(text: Text, num: int) -> InputError:
    known = sorted({name for source in text.sources[:1] for name in fields_of(source)})
    corpus = text.corpus
    kept = f" that is among corpus.slice_values={list(corpus.slice_values)}" if corpus.slice_values else ""
    by = f" of which corpus.slice_by={corpus.slice_by} makes a slice" if corpus.slice_by != "value" else ""
    return InputError(
        f"corpus.slices={corpus.slices}: none of the {num:,} documents of {text.name} has a value there{by}{kept}; its "
        f"documents have the fields {', '.join(known) or '(none)'}"
    )


def _texts(text: Text, values: Sequence[str]) -> list[Text]:
    """A text for each slice, in the order of their places, or of their names where they have none."""
    none: list[float | None] = [None] * len(values)
    places = (text.slicing.places(values) if text.slicing else None) or none
    slices = [Slice(text.name, value, place) for value, place in zip(values, places, strict=True)]
    ordered = sorted(slices, key=lambda part: (part.place or 0.0, part.value))
    return [replace(text, name=f"{text.name}/{part.value}", slice=part) for part in ordered]


def _of_spans(store: Store, read: Sequence[Finished], table: str) -> pl.DataFrame:
    """A table of every span, with the number of the span."""
    tables = (pl.DataFrame(store.read(done.tables[table])) for done in read)
    return pl.concat(rows.with_columns(span=pl.lit(number)) for number, rows in enumerate(tables))


def _sources(read: Sequence[Finished], counts: pl.DataFrame) -> dict[int, TableRef]:
    """By the spans that have documents of a slice, the tables that describe their sources."""
    return {
        span: read[span].tables[f"source_{number:04d}"] for span, number in counts.select("span", "source").iter_rows()
    }


def _runs(
    read: Sequence[Finished], parts: pl.DataFrame, sources: Mapping[int, TableRef], files: Sequence[str]
) -> Iterator[list[_Piece]]:
    """Pieces of a slice from one end of a shard to the next, wherever spans of a file end between."""
    run: list[_Piece] = []
    file = files[0]
    for span, number, ends in parts.select("span", "part", "ends").iter_rows():
        if run and files[span] != file:
            yield run
            run = []
        file = files[span]
        run.append((read[span].tables[f"part_{number:05d}"], sources[span]))
        if ends:
            yield run
            run = []
    if run:
        yield run


def _shards(
    runner: Runner, runs: Mapping[str, Sequence[Sequence[_Piece]]], megabytes: float
) -> dict[str, list[_Piece]]:
    """The shards of each slice that is whole."""
    units = {
        name: [_join_unit(name, run, megabytes) for run in pieces_of_slice if len(run) > 1]
        for name, pieces_of_slice in runs.items()
    }
    if not any(units.values()):
        return {name: [piece for run in slice_runs for piece in run] for name, slice_runs in runs.items()}
    done = runner.run_whole(Stage("join slices", each(_join), units))
    return {name: list(_in_order(runs[name], finished)) for name, finished in done.items()}


def _in_order(runs: Sequence[Sequence[_Piece]], joined: Sequence[Finished]) -> Iterator[_Piece]:
    finished = iter(joined)
    for run in runs:
        if len(run) == 1:
            yield run[0]
        else:
            yield from ((ref, run[0][1]) for _, ref in sorted(next(finished).tables.items()))


def _join_unit(name: str, run: Sequence[_Piece], megabytes: float) -> Unit:
    pages = [ref for ref, _ in run]
    return Unit("slice_shards/1", f"{name}: {len(pages)} parts", {"shard_megabytes": megabytes}, {"pages": pages})


def _join(store: Store, unit: Unit) -> Tables:
    """Pieces as shards of the size that is asked for, as if no span had ended between them."""
    rows: list[PageRow] = []
    num_bytes = num_shards = 0
    for piece in pieces(store, unit.inputs["pages"]):
        for row in zip(
            *(piece[name].to_pylist() for name in PageRow._fields if name in piece.column_names), strict=True
        ):
            rows.append(PageRow(*row))
            num_bytes += len(rows[-1].text.encode())
            if num_bytes >= unit.config["shard_megabytes"] * 1e6:
                yield f"shard_{num_shards:05d}", pages_table(rows)
                rows, num_bytes, num_shards = [], 0, num_shards + 1
    if rows:
        yield f"shard_{num_shards:05d}", pages_table(rows)
