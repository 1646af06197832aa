"""Slices in which a model errs more than its predictions let expect: found on some texts, confirmed on others."""

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.errors.slices import max_t
from tiltmeter.operators.classifiers.errors.slices.bits import NONE, Bits, packed
from tiltmeter.operators.classifiers.errors.slices.conjunctions import conjunctions_of, folded
from tiltmeter.operators.classifiers.errors.slices.leading import Conjunction, leading_slices, rows_with, standardised
from tiltmeter.operators.classifiers.errors.slices.max_t import Layout, Statistics, layout_of, statistics_of
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray

VERSION = "slices/1"


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
    """

    bits: Bits
    conjunctions: IntArray
    num_folded: IntArray
    layout: Layout
    statistics: Statistics


def candidates_of(
    members: BoolArray, predicates: Sequence[Predicate], errors: BoolArray, strata: IntArray, config: SliceConfig
) -> Candidates:
    """All slices that are large enough, with their statistics.

    Args:
        members: ``[predicates, rows]``.
        errors: ``[rows]``.
        strata: ``[rows]``, number of the predicted class.
    """
    layout = layout_of(strata, errors)
    bits = packed(members[:, layout.order])
    features = [predicate.feature for predicate in predicates]
    conjunctions = conjunctions_of(bits, features, config.max_predicates, config.min_size)
    kept, num_folded = folded(bits, conjunctions)
    conjunctions = conjunctions[kept]
    return Candidates(bits, conjunctions, num_folded, layout, statistics_of(bits, conjunctions, layout, errors))


def hits_of(candidates: Candidates, seed: int, draws: range) -> IntArray:
    """What :func:`.max_t.exceedances` counts in some of the draws."""
    return max_t.exceedances(
        candidates.bits, candidates.conjunctions, candidates.layout, candidates.statistics, seed, draws
    )


def leading(
    candidates: Candidates,
    p_values: FloatArray,
    members: BoolArray,
    errors: BoolArray,
    strata: IntArray,
    alpha: float,
) -> list[Conjunction]:
    """The slices that say what the significant ones say, in their order; see :mod:`.leading`."""
    from scipy.special import ndtri

    significant = np.flatnonzero(p_values <= alpha)
    if not significant.size:
        return []
    critical = float(candidates.statistics.value[significant].min())
    conjunctions = [plain(candidates.conjunctions[number]) for number in significant]
    gain = float(-ndtri(alpha / len(members)))
    return leading_slices(members, conjunctions, errors, strata, critical, gain)


def plain(conjunction: IntArray) -> Conjunction:
    """The numbers of its predicates alone."""
    return tuple(int(number) for number in conjunction if number != NONE)


def confirming_values(
    members: BoolArray, conjunctions: Sequence[Conjunction], errors: BoolArray, strata: IntArray
) -> FloatArray:
    """T of each slice on texts that did not choose it, NaN where it has none of them or their classes fix it."""
    everyone = np.ones(len(errors), dtype=bool)
    return np.array(
        [standardised(rows_with(members, slice_), errors, strata, everyone) for slice_ in conjunctions],
        dtype=np.float64,
    )
