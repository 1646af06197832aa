"""Files of corpora: which a path names, what each is, and which are refused."""

import bz2
import gzip
import json
import lzma
import os
import traceback
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest

from tests.fixtures.corpora import pages, parquet, parts, tar, written, zipped
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.corpora.corpora import CorpusConfig, Source, check_any_readable, find_sources, split
from tiltmeter.storage.corpora.sources import find_file
from tiltmeter.storage.errors import InputError

_LINES = '{"id": "7", "text": "first"}\n{"id": "8", "text": "second"}\n'
_INDEX = "616:10:AccessibleComputing\n616:12:Anarchism\n"
_PROSE = "Some prose.\n"


def _sources(*paths: Path | str, **choices: str) -> list[Source]:
    return find_sources(CorpusConfig("sample", "en", tuple(map(str, paths)), **choices))


def _ids(sources: list[Source], span_megabytes: float = 100) -> list[str]:
    return [page.id for found in sources for part in parts(found, span_megabytes) for page in part]


@pytest.fixture
def folder(tmp_path):
    """``part-1`` and ``part-2`` in a folder, ``b/wiki_00`` and ``b/wiki_01.bz2`` below it, and hidden files."""
    root = tmp_path / "corpus"
    (root / "b").mkdir(parents=True)
    names = ["part-2", "part-1", "b/wiki_00", "b/wiki_01.bz2"]
    for number, name in enumerate(names):
        content = json.dumps({"id": number, "text": name}).encode()
        (root / name).write_bytes(bz2.compress(content) if name.endswith("bz2") else content)
    (root / "_SUCCESS").write_text(_PROSE)
    (root / ".DS_Store").write_text(_PROSE)
    return root


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["part-2", "part-1"], ["part-2", "part-1"]),
        (["**/wiki_*"], ["wiki_00", "wiki_01.bz2"]),
        (["b/wiki_*", "p*1"], ["b/wiki_00", "b/wiki_01.bz2", "part-1"]),
        (["b", "p*"], ["b/wiki_00", "b/wiki_01.bz2", "part-1", "part-2"]),
        ([""], ["b/wiki_00", "b/wiki_01.bz2", "part-1", "part-2"]),
    ],
)
def test_paths_wildcards_and_folders_without_their_hidden_files(folder, paths, names):
    """As test_filesystems.py has it of one path; one that is named is read, or refused."""
    sources = _sources(*(f"{folder}/{path}" for path in paths))
    assert [source.name for source in sources] == names
    assert all(source.num_bytes == os.stat(source.uri).st_size for source in sources)
    with pytest.raises(InputError, match=r"DS_Store: neither"):
        _sources(folder / ".DS*")


def test_sources_are_absolute_and_the_same_in_every_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    uri = str(folder / "part-1")
    assert _sources("part-1") == _sources("~/part-1") == _sources(uri) == _sources(f"file://{uri}")
    assert _sources("part-1")[0].uri == uri
    assert [source.uri for source in _sources("*-1")] == [uri]


def test_a_file_that_was_written_again_is_another(folder):
    path, states = folder / "part-1", []
    for moment in (10, 20):
        os.utime(path, (moment, moment))
        states.append((find_file(str(path), "corpus.path").identity, _sources(path)[0].version))
    assert len({json.dumps(identity) for identity, _ in states}) == len({version for _, version in states}) == 2


def test_indexes_of_multistream_dumps_hold_no_pages(folder):
    (folder / "index.txt.bz2").write_bytes(bz2.compress(_INDEX.encode()))
    assert len(_sources(folder)) == 4
    with pytest.raises(InputError, match=r"index.txt.bz2: is the index of a multistream dump; name the dump"):
        _sources(folder / "index.txt.bz2")
    with pytest.raises(InputError, match="only empty files and indexes of dumps"):
        _sources(folder / "index*")
    assert _ids(_sources(folder / "index.txt.bz2", format="text"))[1] == "index.txt.bz2@27"


_NO_PLACES = ("gensim", "gensim/../numpy/version.py", "gensim/../os.py", "../gensim/x", "a.b/c", "/gensim/x")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/dump.xml", r"corpus.path=nowhere/dump.xml: there is no file /.*nowhere/dump.xml; set corpus.path"),
        ("nowhere/*.xml", r"corpus.path=nowhere/\*.xml: no file matches /.*nowhere/\*.xml; set corpus.path"),
        ("package://gensim/nothing.xml", "corpus.path=package://gensim/nothing.xml: there is no file"),
        ("package://no_such_package/a.xml", "no package 'no_such_package' is installed"),
        ("package://bisect/a.xml", "no package 'bisect' is installed"),
        *((f"package://{place}", "must read package://<package>/<file inside it>") for place in _NO_PLACES),
        ("klingon://dump.xml", "klingon://dump.xml: neither a path nor a URI of a known file system"),
        ("http://127.0.0.1:9/dump.xml", "127.0.0.1:9/dump.xml: the server cannot be reached"),
        ("http://127.0.0.1:9/*.xml", "a web server can't be searched; name each file"),
    ],
)
def test_paths_that_name_no_file_are_refused(path, message):
    with pytest.raises(InputError, match=message):
        _sources(path)


def test_empty_folders_and_repeated_files_are_refused(folder):
    (folder / "hollow").mkdir()
    with pytest.raises(InputError, match="hollow: there is no file"):
        _sources(folder / "hollow")
    with pytest.raises(InputError, match="2 files are called 'part-1'"):
        _sources(folder / "part-1", folder / "part-*")


def test_one_file_by_two_names_is_read_once_or_refused(folder):
    expected = _sources(folder)
    (folder / "b/back").symlink_to("..")
    (folder / "a-link").symlink_to("part-1")
    os.link(folder / "part-2", folder / "z-link")
    assert _sources(folder) == expected
    for link, other in (("a-link", "part-1"), ("z-link", "part-2")):
        with pytest.raises(InputError, match=rf"{other} and \S+{link} are one file; name it once"):
            _sources(folder / other, folder / link)


_MUCH_PROSE = "".join(f"{number} words of prose.\n" for number in range(3000)).encode()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize(
    "content",
    [
        parquet({"text": ["words of prose"] * 100}),
        gzip.compress(gzip.compress(_MUCH_PROSE)),
        gzip.compress(zipped({"a.txt": _MUCH_PROSE})),
    ],
    ids=["parquet", "packed twice", "packed zip"],
)
def test_what_is_no_plain_text_is_not_read_as_such(tmp_path, content, pack):
    (tmp_path / "good.txt").write_bytes(_MUCH_PROSE)
    for name, chosen in (("corpus", "text"), ("corpus.txt", "auto")):
        if name == "corpus.txt" and pack is bytes and content.startswith(b"PAR1"):
            continue  # which is read as what it is
        path = written(tmp_path / name, pack(content))
        with pytest.raises(InputError, match=rf"{path}\b.* is no plain text: it begins with"):
            _sources(tmp_path / "good.txt", path, format=chosen)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("bad.txt.gz", b"\x1f\x8b" + bytes(range(200)), "bad.txt.gz: cannot be read on from byte 0 of the compressed"),
        ("bad.jsonl.bz2", b"BZh9" + bytes(200), "bad.jsonl.bz2: cannot be read on from byte 0"),
        ("bad.xml.zst", b"\x28\xb5\x2f\xfd" + bytes(range(200)), "bad.xml.zst: cannot be read on from byte 0"),
        ("bad.txt.bz2", bz2.compress(_MUCH_PROSE)[:40], "bad.txt.bz2: cannot be read on from byte 40"),
        ("bad.xml", b"<mediawiki><siteinfo></mediawiki>", "bad.xml: the XML breaks off or is damaged near byte"),
    ],
)
def test_a_file_that_is_damaged_from_its_beginning_fails_when_it_is_read_and_alone(tmp_path, name, content, reason):
    (tmp_path / "a.jsonl").write_text(_LINES)
    (tmp_path / name).write_bytes(content)
    good, bad = _sources(tmp_path)
    assert _ids([good]) == ["7", "8"]
    assert (bad.name, bad.format, bad.num_bytes) == (name, "unreadable", len(content))
    with pytest.raises(InputError, match=reason):
        _ids([bad], 1e-6)
    check_any_readable([good, bad])
    with pytest.raises(InputError, match=reason):
        check_any_readable([bad])


_UNFIT = ["../../outside", "/etc", "a/b", "..", ".", "a\0b", "a\n", "\n", " ", "-rf", "a" * 300 + "/", ""]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        *(({"language": word}, "language") for word in ("EN", "english language", *_UNFIT)),
        *(({"name": word}, "name") for word in _UNFIT),
        ({"path": ""}, "path"),
        ({"path": ()}, "path"),
        ({"path": ("a", "")}, "path"),
        ({"format": "txt"}, "format"),
        ({"shards": 8}, "shards"),
    ],
)
def test_bad_choices_are_refused(choice, message):
    with pytest.raises(ValueError, match=message):
        CorpusConfig(**({"name": "sample", "language": "pt-br", "path": "dump.xml"} | choice))
    assert CorpusConfig("sample", "en", "a.txt") == CorpusConfig("sample", "en", ("a.txt",))


_TEXTS = {"id": [str(number) for number in range(5000)], "text": ["word " * 50] * 5000}
_MANY_LINES = pa.table(_TEXTS).to_pylist()
_SERVED = {
    "lines": "".join(json.dumps(line) + "\n" for line in _MANY_LINES).encode(),
    "parquet": parquet(_TEXTS, row_group_size=500, use_dictionary=False, compression="none"),
    "tar": tar({"a.jsonl": _LINES.encode(), "b.parquet": parquet({"text": ["a"]})}),
    "zip": zipped({"a.jsonl": _LINES.encode(), "b.parquet": parquet({"text": ["a"]})}),
}


@pytest.mark.long
@pytest.mark.parametrize("how", ["ranges", "whole"])
@pytest.mark.parametrize("name", [*_SERVED, "bz2"])
def test_web_servers(web_server, how, name):
    content = _SERVED[name] if name != "bz2" else bz2.compress(_SERVED["lines"])
    path = written(web_server.folder / "lines é.bin", content)
    uri = web_server.url(how, "lines%20é.bin")
    if how == "whole" and name in ("parquet", "zip"):
        with pytest.raises(InputError, match=r"does not send parts of a file: set corpus.download=true"):
            _ids(_sources(uri))
    else:
        is_divided = how == "ranges" and name in ("lines", "parquet")
        assert (len(split(*_sources(uri), 0.25)) > 4) == is_divided
        ids = [page.id for page in pages(uri, 0.25)]
        assert ids == _ids(_sources(path))
        assert len(ids) == (3 if name in ("tar", "zip") else 5000)


@pytest.mark.parametrize(
    ("how", "name", "message"),
    [
        ("bare", "lines", r"gives no ETag or Last-Modified.*set corpus.download=true"),
        ("unsized", "lines", r"gives no size.*set corpus.download=true"),
        ("ranges", "nothing", r"nothing: there is no such file \(status 404\)"),
        ("hopeless", "lines", r"^http://127.0.0.1:\d+/hopeless/lines: cannot be read"),
    ],
)
def test_a_web_file_without_version_or_whose_connection_breaks_is_refused(web_server, how, name, message):
    (web_server.folder / "lines").write_text(_LINES * 1000)
    with pytest.raises(InputError, match=message):
        _ids(_sources(web_server.url(how, name)))


def test_object_stores(s3_bucket):
    for name in ("a 1.jsonl", "b=2/c+é.jsonl"):
        lines = "".join(json.dumps({"text": f"{name} {number}"}) + "\n" for number in range(100))
        s3_bucket.client.put_object(Bucket="tilt", Key=f"corpus/{name}", Body=lines.encode())
    sources = _sources(s3_bucket.uri("corpus/**/*.jsonl"))
    assert sources == _sources(s3_bucket.uri("corpus"))
    assert [source.name for source in sources] == ["a 1.jsonl", "b=2/c+é.jsonl"]
    assert len(split(sources[0], 0.001)) == 3
    assert _ids(sources, 0.001) == _ids(sources)
    assert _ids(sources)[:2] == ["a 1.jsonl@0", "a 1.jsonl@24"]


_ODD = [f"{name}.jsonl" for name in ("q?", "h#1", "100%", "%41", "a[1]", "star*", "{x} é=ü, &+;@", "b 中文")]


def test_odd_names_are_names_in_a_bucket(s3_bucket):
    for name in _ODD:
        body = json.dumps({"id": name, "text": "a"}).encode()
        s3_bucket.client.put_object(Bucket="tilt", Key=f"odd [1] %/{name}", Body=body)
    folder = "odd%20%5B1%5D%20%25"
    found = _sources(s3_bucket.uri(folder))
    assert {each.name for each in found} == set(_ids(found)) == set(_ODD)
    places = {f"{folder}/{quote(name)}": name for name in _ODD} | {f"{folder}/star*.jsonl": "star*.jsonl"}
    places |= {f"odd [1] %/{name}": name for name in ("{x} é=ü, &+;@.jsonl", "h#1.jsonl")}
    for place, name in places.items():
        assert _ids(_sources(s3_bucket.uri(place))) == [name]


def test_odd_names_are_names_on_a_disk(tmp_path):
    folder = tmp_path / "dir [1] *?%#"
    (folder / "sub*").mkdir(parents=True)
    (tmp_path / "dir [1] other").mkdir()
    places = {folder / name: name for name in _ODD} | {folder / "sub*/x.jsonl": "x.jsonl"}
    places |= {tmp_path / "dir [1] other/y.jsonl": "y.jsonl"}
    for place, name in places.items():
        place.write_text(json.dumps({"id": name, "text": "a"}))
    assert set(_ids(_sources(folder))) == {*_ODD, "x.jsonl"}
    for place, name in (places | {folder / "sub*": "x.jsonl"}).items():
        assert _ids(_sources(place)) == [name]


def test_empty_files_of_a_folder_are_left_out_and_counted(tmp_path):
    good, empty = written(tmp_path / "good.jsonl", _LINES), written(tmp_path / "empty.jsonl", "")
    with collected() as bad:
        assert _ids(_sources(tmp_path)) == ["7", "8"]
    assert [(row["file"], row["kind"]) for row in bad.rows()] == [(str(empty), "empty")]
    with pytest.raises(InputError, match=r"empty.jsonl is empty \(0 bytes\)"):
        _sources(empty)
    good.write_text("")
    with pytest.raises(InputError, match="only empty files and indexes"):
        _sources(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("a.txt", "<3 words of prose\n", "text"),
        ("a.txt.xz", "{words} of prose\n", "text"),
        ("a.txt", '{"text": "a"}\n', "jsonl"),
        ("a.jsonl", 'broken\n{"text": "a"}\n', "jsonl"),
        ("a.xml", '[\n{"text": "a"}]\n', "json"),
    ],
)
def test_the_content_says_what_a_file_is_and_where_it_does_not_the_name(tmp_path, name, content, form):
    (tmp_path / name).write_bytes(lzma.compress(content.encode()) if name.endswith("xz") else content.encode())
    assert [source.format for source in _sources(tmp_path / name)] == [form]


def test_messages_do_not_show_keys(s3_bucket):
    s3_bucket.client.put_object(Bucket="tilt", Key="prose", Body=_PROSE.encode())
    for path, message in (("prose", "s3://tilt/prose: neither"), ("none", "corpus.path=s3://tilt/none: there is no")):
        with pytest.raises(InputError, match=message) as refusal:
            _sources(s3_bucket.uri(path))
        assert "secret" not in "".join(traceback.format_exception(refusal.value))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("part-1", lambda path: path.write_text(_LINES)),
        ("part-1", lambda path: os.utime(path, ns=(1, 1))),
        ("part-1", Path.unlink),
        ("b/wiki_01.bz2", lambda path: path.write_bytes(path.read_bytes()[:-8])),
    ],
    ids=["size", "time", "gone", "shrunken"],
)
def test_a_file_that_changes_is_noticed(folder, name, change):
    [part] = parts(*_sources(folder / name))
    read = iter(part)
    if name == "part-1":
        next(read)
    change(folder / name)
    with pytest.raises(InputError, match=rf"{name}: (changed while it was read|there is no such file)"):
        list(read)
