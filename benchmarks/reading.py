"""Reading speed on one core: unpacking, XML, and from markup to plain text, each beside what else could do it.

    python -m benchmarks.reading [--megabytes <of markup per dump>] [<dump> ...]

Without dumps, it reads those that the gensim wheel carries and the mini-dumps of the development data. Speed is in MB
of UTF-8, unpacked, per second: the best of three passes for unpacking and XML, one pass for markup. Libraries that are
not installed (lxml, wikitextparser) are left out; the project needs neither.
"""

import argparse
import bz2
import gzip
import importlib
import importlib.util
import io
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import mwparserfromhell
import pyarrow as pa
from gensim.corpora.wikicorpus import filter_wiki
from gensim.test.utils import datapath

from tiltmeter.operators.text.wikitext import plain_lines
from tiltmeter.storage.corpora.corpora import CorpusConfig, Page, Source, Span, find_sources, read_pages

DATA = Path(os.environ.get("TILTMETER_DATA", Path(__file__).parents[1] / "../shared/data"))
DUMPS = [
    datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"),
    datapath("enwiki-table-markup.xml.bz2"),
    datapath("bgwiki-latest-pages-articles-shortened.xml.bz2"),
    *map(str, sorted(DATA.glob("corpora/mediawiki_xml/*.bz2"))),
]
CHUNK_BYTES = 2**17
NUM_PASSES = 3


def pages_of(path: str) -> tuple[Source, Iterator[Page]]:
    """A dump and its pages."""
    [source] = find_sources(CorpusConfig("benchmark", "en", path))
    return source, iter(read_pages(source, Span(0, source.num_bytes)))


def seconds_of(work: Callable[[], object]) -> float:
    """Of several passes the fastest."""
    times = []
    for _ in range(NUM_PASSES):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def is_installed(name: str) -> bool:
    """Whether a library can be compared with."""
    return importlib.util.find_spec(name) is not None


# --- unpacking ------------------------------------------------------------------------------------------------------


def unpack(reader: Callable[[Any], Any], data: Any) -> None:
    """Read packed data to the end."""
    stream = reader(data)
    while stream.read(CHUNK_BYTES):
        pass


def print_unpacking(content: bytes) -> None:
    """Python's own libraries and Arrow's, from memory to memory; gzip and zstd are Arrow's in a run, bzip2 is not."""
    packed = {"bz2": bz2.compress(content), "gzip": gzip.compress(content), "zstd": pa.compress(content, "zstd")}
    readers: list[tuple[str, str, Callable[[Any], Any]]] = [
        ("bz2", "bz2 (Python)", lambda data: bz2.BZ2File(io.BytesIO(data))),
        ("bz2", "bz2 (Arrow)", lambda data: pa.CompressedInputStream(pa.BufferReader(data), "bz2")),
        ("gzip", "gzip (Python)", lambda data: gzip.GzipFile(fileobj=io.BytesIO(data))),
        ("gzip", "gzip (Arrow)", lambda data: pa.CompressedInputStream(pa.BufferReader(data), "gzip")),
        ("zstd", "zstd (Arrow)", lambda data: pa.CompressedInputStream(pa.BufferReader(data), "zstd")),
    ]
    print("\nunpacking")
    for codec, name, reader in readers:
        seconds = seconds_of(partial(unpack, reader, packed[codec]))
        print(f"  {name:<32} {len(content) / 1e6 / seconds:8.1f} MB/s")


# --- XML ------------------------------------------------------------------------------------------------------------


def by_us(path: str) -> int:
    """Characters of markup, as a run reads them: expat's own interface, text checked and repaired."""
    return sum(len(page.text) for page in pages_of(path)[1])


def by_elementtree(path: str) -> int:
    """By the standard library's pull parser."""
    parser: ElementTree.XMLPullParser[Element] = ElementTree.XMLPullParser(("end",))
    num_characters = 0
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            parser.feed(chunk)
            for _, element in cast(Iterator[tuple[str, Element]], parser.read_events()):
                num_characters += len(element.text or "") if element.tag.endswith("}text") else 0
                if element.tag.endswith("}page"):
                    element.clear()
    return num_characters


def by_lxml(path: str) -> int:
    """By lxml's event parser."""
    num_characters = 0
    for _, page in importlib.import_module("lxml.etree").iterparse(path, tag="{*}page", huge_tree=True):
        num_characters += len(page.findtext("{*}revision/{*}text") or "")
        page.clear()
        while page.getprevious() is not None:
            del page.getparent()[0]
    return num_characters


def print_xml(content: bytes) -> None:
    """All parsers on the same plain file; they must agree."""
    parsers = {"ours (expat)": by_us, "ElementTree pull parser": by_elementtree}
    if is_installed("lxml"):
        parsers["lxml iterparse"] = by_lxml
    print("\nXML")
    with TemporaryDirectory() as folder:
        path = f"{folder}/dump.xml"
        Path(path).write_bytes(content)
        for name, parse in parsers.items():
            seconds = seconds_of(partial(parse, path))
            print(f"  {name:<32} {len(content) / 1e6 / seconds:8.1f} MB/s  {parse(path):>12,} characters of markup")


# --- markup ---------------------------------------------------------------------------------------------------------


def converters(media_prefixes: tuple[str, ...]) -> Mapping[str, Callable[[str], str]]:
    """Ways from the markup of a page to plain text."""
    ways: dict[str, Callable[[str], str]] = {
        "ours (tiltmeter.operators.text.wikitext)": lambda text: "\n".join(plain_lines(text, media_prefixes)),
        "gensim filter_wiki": filter_wiki,
        "mwparserfromhell strip_code": lambda text: str(mwparserfromhell.parse(text).strip_code()),
    }
    if is_installed("wikitextparser"):
        parse = importlib.import_module("wikitextparser").parse
        ways["wikitextparser plain_text"] = lambda text: str(parse(text).plain_text())
    return ways


def articles_of(path: str, max_bytes: float) -> tuple[Source, list[str]]:
    """The markup of the first articles of a dump."""
    source, pages = pages_of(path)
    texts: list[str] = []
    num_bytes = 0
    for page in pages:
        if page.kind == "article" and num_bytes < max_bytes:
            texts.append(page.text)
            num_bytes += len(page.text.encode())
    return source, texts


def print_markup(path: str, max_bytes: float) -> None:
    """Speed, and how much text each way gives: characters, and words between white space."""
    source, texts = articles_of(path, max_bytes)
    num_bytes = sum(len(text.encode()) for text in texts)
    print(f"\n{source.name}: {len(texts)} articles, {num_bytes / 1e6:.2f} MB of markup")
    for name, convert in converters(source.media_prefixes).items():
        started = time.perf_counter()
        plain = [convert(text) for text in texts]
        seconds = time.perf_counter() - started
        characters, words = sum(map(len, plain)), sum(len(text.split()) for text in plain)
        print(f"  {name:<32} {num_bytes / 1e6 / seconds:8.2f} MB/s  {characters:>10,} characters {words:>9,} words")


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dumps", nargs="*", default=DUMPS)
    parser.add_argument("--megabytes", type=float, default=2.0, help="of markup per dump, to keep the slow ones short")
    known = parser.parse_args()
    content = bz2.decompress(Path(DUMPS[0]).read_bytes())
    print_unpacking(content)
    print_xml(content)
    for path in known.dumps:
        print_markup(path, known.megabytes * 1e6)


if __name__ == "__main__":
    main()
