"""Random words in the place of a word list: what a metric of listed words is of words that nobody listed.

Frequent words are in most texts, and in most explanations, so that a random word has about the frequency of the one
whose place it takes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.normalisation import folded

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


def random_lists(
    texts: Iterable[tuple[Sequence[str], BoolArray]], num: int, seed: int, corpus: str
) -> list[frozenset[str]]:
    """Several such lists, in the place of the listed words of a corpus; punctuation marks are no words.

    Args:
        texts: words of each, and which of them are listed.
        num: of lists.
        seed: of what is drawn.
        corpus: its name, which draws are keyed by.
    """
    num_texts: Counter[str] = Counter()
    listed: set[str] = set()
    for words, is_listed in texts:
        names = [folded(word) for word in words]
        listed |= {name for name, is_on_list in zip(names, is_listed, strict=True) if is_on_list}
        num_texts.update({name for name in names if any(map(str.isalnum, name))})
    key = document_key(f"{corpus} random lists")
    generators = (keyed_generator(seed, Stream.RANDOM_WORDS, 0, number, key) for number in range(num))
    return [random_list(num_texts, frozenset(listed), generator) for generator in generators]
