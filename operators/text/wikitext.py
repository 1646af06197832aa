"""From MediaWiki markup to plain lines.

One line of source gives at most one line of text: the bootstrap resamples lines, so a paragraph is neither cut nor
joined to the next. What a reader of the page would not see as running text is left out.
"""

import html
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from mwparserfromhell.parser import tokens

try:
    from mwparserfromhell.parser._tokenizer import CTokenizer as Tokenizer
except ImportError:  # where it was installed without a compiler
    from mwparserfromhell.parser.tokenizer import Tokenizer

VERSION = "wikitext/3"

CANONICAL_MEDIA_PREFIXES = frozenset({"file", "image", "category"})
"""Names that every wiki understands, whatever its language."""

_MAX_NESTING = 40
"""Depth of templates within templates, at which MediaWiki itself gives up."""

_MAX_LINK_LINES = 20
"""A file's caption may run over several lines; brackets still open after so many are taken for a slip."""

_MAX_PIECE = 20_000
"""Characters parsed in one go: the parser's time grows with the square of what is never closed."""

_WITH_CONTENT = (
    "categorytree|ce|chem|gallery|graph|hiero|imagemap|includeonly|indicator|inputbox|mapframe|maplink|math|pre|ref"
    "|references|score|script|section|source|style|syntaxhighlight|table|templatedata|templatestyles|timeline"
)
_BLOCKS = "blockquote|br|center|dd|div|dl|dt|h[1-6]|hr|li|ol|p|poem|ul"
_INLINE = (
    "abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|noinclude|nowiki|onlyinclude|q|rb|rp|rt|ruby|s|samp"
    "|small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<nowiki\b[^<>]*(?<!/)>((?>[^<]+|<(?!/?nowiki\b))*+)</nowiki\s*>", re.DOTALL | re.IGNORECASE
)
_DROPPED_TAG = re.compile(
    rf"<({_WITH_CONTENT})\b[^<>]*(?:/>|(?<!/)>(?>[^<]+|<(?!/?\1\b))*+</\1\s*>)|</?(?:{_WITH_CONTENT})\b[^<>]*>",
    re.IGNORECASE,
)
_BLOCK_TAG = re.compile(rf"</?(?:{_BLOCKS})(?=[\s/>])[^<>]*>", re.IGNORECASE)
_INLINE_TAG = re.compile(rf"</?(?:{_INLINE})(?=[\s/>])[^<>]*>", re.IGNORECASE)
_VARIANT = re.compile(r"-\{(?!\{)(?:([A-Z;\s-]*)\|)?([^{}]*)\}-")
_TEMPLATE = re.compile(r"\{\{(?!\{)(?>[^{}]+|\{(?!\{)|\}(?!\}))*+\}\}")
_TABLE_EDGE = re.compile(r"[\s:*#;]*(\{\||\|\}(?!\}))")
_TABLE_CELL = re.compile(r"\s*(?:\{?\||!.*(?:!!|\|)|!\s*\w+\s*=)")
_MEDIA_FILE = re.compile(
    r"[^:]+:.+\.(?:djvu|flac|gif|jpe?g|midi?|mp3|og[agv]|opus|pdf|png|stl|svg|tiff?|wav|web[mp]|xcf)", re.IGNORECASE
)
_LANGUAGE_LINK = re.compile(r"(?!doi:|mw:|rfc:|voy:|wmf:)(?:[a-z]{2,3}(?:-[a-z]+)*|simple):\S")
_SWITCH = re.compile(r"__[^\Wa-z_]+(?:_[^\Wa-z_]+)*__")
_QUOTES = re.compile(r"'{2,5}")
_LINE_START = re.compile(r"\A(?:[\s*#:;]+|-{4,})+")
_UNPAIRED_BRACES = re.compile(r"\{\{+|\}\}+")
_BRACES = re.compile(r"\[\[|\]\]")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);")
_LITERAL = str.maketrans({character: f"&#{ord(character)};" for character in "{}[]|<>'=*:_-!"})

_TEXT, _WIKILINK = tokens.Text, tokens.WikilinkOpen
_PARTS_SHOWN = {
    tokens.HeadingStart: slice(1),
    tokens.ExternalLinkOpen: slice(1, 2),
    tokens.TagOpenOpen: slice(0),
}
"""Of elements other than wikilinks, by the token that they start with; tags are marks of lists and tables."""

_SEPARATORS = {tokens.WikilinkSeparator, tokens.ExternalLinkSeparator}
_ENDS = {
    tokens.WikilinkClose,
    tokens.ExternalLinkClose,
    tokens.HeadingEnd,
    tokens.TagCloseClose,
    tokens.TagCloseSelfclose,
}
_OF_ENTITIES = {tokens.HTMLEntityStart: "&", tokens.HTMLEntityNumeric: "#", tokens.HTMLEntityEnd: ";"}


def plain_lines(text: str, media_prefixes: Collection[str]) -> list[str]:
    r"""The running text of a page: paragraphs, list items and headings.

    Templates, tables, comments, references, formulas, galleries and code blocks go with all they contain, as do links
    to files, categories and other language versions. Of every other link, and of bold or italic text, the words stay.

    Args:
        text: wikitext of one page.
        media_prefixes: the wiki's own names of the file and category namespaces, e.g. ``{"Datei", "Kategorie"}``, in
            any case, with spaces or underscores; the English names are known without.

    Returns:
        Lines without markup, entities resolved, runs of white space made one space; no line is empty.

    >>> source = "== ''Ada'' ==\n[[Datei:a.jpg|mini|[[Ada]]]]'''Ada'''<ref>x</ref> [[write|wrote]]&nbsp;it."
    >>> plain_lines(source, ["Datei"])
    ['Ada', 'Ada wrote it.']
    """
    prefixes = CANONICAL_MEDIA_PREFIXES | {_normalised(name) for name in media_prefixes}
    source = _without_tables(_without_templates(_without_tags(_HIDDEN.sub(_nowiki_as_entities, text))))
    words = "\n".join(unlinked(piece, prefixes) for piece in _pieces(source))
    return _squeezed(_without_marks(words))


def text_lines(text: str) -> list[str]:
    r"""The non-blank lines of plain text, runs of white space made one space.

    >>> text_lines("one\n\n two  words \n")
    ['one', 'two words']
    """
    return _squeezed(text.split("\n"))


def _squeezed(lines: Iterable[str]) -> list[str]:
    squeezed = (" ".join(line.split()) for line in lines)
    return [line for line in squeezed if line]


def _normalised(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _nowiki_as_entities(hidden: re.Match[str]) -> str:
    """Nothing for a comment; for a nowiki element its content, written so that no later step takes it for markup."""
    return (hidden[1] or "").translate(_LITERAL)


def _without_tags(text: str) -> str:
    """What then still looks like a tag is none that MediaWiki knows: the page shows it as it stands."""
    return _INLINE_TAG.sub("", _BLOCK_TAG.sub(" ", _DROPPED_TAG.sub("", text))).replace("<", "&lt;")


def _without_templates(text: str) -> str:
    for _ in range(_MAX_NESTING):
        reduced = _TEMPLATE.sub("", _VARIANT.sub(_first_variant, text))
        if reduced == text:
            break
        text = reduced
    while (reduced := _UNPAIRED_BRACES.sub("", text)) != text:
        text = reduced  # of which some may have become pairs
    return text


def _first_variant(markup: re.Match[str]) -> str:
    """Of ``-{zh-hans:...;zh-hant:...}-`` the first spelling; nothing for rules that the page does not show."""
    flags, rules = markup[1] or "", markup[2]
    if {"H", "T", "-"} & set(flags):
        return ""
    code, colon, words = rules.partition(";")[0].partition(":")
    return words if colon and re.fullmatch(r"[a-z-]+", code.strip()) else rules


def _without_tables(text: str) -> str:
    """Tables nest by lines; of one that is never closed, the lines stay, for its cells to be dropped one by one."""
    kept: list[str] = []
    table: list[str] = []
    depth = 0
    for line in text.split("\n"):
        edge = _TABLE_EDGE.match(line)
        depth += edge is not None and edge[1] == "{|"
        (table if depth else kept).append(line)
        if edge is not None and edge[1] == "|}" and depth:
            depth -= 1
            if not depth:
                kept.append(line[edge.end() :])
                table.clear()
    return "\n".join(kept + [line for line in table if not _TABLE_CELL.match(line)])


def _pieces(source: str) -> Iterator[str]:
    """Runs of lines that no link leaves."""
    piece: list[str] = []
    depth = 0
    for line in source.split("\n"):
        piece.append(line)
        depth += line.count("[[") - line.count("]]")
        if depth <= 0 or len(piece) == _MAX_LINK_LINES:
            yield "\n".join(piece)
            piece, depth = [], 0
    yield "\n".join(piece)


def unlinked(piece: str, prefixes: Collection[str]) -> str:
    """Text with the words of its links, without their targets, and without list marks.

    Args:
        piece: wikitext without tags, comments and doubled braces.
        prefixes: as :func:`plain_lines` has them, in small letters.

    >>> unlinked("* [[write|wrote]] [[Ada]][[File:a.jpg|thumb|[[Ada]]]] [http://a.org a]", {"file"})
    ' wrote Ada a'
    """
    if "[" not in piece and "://" not in piece:
        return piece
    tokenizer = Tokenizer()
    parts = (piece[start : start + _MAX_PIECE] for start in range(0, len(piece), _MAX_PIECE))
    # Most of the time of mwparserfromhell goes into a tree of nodes, which nobody needs here.
    streams = (iter(tokenizer.tokenize(part, 0, True)) for part in parts)
    return "".join(text for stream in streams for text in _visible(stream, prefixes)[0])


def _visible(stream: Iterator[tokens.Token], prefixes: Collection[str]) -> list[list[str]]:
    """What the page shows of an element up to its end, in a list for each part, such as a link's target and text."""
    parts: list[list[str]] = [[]]
    for token in stream:
        kind, shown = type(token), ""
        if kind is _TEXT:
            shown = token["text"]
        elif kind is _WIKILINK:
            shown = _link_text(*_visible(stream, prefixes), prefixes=prefixes)
        elif kind in _ENDS:
            break
        elif kind in _SEPARATORS:
            parts.append([])
            continue
        elif kind in _PARTS_SHOWN:
            shown = "".join(chain(*_visible(stream, prefixes)[_PARTS_SHOWN[kind]]))
        else:
            shown = token.get("char") or _OF_ENTITIES.get(kind, "")
        parts[-1].append(shown)
    return parts


def _link_text(title: Sequence[str], text: Sequence[str] = (), *, prefixes: Collection[str]) -> str:
    target = "".join(title).strip()
    prefix, colon, _ = target.partition(":")
    if prefix and colon:
        is_media = _normalised(prefix) in prefixes or _MEDIA_FILE.fullmatch(target)
        if is_media or _LANGUAGE_LINK.match(target):
            return ""
    return "".join(text) if text else target.removeprefix(":")


def _without_marks(text: str) -> Iterator[str]:
    """The lines of a text free of what the parser leaves: marks at their start, quotes, switches, stray brackets."""
    for line in text.split("\n"):
        if not _TABLE_CELL.match(line):
            item = _LINE_START.sub("", _SWITCH.sub("", _QUOTES.sub("", line)))
            words = _without_heading_marks(_BRACES.sub("", item).strip())
            yield _ENTITY.sub(lambda entity: html.unescape(entity[0]), words)


def _without_heading_marks(line: str) -> str:
    return line.strip("=") if line.startswith("=") and line.endswith("=") else line
