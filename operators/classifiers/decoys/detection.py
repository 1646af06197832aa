"""What it takes to find a decoy by explanations: how many instances to look at until it stands among the top words.

Whoever debugs a model looks at its explanations of one instance after the other, and sees in each the k words with the
largest attributions in size. The decoy is found at the first instance where one of these is a word of the decoy. If n
instances in no order at all are looked at, h of which show the decoy, the probability to have found it after b is

    P(b) = 1 - C(n - h, b) / C(n, b).

Where every instance of n words holds the decoy once and words are ranked by chance, its mean is 1 - (1 - k/n)^b. Where
instances are picked in an order, it is found or not.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.decoys.kinds import Decoy, holds
from tiltmeter.operators.classifiers.decoys.selection import (
    cluster_rounds,
    cosines,
    relevance_clusters,
    submodular_pick,
)

VERSION = "decoy_detection/2"

Selection = Literal["random", "submodular_pick", "clustering"]


class Explained(NamedTuple):
    """An instance as it is shown.

    Attributes:
        words: of the text, in lower case.
        values: ``[words]``, their attributions; NaN for a word without one.
    """

    words: Sequence[str]
    values: NDArray[np.float64]


def top_words(explained: Explained, k: int) -> list[int]:
    """Places of the words with the largest attributions in size, the largest first; of equal ones the first.

    A word without an attribution, or with none but 0, says nothing and is never among them.

    >>> top_words(Explained(["a", "bad", "film", "."], np.array([0.1, -0.8, 0.0, np.nan])), 3)
    [1, 0]
    """
    sizes = np.nan_to_num(np.abs(explained.values))
    return [place for place in np.argsort(-sizes, kind="stable")[:k].tolist() if sizes[place] > 0]


def shows(explained: Explained, decoy: Decoy, k: int) -> bool:
    """Whether a word of the decoy, or one that holds it, is among the top k words."""
    return any(holds(decoy, explained.words[place]) for place in top_words(explained, k))


def relevance_matrix(instances: Sequence[Explained], k: int) -> NDArray[np.float64]:
    """``[instances, words]``: sizes of attributions of top words, added up where a word comes twice; 0 elsewhere."""
    columns: dict[str, int] = {}
    cells = []
    for row, explained in enumerate(instances):
        for place in top_words(explained, k):
            column = columns.setdefault(explained.words[place], len(columns))
            cells.append((row, column, abs(float(explained.values[place]))))
    relevance = np.zeros((len(instances), max(1, len(columns))))
    for row, column, size in cells:
        relevance[row, column] += size
    return relevance


def order_of(relevance: NDArray[np.float64], selection: Selection, max_clusters: int) -> NDArray[np.int64]:
    """Instances in the order in which they are looked at; for ``random``, as they come."""
    if selection == "submodular_pick":
        return submodular_pick(relevance, len(relevance))
    if selection == "clustering":
        return cluster_rounds(relevance_clusters(relevance, max_clusters), cosines(relevance))
    return np.arange(len(relevance))


def detection_at_random(num_showing: int, num: int, budgets: NDArray[np.integer]) -> NDArray[np.float64]:
    """P(b), as above.

    >>> detection_at_random(1, 4, np.array([1, 2, 4]))
    array([0.25, 0.5 , 1.  ])
    """
    steps = np.arange(num)
    missed = np.cumprod(np.maximum(num - num_showing - steps, 0) / (num - steps))
    return np.asarray(1.0 - missed[np.asarray(budgets) - 1])


def identification_success(
    decoyed: Sequence[Explained], other: Sequence[Explained], k: int, budgets: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Whether somebody who does not know the decoy tells the model that has adopted one from another that has not.

    Both models' explanations of the same instances lie side by side. D(w) is in how many more of those looked at so far
    the word w is among the top k words of the first model than of the second. The model is taken to follow a decoy for
    which one word stands out: the first if max D > max -D, the second if it is less, either if they are equal.

    Args:
        decoyed, other: the same instances in the order in which they are looked at.
        k: words that are shown.
        budgets: instances that are looked at, from 1 on.

    Returns:
        ``[budgets]`` 1 where it is told rightly, 0 where wrongly, and 0.5 where one has to guess.

    >>> first, second = Explained(["zq", "film"], np.array([2.0, 1.0])), Explained(["zq", "film"], np.array([0.1, 1.0]))
    >>> identification_success([first, first], [second, Explained(["bad"], np.array([1.0]))], 1, np.array([1, 2]))
    array([0.5, 1. ])
    """
    more: Counter[str] = Counter()
    outcomes = []
    for first, second in zip(decoyed, other, strict=True):
        more.update({first.words[place] for place in top_words(first, k)})
        more.subtract({second.words[place] for place in top_words(second, k)})
        lead = max(more.values(), default=0) + min(more.values(), default=0)
        outcomes.append(0.5 + 0.5 * float(np.sign(lead)))
    return np.asarray(np.array(outcomes)[np.asarray(budgets) - 1], dtype=np.float64)


def expected_instances(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """How many instances are looked at on average until the decoy is found, or the budget B is used up:
    sum_{b=0}^{B-1} (1 - P(b)), with P(0) = 0.

    Args:
        probabilities: ``[..., B]``, P(b) for b = 1, ..., B.

    >>> expected_instances(np.array([0.0, 1.0, 1.0])), expected_instances(np.zeros(3))
    (array(2.), array(3.))
    """
    return np.asarray(1.0 + (1.0 - probabilities[..., :-1]).sum(axis=-1))
