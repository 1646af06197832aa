"""Tar and zip: their members are files of a corpus."""

import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tiltmeter.storage.corpora import packed
from tiltmeter.storage.corpora.corpora import CorpusConfig, Page, Pages, Span, find_sources, read_pages, split
from tiltmeter.storage.errors import InputError


def _parquet(text: str) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": [text]}), sink)
    return sink.getvalue()


_FILES = {
    "b/lines.jsonl": b'{"id": 1, "text": "one"}\n{"id": \n',
    "a/docs": b'<doc id="2" title="T">\nT\ntwo\n</doc>\n',
    "text [1]?*%.txt.gz": gzip.compress(b"drei\nvier\n"),
    "table.parquet": _parquet("five"),
    "empty.txt": b"",
    ".hidden": b"no",
    "__MACOSX/x": b"no",
}
_TEXTS = ["one", "two", "drei", "vier", "five"]


def _tar(files: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as file:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)
    return archive.getvalue()


def _zip(files: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
        file.mkdir("folder")
    return archive.getvalue()


def _zstd(content: bytes) -> bytes:
    return pa.compress(content, "zstd", asbytes=True)


def _read(path: Path) -> list[Pages]:
    [source] = find_sources(CorpusConfig("sample", "en", str(path)))
    return [read_pages(source, span) for span in split(source, 1e-4)]


@pytest.mark.parametrize(
    ("archive", "pack"),
    [(_zip, bytes), *((_tar, pack) for pack in (bytes, gzip.compress, bz2.compress, lzma.compress, _zstd))],
)
def test_members_are_read_as_files(tmp_path, archive, pack):
    (tmp_path / "a.bin").write_bytes(pack(archive(_FILES)))
    [pages] = _read(tmp_path / "a.bin")
    read = list(pages)
    assert [page.text for page in read] == _TEXTS
    assert [page.id for page in read[2:]] == [
        "a.bin/text [1]?*%.txt.gz@0",
        "a.bin/text [1]?*%.txt.gz@5",
        "a.bin/table.parquet#0",
    ]
    assert pages.bad.rows() == [
        {"file": f"{tmp_path}/a.bin/b/lines.jsonl", "reason": "no JSON object", "kind": "bad", "num": 1}
        | {"first": "line 2, column 7"}
    ]


def test_dumps_in_an_archive_keep_their_markup_and_are_not_among_other_files(tmp_path):
    dump = (
        b"<mediawiki><page><title>A</title><ns>0</ns><id>1</id><revision><text>a</text></revision></page></mediawiki>"
    )
    (tmp_path / "a.zip").write_bytes(_zip({"a.xml": dump, "b.xml": dump.replace(b"<id>1", b"<id>2")}))
    [source] = find_sources(CorpusConfig("sample", "en", str(tmp_path / "a.zip")))
    assert source.markup == "wikitext"
    [pages] = _read(tmp_path / "a.zip")
    assert list(pages) == [Page("1", "A", "a", "article"), Page("2", "A", "a", "article")]
    (tmp_path / "a.zip").write_bytes(_zip({"a.xml": dump, "b.txt": b"text"}))
    with pytest.raises(InputError, match=r"a\.zip/b\.txt: has other markup"):
        [list(pages) for pages in _read(tmp_path / "a.zip")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_tar(_FILES)[:1000], "a.bin: the archive is damaged: unexpected end of data"),
        (gzip.compress(_tar(_FILES))[:-20], "a.bin: (the archive is damaged|cannot be read): .*break off"),
        (_zip(_FILES)[:-30], "a.bin: the archive is damaged: File is not a zip file"),
        (
            _zip(_FILES).replace(b"lines.jsonl", b"lines.jsonx", 1),
            "a.bin: the archive is damaged: File name in directory",
        ),
        (_zip({"inner.zip": _zip(_FILES)}), "a.bin/inner.zip: is an archive within an archive"),
        (
            _tar({"notes": b"words"}),
            "a.bin: none of its files is in a format that is read, the first is 'notes'; .*corpus.format=text",
        ),
        (_zip({"zeros.txt": bytes(2**22)}), "a.bin: cannot be read: .* unpack to .* over 250 times"),
    ],
)
def test_what_can_not_be_read_of_an_archive_is_said(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(packed, "_ALWAYS_ALLOWED", 2**20)
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(InputError, match=message):
        [list(pages) for pages in _read(tmp_path / "a.bin")]


def test_an_encrypted_member_is_refused(tmp_path):
    content = bytearray(_zip({"a.txt": b"text"}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.bin: 'a\.txt' in it is encrypted: unpack the archive yourself"):
        _read(tmp_path / "a.bin")


def test_names_that_lead_out_of_an_archive_are_names_and_no_more(tmp_path):
    lines = json.dumps({"text": "inside"}).encode()
    (tmp_path / "a.bin").write_bytes(_tar({"../../etc/x.jsonl": lines, "/etc/passwd": lines}))
    [pages] = _read(tmp_path / "a.bin")
    assert [re.sub(r".*bin/", "", page.id) for page in pages] == ["../../etc/x.jsonl@0", "/etc/passwd@0"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("how", ["ranges", "whole"])
@pytest.mark.parametrize("archive", [_tar, _zip])
def test_archives_behind_a_web_server(web_server, archive, how):
    (web_server.folder / "a.bin").write_bytes(archive(_FILES))
    config = CorpusConfig("sample", "en", web_server.url(how, "a.bin"))
    if how == "whole" and archive is _zip:
        with pytest.raises(InputError, match=r"does not send parts of a file: set corpus.download=true"):
            find_sources(config)
    else:
        [source] = find_sources(config)
        assert [page.text for page in read_pages(source, Span(0, source.num_bytes))] == _TEXTS


@pytest.mark.parametrize("packed_as", [_zip, lambda files: gzip.compress(_tar(files))])
def test_files_of_other_formats_in_an_archive_are_left_out_and_counted(tmp_path, packed_as):
    lines = b'{"text": "one"}\n'
    (tmp_path / "a.bin").write_bytes(packed_as({"LICENSE": b"You may", "a.jsonl": lines, "x.bin": bytes(9)}))
    [pages] = _read(tmp_path / "a.bin")
    assert [page.text for page in pages] == ["one"]
    [left] = pages.bad.rows()
    assert (left["file"], left["kind"]) == (str(tmp_path / "a.bin"), "empty")
    assert (left["num"], left["first"]) == (2, "'LICENSE'")


def test_the_format_that_is_chosen_is_that_of_the_members(tmp_path):
    (tmp_path / "a.tar").write_bytes(_tar({"notes": b"Some words.", "more": b"Others."}))
    [source] = find_sources(CorpusConfig("a", "en", str(tmp_path / "a.tar"), "text"))
    [pages] = [read_pages(source, span) for span in split(source, 64.0)]
    assert [page.text for page in pages] == ["Some words.", "Others."]
    with pytest.raises(InputError, match="none of its files is in a format that is read, the first is 'notes'"):
        find_sources(CorpusConfig("a", "en", str(tmp_path / "a.tar")))
