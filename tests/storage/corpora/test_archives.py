"""Tar and zip: their members are files of a corpus."""

import gzip
import io
import json
import re
import tarfile
from pathlib import Path

import pytest

from tests.fixtures.corpora import PACKERS, pages, parquet, parts, source, tar, written, zipped
from tiltmeter.storage.corpora import packed
from tiltmeter.storage.corpora.corpora import Page, Pages
from tiltmeter.storage.errors import InputError

_FILES = {
    "b/lines.jsonl": b'{"id": 1, "text": "one"}\n{"id": \n',
    "a/docs": b'<doc id="2" title="T">\nT\ntwo\n</doc>\n',
    "text [1]?*%.txt.gz": gzip.compress(b"drei\nvier\n"),
    "table.parquet": parquet({"text": ["five"]}),
} | {"folder/": b"", "empty.txt": b"", ".hidden": b"no", "__MACOSX/x": b"no"}


def _tar(files: dict[str, bytes]) -> bytes:
    """With a link."""
    archive = io.BytesIO(tar(files))
    with tarfile.open(fileobj=archive, mode="a") as file:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)
    return archive.getvalue()


def _read(path: Path) -> list[Pages]:
    return parts(source(path), 1e-4)


@pytest.mark.parametrize(("archive", "pack"), [(zipped, bytes), *((_tar, pack) for pack in (bytes, *PACKERS.values()))])
def test_members_are_read_as_files(tmp_path, archive, pack):
    (tmp_path / "a.bin").write_bytes(pack(archive(_FILES)))
    [pages] = _read(tmp_path / "a.bin")
    read = list(pages)
    assert [page.text for page in read] == ["one", "two", "drei", "vier", "five"]
    ids = ("text [1]?*%.txt.gz@0", "text [1]?*%.txt.gz@5", "table.parquet#0")
    assert [page.id for page in read[2:]] == [f"a.bin/{name}" for name in ids]
    assert pages.bad.rows() == [
        {"file": f"{tmp_path}/a.bin/b/lines.jsonl", "reason": "no JSON object", "kind": "bad", "num": 1}
        | {"first": "line 2, column 7"}
    ]


def test_dumps_in_an_archive_keep_their_markup_and_are_not_among_other_files(tmp_path):
    page = b"<page><title>A</title><ns>0</ns><id>1</id><revision><text>a</text></revision></page>"
    dump = b"<mediawiki>" + page + b"</mediawiki>"
    (tmp_path / "a.zip").write_bytes(zipped({"a.xml": dump, "b.xml": dump.replace(b"<id>1", b"<id>2")}))
    assert source(tmp_path / "a.zip").markup == "wikitext"
    [pages] = _read(tmp_path / "a.zip")
    assert list(pages) == [Page("1", "A", "a", "article"), Page("2", "A", "a", "article")]
    (tmp_path / "a.zip").write_bytes(zipped({"a.xml": dump, "b.txt": b"text"}))
    with pytest.raises(InputError, match=r"a\.zip/b\.txt: has other markup"):
        [list(pages) for pages in _read(tmp_path / "a.zip")]


_NO_FORMAT = "none of its files is in a format that is read, the first is 'notes'"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_tar(_FILES)[:1000], "a.bin: the archive is damaged: unexpected end of data"),
        (gzip.compress(_tar(_FILES))[:-20], "a.bin: (the archive is damaged|cannot be read): .*break off"),
        (zipped(_FILES)[:-30], "a.bin: the archive is damaged: File is not a zip file"),
        (zipped(_FILES).replace(b"lines.", b"linet.", 1), "a.bin: the archive is damaged: File name in directory"),
        (zipped({"inner.zip": zipped(_FILES)}), "a.bin/inner.zip: is an archive within an archive"),
        (_tar({"notes": b"words"}), f"a.bin: {_NO_FORMAT}; .*corpus.format=text"),
        (zipped({"zeros.txt": bytes(2**22)}), "a.bin: cannot be read: .* unpack to .* over 250 times"),
    ],
)
def test_what_can_not_be_read_of_an_archive_is_said(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(packed, "_ALWAYS_ALLOWED", 2**20)
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(InputError, match=message):
        [list(pages) for pages in _read(tmp_path / "a.bin")]


def test_an_encrypted_member_is_refused(tmp_path):
    content = bytearray(zipped({"a.txt": b"text"}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match=r"a\.bin: 'a\.txt' in it is encrypted: unpack the archive yourself"):
        _read(written(tmp_path / "a.bin", bytes(content)))


def test_names_that_lead_out_of_an_archive_are_names_and_no_more(tmp_path):
    lines = json.dumps({"text": "inside"}).encode()
    (tmp_path / "a.bin").write_bytes(_tar({"../../etc/x.jsonl": lines, "/etc/passwd": lines}))
    [pages] = _read(tmp_path / "a.bin")
    assert [re.sub(r".*bin/", "", page.id) for page in pages] == ["../../etc/x.jsonl@0", "/etc/passwd@0"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("pack", [zipped, lambda files: gzip.compress(_tar(files))])
def test_files_of_other_formats_in_an_archive_are_left_out_and_counted(tmp_path, pack):
    lines = b'{"text": "one"}\n'
    (tmp_path / "a.bin").write_bytes(pack({"LICENSE": b"You may", "a.jsonl": lines, "x.bin": bytes(9)}))
    [pages] = _read(tmp_path / "a.bin")
    assert [page.text for page in pages] == ["one"]
    [left] = pages.bad.rows()
    assert (left["file"], left["kind"]) == (str(tmp_path / "a.bin"), "empty")
    assert (left["num"], left["first"]) == (2, "'LICENSE'")


def test_the_format_that_is_chosen_is_that_of_the_members(tmp_path):
    path = written(tmp_path / "a.tar", _tar({"notes": b"Some words.", "more": b"Others."}))
    assert [page.text for page in pages(path, format="text")] == ["Some words.", "Others."]
    with pytest.raises(InputError, match=_NO_FORMAT):
        source(path)
