"""Files that are not what their reader takes them for, each with what is said of it, in ``refused_files.toml``."""

import tomllib
from functools import partial
from pathlib import Path

import pytest

from tests.fixtures.corpora import pages
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.item_logs import LogColumns, read_item_log
from tiltmeter.storage.records import look_through, read_records, record_columns
from tiltmeter.storage.relations.rules import read_mappings, read_rule_tags, read_rules
from tiltmeter.storage.relations.sentences import read_relations
from tiltmeter.storage.relations.trees import read_trees
from tiltmeter.storage.vectors.files import read_embedding

READERS = {
    "rules.yaml": read_rules,
    "mappings.txt": read_mappings,
    "tags.txt": read_rule_tags,
    "relations.json": read_relations,
    "trees.conllu": read_trees,
    "log.jsonl": lambda path: read_item_log(path, "logs.first", LogColumns({"doc_id": "logs.item"})),
    "rows.csv": lambda path: look_through(path, record_columns(path), "data.path"),
    "rows.parquet": read_records,
    "dump.xml": partial(pages, format="mediawiki"),
    "corpus": pages,
    "vectors": read_embedding,
    "vectors.bin": partial(read_embedding, format="word2vec_binary"),
}
FILES = tomllib.loads(Path(__file__).with_name("refused_files.toml").read_text(encoding="utf-8"))
"""By name, from content (a byte for each character) to message."""


@pytest.mark.parametrize(("name", "content"), [(name, content) for name in FILES for content in FILES[name]])
def test_a_file_that_is_none_is_refused(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(Refusal) as refusal:
        READERS[name](str(path))
    assert str(refusal.value).replace(f"{tmp_path}/", "") == FILES[name][content]


def test_every_reader_refuses_something():
    assert FILES.keys() == READERS.keys()
