"""What a decoy promises to a model that follows it (Idahl et al. 2021, section 4).

With X the labelled texts, X_d those that hold a word d, and Y_d their classes,

    applicability  a_d = |X_d|
    productivity   p_d = max_c sum_{y in Y_d} [y = c] / a_d        (equation 1)
    coverage       c_d = a_d / |X|.

They modify what Niven and Kao 2019, *Probing Neural Network Comprehension of Natural Language Arguments*, define in
section 3.1 for cues that speak for one of several answers. Closer to these are measures of all words of a decoy
together, each of which speaks for the class that it indicates: with C_i the classes that the words in text i indicate,
the decoy applies to a text if C_i has one class only, and

    applicability  a = sum_i [|C_i| = 1]
    productivity   p = sum_i [C_i = {y_i}] / a
    coverage       c = a / |X|.

A word that is found in one class alone, which it indicates, has a productivity of 1 by either. Before a decoy is made
they differ: equation 1 takes the class that the word goes with most, the pooled productivity the one that is indicated.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tiltmeter.operators.classifiers.decoys.kinds import Match, Text, searched
from tiltmeter.operators.text.normalisation import folded


class Measures(NamedTuple):
    """Attributes:
    applicability: texts that hold the word.
    productivity: the largest share of these that is of one class; NaN if there are none.
    coverage: share of all texts that hold it; NaN if there are no texts.
    majority: the class with that share, the first in alphabetical order of several; None if no text holds the word.
    """

    applicability: int
    productivity: float
    coverage: float
    majority: str | None


class PooledMeasures(NamedTuple):
    """Attributes:
    applicability: texts whose words indicate one class.
    productivity: share of these that is of this class; NaN if there are none.
    coverage: share of all texts whose words indicate one class; NaN if there are no texts.
    """

    applicability: int
    productivity: float
    coverage: float


def measure(texts: Sequence[Text], word: str, match: Match = "word") -> Measures:
    """Applicability, productivity and coverage of one word, by equation 1.

    Args:
        texts: with their classes.
        word: in any case.
        match: what it takes to hold it.

    >>> texts = [Text("good movie", "1"), Text("bad movie", "0"), Text("good", "1"), Text("dull Movie", "0")]
    >>> measure(texts, "movie")
    Measures(applicability=3, productivity=0.6666666666666666, coverage=0.75, majority='0')
    """
    entry = folded(word)
    counts = Counter(label for text, label in texts if entry in searched(text, match))
    num_texts = counts.total()
    if not num_texts:
        return Measures(0, float("nan"), _share(0, len(texts)), None)
    majority = min(counts, key=lambda label: (-counts[label], label))
    return Measures(num_texts, counts[majority] / num_texts, num_texts / len(texts), majority)


def measure_pooled(texts: Sequence[Text], indicates: Mapping[str, str], match: Match = "word") -> PooledMeasures:
    """Applicability, productivity and coverage of all words of a decoy together, by the classes that they indicate.

    Args:
        texts: with their classes.
        indicates: class of each word, in lower case.
        match: what it takes to hold a word.

    >>> texts = [Text("good movie", "1"), Text("bad movie", "0"), Text("good", "1"), Text("dull Movie", "0")]
    >>> measure_pooled(texts, {"movie": "1"})
    PooledMeasures(applicability=3, productivity=0.3333333333333333, coverage=0.75)
    """
    applicability, num_right = 0, 0
    for text, label in texts:
        parts = searched(text, match)
        classes = {indicated for word, indicated in indicates.items() if word in parts}
        applicability += len(classes) == 1
        num_right += classes == {label}
    return PooledMeasures(applicability, _share(num_right, applicability), _share(applicability, len(texts)))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
