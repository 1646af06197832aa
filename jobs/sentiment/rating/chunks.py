"""Texts in chunks that hold whatever else is there: a unit of work that is found again after texts were added."""

import hashlib
from collections.abc import Iterable

_HASH_VALUES = 2**64


def chunks(texts: Iterable[str], mean_size: int) -> list[list[str]]:
    """Each text once, in chunks of ``mean_size`` on average.

    Texts are ordered by one half of their digest; the other half says after which of them a chunk may end, once it has
    half the mean size. It ends at twice that size at the latest. So a text that is added changes its own chunk, and
    some after it until one ends where it did before.

    >>> [len(chunk) for chunk in chunks(map(str, range(100)), mean_size=20)]
    [40, 14, 10, 13, 13, 10]
    """
    smallest, largest = max(1, mean_size // 2), 2 * mean_size
    parts: list[list[str]] = [[]]
    for _, end, text in sorted((*_halves(text), text) for text in set(texts)):
        parts[-1].append(text)
        may_end = end < _HASH_VALUES // max(1, mean_size - smallest)
        if len(parts[-1]) >= smallest and (may_end or len(parts[-1]) >= largest):
            parts.append([])
    return [chunk for chunk in parts if chunk]


def _halves(text: str) -> tuple[int, int]:
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
