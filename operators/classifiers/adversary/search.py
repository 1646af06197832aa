"""Search for replacements of words that change a classifier's verdict, with a certificate where all were tried.

A ladder: every single change, every pair, and so on, as long as the number of queries fits a budget. A flip with h
changes is then a proven minimum, since no text with fewer flips; and where all texts within the limit of changes were
read and none flips, the verdict is proven robust on that space. What is larger goes to :mod:`.genetic`. ``greedy`` is
the pass that the project of Lantavos and Sushil, *gender bias of language-processing models by altering gendered
words*, released.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from tiltmeter.operators.classifiers.adversary.spaces import Choices, Queries, level_sizes, levels, levels_within

VERSION = "adversary_search/1"

Status = Literal["flipped_minimal", "flipped", "robust_proven", "not_found", "no_candidate"]

_MAX_PRUNED = 10
"""Changes of which all 2^10 subsets are tried."""


@dataclass(frozen=True)
class Attack:
    """What a search came to.

    Attributes:
        status: ``flipped_minimal`` and ``robust_proven`` are facts about the victim; ``not_found`` leaves it open.
        choices: ``[positions]`` of the text that flips; without a flip, of the one with the smallest p(y0).
        before, after: p(y0) of the text and of what it became.
        num_queries: texts that the victim was asked about, the original included.
    """

    status: Status
    choices: tuple[int, ...]
    before: float
    after: float
    num_queries: int

    @property
    def num_changes(self) -> int:
        return sum(choice > 0 for choice in self.choices)


def exhaustive(queries: Queries, num_candidates: Sequence[int], max_changes: int, budget: int) -> Attack:
    """The flip with the fewest changes; of these, the one with the smallest p(y0).

    A number of changes is tried as a whole or, where the budget is too small for that, not at all, so that no result
    depends on an order.

    Args:
        queries: the victim; those that it has answered already count.
        num_candidates: at each position.
        max_changes: H.
        budget: queries at most.

    Raises:
        ValueError: if the budget is not at least 1.
    """
    if budget < 1:
        raise ValueError(f"search.budget={budget}: must be at least 1; set search.budget")
    best = np.zeros(len(num_candidates), dtype=np.int64)
    before = after = float(queries(best[None])[0][0])
    if not any(num_candidates):
        return Attack("no_candidate", tuple(best.tolist()), before, before, queries.num_queries)
    sizes = level_sizes(num_candidates, min(max_changes, int(np.count_nonzero(num_candidates))))
    num_levels = levels_within(sizes, budget - queries.num_queries)
    for number in range(1, num_levels + 1):
        texts = levels(num_candidates, number)
        values, flips = queries(texts)
        if flips.any():
            chosen = np.flatnonzero(flips)[values[flips].argmin()]
            return Attack("flipped_minimal", _row(texts, chosen), before, float(values[chosen]), queries.num_queries)
        if values.min() < after:
            best, after = texts[values.argmin()], float(values.min())
    status: Status = "robust_proven" if num_levels == len(sizes) else "not_found"
    return Attack(status, tuple(best.tolist()), before, after, queries.num_queries)


def greedy(queries: Queries, num_candidates: Sequence[int], factor: float = 0.95) -> list[tuple[int, int, float]]:
    """The released pass: from left to right, the candidate with the smallest p(y0) where this falls below factor p(y0).

    Nothing is taken back, and it goes on behind a flip.

    Args:
        queries: the victim.
        num_candidates: at each position.
        factor: 0.95 is the published one.

    Returns:
        Position, choice and p(y0) after each change, in order.
    """
    current = np.zeros(len(num_candidates), dtype=np.int64)
    value = float(queries(current[None])[0][0])
    steps = []
    for position, number in enumerate(num_candidates):
        texts = np.repeat(current[None], number, axis=0)
        texts[:, position] = np.arange(1, number + 1)
        values = queries(texts)[0] if number else np.array([np.inf])
        if values.min() < factor * value:
            current, value = texts[values.argmin()], float(values.min())
            steps.append((position, int(current[position]), value))
    return steps


def pruned(queries: Queries, choices: Choices) -> Choices:
    """A flip without the changes that it does not need.

    Up to ten changes, the smallest of all their subsets that flips, and of these the one with the smallest p(y0); with
    more, the change whose loss leaves p(y0) smallest is taken back first, as long as the text flips.

    Args:
        queries: the victim.
        choices: ``[positions]`` of a text that flips.
    """
    changed = np.flatnonzero(choices)
    if changed.size > _MAX_PRUNED:
        kept = _taken_back(queries, choices, changed)
        return choices if kept is None else pruned(queries, kept)
    for number in range(1, changed.size):
        texts = np.stack([_restricted(choices, subset) for subset in combinations(changed.tolist(), number)])
        values, flips = queries(texts)
        if flips.any():
            smallest: Choices = texts[flips][values[flips].argmin()]
            return smallest
    return choices


def _taken_back(queries: Queries, choices: Choices, changed: Choices) -> Choices | None:
    """The text with one change less that still flips, of which p(y0) is smallest."""
    texts = np.repeat(choices[None], changed.size, axis=0)
    texts[np.arange(changed.size), changed] = 0
    values, flips = queries(texts)
    return texts[flips][values[flips].argmin()] if flips.any() else None


def _restricted(choices: Choices, positions: Sequence[int]) -> Choices:
    text = np.zeros_like(choices)
    text[list(positions)] = choices[list(positions)]
    return text


def _row(texts: Choices, number: int) -> tuple[int, ...]:
    return tuple(texts[number].tolist())
