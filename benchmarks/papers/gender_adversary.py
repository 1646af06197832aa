"""Lantavos and Sushil 2019: the steps of both printed examples, by our greedy pass on the printed probabilities.

The victim and its vectors are not to be had, so that probabilities are given and the pass has to take the steps: at
each place the printed replacement, and not another one that lowers the probability by less than a twentieth.
"""

import numpy as np

from benchmarks.papers.figures import Figure, compared
from tiltmeter.operators.classifiers.adversary.constraints import is_inflection
from tiltmeter.operators.classifiers.adversary.search import greedy
from tiltmeter.operators.classifiers.adversary.spaces import Choices, Queries
from tiltmeter.operators.compute.arrays import FloatArray

TITLE = "Lantavos and Sushil 2019, Detecting gender bias of language-processing models by altering gendered words"
PAGE = "gender_adversary"
DATA_FILES: list[str] = []

_EXAMPLES = {
    1: (0.8101, [("beautiful", "gorgeous", 0.7518), ("Brilliant", "fabulous", 0.6997)]),
    2: (
        0.7146,
        [
            ("picture", "pictures", 0.6703),
            ("ugly", "unattractive", 0.5279),
            ("damn", "darn", 0.2588),
            ("ugly", "unattractive", 0.1596),
            ("girl", "teen", 0.1208),
            ("magnet", "pin", 0.0962),
        ],
    ),
}


def figures() -> list[Figure]:
    """The probability of the first verdict after each step; the second example flips at its third and goes on."""
    rows = []
    for number, (before, steps) in _EXAMPLES.items():
        values = {
            place: value for place, choice, value in greedy(_queries(before, steps), [2] * len(steps)) if choice == 1
        }
        for place, (word, other, printed) in enumerate(steps):
            remark = ", its plural" if is_inflection(word, other) else ""
            figure = f"step {place + 1}, {word} to {other}{remark}"
            rows.append(compared(f"example {number}", figure, printed, values.get(place, np.nan), digits=4))
    return rows


def _queries(before: float, steps: list[tuple[str, str, float]]) -> Queries:
    after = np.array([printed for *_, printed in steps])
    factors = after / np.array([before, *after[:-1]])

    def victim(choices: Choices) -> FloatArray:
        p = before * np.prod(np.where(choices == 1, factors, np.where(choices == 2, 0.96, 1.0)), axis=1)
        return np.column_stack([p, 1.0 - p])

    return Queries(victim, 0)
