"""Which slices of many have more errors than chance gives them, where texts come in groups: max-T by signs of groups.

With x_ij whether text i is in slice j, and both x and the errors less their means among the texts of the same predicted
class, the score of group g is U_gj = sum_{i in g} x_ij r_i, and

    T_j = sum_g U_gj / sqrt(sum_g U_gj^2).

Given the predicted classes, the errors of a group have nothing to do with its membership: then U_gj is as likely as
-U_gj. A draw gives every group one sign for all slices and leaves the denominator as it is (Hemerik, Goeman and Finos
2020, *Robust testing in generalized linear models by sign flipping score contributions*); p is adjusted as in
:mod:`.max_t`. Errors that are dealt out text by text, or groups that change places, find slices in 23 to 85 % of runs
without any.

U is held for no more than a slice at a time. As f_i r_i x_ij sums over all texts to counts of texts in the slice that
are flipped, by class, and of those that are flipped and wrong, draws are counted in bits.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.errors.slices.bits import Bits, common_counts, intersect, packed
from tiltmeter.operators.classifiers.errors.slices.max_t import Layout, falling
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray, LossArray
from tiltmeter.operators.compute.generators import keyed_bits
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.units import TooFew, Units

VERSION = "group_flips/1"

MIN_GROUPS = 8
"""Of the texts that are searched."""
MIN_WITHIN = 5
"""With texts in a slice."""

FLIP = 8
"""What is drawn; the second number of a key."""

_SETS_AT_ONCE = 100
_ROUNDING = 1e-9


class Grouped(NamedTuple):
    """What the texts' groups say of all slices, of texts in the order of a layout.

    Attributes:
        units: the groups.
        errors: ``[rows]``, or losses.
        in_stratum: ``[strata, rows]``.
        shares: ``[slices, strata]``, of the stratum's texts that are in the slice.
        scale: ``[slices]``, sqrt(sum_g U^2).
        num_within: ``[slices]``, groups that have texts in it.
    """

    units: Units
    errors: LossArray
    in_stratum: BoolArray
    shares: FloatArray
    scale: FloatArray
    num_within: IntArray

    @property
    def too_few(self) -> TooFew | None:
        """Why no slice is tested."""
        return None if self.units.num >= MIN_GROUPS else TooFew(self.units.num, MIN_GROUPS, self.units.kind)

    @property
    def is_tested(self) -> BoolArray:
        """``[slices]``: those with enough groups, of which something is to be told."""
        if self.too_few is not None:
            return np.zeros(len(self.scale), dtype=np.bool_)
        return np.asarray((self.num_within >= MIN_WITHIN) & (self.scale > _ROUNDING))


def grouped(predicates: Bits, conjunctions: IntArray, layout: Layout, errors: LossArray, units: Units) -> Grouped:
    """What groups say of each conjunction.

    Args:
        predicates: ``[predicates, words]``, of rows in the order of the layout.
        errors, units: of ``[rows]``, in their own order.
    """
    places = np.arange(len(errors))
    in_stratum = (places >= layout.starts[:, np.newaxis]) & (places < (layout.starts + layout.sizes)[:, np.newaxis])
    wrong, rate = errors[layout.order], layout.errors / layout.sizes
    residuals = wrong - rate @ in_stratum
    shares = common_counts(predicates, conjunctions, packed(in_stratum)) / layout.sizes
    ordered = Units(units.codes[layout.order], units.num, units.kind)
    sums = np.stack([ordered.sums(residuals * inside) for inside in in_stratum], axis=1)
    scale, num_within = spreads(predicates, conjunctions, residuals, ordered.codes, shares, sums)
    return Grouped(ordered, wrong, in_stratum, shares, scale, num_within)


@numba.njit(cache=True)
def spreads(
    predicates: Bits,
    conjunctions: IntArray,
    residuals: FloatArray,
    codes: IntArray,
    shares: FloatArray,
    sums: FloatArray,
) -> tuple[FloatArray, IntArray]:
    """sqrt(sum_g U^2) of each conjunction, and how many groups it has."""
    num_groups, num_strata = sums.shape
    scale, num_within = np.zeros(len(conjunctions)), np.zeros(len(conjunctions), dtype=np.int64)
    joint = np.zeros(predicates.shape[1], dtype=np.uint64)
    scores, has = np.zeros(num_groups), np.zeros(num_groups, dtype=np.bool_)
    for place in range(len(conjunctions)):
        intersect(predicates, conjunctions[place], 0, joint)
        scores[:] = 0.0
        has[:] = False
        for row in range(codes.size):
            if (joint[row >> 6] >> np.uint64(row & 63)) & np.uint64(1):
                scores[codes[row]] += residuals[row]
                has[codes[row]] = True
        square = 0.0
        for group in range(num_groups):
            score = scores[group]
            for stratum in range(num_strata):
                score -= shares[place, stratum] * sums[group, stratum]
            square += score * score
        scale[place] = np.sqrt(square)
        num_within[place] = has.sum()
    return scale, num_within


def flipped_values(
    predicates: Bits, conjunctions: IntArray, layout: Layout, made: Grouped, flipped: BoolArray
) -> FloatArray:
    """T of each conjunction in each draw, ``[conjunctions, draws]``; NaN where there is no test.

    Args:
        flipped: ``[draws, rows]`` in the order of the layout.
    """
    num_draws = len(flipped)
    sets = [flipped & made.errors, *(flipped & inside for inside in made.in_stratum)]
    everything = np.concatenate([made.errors[np.newaxis], made.in_stratum, *sets])
    counts = common_counts(predicates, conjunctions, packed(everything)).astype(np.float64)
    num_strata = len(made.in_stratum)
    wrong, within = counts[:, :1], counts[:, 1 : 1 + num_strata]
    drawn = counts[:, 1 + num_strata :].reshape(len(conjunctions), 1 + num_strata, num_draws)
    rate = layout.errors / layout.sizes
    signed = (wrong - 2 * drawn[:, 0]) - np.einsum("s,jsd->jd", rate, within[:, :, np.newaxis] - 2 * drawn[:, 1:])
    wrong_in = np.stack([(flipped & made.errors & inside).sum(axis=1) for inside in made.in_stratum])
    rows_in = np.stack([(flipped & inside).sum(axis=1) for inside in made.in_stratum])
    sums = (layout.errors[:, np.newaxis] - 2 * wrong_in) - rate[:, np.newaxis] * (
        layout.sizes[:, np.newaxis] - 2 * rows_in
    )
    scale = np.where(made.is_tested, made.scale, np.nan)
    return np.asarray((signed - made.shares @ sums) / scale[:, np.newaxis])


def values_of(predicates: Bits, conjunctions: IntArray, layout: Layout, made: Grouped) -> FloatArray:
    """T of each conjunction."""
    nobody = np.zeros((1, len(made.errors)), dtype=np.bool_)
    return flipped_values(predicates, conjunctions, layout, made, nobody)[:, 0]


def exceedances(
    predicates: Bits, conjunctions: IntArray, layout: Layout, made: Grouped, value: FloatArray, seed: int, draws: range
) -> IntArray:
    """As :func:`.max_t.exceedances`, of draws of signs: each depends on the seed and its number alone."""
    order = falling(value)
    parts = made._replace(**{name: getattr(made, name)[order] for name in ("shares", "scale", "num_within")})
    chosen, hits = np.ascontiguousarray(conjunctions[order]), np.zeros(len(conjunctions), dtype=np.int64)
    step = max(1, _SETS_AT_ONCE // (1 + len(made.in_stratum)))
    for start in range(draws.start, draws.stop, step):
        block = range(start, min(start + step, draws.stop))
        flipped = np.stack([flipped_units(made.units.num, seed, draw) for draw in block])[:, made.units.codes]
        drawn = flipped_values(predicates, chosen, layout, parts, flipped)
        largest = np.maximum.accumulate(drawn[::-1], axis=0)[::-1]
        hits[order] += (largest >= value[order, np.newaxis] - _ROUNDING).sum(axis=1)
    return hits


def flipped_units(num_units: int, seed: int, draw: int) -> BoolArray:
    """``[units]``: whose sign changes."""
    words = keyed_bits(seed, Stream.ERROR_CHARACTERISATION, (0, FLIP, draw, 0)).random_raw((num_units + 63) // 64)
    octets = np.ascontiguousarray(np.asarray(words, dtype="<u8")).view(np.uint8)
    return np.unpackbits(octets, count=num_units, bitorder="little").astype(np.bool_)


def group_scores(
    members: BoolArray, errors: LossArray, strata: NDArray[np.integer], within: BoolArray, units: Units
) -> tuple[FloatArray, FloatArray]:
    """U of each group among some rows, and how much of it its texts decide: sum_i x_i^2, with x as above.

    Args:
        members, errors, strata: ``[rows]``; of losses, these in place of errors.
        within: ``[rows]``, which count.

    >>> from tiltmeter.operators.statistics.units import units_of
    >>> members, errors = np.array([True, True, False, False]), np.array([True, True, False, False])
    >>> everyone, groups = np.ones(4, dtype=bool), units_of(["a", "b", "b", "c"], "group")
    >>> group_scores(members, errors, np.zeros(4, dtype=int), everyone, groups)
    (array([0.25, 0.5 , 0.25]), array([0.25, 0.5 , 0.25]))
    """
    x, residuals = centred(members, errors, strata, within)
    return units.sums(x * residuals), units.sums(x * x)


def centred(
    members: BoolArray, errors: LossArray, strata: NDArray[np.integer], within: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Membership and errors of each row less their means in its stratum; 0 of rows that don't count."""
    num = int(strata.max()) + 1 if strata.size else 0
    rows, wrong, inside = (
        np.bincount(strata, within * values, minlength=num) for values in (np.ones(len(strata)), errors, members)
    )
    known = np.maximum(rows, 1)
    x = np.where(within, members - (inside / known)[strata], 0.0)
    return x, np.where(within, errors - (wrong / known)[strata], 0.0)
