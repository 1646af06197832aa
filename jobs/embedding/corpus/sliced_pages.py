"""The pages of a span of a corpus that is cut by a field of its documents, slice by slice.

A slice is cut into shards behind documents whose keys say so, whatever comes before or after them and wherever the
spans of its file end: a document that changes leaves the shards of all other slices, and most of its own, as they were.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.corpus.left_out import left_out_table
from tiltmeter.jobs.embedding.corpus.pages import SOURCE, PageRow, page_row, pages_table
from tiltmeter.jobs.embedding.corpus.parts import PartPages
from tiltmeter.operators.compute.slicing import Slicing
from tiltmeter.storage.corpora.corpora import Page
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Unit

OPERATOR = "sliced_pages/2"

_MOST_SLICES = 256
"""Of a corpus: each is trained on its own, with all its replicas."""

_MOST_CHARACTERS = 100
"""Of the name of a slice, which is part of the names of folders."""

_PARTS = pa.schema([("slice", pa.string()), ("part", pa.int32()), ("ends", pa.bool_())])
_COUNTS = pa.schema([("slice", pa.string()), ("source", pa.int32()), ("num_article", pa.int64())])


@dataclass
class _Part:
    """Pages of a slice that follow one another, until they are written."""

    rows: list[PageRow] = field(default_factory=list)
    num_bytes: int = 0

    def add(self, row: PageRow, num_bytes: int) -> None:
        self.rows.append(row)
        self.num_bytes += num_bytes


def read_sliced_pages(unit: Unit, document_bytes: int) -> Tables:
    """The pages of a span in parts of one slice each; the tables ``parts`` and ``counts`` say of which."""
    slicing = unit.config["slices"]
    shard_bytes = unit.config["shard_megabytes"] * 1e6
    counts: Counter[str | None] = Counter()
    replaced: Counter[str] = Counter()
    waiting: dict[str, _Part] = defaultdict(_Part)
    parts: list[dict[str, object]] = []

    def written(name: str, *, ends: bool) -> tuple[str, pa.Table]:
        parts.append({"slice": name, "part": len(parts), "ends": ends})
        return f"part_{len(parts) - 1:05d}", pages_table(waiting.pop(name).rows)

    pages, num_replaced = PartPages(unit, document_bytes, slicing.field), 0
    for page in pages:
        names = _names(page, slicing) if page.kind == "article" else ()
        if page.kind == "article" and not names:
            counts[None] += 1
            if slicing.is_impossible(page.value):
                pages.bad.add(pages.file, "a date that does not exist", f"the document {page.id!r}")
        row, num_bytes = page_row(page), len(page.text.encode())
        for name in names:
            counts[name] += 1
            replaced[name] += pages.num_replaced - num_replaced
            waiting[name].add(row, num_bytes)
            if _ends_shard(row.key, num_bytes, shard_bytes):
                yield written(name, ends=True)
        num_replaced = pages.num_replaced
        _check_number(counts, slicing)
        while sum(part.num_bytes for part in waiting.values()) >= shard_bytes:
            largest = max(waiting, key=lambda name: waiting[name].num_bytes)
            yield written(largest, ends=False)
    for name in list(waiting):
        yield written(name, ends=False)
    named = [name for name in counts if name is not None]
    for number, name in enumerate(named):
        row_counts = {"num_article": counts[name], "num_redirect": 0, "num_other_namespace": 0}
        row_of_source = pages.described | row_counts | {"num_replaced": replaced[name]}
        yield f"source_{number:04d}", pa.Table.from_pylist([row_of_source], SOURCE)
    rows = [{"slice": name, "source": number, "num_article": counts[name]} for number, name in enumerate(named)]
    rows += [{"slice": None, "source": None, "num_article": counts[None]}] if counts[None] else []
    yield "counts", pa.Table.from_pylist(rows, _COUNTS)
    yield "parts", pa.Table.from_pylist(parts, _PARTS)
    yield from left_out_table(pages.bad)


def _names(page: Page, slicing: Slicing) -> tuple[str, ...]:
    names = slicing.names(page.value)
    return tuple(name for name in names if name in slicing.values) if slicing.values else names


def _ends_shard(key: int, num_bytes: int, shard_bytes: float) -> bool:
    """Whether a shard ends behind a document; half as large as asked on average, as few then reach what is asked."""
    return key / 2**64 < 2 * num_bytes / shard_bytes


def _check_number(counts: Mapping[str | None, int], slicing: Slicing) -> None:
    longest = max((len(name) for name in counts if name is not None), default=0)
    if len(counts) > _MOST_SLICES or longest > _MOST_CHARACTERS:
        many = f"more than {_MOST_SLICES}" if longest <= _MOST_CHARACTERS else f"one of {longest:,} characters"
        raise InputError(
            f"corpus.slices={slicing.field}: has {many} among its values, and each is trained as a corpus of its own; "
            "cut dates by corpus.slice_by=year, numbers by corpus.slice_cuts=[...], or name some values in "
            "corpus.slice_values=[...]"
        )
