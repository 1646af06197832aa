"""Small files share units; pages that come again; what is left out of a file."""

import bz2
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tiltmeter.jobs.embedding.corpora import MakeVocabulary, _reading
from tiltmeter.jobs.embedding.pages import (
    FindRepeated,
    Part,
    left_out_of,
    page_row,
    pages_table,
    parts_of,
    refuse_bad_files,
)
from tiltmeter.jobs.embedding.sources import Text
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.corpora.corpora import CorpusConfig, Page, Source, Span, find_sources
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, Unit


def _file(number: int, num_bytes: int = 60) -> Source:
    name = f"f{number:06d}.txt"
    return Source(f"/corpus/{name}", name, num_bytes, "1", "text", "none", "utf-8", "plain", ())


def _parts(files: list[Source]) -> list[Part]:
    return list(parts_of(files, 64.0, 4.0))


@pytest.mark.parametrize("num_bytes", [60, 200_000])
def test_a_file_more_or_one_that_changes_its_size_changes_few_parts(num_bytes):
    """Ten thousand lines in files of their own are a few parts."""
    files = [_file(number) for number in range(10_000)]
    found = _parts(files)
    assert [source for part in found for source in part.sources] == files
    assert 10 < len(found) < 45
    assert max(len(part.sources) for part in found) <= 1200
    files = [_file(number, num_bytes) for number in range(0, 4000, 2)]
    parts = {part.sources for part in _parts(files)}
    for place in (0, 1, 700, 1999):
        more = {part.sources for part in _parts([*files[:place], _file(2 * place - 1, num_bytes), *files[place:]])}
        other = [*files[:place], replace(files[place], num_bytes=num_bytes + 5), *files[place + 1 :]]
        assert len(more - parts) <= 2
        assert len({part.sources for part in _parts(other)} - parts) <= 2


def test_a_large_file_an_unreadable_one_and_a_lonely_small_one_are_parts_as_before(tmp_path):
    large, bad = _file(1, 1_500_000), replace(_file(2), format="unreadable")
    other = replace(_file(3), markup="wikitext", media_prefixes=("File",))
    for path, num_bytes in ((tmp_path / "a", 1_500_000), (tmp_path / "b", 60)):
        path.write_bytes(b"a" * num_bytes)
    files = [replace(large, uri=str(tmp_path / "a")), _file(4), bad, _file(5), _file(6), other]
    parts = _parts(files)
    assert [[source.name[6] for source in part.sources] for part in parts] == [["1"], ["4"], ["2"], ["5", "6"], ["3"]]
    assert [part.identity.keys() for part in parts] == [{"sources", "span"}] * 5
    assert parts[1].identity == {"sources": [files[1]], "span": Span(0, 60)}


def _text(path: Path) -> Text:
    corpus = CorpusConfig("corpus", "en", str(path))
    return Text("corpus", corpus, find_sources(corpus), Tokenizer("en", True), {})


def test_one_unit_reads_several_files_and_tells_what_it_left_out_and_which_are_damaged(tmp_path):
    (folder := tmp_path / "corpus").mkdir()
    for name, lines in {"a.jsonl": '{"id": 1, "text": "one"}', "c.txt": "three\nfour", "d.txt": "five"}.items():
        (folder / name).write_text(f"{lines}\n")
    (folder / "b.jsonl.bz2").write_bytes(bz2.compress(b'{"id": 2, "text": "tw\xff"}\n{"id": 3, \n'))
    text = _text(folder)
    [part] = parts_of(text.sources, 64.0, 4.0)
    work = _reading(text, part, 4.0, 2**26)
    tables = dict(work.tables(Store(str(tmp_path))))
    assert list(tables) == ["shard_00000", "source", "left_out"]
    assert tables["shard_00000"]["id"].to_pylist() == ["1", "2", "c.txt@0", "c.txt@6", "d.txt@0"]
    [row] = tables["source"].to_pylist()
    assert (row["num_article"], row["num_replaced"], row["markup"]) == (5, 1, "plain")
    [row] = tables["left_out"].to_pylist()
    assert (row["num"], row["num_records"], row["first"]) == (1, 2, "line 2, column 10")
    assert row["file"] == str(folder / "b.jsonl.bz2")
    assert work.label == "corpus: a.jsonl from 0 and 3 more files"
    for name in ("b.jsonl.bz2", "d.txt"):
        (folder / name).write_bytes(b"")
    with pytest.raises(InputError, match=r"b\.jsonl\.bz2: changed while it was read.*; and 1 more file$"):
        list(work.tables(Store(str(tmp_path))))


@pytest.mark.parametrize(
    ("num_bad", "max_share", "is_refused"), [(10, 0.01, False), (11, 0.01, True), (11, 0.5, False)]
)
def test_bad_records_are_held_against_all_of_a_file_and_not_a_span(tmp_path, num_bad, max_share, is_refused):
    path = tmp_path / "words.jsonl"
    path.write_text("{\n" * num_bad + "".join(json.dumps({"id": n, "text": "a"}) + "\n" for n in range(39)))
    text = _text(path)
    works = [_reading(text, part, 4.0, 2**26) for part in parts_of(text.sources, 2e-4, 4.0)]
    store = Store(str(tmp_path / "store"))
    done = Done([(work, store.commit(work.unit(), work.tables(store))) for work in works])
    assert len(done.pairs) > 2
    bad = left_out_of(store, done)
    assert bad.num_records == {str(path): 39 + num_bad}
    runner = SimpleNamespace(failures={"corpus": []})
    refused = dict(refuse_bad_files(runner, works, bad, max_share))
    assert (set(refused) == set(works)) == is_refused
    assert len(runner.failures["corpus"]) == is_refused
    if is_refused:
        assert f"{num_bad} of {39 + num_bad} records are bad (22%)" in runner.failures["corpus"][0].error


def _taken(folder: Path, *shards: list[Page]) -> list[tuple[int, int]]:
    store = Store(str(folder))
    done = [
        store.commit(Unit("made/1", "", {"n": number}), [("shard", pages_table([page_row(page) for page in shard]))])
        for number, shard in enumerate(shards)
    ]
    refs = [unit.tables["shard"] for unit in done]
    tables = dict(FindRepeated(part=0, num_parts=1, pages=refs).tables(store))
    return [(row["shard"], row["row"]) for row in tables["repeated"].to_pylist()]


def _version(text: str, moment: str) -> Page:
    return Page("1", "A", text, "article", None, moment)


def test_of_a_page_that_comes_per_revision_the_newest_is_kept(tmp_path):
    old, middle, new = (_version(f"of {year}", f"{year}-05-01T00:00:00Z") for year in (2001, 2005, 2011))
    other = old._replace(id="2")
    assert _taken(tmp_path / "a", [old, other, new], [middle]) == [(0, 0), (1, 0)]
    assert _taken(tmp_path / "b", [new, other], [middle, old, other]) == [(1, 0), (1, 1), (1, 2)]
    assert _taken(tmp_path / "c", [new, old, new]) == [(0, 0), (0, 1)]
    assert _taken(tmp_path / "d", [old, old._replace(timestamp="2020-01-01T00:00:00Z")]) == [(0, 1)]
    with pytest.raises(InputError, match=r"1 ids come again with another text, such as \['1'\]"):
        _taken(tmp_path / "e", [old._replace(timestamp="")], [middle._replace(timestamp="")])
    assert pages_table([page_row(Page("1", "", "a", "article"))]).schema.names == [
        "id",
        "title",
        "text",
        "key",
        "content",
    ]
    assert pa.types.is_string(pages_table([page_row(old)]).schema.field("timestamp").type)


@pytest.mark.parametrize(
    ("num_equal", "num_replaced", "words"), [(3, 0, []), (6, 0, ["5 of 40"]), (0, 601, ["601 bytes"])]
)
def test_equal_texts_of_other_ids_and_replaced_bytes_are_warned_of_where_they_are_many(
    tmp_path, num_equal, num_replaced, words
):
    store = Store(str(tmp_path))
    pages = [Page(str(n), "", f"a{max(n, num_equal - 1)}" if n < num_equal else f"b{n}", "article") for n in range(40)]
    made = store.commit(Unit("made/1", "", {}), [("pages", pages_table([page_row(page) for page in pages]))])
    pages = [made.tables["pages"].select("key", "content")]
    nothing = dict.fromkeys(("words", "totals", "sources", "unreadable", "lines"), ())
    work = MakeVocabulary(corpus="a", language="en", min_count=1, lists={}, pages=pages, **nothing)
    row = {"num_tokens": 600_000, "num_lines": 5000, "num_unreadable": 0, "num_replaced": num_replaced}
    warnings = list(work.warnings(store, row))
    assert len(warnings) == len(words)
    assert all(warning.startswith(start) for warning, start in zip(warnings, words, strict=True))
