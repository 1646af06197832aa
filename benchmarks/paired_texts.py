"""How often a share of 400 texts that stays is said to have moved, and how large a change is found, paired and not.

    python -m benchmarks.paired_texts [pairs]

Two nights judge the same texts. A classifier is right of 70 % of them, of some more often than of others; in the later
night some outcomes are drawn anew, as after training anew, and some right ones are made wrong. Draws are those that
jobs on classifiers leave.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.classifiers.intervals import mean_of_texts
from tiltmeter.operators.statistics.differences import paired_difference, unpaired_difference
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.text_intervals import ResampleSettings

_NUM_TEXTS = 400
_ANEW, _WORSE = (0.0, 0.02, 0.05, 0.1), (0.0, 0.01, 0.02, 0.03, 0.05, 0.08)
_ALPHA = 0.05
_INTERVALS = ResampleSettings(num_resamples=200)


def _night(right: NDArray[np.bool_], seed: int) -> dict[str, Any]:
    config = {"seed": seed, "intervals": _INTERVALS}
    return mean_of_texts("accuracy", right.astype(float), config, LOGIT, list(range(_NUM_TEXTS)))


def _nights(rng: np.random.Generator, anew: float, worse: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    easy = rng.beta(2.1, 0.9, _NUM_TEXTS)
    before = rng.random(_NUM_TEXTS) < easy
    drawn = rng.random(_NUM_TEXTS) < anew
    after = np.where(drawn, rng.random(_NUM_TEXTS) < easy, before)
    after[rng.permutation(np.flatnonzero(after))[: round(worse * _NUM_TEXTS)]] = False
    return before, after


def _moved(rng: np.random.Generator, anew: float, worse: float) -> Iterator[bool]:
    """Whether the pairs tell a difference, and whether draws of another seed do."""
    before, after = _nights(rng, anew, worse)
    first, second, third = _night(before, 0), _night(after, 0), _night(after, 1)
    difference = second["accuracy"] - first["accuracy"]
    for judge, other in ((paired_difference, second), (unpaired_difference, third)):
        judged = judge(difference, first["accuracy_draws"], other["accuracy_draws"], centre="centred")
        yield bool(judged.p <= _ALPHA)


def main(num_pairs: int = 150) -> None:
    rng = np.random.default_rng(0)
    print("| drawn anew | made wrong | paired | unpaired |\n|---|---|---|---|")
    for anew in _ANEW:
        for worse in _WORSE:
            paired, unpaired = np.mean([[*_moved(rng, anew, worse)] for _ in range(num_pairs)], axis=0)
            print(f"| {anew:.0%} | {worse:.0%} | {paired:.0%} | {unpaired:.0%} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
