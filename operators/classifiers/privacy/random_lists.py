"""Random words in the place of a word list: what a metric of listed words is of words that nobody listed.

Frequent words are in most texts, and in most explanations, so that a random word has about the frequency of the one
whose place it takes.
"""

from collections.abc import Mapping

import numpy as np

VERSION = "random_lists/1"

_NUM_CANDIDATES = 10


def random_list(num_texts: Mapping[str, int], listed: frozenset[str], generator: np.random.Generator) -> frozenset[str]:
    """As many words that are not listed, each drawn from the ten of them whose frequency is nearest to a listed one's.

    Listed words take their turn from the most frequent one on; no word is drawn twice, and where none are left, the
    list is as long as there are words.

    Args:
        num_texts: of each word of a corpus, in how many texts it is.
        listed: words of the corpus that are replaced.
        generator: of random numbers.

    >>> counts = {"i": 9, "you": 8, "sorry": 2, "rope": 2}
    >>> sorted(random_list(counts, frozenset({"i", "sorry"}), np.random.default_rng(0)))
    ['rope', 'you']
    """
    free = sorted(word for word in num_texts if word not in listed)
    chosen = []
    for word in sorted(listed & num_texts.keys(), key=lambda word: (-num_texts[word], word))[: len(free)]:
        free.sort(key=lambda other: (abs(num_texts[other] - num_texts[word]), other))
        chosen.append(free.pop(int(generator.integers(min(_NUM_CANDIDATES, len(free))))))
    return frozenset(chosen)
