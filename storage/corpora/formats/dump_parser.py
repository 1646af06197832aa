"""The XML of MediaWiki dumps, piece by piece: what the header says, and the pages."""

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from tiltmeter.storage.corpora.pages import Page, PageKind, Repairs, too_large
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted

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

FIELDS = ("namespace", "category", "timestamp")
"""By which pages of a dump can be told apart."""

_MAIN = "main"
"""What the namespace of articles is called, which has no name."""

_PARENTS = dict.fromkeys(("title", "ns", "id", "redirect"), "page") | dict.fromkeys(("text", "timestamp"), "revision")
"""The elements that are read of a page, and the element in which each lies."""

_MAX_HEADER_BYTES = 2**24
_MAX_TOKEN_BYTES = 2**20
_MAX_DEPTH = 64
_SHOWN_CHARACTERS = 100
_MAX_TEXT = 2**28
"""Characters; MediaWiki itself saves no page of more than 2 MiB."""


@dataclass
class Header:
    """What a dump says before its first page.

    Attributes:
        version: of the schema.
        namespaces: key of each namespace by its name.
        base: address of the wiki's first page, such as ``https://simple.wikipedia.org/wiki/Main_Page``.
    """

    version: str = ""
    namespaces: dict[str, str] = field(default_factory=dict)
    base: str = ""

    def media_prefixes(self) -> tuple[str, ...]:
        """Names of the file and category namespaces: the dump's own, and what other languages call them."""
        declared = {name for name, key in self.namespaces.items() if key in (_FILES, _CATEGORIES)}
        return tuple(sorted(declared.union(_LOCAL_NAMES.split())))


class DumpParser:
    """Collects header and pages while it is fed, and refuses what would fill the memory on the way.

    Expat fetches no external entity and bounds the internal ones.

    Args:
        uri: of the dump, for messages.
        header: what is known of it.
        repairs: keeps count of pages that are left out.
        text_characters: above which the text of a page is refused.
        field: of :data:`FIELDS`, whose value pages come with.

    Attributes:
        header: what is known so far.
        header_ended: whether nothing can be added to it.
        pages: those that were completed and not yet taken.
    """

    def __init__(
        self, uri: str, header: Header, repairs: Repairs, text_characters: int = _MAX_TEXT, field: str | None = None
    ) -> None:
        self.header, self.header_ended = header, False
        self.pages: list[Page] = []
        self._uri, self._repairs, self._text_characters, self._field = uri, repairs, text_characters, field
        self._path: list[str] = []
        self._text: list[str] = []
        self._num_characters = self._num_fed = 0
        self._fields: dict[str, str] = {}
        self._revision: dict[str, str] = {}
        self._nested: int | None = None
        self._namespace = _ARTICLES
        self._expat = expat.ParserCreate("utf-8")
        self._expat.buffer_text, self._expat.buffer_size = True, 2**16
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._add

    @property
    def is_in_page(self) -> bool:
        """Whether a page has begun that has not ended."""
        return "page" in self._path

    @property
    def num_bytes(self) -> int:
        """How many bytes of UTF-8 were parsed before an error."""
        return self._expat.ErrorByteIndex if self._nested is None else self._nested

    def feed(self, content: bytes) -> None:
        """Parse on.

        Raises:
            ExpatError: if it is not well-formed, or a page begins within another.
            InputError: if the header, a tag, a comment or a page's text never ends, or elements go too deep.
        """
        self._expat.Parse(content, False)
        self._num_fed += len(content)
        if not self.header_ended and self._num_fed > _MAX_HEADER_BYTES:
            raise self._endless("header", f"{_MAX_HEADER_BYTES:,} bytes")
        # Expat looks through what is unfinished again and again.
        if self._num_fed - self._expat.CurrentByteIndex > _MAX_TOKEN_BYTES:
            raise self._endless("tag or comment", f"{_MAX_TOKEN_BYTES:,} bytes")

    def finish(self) -> None:
        """Nothing follows any more."""
        self._expat.Parse(b"", True)

    def _endless(self, what: str, most: str) -> InputError:
        return InputError(f"{redacted(self._uri)}: its XML has a {what} of more than {most}: this is no MediaWiki dump")

    def _add(self, text: str) -> None:
        self._num_characters += len(text)
        if self._num_characters > (most := min(self._text_characters, _MAX_TEXT)):
            raise too_large(f"{redacted(self._uri)}: its XML has a text of more than {most:,} characters")
        self._text.append(text)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "page":
            if self.is_in_page:
                self._nested = self._expat.CurrentByteIndex
                error = expat.ExpatError("a page does not end")
                error.code = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]
                raise error
            self.header_ended = True
            self._fields.clear()
        elif name == "revision":
            self._revision = {}
        elif name == "namespace":
            self._namespace = attributes.get("key", _ARTICLES)
        elif not self._path:
            self._begin(name, attributes)
        self._path.append(name)
        if len(self._path) > _MAX_DEPTH:
            raise self._endless("nest", f"{_MAX_DEPTH} elements")
        self._text.clear()
        self._num_characters = 0

    def _begin(self, outermost: str, attributes: dict[str, str]) -> None:
        if outermost != "mediawiki":
            raise InputError(
                f"{redacted(self._uri)}: is XML, but its outermost element is <{outermost}>, not <mediawiki>"
            )
        self.header.version = attributes.get("version", self.header.version)

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        self._path.pop()
        if name in _PARENTS and self._path[-1] == _PARENTS[name]:
            fields = self._fields if _PARENTS[name] == "page" else self._revision
            fields[name] = "".join(self._text)
        elif name == "revision" and self._revision.get("timestamp", "") >= self._fields.get("timestamp", ""):
            self._fields |= {"text": "", "timestamp": "", **self._revision}
        elif name == "namespace" and self._text:
            self.header.namespaces["".join(self._text)] = self._namespace
        elif name == "base" and not self.header_ended:
            self.header.base = "".join(self._text).strip()
        elif name == "siteinfo":
            self.header_ended = True
        elif name == "page":
            self._end_page()

    def _end_page(self) -> None:
        title, page_id = self._fields.get("title", ""), self._fields.get("id", "").strip()
        if not page_id:
            self._repairs.leave_out("a page without an id", f"the page titled {title[:_SHOWN_CHARACTERS]!r}")
            return
        kind, value = _kind(self._fields, self.header), self._value()
        if self._field == "namespace" and kind == "other_namespace":
            kind = "article"
        text, timestamp = self._fields.get("text", ""), self._fields.get("timestamp", "")
        self.pages.append(Page(page_id, title, text, kind, value, timestamp))

    def _value(self) -> object:
        match self._field:
            case "namespace":
                key = _namespace(self._fields, self.header)
                names = {key: name for name, key in self.header.namespaces.items() if name}
                return _MAIN if key == _ARTICLES else names.get(key, key)
            case "category":
                return categories(self._fields.get("text", ""), self.header)
            case "timestamp":
                return self._fields.get("timestamp") or None
            case _:
                return None


def categories(text: str, header: Header) -> list[str]:
    """The categories that the markup of a page names, as MediaWiki writes them.

    >>> categories("[[Category:law]] [[category: Old_books|x]] [[:Category:art]]", Header())
    ['Law', 'Old books']
    """
    names = {"Category"} | {name for name, key in header.namespaces.items() if key == _CATEGORIES}
    pattern = rf"\[\[\s*(?:{'|'.join(map(re.escape, sorted(names)))})\s*:\s*([^\[\]|{{}}]+)"
    spelled = (" ".join(name.replace("_", " ").split()) for name in re.findall(pattern, text, re.IGNORECASE))
    return [name[0].upper() + name[1:] for name in spelled if name]


def _kind(fields: dict[str, str], header: Header) -> PageKind:
    """A redirect is one in any namespace. Early schemas mark neither: there the text and the title tell."""
    unmarked = header.version in _UNMARKED_REDIRECTS and _REDIRECT_TEXT.match(fields.get("text", ""))
    if "redirect" in fields or unmarked:
        return "redirect"
    return "article" if _namespace(fields, header) == _ARTICLES else "other_namespace"


def _namespace(fields: dict[str, str], header: Header) -> str:
    """Its key."""
    prefix, colon, _ = fields.get("title", "").partition(":")
    implied = header.namespaces.get(prefix, _ARTICLES) if colon else _ARTICLES
    return fields.get("ns", implied).strip()
