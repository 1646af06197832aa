"""Whether an attribution says what a model does: measures of one text, beside the same of random attributions.

With n words, attributions a, f the output for the class that is predicted of the whole text, and r_k the k words with
the largest a, by their sign and ties by their place:

- comprehensiveness and sufficiency (DeYoung et al. 2020, *ERASER*): the means over shares q of 1, 5, 10, 20 and 50 %,
  with k = ceil(q n), of f(x) - f(x without r_k) and of f(x) - f(r_k alone). Their paper has k = 0 among its sizes, and
  their code, as here, has not;
- deletion and insertion (Petsiuk, Das and Saenko 2018, *RISE*): the area under f while words are taken out, the largest
  a first, and while they come back into the emptied text; by trapezoids over k / n at ``points`` steps.
  ``area_between`` is the second less the first: f without the least important words less f without the most important;
- tau: Kendall's tau-b of a and f(x) - f(x without word i); undefined where either is constant;
- infidelity (Yeh et al. 2019, *On the (In)fidelity and Sensitivity of Explanations*): E (z.a - (f(x) - f(x less z)))^2,
  where each word is in z with probability 1/2; all 2^n parts where they are known or few enough, else a sample.
  ``infidelity_scaled`` is the least that any multiple of a has, E d^2 - (E z.a d)^2 / E (z.a)^2.

f is a probability; comprehensiveness and sufficiency are given of the log odds too, as probabilities saturate. tau and
infidelity are of the output that is attributed, whose unit a has.
"""

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.attribution.games import Game
from tiltmeter.operators.classifiers.attribution.records import Output
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray

VERSION = "faithfulness/1"

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


class Asked(NamedTuple):
    """Attributions of one text that are measured together.

    Attributes:
        values: ``[attributions, words]``, a.
        orders: ``[attributions, words]``, words from the first that is taken out to the last.
    """

    values: FloatArray
    orders: IntArray


def with_random(values: FloatArray, orders: IntArray) -> Asked:
    """A text's attributions, and as many permutations of the same numbers as there are orders of its words.

    The numbers are dealt out along each order from the largest to the smallest, so that all methods that are given the
    same orders are told by the same parts of the text.

    Args:
        orders: ``[orders, words]``, drawn at random.
    """
    originals = np.argsort(-values, kind="stable")
    orders = np.concatenate([originals[np.newaxis], orders])
    dealt = np.empty(orders.shape)
    np.put_along_axis(dealt, orders, np.broadcast_to(values[originals], orders.shape), axis=1)
    return Asked(dealt, orders)


def measured(
    game: Game, asked: Asked, target: int, output: Output, points: int, parts: BoolArray
) -> Mapping[str, FloatArray]:
    """Every measure of each attribution, ``[attributions]``; NaN where it is undefined.

    Args:
        target: the class.
        output: that was attributed.
        points: steps of the curves of deletion and insertion.
        parts: ``[parts, words]``, the words that infidelity takes out.
    """
    rank = np.argsort(asked.orders, axis=1)[:, np.newaxis]
    sizes = sizes_of(game.num)[:, np.newaxis]
    steps = np.unique(np.rint(np.linspace(0, game.num, points + 1)).astype(np.int64))[:, np.newaxis]
    deletion, insertion = (
        np.trapezoid(game.values(present, target, "probability"), steps[:, 0] / game.num, axis=1)
        for present in (rank >= steps, rank < steps)
    )
    alone = game.falls(~np.eye(game.num, dtype=bool), target, output)
    exact, scaled = infidelity(asked.values, parts, game.falls(~parts, target, output))
    return {
        "comprehensiveness": game.falls(rank >= sizes, target, "probability").mean(axis=1),
        "sufficiency": game.falls(rank < sizes, target, "probability").mean(axis=1),
        "comprehensiveness_log_odds": game.falls(rank >= sizes, target, "log_odds").mean(axis=1),
        "sufficiency_log_odds": game.falls(rank < sizes, target, "log_odds").mean(axis=1),
        "deletion": deletion,
        "insertion": insertion,
        "area_between": insertion - deletion,
        "tau": np.array([tau_b(values, alone) for values in asked.values]),
        "infidelity": exact,
        "infidelity_scaled": scaled,
    }


def sizes_of(num: int) -> IntArray:
    """k of each share.

    >>> sizes_of(20), sizes_of(3)
    (array([ 1,  1,  2,  4, 10]), array([1, 1, 1, 1, 2]))
    """
    return np.maximum(1, np.ceil(np.array(SHARES) * num - 1e-9)).astype(np.int64)


def infidelity(values: FloatArray, parts: BoolArray, fall: FloatArray) -> tuple[FloatArray, FloatArray]:
    """As above, of attributions ``[..., words]``, and the same of the best multiple of each.

    Args:
        parts: ``[parts, words]``, what is taken out.
        fall: ``[parts]``, f(x) - f(x less part).

    >>> infidelity(np.array([2.0, 0.0]), np.array([[True, False], [True, True]]), np.array([1.0, 1.0]))
    (np.float64(1.0), np.float64(0.0))
    """
    predicted = values @ parts.T.astype(np.float64)
    squares = np.square(predicted).mean(axis=-1)
    shared = np.divide(
        np.square((predicted * fall).mean(axis=-1)), squares, out=np.zeros_like(squares), where=squares > 0
    )
    return np.square(predicted - fall).mean(axis=-1), np.square(fall).mean() - shared


def tau_b(first: FloatArray, second: FloatArray) -> float:
    """Kendall's tau-b (1945): sum s_ij t_ij / sqrt(sum s_ij^2 sum t_ij^2), signs of differences; NaN of a constant.

    >>> round(tau_b(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 3.0])), 6)
    0.816497
    """
    one, other = (np.sign(values[:, np.newaxis] - values) for values in (first, second))
    size = float(np.sqrt(np.square(one).sum() * np.square(other).sum()))
    return float((one * other).sum()) / size if size else float("nan")


def best_falls(game: Game, target: int, most: int) -> float:
    """The largest comprehensiveness that any words of the same numbers have.

    Where there are at most ``most`` sets of k words all are tried; otherwise the words are added that make the most at
    each step (greedy), which may find less.
    """
    single, best = np.eye(game.num, dtype=bool), []
    greedy = np.zeros(game.num, dtype=bool)

    def falls(gone: BoolArray) -> FloatArray:
        return game.falls(~gone, target, "probability")

    for size in sizes_of(game.num).tolist():
        if comb(game.num, size) <= most:
            best.append(falls(single[list(combinations(range(game.num), size))].sum(axis=1) > 0).max())
            continue
        while greedy.sum() < size:
            more = greedy | single[~greedy]
            greedy = more[falls(more).argmax()]
        best.append(falls(greedy))
    return float(np.mean(best))


# --- plausibility: whether an attribution is what people name ---------------------------------------------------------


def plausibility(asked: Asked, is_named: BoolArray, num: int) -> Mapping[str, FloatArray]:
    """Agreement of each attribution with words that people named as the reason, ``[attributions]``.

    ``auprc`` is the average precision of a against the words (the trapezoid under the curve is too good); of the
    ``num`` words with the largest a, ``token_f1`` is F1 against the words, and ``iou_f1`` that of spans: a run of words
    counts as found where its intersection with a run of the other side is at least half of their union (DeYoung et al.
    2020).

    Args:
        is_named: ``[words]``, of which one at least is named.
        num: of words that are taken: the mean number of words that are named in a text.
    """
    rank = np.argsort(asked.orders, axis=1)
    chosen = rank < num
    hits = (chosen & is_named).sum(axis=1)
    return {
        "auprc": np.array([average_precision(values, is_named) for values in asked.values]),
        "token_f1": 2.0 * hits / (chosen.sum(axis=1) + is_named.sum()),
        "iou_f1": np.array([spans_f1(runs(row), runs(is_named)) for row in chosen]),
    }


def average_precision(values: FloatArray, is_named: BoolArray) -> float:
    """sum_j (R_j - R_{j-1}) P_j over the different values, the largest first; ties come in together.

    >>> average_precision(np.array([3.0, 2.0, 1.0]), np.array([True, False, True])).__round__(6)
    0.833333
    """
    cuts = np.unique(values)[::-1]
    above = values[np.newaxis] >= cuts[:, np.newaxis]
    hits, num = (above & is_named).sum(axis=1), above.sum(axis=1)
    return float(np.diff(hits, prepend=0) @ (hits / num) / is_named.sum())


def runs(flags: BoolArray) -> list[range]:
    """Words beside each other.

    >>> runs(np.array([True, True, False, True]))
    [range(0, 2), range(3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [range(start, end) for start, end in edges.reshape(-1, 2).tolist()]


def spans_f1(results: list[range], named: list[range]) -> float:
    """F1 of spans that agree by half of their union at least."""

    def agree(one: range, other: range) -> bool:
        shared = max(0, min(one.stop, other.stop) - max(one.start, other.start))
        return 2 * shared >= len(one) + len(other) - shared

    precise = sum(any(agree(one, other) for other in named) for one in results) / max(1, len(results))
    recalled = sum(any(agree(one, other) for one in results) for other in named) / max(1, len(named))
    return 2.0 * precise * recalled / (precise + recalled) if precise + recalled else 0.0
