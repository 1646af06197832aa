"""What every corpus reader shares: a file and a part of it, the page that is read."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tiltmeter.storage.bad_records import BadRecords, Kind
from tiltmeter.storage.errors import InputError

FORMATS = ("mediawiki", "wikiextractor", "jsonl", "json", "parquet", "arrow", "text")
Format = str
"""One of ``FORMATS``, or of a reader that a package brings; ``archive``; or ``unreadable``, of files that are damaged
from their beginning, which fail when they are read."""

Compression = Literal["none", "bz2", "gzip", "xz", "zstd"]
Markup = Literal["wikitext", "plain"]
PageKind = Literal["article", "redirect", "other_namespace"]


class Page(NamedTuple):
    """One page of a corpus.

    Attributes:
        id: unique within the corpus; bootstrap draws are keyed by it.
        title: empty if the corpus has none.
        text: in the markup of the corpus.
        kind: whether it is an article, and if not, why.
        value: of the field that was asked for: text, a number, or a list of them; None if the page lacks it.
        timestamp: of its revision, in a dump.
    """

    id: str
    title: str
    text: str
    kind: PageKind
    value: object = None
    timestamp: str = ""


@dataclass(frozen=True)
class Source:
    """One file of a corpus, recognised by its content; small, and means the same in every process.

    Attributes:
        uri: absolute path or URI, credentials and options included.
        name: unique within the corpus: the file's name, or its path below the folder that all files have in common.
        num_bytes: size of the file as it lies there.
        version: changes when the file does: its time of modification, or what a web server says of it.
        format: how its documents are written down.
        compression: how the whole file is packed.
        encoding: of its text; a byte-order mark is passed over. Empty for Parquet and Arrow.
        markup: whether a page's text is MediaWiki markup or plain lines.
        media_prefixes: names of the file and category namespaces, sorted; none for plain text.
    """

    uri: str
    name: str
    num_bytes: int
    version: str
    format: Format
    compression: Compression
    encoding: str
    markup: Markup
    media_prefixes: tuple[str, ...]


@dataclass(frozen=True)
class ArchiveSource(Source):
    """An archive whose members are of the format that the user says.

    Attributes:
        member_format: it.
        member_reader: version of the reader of another package that reads them; empty for a format of ours.
    """

    member_format: Format
    member_reader: str = ""


@dataclass(frozen=True)
class ReaderSource(Source):
    """A file that a reader of another package reads.

    Attributes:
        reader: its version.
        is_divisible: whether a part of the file may begin at any byte.
    """

    reader: str
    is_divisible: bool


@dataclass(frozen=True)
class Span:
    """Part of a file: bytes ``start`` (inclusive) to ``stop`` (exclusive) as it lies there; of Parquet, row groups."""

    start: int
    stop: int


@dataclass
class Repairs:
    """What had to be replaced or left out while a span was read.

    Attributes:
        file: its name, without credentials.
        num_replaced: invalid bytes and characters that became U+FFFD.
        bad: records that were left out, or kept without a value.
    """

    file: str = ""
    num_replaced: int = 0
    bad: BadRecords = field(default_factory=BadRecords)

    def leave_out(self, reason: str, place: str, kind: Kind = "bad") -> None:
        """Count a record that is left out, or one that lacks a value."""
        self.bad.add(self.file, reason, place, kind=kind)
        self.bad.read(self.file, int(kind == "bad"))


def too_large(problem: str) -> InputError:
    """For what would not fit the memory of a worker."""
    advice = "divide it, or raise cluster.worker_megabytes"
    return InputError(f"{problem}, the most that a worker has memory for: {advice}")
