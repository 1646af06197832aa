"""Whether mean scores differ between the values of a protected attribute, by what was drawn, such as conversations.

Lakkaraju et al. 2023 take texts for independent (:mod:`.statistics.two_samples`), which sentences of one name, of one
template or of one conversation are not. Here the unit is

name           of sentences made from templates: the mean score of each name, where both values have four or more. Null:
               which names have which value has nothing to do with their means (:mod:`.designs.groups`)
frame          else, of such sentences: a template with its emotion word, in which both values come. Null: within each
               frame either value is as likely to have the higher mean (:mod:`.statistics.flips`). It says nothing of
               other names
conversation   means of conversations as of names; where most have texts of both values, within them as in frames
text           where nothing is known of what texts share
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.statistics.designs.groups import MIN_SIDE, two_groups
from tiltmeter.operators.statistics.flips import flips
from tiltmeter.operators.statistics.two_samples import moments, two_sample_t
from tiltmeter.operators.statistics.units import TooFew, Units, each, units_of

VERSION = "mean_tests/1"

_LEVEL = 0.95
"""Of intervals, which are not taken."""

_MOST_DEALT = 2_000
"""Units up to which labels are dealt; of more, Welch's t of their means is the limit of it."""

_MANY, _DRAWS, _FEWER_DRAWS = 500, 9_999, 1_999

Names = Sequence[Hashable | None]


class Origins(NamedTuple):
    """What texts were drawn with, each ``[texts]``; None where nobody knows.

    Attributes:
        names: whom a text is about.
        frames: what else it is made from.
        conversations: that it is a turn of.
    """

    names: Names | None = None
    frames: Names | None = None
    conversations: Names | None = None


class MeanTest(NamedTuple):
    """Attributes:
    p: two-sided; NaN without a test.
    kind: of the unit.
    num_units: of both values, or that have both.
    too_few: why there is no test.
    """

    p: float
    kind: str
    num_units: int
    too_few: TooFew | None


def mean_tests(
    scores: NDArray[np.floating], cells: NDArray[np.integer], num_cells: int, origins: Origins, *, seed: int, about: int
) -> Iterator[MeanTest]:
    """Of every two values, in the order of ``itertools.combinations``.

    Args:
        scores: ``[texts]``.
        cells: ``[texts]``, the value of each.
        num_cells: values.
        origins: of the texts.
        seed, about: key of the deals.

    >>> scores, cells = np.arange(12.0), np.arange(12) // 6
    >>> [round(inferred.p, 4) for inferred in mean_tests(scores, cells, 2, Origins(), seed=0, about=0)]
    [0.0022]
    >>> frames = [place % 6 for place in range(12)]
    >>> [inferred.p for inferred in mean_tests(scores, cells, 2, Origins(frames=frames), seed=0, about=0)]
    [0.03125]
    """
    for first, second in combinations(range(num_cells), 2):
        chosen = np.flatnonzero((cells == first) | (cells == second))
        parts = Origins(*(None if names is None else [names[place] for place in chosen.tolist()] for names in origins))
        yield _test(np.asarray(scores[chosen], np.float64), cells[chosen] == first, parts, seed, about)


def _test(scores: FloatArray, is_first: BoolArray, origins: Origins, seed: int, about: int) -> MeanTest:
    if origins.frames is not None:
        if origins.names is not None and None not in origins.names:
            units = units_of(origins.names, "name")
            if min(np.unique(units.codes[side]).size for side in (is_first, ~is_first)) >= MIN_SIDE:
                return _between(scores, is_first, units, seed, about)
        return _within(scores, is_first, units_of(origins.frames, "frame"))
    if origins.conversations is None:
        return _between(scores, is_first, each(scores.size, "text"), seed, about)
    units = units_of(origins.conversations, "conversation")
    if 2 * _mixed(is_first, units).sum() > units.num:
        return _within(scores, is_first, units)
    return _between(scores, is_first, units, seed, about)


def _mixed(is_first: BoolArray, units: Units) -> BoolArray:
    """Which units have texts of both values."""
    return np.asarray((units.sums(is_first) > 0) & (units.sums(~is_first) > 0))


def _within(scores: FloatArray, is_first: BoolArray, units: Units) -> MeanTest:
    mixed = _mixed(is_first, units)
    one, other = (
        units.sums(np.where(side, scores, 0.0))[mixed] / units.sums(side)[mixed] for side in (is_first, ~is_first)
    )
    p, too_few = flips(one - other, each(int(mixed.sum()), f"{units.kind} that both values have and"))
    return MeanTest(p, units.kind, int(mixed.sum()), too_few)


def _between(scores: FloatArray, is_first: BoolArray, units: Units, seed: int, about: int) -> MeanTest:
    """Units that have both values are left out."""
    known = ~_mixed(is_first, units)[units.codes]
    units, scores, is_first = units.part(known), scores[known], is_first[known]
    side = units.sums(is_first) > 0
    if units.num > _MOST_DEALT:
        cells = moments(units.sums(scores) / units.sizes, side.astype(np.int64), 2)
        if not cells.variance.sum() > 0.0:
            return MeanTest(float("nan"), units.kind, units.num, TooFew(0, 2, "value that differs"))
        return MeanTest(float(two_sample_t(cells.of(1), cells.of(0)).p), units.kind, units.num, None)
    draws = _DRAWS if units.num <= _MANY else _FEWER_DRAWS
    inferred = two_groups(scores, units, side, level=_LEVEL, seed=seed, about=about, num_draws=draws)
    return MeanTest(inferred.p, units.kind, units.num, inferred.too_few)
