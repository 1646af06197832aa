"""What cards of data sets and models say alike: date, wiki and language of a corpus, digests of its files, tables."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import date
from urllib.parse import urlsplit

from tiltmeter.storage.corpora.formats.mediawiki import read_header
from tiltmeter.storage.corpora.pages import Source
from tiltmeter.storage.files.files import opened

_DATE = re.compile(r"(?<!\d)([12]\d{3})-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?!\d)")

# Wikipedias that are not called by the code of their language.
_BCP_47 = {
    "als": "gsw",
    "bat-smg": "sgs",
    "be-x-old": "be-tarask",
    "fiu-vro": "vro",
    "no": "nb",
    "roa-rup": "rup",
    "zh-classical": "lzh",
    "zh-min-nan": "nan",
    "zh-yue": "yue",
}


def dump_date(names: Iterable[str]) -> str | None:
    """The date that is in the names of all files; None if a name has none, or another one.

    >>> dump_date(["simplewiki-20260501-a.xml", "2026-05-01/b.xml"]), dump_date(["enwiki-latest-pages-articles.xml"])
    ('2026-05-01', None)
    """
    dates = {next(filter(_is_date, map("-".join, _DATE.findall(name))), None) for name in names}
    return dates.pop() if len(dates) == 1 else None


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_wikipedia(source: Source) -> bool:
    """Whether a file is a dump of a Wikipedia, by the address that it gives for its wiki."""
    if source.format != "mediawiki":
        return False
    header = read_header(source.uri, source.compression, source.encoding)
    return (urlsplit(header.base).hostname or "").endswith(".wikipedia.org")


def language_tag(code: str) -> str:
    """The BCP-47 code of a corpus's language.

    >>> [language_tag(code) for code in ("en", "pt-br", "zh-yue", "th-spaced", "zh-hant")]
    ['en', 'pt-BR', 'yue', 'th', 'zh-Hant']
    """
    if code in _BCP_47:
        return _BCP_47[code]
    primary, *others = code.removesuffix("-spaced").split("-")
    spelled = {2: str.upper, 4: str.title}
    return "-".join([primary, *(spelled.get(len(part), str)(part) for part in others)])


def digests(source: Source) -> dict[str, str]:
    """SHA-256 and SHA-1 of a file as it lies there; of its dumps, Wikimedia publishes the second."""
    sums = [hashlib.sha256(), hashlib.sha1(usedforsecurity=False)]
    with opened(source.uri) as file:
        while piece := file.read(2**20):
            for one in sums:
                one.update(piece)
    return {one.name: one.hexdigest() for one in sums}


def pipe_table(*rows: Sequence[str]) -> str:
    """Rows as a table in Markdown, the first of which are headings.

    >>> print(pipe_table(["", "pages"], ["a|b", "2"]))
    |  | pages |
    |---|---|
    | a\\|b | 2 |
    """
    head, *lines = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *lines])
