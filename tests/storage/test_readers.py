"""Small files of every kind: what is read of each by ``read_files.yaml``, or said of it by ``refused_files.toml``."""

import bz2
import json
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from tests.fixtures.corpora import parquet, parts, source, written
from tiltmeter.storage.bad_records import BadRecords, collected
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.item_logs import LogColumns, read_item_log
from tiltmeter.storage.records import look_through, read_records, record_columns
from tiltmeter.storage.relations.rules import read_mappings, read_rule_tags, read_rules
from tiltmeter.storage.relations.sentences import read_relations
from tiltmeter.storage.relations.trees import read_trees
from tiltmeter.storage.vectors.files import read_embedding

FOLDER = Path(__file__).parent
READ = yaml.load((FOLDER / "read_files.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
"""By what is to be seen: name, content and encoding of a file, how it is read, and what that gives."""

REFUSED = tomllib.loads((FOLDER / "refused_files.toml").read_text(encoding="utf-8"))
"""By name, from content (a byte for each character) to message."""


def _left_out(bad):
    rows = [[row["num"], row["reason"], row["first"], row["kind"]] for row in bad.rows()]
    return {"of": sum(bad.num_records.values()), "left_out": rows}


def _corpus(path, **how):
    bad, found, num_replaced = BadRecords(), [], 0
    for part in parts(source(path, **how)):
        found += [[*page[:4], *filter(None, [page.timestamp])] for page in part]
        bad.merge(part.bad)
        num_replaced += part.num_replaced
    return {"pages": found, "num_replaced": num_replaced} | _left_out(bad)


def _rows(path, **how):
    with collected() as bad:
        look_through(path, record_columns(path, **how), "data.path", **how)
    return {"rows": read_records(path, **how).to_dicts()} | _left_out(bad)


def _log(path, columns=("doc_id",), only=None, labels=()):
    settings = dict.fromkeys(columns, "logs.item")
    log = read_item_log(path, "logs.first", LogColumns(settings, only or {}, labels=labels, numbers=labels))
    return {"lines": log.lines, "values": log.values} | _left_out(log.bad)


def _vectors(path, **how):
    bad = BadRecords()
    embedding = read_embedding(path, **(how or {"bad": bad}))
    return {"vectors": dict(zip(embedding.words, embedding.vectors.tolist(), strict=True))} | _left_out(bad)


READERS = {
    "rules.yaml": read_rules,
    "rules.json": read_rules,
    "mappings.txt": read_mappings,
    "tags.txt": read_rule_tags,
    "relations.json": lambda path: [_given(row) for row in read_relations(path)],
    "trees.conllu": lambda path: {" ".join(words): _given(tree) for words, tree in read_trees(path).items()},
    "log.jsonl": _log,
    **{f"rows.{ending}": _rows for ending in ("csv", "tsv", "jsonl", "json")},
    "rows.parquet": read_records,
    **dict.fromkeys(("corpus", "dump.xml"), _corpus),
    "vectors": _vectors,
}


def _given(row):
    return {name: value for name, value in row.items() if value is not None}


@pytest.mark.parametrize("case", READ)
def test_what_is_read_of_a_file(tmp_path, case):
    file = READ[case]
    content = file["content"].encode(file.get("encoding", "utf-8"))
    for pack in (bytes, bz2.compress) if file["name"] == "corpus" else (bytes,):
        path = written(tmp_path / file["name"], pack(content))
        found = READERS[file["name"]](str(path), **file.get("how", {}))
        assert json.loads(json.dumps(found)) == file["read"]


@pytest.mark.parametrize(("name", "content"), [(name, content) for name in REFUSED for content in REFUSED[name]])
def test_a_file_that_is_none_is_refused(tmp_path, name, content):
    formats = {"dump": "mediawiki", "binary": "word2vec_binary", "strict": "auto"}
    kind, _, kept = name.rpartition(" ")
    path = written(tmp_path / kept, content.encode("latin-1"))
    with pytest.raises(Refusal) as refusal:
        READERS[kept](str(path), **({"format": formats[kind]} if kind else {}))
    assert str(refusal.value).replace(f"{tmp_path}/", "") == REFUSED[name][content]


def test_relations_of_our_columns_may_be_a_list_or_parquet(tmp_path):
    lines = READ["relations by our columns, some of which can't be"]
    rows = [json.loads(line) for line in lines["content"].splitlines() if line]
    for content in (json.dumps(rows), parquet(pa.Table.from_pylist(rows))):
        assert READERS["relations.json"](str(written(tmp_path / "relations.json", content))) == lines["read"]
