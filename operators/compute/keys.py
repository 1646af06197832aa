"""Keys of what is named by text, for draws that depend on the name alone."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def document_key(document_id: str) -> int:
    """64-bit key of a document, from its id alone: the same in every shard, order and run.

    >>> document_key("Tilt"), document_key("tilt")
    (7530045436648254849, 3033969650980671095)
    """
    return int.from_bytes(hashlib.blake2b(document_id.encode(), digest_size=8).digest(), "little")


def shard_starts(keys: Sequence[int], num_bytes: Sequence[int], shard_bytes: float) -> list[int]:
    """Where shards of about so many bytes begin in documents that follow one another.

    A shard has half of them at least, and twice as many at most but for its last document; between the two it ends
    behind a document whose key says so: one that changes leaves nearly all shards but its own as they are.

    Args:
        keys: ``[documents]``, as :func:`document_key` has them.
        num_bytes: ``[documents]``.

    >>> shard_starts([2**64 - 1, 2**64 - 1, 1, 7], [30, 30, 30, 30], 100), shard_starts([], [], 100)
    ([0, 3], [0])
    """
    starts, size = [0], 0.0
    for place, (key, num) in enumerate(zip(keys, num_bytes, strict=True)):
        size += num
        is_chosen = size >= shard_bytes / 2 and key / 2**64 < 2 * num / shard_bytes
        if (is_chosen or size >= 2 * shard_bytes) and place + 1 < len(keys):
            starts.append(place + 1)
            size = 0.0
    return starts


def text_keys(texts: Sequence[Any]) -> NDArray[np.uint64]:
    """``[texts]``, 64-bit key of each by what it says, and how often that was said before it.

    Args:
        texts: what tells each from others: text, or lists of text and numbers.

    >>> text_keys(["so", "it", "so"]).tolist() == text_keys(["so", "so", "it"])[[0, 2, 1]].tolist()
    True
    """
    num_before: Counter[str] = Counter()
    keys = np.empty(len(texts), dtype=np.uint64)
    for place, text in enumerate(texts):
        words = json.dumps(text, ensure_ascii=False)
        keys[place] = document_key(f"{num_before[words]} {words}")
        num_before[words] += 1
    return keys


def cluster_keys(texts: Sequence[Any], clusters: NDArray[np.integer]) -> NDArray[np.uint64]:
    """``[clusters]``, the key of each by what its texts say, as :func:`text_keys`.

    Args:
        texts: what each says.
        clusters: ``[texts]``, the number of each one's cluster, from 0 and without gaps.
    """
    by_cluster: list[list[Any]] = [[] for _ in range(int(clusters.max(initial=-1)) + 1)]
    for text, cluster in zip(texts, clusters.tolist(), strict=True):
        by_cluster[cluster].append(text)
    return text_keys(by_cluster)
