"""What each replaced word has to do with the fall of a verdict: Shapley values over the subsets of the changes.

phi_i = sum over subsets S without i of |S|! (m - |S| - 1)! / m! [p(S) - p(S + i)], where p(S) is the probability of the
original verdict with the changes of S alone. They add up to p() - p(all); Shapley 1953. Where subsets are too many,
phi_i is the mean, over orders in which the changes are made, of what change i takes away when its turn comes
(Castro, Gomez and Tejada 2009, *Polynomial calculation of the Shapley value based on sampling*).
"""

from math import factorial
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.adversary.spaces import Choices, Queries
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream

VERSION = "adversary_shares/2"

MAX_CHANGES = 12
"""Whose 2^12 subsets are all read."""


class Shares(NamedTuple):
    """Attributes:
    values: ``[positions]``, which add up to the fall; 0 where nothing changed.
    errors: ``[positions]``, standard errors; 0 where all subsets were read.
    """

    values: FloatArray
    errors: FloatArray


def shares_of_fall(queries: Queries, choices: Choices, num_orders: int, seed: int, key: int) -> Shares:
    """The share of each position in the fall of p(y0): exact up to ``MAX_CHANGES`` changes, sampled beyond.

    Args:
        queries, choices: as for :func:`shapley_values`, of any number of changes.
        num_orders, seed, key: as for :func:`sampled_shapley_values`.
    """
    if np.count_nonzero(choices) > MAX_CHANGES:
        return sampled_shapley_values(queries, choices, num_orders, seed, key)
    values = shapley_values(queries, choices)
    return Shares(values, np.zeros_like(values))


def sampled_shapley_values(queries: Queries, choices: Choices, num_orders: int, seed: int, key: int) -> Shares:
    """The same by orders that are drawn; each adds up to the whole fall, and so do their means.

    Args:
        queries: the victim, which is asked ``num_orders`` times the number of changes plus one.
        choices: ``[positions]`` of a text.
        num_orders: at least 2, of which standard errors are made.
        seed: of the run.
        key: of the text and the direction.

    Raises:
        ValueError: if there are too few orders.
    """
    if num_orders < 2:
        raise ValueError(f"search.shapley_orders={num_orders}: must be at least 2; set search.shapley_orders")
    changed = np.flatnonzero(choices)
    draws = keyed_generator(seed, Stream.SHAPLEY, key)
    orders = draws.permuted(np.tile(np.arange(changed.size), (num_orders, 1)), axis=1)
    is_made = orders.argsort(axis=1)[:, None, :] < np.arange(changed.size + 1)[:, None]
    texts = np.zeros((num_orders * (changed.size + 1), len(choices)), dtype=np.int64)
    texts[:, changed] = is_made.reshape(-1, changed.size) * choices[changed]
    falls = -np.diff(queries(texts)[0].reshape(num_orders, -1), axis=1)
    taken = np.empty_like(falls)
    np.put_along_axis(taken, orders, falls, axis=1)
    values, errors = np.zeros(len(choices)), np.zeros(len(choices))
    values[changed], errors[changed] = taken.mean(axis=0), taken.std(axis=0, ddof=1) / np.sqrt(num_orders)
    return Shares(values, errors)


def shapley_values(queries: Queries, choices: Choices) -> FloatArray:
    """The share of each position in the fall of p(y0).

    Args:
        queries: the victim.
        choices: ``[positions]`` of a text with at most ``MAX_CHANGES`` changes.

    Returns:
        ``[positions]``, 0 where nothing changed.

    Raises:
        ValueError: if the text has more changes.
    """
    changed = np.flatnonzero(choices)
    if changed.size > MAX_CHANGES:
        raise ValueError(f"{changed.size} changes: must be at most {MAX_CHANGES}; sample them")
    members = (np.arange(2**changed.size)[:, None] >> np.arange(changed.size)) & 1
    texts = np.zeros((len(members), len(choices)), dtype=np.int64)
    texts[:, changed] = members * choices[changed]
    values, sizes = queries(texts)[0], members.sum(axis=1)
    shares = np.zeros(len(choices))
    for number, position in enumerate(changed.tolist()):
        without = np.flatnonzero(members[:, number] == 0)
        weights = np.array([_weight(size, changed.size) for size in sizes[without].tolist()])
        shares[position] = weights @ (values[without] - values[without + 2**number])
    return shares


def _weight(size: int, num_changes: int) -> float:
    return factorial(size) * factorial(num_changes - size - 1) / factorial(num_changes)
