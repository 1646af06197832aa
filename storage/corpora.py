"""Corpora: where they lie, how they are recognised, and their pages one after the other."""

import hashlib
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import pydantic
from pydantic import ConfigDict, Field

from storage.jsonlines import read_json_lines
from storage.mediawiki import media_prefixes, read_dump
from storage.pages import CorpusError, Page, PageKind, head

__all__ = ["CorpusConfig", "CorpusError", "Page", "PageKind", "Source", "locate", "read_pages", "source_digest"]

_PACKAGE_SCHEME = "package://"
_RECOGNITION_BYTES = 65536
_MAX_BITMAP_ID = 2**28

Format = Literal["mediawiki", "jsonl"]
Markup = Literal["wikitext", "plain"]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CorpusConfig:
    """One corpus.

    Attributes:
        name: what tables and reports call it, e.g. ``enwiki_sample``.
        language: lower-case language code, e.g. ``en``, ``zh``, ``pt-br``.
        path: a local file, or ``package://<package>/<file>`` for one that an installed Python package carries.
        format: ``auto`` looks at the content.
        shard_megabytes: text of a shard, the unit of parsing and counting, in megabytes of UTF-8; memory per worker
            follows it. At most 1000: the offsets of an Arrow string column have 32 bits.
    """

    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$")]
    path: Annotated[str, Field(min_length=1)]
    format: Literal["auto", "mediawiki", "jsonl"] = "auto"
    shard_megabytes: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 4.0


@dataclass(frozen=True)
class Source:
    """An opened corpus.

    Attributes:
        path: the file itself.
        markup: whether a page's text is MediaWiki markup or plain lines.
        media_prefixes: names of the file and category namespaces, for :func:`operators.wikitext.plain_lines`.
        pages: every page once, in file order; raises :class:`CorpusError` where the file is damaged or repeats an id,
            and at its end if it held no article.
    """

    path: Path
    markup: Markup
    media_prefixes: frozenset[str]
    pages: Iterator[Page]


def read_pages(config: CorpusConfig) -> Source:
    """Opens a corpus; pages are read as they are asked for, and memory stays flat.

    Raises:
        CorpusError: if the file is missing, empty, or of no known format.
    """
    path = locate(config)
    if (_recognised(path) if config.format == "auto" else config.format) == "mediawiki":
        return Source(path, "wikitext", media_prefixes(path), _checked(read_dump(path), path))
    return Source(path, "plain", frozenset(), _checked(read_json_lines(path), path))


def locate(config: CorpusConfig) -> Path:
    """The absolute path of a corpus.

    Raises:
        CorpusError: if ``corpus.path`` names no file, an empty file, or a package that is not installed.
    """
    where = f"corpus.path={config.path}"
    path = _in_package(config.path) if config.path.startswith(_PACKAGE_SCHEME) else Path(config.path).expanduser()
    if not path.exists():
        raise CorpusError(
            f"{where}: there is no file {path.absolute()}; set corpus.path to a dump or a JSON-lines file"
        )
    if not path.is_file():
        raise CorpusError(f"{where}: {path.absolute()} is not a file; set corpus.path to one dump or JSON-lines file")
    if path.stat().st_size == 0:
        raise CorpusError(f"{where}: {path.absolute()} is empty (0 bytes)")
    return path.absolute()


def source_digest(path: Path) -> str:
    """BLAKE2b of a file's bytes as they lie on disk: 32 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _in_package(uri: str) -> Path:
    """Asks only where the top-level package lies, which does not import it."""
    package, _, inside = uri.removeprefix(_PACKAGE_SCHEME).partition("/")
    if not package.isidentifier() or not inside or ".." in PurePosixPath(inside).parts:
        raise CorpusError(f"corpus.path={uri}: must read package://<package>/<file inside it>")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CorpusError(f"corpus.path={uri}: no package {package!r} is installed; install it or set corpus.path")
    places = [Path(folder) / inside for folder in spec.submodule_search_locations]
    return next((place for place in places if place.exists()), places[0])


def _recognised(path: Path) -> Format:
    start = head(path, _RECOGNITION_BYTES)
    content = start.decode(json.detect_encoding(start), errors="ignore").lstrip("\ufeff \t\r\n")
    if content.startswith("<doc "):
        raise CorpusError(
            f"{path}: is WikiExtractor's <doc> format; run WikiExtractor with --json and take its JSON lines"
        )
    if content.startswith("<"):
        return "mediawiki"
    if content.startswith("{"):
        return "jsonl"
    raise CorpusError(
        f"{path}: neither a MediaWiki XML dump nor JSON lines (plain, bz2 or gz): it begins with {content[:40]!r}"
    )


def _checked(pages: Iterator[Page], path: Path) -> Iterator[Page]:
    seen, num_pages, num_articles = _SeenIds(), 0, 0
    for page in pages:
        if seen.check_in(page.id):
            raise CorpusError(f"{path}: id {page.id!r} comes twice, again at page {num_pages + 1} ({page.title!r})")
        num_pages, num_articles = num_pages + 1, num_articles + (page.kind == "article")
        yield page
    if not num_articles:
        raise CorpusError(f"{path}: holds no article, only {num_pages} redirects and pages of other namespaces")


class _SeenIds:
    """Which ids have come. Page ids are whole numbers: one bit each holds a whole Wikipedia in ten megabytes."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self._others: set[str] = set()

    def check_in(self, page_id: str) -> bool:
        """Whether the id has come before; from now on it has."""
        number = int(page_id) if page_id.isascii() and page_id.isdigit() and len(page_id) < 10 else -1
        if str(number) != page_id or number >= _MAX_BITMAP_ID:
            known = page_id in self._others
            self._others.add(page_id)
            return known
        byte, bit = number >> 3, 1 << (number & 7)
        self._bits.extend(bytes(max(0, byte + 1 - len(self._bits))))
        known = bool(self._bits[byte] & bit)
        self._bits[byte] |= bit
        return known
