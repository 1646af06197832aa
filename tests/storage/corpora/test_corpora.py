"""Formats other than MediaWiki's: what each gives, in any wrapping, and what each refuses."""

import bz2
import gzip
import json
import tracemalloc
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tiltmeter.storage.corpora.corpora import CorpusConfig, Page, Source, find_sources, read_pages, split
from tiltmeter.storage.errors import InputError

_LINES = b'{"id": "7", "title": "One", "text": "first"}\n\n{"pageid": 9, "text": "second"}\n'


def _zstd(content: bytes) -> bytes:
    return pa.compress(content, "zstd", asbytes=True)


def _source(path: Path, **choices: str) -> Source:
    [source] = find_sources(CorpusConfig("sample", "en", str(path), **choices))
    return source


def _pages(path: Path, **choices: str) -> list[Page]:
    source = _source(path, **choices)
    return [page for span in split(source, 1000) for page in read_pages(source, span)]


def _written(folder: Path, content: bytes | str, name: str = "corpus") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(("num_read", "num_pages"), [(1000, 1000), pytest.param(None, 36_034, marks=pytest.mark.slow)])
def test_json_lines_from_shared_data(data_file, num_read, num_pages):
    source = _source(data_file("corpora/en/simplewiki.jsonl.bz2"))
    pages = list(islice(read_pages(source, split(source, 1000)[0]), num_read))
    assert (source.format, source.markup) == ("jsonl", "plain")
    assert len({page.id for page in pages}) == num_pages
    assert pages[0][:2] == ("1", "April")
    assert pages[0].text.startswith("April is the fourth month of the year")


@pytest.mark.parametrize("pack", [bytes, bz2.compress, gzip.compress, _zstd])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_json_lines_in_any_wrapping(tmp_path, pack, encoding):
    path = _written(tmp_path, pack(_LINES.decode().encode(encoding)), "misleading.xml")
    assert _pages(path) == [Page("7", "One", "first", "article"), Page("9", "", "second", "article")]


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, _zstd])
def test_concatenated_streams_are_read_to_their_end(tmp_path, pack):
    path = _written(tmp_path, b"".join(pack(line + b"\n") for line in (b"", *_LINES.splitlines(), b"")))
    assert [page.id for page in _pages(path)] == ["7", "9"]


def test_place_is_the_id_where_there_is_none(tmp_path):
    path = _written(tmp_path, '{"text": "ä"}\n\n{"text": "b"}\n')
    assert [(page.id, page.text) for page in _pages(path)] == [("corpus@0", "ä"), ("corpus@16", "b")]


def test_invalid_bytes_are_replaced_and_counted(tmp_path):
    source = _source(_written(tmp_path, b'{"text": "a\xff\xfeb"}\n{"text": "\xef\xbf\xbd\xe6\x97"}\n'))
    pages = read_pages(source, split(source, 1)[0])
    assert [page.text for page in pages] == ["a\ufffd\ufffdb", "\ufffd\ufffd"]
    assert pages.num_replaced == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1, "text": "a"}\n{"id": 2}\n', r"line at byte 23: 'text' must be text, but is None; .* \['id'\]"),
        ('{"text": 5}', "line at byte 0: 'text' must be text, but is 5"),
        ('{"text": "a", "title": 5}', "'title' must be text"),
        ('{"text": "a", "id": 1.5}', "its id 1.5 is neither"),
        ('{"text": "a", "id": true}', "its id True is neither"),
        ('{"text": "\\ud800"}', "'text' holds half a surrogate pair"),
        ('{"text": "a"}\n{"text": ', "line at byte 14 is not JSON"),
        ('{"text": "a"}\n["b"]', "line at byte 14 holds a JSON list"),
        ("[" * 100_000, "is not JSON"),
        (bz2.compress(b"\n[]"), r"line at byte 1 when unpacked \(before byte 40 of the compressed file\) holds"),
        (bz2.compress(_LINES)[:-5], "cannot be read on from byte 92 of the compressed file: .* break off"),
        (bz2.compress(_LINES) + b"junk", "cannot be read on from byte"),
        (gzip.compress(_LINES, mtime=0)[:-5], "cannot be read on from byte"),
        (gzip.compress(_LINES, mtime=0)[:15] + b"\xff" * 30, "cannot be read on from byte"),
        (_zstd(_LINES)[:-5], "cannot be read on from byte"),
        (_zstd(_LINES * 100) + _zstd(_LINES)[:-5], "cannot be read on from byte .*Truncated"),
        (b"BZh9" + b"\0" * 40, "cannot be read on from byte"),
    ],
)
def test_damaged_json_lines_are_refused(tmp_path, content, message):
    path = _written(tmp_path, content)
    with pytest.raises(InputError, match=message) as refusal:
        _pages(path, format="jsonl")
    assert str(path) in str(refusal.value)


def test_plain_text_has_a_document_per_line(tmp_path):
    path = _written(tmp_path, "eins \r\n\n \t\nzwei, ü\ndrei")
    assert _pages(path, format="text") == [
        Page("corpus@0", "", "eins ", "article"),
        Page("corpus@11", "", "zwei, ü", "article"),
        Page("corpus@20", "", "drei", "article"),
    ]


def test_wikiextractor_documents(tmp_path):
    path = _written(
        tmp_path,
        '<doc id="12" url="https://x?a=1&amp;b" title="The "A" &amp; B">\nThe "A" &amp; B\n\nText &lt;b.\n\n</doc>\n\n'
        '<doc title="Ω=" url="" id="&#55;">\r\nnot the title\r\n</div></doc>\n'
        '<doc id="9"></ref></doc>\n<doc id="10" title="">\n</doc>\n'.replace('"9"></ref>', '"9">\n</ref>'),
    )
    assert _pages(path) == [
        Page("12", 'The "A" & B', "\nText <b.\n", "article"),
        Page("7", "Ω=", "not the title\r\n</div>", "article"),
        Page("9", "", "</ref>", "article"),
        Page("10", "", "", "article"),
    ]


@pytest.mark.slow
def test_a_real_wikiextractor_file_with_misplaced_ends(data_file):
    """Three documents hold markup whose repair moved their ends behind later documents."""
    pages = _pages(data_file("corpora/ar/arwiki.docs.txt.bz2"))
    assert len(pages) == 3834
    assert not any(page.text.startswith(f"{page.title}\n") or "<doc " in page.text for page in pages)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<doc id="1">\na\n</doc>\nb\n', r"line at byte 22 is in no <doc>: it begins with 'b'"),
        ('<doc id="1">\na\n</doc>\n<doc id="2">\nb\n', r"line at byte 22: the file breaks off within this <doc>"),
        ('<doc title="x">\na\n</doc>', r"line at byte 0: this <doc> has no id"),
    ],
)
def test_damaged_wikiextractor_files_are_refused(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        _pages(_written(tmp_path, content))


def _parquet(folder: Path, **columns: pa.Array) -> Path:
    pq.write_table(pa.table(columns), folder / "corpus", row_group_size=2)
    return folder / "corpus"


def test_parquet_with_and_without_ids(tmp_path):
    texts = pa.array(["a\nb", "ü", ""])
    path = _parquet(tmp_path, text=texts.dictionary_encode(), id=pa.array([3, 1, 2]), url=texts)
    assert _pages(path) == [
        Page("3", "", "a\nb", "article"),
        Page("1", "", "ü", "article"),
        Page("2", "", "", "article"),
    ]
    source = _source(_parquet(tmp_path, text=texts.cast(pa.large_string()), title=texts))
    parts = [list(read_pages(source, span)) for span in split(source, 1e-6)]
    assert parts == [
        [Page("corpus#0", "a\nb", "a\nb", "article"), Page("corpus#1", "ü", "ü", "article")],
        [Page("corpus#2", "", "", "article")],
    ]


def test_invalid_bytes_in_parquet_are_replaced_and_counted(tmp_path):
    invalid = pa.array([b"a\xffb"]).view(pa.string())
    source = _source(_parquet(tmp_path, text=invalid))
    pages = read_pages(source, split(source, 1)[0])
    assert [page.text for page in pages] == ["a\ufffdb"]
    assert pages.num_replaced == 1


def test_parquet_that_is_not_read_is_refused(tmp_path):
    for columns, message in (
        ({"body": pa.array(["a"])}, r"has no column 'text'; its columns are \['body'\]"),
        ({"text": pa.array([1])}, "column 'text' must hold strings, but is of type int64"),
        ({"text": pa.array(["a"]), "id": pa.array([1.5])}, "column 'id' must hold strings, but is of type double"),
        ({"text": pa.array(["a", "b", None])}, "corpus: row 2 has no text"),
    ):
        with pytest.raises(InputError, match=message):
            _pages(_parquet(tmp_path, **columns))
    path = _parquet(tmp_path, text=pa.array(["a" * 1000] * 100))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"corpus: cannot be read: .*Parquet"):
        _pages(path)


@pytest.mark.parametrize("how", ["ranges", "whole"])
def test_parquet_behind_a_web_server(web_server, how):
    _parquet(web_server.folder, text=pa.array(["a", "b", "c"]))
    [source] = find_sources(CorpusConfig("sample", "en", web_server.url(how, "corpus")))
    if how == "whole":
        with pytest.raises(InputError, match=r"does not send parts of a file: set corpus.download=true"):
            split(source, 1)
    else:
        assert [page.id for span in split(source, 1e-6) for page in read_pages(source, span)][1:] == [
            "corpus#1",
            "corpus#2",
        ]


def test_memory_stays_flat(tmp_path):
    text = json.dumps({"text": "word " * 10_000}).encode() + b"\n"
    source = _source(_written(tmp_path, bz2.compress(text * 100)))
    pages = read_pages(source, split(source, 1)[0])
    tracemalloc.start()
    assert sum(len(page.text) for page in pages) == 5_000_000
    assert tracemalloc.get_traced_memory()[1] < 2e6
    tracemalloc.stop()
