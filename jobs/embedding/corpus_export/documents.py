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
    EXTENTS,
    Account,
    DocumentSlices,
    Level,
    Levels,
    Omitted,
    Samples,
    Shards,
    unit_schema,
)
from tiltmeter.jobs.embedding.pages import PartPages, ReadPages
from tiltmeter.jobs.runtime.table import Table, tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute import slicing
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.slicing import Slicing
from tiltmeter.operators.text import sentences, wikitext
from tiltmeter.operators.text.sentences import sentence_texts
from tiltmeter.storage.corpora.cards import language_tag
from tiltmeter.storage.corpora.corpora import Page
from tiltmeter.storage.store.ledger import Store, TableRef

_MOST_SAMPLES = 20
_MOST_CHARACTERS = 200


class ReadWithSlices(ReadPages, unit="pages_with_slices/2"):
    """The same of a corpus with slices: each article with those that it is in."""

    slices: Slicing
    slicing: str = slicing.VERSION

    def tables(self, _: Store) -> Tables:
        names: list[tuple[str, ...]] = []

        def note(pages: PartPages, page: Page) -> None:
            if self.slices.is_impossible(page.value):
                pages.bad.add(pages.file, "a date that does not exist", f"the document {page.id!r}")
            names.append(self.slices.names(page.value))

        for name, table in self.read(note, self.slices.field):
            if name.startswith("shard_"):
                yield name, table.append_column("slices", pa.array(names, pa.list_(pa.string())))
                names.clear()
            else:
                yield name, table


# --- rows -----------------------------------------------------------------------------------------------------------


class MakeDocuments(Work, unit="export_documents/2", stage="documents", makes=[Omitted]):
    """The documents of a shard of pages; plain text as it is, of markup the running text (:mod:`.wikitext`).

    ``only_in_slices``: whether others are left out.
    """

    language: str
    dump_date: str | None
    only_in_slices: bool
    repeated: Sequence[int]
    wikitext: str = wikitext.VERSION
    mwparserfromhell: str = version("mwparserfromhell")
    pages: TableRef
    source: TableRef

    def tables(self, store: Store) -> Tables:
        pages, [source] = store.read(self.pages), store.read(self.source).to_pylist()
        same = {"language": language_tag(self.language), "dump_date": self.dump_date}
        made, extents, omitted = list[dict[str, Any]](), list[dict[str, int]](), list[Omitted]()
        repeated = set(self.repeated)
        for number, page in enumerate(pages.to_pylist()):
            try:
                text, why, problem = *self._text(page, source, is_repeated=number in repeated), ""
            except Exception as error:
                text, why, problem = "", "unreadable", f"{type(error).__name__}: {error}"
            if why:
                about = {"language": self.language, "id": page["id"], "title": page["title"]}
                omitted.append(Omitted(**about, why=why, problem=problem))
                continue
            content = text.encode()
            # As MediaWiki keeps it, 20260501123000; readers of JSON lines would change another form.
            moment = re.sub("[^0-9]", "", page.get("timestamp") or "") or None
            row = {"row": len(made), "size": len(text), "text": text, "timestamp": moment}
            made.append(page | same | row | {"digest": hashlib.sha256(content).hexdigest()})
            extents.append({"key": document_key(page["id"]), "num_bytes": len(content)})
        schema = unit_schema("documents", sliced="slices" in pages.column_names)
        yield "documents", pa.Table.from_pylist(made, schema)
        yield "extents", pa.Table.from_pylist(extents, EXTENTS)
        yield from tables_of(omitted, self.makes)

    def _text(self, page: Mapping[str, Any], source: Mapping[str, Any], *, is_repeated: bool) -> tuple[str, str]:
        """The text, or why there is none."""
        if is_repeated:
            return "", "repeated"
        if self.only_in_slices and not page["slices"]:
            return "", "in no slice"
        text = page["text"]
        if source["markup"] != "plain":
            text = "\n".join(wikitext.plain_lines(text, source["media_prefixes"]))
        return text, "" if text.strip() else "empty"


class CutDocuments(Work, unit="export_sentences/2", stage="sentences"):
    """The sentences of each line of a shard's documents: their texts, or with a tokeniser the words of those that have
    any."""

    tokens: Tokens | None
    sentences: str = sentences.VERSION
    documents: TableRef

    def tables(self, store: Store) -> Tables:
        level: Level = "tokens" if self.tokens else "sentences"
        content, words_of = ("tokens", self.tokens.tokenizer()) if self.tokens else ("text", str)
        rows = [
            document | {"line": line, "sentence": number, content: words, "size": len(words)}
            for document in store.read(self.documents).to_pylist()
            for line, text in enumerate(document["text"].split("\n"))
            for number, sentence in enumerate(sentence_texts(text))
            if (words := words_of(sentence))
        ]
        yield level, pa.Table.from_pylist(rows, unit_schema(level, sliced="slices" in self.documents.columns))


# --- the account ----------------------------------------------------------------------------------------------------


class SumUp(Work, unit="export_account/2", stage="sum up", makes=[Levels, Account, DocumentSlices, Samples, Shards]):
    """What was exported, into which files, and what was not; ``sizes``: of every level, one after another."""

    language: str
    levels: Sequence[Level]
    files: Sequence[Mapping[str, Any]]
    sizes: Sequence[TableRef]
    documents: Sequence[TableRef]
    sources: Sequence[TableRef]
    omitted: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Table]:
        language, num = self.language, len(self.documents)
        for place, level in enumerate(self.levels):
            refs = self.sizes[place * num : (place + 1) * num]
            sizes = np.concatenate([store.read(ref)["size"].to_numpy() for ref in refs])
            row = Levels(language=language, level=level, num_rows=sizes.size, total=int(sizes.sum()))
            row.num_shards = sum(file["level"] == level for file in self.files)
            if sizes.size:
                row.median, row.ninth_decile = np.quantile(sizes, [0.5, 0.9]).tolist()
                row.largest = int(sizes.max())
            yield row
        yield from self._account(store)
        sliced = [ref.select("slices") for ref in self.documents if "slices" in ref.columns]
        slices = Counter(name for ref in sliced for names in store.read(ref)["slices"].to_pylist() for name in names)
        for name, num_documents in sorted(slices.items()):
            yield DocumentSlices(language=language, slice=name, num_documents=num_documents)
        documents = (document for ref in self.documents for document in store.read(ref).to_pylist())
        for one in islice(documents, _MOST_SAMPLES):
            line = one["text"].strip().partition("\n")[0]
            yield Samples(language=language, id=one["id"], title=one["title"], first_line=line[:_MOST_CHARACTERS])
        for file in self.files:
            yield Shards(language=language, **file)

    def _account(self, store: Store) -> Iterator[Account]:
        counts = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.sources]).sum().row(0, named=True)
        why = Counter(name for ref in self.omitted for name in store.read(ref)["why"].to_pylist())
        numbers = {"exported": counts["num_article"] - why.total(), **dict(sorted(why.items()))}
        numbers |= {"redirect": counts["num_redirect"], "in another namespace": counts["num_other_namespace"]}
        for what, num in numbers.items():
            yield Account(language=self.language, what=what, num_pages=num)
