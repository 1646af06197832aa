"""Tables of `corpus_export`, and the columns of the data sets that it writes."""

from typing import Literal, get_args

import pyarrow as pa

from tiltmeter.jobs.embedding.tables import OfCorpus
from tiltmeter.jobs.runtime.table import doc, key, schemas
from tiltmeter.storage.store.tables import column

Level = Literal["documents", "sentences", "tokens"]
LEVELS: tuple[Level, ...] = get_args(Level)

_STRING = pa.string()
_ID = [
    column("id", _STRING, "of the document in its corpus; in a Wikipedia that of the page"),
    column("title", _STRING, "of the document; empty if it has none"),
    column("language", _STRING, "of the corpus, as a BCP-47 code"),
]
_PLACE = [
    *_ID,
    column("line", pa.int32(), "of the document's text, from 0"),
    column("sentence", pa.int32(), "of the line, from 0"),
]
_COLUMNS = {
    "documents": [
        *_ID,
        column("dump_date", _STRING, "of the corpus, such as 20260501; null where it is not known"),
        column("timestamp", _STRING, "of the page's revision in a dump, such as 20260501123000; null elsewhere"),
        column("digest", _STRING, "SHA-256 of the text in UTF-8, in hexadecimal digits"),
        column("text", _STRING, "of the document; of a dump without its markup, a line for each paragraph"),
    ],
    "sentences": [*_PLACE, column("text", _STRING, "of the sentence")],
    "tokens": [*_PLACE, column("tokens", pa.list_(_STRING), "words of the sentence, in order")],
}
_SLICES = column("slices", pa.list_(_STRING), "slices of the corpus that the document is in; none where it is in none")
_OF_UNITS = [
    column("row", pa.int32(), "of the document among those of its unit"),
    column("size", pa.int64(), "characters of the text, or words"),
]
EXTENTS = pa.schema([("key", pa.uint64()), ("num_bytes", pa.int64())])
"""Of each document: by its id, and in UTF-8."""


def level_schema(level: Level, *, sliced: bool) -> pa.Schema:
    """Of a configuration; what a row is about comes last."""
    *others, content = _COLUMNS[level]
    return pa.schema([*others, *([_SLICES] if sliced else []), content])


def unit_schema(level: Level, *, sliced: bool) -> pa.Schema:
    """The same as units leave it, with columns by which rows are ordered and summed up."""
    return pa.schema([*_OF_UNITS, *level_schema(level, sliced=sliced)])


class Levels(OfCorpus, name="levels", has_status=False):
    level: str = key("documents, sentences or tokens")
    num_rows: int = doc("of the configuration", "rows")
    num_shards: int = doc("that they lie in", "files", heading="files")
    total: int = doc("characters of all texts, or words", heading="characters or words")
    median: float | None = doc("of a row", heading="of a row: median", digits=0)
    ninth_decile: float | None = doc("that a tenth of the rows exceed", heading="90 %", digits=0)
    largest: int | None = doc("of a row", heading="largest")


class Account(OfCorpus, name="account", has_status=False):
    what: str = key("'exported', or why pages are not", heading="pages")
    num_pages: int = doc("of the files", "pages", heading="number")


class Omitted(OfCorpus, name="omitted", has_status=False):
    id: str = key("of the document")
    title: str = doc("of it")
    why: str = doc("it is not exported: 'repeated', 'empty', 'in no slice' or 'unreadable'")
    problem: str = doc("with its markup; empty otherwise")


class DocumentSlices(OfCorpus, name="document_slices", has_status=False):
    slice: str = key("its name")
    num_documents: int = doc("that are in it", "documents")


class Samples(OfCorpus, name="samples", has_status=False):
    id: str = key("of the document")
    title: str = doc("of it")
    first_line: str = doc("of its text, cut after 200 characters")


class Shards(OfCorpus, name="shards", has_status=False):
    file: str = key("in the folder `dataset`")
    level: str = doc("of its rows")
    num_rows: int = doc("in it", "rows")
    digest: str = doc("of what its rows say, however they are packed")


TABLES = schemas(Levels, Account, Omitted, DocumentSlices, Samples, Shards)
