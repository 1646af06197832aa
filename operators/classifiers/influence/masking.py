"""Which scores find the words that hold a decision: they are left out one after the other until the class changes.

Kumar et al. 2021, section 4.3: of texts that the teacher gets wrong, words are masked from the one that supports its
class most, until the class changes or the budget is used up. The coverage is the share of texts whose class was
changed, and beside it stands the mean number of words that it took. LIME knows the very text that it is tested on;
the student does not. The paper's scores "are position independent", with "the same scores to all occurrences of a
word" (appendix D.1); words are masked one place after the other all the same (algorithm 1).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.influence.records import MASK, Teacher, Words, replaced
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream

_RANDOM = 4


def masking_order(supports: FloatArray, by_word: Words | None = None) -> IntArray:
    """Places from the most support to the least; equal ones, and those without a number last, as they stand.

    Args:
        supports: ``[words]``.
        by_word: the words, if all places of a word get its largest score, as in the published test.

    >>> masking_order(np.array([0.1, np.nan, 0.7, 0.1])).tolist()
    [2, 0, 3, 1]
    >>> masking_order(np.array([0.1, 0.0, 0.7]), by_word=["a", "b", "a"]).tolist()
    [0, 2, 1]
    """
    values = np.where(np.isnan(supports), -np.inf, supports)
    if by_word is not None:
        _, inverse = np.unique(list(by_word), return_inverse=True)
        largest = np.full(int(inverse.max(initial=-1)) + 1, -np.inf)
        np.maximum.at(largest, inverse, values)
        values = largest[inverse]
    return np.asarray(np.argsort(-values, kind="stable"))


def num_masked(teacher: Teacher, texts: Sequence[Words], orders: Sequence[IntArray], budget: int) -> IntArray:
    """How many words had to be left out for each text's class to change; 0 where the budget did not suffice.

    Args:
        teacher: that gives the classes.
        texts: each with a word at least.
        orders: of the places of each.
        budget: words that may be left out.
    """
    given = teacher.labels(texts)
    result = np.zeros(len(texts), dtype=np.int64)
    for num in range(1, budget + 1):
        open_rows = [row for row in range(len(texts)) if not result[row] and len(texts[row]) >= num]
        if not open_rows:
            break
        labels = teacher.labels([replaced(texts[row], set(orders[row][:num].tolist()), MASK) for row in open_rows])
        result[np.array(open_rows)[labels != given[open_rows]]] = num
    return result


def random_scores(text: Words, seed: int) -> FloatArray:
    """Scores that say nothing, drawn from what the text says."""
    key = document_key(" ".join(text))
    return keyed_generator(seed, Stream.INFLUENCE, _RANDOM, key).random(len(text))


class Coverage(NamedTuple):
    """Of a way to score words.

    Attributes:
        coverage: share of texts whose class was changed within the budget.
        mean_masked: words that it took in these; NaN if there is none.
        is_covered: ``[texts]``.
    """

    coverage: float
    mean_masked: float
    is_covered: BoolArray


def coverage(num: IntArray, budget: int) -> Coverage:
    """What a budget covers.

    >>> coverage(np.array([1, 0, 5]), budget=4)[:2]
    (0.3333333333333333, 1.0)
    """
    is_covered = (num > 0) & (num <= budget)
    mean = float(num[is_covered].mean()) if is_covered.any() else np.nan
    return Coverage(float(is_covered.mean()) if num.size else np.nan, mean, is_covered)
