import bz2
import gzip
import itertools
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from storage.corpora import CorpusConfig, CorpusError, Page, locate, read_pages, source_digest

_DATA = Path(os.environ.get("TILTMETER_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
_SIMPLE = _DATA / "corpora" / "en" / "simplewiki.jsonl.bz2"
_GENSIM = "package://gensim/test/test_data/"
_LINES = b'{"id": "7", "title": "One", "text": "first"}\n\n{"pageid": 9, "text": "second"}\n'


def _config(path: Path | str, **choices: str) -> CorpusConfig:
    return CorpusConfig(name="sample", language="en", path=str(path), **choices)


def _pages(path: Path | str, **choices: str) -> list[Page]:
    return list(read_pages(_config(path, **choices)).pages)


def _written(folder: Path, content: bytes | str, name: str = "corpus") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_english_sample_holds_106_articles_and_100_redirects():
    source = read_pages(_config(_GENSIM + "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"))
    pages = list(source.pages)
    assert source.markup == "wikitext"
    assert Counter(page.kind for page in pages) == {"article": 106, "redirect": 100}
    assert pages[0][:2] == ("10", "AccessibleComputing")
    assert len({page.id for page in pages}) == 206


def test_utf16_dump_is_recognised_and_its_namespaces_are_named():
    source = read_pages(_config(_GENSIM + "bgwiki-latest-pages-articles-shortened.xml.bz2"))
    assert {"Файл", "Категория"} <= source.media_prefixes
    assert [(page.title, page.kind) for page in source.pages] == [
        ("Григориански календар", "article"),
        ("Уикипедия:Редактиране на страници", "other_namespace"),
        ("Уикипедия:Разговори/Архив/2005/октомври-ноември-декември", "other_namespace"),
    ]


def test_json_lines_from_shared_data():
    if not _SIMPLE.exists():
        pytest.skip(f"{_SIMPLE} is absent")
    source = read_pages(_config(_SIMPLE))
    first = list(itertools.islice(source.pages, 200))
    assert source.markup == "plain"
    assert first[0][:2] == ("1", "April")
    assert first[0].text.startswith("April is the fourth month of the year")
    assert len({page.id for page in first}) == 200


@pytest.mark.parametrize("pack", [bytes, bz2.compress, gzip.compress])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_json_lines_in_any_wrapping(tmp_path, pack, encoding):
    path = _written(tmp_path, pack(_LINES.decode().encode(encoding)), "misleading.xml")
    assert _pages(path) == [Page("7", "One", "first", "article"), Page("9", "", "second", "article")]


def test_line_number_is_the_id_where_there_is_none(tmp_path):
    path = _written(tmp_path, '{"text": "a"}\n\n{"text": "b"}\n')
    assert [(page.id, page.text) for page in _pages(path)] == [("1", "a"), ("3", "b")]


def test_bz2_of_several_streams_is_read_to_its_end(tmp_path):
    path = _written(tmp_path, b"".join(bz2.compress(line + b"\n") for line in _LINES.splitlines()))
    assert [page.id for page in _pages(path)] == ["7", "9"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1, "text": "a"}\n{"id": 2}\n', r"line 2: 'text' must be text, but is None; its keys are \['id'\]"),
        ('{"text": 5}', "line 1: 'text' must be text, but is 5"),
        ('{"text": "a", "title": 5}', "line 1: 'title' must be text"),
        ('{"text": "a", "id": 1.5}', "line 1: its id 1.5 is neither"),
        ('{"text": "a", "id": true}', "line 1: its id True is neither"),
        ('{"text": "\\ud800"}', "line 1: 'text' holds half a surrogate pair"),
        ('{"text": "a"}\n{"text": ', "line 2 is not JSON"),
        ('{"text": "a"}\n["b"]', "line 2 holds a JSON list"),
        ('{"text": "a", "id": "x"}\n{"text": "b", "id": "x"}', "id 'x' comes twice, again at page 2"),
        ('{"text": "a", "id": 12}\n{"text": "b", "id": "12"}', "id '12' comes twice"),
        ('{"text": "a", "id": 2}\n{"text": "b"}', "id '2' comes twice"),
        (b'{"text": "a"}\n{"text": "\xff"}', "not utf-8 soon after line"),
        (bz2.compress(_LINES)[:-5], "cannot be read on from byte"),
        (gzip.compress(_LINES)[:-5], "cannot be read on from byte"),
        (gzip.compress(_LINES)[:15] + b"\xff" * 30, "cannot be read on from byte"),
        (b"BZh9" + b"\0" * 40, "cannot be read on from byte"),
    ],
)
def test_damaged_json_lines_are_refused(tmp_path, content, message):
    path = _written(tmp_path, content)
    with pytest.raises(CorpusError, match=message) as refusal:
        _pages(path, format="jsonl")
    assert str(path) in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Some prose.", "neither a MediaWiki XML dump nor JSON lines .* begins with 'Some prose"),
        ('[{"text": "a"}]', "neither a MediaWiki XML dump nor JSON lines"),
        (" \n\n", "neither a MediaWiki XML dump nor JSON lines"),
        (
            '<doc id="12" url="x" title="y">\ntext\n</doc>',
            "WikiExtractor's <doc> format; run WikiExtractor with --json",
        ),
        ("<rss></rss>", "its outermost element is <rss>, not <mediawiki>"),
    ],
)
def test_unknown_content_is_refused(tmp_path, content, message):
    with pytest.raises(CorpusError, match=message):
        _pages(_written(tmp_path, content))


def test_ids_are_told_apart_as_text(tmp_path):
    ids = ["7", "07", "٧", "-7", str(2**40), "a", 0, 268_435_456]
    path = _written(tmp_path, "".join(json.dumps({"id": page_id, "text": "a"}) + "\n" for page_id in ids))
    assert [page.id for page in _pages(path)] == [str(page_id) for page_id in ids]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/dump.xml", r"corpus.path=nowhere/dump.xml: there is no file /.*nowhere/dump.xml; set corpus.path"),
        ("package://gensim/nothing.xml", "corpus.path=package://gensim/nothing.xml: there is no file"),
        ("package://no_such_package/a.xml", "no package 'no_such_package' is installed"),
        ("package://bisect/a.xml", "no package 'bisect' is installed"),
        ("package://gensim", "must read package://<package>/<file inside it>"),
        ("package://gensim/../numpy/version.py", "must read package://<package>/<file inside it>"),
    ],
)
def test_paths_that_name_no_file_are_refused(path, message):
    with pytest.raises(CorpusError, match=message):
        locate(_config(path))


def test_folders_and_empty_files_are_refused(tmp_path):
    with pytest.raises(CorpusError, match="is not a file"):
        locate(_config(tmp_path))
    with pytest.raises(CorpusError, match="is empty"):
        locate(_config(_written(tmp_path, b"")))


def test_located_paths_are_absolute(tmp_path, monkeypatch):
    _written(tmp_path, _LINES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate(_config("corpus")) == locate(_config("~/corpus")) == tmp_path / "corpus"


def test_source_digest_is_of_the_content(tmp_path):
    one, other = _written(tmp_path, _LINES, "a"), _written(tmp_path, _LINES, "b")
    assert source_digest(one) == source_digest(other) != source_digest(_written(tmp_path, _LINES + b" ", "c"))
    assert source_digest(_written(tmp_path, b"abc", "d")) == "cf4ab791c62b8d2b2109c90275287816"


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"language": "EN"}, "language"),
        ({"language": "english language"}, "language"),
        ({"name": "a/b"}, "name"),
        ({"path": ""}, "path"),
        ({"format": "txt"}, "format"),
        ({"num_shards": 0}, "num_shards"),
        ({"shards": 8}, "shards"),
        ({"shard_megabytes": 0}, "shard_megabytes"),
        ({"shard_megabytes": 1000.1}, "shard_megabytes"),
        ({"shard_megabytes": float("inf")}, "shard_megabytes"),
        ({"shard_megabytes": float("nan")}, "shard_megabytes"),
    ],
)
def test_bad_choices_are_refused(choice, message):
    with pytest.raises(ValueError, match=message):
        CorpusConfig(**({"name": "sample", "language": "pt-br", "path": "dump.xml"} | choice))
