"""p-values of any measure of bias: its number among those that it has when words are dealt anew.

T_0 is the number of the query as it is, T_p that of partition p. With all partitions, p = #{p: T_p >= T_0} / #p, in
which the query itself is one; with draws, p = (1 + #{T_p >= T_0}) / (1 + draws), so that it counts here as well. ``>=``
is read as the null hypothesis says (:class:`.measures.Exchange`); ties within 1e-12 count, and so does a partition that
leaves the measure undefined, so that p is never too small. It is about the words at hand: whether their labels carry
information in this embedding, and not whether other words, or other texts, would do the same.
"""

import math
from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.association.measures import BiasMeasure, Exchange, Groups
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray

VERSION = "exchange/1"

MOST_ENUMERATED = 20_000
"""Partitions; 8 and 8 words have 12,870."""

_NUMBERS_AT_ONCE = 2_000_000
_TIE = 1e-12


class ExchangeP(NamedTuple):
    """p-values of one query.

    Attributes:
        value: ``[numbers]``, of each number of the measure: one, or one for each word.
        adjusted: ``[numbers]``, for all of them at once: by the largest in each partition (max-T, Westfall and Young).
        method: "exact" or "monte_carlo".
        num_partitions: that were looked at, the query itself among them.
    """

    value: FloatArray
    adjusted: FloatArray
    method: str
    num_partitions: int


def exchange_p(
    brought: BiasMeasure, groups: Groups, null: Exchange, num_draws: int, generator: np.random.Generator
) -> ExchangeP:
    """How often chance alone makes the measure of one embedding as large.

    Args:
        brought: the measure.
        groups: the vectors of one embedding, ``[1, words, dims]`` each, none NaN.
        null: what is exchanged.
        num_draws: of partitions, where there are more than 20,000.
        generator: of these draws.

    >>> from tiltmeter.operators.association.measures import BiasMeasure
    >>> gap = BiasMeasure("gap/1", "", lambda g: g.x.mean(axis=(1, 2)) - g.y.mean(axis=(1, 2)))
    >>> x, y = np.array([[[5.0], [4.0]]]), np.array([[[1.0], [2.0]]])
    >>> exchange_p(gap, Groups(x, y, x, x), Exchange("targets"), 10, np.random.default_rng(0)).value.round(3)
    array([0.333])
    """
    orders, is_all = _orders(groups, null, num_draws, generator)
    numbers = np.concatenate([_numbers(brought, part) for part in _parts(groups.in_their_span(), orders, null)])
    sizes = -numbers if null.tail == "less" else np.abs(numbers)
    largest = np.where(np.isnan(sizes), np.inf, sizes).max(axis=1, keepdims=True)
    value, adjusted = (_reached(values, sizes[0]).mean(axis=0) for values in (sizes, largest))
    return ExchangeP(value, adjusted, "exact" if is_all else "monte_carlo", len(orders))


def _reached(values: FloatArray, observed: FloatArray) -> BoolArray:
    return np.asarray(~(values < observed - _TIE))


def _numbers(brought: BiasMeasure, groups: Groups) -> FloatArray:
    """``[partitions, numbers]``"""
    numbers = np.asarray(brought.measure(groups), dtype=np.float64)
    return numbers.reshape(len(numbers), -1)


def _orders(groups: Groups, null: Exchange, num_draws: int, generator: np.random.Generator) -> tuple[IntArray, bool]:
    """``[partitions, words]``: the places of the words in their new order, the given one first; whether it is all."""
    first, second = (groups.a, groups.b) if null.of == "attributes" else (groups.x, groups.y)
    size, num = first.shape[1], first.shape[1] + second.shape[1]
    if null.of == "pairs":
        is_all = 2**size <= MOST_ENUMERATED
        turned = (
            np.array([*product((False, True), repeat=size)]) if is_all else generator.random((num_draws, size)) < 0.5
        )
        places = np.arange(size)
        orders = np.hstack([places + size * turned, places + size * ~turned])
    else:
        is_all = math.comb(num, size) <= MOST_ENUMERATED
        dealt = np.array([*combinations(range(num), size)]) if is_all else _dealt(num, size, num_draws, generator)
        is_second = np.ones((len(dealt), num), dtype=bool)
        np.put_along_axis(is_second, dealt, False, axis=1)
        orders = np.argsort(is_second, axis=1, kind="stable")
    return (orders if is_all else np.vstack([np.arange(num), orders])), is_all


def _dealt(num: int, size: int, num_draws: int, generator: np.random.Generator) -> IntArray:
    return generator.permuted(np.tile(np.arange(num), (num_draws, 1)), axis=1)[:, :size]


def _parts(groups: Groups, orders: IntArray, null: Exchange) -> Iterator[Groups]:
    """The query under some partitions at a time, each as an embedding."""
    at_once = max(1, _NUMBERS_AT_ONCE // sum(vectors[0].size for vectors in groups))
    names = ("a", "b") if null.of == "attributes" else ("x", "y")
    both = np.concatenate([getattr(groups, name)[0] for name in names])
    size = getattr(groups, names[0]).shape[1]
    for start in range(0, len(orders), at_once):
        dealt = both[orders[start : start + at_once]]
        kept = {
            name: np.broadcast_to(vectors, (len(dealt), *vectors.shape[1:]))
            for name, vectors in groups._asdict().items()
        }
        yield Groups(**kept | {names[0]: dealt[:, :size], names[1]: dealt[:, size:]})
