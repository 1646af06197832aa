"""Exact search among more texts than can be read, for a victim that bounds what many texts at once can come to.

Branch and bound (Land and Doig 1960). A branch is a text with j changes, and stands for all texts with h changes that
add h - j further ones behind its last. The sums that a linear victim is made of (:mod:`.linear`) add up over changes:
each lies between the sum of the branch plus the h - j smallest changes of that sum behind it, and plus the h - j
largest, one for each position. If no text with sums in between is of another class, then none of the branch is, and
it is left out. The positions are taken in the order of what they can do alone, so that what is left behind can do
little.

*Why that is exact.* Every text with h changes is reached from exactly one branch with j changes, for each j < h: that
of its first j changed positions in order. A branch is left out only if the bound, which holds for all of its texts,
excludes a flip; so by induction all texts with h changes that flip are read. Numbers of changes are tried from small
to large: the first that has a flip is the minimum, and if none has, the text is robust. Were scores no more than sums,
positions would be independent, the bounds would be reached, and the branch of the best changes would be the only one.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.adversary.search import Attack
from tiltmeter.operators.classifiers.adversary.spaces import Choices, Queries, levels
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_bounded/1"

_SLACK = 1e-9
"""Sums in another order differ by rounding."""
_BLOCK = 8192
_BEAM = 64
"""Branches that are followed beyond the budget."""


@runtime_checkable
class BoundedVictim(Protocol):
    """A victim whose probabilities follow from sums over the words of a text."""

    @property
    def fixed(self) -> FloatArray:
        """``[sums]`` of the words that stay."""

    @property
    def terms(self) -> Sequence[FloatArray]:
        """Of each position, ``[options, sums]``."""

    def __call__(self, choices: Choices, /) -> FloatArray: ...

    def lead_bounds(self, low: FloatArray, high: FloatArray, label: int, /) -> FloatArray:
        """``[texts]``: below 0 where no text with sums in between is of another class than the label's."""


class _Branches(NamedTuple):
    """Attributes:
    choices: ``[branches, positions]``.
    sums: ``[branches, sums]``.
    places: ``[branches]``, in the order of the positions, from which on changes may be added.
    bounds: ``[branches]``, by how much another class may lead.
    """

    choices: Choices
    sums: FloatArray
    places: NDArray[np.int64]
    bounds: FloatArray

    def best(self, number: int) -> "_Branches":
        """Those that may lead most."""
        chosen = np.argsort(-self.bounds, kind="stable")[:number]
        return _Branches(self.choices[chosen], self.sums[chosen], self.places[chosen], self.bounds[chosen])


class _Bounded:
    def __init__(self, queries: Queries, victim: BoundedVictim, order: NDArray[np.int64], budget: int) -> None:
        self._queries, self._victim, self._order, self._left = queries, victim, order, budget
        self.is_complete = True
        gains = [victim.terms[position][1:] - victim.terms[position][0] for position in order]
        self._gains = np.concatenate(gains)
        numbers = [len(rows) for rows in gains]
        self._places = np.repeat(np.arange(len(order)), numbers)
        self._options = np.concatenate([np.arange(1, number + 1) for number in numbers])
        self._starts = np.concatenate([[0], np.cumsum(numbers)])
        self._least, self._most = (np.stack([end(rows, axis=0) for rows in gains]) for end in (np.min, np.max))

    def flips(self, num_changes: int) -> tuple[Choices, FloatArray]:
        """All texts with so many changes that flip, and p(y0) of each; some of them beyond the budget."""
        original = self._victim.fixed + sum(rows[0] for rows in self._victim.terms)
        zeros = np.zeros((1, len(self._victim.terms)), dtype=np.int64)
        branches = _Branches(zeros, original[None], np.zeros(1, dtype=np.int64), np.zeros(1))
        for missing in range(num_changes - 1, -1, -1):
            branches = self._grown(branches, missing)
        values, flips = self._queries(branches.choices)
        return branches.choices[flips], values[flips]

    def _suffixes(self, number: int, sign: float) -> FloatArray:
        """``[positions + 1, sums]``: the sum of so many of the largest changes (smallest for -1) from each place on."""
        ends = sign * (self._most if sign > 0.0 else self._least)
        sums = np.zeros((len(ends) + 1, ends.shape[1]))
        for place in range(len(ends) if number else 0):
            sums[place] = np.sort(ends[place:], axis=0)[-number:].sum(axis=0)
        return sign * sums

    def _grown(self, branches: _Branches, missing: int) -> _Branches:
        """With one change more, those of which the bounds allow a flip."""
        branches = self._affordable(branches, missing)
        numbers = self._num_children(branches, missing)
        parents = np.repeat(np.arange(len(numbers)), numbers)
        items = np.arange(numbers.sum()) - np.repeat(np.cumsum(numbers) - numbers, numbers)
        items += np.repeat(self._starts[branches.places], numbers)
        suffixes = self._suffixes(missing, -1.0), self._suffixes(missing, 1.0)
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(items), _BLOCK)]
        bounds = [self._bounds(branches, parents[block], items[block], suffixes) for block in blocks]
        leads = np.concatenate(bounds or [np.zeros(0)])
        is_open = leads >= -_SLACK
        parents, items = parents[is_open], items[is_open]
        choices = branches.choices[parents]
        choices[np.arange(len(items)), self._order[self._places[items]]] = self._options[items]
        sums = branches.sums[parents] + self._gains[items]
        return _Branches(choices, sums, self._places[items] + 1, leads[is_open])

    def _affordable(self, branches: _Branches, missing: int) -> _Branches:
        """All branches or, where there are too many, the few of which most can be expected."""
        number = int(self._num_children(branches, missing).sum())
        if number > self._left:
            self.is_complete = False
            return branches.best(_BEAM)
        self._left -= number
        return branches

    def _num_children(self, branches: _Branches, missing: int) -> NDArray[np.int64]:
        last = self._starts[len(self._order) - missing]
        numbers: NDArray[np.int64] = np.maximum(last - self._starts[branches.places], 0)
        return numbers

    def _bounds(
        self,
        branches: _Branches,
        parents: NDArray[np.int64],
        items: NDArray[np.int64],
        suffixes: tuple[FloatArray, FloatArray],
    ) -> FloatArray:
        sums, behind = branches.sums[parents] + self._gains[items], self._places[items] + 1
        low, high = suffixes
        return self._victim.lead_bounds(sums + low[behind], sums + high[behind], self._queries.label)


def bounded(
    queries: Queries, victim: BoundedVictim, num_candidates: Sequence[int], sizes: range, budget: int
) -> Attack | None:
    """The flip with the fewest changes; of these, the one with the smallest p(y0) among those that were come across.

    These are all of them, as long as the budget reaches. Beyond it the branches that may lead most are followed alone:
    what flips then is still a minimum, since nothing smaller does, but where nothing does nothing is known.

    Args:
        queries: that ask the victim.
        victim: the same.
        num_candidates: at each position.
        sizes: numbers of changes that are tried, of which there are positions enough; fewer are known not to flip.
        budget: branches that are bounded at most.

    Returns:
        Without a flip, the text with one change whose p(y0) is smallest. None if the budget was too small to tell.
    """
    singles = levels(num_candidates, 1)
    values = queries(singles)[0]
    before = float(queries(np.zeros((1, len(num_candidates)), dtype=np.int64))[0][0])
    search = _Bounded(queries, victim, _ordered(singles, values, len(num_candidates)), budget)
    for num_changes in sizes:
        texts, after = search.flips(num_changes)
        if len(texts):
            chosen = int(after.argmin())
            text = tuple(texts[chosen].tolist())
            return Attack("flipped_minimal", text, before, float(after[chosen]), queries.num_queries)
        if not search.is_complete:
            return None
    best = int(values.argmin())
    return Attack("robust_proven", tuple(singles[best].tolist()), before, float(values[best]), queries.num_queries)


def _ordered(singles: Choices, values: FloatArray, num_positions: int) -> NDArray[np.int64]:
    """Positions that have candidates; that whose change leaves the smallest p(y0) first."""
    smallest = np.full(num_positions, np.inf)
    np.minimum.at(smallest, singles.argmax(axis=1), values)
    order = np.argsort(smallest, kind="stable")
    kept: NDArray[np.int64] = order[np.isfinite(smallest[order])]
    return kept
