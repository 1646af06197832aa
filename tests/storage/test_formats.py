"""Formats of corpora beyond ``read_files.yaml``: in any wrapping and in archives, in any span, and when damaged."""

import bz2
import gzip
import io
import json
import re
import tarfile
import tempfile
import tracemalloc
from collections import Counter
from datetime import datetime
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather

from tests.fixtures.corpora import PACKERS, pages, parquet, parts, source, tar, written, zipped
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora import packed
from tiltmeter.storage.corpora.corpora import Page, Span, fields_of, read_pages
from tiltmeter.storage.errors import InputError

_LINES = b'{"id": "7", "title": "One", "text": "first"}\n\n{"pageid": 9, "text": "second"}\n'


def _left_out(path: Path, megabytes: float = 1000, **choices: str) -> tuple[list[str], list[tuple[object, ...]], int]:
    """Ids of the pages that are read, what is left out, and the records of which that is a share."""
    bad, ids = BadRecords(), []
    for part in parts(source(path, **choices), megabytes):
        ids += [page.id for page in part]
        bad.merge(part.bad)
    rows = [(row["num"], row["reason"], row["first"], row["kind"]) for row in bad.rows()]
    return ids, rows, sum(bad.num_records.values())


# --- wrapping -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_json_lines_in_any_wrapping_and_in_several_streams(tmp_path, pack, encoding):
    content = _LINES.decode().encode(encoding)
    streams = (content[:20], b"", content[20:60], content[60:], b"")
    for each in (pack(content), b"".join(map(pack, streams))):
        path = written(tmp_path / "misleading.xml", each)
        assert pages(path) == [Page("7", "One", "first", "article"), Page("9", "", "second", "article")]


_BREAKS_OFF = "(the packed data break off|Truncated compressed stream)"
_DAMAGES = {
    "its end is missing": (lambda content: content[:-5], _BREAKS_OFF),
    "something follows": (lambda content: content + b"junk", r"(its \w+ data end at byte|ZSTD decompress failed)"),
    "it is overwritten": (
        lambda content: content[:15] + b"\xff" * 30 + content[45:],
        r"(the \w+ data are damaged|Invalid data stream)",
    ),
    "its last stream breaks off": (lambda content: content * 3 + content[:-5], _BREAKS_OFF),
}


@pytest.mark.parametrize(
    ("ending", "damage"),
    # The streams of zstd that are made here have no checksum.
    [
        (ending, damage)
        for ending in PACKERS
        for damage in _DAMAGES
        if (ending, damage) != (".zst", "it is overwritten")
    ],
)
def test_damaged_lines_are_refused_with_the_byte_of_the_compressed_file(tmp_path, ending, damage):
    change, reason = _DAMAGES[damage]
    path = written(tmp_path / "corpus", change(PACKERS[ending](_LINES * 100)))
    with pytest.raises(InputError, match=rf"^{path}: cannot be read on from byte \d+ of the compressed file: {reason}"):
        pages(path, format="jsonl")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_what_follows_packed_data_is_named_by_its_byte_and_not_read_over(tmp_path, pack):
    data = pack(_LINES) + pack(_LINES.replace(b'"7"', b'"11"').replace(b"9", b"12"))
    for rest in (b"x", b"garbage", bytes(100), bytes(2**20)):
        path = written(tmp_path / "lines.jsonl", data + rest)
        message = rf"from byte {len(data)} of the compressed file: its \w+ data end at byte"
        with pytest.raises(InputError, match=message):
            pages(path)
    assert [page.id for page in pages(written(path, data))] == ["7", "9", "11", "12"]


# --- documents ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_read", "num_pages"), [(1000, 1000), pytest.param(None, 24_474, marks=pytest.mark.slow)])
def test_json_lines_from_shared_data(data_file, num_read, num_pages):
    found = source(data_file("corpora/en/simplewiki.jsonl.bz2"))
    first, *others = islice(parts(found)[0], num_read)
    assert (found.format, found.markup) == ("jsonl", "plain")
    assert len({page.id for page in (first, *others)}) == num_pages
    assert first[:2] == ("1", "April")
    assert first.text.startswith("April is the fourth month of the year")


@pytest.mark.slow
def test_a_real_wikiextractor_file_with_misplaced_ends(data_file):
    """Three documents hold markup whose repair moved their ends behind later documents."""
    read = pages(data_file("corpora/ar/arwiki.docs.txt.bz2"))
    assert len(read) == 3834
    assert not any(page.text.startswith(f"{page.title}\n") or "<doc " in page.text for page in read)


def test_a_document_that_breaks_off_is_refused(tmp_path):
    path = written(tmp_path / "corpus", '<doc id="1">\na\n</doc>\n<doc id="2">\nb\n')
    with pytest.raises(InputError, match=rf"^{path}: line at byte 22: the file breaks off within this <doc>"):
        pages(path)


def test_lines_of_a_later_span_are_called_by_their_byte(tmp_path):
    lines = '{"text": "a"}\n' * 10 + "{\n" + '{"text": "b"}\n' * 10
    _, rows, _ = _left_out(written(tmp_path / "corpus", lines), 5e-5)
    assert rows == [(1, "no JSON object", "line at byte 140, column 2", "bad")]


_JSON = (
    st.none() | st.booleans() | st.floats() | st.text('a \n{}[],"\\', max_size=5) | st.lists(st.integers(), max_size=2)
)
_KEYS = st.sampled_from(["id", "text", "title", "other"])


@pytest.mark.long
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


@pytest.mark.long
def test_memory_stays_flat(tmp_path):
    text = json.dumps({"text": "word " * 10_000}).encode() + b"\n"
    [part] = parts(source(written(tmp_path / "corpus", bz2.compress(text * 100))))
    tracemalloc.start()
    assert sum(len(page.text) for page in part) == 5_000_000
    assert tracemalloc.get_traced_memory()[1] < 2e6
    tracemalloc.stop()


# --- tables ---------------------------------------------------------------------------------------------------------


def test_parquet_is_read_by_row_groups_with_its_fields_and_called_by_its_rows(tmp_path):
    """Invalid bytes are replaced and counted."""
    texts = pa.array([b"a\xffb", b"c", b"d"]).view(pa.string())
    days = pa.array([datetime(1999, 5, 1), None, None], pa.timestamp("s"))
    columns = {"text": texts, "title": ["t", "u", "v"], "day": days, "topics": [["a"]] * 3, "year": [1999, None, 3]}
    path = written(tmp_path / "corpus", parquet(columns, row_group_size=2))
    divided = parts(source(path), 1e-6)
    assert [[*part] for part in divided] == [
        [Page("corpus#0", "t", "a\ufffdb", "article"), Page("corpus#1", "u", "c", "article")],
        [Page("corpus#2", "v", "d", "article")],
    ]
    assert [part.num_replaced for part in divided] == [1, 0]
    assert fields_of(source(path)) == ["title", "day", "topics", "year"]
    values = {"day": ["1999-05-01T00:00:00", None, None], "topics": [["a"]] * 3, "year": [1999, None, 3]}
    for field, expected in (values | {"born": [None] * 3}).items():
        assert [page.value for page in read_pages(source(path), Span(0, 10**6), field=field)] == expected


def test_columns_of_parquet_are_looked_at_before_it_is_read_and_its_end_when_it_is(tmp_path):
    with pytest.raises(InputError, match="has no column 'text'"):
        source(written(tmp_path / "corpus", parquet({"body": ["a"]})))
    [part] = parts(source(written(tmp_path / "corpus", parquet({"text": ["a" * 1000] * 100})[:-20])))
    with pytest.raises(InputError, match=r"corpus: cannot be read: .*Parquet"):
        list(part)


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


# --- dumps of MediaWiki ---------------------------------------------------------------------------------------------

_GENSIM = "package://gensim/test/test_data/"
_SITEINFO = """<siteinfo><namespaces>
<namespace key="-2">Medium</namespace><namespace key="0" /><namespace key="1">Diskussion</namespace>
<namespace key="6">Bildchen</namespace><namespace key="14">Rubrik</namespace>
</namespaces></siteinfo>"""


def _page(page_id: int, title: str, text: str, extra: str = "<ns>0</ns>") -> str:
    revision = f"<revision><id>{page_id + 900}</id><text xml:space='preserve'>{text}</text></revision>"
    return f"<page><title>{title}</title>{extra}<id>{page_id}</id>{revision}</page>"


def _dump(*pages: str, version: str = "0.10") -> str:
    schema = f'xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}"'
    return f"<mediawiki {schema}>{_SITEINFO}{''.join(pages)}</mediawiki>"


@pytest.mark.long
def test_english_sample_holds_106_articles_and_100_redirects():
    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    sample, read = source(_GENSIM + name), pages(_GENSIM + name)
    assert (sample.name, sample.markup, sample.compression, sample.encoding) == (name, "wikitext", "bz2", "utf-8")
    assert Counter(page.kind for page in read) == {"article": 106, "redirect": 100}
    assert read[0][:2] == ("10", "AccessibleComputing")
    assert len({page.id for page in read}) == 206


def test_utf16_dump_is_recognised_and_its_namespaces_are_named():
    name = _GENSIM + "bgwiki-latest-pages-articles-shortened.xml.bz2"
    assert source(name).encoding == "utf-16-le"
    assert {"Файл", "Категория"} <= set(source(name).media_prefixes)
    assert [(page.title, page.kind) for page in pages(name)] == [
        ("Григориански календар", "article"),
        ("Уикипедия:Редактиране на страници", "other_namespace"),
        ("Уикипедия:Разговори/Архив/2005/октомври-ноември-декември", "other_namespace"),
    ]


@pytest.mark.parametrize(
    ("wiki", "num_pages", "prefix"), [("ar", 3, "ملف"), ("de", 2, "Datei"), ("ur", 4, "زمرہ"), ("zh", 1, "Category")]
)
def test_real_dumps_of_other_languages(data_file, wiki, num_pages, prefix):
    path = data_file(f"corpora/mediawiki_xml/{wiki}wiki-minidump-dbpedia.xml.bz2")
    assert [page.kind for page in pages(path)] == ["article"] * num_pages
    assert prefix in source(path).media_prefixes


@pytest.mark.parametrize("start", [0, 1])
def test_oldest_schemas_tell_by_text_and_title_in_every_span(tmp_path, start):
    texts = {"Ada": "A [[b]].", "Augusta": "#ŪRL [[Ada]]", "Diskussion:Ada": "?", "2001: Odyssee": "x"}
    old = [_page(number, *page, extra="") for number, page in enumerate(texts.items())]
    whole = source(written(tmp_path / "dump.xml", _dump(*old, version="0.3")), "de")
    kinds = [page.kind for page in read_pages(whole, Span(start, whole.num_bytes))]
    assert kinds == ["article", "redirect", "other_namespace", "article"]


def test_media_prefixes_are_the_dumps_own_and_those_of_other_languages(tmp_path):
    path = written(tmp_path / "dump.xml", _dump(_page(1, "Ada", "a")))
    prefixes = source(path).media_prefixes
    assert {"Bildchen", "Rubrik", "Datei", "Catégorie", "Файл", "分类"} <= set(prefixes)
    assert not {"Medium", "Diskussion", ""} & set(prefixes)
    assert list(prefixes) == sorted(prefixes)
    path.write_text(path.read_text().replace(_SITEINFO, ""))
    assert "Datei" in source(path).media_prefixes


@pytest.mark.parametrize(("cut", "unread"), [(1, 12), (40, 40), (3000, 3000)])
def test_xml_that_breaks_off_is_refused_after_its_last_whole_page(tmp_path, cut, unread):
    content = _dump(_page(1, "Ada", "first\n" * 30_000), _page(2, "Bob", "second" * 1000)).encode()
    path = written(tmp_path / "dump.xml", content[:-cut])
    broken, middle = source(path), len(content) // 2
    message = rf"^{path}: the XML breaks off or is damaged near byte {len(content) - unread:,}: "
    read = iter(read_pages(broken, Span(0, broken.num_bytes)))
    assert next(read).id == "1"
    assert [page.id for page in read_pages(broken, Span(0, middle))] == ["1"]
    for rest in (read, read_pages(broken, Span(middle, broken.num_bytes))):
        with pytest.raises(InputError, match=message):
            list(rest)


@pytest.mark.long
def test_damage_in_a_compressed_dump_is_named_where_it_lies(tmp_path):
    text = "".join(map(str, range(100_000)))
    content = _dump(_page(1, "Ada", text), _page(2, "Bob", text)).encode()
    path = written(tmp_path / "dump.bz2", bz2.compress(content)[:-30])
    with pytest.raises(InputError, match=rf"dump.bz2: cannot be read on from byte {path.stat().st_size:,} of the comp"):
        pages(path)
    written(path, bz2.compress(content[:-20]))
    with pytest.raises(InputError, match=rf"damaged near byte {path.stat().st_size:,} of the compressed file: un"):
        pages(path)


_BROKEN = {
    "ampersand": _page(5, "Bo & Co", "text"),
    "mismatched": _page(5, "Bob", "text").replace("</id>", "</di>"),
    "attribute": _page(5, "Bob", "text").replace("'preserve'", "preserve"),
    "unended": _page(5, "Bob", "text").removesuffix("</page>"),
    "unended text": _page(5, "Bob", "text").removesuffix("</text></revision></page>"),
    "stray end": _page(5, "Bob", "text").replace("<ns>0</ns>", "</page>"),
    "no id": _page(5, "Bob", "text").replace("<id>5</id>", ""),
}


@pytest.mark.long
@pytest.mark.parametrize("broken", _BROKEN)
@pytest.mark.parametrize("number", [0, 2, 4])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_broken_page_costs_itself_whatever_the_spans(tmp_path, broken, number, encoding):
    all_pages = [_page(number, f"Ä{number}", "text") for number in range(4)]
    all_pages.insert(number, _BROKEN[broken])
    path = written(tmp_path / "dump.xml", _dump(*all_pages).encode(encoding))
    place = "the page titled 'Bob'" if broken in ("stray end", "no id") else r"near byte [\d,]+"
    for megabytes in (1, 1e-4, 3e-4):
        ids, rows, _ = _left_out(path, megabytes, format="mediawiki")
        assert ids == ["0", "1", "2", "3"]
        assert len(rows) == (2 if broken == "stray end" else 1)
        assert rows[0][0] == 1
        assert re.fullmatch(place, rows[0][2])


# --- archives: their members are files of a corpus ------------------------------------------------------------------

_FILES = {
    "b/lines.jsonl": b'{"id": 1, "text": "one"}\n{"id": \n',
    "a/docs": b'<doc id="2" title="T">\nT\ntwo\n</doc>\n',
    "text [1]?*%.txt.gz": gzip.compress(b"drei\nvier\n"),
    "table.parquet": parquet({"text": ["five"]}),
}
_FILES |= {
    "folder/": b"",
    "empty.txt": b"",
    ".hidden": b"no",
    "__MACOSX/x": b"no",
    "LICENSE": b"You may",
    "x": bytes(9),
}


def _tar(files: dict[str, bytes]) -> bytes:
    """With a link."""
    archive = io.BytesIO(tar(files))
    with tarfile.open(fileobj=archive, mode="a") as file:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)
    return archive.getvalue()


@pytest.mark.parametrize(("archive", "pack"), [(zipped, bytes), *((_tar, pack) for pack in (bytes, *PACKERS.values()))])
def test_members_are_read_as_files_and_those_of_other_formats_left_out(tmp_path, archive, pack):
    [read] = parts(source(written(tmp_path / "a.bin", pack(archive(_FILES)))), 1e-4)
    found = list(read)
    assert [page.text for page in found] == ["one", "two", "drei", "vier", "five"]
    ids = ("text [1]?*%.txt.gz@0", "text [1]?*%.txt.gz@5", "table.parquet#0")
    assert [page.id for page in found[2:]] == [f"a.bin/{name}" for name in ids]
    bad, other = sorted(read.bad.rows(), key=lambda row: row["kind"])
    line = {"file": f"{tmp_path}/a.bin/b/lines.jsonl", "reason": "no JSON object", "kind": "bad", "num": 1}
    assert bad == line | {"first": "line 2, column 7"}
    assert (other["file"], other["kind"], other["num"]) == (f"{tmp_path}/a.bin", "empty", 2)
    assert other["first"] == "'LICENSE'"


def test_dumps_in_an_archive_keep_their_markup_and_are_not_among_other_files(tmp_path):
    page = b"<page><title>A</title><ns>0</ns><id>1</id><revision><text>a</text></revision></page>"
    dump = b"<mediawiki>" + page + b"</mediawiki>"
    path = written(tmp_path / "a.zip", zipped({"a.xml": dump, "b.xml": dump.replace(b"<id>1", b"<id>2")}))
    assert source(path).markup == "wikitext"
    assert pages(path) == [Page("1", "A", "a", "article"), Page("2", "A", "a", "article")]
    written(path, zipped({"a.xml": dump, "b.txt": b"text"}))
    with pytest.raises(InputError, match=r"a\.zip/b\.txt: has other markup"):
        pages(path)


def _encrypted(content: bytes) -> bytes:
    """Of a zip of one member, what says that it is."""
    marked = bytearray(content)
    marked[6] |= 1
    marked[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(marked)


_NO_FORMAT = "none of its files is in a format that is read, the first is 'notes'"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_tar(_FILES)[:1000], "a.bin: the archive is damaged: unexpected end of data"),
        (gzip.compress(_tar(_FILES))[:-100], "a.bin: (the archive is damaged|cannot be read): .*break off"),
        (zipped(_FILES)[:-30], "a.bin: the archive is damaged: File is not a zip file"),
        (zipped(_FILES).replace(b"lines.", b"linet.", 1), "a.bin: the archive is damaged: File name in directory"),
        (zipped({"inner.zip": zipped(_FILES)}), "a.bin/inner.zip: is an archive within an archive"),
        (_tar({"notes": b"words"}), f"a.bin: {_NO_FORMAT}; .*corpus.format=text"),
        (zipped({"zeros.txt": bytes(2**22)}), "a.bin: cannot be read: .* unpack to .* over 250 times"),
        (_encrypted(zipped({"a.txt": b"text"})), r"a\.bin: 'a\.txt' in it is encrypted: unpack the archive yourself"),
    ],
)
def test_what_can_not_be_read_of_an_archive_is_said(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(packed, "_ALWAYS_ALLOWED", 2**20)
    with pytest.raises(InputError, match=message):
        pages(written(tmp_path / "a.bin", content))


def test_names_that_lead_out_of_an_archive_are_names_and_no_more(tmp_path):
    line = b'{"text": "inside"}'
    path = written(tmp_path / "a.bin", _tar({"../../etc/x.jsonl": line, "/etc/passwd": line}))
    assert [re.sub(r".*bin/", "", page.id) for page in pages(path)] == ["../../etc/x.jsonl@0", "/etc/passwd@0"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_the_format_that_is_chosen_is_that_of_the_members(tmp_path):
    path = written(tmp_path / "a.tar", _tar({"notes": b"Some words.", "more": b"Others."}))
    assert [page.text for page in pages(path, format="text")] == ["Some words.", "Others."]
