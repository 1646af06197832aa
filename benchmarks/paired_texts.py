"""How often a share of 400 texts that stays is said to have moved, and how large a change is found, paired and not.

    python -m benchmarks.paired_texts [pairs]

Two nights judge the same texts. A classifier is right of 70 % of them, of some more often than of others; in the later
night some outcomes are drawn anew, as after training anew, and some right ones are made wrong. Draws are those that
jobs on classifiers leave. Where some texts of the later night are other ones, draws are keyed by text, and those keyed
by place tell nothing of what is shared.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.classifiers.intervals import mean_of_texts
from tiltmeter.operators.statistics.differences import paired_difference, unpaired_difference
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.text_intervals import KeyedBy, KeyedResampleSettings
from tiltmeter.operators.statistics.units import each

_NUM_TEXTS = 400
_TEXTS = np.arange(_NUM_TEXTS)
_ANEW, _WORSE = (0.0, 0.02, 0.05, 0.1), (0.0, 0.01, 0.02, 0.03, 0.05, 0.08)
_ALPHA = 0.05
_EXCHANGED, _WORSE_OF_SHARED = (0.0, 0.0025, 0.01, 0.05), (0.0, 0.02, 0.03, 0.05, 0.08)


def _night(
    right: NDArray[np.bool_], seed: int, texts: NDArray[np.int64] = _TEXTS, keyed_by: KeyedBy = "place"
) -> dict[str, Any]:
    config = {"seed": seed, "intervals": KeyedResampleSettings(num_resamples=200, keyed_by=keyed_by)}
    return mean_of_texts("accuracy", right.astype(float), config, LOGIT, texts.tolist(), each(texts.size, "text"))


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


def _moved_of_shared(rng: np.random.Generator, exchanged: float, worse: float) -> Iterator[bool]:
    """Whether pairs of the shared texts tell a difference, and whether draws by place do."""
    before, after = _nights(rng, 0.0, worse)
    others = rng.permutation(_NUM_TEXTS)[: round(exchanged * _NUM_TEXTS)]
    texts = _TEXTS.copy()
    texts[others] += _NUM_TEXTS
    after[others] = rng.random(others.size) < rng.beta(2.1, 0.9, others.size)
    first, second, third = _night(before, 0, keyed_by="text"), _night(after, 0, texts, "text"), _night(after, 1)
    difference = second["accuracy"] - first["accuracy"]
    for judge, other in ((paired_difference, second), (unpaired_difference, third)):
        judged = judge(difference, first["accuracy_draws"], other["accuracy_draws"], centre="centred")
        yield bool(judged.p <= _ALPHA)


def _print_shared(rng: np.random.Generator, num_pairs: int) -> None:
    print("\n| texts exchanged | made wrong | paired by text | unpaired |\n|---|---|---|---|")
    for exchanged in _EXCHANGED:
        for worse in _WORSE_OF_SHARED:
            moved = np.mean([[*_moved_of_shared(rng, exchanged, worse)] for _ in range(num_pairs)], axis=0)
            print(f"| {exchanged:.2%} | {worse:.0%} | {moved[0]:.0%} | {moved[1]:.0%} |", flush=True)


def main(num_pairs: int = 150) -> None:
    rng = np.random.default_rng(0)
    print("| drawn anew | made wrong | paired | unpaired |\n|---|---|---|---|")
    for anew in _ANEW:
        for worse in _WORSE:
            paired, unpaired = np.mean([[*_moved(rng, anew, worse)] for _ in range(num_pairs)], axis=0)
            print(f"| {anew:.0%} | {worse:.0%} | {paired:.0%} | {unpaired:.0%} |", flush=True)
    _print_shared(rng, num_pairs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
