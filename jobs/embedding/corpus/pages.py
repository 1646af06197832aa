"""Pages of a corpus as they were read, in shards, and the sources that they are from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from tiltmeter.operators.compute.keys import document_key
from tiltmeter.storage.corpora.corpora import Page
from tiltmeter.storage.store.ledger import TableRef

SOURCE = pa.schema(
    [
        ("markup", pa.string()),
        ("media_prefixes", pa.list_(pa.string())),
        *((f"num_{what}", pa.int64()) for what in ("article", "redirect", "other_namespace", "replaced")),
    ]
)
PAGES = pa.schema(
    [("id", pa.string()), ("title", pa.string()), ("text", pa.string()), ("key", pa.uint64()), ("content", pa.uint64())]
)

_TIMESTAMP = pa.field("timestamp", pa.string())
"""Of dumps only."""


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
    schema = PAGES.append(_TIMESTAMP) if any(row.timestamp for row in rows) else PAGES
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=False)], schema)


@dataclass(frozen=True)
class ReadCorpus:
    """What a corpus was read into.

    Attributes:
        shards: of pages, each with the table that describes its source.
        sources: those tables, of every span.
    """

    shards: Sequence[tuple[TableRef, TableRef]]
    sources: Sequence[TableRef]
