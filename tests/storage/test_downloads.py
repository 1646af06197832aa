"""Copies of what web servers have: whole, made once for a version, and refused where they can't be checked."""

import bz2
import os
from pathlib import Path

import pytest

from tiltmeter.storage.corpora.corpora import CorpusConfig, downloaded, find_sources, read_pages, split
from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.files import downloads

_CONTENT = b"".join(b'{"text": "line %d"}\n' % number for number in range(50_000))


@pytest.fixture
def served(web_server, monkeypatch):
    """The web server, with one file of 1 MB and a small one; nobody waits before a new try."""
    monkeypatch.setattr("tiltmeter.storage.files.downloads._PAUSE_SECONDS", 0.01)
    (web_server.folder / "pages.jsonl").write_bytes(_CONTENT)
    (web_server.folder / "small.bz2").write_bytes(bz2.compress(b'{"text": "small"}'))
    return web_server


def _config(*urls: str) -> CorpusConfig:
    return CorpusConfig("sample", "en", urls, download=True)


def _copy(url: str, store: Path | str) -> Path:
    [path] = downloaded(_config(url), str(store)).path
    return Path(path)


@pytest.mark.parametrize("how", ["ranges", "whole", "bare", "breaking"])
def test_copies_are_whole_and_reused(served, tmp_path, how):
    copy = _copy(served.url(how, "pages.jsonl"), tmp_path / "store")
    assert copy.read_bytes() == _CONTENT
    assert copy.is_relative_to(tmp_path / "store/downloads")
    assert copy.name == "pages.jsonl"
    inode, num_requests = copy.stat().st_ino, len(served.ranges)
    assert _copy(served.url(how, "pages.jsonl"), tmp_path / "store") == copy
    assert copy.stat().st_ino == inode
    assert served.ranges[num_requests:] == ["bytes=0-0"]
    assert not list(tmp_path.rglob("*.partial"))


def test_a_copy_of_another_size_is_made_again(served, tmp_path):
    copy = _copy(served.url("ranges", "pages.jsonl"), tmp_path / "store")
    copy.write_bytes(_CONTENT[:-9])
    assert _copy(served.url("ranges", "pages.jsonl"), tmp_path / "store").read_bytes() == _CONTENT


def test_a_server_that_sends_more_than_it_announced_is_refused(served, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "_response", lambda *_: iter([(0, _CONTENT), (len(_CONTENT), b"x")]))
    with pytest.raises(InputError, match=r"the server sent more than the [\d,]+ bytes it announced"):
        _copy(served.url("ranges", "pages.jsonl"), tmp_path / "store")


def test_a_corpus_is_read_from_its_copies(served, tmp_path):
    config = _config(served.url("ranges", "pages.jsonl"), served.url("ranges", "small.bz2"))
    copies = downloaded(config, str(tmp_path / "store"))
    assert downloaded(copies, str(tmp_path / "store")) == copies
    sources = find_sources(copies)
    assert all(Path(source.uri).is_relative_to(tmp_path / "store") for source in sources)
    pages = [page for source in sources for span in split(source, 0.3) for page in read_pages(source, span)]
    assert len(pages) == 50_001
    plain = CorpusConfig("sample", "en", config.path)
    assert downloaded(plain, str(tmp_path / "store")) is plain


@pytest.mark.parametrize(
    ("how", "before", "asked"),
    [
        ("ranges", _CONTENT[:700_000], ["bytes=0-0", "bytes=700000-"]),
        ("whole", b"x" * 700_000, ["bytes=0-0", "bytes=700000-"]),
        ("whole", b"x" * 2_000_000, ["bytes=0-0", ""]),
    ],
)
def test_an_interrupted_copy_goes_on_where_it_stopped_unless_all_of_it_is_sent(served, tmp_path, how, before, asked):
    url = served.url(how, "pages.jsonl")
    copy = _copy(url, tmp_path / "store")
    copy.unlink()
    partial = copy.with_name("pages.jsonl.partial")
    partial.write_bytes(before)
    served.ranges.clear()
    assert _copy(url, tmp_path / "store").read_bytes() == _CONTENT
    assert served.ranges == asked
    assert not partial.exists()


def test_a_new_version_gets_a_copy_of_its_own(served, tmp_path):
    url = served.url("ranges", "pages.jsonl")
    old = _copy(url, tmp_path)
    (served.folder / "pages.jsonl").write_bytes(_CONTENT[::-1])
    os.utime(served.folder / "pages.jsonl", ns=(10**18, 10**18))
    assert _copy(url, tmp_path).read_bytes() == _CONTENT[::-1]
    assert old.read_bytes() == _CONTENT


@pytest.mark.parametrize(
    ("how", "name", "message"),
    [
        ("hopeless", "pages.jsonl", r"hopeless/pages.jsonl: cannot be downloaded: "),
        ("unsized", "pages.jsonl", r"announces no size by which to check a copy"),
        ("ranges", "nothing", r"there is no such file \(status 404\)"),
    ],
)
def test_what_cannot_be_copied_is_refused_and_nothing_shows(served, tmp_path, how, name, message):
    with pytest.raises(InputError, match=message):
        _copy(served.url(how, name), tmp_path / "store")
    assert all(path.name.endswith((".partial", ".lock")) for path in (tmp_path / "store").rglob("*.*"))


def test_a_store_that_cannot_be_written_is_named(served, tmp_path):
    (tmp_path / "store").touch()
    with pytest.raises(StorageError, match=r"cannot write .*store/downloads.* choose another place with store="):
        _copy(served.url("ranges", "pages.jsonl"), tmp_path / "store")


def test_copies_in_an_object_store(served, s3_bucket):
    config = _config(served.url("breaking", "pages.jsonl"))
    copies = downloaded(config, s3_bucket.uri("store"))
    [source] = find_sources(copies)
    assert source.num_bytes == len(_CONTENT)
    assert sum(1 for span in split(source, 0.4) for _ in read_pages(source, span)) == 50_000
    num_requests = len(served.ranges)
    assert downloaded(config, s3_bucket.uri("store")) == copies
    assert served.ranges[num_requests:] == ["bytes=0-0"]
    with pytest.raises(InputError, match=r"connection broke at byte .* run again, or choose a local store"):
        downloaded(_config(served.url("hopeless", "pages.jsonl")), s3_bucket.uri("other"))
    listed = s3_bucket.client.list_objects_v2(Bucket="tilt", Prefix="other/")
    assert not any(entry["Size"] for entry in listed.get("Contents", []))
