"""Formats other than MediaWiki's: what each gives, in any wrapping, and what each refuses."""

import bz2
import gzip
import json
import lzma
import tempfile
import tracemalloc
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather

from tests.fixtures.corpora import PACKERS, pages, parquet, parts, source, written, zstd
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.corpora import Page, split
from tiltmeter.storage.errors import InputError

_RECORDS = [{"id": "1", "text": "a"}, {"id": "2", "text": 'b, [{"}]'}]
_JSON = (
    st.none() | st.booleans() | st.floats() | st.text('a \n{}[],"\\', max_size=5) | st.lists(st.integers(), max_size=2)
)
_KEYS = st.sampled_from(["id", "text", "title", "other"])

_LINES = b'{"id": "7", "title": "One", "text": "first"}\n\n{"pageid": 9, "text": "second"}\n'


@pytest.mark.parametrize(("num_read", "num_pages"), [(1000, 1000), pytest.param(None, 24_474, marks=pytest.mark.slow)])
def test_json_lines_from_shared_data(data_file, num_read, num_pages):
    found = source(data_file("corpora/en/simplewiki.jsonl.bz2"))
    first, *others = islice(parts(found)[0], num_read)
    assert (found.format, found.markup) == ("jsonl", "plain")
    assert len({page.id for page in (first, *others)}) == num_pages
    assert first[:2] == ("1", "April")
    assert first.text.startswith("April is the fourth month of the year")


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_json_lines_in_any_wrapping(tmp_path, pack, encoding):
    path = written(tmp_path / "misleading.xml", pack(_LINES.decode().encode(encoding)))
    assert pages(path) == [Page("7", "One", "first", "article"), Page("9", "", "second", "article")]


@pytest.mark.parametrize("pack", PACKERS.values())
def test_concatenated_streams_are_read_to_their_end(tmp_path, pack):
    path = written(tmp_path / "corpus", b"".join(pack(line + b"\n") for line in (b"", *_LINES.splitlines(), b"")))
    assert [page.id for page in pages(path)] == ["7", "9"]


def test_invalid_bytes_of_parquet_are_replaced_and_counted(tmp_path):
    content = parquet({"text": pa.array([b"a\xffb"]).view(pa.string())})
    [part] = parts(source(written(tmp_path / "corpus", content)))
    assert ([page.text for page in part], part.num_replaced) == (["a\ufffdb"], 1)


def _left_out(path: Path, **choices: str) -> tuple[list[str], list[tuple[object, ...]], int]:
    """Ids of the pages that are read, what is left out, and the records of which that is a share."""
    bad, ids = BadRecords(), []
    for part in parts(source(path, **choices)):
        ids += [page.id for page in part]
        bad.merge(part.bad)
    assert {row["file"] for row in bad.rows()} <= {str(path)}
    rows = [(row["num"], row["reason"], row["first"], row["kind"]) for row in bad.rows()]
    return ids, rows, sum(bad.num_records.values())


def test_lines_of_a_later_span_are_called_by_their_byte(tmp_path):
    lines = '{"text": "a"}\n' * 10 + "{\n" + '{"text": "b"}\n' * 10
    read = parts(source(written(tmp_path / "corpus", lines)), 5e-5)
    assert all([*part] for part in read)
    left_out = [row for part in read for row in part.bad.rows()]
    assert [(row["num"], row["first"]) for row in left_out] == [(1, "line at byte 140, column 2")]


@pytest.mark.parametrize("content", [json.dumps(_RECORDS), json.dumps(_RECORDS, indent=2), "[]"])
def test_an_array_of_objects_is_read_as_its_items(tmp_path, content):
    path = written(tmp_path / "corpus", f"\ufeff {content}\n".encode())
    assert len(split(source(path), 1e-6)) == 1, "an array is read from its beginning"
    expected = [] if content == "[]" else _RECORDS
    assert [(page.id, page.text) for page in pages(path)] == [(item["id"], item["text"]) for item in expected]


@given(st.lists(st.dictionaries(_KEYS, _JSON, max_size=4), max_size=8), st.sampled_from([None, 0, 2]))
def test_an_array_gives_what_its_items_give_as_lines(records, indent):
    with tempfile.TemporaryDirectory() as folder:
        lines = written(Path(folder, "a.jsonl"), "".join(f"{json.dumps(record)}\n" for record in records) + "{}\n")
        array = written(Path(folder, "a"), json.dumps([*records, {}], indent=indent))
        one, other = _left_out(lines, format="jsonl"), _left_out(array, format="json")
    assert [row[:2] for row in one[1]] == [row[:2] for row in other[1]]
    assert (len(one[0]), one[2]) == (len(other[0]), other[2])


@pytest.mark.parametrize(
    "broken", ['{"id": 2, "text": }', '{"id": 2, "text": "b}', '{"a": [[[[[}', "[" * 100_000 + "}", "7"]
)
@pytest.mark.parametrize("separator", [",\n", ", "])
def test_a_broken_item_of_an_array_costs_itself(tmp_path, broken, separator):
    others = [json.dumps({"id": number, "text": "x" * 50_000}) for number in range(3, 9)]
    items = ['{"id": 1, "text": "a"}', broken, *others]
    ids, rows, _ = _left_out(written(tmp_path / "corpus", f"[{separator.join(items)}]"))
    assert {*map(str, range(1, 9))} - {"2", "3"} <= set(ids)
    assert rows == [(1, "no JSON object", f"line {2 if separator[1] == chr(10) else 1}, item 1", "bad")]


_DOC_THAT_BREAKS_OFF = b'<doc id="1">\na\n</doc>\n<doc id="2">\nb\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bz2.compress(_LINES)[:-5], "cannot be read on from byte 92 of the compressed file: .* break off"),
        (bz2.compress(_LINES) + b"junk", "cannot be read on from byte"),
        (gzip.compress(_LINES, mtime=0)[:-5], "cannot be read on from byte"),
        (gzip.compress(_LINES, mtime=0)[:15] + b"\xff" * 30, "cannot be read on from byte"),
        (lzma.compress(_LINES)[:-5], "cannot be read on from byte"),
        (lzma.compress(_LINES) + b"junk", "cannot be read on from byte"),
        (lzma.compress(_LINES)[:40] + b"\xff" * 30, "cannot be read on from byte .*xz"),
        (zstd(_LINES)[:-5], "cannot be read on from byte"),
        (zstd(_LINES * 100) + zstd(_LINES)[:-5], "cannot be read on from byte .*Truncated"),
        (b"BZh9" + b"\0" * 40, "cannot be read on from byte"),
        (_DOC_THAT_BREAKS_OFF, "line at byte 22: the file breaks off within this <doc>"),
    ],
)
def test_damaged_lines_and_documents_are_refused(tmp_path, content, message):
    path = written(tmp_path / "corpus", content)
    with pytest.raises(InputError, match=message) as refusal:
        pages(path, format="auto" if content is _DOC_THAT_BREAKS_OFF else "jsonl")
    assert str(path) in str(refusal.value)


@pytest.mark.slow
def test_a_real_wikiextractor_file_with_misplaced_ends(data_file):
    """Three documents hold markup whose repair moved their ends behind later documents."""
    read = pages(data_file("corpora/ar/arwiki.docs.txt.bz2"))
    assert len(read) == 3834
    assert not any(page.text.startswith(f"{page.title}\n") or "<doc " in page.text for page in read)


def test_parquet_with_and_without_ids(tmp_path):
    texts = pa.array(["a\nb", "ü", "é"])
    path = written(tmp_path / "corpus", parquet({"text": texts.dictionary_encode(), "id": [3, 1, 2], "url": texts}))
    assert pages(path) == [Page(*row, "article") for row in (("3", "", "a\nb"), ("1", "", "ü"), ("2", "", "é"))]
    columns = {"text": texts.cast(pa.large_string()), "title": texts}
    divided = parts(source(written(path, parquet(columns, row_group_size=2))), 1e-6)
    assert [[*part] for part in divided] == [
        [Page("corpus#0", "a\nb", "a\nb", "article"), Page("corpus#1", "ü", "ü", "article")],
        [Page("corpus#2", "é", "é", "article")],
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (parquet({"body": ["a"]}), r"has no column 'text'; its columns are \['body'\]"),
        (parquet({"text": [1]}), "column 'text' must hold strings, but is of type int64"),
        (parquet({"text": [["a"]]}), "column 'text' must hold strings, but is of type list"),
        (parquet({"text": ["a"], "id": [True]}), "column 'id' must hold strings, but is of type bool"),
        (parquet({"text": ["a" * 1000] * 100})[:-20], "corpus: cannot be read: .*Parquet"),
    ],
    ids=["column", "number", "list", "id", "cut"],
)
def test_parquet_that_is_not_read_is_refused(tmp_path, content, message):
    """What its columns are before anything is read."""
    path = written(tmp_path / "corpus", content)
    with pytest.raises(InputError, match=message):
        [*parts(source(path))[0]] if "cannot be read" in message else source(path)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()])
@pytest.mark.parametrize("is_dictionary", [False, True])
def test_text_of_every_type_is_read_and_rows_without_it_are_left_out(tmp_path, kind, is_dictionary):
    texts = pa.array(["ä", None, "b", " "]).cast(kind)
    if is_dictionary:
        texts = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 2], pa.uint32()), pa.array(["ä", "b", " "], kind))
    table = pa.table({"text": texts, "id": pa.array([7.0, 8.0, None, 9.0]), "title": pa.nulls(4)})
    writers = {"p": pq.write_table, "f": feather.write_feather, "s": _write_stream}
    if is_dictionary and "view" in str(kind):
        del writers["p"]
    for name, write in writers.items():
        write(table, tmp_path / name)
        ids, rows, num_records = _left_out(tmp_path / name)
        assert ids == ["7", f"{name}#2"]
        counts = [(4, "no title", "row 0", "kept"), (2, "no text", "row 1", "empty"), (1, "no id", "row 2", "kept")]
        assert rows == counts
        assert num_records == 4


def _write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def test_memory_stays_flat(tmp_path):
    text = json.dumps({"text": "word " * 10_000}).encode() + b"\n"
    [part] = parts(source(written(tmp_path / "corpus", bz2.compress(text * 100))))
    tracemalloc.start()
    assert sum(len(page.text) for page in part) == 5_000_000
    assert tracemalloc.get_traced_memory()[1] < 2e6
    tracemalloc.stop()
