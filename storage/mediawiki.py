"""MediaWiki XML dumps, as made by Special:Export and dumps.wikimedia.org, of any schema version."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from storage.pages import CorpusError, Page, PageKind, opened

_CHUNK_BYTES = 65536
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


def media_prefixes(path: Path) -> frozenset[str]:
    """Names of the file and category namespaces: the dump's own, and what other languages call them.

    Raises:
        CorpusError: if the file is no MediaWiki dump or breaks off in its header.
    """
    own: frozenset[str] = frozenset()
    with opened(path) as stream:
        for event, element in _events_within_root(stream, path):
            name = _local_name(element)
            if event == "start" and name == "page":
                break
            if event == "end" and name == "siteinfo":
                own = frozenset(name for name, key in _namespaces(element).items() if key in (_FILES, _CATEGORIES))
                break
    return own | frozenset(_LOCAL_NAMES.split())


def read_dump(path: Path) -> Iterator[Page]:
    """Every page of a dump in file order, with the text of its last revision; memory stays flat.

    Raises:
        CorpusError: if the file is no MediaWiki dump, breaks off, or has a page without an id.
    """
    namespaces: dict[str, str] = {}
    text = ""
    with opened(path) as stream:
        events = _events_within_root(stream, path)
        _, root = next(events)
        marks_redirects = root.get("version") not in _UNMARKED_REDIRECTS
        for event, element in events:
            name = _local_name(element) if event == "end" else ""
            if name == "siteinfo":
                namespaces = _namespaces(element)
            elif name == "revision":
                text = _child(element, "text") or ""
                element.clear()
            elif name == "page":
                title, page_id = _child(element, "title") or "", _child(element, "id")
                if not page_id:
                    raise CorpusError(f"{path}: the page titled {title!r} has no <id>")
                yield Page(page_id.strip(), title, text, _kind(element, title, text, namespaces, marks_redirects))
                text = ""
                root.clear()


def _events_within_root(stream: BinaryIO, path: Path) -> Iterator[tuple[str, Element]]:
    for number, (event, element) in enumerate(_events(stream, path)):
        if number == 0 and _local_name(element) != "mediawiki":
            raise CorpusError(f"{path}: is XML, but its outermost element is <{element.tag}>, not <mediawiki>")
        yield event, element


def _events(stream: BinaryIO, path: Path) -> Iterator[tuple[str, Element]]:
    """Parse events in file order. Expat fetches no external entity and bounds the expansion of internal ones."""
    parser: ElementTree.XMLPullParser[Element] = ElementTree.XMLPullParser(("start", "end"))
    try:
        while chunk := stream.read(_CHUNK_BYTES):
            parser.feed(chunk)
            yield from cast(Iterator[tuple[str, Element]], parser.read_events())
        parser.close()
        yield from cast(Iterator[tuple[str, Element]], parser.read_events())
    except ElementTree.ParseError as error:
        line, column = error.position
        raise CorpusError(
            f"{path}: the XML breaks off or is damaged at line {line}, column {column}: {error}"
        ) from error
    except (LookupError, ValueError) as error:
        raise CorpusError(f"{path}: the XML declares an encoding that cannot be read: {error}; use UTF-8") from error


def _kind(page: Element, title: str, text: str, namespaces: dict[str, str], marks_redirects: bool) -> PageKind:
    """A redirect is one in any namespace. Early schemas mark neither: there the text and the title tell."""
    if _child(page, "redirect") is not None if marks_redirects else _REDIRECT_TEXT.match(text):
        return "redirect"
    prefix, colon, _ = title.partition(":")
    implied = namespaces.get(prefix, _ARTICLES) if colon else _ARTICLES
    return "article" if (_child(page, "ns") or implied).strip() == _ARTICLES else "other_namespace"


def _namespaces(siteinfo: Element) -> dict[str, str]:
    elements = (element for element in siteinfo.iter() if _local_name(element) == "namespace")
    return {element.text: element.get("key", _ARTICLES) for element in elements if element.text}


def _local_name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _child(element: Element, name: str) -> str | None:
    """Text of a direct child of the same schema: empty if the child is, None if there is none."""
    schema, brace, _ = element.tag.rpartition("}")
    return element.findtext(f"{schema}{brace}{name}")
