"""Small files of every kind: what is read of each by ``read_files.yaml``, or said of it by ``refused_files.toml``."""

import bz2
import gzip
import json
import pickle
import tomllib
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
import yaml

from tests.fixtures.corpora import parquet, source, written
from tiltmeter.jobs.runtime.wording import left_out_sentences
from tiltmeter.storage.bad_records import BadRecords, collect, collected
from tiltmeter.storage.corpora.corpora import read_pages, split
from tiltmeter.storage.errors import InputError, Refusal
from tiltmeter.storage.item_logs import LogColumns, read_item_log
from tiltmeter.storage.records import look_through, read_records, record_columns
from tiltmeter.storage.relations.rules import read_mappings, read_rule_tags, read_rules
from tiltmeter.storage.relations.sentences import read_relations
from tiltmeter.storage.relations.trees import read_trees
from tiltmeter.storage.vectors import binary, text
from tiltmeter.storage.vectors.files import look_through_embedding, read_embedding

FOLDER = Path(__file__).parent
READ = yaml.load((FOLDER / "read_files.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
"""By what is to be seen: name, content and encoding, or columns, of a file, how it is read, and what that gives."""

REFUSED = tomllib.loads((FOLDER / "refused_files.toml").read_text(encoding="utf-8"))
"""By name, from content (a byte for each character; of a table its columns) to message."""

HOW = {"dump": "mediawiki", "text": "text", "binary": "word2vec_binary", "strict": "auto", "strict table": "auto"}
"""The format that is chosen for files of a kind; of vectors also that a bad row is refused."""


def _left_out(bad):
    rows = [[row["num"], row["reason"], row["first"], row["kind"]] for row in bad.rows()]
    return {"of": sum(bad.num_records.values()), "left_out": rows}


def _corpus(path, field=None, **how):
    whole, bad, found, num_replaced = source(path, **how), BadRecords(), [], 0
    for span in split(whole, 1000):
        part = read_pages(whole, span, field=field)
        found += [[*page[:4], *filter(None, [page.timestamp]), *([page.value] if field else [])] for page in part]
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
    assert [log.where(row) for row in range(len(log.lines))] == [
        f"logs.first: {path}, line {line}" for line in log.lines
    ]
    return {"lines": log.lines, "values": log.values} | _left_out(log.bad)


def _vectors(path, **how):
    """The same in small pieces, and what is left out is counted before."""
    bad, again = BadRecords(), BadRecords()
    embedding = read_embedding(path, **(how or {"bad": bad}))
    if not how:
        with collected() as counted, patch.multiple(text, _CHUNK_BYTES=40), patch.multiple(binary, _CHUNK_BYTES=40):
            look_through_embedding(path)
            assert read_embedding(path, bad=again).words == embedding.words
        assert counted.rows() == again.rows() == bad.rows()
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


@pytest.mark.long
@pytest.mark.parametrize("case", READ)
def test_what_is_read_of_a_file(tmp_path, case):
    file = READ[case]
    content = parquet(file["columns"]) if "columns" in file else file["content"].encode(file.get("encoding", "utf-8"))
    is_packed = "columns" not in file and file["name"] in ("corpus", "log.jsonl", "rows.csv", "rows.tsv", "vectors")
    for pack in (bytes, bz2.compress, gzip.compress) if is_packed else (bytes,):
        path = written(tmp_path / file["name"], pack(content))
        found = READERS[file["name"]](str(path), **file.get("how", {}))
        assert json.loads(json.dumps(found)) == file["read"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "content", "message"), [(name, *row) for name, rows in REFUSED.items() for row in rows.items()]
)
def test_a_file_that_is_none_is_refused(tmp_path, name, content, message):
    kind, _, kept = name.rpartition(" ")
    content = parquet(json.loads(content)) if kind.endswith("table") else content.encode("latin-1")
    for pack in (bytes, bz2.compress, gzip.compress) if kind == "text" else (bytes,):
        path = written(tmp_path / kept, pack(content))
        with pytest.raises(Refusal) as refusal:
            READERS[kept](str(path), **({"format": HOW[kind]} if kind in HOW else {}))
        assert str(refusal.value).replace(f"{tmp_path}/", "") == message


def test_relations_of_our_columns_may_be_a_list_or_parquet(tmp_path):
    lines = READ["relations by our columns, some of which can't be"]
    rows = [json.loads(line) for line in lines["content"].splitlines() if line]
    for content in (json.dumps(rows), parquet(pa.Table.from_pylist(rows))):
        assert READERS["relations.json"](str(written(tmp_path / "relations.json", content))) == lines["read"]


def test_a_line_of_a_log_that_is_nested_too_deeply_costs_itself_alone(file):
    read = _log(file(b'{"doc_id": 1}\n' + b"[" * 10**5 + b'\n{"doc_id": 3}\n', "log.jsonl"))
    assert read["values"] == {"doc_id": [1, 3]}
    assert [(reason, place[:6]) for _, reason, place, _ in read["left_out"]] == [("no JSON", "line 2")]


@pytest.mark.parametrize(
    ("columns", "only", "message"),
    [
        (["doc.race"], {}, "no column 'doc.race', which logs.item names; it has sentence, gender"),
        (["acc.x"], {}, "no column 'acc.x', which logs.item names; it has doc, acc"),
        (["acc"], {"task": "a"}, "no column 'task', which logs.only names"),
        (["acc"], {"filter": "a"}, "no line with filter 'a', which logs.only asks for"),
    ],
)
def test_columns_and_values_that_no_line_of_a_log_has_are_refused_with_their_setting(file, columns, only, message):
    line = '{"doc": {"sentence": "a", "gender": "female"}, "acc": 1.0, "filter": "none"}\n'
    with pytest.raises(InputError, match=message):
        _log(file(line, "log.jsonl"), columns, only)


# --- rules ----------------------------------------------------------------------------------------------------------

MASTER = """
taxonomy: [Relation]
rules:
  - import: grammars/kill.yml
    vars: {verb: "kill|murder", label: Kill}
  - name: here
    label: Located_In
    type: token
    pattern: "@subject: SUBJ_Location [word=/,/] @object: OBJ_Location"
"""
KILL = """
- name: ${label}_1
  label: ${label}
  priority: 3
  pattern: |
    trigger = [lemma=/${ verb }/]
    subject: SUBJ_Person = nsubj
"""


def test_a_grammar_reads_what_it_imports_from_beside_it(file):
    file(KILL, "kill.yml")
    first, second = read_rules(file(MASTER, "master.yml"))
    assert (first.rule_id, first.relation, first.language) == ("Kill_1", "Kill", "odin-dependency")
    assert first.pattern.splitlines()[0] == "trigger = [lemma=/kill|murder/]"
    assert (second.rule_id, second.language) == ("here", "odin-token")


def test_variables_that_name_each_other_end(file):
    file("- {name: a, label: b, pattern: '${x}'}", "g.yml")
    with pytest.raises(InputError, match="without an end"):
        read_rules(file("rules:\n- import: g.yml\n  vars: {x: '${y}${y}', y: '${x}'}", "m.yml"))


# --- what was left out: counted by reason, with the first place, and refused above a share --------------------------


def bad_lines(num, num_records, file="a.jsonl", kind="bad"):
    bad = BadRecords()
    bad.read(file, num_records)
    for line in range(1, num + 1):
        bad.add(file, "no JSON", f"line {line}", kind=kind)
    return bad


@pytest.mark.parametrize(
    ("bad", "share"),
    [
        (bad_lines(10, 10), 0.0),  # ten are always borne
        (bad_lines(11, 1100), 0.01),
        (bad_lines(400, 400, kind="empty"), 0.0),  # these are no bad records
        (bad_lines(400, 400, kind="kept"), 0.0),
    ],
)
def test_few_bad_records_and_those_that_are_not_bad_cost_no_file(bad, share):
    bad.merge(bad_lines(10, 10, "another.jsonl"))
    bad.check(share)


def test_more_than_ten_and_than_the_share_are_refused_with_file_share_limit_setting_and_first_places():
    bad = bad_lines(11, 1099)
    bad.add("a.jsonl", "no text", "line 70", num=2)
    message = (
        r"a.jsonl: 13 of 1,099 records are bad \(1.18%\), more than reading.max_bad_share=0.01 allows: no JSON \(11, "
        r"first at line 1\); no text \(2, first at line 70\); repair the file, or raise reading.max_bad_share"
    )
    with pytest.raises(InputError, match=message):
        bad.check(0.01)


def test_parts_of_a_file_are_added_up_and_the_first_place_stays():
    whole, rows = bad_lines(6, 100), bad_lines(5, 1000).rows()
    assert pickle.loads(pickle.dumps(whole)) == whole
    whole.check(0.0)
    later = BadRecords()
    later.read("a.jsonl", 1000)
    later.add_rows(json.loads(json.dumps(rows)))
    whole.merge(later)
    [row] = whole.rows()
    assert (row["num"], row["first"], whole.num_records) == (11, "line 1", {"a.jsonl": 1100})
    whole.check(0.01)


def test_a_file_that_is_looked_through_twice_counts_once():
    collect(bad_lines(3, 5))
    with collected() as bad:
        collect(bad_lines(3, 5))
        collect(bad_lines(2, 5, "b.jsonl"))
        collect(bad_lines(3, 5))
    assert {row["file"]: row["num"] for row in bad.rows()} == {"a.jsonl": 3, "b.jsonl": 2}
    assert bad.num_records == {"a.jsonl": 5, "b.jsonl": 5}
    assert left_out_sentences(bad.rows()) == ["5 records left out: no JSON; first in b.jsonl, line 1; 2 files"]
