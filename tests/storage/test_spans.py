"""Every page belongs to exactly one span, whatever the spans."""

import bz2
import gzip
import io
import json
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gensim.test.utils import datapath
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.corpora import parquet, written
from tests.fixtures.corpora import source as source_of
from tiltmeter.storage.corpora.corpora import Page, Source, Span, read_pages, split
from tiltmeter.storage.corpora.unpacking import bz2_stream_starts
from tiltmeter.storage.errors import InputError

_TEXTS = ["Größe\n\nx", "", "日本語 " * 30, "a <page> b", "\ufffd", "<doc x\n</doc>", "end"]
_ENGLISH = datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _wiki_page(number: int, text: str, indent: str = "\n  ") -> str:
    revision = f"<revision><id>9{number}</id><text>{_escaped(text)}</text></revision>"
    return f"{indent}<page>{indent}<title>T{number}</title><ns>0</ns><id>{number}</id>{revision}</page>"


_HEAD = "<mediawiki version='0.10'><siteinfo><namespaces><namespace key='6'>Fil</namespace></namespaces></siteinfo>"
_DUMP = _HEAD + "".join(_wiki_page(*page) for page in enumerate(_TEXTS)) + "\n</mediawiki>\n"
_DENSE_DUMP = _HEAD + "".join(_wiki_page(*page, indent="") for page in enumerate(_TEXTS)) + "</mediawiki>"
_LINES = "\r\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in _TEXTS) + "\n\n"
_DOCS = "".join(f'<doc id="{i}" title="T{i}">\nT{i}\n{_escaped(text)}\n</doc>\n' for i, text in enumerate(_TEXTS))


def _streams(content: bytes, *cuts: int) -> bytes:
    """bzip2 with a stream for each piece, as parallel compressors make it."""
    return b"".join(bz2.compress(content[start:stop]) for start, stop in pairwise([0, *cuts, len(content)]))


def _page_starts(content: bytes) -> list[int]:
    return [start for start in range(len(content)) if content.startswith(b"<page>", start)]


_FILES = {
    "dump": _DUMP.encode(),
    "dump without line breaks": _DENSE_DUMP.encode(),
    "dump with invalid bytes": _DUMP.encode().replace("ö".encode(), b"\xf6\x07").replace(b"T3", b"\xe6\x97"),
    "UTF-16": _DUMP.encode("utf-16"),
    "multistream": _streams(_DUMP.encode(), *_page_starts(_DUMP.encode())),
    "streams within marks": _streams(_DUMP.encode(), *(at + 3 for at in _page_starts(_DUMP.encode())), 2000),
    "empty streams": _streams(_DUMP.encode(), 300, 300, 310, 900, 900),
    "gzip": gzip.compress(_DUMP.encode()),
    "lines": _LINES.encode(),
    "lines with invalid bytes": b"\xef\xbb\xbf" + _LINES.encode().replace("ö".encode(), b"\xf6"),
    "UTF-32 lines": _LINES.encode("utf-32"),
    "bz2 lines": _streams(_LINES.encode(), 40, 100),
    "array": json.dumps([{"text": text} for text in _TEXTS]).encode(),
    "documents": _DOCS.encode(),
    "unclosed documents": _DOCS.encode().replace(b"\n</doc>\n<doc", b"\n<doc", 2) + b"</ref></doc>\n",
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> dict[str, Source]:
    folder = tmp_path_factory.mktemp("spans")
    found = {name: source_of(written(folder / name, content)) for name, content in _FILES.items()}
    return found | {"text": source_of(written(folder / "text", f"Prose.\n{_DOCS}"), format="text")}


def _read(source: Source, *spans: Span) -> tuple[list[Page], int]:
    parts = [read_pages(source, span) for span in spans]
    return [page for part in parts for page in part], sum(part.num_replaced for part in parts)


@pytest.mark.long
@pytest.mark.parametrize("name", [*_FILES, "text"])
@given(data=st.data())
def test_spans_give_what_the_whole_file_gives(sources, name, data):
    source = sources[name]
    cuts = data.draw(st.lists(st.integers(1, source.num_bytes - 1), max_size=30, unique=True).map(sorted))
    spans = [Span(*ends) for ends in pairwise([0, *cuts, source.num_bytes])]
    whole = _read(source, Span(0, source.num_bytes))
    assert _read(source, *spans) == whole
    least = sum(map(bool, _TEXTS)) if "json" in source.format else len(_TEXTS)
    assert len(whole[0]) == len({page.id for page in whole[0]}) >= least


def test_whole_files_hold_the_texts(sources):
    for name, source in sources.items():
        pages, num_replaced = _read(source, *split(source, 100))
        texts = [page.text.strip() for page in pages]
        if "invalid" in name:
            assert num_replaced == (3 if "dump" in name else 1)
            assert texts[0].startswith("Gr\ufffd")
        elif source.format in ("mediawiki", "jsonl", "json"):
            assert texts == [text.strip() for text in _TEXTS if text or source.format == "mediawiki"]
        assert num_replaced == 0 or "invalid" in name
    assert _read(sources["unclosed documents"], Span(0, 10**6)) == _read(sources["documents"], Span(0, 10**6))


@pytest.mark.parametrize("name", ["dump", "multistream", "lines", "UTF-16", "gzip", "bz2 lines", "array"])
def test_split(sources, name):
    source, is_divided = sources[name], name in ("dump", "multistream", "lines")
    for num_bytes in (100, 1000, 10**6):
        spans = split(source, num_bytes / 1e6)
        assert [spans[0].start, *(span.stop for span in spans)] == [*(span.start for span in spans), source.num_bytes]
        assert len(spans) == (-(-source.num_bytes // num_bytes) if is_divided else 1)
    with pytest.raises(ValueError, match="span_megabytes=0: must be above 0"):
        split(source, 0)


@pytest.fixture(scope="module")
def multistream(tmp_path_factory) -> tuple[Path, list[tuple[int, str]]]:
    """The start of a real dump as Wikimedia packs it: header, pages by ten, footer; the offset and id of each page."""
    content = bz2.decompress(Path(_ENGLISH).read_bytes())
    *starts, stop = _page_starts(content)[:121:10]
    content = content[:stop] + b"</mediawiki>"
    cuts = [0, *starts, stop, len(content)]
    packed = [bz2.compress(content[start:stop]) for start, stop in pairwise(cuts)]
    folder, index, offset = tmp_path_factory.mktemp("multistream"), [], 0
    whole = source_of(written(folder / "whole.xml", content))
    pages = [page.id for page in _read(whole, Span(0, len(content)))[0]]
    for number, stream in enumerate(packed):
        index += [(offset, page_id) for page_id in pages[(number - 1) * 10 : number * 10] if number]
        offset += len(stream)
    return written(folder / "enwiki-multistream.xml.bz2", b"".join(packed)), index


@pytest.mark.long
def test_streams_are_those_of_the_index(multistream, monkeypatch):
    path, index = multistream
    content = path.read_bytes()
    found = list(bz2_stream_starts(io.BytesIO(content), 0, len(content)))
    assert found[0] == 0
    assert found[1:-1] == sorted({offset for offset, _ in index})
    middle = found[5]
    halves = [(0, middle), (middle, len(content))]
    assert [at for start, stop in halves for at in bz2_stream_starts(io.BytesIO(content[start:]), start, stop)] == found
    monkeypatch.setattr("tiltmeter.storage.corpora.unpacking._SCAN_BYTES", 31)
    assert list(bz2_stream_starts(io.BytesIO(content[: found[3]]), 0, found[3])) == found[:3], "marks across blocks"


@pytest.mark.long
@pytest.mark.parametrize("span_megabytes", [0.01, 0.1, 0.7, None])
def test_multistream_spans_read_the_streams_that_begin_in_them(multistream, span_megabytes):
    """Also where each ends where a stream begins."""
    path, index = multistream
    source = source_of(path)
    starts = [*sorted({offset for offset, _ in index}), source.num_bytes]
    spans = split(source, span_megabytes) if span_megabytes else [Span(*ends) for ends in pairwise(starts)]
    assert len(spans) == (-(-source.num_bytes // int(span_megabytes * 1e6)) if span_megabytes else 12)
    for span in spans:
        expected = [page_id for offset, page_id in index if span.start <= offset < span.stop]
        assert [page.id for page in read_pages(source, span)] == expected


def test_only_the_span_that_meets_the_damage_fails(multistream, tmp_path):
    path, index = multistream
    content, offsets = path.read_bytes(), sorted({offset for offset, _ in index})
    damage = content[: offsets[7] + 500] + b"\xff" * 20 + content[offsets[7] + 520 :]
    source = source_of(written(tmp_path / "damaged.bz2", damage))
    ends = [0, *offsets[1:], len(content)]
    read = []
    for number, span in enumerate(Span(*pair) for pair in pairwise(ends)):
        if number == 7:
            with pytest.raises(InputError, match=r"damaged.bz2: cannot be read on from byte [\d,]+ of the compressed"):
                list(read_pages(source, span))
        else:
            read += [page.id for page in read_pages(source, span)]
    assert read == [page_id for offset, page_id in index if offset != offsets[7]]


def test_parquet_is_divided_at_its_row_groups(tmp_path):
    rows = {"id": [str(n) for n in range(100)], "url": ["u"] * 100, "title": ["t"] * 100, "text": ["ä\nb" * 50] * 100}
    pq.write_table(pa.table(rows), tmp_path / "pages", row_group_size=7, compression="none")
    source = source_of(tmp_path / "pages")
    sizes = [pq.read_metadata(tmp_path / "pages").row_group(number).total_byte_size for number in range(14)]
    low, high = min(sizes), max(sizes)
    for num_bytes, num_spans in ((10, 15), (10**6, 1), (2 * high + 9, 8), (3 * high + 9, 5), (3 * low - 9, 8)):
        spans = split(source, num_bytes / 1e6)
        assert len(spans) == num_spans
        assert _read(source, *spans)[0] == [Page(str(n), "t", "ä\nb" * 50, "article") for n in range(100)]


_PART = 50


@pytest.fixture(scope="module")
def long_lines(tmp_path_factory):
    """Plain text whose lines are far above the length from which they are cut, and what they hold."""
    lines = ["kurz", "größer " * 40, "x" * 333, "", "ö" * 200 + " y", "a " * 25, "b " * 24 + "bc", "é" * 25, "ende"]
    folder = tmp_path_factory.mktemp("long")
    content = "\n".join(lines)
    (folder / "plain").write_text(content)
    (folder / "gzip").write_bytes(gzip.compress(content.encode()))
    (folder / "UTF-16").write_text(content, "utf-16")
    return folder, lines


@pytest.mark.parametrize("name", ["plain", "gzip", "UTF-16"])
def test_a_long_line_of_text_is_read_in_parts_that_make_it_up(long_lines, name, monkeypatch):
    monkeypatch.setattr("tiltmeter.storage.corpora.lines.PART_LENGTH", _PART)
    folder, lines = long_lines
    source = source_of(folder / name, format="text")
    pages = _read(source, Span(0, source.num_bytes))[0]
    assert "".join(page.text for page in pages) == "".join(lines)
    assert max(len(page.text.encode()) for page in pages) <= _PART * (2 if name == "UTF-16" else 1)
    whole = [line for line in lines if line and len(line.encode()) <= _PART]
    assert [page.text for page in pages if page.text in whole] == whole, "shorter lines stay whole"
    assert all(page.text.endswith("größer ") for page in pages if page.text.startswith("größer")), "cut behind spaces"
    content = "\n".join(lines).encode()
    if name != "UTF-16":
        for page in pages:
            start = int(page.id.partition("@")[2])
            assert content[start:].startswith(page.text.encode()), "called by the place of the part"
    if name == "plain":
        for cuts in ([1], range(1, len(content), 7), range(40, len(content), 61), range(5, len(content), 200)):
            spans = [Span(*ends) for ends in pairwise([0, *cuts, len(content)])]
            assert _read(source, *spans)[0] == pages


_DOCUMENTS = {
    "jsonl": lambda text: json.dumps({"text": text}).encode(),
    "wikiextractor": lambda text: f'<doc id="1">\n{text}\n</doc>\n'.encode(),
    "mediawiki": lambda text: f"<mediawiki>{_wiki_page(1, text)}</mediawiki>".encode(),
    "parquet": lambda text: parquet({"text": ["short", text]}),
}
"""Files of each form with a text in them."""


@pytest.mark.parametrize("form", _DOCUMENTS)
def test_a_document_beyond_a_worker_s_memory_is_refused_with_the_setting(tmp_path, form):
    for num_bytes in (50_000, 400_000):
        source = source_of(written(tmp_path / f"document-{num_bytes}", _DOCUMENTS[form]("word " * (num_bytes // 5))))
        assert source.format == form
        pages = read_pages(source, split(source, 100)[0], 200_000)
        if num_bytes < 200_000:
            assert len(list(pages)[-1].text.strip()) == num_bytes - 1
        else:
            with pytest.raises(InputError, match=r"document-400000: .*200,000.* raise cluster\.worker_megabytes"):
                list(pages)
