"""Deconfounding impact: how far a protected attribute distorts what an emotion does to sentiment.

Where the emotion of a text depends on the protected attribute Z, Z is a common cause of emotion X and sentiment Y, and
part of what Y has to do with X is not due to X. Pearl 2009, *Causality*, section 3.3, takes it away by the backdoor
adjustment,

E[Y|do(X=x)] = sum_z E[Y|X=x, Z=z] P(Z=z),

and Lakkaraju, Srivastava and Valtorta 2023, *Rating Sentiment Analysis Systems for Bias through a Causal Lens*, rate a
system by how much that changes E[Y|X=x] (deconfounding impact estimation, DIE).

Whether X depends on Z is a fact about how a set was made (:data:`Design`). Where nobody knows, :func:`dependence` tests
it. That a table of counts is not exactly independent says nothing: hardly any set of independent texts is.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.two_samples import moments, snapped
from tiltmeter.operators.statistics.units import TooFew, Units

VERSION = "deconfounding/2"

Design = Literal["confounded", "independent"]
"""Whether the emotions of a set were made to depend on the protected attribute."""

ALPHA = 0.05
"""At which a set of an unknown design is taken for confounded."""

EmptyCells = Literal["renormalise", "undefined"]

_DECIMALS = 9
"""Of percentages: impacts that are equal but for rounding tie."""

_MIN_UNITS = 20
"""Of a test of dependence."""

_NUM_DRAWS, _AT_ONCE = 1_999, 200
_ROUNDING = 1e-9


class Impact(NamedTuple):
    """What deconfounding does to the mean sentiment of each emotion in a data set.

    Attributes:
        observed: ``[..., emotions]`` float64, E[Y|X=x] in the unit of the scores; NaN for an emotion without texts.
        adjusted: ``[..., emotions]`` float64, E[Y|do(X=x)]; NaN likewise, or where it is left undefined.
        percent: ``[..., emotions]`` float64, DIE in percent of E[Y|X=x], at least 0; infinite where that is 0 and the
            adjusted mean is not; NaN where that is.
        is_empty: ``[..., emotions, protected values]``, whether no text has both, though some have the one and some the
            other: positivity fails, and nothing is known of E[Y|X=x, Z=z].
    """

    observed: FloatArray
    adjusted: FloatArray
    percent: FloatArray
    is_empty: NDArray[np.bool_]


def deconfounding_impact(
    scores: NDArray[np.floating],
    emotions: NDArray[np.integer],
    protected: NDArray[np.integer],
    counts: NDArray[np.integer] | None = None,
    empty_cells: EmptyCells = "renormalise",
) -> Impact:
    """DIE = 100 |E[Y|do(X=x)] - E[Y|X=x]| / |E[Y|X=x]| for every emotion x of a data set.

    P(Z=z) is the share of all texts of the data set. 0/0 is 0, and anything else over 0 infinite, where a mean or a
    difference of up to :data:`.two_samples.ROUNDING` is made 0. An E[Y|X=x] close to 0, as of a system with as many
    positive as negative scores, makes for a large percentage whatever the difference.

    Args:
        scores: ``[texts]``, in [-1, 1].
        emotions: ``[texts]``, the emotion of each by its number, from :func:`.two_samples.coded`.
        protected: ``[texts]``, likewise the value of the protected attribute, or of several together.
        counts: ``[replicates, texts]``, how often each replicate has a text; None for the texts themselves.
        empty_cells: where no text has both x and z, ``renormalise`` takes the sum over the other z, and P(Z) as their
            share of the texts with one of those; ``undefined`` leaves E[Y|do(X=x)] undefined.

    Returns:
        The emotions in the order of their numbers, percentages rounded to 9 decimals.

    Raises:
        ValueError: if ``empty_cells`` is unknown, or :func:`.two_samples.moments` refuses the scores.

    Of the first emotion 3 of 4 texts have the first value, of all texts half. So 0.75 x 1 + 0.25 x -1 becomes 0:

    >>> scores, emotions = np.array([1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, -1.0]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> result = deconfounding_impact(scores, emotions, np.array([0, 0, 0, 1, 0, 1, 1, 1]))
    >>> result.observed, result.adjusted, result.percent
    (array([ 0.5, -0.5]), array([0., 0.]), array([100., 100.]))
    """
    if empty_cells not in get_args(EmptyCells):
        allowed = ", ".join(get_args(EmptyCells))
        raise ValueError(f"empty_cells={empty_cells!r}: must be one of {allowed}; set rating.empty_cells")
    num, mean = _cells(scores, emotions, protected, counts)
    of_protected = num.sum(axis=-2, keepdims=True)
    is_empty = (num == 0) & (of_protected > 0) & (num.sum(axis=-1, keepdims=True) > 0)
    observed = _weighted_mean(mean, num)
    adjusted = _weighted_mean(mean, np.where(num > 0, of_protected, 0))
    if empty_cells == "undefined":
        adjusted = np.where(is_empty.any(axis=-1), np.nan, adjusted)
    return Impact(observed, adjusted, impact_percent(observed, adjusted), is_empty)


def largest_impact(impacts: Sequence[Impact]) -> FloatArray:
    """MAX(DIE), the raw score of a system: the largest percentage over data sets and their emotions.

    Args:
        impacts: of at least one data set, with the same replicates.

    Returns:
        ``[...]`` float64 in percent. Emotions without texts are left out; NaN if all are, or if one that has texts has
        no percentage: the largest may be its.

    >>> def percent(*values):
    ...     return Impact(np.zeros(len(values)), np.zeros(len(values)), np.array(values), np.zeros(0, bool))
    >>> largest_impact([percent(3.0, 20.0), percent(7.0)]), largest_impact([percent(3.0, np.nan)])
    (array(20.), array(nan))
    """
    percent = np.concatenate([impact.percent for impact in impacts], axis=-1)
    left_out = np.isnan(np.concatenate([impact.observed for impact in impacts], axis=-1))
    largest = np.where(left_out, 0.0, percent).max(axis=-1, initial=0.0)
    return np.where(left_out.all(axis=-1), np.nan, largest)


def impact_percent(observed: FloatArray, adjusted: FloatArray) -> FloatArray:
    """DIE from E[Y|X=x] and E[Y|do(X=x)], of the same shape.

    >>> impact_percent(np.array([-0.8, 0.0, 0.0]), np.array([-0.6, 0.0, 0.1]))
    array([25.,  0., inf])
    """
    difference = snapped(np.abs(adjusted - observed))
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = 100.0 * difference / np.abs(observed)
    return np.where(difference == 0.0, 0.0, np.round(percent, _DECIMALS))


def is_balanced(emotions: NDArray[np.integer], protected: NDArray[np.integer]) -> bool:
    """Whether each emotion comes as often with every protected value, in proportion, as where a design crosses them.

    n n_xz = n_x n_z for all x and z, which integers tell without rounding.

    Args:
        emotions, protected: ``[texts]``, as for :func:`deconfounding_impact`.

    >>> is_balanced(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]))
    True
    """
    texts = _contingency(emotions, protected)
    independent = texts.sum(axis=1, keepdims=True) * texts.sum(axis=0)
    return np.array_equal(texts * emotions.size, independent)


def dependence(
    emotions: NDArray[np.integer], protected: NDArray[np.integer], units: Units, *, seed: int, about: int
) -> tuple[float, TooFew | None]:
    """The p-value of the emotions of a set being dealt to its texts whatever the protected attribute.

    Pearson's chi-square of the texts by emotion and value among 1,999 draws, p = (b + 1) / 2,000: values are dealt anew
    to the units, each with all of its texts, and in a unit that has texts of several values, to its texts. Size at
    0.05: 3 to 5 % with 20 to 400 texts.

    Args:
        emotions, protected: ``[texts]``, as for :func:`deconfounding_impact`.
        units: what was drawn independently: texts, or conversations.
        seed, about: what draws are keyed by.

    Returns:
        NaN, and why, with fewer than 20 units. Not rejected is not independent.

    >>> from tiltmeter.operators.statistics.units import each
    >>> felt = np.arange(24) % 2
    >>> p, _ = dependence(felt, felt, each(24, "text"), seed=0, about=0)
    >>> p, dependence(felt, np.arange(24) // 12, each(24, "text"), seed=0, about=0)[0]
    (0.0005, 1.0)
    """
    if units.num < _MIN_UNITS:
        return float("nan"), TooFew(units.num, _MIN_UNITS, units.kind)
    shape = _num_values(emotions), _num_values(protected)
    generator = keyed_generator(seed, Stream.GROUP_LABEL, about)
    drawn = np.zeros((_NUM_DRAWS, *shape))
    values = np.zeros((units.num, shape[1]), dtype=np.int64)
    np.add.at(values, (units.codes, protected), 1)
    is_mixed = (values > 0).sum(axis=1) > 1
    for unit in np.flatnonzero(is_mixed).tolist():
        texts = units.codes == unit
        drawn += _dealt(_padded(_contingency(emotions[texts], protected[texts]), shape), generator)
    if not is_mixed.all():
        felt = np.zeros((units.num, shape[0]), dtype=np.int64)
        np.add.at(felt, (units.codes, emotions), 1)
        drawn += _dealt_to_units(felt[~is_mixed], values[~is_mixed].argmax(axis=1), shape, generator)
    reached = _chi_square(drawn) >= _chi_square(_contingency(emotions, protected)) - _ROUNDING
    return (int(reached.sum()) + 1) / (_NUM_DRAWS + 1), None


def _dealt_to_units(
    felt: IntArray, values: IntArray, shape: tuple[int, int], generator: np.random.Generator
) -> FloatArray:
    """Texts by emotion and value, ``[draws, emotions, values]``, where values are dealt to units of some texts each."""
    if felt.sum(axis=1).max() == 1:
        return _dealt(_padded(_contingency(felt.argmax(axis=1), values), shape), generator)
    blocks = []
    for start in range(0, _NUM_DRAWS, _AT_ONCE):
        dealt = generator.permuted(np.tile(values, (min(_AT_ONCE, _NUM_DRAWS - start), 1)), axis=1)
        blocks.append(np.stack([(dealt == value) @ felt for value in range(shape[1])], axis=-1))
    return np.concatenate(blocks).astype(np.float64)


def _dealt(texts: IntArray, generator: np.random.Generator) -> FloatArray:
    """Draws of a table with its margins, ``[draws, emotions, values]``."""
    from scipy.stats import random_table

    return np.asarray(random_table(texts.sum(axis=1), texts.sum(axis=0)).rvs(_NUM_DRAWS, random_state=generator))


def _padded(texts: IntArray, shape: tuple[int, int]) -> IntArray:
    return np.pad(texts, [(0, whole - part) for whole, part in zip(shape, texts.shape, strict=True)])


def _chi_square(texts: NDArray[np.generic]) -> FloatArray:
    """Of tables ``[..., emotions, values]``; cells of an empty row or column count nothing."""
    counts = np.asarray(texts, dtype=np.float64)
    expected = counts.sum(axis=-1, keepdims=True) * counts.sum(axis=-2, keepdims=True)
    expected /= counts.sum(axis=(-2, -1), keepdims=True)
    terms = (counts - expected) ** 2 / np.where(expected > 0.0, expected, 1.0)
    return np.asarray(terms.sum(axis=(-2, -1)))


def _contingency(emotions: NDArray[np.integer], protected: NDArray[np.integer]) -> IntArray:
    texts = np.zeros((_num_values(emotions), _num_values(protected)), dtype=np.int64)
    np.add.at(texts, (emotions, protected), 1)
    return texts


def _cells(
    scores: NDArray[np.floating],
    emotions: NDArray[np.integer],
    protected: NDArray[np.integer],
    counts: NDArray[np.integer] | None,
) -> tuple[NDArray[np.int64], FloatArray]:
    """Number and mean of the scores, ``[..., emotions, protected values]``."""
    shape = _num_values(emotions), _num_values(protected)
    cells = moments(scores, emotions * shape[1] + protected, shape[0] * shape[1], counts)
    return cells.num.reshape(*cells.num.shape[:-1], *shape), cells.mean.reshape(*cells.mean.shape[:-1], *shape)


def _num_values(codes: NDArray[np.integer]) -> int:
    return int(codes.max(initial=-1)) + 1


def _weighted_mean(mean: FloatArray, weights: NDArray[np.int64]) -> FloatArray:
    """Over the last axis; NaN where all weights are 0."""
    total = weights.sum(axis=-1)
    summed = np.where(weights > 0, weights * mean, 0.0).sum(axis=-1)
    return snapped(summed / np.where(total > 0, total, np.nan))
