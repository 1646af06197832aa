import bz2
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.fixtures.corpora import pages, parts, source
from tiltmeter.storage.corpora.corpora import Page, Span, read_pages
from tiltmeter.storage.errors import InputError

_GENSIM = "package://gensim/test/test_data/"
_SITEINFO = """<siteinfo><namespaces>
<namespace key="-2">Medium</namespace><namespace key="0" /><namespace key="1">Diskussion</namespace>
<namespace key="6">Bildchen</namespace><namespace key="14">Rubrik</namespace>
</namespaces></siteinfo>"""

_DELETED = "<text deleted='deleted' />"


def _page(page_id: int, title: str, text: str, extra: str = "<ns>0</ns>") -> str:
    revision = f"<revision><id>{page_id + 900}</id><text xml:space='preserve'>{text}</text></revision>"
    return f"<page><title>{title}</title>{extra}<id>{page_id}</id>{revision}</page>"


def _dump(folder: Path, *pages: str, version: str = "0.10", encoding: str = "utf-8") -> Path:
    schema = f'xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}"'
    path = folder / "dump.xml"
    path.write_bytes(f"<mediawiki {schema}>{_SITEINFO}{''.join(pages)}</mediawiki>".encode(encoding))
    return path


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


@pytest.mark.parametrize("version", ["0.4", "0.10", "0.11"])
def test_pages_are_classed_and_none_is_dropped(tmp_path, version):
    path = _dump(
        tmp_path,
        _page(1, "Ada", "&lt;b&gt;&amp;amp;"),
        _page(2, "Augusta", "#WEITERLEITUNG [[Ada]]", '<ns>0</ns><redirect title="Ada" />'),
        _page(3, "Diskussion:Ada", "Hm.", "<ns>1</ns>"),
        _page(4, "Liste", "# eins [[Ada]]"),
        version=version,
    )
    assert pages(path) == [
        Page("1", "Ada", "<b>&amp;", "article"),
        Page("2", "Augusta", "#WEITERLEITUNG [[Ada]]", "redirect"),
        Page("3", "Diskussion:Ada", "Hm.", "other_namespace"),
        Page("4", "Liste", "# eins [[Ada]]", "article"),
    ]


@pytest.mark.parametrize("start", [0, 1])
def test_oldest_schemas_tell_by_text_and_title_in_every_span(tmp_path, start):
    written = {"Ada": "A [[b]].", "Augusta": "#ŪRL [[Ada]]", "Diskussion:Ada": "?", "2001: Odyssee": "x"}
    old = [_page(number, *page, extra="") for number, page in enumerate(written.items())]
    whole = source(_dump(tmp_path, *old, version="0.3"), "de")
    kinds = [page.kind for page in read_pages(whole, Span(start, whole.num_bytes))]
    assert kinds == ["article", "redirect", "other_namespace", "article"]


def test_the_last_revision_counts(tmp_path):
    """And one without text has none."""
    revisions = "".join(f"<revision><id>{i}</id><text>version {i}</text></revision>" for i in range(3))
    emptied = [f"<revision><text>x</text></revision><revision>{text}</revision>" for text in ("<text/>", _DELETED)]
    histories = [f"<page><title>A</title><ns>0</ns><id>1</id>{own}</page>" for own in (revisions, *emptied, "")]
    assert [page.text for page in pages(_dump(tmp_path, *histories))] == ["version 2", "", "", ""]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-be"])
def test_byte_order_marks_and_wide_characters(tmp_path, encoding):
    path = _dump(tmp_path, _page(1, "Größe", "wäre"), encoding=encoding)
    assert [(page.title, page.text) for page in pages(path)] == [("Größe", "wäre")]


@pytest.mark.parametrize(("encoding", "title"), [("koi8-r", "Мир"), ("GB18030", "世界"), ("us-ascii", "Welt")])
def test_declared_encodings_and_no_schema(tmp_path, encoding, title):
    path = tmp_path / "dump.xml"
    xml = f'<?xml version="1.0" encoding="{encoding}"?><mediawiki>{_page(1, title, "x")}</mediawiki>'
    path.write_bytes(xml.encode(encoding))
    assert pages(path) == [Page("1", title, "x", "article")]


def test_elements_with_a_prefix(tmp_path):
    path = tmp_path / "dump.xml"
    xml = re.sub(r"<(/?)(?=\w)", r"<\1w:", _dump(tmp_path, _page(1, "Ada", "x")).read_text())
    path.write_text(xml.replace("xmlns=", "xmlns:w="))
    assert pages(path) == [Page("1", "Ada", "x", "article")]


def test_media_prefixes_are_the_dumps_own_and_those_of_other_languages(tmp_path):
    path = _dump(tmp_path, _page(1, "Ada", "a"))
    prefixes = source(path).media_prefixes
    assert {"Bildchen", "Rubrik", "Datei", "Catégorie", "Файл", "分类"} <= set(prefixes)
    assert not {"Medium", "Diskussion", ""} & set(prefixes)
    assert list(prefixes) == sorted(prefixes)
    path.write_text(path.read_text().replace(_SITEINFO, ""))
    assert "Datei" in source(path).media_prefixes


def test_invalid_bytes_and_characters_are_replaced_and_counted(tmp_path):
    path = _dump(tmp_path, _page(1, "Ada", "a?b?c\N{REPLACEMENT CHARACTER}?"))
    content = path.read_bytes().replace(b"a?b?c", b"a\xe4b\x0bc").replace(b"\xbd?", b"\xbd\xef\xbf\xbf")
    path.write_bytes(content)
    [part] = parts(source(path))
    assert [page.text for page in part] == ["a\ufffdb\ufffdc\ufffd\ufffd"]
    assert part.num_replaced == 3


@pytest.mark.parametrize(("cut", "unread"), [(1, 12), (40, 40), (3000, 3000)])
def test_xml_that_breaks_off_is_refused_after_its_last_whole_page(tmp_path, cut, unread):
    path = _dump(tmp_path, _page(1, "Ada", "first\n" * 30_000), _page(2, "Bob", "second" * 1000))
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    broken, middle = source(path), len(content) // 2
    message = rf"^{path}: the XML breaks off or is damaged near byte {len(content) - unread:,}: "
    read = iter(read_pages(broken, Span(0, broken.num_bytes)))
    assert next(read).id == "1"
    assert [page.id for page in read_pages(broken, Span(0, middle))] == ["1"]
    for rest in (read, read_pages(broken, Span(middle, broken.num_bytes))):
        with pytest.raises(InputError, match=message):
            list(rest)


def test_damage_in_a_compressed_dump_is_named_where_it_lies(tmp_path):
    path = tmp_path / "dump.bz2"
    text = "".join(map(str, range(100_000)))
    content = _dump(tmp_path, _page(1, "Ada", text), _page(2, "Bob", text)).read_bytes()
    path.write_bytes(bz2.compress(content)[:-30])
    with pytest.raises(InputError, match=rf"dump.bz2: cannot be read on from byte {path.stat().st_size:,} of the comp"):
        pages(path)
    path.write_bytes(bz2.compress(content[:-20]))
    with pytest.raises(InputError, match=rf"damaged near byte {path.stat().st_size:,} of the compressed file: un"):
        pages(path)


def _revisions(*moments: str) -> str:
    written = (f"<revision><timestamp>{moment}</timestamp><text>of {moment}</text></revision>" for moment in moments)
    return f"<page><title>Ada</title><ns>0</ns><id>1</id>{''.join(written)}</page>"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_history_gives_its_newest_revision_whatever_their_order(tmp_path, order):
    moments = [f"20{year}-01-15T13:10:27Z" for year in ("01", "02", "11")]
    [page] = pages(_dump(tmp_path, _revisions(*(moments[number] for number in order))))
    assert (page.text, page.timestamp) == (f"of {moments[2]}", moments[2])


_BROKEN = {
    "ampersand": _page(5, "Bo & Co", "text"),
    "mismatched": _page(5, "Bob", "text").replace("</id>", "</di>"),
    "attribute": _page(5, "Bob", "text").replace("'preserve'", "preserve"),
    "unended": _page(5, "Bob", "text").removesuffix("</page>"),
    "unended text": _page(5, "Bob", "text").removesuffix("</text></revision></page>"),
    "stray end": _page(5, "Bob", "text").replace("<ns>0</ns>", "</page>"),
    "no id": _page(5, "Bob", "text").replace("<id>5</id>", ""),
}


@pytest.mark.parametrize("broken", _BROKEN.values(), ids=_BROKEN)
@pytest.mark.parametrize("number", [0, 2, 4])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_broken_page_costs_itself_whatever_the_spans(tmp_path, broken, number, encoding):
    written = [_page(number, f"Ä{number}", "text") for number in range(4)]
    written.insert(number, broken)
    path, is_nameless = (
        _dump(tmp_path, *written, encoding=encoding),
        "</title><id>5" in broken.replace("<ns>0</ns>", ""),
    )
    for megabytes in (1, 1e-4, 3e-4):
        read = parts(source(path, format="mediawiki"), megabytes)
        assert [page.id for part in read for page in part] == ["0", "1", "2", "3"]
        row, *others = [row for part in read for row in part.bad.rows()]
        assert row["num"] == 1
        assert len(others) == ("</page><id>5" in broken)
        assert re.fullmatch(r"near byte [\d,]+" if is_nameless else "the page titled 'Bob'", row["first"])


def test_the_place_of_a_broken_page_is_its_byte(tmp_path):
    path = _dump(tmp_path, _page(1, "Ada", "ä"), _page(2, "x", "a & b"), _page(3, "Bob", "b"), _page(4, "y", "c & d"))
    [part] = parts(source(path))
    assert [page.id for page in part] == ["1", "3"]
    first = path.read_bytes().index(b"& b") + 1
    assert [(row["num"], row["first"]) for row in part.bad.rows()] == [(2, f"near byte {first:,}")]
