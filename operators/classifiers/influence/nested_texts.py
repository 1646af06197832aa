"""Which texts are parts of others, such as the phrases of a sentence, and so no independent witnesses."""

from collections.abc import Sequence

import numpy as np

from tiltmeter.operators.classifiers.influence.records import Words
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.text.normalisation import folded

VERSION = "nested_texts/2"

_MAX_WORDS = 64
"""Of a part that is looked for in longer texts."""


def containment_clusters(texts: Sequence[Words]) -> IntArray:
    """Texts that are a run of words of another text are in its cluster; of several, the first of the longest.

    Args:
        texts: as words; case does not count.

    Returns:
        ``[texts]``, the number of the text that the cluster is named for.

    >>> containment_clusters([["fine"], ["a", "fine", "film"], ["Fine", "film"], ["dull"]]).tolist()
    [1, 1, 1, 3]
    """
    words = [tuple(folded(word) for word in text) for text in texts]
    wanted, roots = set(words), dict[tuple[str, ...], int]()
    result = np.arange(len(texts))
    for row in sorted(range(len(texts)), key=lambda row: (-len(words[row]), row)):
        root = roots.get(words[row])
        if root is None:
            root = row
            for part in _runs(words[row]) & wanted:
                roots.setdefault(part, row)
        result[row] = root
    return result


def _runs(words: tuple[str, ...]) -> set[tuple[str, ...]]:
    size = len(words)
    parts = {words[start:end] for start in range(size) for end in range(start + 1, min(start + _MAX_WORDS, size) + 1)}
    return parts | {words}
