import bz2
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.fixtures.corpora import pages, parts, source
from tiltmeter.storage.corpora.corpora import Span, read_pages
from tiltmeter.storage.errors import InputError

_GENSIM = "package://gensim/test/test_data/"
_SITEINFO = """<siteinfo><namespaces>
<namespace key="-2">Medium</namespace><namespace key="0" /><namespace key="1">Diskussion</namespace>
<namespace key="6">Bildchen</namespace><namespace key="14">Rubrik</namespace>
</namespaces></siteinfo>"""


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


@pytest.mark.parametrize("start", [0, 1])
def test_oldest_schemas_tell_by_text_and_title_in_every_span(tmp_path, start):
    written = {"Ada": "A [[b]].", "Augusta": "#ŪRL [[Ada]]", "Diskussion:Ada": "?", "2001: Odyssee": "x"}
    old = [_page(number, *page, extra="") for number, page in enumerate(written.items())]
    whole = source(_dump(tmp_path, *old, version="0.3"), "de")
    kinds = [page.kind for page in read_pages(whole, Span(start, whole.num_bytes))]
    assert kinds == ["article", "redirect", "other_namespace", "article"]


def test_media_prefixes_are_the_dumps_own_and_those_of_other_languages(tmp_path):
    path = _dump(tmp_path, _page(1, "Ada", "a"))
    prefixes = source(path).media_prefixes
    assert {"Bildchen", "Rubrik", "Datei", "Catégorie", "Файл", "分类"} <= set(prefixes)
    assert not {"Medium", "Diskussion", ""} & set(prefixes)
    assert list(prefixes) == sorted(prefixes)
    path.write_text(path.read_text().replace(_SITEINFO, ""))
    assert "Datei" in source(path).media_prefixes


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
