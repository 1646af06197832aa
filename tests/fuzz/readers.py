"""The readers of all formats, each with files that it reads, from which those that it is tried on are made."""

import gzip
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from tests.fixtures.corpora import parquet, tar, zipped
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.corpora import CorpusConfig, fields_of, find_sources, read_pages, split
from tiltmeter.storage.item_logs import LogColumns, number_in, read_item_log
from tiltmeter.storage.records import labels, look_through, read_records, record_columns
from tiltmeter.storage.relations.rules import read_mappings, read_rule_tags, read_rules
from tiltmeter.storage.relations.sentences import read_relations
from tiltmeter.storage.relations.trees import read_trees
from tiltmeter.storage.vectors.files import read_embedding

CASES = Path(os.environ.get("TILTMETER_DATA", Path(__file__).parents[2] / "../shared/data")).parent / "found" / "cases"

DOCUMENTS = [
    {"id": str(number), "title": f"Page {number}", "text": f"The number {number}, naïve İstanbul.\nA second line."}
    for number in range(4)
]
PAGES = "".join(
    f"<page><title>{page['title']}</title><ns>0</ns><id>{page['id']}</id><revision><id>1</id>"
    f"<timestamp>2020-01-0{number + 1}T00:00:00Z</timestamp>"
    f"<text xml:space='preserve'>{page['text']}</text></revision></page>\n"
    for number, page in enumerate(DOCUMENTS)
)
DUMP = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" xml:lang="en"><siteinfo><sitename>W</sitename>'
    '<namespaces><namespace key="0" case="first-letter" /><namespace key="6" case="first-letter">File</namespace>'
    f"</namespaces></siteinfo>\n{PAGES}</mediawiki>"
).encode()
TREES = b"# sent_id = 1\n1\tAda\tAda\tPROPN\tNNP\t_\t2\tnsubj\t_\t_\n2\tran\trun\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
TACRED = {
    "token": ["Ada", "married", "King", "."],
    "relation": "per:spouse",
    "docid": "1",
    "subj_start": 0,
    "subj_end": 0,
}
TACRED |= {"obj_start": 2, "obj_end": 2, "subj_type": "PERSON", "obj_type": "PERSON"}
SEMEVAL = b'1\t"The <e1>child</e1> was in the <e2>cradle</e2>."\nContent-Container(e1,e2)\nComment: none\n\n'
RULES = [{"id": "a", "relation": "per:spouse", "pattern": 'SUBJ "married" OBJ'}]
ODIN = b"rules:\n  - name: a\n    label: per_spouse\n    pattern: |\n      trigger = married\n"
LOG = [
    {"doc_id": number, "doc": {"label": "a"}, "acc": number % 2, "filtered_resps": [["x", 1]]} for number in range(4)
]


class Reader(NamedTuple):
    """A reader, what names of its files end in, files that it reads, and how it is called.

    Attributes:
        words: of names below ``cases/`` from which it has further files.
    """

    endings: Sequence[str]
    seeds: Sequence[bytes]
    read: Callable[[str], object]
    words: Sequence[str] = ()


@cache
def seeds_of(name: str) -> tuple[bytes, ...]:
    """The files that a reader begins with."""
    reader = READERS[name]
    cases = [path for path in sorted(CASES.rglob("*")) if path.suffix in reader.words and path.is_file()]
    return (*reader.seeds, *(path.read_bytes() for path in cases if path.stat().st_size < 10_000))


def _pages(path: str, form: str = "auto") -> None:
    for source in find_sources(CorpusConfig("corpus", "en", path, form)):
        fields = fields_of(source)
        for span in split(source, 64.0):
            for page in read_pages(source, span, field=fields[0] if fields else None):
                page.text.encode()


def _vectors(path: str) -> object:
    embedding = read_embedding(path, bad=BadRecords())
    assert np.isfinite(embedding.vectors).all()
    assert len(set(embedding.words)) == len(embedding.vectors)
    return embedding


def _records(path: str) -> None:
    look_through(path, record_columns(path), "data.path")
    rows = read_records(path)
    for column in rows.columns:
        labels(rows[column]).to_list()


def _log(path: str) -> None:
    columns = {"doc_id": "item", "acc": "score", "doc.label": "group", "filtered_resps.0.1": "other"}
    settings = {column: f"logs.{setting}" for column, setting in columns.items()}
    for values in read_item_log(path, "logs.first", LogColumns(settings)).values.values():
        for value in values:
            number_in(value)


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return parquet(pa.Table.from_pylist(list(rows)))


def _arrow(rows: Sequence[Mapping[str, Any]]) -> bytes:
    stream = io.BytesIO()
    pl.DataFrame(rows).write_ipc(stream)
    return stream.getvalue()


def _zip(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return zipped({"a.jsonl": _lines(rows), "b.parquet": _parquet(rows)})


def _tar(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return tar({"a.jsonl": _lines(rows), "b.arrow": _arrow(rows)})


TABLE = b'id,text,label,score\n1,"one, two",0,0.5\n2,three,1,0.25\n3,"a ""b""",0,1\n'
VECTORS = [
    {"word": word, "vector": [0.5, 0.25, float(number)]} for number, word in enumerate(("king", "queen", "new york"))
]

READERS: dict[str, Reader] = {
    "json lines": Reader([".jsonl", ".json", ".txt"], [_lines(DOCUMENTS)], _pages, [".jsonl"]),
    "json array": Reader([".json"], [json.dumps(DOCUMENTS).encode(), json.dumps(DOCUMENTS, indent=1).encode()], _pages),
    "mediawiki": Reader([".xml"], [DUMP], _pages, [".xml"]),
    "wikiextractor": Reader(
        [".txt", ""], [b'<doc id="1" url="" title="A">\nA\n\nText.\n</doc>\n' * 3, _lines(DOCUMENTS)], _pages
    ),
    "plain text": Reader([".txt"], [b"The first line.\nThe second.\n" * 5], partial(_pages, form="text"), [".txt"]),
    "parquet corpus": Reader([".parquet"], [_parquet(DOCUMENTS)], _pages, [".parquet"]),
    "arrow corpus": Reader([".arrow"], [_arrow(DOCUMENTS)], _pages),
    "archives": Reader([".zip", ".tar"], [_zip(DOCUMENTS), _tar(DOCUMENTS), gzip.compress(_tar(DOCUMENTS))], _pages),
    "csv": Reader([".csv", ".txt"], [TABLE, TABLE.replace(b",", b";")], _records, [".csv"]),
    "tsv": Reader([".tsv", ".tab"], [b"id\ttext\tlabel\n1\tone\t0\n2\ttwo\t1\n"], _records, [".tsv"]),
    "json records": Reader(
        [".jsonl", ".json"], [_lines(DOCUMENTS), json.dumps(DOCUMENTS).encode()], _records, [".jsonl"]
    ),
    "parquet records": Reader([".parquet"], [_parquet(DOCUMENTS)], _records, [".parquet"]),
    "arrow records": Reader([".arrow", ".feather"], [_arrow(DOCUMENTS)], _records),
    "vectors": Reader(
        [".txt", ".vec", ".bin"],
        [
            b"2 3\nking 0.5 0.25 1\nqueen 1 2 3\n",
            b"king 0.5 0.25\nqueen 1 2\n",
            b"1 2\nking \x00\x00\x80?\x00\x00\x00?\n",
        ],
        _vectors,
    ),
    "parquet vectors": Reader([".parquet"], [_parquet(VECTORS)], _vectors),
    "conll-u": Reader([".conllu"], [TREES * 2], read_trees),
    "relations": Reader([".json", ".jsonl", ".txt"], [json.dumps([TACRED] * 2).encode(), SEMEVAL * 2], read_relations),
    "rules": Reader([".json", ".yaml"], [json.dumps(RULES).encode(), ODIN], read_rules),
    "rule mappings": Reader([".txt"], [b"[('org:top_membersemployees', 't_1')]\nno_rule\n"], read_mappings),
    "rule tags": Reader([".txt", ".tsv"], [b"per:spouse\t[0, 1]\nno_relation\t[]\n"], read_rule_tags),
    "evaluation logs": Reader([".jsonl"], [_lines(LOG)], _log, [".jsonl"]),
}
