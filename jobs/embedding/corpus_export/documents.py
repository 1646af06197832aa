"""From pages to rows of a data set: documents, their sentences, and the words of these; and the account of them."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.corpora import Tokens
from tiltmeter.jobs.embedding.corpus_export.tables import (
    OF_UNITS,
    Account,
    DocumentSlices,
    Level,
    Levels,
    Omitted,
    Samples,
    level_schema,
)
from tiltmeter.jobs.embedding.pages import PageRow, PartPages, ReadPart, in_shards, left_out_table, page_row
from tiltmeter.jobs.runtime.table import Table, tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute import slicing
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.slicing import Slicing
from tiltmeter.operators.text import sentences, wikitext
from tiltmeter.operators.text.sentences import sentence_texts
from tiltmeter.storage.corpora.corpora import Source
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.store.ledger import Store, TableRef

_MOST_SAMPLES = 20
_MOST_CHARACTERS = 200
_OF_DOCUMENTS = [pa.field("key", pa.uint64()), pa.field("num_bytes", pa.int64())]


class ReadWithSlices(ReadPart, unit="pages_with_slices/1"):
    """The articles of a part in shards, each with the slices that it is in; and a row on its sources."""

    slices: Slicing
    slicing: str = slicing.VERSION

    def tables(self, _: Store) -> Tables:
        pages = PartPages(self.part, self.document_bytes, self.slices.field)
        counts, names = Counter(article=0, redirect=0, other_namespace=0), list[list[str]]()

        def articles() -> Iterator[PageRow]:
            for page in pages:
                counts[page.kind] += 1
                if page.kind != "article":
                    continue
                if self.slices.is_impossible(page.value):
                    pages.bad.add(pages.file, "a date that does not exist", f"the document {page.id!r}")
                names.append(self._names(page.value))
                yield page_row(page)

        for name, shard in in_shards(articles(), self.shard_megabytes):
            yield name, shard.append_column("slices", pa.array(names, pa.list_(pa.string())))
            names.clear()
        row = {f"num_{kind}": number for kind, number in counts.items()} | {"num_replaced": pages.num_replaced}
        yield "source", self.part.described(row)
        yield from left_out_table(pages.bad)

    def _names(self, value: object) -> list[str]:
        wanted = self.slices.values
        return [name for name in self.slices.names(value) if not wanted or name in wanted]


class DigestFile(Work, unit="file_digest/1", stage="digest files"):
    """SHA-256 and SHA-1 of a file as it lies there; of its dumps, Wikimedia publishes the second."""

    source: Source

    def tables(self, _: Store) -> Tables:
        sums = [hashlib.sha256(), hashlib.sha1(usedforsecurity=False)]
        with opened(self.source.uri) as file:
            while piece := file.read(2**20):
                for one in sums:
                    one.update(piece)
        row = {"name": self.source.name, "bytes": self.source.num_bytes}
        yield "digest", pa.Table.from_pylist([row | {one.name: one.hexdigest() for one in sums}])


# --- rows -----------------------------------------------------------------------------------------------------------


class MakeDocuments(Work, unit="export_documents/1", stage="documents", makes=[Omitted]):
    """The documents of a shard of pages; plain text as it is, of markup the running text (:mod:`.wikitext`).

    ``language``: as the data set has it, ``code`` as tables do; ``only_in_slices``: whether others are left out.
    """

    language: str
    code: str
    dump_date: str | None
    only_in_slices: bool
    repeated: Sequence[int]
    wikitext: str = wikitext.VERSION
    mwparserfromhell: str = version("mwparserfromhell")
    pages: TableRef
    source: TableRef

    def tables(self, store: Store) -> Tables:
        pages = store.read(self.pages)
        [source] = store.read(self.source).to_pylist()
        made, omitted = list[dict[str, Any]](), list[Omitted]()
        repeated = set(self.repeated)
        for number, page in enumerate(pages.to_pylist()):
            text, why, problem = "", "repeated", ""
            if number not in repeated:
                text, why, problem = self._text(page, source)
            if why:
                omitted.append(
                    Omitted(language=self.code, id=page["id"], title=page["title"], why=why, problem=problem)
                )
            else:
                made.append(self._row(page, text, len(made)))
        schema = level_schema("documents", sliced="slices" in pages.column_names)
        yield "documents", pa.Table.from_pylist(made, pa.schema([*OF_UNITS, *_OF_DOCUMENTS, *schema]))
        yield from tables_of(omitted, self.makes)

    def _text(self, page: Mapping[str, Any], source: Mapping[str, Any]) -> tuple[str, str, str]:
        """The text, or why there is none and what is wrong with it."""
        if self.only_in_slices and not page["slices"]:
            return "", "in no slice", ""
        try:
            text = page["text"]
            if source["markup"] != "plain":
                text = "\n".join(wikitext.plain_lines(text, source["media_prefixes"]))
        except Exception as error:
            return "", "unreadable", f"{type(error).__name__}: {error}"
        return text, "" if text.strip() else "empty", ""

    def _row(self, page: dict[str, Any], text: str, number: int) -> dict[str, Any]:
        content = text.encode()
        places = {"row": number, "size": len(text), "key": document_key(page["id"]), "num_bytes": len(content)}
        same = {"language": self.language, "dump_date": self.dump_date, "digest": hashlib.sha256(content).hexdigest()}
        row: dict[str, Any] = places | page | same | {"text": text, "timestamp": _compact(page.get("timestamp"))}
        return row


def read_by_sentences(*, sliced: bool) -> list[str]:
    """The columns of documents that sentences have too, and the text."""
    return [name for name in level_schema("sentences", sliced=sliced).names if name not in ("line", "sentence")]


def _compact(moment: str | None) -> str | None:
    """As MediaWiki keeps it, ``20260501123000``; readers of JSON lines would change another form."""
    return re.sub("[^0-9]", "", moment) if moment else None


class MakeSentences(Work, unit="export_sentences/1", stage="sentences"):
    """The sentences of each line of a shard's documents."""

    sentences: str = sentences.VERSION
    documents: TableRef

    def tables(self, store: Store) -> Tables:
        rows = [
            document | {"line": line, "sentence": number, "text": text, "size": len(text)}
            for document in store.read(self.documents).to_pylist()
            for line, content in enumerate(document["text"].split("\n"))
            for number, text in enumerate(sentence_texts(content))
        ]
        yield "sentences", _rows_of("sentences", rows, self.documents)


class MakeTokens(Work, unit="export_tokens/1", stage="tokens"):
    """The words of each sentence that has any."""

    tokens: Tokens
    sentences: TableRef

    def tables(self, store: Store) -> Tables:
        words_of = self.tokens.tokenizer()
        rows = [
            sentence | {"tokens": words, "size": len(words)}
            for sentence in store.read(self.sentences).to_pylist()
            if (words := words_of(sentence["text"]))
        ]
        yield "tokens", _rows_of("tokens", rows, self.sentences)


def _rows_of(level: Level, rows: Sequence[Mapping[str, Any]], read: TableRef) -> pa.Table:
    schema = level_schema(level, sliced="slices" in read.columns)
    return pa.Table.from_pylist(rows, pa.schema([*OF_UNITS, *schema]))


# --- the account ----------------------------------------------------------------------------------------------------


class SumUp(Work, unit="export_account/1", stage="sum up", makes=[Levels, Account, DocumentSlices, Samples]):
    """What was exported and what was not; ``num_shards``: files of each level."""

    num_shards: int
    levels: Sequence[str]
    sizes: Sequence[TableRef]
    slices: Sequence[TableRef]
    sources: Sequence[TableRef]
    omitted: Sequence[TableRef]
    samples: Sequence[TableRef]
    language: str

    def rows(self, store: Store) -> Iterator[Table]:
        language, per_level = self.language, len(self.sizes) // len(self.levels)
        for number, level in enumerate(self.levels):
            refs = self.sizes[number * per_level : (number + 1) * per_level]
            sizes = np.concatenate([store.read(ref)["size"].to_numpy() for ref in refs])
            row = Levels(language=language, level=level, num_rows=sizes.size, num_shards=self.num_shards)
            row.total = int(sizes.sum())
            if sizes.size:
                row.median, row.ninth_decile = np.quantile(sizes, [0.5, 0.9]).tolist()
                row.largest = int(sizes.max())
            yield row
        yield from self._account(store)
        slices = Counter(
            name for ref in self.slices for names in store.read(ref)["slices"].to_pylist() for name in names
        )
        yield from (
            DocumentSlices(language=language, slice=name, num_documents=slices[name]) for name in sorted(slices)
        )
        pages = (page for ref in self.samples for page in store.read(ref).to_pylist())
        for page in islice(pages, _MOST_SAMPLES):
            line = page["text"].strip().partition("\n")[0]
            yield Samples(language=language, id=page["id"], title=page["title"], first_line=line[:_MOST_CHARACTERS])

    def _account(self, store: Store) -> Iterator[Account]:
        counts = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.sources]).sum().row(0, named=True)
        why = Counter(name for ref in self.omitted for name in store.read(ref)["why"].to_pylist())
        numbers = {"exported": counts["num_article"] - why.total(), **dict(sorted(why.items()))}
        numbers |= {"redirect": counts["num_redirect"], "in another namespace": counts["num_other_namespace"]}
        for what, num in numbers.items():
            yield Account(language=self.language, what=what, num_pages=num)
