"""Slices in which a model errs more than its predictions let expect: found on some texts, confirmed on others."""

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.errors.slices import group_flips, losses, max_t
from tiltmeter.operators.classifiers.errors.slices.bits import NONE, Bits, packed
from tiltmeter.operators.classifiers.errors.slices.conjunctions import conjunctions_of, folded
from tiltmeter.operators.classifiers.errors.slices.group_flips import Grouped, grouped
from tiltmeter.operators.classifiers.errors.slices.leading import Conjunction, leading_slices
from tiltmeter.operators.classifiers.errors.slices.max_t import Layout, Statistics, layout_of, statistics_of
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray, LossArray
from tiltmeter.operators.statistics.intervals import student_reach
from tiltmeter.operators.statistics.units import Units

VERSION = "slices/2"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SliceConfig:
    """Attributes:
    max_predicates: of a slice.
    min_size: texts of a slice, of the half that explores.
    num_permutations: draws of the errors.
    alpha: probability that any slice is found by chance.
    score: what slices are ordered by.
    """

    max_predicates: Annotated[int, Field(ge=1, le=3)] = 3
    min_size: Annotated[int, Field(ge=2)] = 100
    num_permutations: Annotated[int, Field(ge=1)] = 1000
    alpha: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.05
    score: Literal["max_t", "sliceline"] = "max_t"


class Candidates(NamedTuple):
    """What is tested.

    Attributes:
        bits: ``[predicates, words]``, of rows in the order of the layout.
        conjunctions: ``[slices, most]``.
        num_folded: ``[slices]``, how many longer ones have the same rows.
        layout: of the rows.
        statistics: of the slices.
        grouped: what groups say of them; None where every row is a unit.
        losses: ``[rows]`` in their own order; None where rows are right or wrong, which is counted in bits.
    """

    bits: Bits
    conjunctions: IntArray
    num_folded: IntArray
    layout: Layout
    statistics: Statistics
    grouped: Grouped | None
    losses: FloatArray | None = None


def candidates_of(
    members: BoolArray,
    predicates: Sequence[Predicate],
    errors: LossArray,
    strata: IntArray,
    units: Units,
    config: SliceConfig,
) -> Candidates:
    """All slices that are large enough, with their statistics.

    T is that of :mod:`.max_t` where every row is a unit of its own, else that of :mod:`.group_flips`; of losses that of
    :mod:`.losses`.

    Args:
        members: ``[predicates, rows]``.
        errors: ``[rows]``, or losses.
        strata: ``[rows]``, number of the predicted class.
        units: of the rows.
    """
    layout = layout_of(strata, errors)
    bits = packed(members[:, layout.order])
    features = [predicate.feature for predicate in predicates]
    conjunctions = conjunctions_of(bits, features, config.max_predicates, config.min_size)
    kept, num_folded = folded(bits, conjunctions)
    conjunctions = conjunctions[kept]
    if errors.dtype != np.bool_:
        return _candidates_of_losses(bits, conjunctions, num_folded, layout, errors, units)
    statistics = statistics_of(bits, conjunctions, layout, errors)
    if units.num == len(errors):
        return Candidates(bits, conjunctions, num_folded, layout, statistics, None)
    made = grouped(bits, conjunctions, layout, errors, units)
    value = group_flips.values_of(bits, conjunctions, layout, made)
    return Candidates(bits, conjunctions, num_folded, layout, statistics._replace(value=value), made)


def _candidates_of_losses(
    bits: Bits, conjunctions: IntArray, num_folded: IntArray, layout: Layout, values: FloatArray, units: Units
) -> Candidates:
    statistics = losses.statistics_of(bits, conjunctions, layout, values)
    if units.num == len(values):
        return Candidates(bits, conjunctions, num_folded, layout, statistics, None, values)
    made = grouped(bits, conjunctions, layout, values, units)
    drawn, scale = losses.residuals_of(values, layout)[:, np.newaxis], np.where(made.is_tested, made.scale, np.nan)
    value = losses.values_of(bits, conjunctions, layout, drawn, made.shares, scale)[:, 0]
    return Candidates(bits, conjunctions, num_folded, layout, statistics._replace(value=value), made, values)


def hits_of(candidates: Candidates, seed: int, draws: range) -> IntArray:
    """In how many of some draws the largest T of each slice and those behind it reaches its own."""
    bits, conjunctions, _, layout, statistics, made, values = candidates
    if values is not None:
        return losses.exceedances(bits, conjunctions, layout, values, made, statistics, seed, draws)
    if made is None:
        return max_t.exceedances(bits, conjunctions, layout, statistics, seed, draws)
    return group_flips.exceedances(bits, conjunctions, layout, made, statistics.value, seed, draws)


def leading(
    candidates: Candidates,
    p_values: FloatArray,
    members: BoolArray,
    errors: LossArray,
    strata: IntArray,
    units: Units,
    alpha: float,
) -> list[Conjunction]:
    """The slices that say what the significant ones say, in their order; see :mod:`.leading`."""
    significant = np.flatnonzero(p_values <= alpha)
    if not significant.size:
        return []
    critical = float(candidates.statistics.value[significant].min())
    conjunctions = [plain(candidates.conjunctions[number]) for number in significant]
    gain = student_reach(1.0 - 2.0 * alpha / len(members))
    return leading_slices(members, conjunctions, errors, strata, units, critical, gain)


def plain(conjunction: IntArray) -> Conjunction:
    """The numbers of its predicates alone."""
    return tuple(int(number) for number in conjunction if number != NONE)
