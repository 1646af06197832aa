"""What a file is, told by its first bytes; only of plain text, which has no mark of its own, the name has to say so."""

import codecs
import json
import re
from typing import NamedTuple

from tiltmeter.storage.corpora.archives import TAR_MAGIC, TAR_PLACE, ZIP_MAGICS, first_bytes
from tiltmeter.storage.corpora.decoding import encoding_of
from tiltmeter.storage.corpora.formats.parquet_pages import ARROW_MAGICS, PARQUET_MAGIC
from tiltmeter.storage.corpora.packed import codec_of
from tiltmeter.storage.corpora.pages import Compression, Format
from tiltmeter.storage.corpora.unpacking import Unpacked
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted

_HEAD_BYTES = 65536
_INDEX_LINE = re.compile(r"\d+:\d+:[^\n]*\n")
_DECLARED = re.compile(r"<\?xml[^>]*\bencoding\s*=\s*[\"']([A-Za-z][\w.-]*)")
_PACKING = r"(\.(bz2|gz|xz|zst))?$"
_NAMED: dict[Format, re.Pattern[str]] = {
    "text": re.compile(rf"\.txt{_PACKING}"),
    "jsonl": re.compile(rf"\.(jsonl|ndjson){_PACKING}"),
}

_NOT_TEXT = {
    "JSON": re.compile(r'\[?\s*\{\s*"(?:[^"\\]|\\.)*"\s*:'),
    "a MediaWiki dump": re.compile(r"(?:<\?xml[^>]*>\s*)?<mediawiki\b"),
    "the <doc> text of WikiExtractor": re.compile(r'<doc\s+id="'),
}
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NUM_LOOKED_AT = 256
_MOST_CONTROLS = 4
"""Among so many characters; a file with more is packed, or a program's own."""

_BINARY: dict[Format, tuple[bytes, ...]] = {"parquet": (PARQUET_MAGIC,), "arrow": ARROW_MAGICS}

_MOST_RETURNS = 10
"""In a text without a newline."""


class UnknownFormat(InputError):
    """A file in no format that holds documents, or not in the one that was chosen."""


class Recognised(NamedTuple):
    """What a file is.

    Attributes:
        format: of its documents; None for the index of a multistream dump, which holds none.
        compression: of the whole file.
        encoding: of its text; a byte-order mark is not part of the name.
    """

    format: Format | None
    compression: Compression
    encoding: str


def recognised(uri: str, chosen: Format | None) -> Recognised:
    """Look at the beginning of a file.

    Args:
        uri: of the file.
        chosen: format that the user says it has.

    Raises:
        InputError: if the file can't be read; if no format is chosen and it has none that is known; if it should be
            text and can't.
    """
    magic = first_bytes(uri)
    if magic.startswith(ZIP_MAGICS):
        return Recognised("archive", "none", "")
    for form, marks in _BINARY.items():
        if chosen in (None, form) and magic.startswith(marks):
            return Recognised(form, "none", "")
    compression = codec_of(magic) or "none"
    head = _head(uri, compression)
    if head.startswith(TAR_MAGIC, TAR_PLACE):
        return Recognised("archive", compression, "")
    if chosen in _BINARY:
        return Recognised(chosen, "none", "")
    encoding = encoding_of(head) or json.detect_encoding(head).removesuffix("-sig")
    text = head.decode(encoding, errors="ignore").lstrip("\ufeff \t\r\n")
    if chosen in (None, "mediawiki") and _INDEX_LINE.match(text):
        return Recognised(None, compression, encoding)
    what = chosen or _format(text, uri)
    if what == "text":
        _check_text(text, uri)
    if what == "mediawiki" and encoding == "utf-8":
        encoding = _declared(text, uri)
    return Recognised(what, compression, encoding)


def _head(uri: str, compression: Compression) -> bytes:
    """As much of the beginning as can be read: damage behind it is for those who read the documents."""
    head = b""
    try:
        for _, chunk in Unpacked(uri, compression, 0, 1):
            head += chunk
            if len(head) >= _HEAD_BYTES:
                break
    except InputError:
        if not head:
            raise
    return head


def _declared(text: str, uri: str) -> str:
    """The encoding that the XML names; one whose characters have several bytes would have shown before."""
    match = _DECLARED.match(text)
    name = match[1] if match else "utf-8"
    try:
        "".encode(name)
        encoding = codecs.lookup(name).name
    except LookupError as error:
        raise InputError(f"{redacted(uri)}: the XML declares an encoding that cannot be read: {error}") from error
    return "utf-8" if encoding.startswith(("utf-16", "utf-32", "utf-8", "ascii")) else encoding


def _format(text: str, uri: str) -> Format:
    is_plain = not any(beginning.match(text) for beginning in _NOT_TEXT.values())
    if is_plain and _NAMED["text"].search(redacted(uri)):
        return "text"
    if text.startswith("<doc "):
        return "wikiextractor"
    if text.startswith("<"):
        return "mediawiki"
    if text.startswith("{") or _NAMED["jsonl"].search(redacted(uri)):
        return "jsonl"
    if re.match(r"\[\s*[{\]]", text):
        return "json"
    raise UnknownFormat(
        f"{redacted(uri)}: neither a MediaWiki XML dump, WikiExtractor's <doc> text, JSON lines, an array of JSON "
        "objects (plain, bz2, gzip, xz or zstd), Parquet, Arrow, a tar nor a zip: it begins with "
        f"{text[:40]!r}; if it is plain text with a document per line, set corpus.format=text or name it .txt"
    )


def _check_text(text: str, uri: str) -> None:
    """Markup, keys and bytes of programs would be read as words."""
    for kind, beginning in _NOT_TEXT.items():
        if beginning.match(text):
            raise UnknownFormat(
                f"corpus.format=text: {redacted(uri)} holds {kind}, of which keys and tags would become words; set "
                "corpus.format=auto, or corpus.path to files of plain text"
            )
    if text.count("\r") > _MOST_RETURNS and "\n" not in text:
        raise UnknownFormat(
            f"{redacted(uri)}: its lines end in carriage returns alone, so that all of it would be one document; "
            "convert them to newlines"
        )
    if len(_CONTROL.findall(text[:_NUM_LOOKED_AT])) > _MOST_CONTROLS:
        raise UnknownFormat(
            f"{redacted(uri)}: is no plain text: it begins with {text[:16]!r}; unpack it, or set corpus.path to files "
            "of plain text"
        )
