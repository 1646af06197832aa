"""An attack on a text from the cheapest search that proves something to the one that finds what it can."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.adversary.bounded import BoundedVictim, bounded
from tiltmeter.operators.classifiers.adversary.genetic import GeneticConfig, genetic
from tiltmeter.operators.classifiers.adversary.search import Attack, Status, exhaustive, greedy
from tiltmeter.operators.classifiers.adversary.spaces import Choices, Queries, level_sizes, levels, levels_within

VERSION = "adversary_ladder/3"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SearchConfig:
    """How a change is searched for that changes a verdict.

    Attributes:
        max_share: of the words of a text, that may change; one always may.
        budget: queries about a text, for each search.
        branches: of the exact search beyond it, for victims that can bound many texts at once; 0: none.
        shapley_orders: of the changes of a text with more than 12, of which their shares are the means.
        greedy: whether the released pass runs too, as a reference.
        genetic: where all texts within the limit are more than the budget.
    """

    max_share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.2
    budget: Annotated[int, Field(ge=1)] = 20_000
    branches: Annotated[int, Field(ge=0)] = 100_000
    shapley_orders: Annotated[int, Field(ge=2)] = 100
    greedy: bool = True
    genetic: GeneticConfig = Field(default_factory=GeneticConfig)


def ladder(
    queries: Queries, num_candidates: Sequence[int], max_changes: int, config: SearchConfig, seed: int, key: int
) -> Attack:
    """:func:`.search.exhaustive` as far as the budget reaches, :func:`.bounded.bounded` where the victim allows it, and
    :func:`.genetic.genetic` beyond, whose flip has the fewest changes where all texts with fewer had been read.

    Args:
        queries: the victim.
        num_candidates: at each position.
        max_changes: H.
        config: the searches.
        seed: of the run.
        key: of the text and the direction.
    """
    attack = exhaustive(queries, num_candidates, max_changes, config.budget)
    if attack.status != "not_found":
        return attack
    sizes = level_sizes(num_candidates, min(max_changes, int(np.count_nonzero(num_candidates))))
    first = levels_within(sizes, config.budget - 1) + 1
    if isinstance(queries.victim, BoundedVictim):
        beyond = range(first, len(sizes) + 1)
        if proven := bounded(queries, queries.victim, num_candidates, beyond, config.branches):
            return proven
    budget = config.budget + queries.num_queries
    attack = genetic(queries, num_candidates, max_changes, budget, config.genetic, seed, key)
    is_minimal = attack.status == "flipped" and attack.num_changes <= first
    return replace(attack, status="flipped_minimal") if is_minimal else attack


def all_at_once(queries: Queries, num_candidates: Sequence[int]) -> Attack:
    """Every word that has a candidate by the first of these, in one query: a flip breaks counterfactual fairness.

    Args:
        queries: the victim.
        num_candidates: at each position.
    """
    return _outcome(queries, np.array([min(number, 1) for number in num_candidates], dtype=np.int64))


def greedy_attack(queries: Queries, num_candidates: Sequence[int]) -> Attack:
    """What :func:`.search.greedy` ends with, which flips or not."""
    choices = np.zeros(len(num_candidates), dtype=np.int64)
    for position, choice, _ in greedy(queries, num_candidates):
        choices[position] = choice
    return _outcome(queries, choices)


def _outcome(queries: Queries, choices: Choices) -> Attack:
    values, flips = queries(np.stack([np.zeros_like(choices), choices]))
    num_changes = np.count_nonzero(choices)
    flipped: Status = "flipped_minimal" if num_changes == 1 else "flipped"
    status: Status = flipped if flips[1] else "not_found"
    return Attack(status, tuple(choices.tolist()), float(values[0]), float(values[1]), queries.num_queries)


def single_fall(queries: Queries, num_candidates: Sequence[int], before: float) -> float:
    """By how much p(y0) falls at most with one change; 0 where none lowers it."""
    singles = levels(num_candidates, 1)
    return max(0.0, before - float(queries(singles)[0].min())) if len(singles) else 0.0
