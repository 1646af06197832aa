"""MediaWiki XML dumps, as made by Special:Export and dumps.wikimedia.org, of any schema version.

A page belongs to the span in which its ``<page>`` begins. Markup is escaped in a dump, so that these six characters are
nothing else, and a span needs no index to find its first page.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from xml.parsers import expat

from storage.decoding import REPLACEMENT, Decoder
from storage.files import shown
from storage.pages import Compression, CorpusError, Page, PageKind, Repairs, Source, Span
from storage.unpacking import Unpacked

_PAGE = b"<page>"
_ROOT, _END = "<mediawiki>", "</mediawiki>"
_ARTICLES, _FILES, _CATEGORIES = "0", "6", "14"

_LOCAL_NAMES = """
    Afbeelding Archivo Arquivo Berkas Bestand Bild Bilde Billede Categoria Categorie Categoría Catégorie Datei Datoteka
    Dencukaay Dosiero Dosya Fichier Ficheiro Fil Fitxategi Fitxer Fișier Fişier Fájl Gambar Grafika Hình Imagem Imagen
    Imatge Immagine Irudi Jamii Kaarangay Kategori Kategoria Kategorie Kategorija Kategorio Kategória Kuva Kép Luokka
    Obrázek Picha Plik Resim Slika Soubor Tiedosto Tập_tin Thể_loại Wàll
    Αρχείο Εικόνα Κατηγορία Файл Изображение Категория Картинка Категорія Зображення Датотека Категорија Слика
    קובץ קטגוריה תמונה ملف تصنيف صورة پرونده رده تصویر فائل زمرہ चित्र श्रेणी চিত্র বিষয়শ্রেণী ไฟล์ หมวดหมู่ ภาพ
    ファイル カテゴリ 画像 파일 분류 그림 文件 檔案 档案 图像 圖像 图片 圖片 分类 分類
"""
"""File and category namespaces in other languages, with former names (MediaWiki, languages/messages/Messages*.php).

A dump declares its current names only, old links keep the former ones, and extracts made with another wiki's header
declare the wrong ones.
"""

_UNMARKED_REDIRECTS = frozenset({"0.1", "0.2", "0.3"})
_REDIRECT_TEXT = re.compile(r"\s*#[^\s\[\]#]+\s*:?\s*\[\[")

_NO_XML_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r"))

_PARENTS = {"title": "page", "ns": "page", "id": "page", "redirect": "page", "text": "revision"}
"""The elements that are read of a page, and the element in which each lies."""


@dataclass
class Header:
    """What a dump says before its first page.

    Attributes:
        version: of the schema.
        namespaces: key of each namespace by its name.
    """

    version: str = ""
    namespaces: dict[str, str] = field(default_factory=dict)

    def media_prefixes(self) -> tuple[str, ...]:
        """Names of the file and category namespaces: the dump's own, and what other languages call them."""
        own = {name for name, key in self.namespaces.items() if key in (_FILES, _CATEGORIES)}
        return tuple(sorted(own.union(_LOCAL_NAMES.split())))


def read_header(uri: str, compression: Compression, encoding: str) -> Header:
    """What a dump says before its first page.

    Raises:
        CorpusError: if the file is no MediaWiki dump or breaks off in its header.
    """
    unpacked = Unpacked(uri, compression, 0, 1)
    parser = _DumpParser(uri, Header())
    try:
        for text in _texts((chunk for _, chunk in unpacked), Decoder(encoding, Repairs()), Repairs()):
            parser.feed(text)
            if parser.header_ended:
                return parser.header
        parser.finish()
    except expat.ExpatError as error:
        if not parser.header_ended:  # damage behind the header is for those who read the pages
            raise _damage(uri, unpacked.place(parser.num_bytes), error) from error
    return parser.header


def read_dump(source: Source, span: Span, repairs: Repairs) -> Iterator[Page]:
    """Every page that begins in a span, in file order, with the text of its last revision; memory stays flat.

    Raises:
        CorpusError: if the file breaks off or is damaged before the last of these pages ends, or one has no id.
    """
    parser = _DumpParser(source.uri, _header_of(source) if span.start else Header())
    unpacked = Unpacked(source.uri, source.compression, span.start, span.stop)
    pieces = _Pieces(unpacked, parser, at_page=span.start > 0)
    try:
        yield from _pages(parser, pieces, Decoder(source.encoding, repairs), repairs)
    except expat.ExpatError as error:
        raise _damage(source.uri, pieces.place(parser.num_bytes), error) from error


@lru_cache(maxsize=64)
def _header_of(source: Source) -> Header:
    """Many spans need the same one."""
    return read_header(source.uri, source.compression, source.encoding)


def _pages(parser: "_DumpParser", pieces: "_Pieces", decoder: Decoder, repairs: Repairs) -> Iterator[Page]:
    if pieces.at_page:
        parser.feed(_ROOT)
    for text in _texts(pieces, decoder, repairs):
        parser.feed(text)
        yield from parser.pages
        parser.pages.clear()
    if pieces.ended_at_page:
        parser.feed(_END)
    parser.finish()


def _texts(pieces: Iterable[bytes], decoder: Decoder, repairs: Repairs) -> Iterator[str]:
    """Text that XML allows."""
    for piece in pieces:
        text = decoder.decode(piece)
        # The quick look takes a tenth of the time of the thorough one.
        if len(piece.translate(None, _CONTROL_BYTES)) < len(piece) or "\ufffe" in text or "\uffff" in text:
            text, num_replaced = _NO_XML_CHARACTER.subn(REPLACEMENT, text)
            repairs.num_replaced += num_replaced
        yield text
    yield decoder.decode(b"", final=True)


def _damage(uri: str, place: str, error: expat.ExpatError) -> CorpusError:
    reason = expat.errors.messages[error.code]
    return CorpusError(f"{shown(uri)}: the XML breaks off or is damaged near {place}: {reason}")


class _Pieces:
    """The bytes of a span's pages: from its first ``<page>``, or the beginning of the file, to that of the next span.

    Attributes:
        at_page: whether they begin with a page.
        ended_at_page: whether it is the next span that ended them, and not the file.
    """

    def __init__(self, unpacked: Unpacked, parser: "_DumpParser", *, at_page: bool) -> None:
        self.at_page, self.ended_at_page = at_page, False
        self._unpacked, self._parser = unpacked, parser
        self._first = 0

    def __iter__(self) -> Iterator[bytes]:
        return self._up_to_next(self._readable(self._from_first() if self.at_page else iter(self._unpacked)))

    def place(self, num_bytes: int) -> str:
        """Where the byte lies after so many that were parsed, for messages."""
        return self._unpacked.place(self._first + num_bytes)

    def _from_first(self) -> Iterator[tuple[int, bytes]]:
        rest, chunks = b"", iter(self._unpacked)
        for offset, chunk in chunks:
            window, begin = rest + chunk, offset - len(rest)
            found = window.find(_PAGE)
            if found >= 0 and begin + found < self._unpacked.limit:
                self._first = begin + found - len(_ROOT)
                yield begin + found, window[found:]
                yield from chunks
                return
            rest = window[1 - len(_PAGE) :]
            if begin + len(window) - len(rest) >= self._unpacked.limit:
                break
        self.ended_at_page = True

    def _readable(self, chunks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """What can be read; damage beyond the last page of this span is for the next."""
        try:
            yield from chunks
        except CorpusError:
            if not self._unpacked.is_beyond or self._parser.is_in_page:
                raise
            self.ended_at_page = True

    def _up_to_next(self, chunks: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
        rest = b""
        for offset, chunk in chunks:
            window, begin = rest + chunk, offset - len(rest)
            num_beyond = begin + len(window) - self._unpacked.limit
            rest = b""
            if num_beyond > 0:
                found = window.find(_PAGE, max(len(window) - int(num_beyond), 0))
                if found >= 0:
                    yield window[:found]
                    self.ended_at_page = True
                    return
                rest = window[-min(len(_PAGE) - 1, int(num_beyond)) :]
            yield window[: len(window) - len(rest)]
        if not self.ended_at_page:
            yield rest


class _DumpParser:
    """Collects header and pages while it is fed. Expat fetches no external entity and bounds the internal ones.

    Attributes:
        header: what is known so far.
        header_ended: whether nothing can be added to it.
        pages: those that were completed and not yet taken.
    """

    def __init__(self, uri: str, header: Header) -> None:
        self.header, self.header_ended = header, False
        self.pages: list[Page] = []
        self._uri = uri
        self._path: list[str] = []
        self._text: list[str] = []
        self._fields: dict[str, str] = {}
        self._namespace = _ARTICLES
        self._expat = expat.ParserCreate()
        self._expat.buffer_text, self._expat.buffer_size = True, 2**16
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text.append

    @property
    def is_in_page(self) -> bool:
        """Whether a page has begun that has not ended."""
        return "page" in self._path

    @property
    def num_bytes(self) -> int:
        """How many bytes of UTF-8 were parsed before an error."""
        return self._expat.ErrorByteIndex

    def feed(self, text: str) -> None:
        """Parse on."""
        self._expat.Parse(text, False)

    def finish(self) -> None:
        """Nothing follows any more."""
        self._expat.Parse("", True)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "page":
            self.header_ended = True
            self._fields.clear()
        elif name == "revision":
            self._fields["text"] = ""
        elif name == "namespace":
            self._namespace = attributes.get("key", _ARTICLES)
        elif not self._path:
            self._begin(name, attributes)
        self._path.append(name)
        self._text.clear()

    def _begin(self, outermost: str, attributes: dict[str, str]) -> None:
        if outermost != "mediawiki":
            raise CorpusError(
                f"{shown(self._uri)}: is XML, but its outermost element is <{outermost}>, not <mediawiki>"
            )
        self.header.version = attributes.get("version", self.header.version)

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        self._path.pop()
        if name in _PARENTS and self._path[-1] == _PARENTS[name]:
            self._fields[name] = "".join(self._text)
        elif name == "namespace" and self._text:
            self.header.namespaces["".join(self._text)] = self._namespace
        elif name == "siteinfo":
            self.header_ended = True
        elif name == "page":
            self.pages.append(self._page())

    def _page(self) -> Page:
        title, page_id = self._fields.get("title", ""), self._fields.get("id", "").strip()
        if not page_id:
            raise CorpusError(f"{shown(self._uri)}: the page titled {title!r} has no <id>")
        return Page(page_id, title, self._fields.get("text", ""), _kind(self._fields, self.header))


def _kind(fields: dict[str, str], header: Header) -> PageKind:
    """A redirect is one in any namespace. Early schemas mark neither: there the text and the title tell."""
    unmarked = header.version in _UNMARKED_REDIRECTS and _REDIRECT_TEXT.match(fields.get("text", ""))
    if "redirect" in fields or unmarked:
        return "redirect"
    prefix, colon, _ = fields.get("title", "").partition(":")
    implied = header.namespaces.get(prefix, _ARTICLES) if colon else _ARTICLES
    return "article" if fields.get("ns", implied).strip() == _ARTICLES else "other_namespace"
