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
import yaml

from tests.fixtures.corpora import parquet, source, tar, zipped
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.corpora import fields_of, read_pages, split
from tiltmeter.storage.item_logs import LogColumns, ScoreColumns, number_in, read_item_log, read_scores
from tiltmeter.storage.records import labels, look_through, read_records, record_columns
from tiltmeter.storage.records.stereoset import read_stereoset
from tiltmeter.storage.relations.rules import read_mappings, read_rule_tags, read_rules
from tiltmeter.storage.relations.sentences import read_relations
from tiltmeter.storage.relations.trees import read_trees
from tiltmeter.storage.vectors.files import read_embedding

CASES = Path(os.environ.get("TILTMETER_DATA", Path(__file__).parents[2] / "../shared/data")).parent / "found" / "cases"
SMALL_FILES = Path(__file__).parents[1] / "storage/read_files.yaml"

DOCUMENTS = [
    {"id": str(number), "title": f"Page {number}", "text": f"The number {number}, naïve İstanbul.\nA second line."}
    for number in range(4)
]
VECTORS = [{"word": word, "vector": [0.5, 0.25, number]} for number, word in enumerate(("king", "queen", "new york"))]
LABELLED = [{"sentence": label, "gold_label": label} for label in ("stereotype", "anti-stereotype", "unrelated")]
TRIPLES = [{"id": str(at), "target": "a", "bias_type": "b", "sentences": LABELLED} for at in range(3)]
LOG = [{"doc_id": at, "doc": {"label": "a"}, "acc": at % 2, "filtered_resps": [["x", 1]]} for at in range(4)]


def _logs() -> list[bytes]:
    """Of Inspect and lm-evaluation-harness."""
    folder = Path(__file__).parents[1] / "fixtures/logs"
    return [path.read_bytes() for path in sorted(folder.glob("*/*/*")) if path.stat().st_size < 20_000]


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


@cache
def _small_files() -> list[dict[str, Any]]:
    return [*yaml.load(SMALL_FILES.read_text(encoding="utf-8"), yaml.CSafeLoader).values()]


def _small(name: str, start: str = "", **how: str) -> list[bytes]:
    """Contents of the small files of a name that begin so, and are read so."""
    files = [file for file in _small_files() if file["name"] == name and file.get("how", {}) == how]
    contents = [file["content"].encode(file.get("encoding", "utf-8")) for file in files if "content" in file]
    return [content for content in contents if content.lstrip(b"\n").startswith(start.encode())]


def _pages(path: str, form: str = "auto") -> None:
    whole = source(path, format=form)
    fields = fields_of(whole)
    for span in split(whole, 64.0):
        for page in read_pages(whole, span, field=fields[0] if fields else None):
            page.text.encode()


def _vectors(path: str) -> None:
    embedding = read_embedding(path, bad=BadRecords())
    assert np.isfinite(embedding.vectors).all()
    assert len(set(embedding.words)) == len(embedding.vectors)


def _records(path: str) -> None:
    look_through(path, record_columns(path), "data.path")
    rows = read_records(path)
    for column in rows.columns:
        labels(rows[column]).to_list()


def _log(path: str) -> None:
    settings = dict.fromkeys(["doc_id", "acc", "doc.label", "filtered_resps.0.1"], "logs.item")
    for values in read_item_log(path, "logs.first", LogColumns(settings)).values.values():
        for value in values:
            number_in(value)


def _scores(path: str) -> None:
    for whole in (False, True):
        read_scores(path, "logs.first", ScoreColumns(whole=whole))


def _stereoset(path: str) -> None:
    for triple in read_stereoset(path):
        "".join(triple).encode()


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


READERS: dict[str, Reader] = {
    "json lines": Reader([".jsonl", ".json", ".txt"], _small("corpus", "{"), _pages, [".jsonl"]),
    "json array": Reader([".json"], [json.dumps(DOCUMENTS).encode(), *_small("corpus", "\ufeff [")], _pages),
    "mediawiki": Reader([".xml"], _small("corpus", "<mediawiki"), _pages, [".xml"]),
    "wikiextractor": Reader([".txt", ""], _small("corpus", "<doc"), _pages),
    "plain text": Reader([".txt"], _small("corpus", format="text"), partial(_pages, form="text"), [".txt"]),
    "parquet corpus": Reader([".parquet"], [_parquet(DOCUMENTS)], _pages, [".parquet"]),
    "arrow corpus": Reader([".arrow"], [_arrow(DOCUMENTS)], _pages),
    "archives": Reader([".zip", ".tar"], [_zip(DOCUMENTS), _tar(DOCUMENTS), gzip.compress(_tar(DOCUMENTS))], _pages),
    "csv": Reader([".csv", ".txt"], _small("rows.csv"), _records, [".csv"]),
    "tsv": Reader([".tsv", ".tab"], _small("rows.tsv"), _records, [".tsv"]),
    "json records": Reader([".jsonl", ".json"], _small("rows.jsonl") + _small("rows.json"), _records, [".jsonl"]),
    "parquet records": Reader([".parquet"], [_parquet(DOCUMENTS)], _records, [".parquet"]),
    "arrow records": Reader([".arrow", ".feather"], [_arrow(DOCUMENTS)], _records),
    "vectors": Reader([".txt", ".vec", ".bin"], _small("vectors"), _vectors),
    "parquet vectors": Reader([".parquet"], [_parquet(VECTORS)], _vectors),
    "conll-u": Reader([".conllu"], _small("trees.conllu"), read_trees),
    "relations": Reader([".json", ".jsonl", ".txt"], _small("relations.json"), read_relations),
    "rules": Reader([".json", ".yaml"], _small("rules.json") + _small("rules.yaml"), read_rules),
    "rule mappings": Reader([".txt"], _small("mappings.txt"), read_mappings),
    "rule tags": Reader([".txt", ".tsv"], _small("tags.txt"), read_rule_tags),
    "stereoset": Reader([".json"], [json.dumps({"data": {"intrasentence": TRIPLES}}).encode()], _stereoset),
    "evaluation logs": Reader([".jsonl"], [_lines(LOG)], _log, [".jsonl"]),
    "scores of logs": Reader([".json", ".eval", ".jsonl", ".csv"], _logs(), _scores),
}
