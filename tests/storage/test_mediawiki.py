from pathlib import Path

import pytest

from storage.corpora import CorpusConfig, CorpusError, Page, read_pages
from storage.mediawiki import media_prefixes, read_dump

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
    assert list(read_dump(path)) == [
        Page("1", "Ada", "<b>&amp;", "article"),
        Page("2", "Augusta", "#WEITERLEITUNG [[Ada]]", "redirect"),
        Page("3", "Diskussion:Ada", "Hm.", "other_namespace"),
        Page("4", "Liste", "# eins [[Ada]]", "article"),
    ]


def test_oldest_schemas_tell_by_text_and_title(tmp_path):
    pages = [
        ("Ada", "A [[b]]."),
        ("Augusta", "#WEITERLEITUNG [[Ada]]"),
        ("Diskussion:Ada", "?"),
        ("2001: Odyssee", "x"),
    ]
    path = _dump(tmp_path, *(_page(i, *page, extra="") for i, page in enumerate(pages)), version="0.3")
    assert [page.kind for page in read_dump(path)] == ["article", "redirect", "other_namespace", "article"]


def test_the_last_revision_counts(tmp_path):
    revisions = "".join(f"<revision><id>{i}</id><text>version {i}</text></revision>" for i in range(3))
    page = f"<page><title>A</title><ns>0</ns><id>5</id>{revisions}</page>"
    emptied = "<page><title>B</title><ns>0</ns><id>6</id><revision><text deleted='deleted' /></revision></page>"
    path = _dump(tmp_path, page, emptied, "<page><title>C</title><ns>0</ns><id>7</id></page>")
    assert [page.text for page in read_dump(path)] == ["version 2", "", ""]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path, encoding):
    path = _dump(tmp_path, _page(1, "Größe", "wäre"), encoding=encoding)
    source = read_pages(CorpusConfig("sample", "de", str(path)))
    assert [(page.title, page.text) for page in source.pages] == [("Größe", "wäre")]


def test_declared_encoding_and_no_schema(tmp_path):
    path = tmp_path / "dump.xml"
    xml = f'<?xml version="1.0" encoding="koi8-r"?><mediawiki>{_page(1, "Мир", "да")}</mediawiki>'
    path.write_bytes(xml.encode("koi8-r"))
    assert list(read_dump(path)) == [Page("1", "Мир", "да", "article")]


def test_media_prefixes_are_the_dumps_own_and_those_of_other_languages(tmp_path):
    prefixes = media_prefixes(_dump(tmp_path, _page(1, "Ada", "a")))
    assert {"Bildchen", "Rubrik", "Datei", "Catégorie", "Файл", "分类"} <= prefixes
    assert not {"Medium", "Diskussion", ""} & prefixes


def test_media_prefixes_without_a_header(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_text(f"<mediawiki>{_page(1, 'Ada', 'a')}</mediawiki>")
    assert "Datei" in media_prefixes(path)


def test_xml_that_breaks_off_is_refused_after_its_last_whole_page(tmp_path):
    path = _dump(tmp_path, _page(1, "Ada", "first\n" * 30_000), _page(2, "Bob", "second"))
    path.write_bytes(path.read_bytes()[:-40])
    pages = read_dump(path)
    assert next(pages).id == "1"
    with pytest.raises(CorpusError, match=rf"{path}: the XML breaks off or is damaged at line 3000\d, column \d+"):
        list(pages)


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<mediawiki><page></mediawiki>", "damaged at line 1, column 19: mismatched tag"),
        ("<mediawiki><page><title>Ada</title></page></mediawiki>", "the page titled 'Ada' has no <id>"),
        ("<html><body/></html>", "its outermost element is <html>, not <mediawiki>"),
        ('<?xml version="1.0" encoding="gb18030"?><mediawiki/>', "encoding that cannot be read.*use UTF-8"),
        ('<?xml version="1.0" encoding="klingon"?><mediawiki/>', "klingon"),
    ],
)
def test_damaged_dumps_are_refused(tmp_path, xml, message):
    path = tmp_path / "dump.xml"
    path.write_text(xml)
    with pytest.raises(CorpusError, match=message):
        list(read_dump(path))


def test_a_dump_without_articles_is_refused_at_its_end(tmp_path):
    path = _dump(tmp_path, _page(1, "Diskussion:Ada", "?", "<ns>1</ns>"), _page(2, "B", "c", "<ns>0</ns><redirect />"))
    pages = read_pages(CorpusConfig("sample", "de", str(path))).pages
    assert [next(pages).kind, next(pages).kind] == ["other_namespace", "redirect"]
    with pytest.raises(CorpusError, match="holds no article, only 2 redirects and pages of other namespaces"):
        next(pages)


def test_a_page_that_comes_twice_is_refused(tmp_path):
    path = _dump(tmp_path, _page(1, "Ada", "a"), _page(2, "Bob", "b"), _page(1, "Cid", "c"))
    with pytest.raises(CorpusError, match=r"id '1' comes twice, again at page 3 \('Cid'\)"):
        list(read_pages(CorpusConfig("sample", "de", str(path))).pages)
