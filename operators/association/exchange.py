"""p-values of any measure of bias: its number among those that it has when words are dealt anew.

T_0 is the number of the query as it is, T_p that of partition p. With all partitions, p = #{p: T_p >= T_0} / #p, in
which the query itself is one; with draws, p = (1 + #{T_p >= T_0}) / (1 + draws), so that it counts here as well. ``>=``
is read as the null hypothesis says (:class:`.measures.Exchange`); ties within 1e-12 count, and so does a partition that
leaves the measure undefined, so that p is never too small. It is about the words at hand: whether their labels carry
information in this embedding, and not whether other words, or other texts, would do the same.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations, product
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.association.measures import BiasMeasure, Exchange, Groups
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray

VERSION = "exchange/1"

MOST_ENUMERATED = 20_000
"""Partitions; 8 and 8 words have 12,870."""

_NUMBERS_AT_ONCE, _WEIGHTS_AT_ONCE = 2_000_000, 2_000
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


class Others(NamedTuple):
    """Words that directions are drawn from.

    Attributes:
        vectors: ``[1, words, dims]`` of one embedding, none NaN.
        near_x, near_y: ``[pairs, near]`` places of those that may stand for each word of a pair.
    """

    vectors: NDArray[np.floating]
    near_x: IntArray
    near_y: IntArray


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
    within = groups.in_their_span()
    parts = (
        _by_weights(brought, within, orders, null) if brought.dealt else _each(brought, _parts(within, orders, null))
    )
    return _among(np.concatenate([*parts]), null, "exact" if is_all else "monte_carlo")


def direction_p(
    brought: BiasMeasure, groups: Groups, null: Exchange, others: Others, num_draws: int, generator: np.random.Generator
) -> ExchangeP:
    """How often pairs of other words, of about the same frequencies, give a direction along which it is as large.

    Not how often chance does: a direction of no meaning has numbers above 0, too (Bolukbasi et al. 2016 have none to
    hold theirs against), and the most biased words along any direction fall into two clusters.

    Args:
        brought: the measure, of a direction.
        groups: the vectors of one embedding; X and Y are its pairs.
        null: its tail.
        others: words that are in no pair and are not measured; more than two.
        num_draws: of directions.
        generator: of these draws.
    """
    pool, near_x, near_y = others
    places = np.arange(near_x.shape[0])
    chosen = generator.integers(near_x.shape[1], size=(2, num_draws, len(places)))
    first, second = near_x[places, chosen[0]], near_y[places, chosen[1]]
    # A word is no pair of itself: the next one that is near has its place.
    second = np.where(first == second, near_y[places, (chosen[1] + 1) % near_y.shape[1]], second)
    at_once = max(1, _NUMBERS_AT_ONCE // (groups.a[0].size + groups.x[0].size))
    spans = np.array_split(np.arange(num_draws), math.ceil(num_draws / at_once))
    parts = (
        Groups(pool[0][first[span]], pool[0][second[span]], *(_repeated(side, len(span)) for side in groups[2:]))
        for span in spans
    )
    return _among(np.concatenate([_numbers(brought, groups), *_each(brought, parts)]), null, "monte_carlo")


def of_like_frequency(counts: FloatArray, others: FloatArray) -> IntArray:
    """``[words, near]``: places of the third of others that occur about as often as each; of all if that is unknown.

    Args:
        counts: of the words; NaN where that is not known.
        others: of those that may stand for them.

    >>> of_like_frequency(np.array([10.0]), np.array([1.0, 900.0, 8.0, 12.0, 400.0, 5.0]))
    array([[3, 2]])
    >>> of_like_frequency(np.array([np.nan]), np.array([1.0, 900.0]))
    array([[0, 1]])
    """
    if not (np.isfinite(counts).all() and np.isfinite(others).all()):
        return np.tile(np.arange(len(others)), (len(counts), 1))
    apart = np.abs(np.log1p(counts)[:, np.newaxis] - np.log1p(others))
    return np.argsort(apart, axis=1, kind="stable")[:, : max(2, len(others) // 3)]


def _among(numbers: FloatArray, null: Exchange, method: str) -> ExchangeP:
    """The first of the numbers among all of them."""
    sizes = -numbers if null.tail == "less" else np.abs(numbers)
    largest = np.where(np.isnan(sizes), np.inf, sizes).max(axis=1, keepdims=True)
    value, adjusted = (_reached(values, sizes[0]).mean(axis=0) for values in (sizes, largest))
    return ExchangeP(value, adjusted, method, len(numbers))


def _reached(values: FloatArray, observed: FloatArray) -> BoolArray:
    return np.asarray(~(values < observed - _TIE))


def _each(brought: BiasMeasure, parts: Iterable[Groups]) -> Iterator[FloatArray]:
    return (_numbers(brought, part) for part in parts)


def _by_weights(brought: BiasMeasure, groups: Groups, orders: IntArray, null: Exchange) -> Iterator[FloatArray]:
    """The same by what each partition weighs each word, a thousand at a time."""
    size = orders.shape[1] // 2 if null.of == "pairs" else getattr(groups, _names(null)[0]).shape[1]
    for start in range(0, len(orders), _WEIGHTS_AT_ONCE):
        dealt = orders[start : start + _WEIGHTS_AT_ONCE]
        is_first = np.zeros(dealt.shape, dtype=bool)
        np.put_along_axis(is_first, dealt[:, :size], True, axis=1)
        weights = (is_first / size, ~is_first / (dealt.shape[1] - size))
        yield np.asarray(cast(Any, brought.dealt)(groups, *weights), dtype=np.float64)


def _names(null: Exchange) -> tuple[str, str]:
    """Of the sets whose words are dealt."""
    return ("a", "b") if null.of == "attributes" else ("x", "y")


def _repeated(vectors: NDArray[np.floating], num: int) -> NDArray[np.floating]:
    return np.broadcast_to(vectors, (num, *vectors.shape[1:]))


def _numbers(brought: BiasMeasure, groups: Groups) -> FloatArray:
    """``[partitions, numbers]``"""
    numbers = np.asarray(brought.measure(groups), dtype=np.float64)
    return numbers.reshape(len(numbers), -1)


def _orders(groups: Groups, null: Exchange, num_draws: int, generator: np.random.Generator) -> tuple[IntArray, bool]:
    """``[partitions, words]``: the places of the words in their new order, the given one first; whether it is all."""
    first, second = (getattr(groups, name) for name in _names(null))
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
    names = _names(null)
    both = np.concatenate([getattr(groups, name)[0] for name in names])
    size = getattr(groups, names[0]).shape[1]
    for start in range(0, len(orders), at_once):
        dealt = both[orders[start : start + at_once]]
        kept = {name: _repeated(vectors, len(dealt)) for name, vectors in groups._asdict().items()}
        yield Groups(**kept | {names[0]: dealt[:, :size], names[1]: dealt[:, size:]})
