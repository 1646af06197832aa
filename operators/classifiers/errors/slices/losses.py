"""Which slices of many have larger losses than chance gives them, for losses of any size and sign.

With e the loss less its mean among the rows of the same stratum c (the predicted class, or one for all), a slice that
has n_c of the N_c rows has

    T = sum_S e / sqrt(v),    v = sum_c n_c (N_c - n_c) / (N_c - 1) sigma_c^2,

sigma_c^2 with divisor N_c: mean and variance of rows drawn without replacement. Of losses that are 0 or 1, v is that of
hypergeometric draws, and T that of :mod:`.max_t`. A draw deals the residuals out anew within strata; where rows come in
groups, T and its draws are those of :mod:`.group_flips`. p is adjusted as in :mod:`.max_t`, whose level holds however
heavy the tails are. Sums of draws are products of matrices, so that equal T may differ in the last bits: they count as
equal.
"""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.errors.slices.bits import Bits, members_of
from tiltmeter.operators.classifiers.errors.slices.group_flips import Grouped, flipped_units
from tiltmeter.operators.classifiers.errors.slices.max_t import Layout, Statistics, falling
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream

VERSION = "slice_losses/1"

DEAL = 10
"""What is drawn; the second number of a key."""

_SETS_AT_ONCE, _DRAWS_AT_ONCE = 256, 100
_ROUNDING = 1e-9


def residuals_of(losses: FloatArray, layout: Layout) -> FloatArray:
    """``[rows]`` in the order of the layout: losses less the mean of their stratum."""
    return np.asarray(losses[layout.order] - np.repeat(layout.errors / layout.sizes, layout.sizes))


def sums_of(predicates: Bits, conjunctions: IntArray, values: FloatArray) -> FloatArray:
    """Sums over the rows of each conjunction, ``[conjunctions, columns]``.

    Args:
        values: ``[rows, columns]`` in the order of the bits.

    >>> from tiltmeter.operators.classifiers.errors.slices.bits import packed
    >>> rows = packed(np.array([[True, False, True], [False, True, True]]))
    >>> sums_of(rows, np.array([[0, -1], [0, 1]]), np.array([[1.0], [2.0], [-4.0]])).tolist()
    [[-3.0], [-4.0]]
    """
    sums = np.empty((len(conjunctions), values.shape[1]))
    for start in range(0, len(conjunctions), _SETS_AT_ONCE):
        bits = members_of(predicates, conjunctions[start : start + _SETS_AT_ONCE])
        inside = np.unpackbits(bits.view(np.uint8), axis=1, count=len(values), bitorder="little")
        sums[start : start + _SETS_AT_ONCE] = inside.astype(np.float64) @ values
    return sums


def statistics_of(predicates: Bits, conjunctions: IntArray, layout: Layout, losses: FloatArray) -> Statistics:
    """T of each conjunction, as :func:`.max_t.statistics_of` has it of errors; ``errors`` are sums of losses.

    Args:
        losses: ``[rows]``, in their own order.
    """
    residuals = residuals_of(losses, layout)
    spread = np.add.reduceat(residuals**2, layout.starts) / layout.sizes
    in_stratum = np.repeat(np.eye(len(layout.sizes)), layout.sizes, axis=0)
    columns = np.column_stack([losses[layout.order], residuals, in_stratum])
    sums, sizes = sums_of(predicates, conjunctions, columns), layout.sizes
    total, above, parts = sums[:, 0], sums[:, 1], sums[:, 2:]
    scale = np.sqrt((parts * (sizes - parts)) @ (spread / np.maximum(sizes - 1, 1)))
    size = parts.sum(axis=1).astype(np.int64)
    tested = scale > _ROUNDING * np.sqrt(np.maximum(size, 1) * spread.max(initial=0.0))
    value = np.where(tested, above / np.where(tested, scale, 1.0), np.nan)
    return Statistics(size, total, total - above, scale, value)


def values_of(
    predicates: Bits, conjunctions: IntArray, layout: Layout, drawn: FloatArray, shares: FloatArray, scale: FloatArray
) -> FloatArray:
    """T of each conjunction in each draw, ``[conjunctions, draws]``; NaN where the scale is.

    Args:
        drawn: ``[rows, draws]``, residuals as a draw leaves them, in the order of the layout.
        shares: ``[conjunctions, strata]``, of the stratum's rows that are in it; they matter where draws turn signs.
        scale: ``[conjunctions]``.
    """
    by_stratum = np.add.reduceat(drawn, layout.starts, axis=0)
    return np.asarray((sums_of(predicates, conjunctions, drawn) - shares @ by_stratum) / scale[:, np.newaxis])


def exceedances(
    predicates: Bits,
    conjunctions: IntArray,
    layout: Layout,
    losses: FloatArray,
    made: Grouped | None,
    statistics: Statistics,
    seed: int,
    draws: range,
) -> IntArray:
    """As :func:`.max_t.exceedances`: each draw depends on the seed and its number alone.

    Args:
        losses: ``[rows]``, in their own order.
        made: what groups say of the conjunctions, whose signs are drawn; None: rows are dealt out.
    """
    residuals, num_strata = residuals_of(losses, layout), len(layout.sizes)
    shares = np.zeros((len(conjunctions), num_strata)) if made is None else made.shares
    scale, hits = statistics.scale if made is None else made.scale, np.zeros(len(conjunctions), dtype=np.int64)
    order = falling(statistics.value)
    chosen = np.ascontiguousarray(conjunctions[order])
    for start in range(draws.start, draws.stop, _DRAWS_AT_ONCE):
        block = range(start, min(start + _DRAWS_AT_ONCE, draws.stop))
        if made is None:
            drawn = np.stack([residuals[dealt(layout, seed, draw)] for draw in block], axis=1)
        else:
            flipped = np.stack([flipped_units(made.units.num, seed, draw) for draw in block], axis=1)
            drawn = residuals[:, np.newaxis] * np.where(flipped, -1.0, 1.0)[made.units.codes]
        values = values_of(predicates, chosen, layout, drawn, shares[order], scale[order])
        hits[order] += reached(values, statistics.value[order])
    return hits


def reached(drawn: FloatArray, value: FloatArray) -> IntArray:
    """In how many draws the largest T of each conjunction and those behind it reaches its own.

    Args:
        drawn: ``[conjunctions, draws]``, in falling order of ``value``.

    >>> reached(np.array([[1.0, 0.0], [2.0, 5.0]]), np.array([3.0, 2.0])).tolist()
    [1, 2]
    """
    largest = np.maximum.accumulate(drawn[::-1], axis=0)[::-1]
    return np.asarray((largest >= value[:, np.newaxis] - _ROUNDING).sum(axis=1))


def dealt(layout: Layout, seed: int, draw: int) -> NDArray[np.int64]:
    """``[rows]``: whose residual each row gets, of its own stratum."""
    generator = keyed_generator(seed, Stream.ERROR_CHARACTERISATION, DEAL, draw)
    places = zip(layout.starts.tolist(), layout.sizes.tolist(), strict=True)
    return np.concatenate([start + generator.permutation(size) for start, size in places])
