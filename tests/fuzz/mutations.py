"""Mutations of files: what transfers, editors and other programs do to them, and worse; the same for the same draw."""

from collections.abc import Callable, Sequence
from random import Random

from tests.fixtures.corpora import PACKERS

Mutation = Callable[[Random, bytes], bytes]

MOST_BYTES = 200_000

TOKENS = [
    *(b"\x00", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b"\xff", b"\xfe", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3"),
    *(b"\xed\xa0\x80", "\u2028".encode(), "\u200b".encode(), "\u00a0".encode(), "İ".encode(), "e\u0301".encode()),
    *("\U0001f600".encode(), b"\\ud800", b"\\u0000", b"null", b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 400),
    *(b"0x1F", b"1_000", b"true", b"{", b"}", b"[", b"]", b"[" * 2000, b'{"a":' * 1500, b'"', b"'", b'""', b","),
    *(b";", b"|", b":", b"\\", b"#", b"---\n", b"<", b"</text>", b"<page>", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;"),
    *(b"&#0;", b"]]>", b"<!--", b"<?xml encoding='x'?>", b"${oc.env:HOME}", b"&a [*a]", b"!!python/object:os.system"),
    *(b"*", b"?", b"%s", b"../", b"2023-02-30", b"-1", b"1-2"),
]
"""Of no format, or of one and not of another; numbers, dates and references that lead nowhere."""


def _place(rng: Random, content: bytes) -> int:
    return rng.randint(0, len(content))


def _span(rng: Random, content: bytes) -> tuple[int, int]:
    start = _place(rng, content)
    return start, min(len(content), start + rng.choice([1, 2, 8, 60, 1000]))


def flipped(rng: Random, content: bytes) -> bytes:
    """One bit is the other."""
    if not content:
        return content
    place = rng.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]


def cut(rng: Random, content: bytes) -> bytes:
    """The end is missing."""
    return content[: _place(rng, content)]


def without_span(rng: Random, content: bytes) -> bytes:
    """Something is missing."""
    start, stop = _span(rng, content)
    return content[:start] + content[stop:]


def repeated(rng: Random, content: bytes) -> bytes:
    """Something stands there more than once."""
    start, stop = _span(rng, content)
    return content[:start] + content[start:stop] * rng.choice([2, 3, 40]) + content[stop:]


def moved(rng: Random, content: bytes) -> bytes:
    """Something stands elsewhere."""
    start, stop = _span(rng, content)
    rest = content[:start] + content[stop:]
    place = _place(rng, rest)
    return rest[:place] + content[start:stop] + rest[place:]


def with_token(rng: Random, content: bytes) -> bytes:
    """Something odd stands in it."""
    place = _place(rng, content)
    return content[:place] + rng.choice(TOKENS) + content[place:]


def with_token_for_value(rng: Random, content: bytes) -> bytes:
    """Something odd stands in the place of what lies between two separators."""
    separator = rng.choice([b",", b'"', b"\t", b"\n", b" ", b">", b":", b";"])
    parts = content.split(separator)
    parts[rng.randrange(len(parts))] = rng.choice([*TOKENS, b""])
    return separator.join(parts)


def in_encoding(rng: Random, content: bytes) -> bytes:
    """The text in an encoding that is not UTF-8, or half of it."""
    encoding = rng.choice(["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252"])
    start = rng.choice([0, 0, len(content) // 2])
    return content[:start] + content[start:].decode("utf-8", "replace").encode(encoding, "replace")


MUTATIONS: Sequence[Mutation] = (
    flipped, flipped, cut, without_span, repeated, moved, with_token, with_token, with_token_for_value,
    with_token_for_value, in_encoding,
)  # fmt: skip


def mutated(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds, now and then with the end of another, after one to four mutations."""
    content = rng.choice(seeds)
    if rng.random() < 0.1:
        other = rng.choice(seeds)
        content = content[: _place(rng, content)] + other[_place(rng, other) :]
    for _ in range(rng.choice([1, 1, 2, 4])):
        content = rng.choice(MUTATIONS)(rng, content)[:MOST_BYTES]
    return content


def packed(rng: Random, content: bytes) -> tuple[str, bytes]:
    """The content, in one of ten cases packed, and half of these damaged after it; with what its name ends in."""
    if rng.random() < 0.9:
        return "", content
    ending = rng.choice([*PACKERS])
    content = PACKERS[ending](content)
    return ending, rng.choice([flipped, cut])(rng, content) if rng.random() < 0.5 else content
