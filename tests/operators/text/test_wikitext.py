import functools

import mwparserfromhell
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mwparserfromhell.nodes import ExternalLink, Heading, HTMLEntity, Text, Wikilink

from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wikitext import CANONICAL_MEDIA_PREFIXES, plain_lines, text_lines, unlinked
from tiltmeter.storage.corpora.corpora import CorpusConfig, Span, find_sources, read_pages

_GENSIM = "package://gensim/test/test_data/"
_ENGLISH = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"


@functools.cache
def _articles(name):
    [source] = find_sources(CorpusConfig("sample", "en", _GENSIM + name))
    pages = [page for page in read_pages(source, Span(0, source.num_bytes)) if page.kind == "article"]
    return {page.title: plain_lines(page.text, source.media_prefixes) for page in pages}


TABLE = ":{| class=wikitable\n! head !! head\n|-\n| cell\n{|\n| inner\n|}\n| more || cells\n|}"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", []),
        ("one\n\n\ntwo  \t words ", ["one", "two words"]),
        ("== A ''b'' ==\n===C===\n= =", ["A b", "C"]),
        ("'''''bold''' italic'' it's", ["bold italic it's"]),
        ("* one\n** two\n# three\n; term : text\n:: said", ["one", "two", "three", "term : text", "said"]),
        ("----\nrule", ["rule"]),
        ("[[link]] [[target|shown]] [[target|]] [[a|''b'' [c]]] end", ["link shown target b [c] end"]),
        ("[[:Category:Dogs|dogs]] and [[:de:Hund]]", ["dogs and de:Hund"]),
        ("[http://x.org shown] [http://x.org] http://y.org/z, done", ["shown , done"]),
        ("a<!-- b\nc -->d\n<!-- whole line -->\ne<!-- never closed\nf", ["ad", "e"]),
        ("a{{b|{{c}}|d={e}\n|f=[[g]]}}h", ["ah"]),
        ("{{a|\n{|\n|b\n|}\n}}c", ["c"]),
        ("a<ref>b {{c}}</ref>d<ref name=e/>f<ref name='g'>h</ref>i", ["adfi"]),
        ("a<ref>never closed b<ref>c</ref>d", ["anever closed bd"]),
        ("<math>a<b</math>x<gallery>\nFile:a.jpg|b\n</gallery>y", ["xy"]),
        ("<source lang='c'>\nint a;\n</source>\nz", ["z"]),
        ("H<sub>2</sub>O<br/>new <span style='color:red'>red</span><div>block</div>", ["H2O new red block"]),
        ("a<nowiki>[[b]] {{c}} ''d'' &amp;</nowiki>e", ["a[[b]] {{c}} ''d'' &e"]),
        ("a&nbsp;b &lt;c&gt; &#233; &#x4e2d; &bogus; AT&T &amp;lt;", ["a b <c> é 中 &bogus; AT&T &lt;"]),
        ("a b&#10;c d&NewLine;e&#x0D;f\ng", ["a b c d e f", "g"]),
        ("<nowiki>a&#10;b</nowiki>\n&#10;\n* [[c|d&#10;e]]", ["a b", "d e"]),
        ("__NOTOC__a __KEIN_INHALTSVERZEICHNIS__b __dunder__", ["a b __dunder__"]),
        ("[[de:Hund]]\n[[zh-min-nan:Káu]][[simple:Dog]]dog", ["dog"]),
        ("[[wikt:dog|dog]] [[doi:10.1/x|paper]] [[IV: a film]]", ["dog paper IV: a film"]),
        ("-{zh-hans:计算机;zh-hant:電腦}- -{A|zh-cn:甲;zh-tw:乙}- -{H|zh-cn:丙}- -{丁}-", ["计算机 甲 丁"]),
        ("a {}}{b}{{} c", ["a b c"]),
        ("a {{unclosed\n| b = c\nd", ["a unclosed", "d"]),
        ("a [[unclosed b", ["a unclosed b"]),
        ("1 < 2 <unknown>x</unknown>", ["1 < 2 <unknown>x</unknown>"]),
        ("[[Kategorie:Hunde]]", ["Kategorie:Hunde"]),  # local names have to be known
        (f"before\n{TABLE} rest\nafter", ["before", "rest", "after"]),
        ("before\n{| class=x\n! head !! b\n|-\n| cell\nafter\n!Kung people", ["before", "after", "!Kung people"]),
        ("It is {{convert\n|3\n|km}} long<ref>{{cite\n|a}}\n</ref> and wide.", ["It is long and wide."]),
    ],
)
def test_markup_by_hand(source, lines):
    assert plain_lines(source, []) == lines


@pytest.mark.parametrize(
    "link",
    [
        "[[File:a.jpg|thumb|left|A caption with [[a link|text]], [http://x.org more] and {{template}}.]]",
        "[[image:A b.png]]",
        "[[ CATEGORY :Dogs|Sort]]",
        "[[Datei:a.jpg|mini|Ein [[Hund]]]]",
        "[[datei_alt:a|mini|Ein\n[[Hund]]\n\nim Schnee]]",
        "[[Kategorie:Hunde]]",
        "[[Unbekannt:Hund.JPEG|200px]]",
    ],
)
def test_media_and_category_links_vanish_with_their_captions(link):
    assert plain_lines(f"before {link}after", ["Datei", "Datei alt", "Kategorie"]) == ["before after"]


@pytest.mark.long
def test_english_sample_in_numbers():
    articles, tokenize = _articles(_ENGLISH), Tokenizer("en")
    words = [word for lines in articles.values() for line in lines for word in tokenize(line)]
    assert len(articles) == 106
    # gensim's own reader counts 452,944: words of 2 to 15 letters, captions included
    assert sum(2 <= len(word) <= 15 for word in words) == pytest.approx(452_944, rel=0.02)
    assert len(words) == 460_269
    assert articles["Albedo"][0].startswith("Albedo () or reflection coefficient")
    text = "\n".join(line for lines in articles.values() for line in lines)
    for mark in ("{{", "}}", "[[", "]]", "|thumb", "''", "==", "style=", "<ref", "&nbsp;", "http:", "Category:"):
        assert mark not in text, mark


def test_table_cells_of_the_table_dump_do_not_leak():
    articles = _articles("enwiki-table-markup.xml.bz2")
    assert len(articles) == 5
    for line in (line for lines in articles.values() for line in lines):
        assert not any(mark in line for mark in ("||", "|-", "{|", "|}", "rowspan", "colspan", "align=", "bgcolor"))


PIECES = "[[ ]] {{ }} | a : File <ref> </ref> '' {| |} == <!-- --> [http://a ] -{ }- &lt; &#10; &NewLine; * <nowiki>"


@given(st.lists(st.sampled_from([*PIECES.split(), "\n", " "])))
def test_any_tangle_of_marks_gives_at_most_the_lines_of_its_source(pieces):
    source = "".join(pieces)
    lines = plain_lines(source, [])
    assert len(lines) <= source.count("\n") + 1
    assert all(line and line == " ".join(line.split()) for line in lines)


MARKS = (
    "[[ ]] [ ] | a B.png : Category: :de: http://a.org/b [http://c ://d &amp; &#38; &#x26; &x = == '' * # ; ---- {| |}"
)


def linked(inner):
    forms = ["[[{}]]", "[[{}|{}]]", "[[File:{}|thumb|{}]]", "[http://x.org {}{}]", "\n== {} ==\n", "\n* {}", "'''{}'''"]
    return st.tuples(st.sampled_from(forms), inner, inner).map(lambda one: one[0].format(*one[1:]))


LINKS = st.lists(st.recursive(st.sampled_from([*MARKS.split(), " ", "\n", "{", "}"]), linked), max_size=9).map("".join)
"""Links in links, files, lists and headings, whole and broken."""


def of_tree(code):
    """What a tree of mwparserfromhell's nodes shows."""
    for node in code.nodes:
        if isinstance(node, Text | HTMLEntity):
            yield str(node)
        elif isinstance(node, Wikilink):
            target = str(node.title).strip()
            if plain_lines(f"[[{target}|x]]", []) or not target.partition(":")[0]:
                yield "".join(of_tree(node.text)) if node.text else target.removeprefix(":")
        elif isinstance(node, ExternalLink | Heading) and node.title is not None:
            yield from of_tree(node.title)


@pytest.mark.long
@example("[[a|http://a.org/b]][[File:a|[[b]]]][http://a.org]")
@given(LINKS.filter(lambda source: "{{" not in source))
def test_links_read_from_tokens_are_those_of_the_tree(source):
    tree = mwparserfromhell.parse(source, skip_style_tags=True)
    has_links = "[" in source or "://" in source
    assert unlinked(source, CANONICAL_MEDIA_PREFIXES) == ("".join(of_tree(tree)) if has_links else source)


@given(st.text())
def test_plain_text_lines_keep_their_words(text):
    assert [word for line in text_lines(text) for word in line.split()] == text.split()
