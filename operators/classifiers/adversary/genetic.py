"""Genetic search for a change of verdict, where a text can become more texts than can be read.

Individuals are texts, their fitness F(z) = 1 - p(y0 | z). After Alzantot et al. 2018, *Generating natural language
adversarial examples*: parents are drawn in proportion to exp(F / T), the fittest stays, and a child is the one's
words up to a point and the other's behind it, as Lantavos and Sushil say, or of each position either's, as Alzantot
et al. do. A mutation gives one position the candidate that raises F most. Changes beyond a limit are undone, those
that F loses least by first. A flip ends the search, and what it does not need is taken back (:func:`.search.pruned`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.operators.classifiers.adversary.search import Attack, Status, pruned
from tiltmeter.operators.classifiers.adversary.spaces import Choices, Queries, levels
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream

VERSION = "adversary_genetic/1"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GeneticConfig:
    """A genetic search.

    Attributes:
        population: S, texts of a generation.
        generations: G, at most.
        temperature: T of the selection of parents.
        crossover: ``one_point``, as published; ``uniform``, after Alzantot et al. 2018.
    """

    population: Annotated[int, Field(ge=2)] = 60
    generations: Annotated[int, Field(ge=1)] = 20
    temperature: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 0.3
    crossover: Literal["one_point", "uniform"] = "one_point"


@dataclass
class _Search:
    queries: Queries
    num_candidates: Sequence[int]
    max_changes: int
    config: GeneticConfig

    def mutated(self, text: Choices, draws: np.random.Generator) -> Choices:
        """One position with the candidate that raises F most; those that raise nothing are not drawn again."""
        weights = np.array(self.num_candidates, dtype=np.float64)
        before = self.queries(text[None])[0][0]
        while weights.sum() > 0.0:
            position = int(draws.choice(len(weights), p=weights / weights.sum()))
            texts = np.repeat(text[None], self.num_candidates[position], axis=0)
            texts[:, position] = np.arange(1, self.num_candidates[position] + 1)
            values = self.queries(texts)[0]
            if values.min() < before:
                return self.repaired(texts[values.argmin()])
            weights[position] = 0.0
        return text

    def repaired(self, text: Choices) -> Choices:
        """With no more changes than the limit: undone are those by whose loss p(y0) grows least."""
        while np.count_nonzero(text) > self.max_changes:
            changed = np.flatnonzero(text)
            texts = np.repeat(text[None], changed.size, axis=0)
            texts[np.arange(changed.size), changed] = 0
            text = texts[self.queries(texts)[0].argmin()]
        return text

    def child(self, parents: Choices, draws: np.random.Generator) -> Choices:
        """Of two parents, ``[2, positions]``."""
        size = parents.shape[1]
        if self.config.crossover == "uniform":
            is_first = draws.integers(2, size=size) == 0
        else:
            is_first = np.arange(size) < draws.integers(1, max(size, 2))
        return self.repaired(np.where(is_first, parents[0], parents[1]))


def genetic(
    queries: Queries,
    num_candidates: Sequence[int],
    max_changes: int,
    budget: int,
    config: GeneticConfig,
    seed: int,
    key: int,
) -> Attack:
    """A flip with few changes, if one is come across; otherwise the text with the smallest p(y0).

    The first generation has the best single changes, the best pairs of these, and mutations of both.

    Args:
        queries: the victim; those that it has answered already count.
        num_candidates: at each position.
        max_changes: H.
        budget: queries, beyond which no generation begins.
        config: of the search.
        seed: of the run.
        key: of the text and the direction; draws depend on these and the generation alone.
    """
    original = np.zeros((1, len(num_candidates)), dtype=np.int64)
    before = float(queries(original)[0][0])
    if not any(num_candidates):
        return Attack("no_candidate", tuple(original[0].tolist()), before, before, queries.num_queries)
    search = _Search(queries, num_candidates, max_changes, config)
    texts = _first_generation(search, keyed_generator(seed, Stream.SUBSTITUTION, key, 0))
    for generation in range(1, config.generations + 1):
        values, flips = queries(texts)
        if flips.any() or queries.num_queries >= budget:
            break
        texts = _next_generation(search, texts, values, keyed_generator(seed, Stream.SUBSTITUTION, key, generation))
    values, flips = queries(texts)
    if not flips.any():
        return Attack(
            "not_found", tuple(texts[values.argmin()].tolist()), before, float(values.min()), queries.num_queries
        )
    fewest = np.lexsort((values, np.count_nonzero(texts, axis=1), ~flips))[0]
    flip = pruned(queries, texts[fewest])
    after = float(queries(flip[None])[0][0])
    status: Status = "flipped_minimal" if np.count_nonzero(flip) == 1 else "flipped"
    return Attack(status, tuple(flip.tolist()), before, after, queries.num_queries)


def _first_generation(search: _Search, draws: np.random.Generator) -> Choices:
    """The best singles and the best pairs of these, a quarter each, and mutations of both."""
    quarter = max(search.config.population // 4, 1)
    singles = _best(search, levels(search.num_candidates, 1), quarter)
    both = singles[:, None] * (singles[None] == 0) + singles[None]
    pairs = np.unique(both[np.count_nonzero(both, axis=2) == min(2, search.max_changes)], axis=0)
    best = np.concatenate([singles, _best(search, pairs, quarter)])
    missing = max(search.config.population - len(best), 1)
    others = [search.mutated(best[number % len(best)], draws) for number in range(missing)]
    return np.concatenate([best, np.stack(others)])


def _best(search: _Search, texts: Choices, number: int) -> Choices:
    return texts[np.argsort(search.queries(texts)[0], kind="stable")[:number]] if len(texts) else texts


def _next_generation(search: _Search, texts: Choices, values: FloatArray, draws: np.random.Generator) -> Choices:
    weights = np.exp((values.min() - values) / search.config.temperature)
    children = [texts[values.argmin()]]
    for _ in range(len(texts) - 1):
        parents = texts[draws.choice(len(texts), size=2, p=weights / weights.sum())]
        children.append(search.mutated(search.child(parents, draws), draws))
    return np.stack(children)
