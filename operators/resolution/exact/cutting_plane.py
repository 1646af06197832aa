"""The optimum of a clique partitioning problem, proven by cutting planes and branch and bound.

Groetschel and Wakabayashi 1989, *A cutting plane algorithm for a clustering problem*: with x_ij = 1 if i and j share a
part, maximise sum w_ij x_ij subject to x_ij + x_jk - x_ik <= 1 for all triples, x_ij in {0, 1} (Vadrevu et al. 2021,
*Exact and explainable entity resolution*, equations 1 to 5). Triangles are added where a relaxation violates them, then
2-partition inequalities, which leave little to branch on.

Solutions of the relaxation are approximate, bounds are not: each comes from a dual point by weak duality. By how much a
bound falls if a pair is put together, or apart, decides most pairs long before the relaxation is solved: they are fixed
where that leads to nothing better than the partition at hand.
"""

import heapq
import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.resolution.exact.cuts import triangles, two_partitions
from tiltmeter.operators.resolution.exact.fixings import Fixings, closed
from tiltmeter.operators.resolution.exact.relaxation import Relaxation, Solution
from tiltmeter.operators.resolution.exact.rounds import FEW_CUTS, Rounds
from tiltmeter.operators.resolution.problem import TOLERANCE, Problem, Remaining, Result, result
from tiltmeter.operators.resolution.search.local_search import local_search, local_search_result

VERSION = "cutting_plane/1"

MAX_NODES = 2000
"""Beyond, 2 million variables, a relaxation takes hours: the answer is that of the local search."""

_FEW_PAIRS = 300
"""So many free pairs are left to the simplex method, which is exact, and fast on small relaxations."""

_MAX_TRIANGLES = 10_000

_CUTS_PER_NODE = 5
"""2-partition inequalities to add at a time."""

_MAX_WORK = 2 * 10**8
"""Entries of rows that the first-order method passes between two looks at the time, about half a second."""

_LOOKS = 50
"""How often a short local search may ask for the time."""


class _Node(NamedTuple):
    """A subproblem; in order, the largest bound comes first."""

    negated_bound: float
    number: int
    decisions: tuple[tuple[int, int, bool], ...]


def cutting_plane(problem: Problem, remaining: Remaining, start: IntArray | None = None) -> Result:
    """A best partition with its proof, or what is known when time is up.

    Args:
        problem: above 2000 nodes it is left to :func:`.local_search.local_search_result`.
        remaining: seconds that are left. Without a limit the answer is the same on every machine of one type.
        start: ``[nodes]``, a good partition; that of the local search, in at most half the time, if there is none.

    Returns:
        The bound holds whatever the status. ``num_cuts`` counts triangles and 2-partition inequalities.

    A hub that fits to three nodes, of which no two fit to each other. In the relaxation each pair is half together:

    >>> left, right = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 3, 2, 3, 3])
    >>> star = Problem(4, left, right, np.array([2.0, 2.0, 2.0, -2.0, -2.0, -2.0]), "zero")
    >>> result = cutting_plane(star, lambda: 60.0)
    >>> result.status, result.objective, result.bound
    ('proven', 2.0, 2.0)
    """
    if problem.num_nodes > MAX_NODES:
        return local_search_result(problem, remaining)
    if start is None:
        kept = remaining() / 2.0
        start = local_search(problem, lambda: remaining() - kept)
    search = _Search(problem, remaining, start)
    bound = search.run()
    return result(problem, search.labels, bound, search.num_cuts, search.num_branches)


class _Search:
    """Best bound first over subproblems; all share one relaxation, whose rows hold everywhere."""

    def __init__(self, problem: Problem, remaining: Remaining, start: IntArray) -> None:
        self.labels = start
        self.num_cuts = 0
        self.num_branches = 0
        self._problem, self._remaining = problem, remaining
        self._objective = problem.objective(start)
        self._relaxation = Relaxation(problem.matrix)
        self._known = Fixings(np.eye(problem.num_nodes, dtype=np.bool_), np.isneginf(problem.matrix))
        self._settled = -math.inf

    def run(self) -> float:
        """Improves the labels; returns a bound."""
        everything = float(np.maximum(0.0, self._problem.weights).sum())
        nodes = [_Node(-everything, 0, ())]
        while nodes and -nodes[0].negated_bound > self._cutoff and self._remaining() > 0.0:
            node = heapq.heappop(nodes)
            bound, pair = self._explore(node)
            if pair is None:
                self._settled = max(self._settled, bound)
                continue
            for together in (True, False):
                self.num_branches += 1
                heapq.heappush(nodes, _Node(-bound, self.num_branches, (*node.decisions, (*pair, together))))
        return max(self._objective, self._settled, *(-node.negated_bound for node in nodes[:1]))

    @property
    def _cutoff(self) -> float:
        """What has no larger bound holds nothing better, so far as can be told."""
        if self._problem.step:
            return self._objective + self._problem.step * (1.0 - 2.0 * TOLERANCE)
        return self._objective + 0.5 * TOLERANCE * max(1.0, abs(self._objective))

    def _explore(self, node: _Node) -> tuple[float, tuple[int, int] | None]:
        """A bound of the node, and the pair to branch on unless it holds nothing better, or time is up."""
        fixings = self._decided(node)
        rounds = Rounds(-node.negated_bound)
        while fixings is not None and self._remaining() > 0.0:
            solution = self._solve(fixings, rounds)
            if rounds.bound <= self._cutoff or not solution.is_solved:
                return rounds.bound, None
            fractional = fixings.free & (np.abs(solution.x - 0.5) < 0.5 - rounds.precision.fraction)
            num_new = self._separate(solution.x, fixings, rounds, bool(fractional.any()))
            if rounds.are_over(num_new, bool(fractional.any()), self._cutoff):
                return rounds.bound, self._branching_pair(solution.x, fractional)
            rounds.adapt(num_new)
            fixings = self._tightened(node, fixings, solution)
        return self._cutoff if fixings is None else rounds.bound, None

    def _decided(self, node: _Node) -> Fixings | None:
        together, apart = self._known.together.copy(), self._known.apart.copy()
        for one, other, is_together in node.decisions:
            (together if is_together else apart)[one, other] = True
        return closed(together, apart)

    def _solve(self, fixings: Fixings, rounds: Rounds) -> Solution:
        rounds.is_exact |= int(fixings.free.sum()) <= 2 * _FEW_PAIRS
        self._relaxation.fix(*fixings)
        if rounds.is_exact:
            solution = self._relaxation.solve(self._remaining())
        else:
            num_affordable = 1 + _MAX_WORK // (1 + self._relaxation.num_entries)
            solution = self._relaxation.approach(min(rounds.num_iterations, num_affordable))
        self._offer(_rounded(solution.x, self._pays(fixings)))
        rounds.see(solution, self._cutoff)
        return solution

    def _separate(self, x: FloatArray, fixings: Fixings, rounds: Rounds, is_fractional: bool) -> int:
        """Adds rows that x violates; how many."""
        precision = rounds.precision
        cuts = triangles(x, self._pays(fixings), _MAX_TRIANGLES, precision.triangle)
        num_new = cuts.number
        if not rounds.is_exact or rounds.has_moved:
            self._relaxation.purge()
        self._relaxation.add(cuts)
        if is_fractional and rounds.is_close and (not rounds.is_exact or num_new < _CUTS_PER_NODE):
            most = _CUTS_PER_NODE * x.shape[0]
            cuts = two_partitions(x, most, precision.cut)
            if cuts.number < FEW_CUTS:
                cuts = two_partitions(x, most, precision.last_cut)
            self._relaxation.add(cuts)
            num_new += cuts.number
        self.num_cuts += num_new
        return num_new

    def _pays(self, fixings: Fixings) -> BoolArray:
        pays: BoolArray = (self._problem.matrix > 0.0) | fixings.together
        return pays

    def _tightened(self, node: _Node, fixings: Fixings, solution: Solution) -> Fixings | None:
        """Fixes pairs whose other value leads to nothing better (reduced cost fixing)."""
        spare = solution.bound - self._cutoff
        together, apart = fixings.free & (solution.reduced >= spare), fixings.free & (-solution.reduced >= spare)
        if not (together.any() or apart.any()):
            return fixings
        self._settled = max(self._settled, self._cutoff)
        tightened = closed(fixings.together | together, fixings.apart | apart)
        if tightened is not None and not node.decisions:
            self._known = tightened
        return tightened

    def _branching_pair(self, x: FloatArray, fractional: BoolArray) -> tuple[int, int] | None:
        """The fractional pair that is nearest to 1/2, of these the heaviest."""
        if not fractional.any():
            return None
        heavy = np.abs(self._problem.matrix[fractional])
        first, last = np.nonzero(fractional)
        place = np.lexsort((-heavy, np.abs(x[fractional] - 0.5).round(2)))[0]
        self._offer(self._improved(_rounded(x, x > 0.5)))
        return int(first[place]), int(last[place])

    def _improved(self, labels: IntArray) -> IntArray:
        if np.isneginf(self._problem.objective(labels)):
            return self.labels
        looks = iter(range(_LOOKS))
        return local_search(
            self._problem, lambda: min(self._remaining(), float(next(looks, None) is not None)), start=labels
        )

    def _offer(self, labels: IntArray) -> None:
        objective = self._problem.objective(labels)
        if objective > self._objective:
            self.labels, self._objective = labels, objective


def _rounded(x: FloatArray, pays: BoolArray) -> IntArray:
    """Parts that hold together by pairs that pay and are more together than apart."""
    _, labels = connected_components(coo_array((x > 0.5) & pays), directed=False)
    return np.asarray(labels, dtype=np.int64)
