"""Directions that have nothing to do with gender, and what an attack along gender does more than along these.

How often replacements of words flip a verdict says nothing by itself: replacements along any direction flip some. With
A_e the share of texts that a direction e flips, and R control directions,

    E = A_gender - mean_r A_r,    p = (1 + #{r : A_r >= A_gender}) / (R + 1)

(Phipson and Smyth 2010, *Permutation p-values should never be zero*). The null is that the direction in question is
one like its controls. Differences of words of like frequency have the spectrum of real directions, and flip more than
directions drawn from a sphere. But such a difference may lead from *man* to *woman* as well, and a control that changes
gender hides what is looked for. :func:`without_gender` takes what directions share with gender out of them, and
candidates never cross over to the other gender (:mod:`.candidates`). Which controls are taken depends on vectors and
lists of words alone, and never on the victim. That does not make them alike: ``benchmarks.calibration`` holds
definitional pairs against victims that can't know gender.
"""

from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.designs.controls import rank_p
from tiltmeter.operators.statistics.flips import flips
from tiltmeter.operators.statistics.units import TooFew, Units

VERSION = "adversary_controls/3"

_SPHERE, _PAIRS = 0, 1
_DIGITS = 12
"""Means of the same numbers in another order differ beyond it: those that are equal have to count as equal."""


class Excess(NamedTuple):
    """Attributes:
    excess: E.
    p_value: one-sided.
    """

    excess: float
    p_value: float


class Asymmetry(NamedTuple):
    """Attributes:
    difference: share of the texts that the first direction flips, less that of the second.
    p_value: two-sided; NaN where too few units differ.
    too_few: why there is none.
    """

    difference: float
    p_value: float
    too_few: TooFew | None


def sphere_directions(number: int, dims: int, length: float, seed: int) -> FloatArray:
    """Directions drawn uniformly from a sphere: ``[number, dims]``.

    Args:
        number: each depends on its own number and the seed alone.
        dims: of the vectors.
        length: of the direction that they are controls of.
    """
    drawn = np.stack(
        [keyed_generator(seed, Stream.CONTROL_DIRECTION, _SPHERE, place).normal(size=dims) for place in range(number)]
    )
    directions: FloatArray = drawn * (length / np.linalg.norm(drawn, axis=1, keepdims=True))
    return directions


def without_gender(directions: FloatArray, gender: FloatArray) -> FloatArray:
    """The part of directions that is orthogonal to all of those of gender, of the length that the whole had.

    Args:
        directions: ``[number, dims]``.
        gender: ``[directions, dims]``, which span the subspace of gender.

    >>> without_gender(np.array([[3.0, 4.0]]), np.array([[2.0, 0.0]]))
    array([[0., 5.]])
    """
    _, sizes, axes = np.linalg.svd(gender, full_matrices=False)
    axes = axes[sizes > sizes.max(initial=0.0) * 1e-10]
    rest = directions - (directions @ axes.T) @ axes
    before, after = (np.linalg.norm(part, axis=1, keepdims=True) for part in (directions, rest))
    orthogonal: FloatArray = rest * np.divide(before, after, out=np.zeros_like(after), where=after > 1e-9 * before)
    return orthogonal


def matched_pairs(
    number: int, pair: tuple[int, int], pool: NDArray[np.int64], window: int, seed: int
) -> NDArray[np.int64]:
    """Pairs of words as frequent as those of a pair: ``[number, 2]`` ranks.

    Args:
        number: each pair depends on its own number and the seed alone.
        pair: ranks of the two words by frequency, from 0 for the most frequent.
        pool: ranks of words that may be drawn, each once; those that tell gender should not be among them.
        window: words of the pool that each is drawn from: the nearest by rank.

    Raises:
        ValueError: if the pool has fewer than two words, or the window fewer than two.
    """
    if pool.size < 2 or window < 2:
        raise ValueError(
            f"{pool.size} words to make control pairs of, controls.window={window}: must be at least 2; "
            "set embedding to vectors of more words, or raise controls.window"
        )
    near = [pool[np.argsort(np.abs(pool - rank), kind="stable")[:window]] for rank in pair]
    pairs = []
    for place in range(number):
        draws = keyed_generator(seed, Stream.CONTROL_DIRECTION, _PAIRS, place)
        first = draws.choice(near[0])
        pairs.append((first, draws.choice(near[1][near[1] != first])))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def equalised(options: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Along controls, at each place of a text, as many words as along the direction itself, and as frequent ones.

    More candidates are more chances to flip a verdict, and so are words that a classifier has often read. Both belong
    to the texts and not to what it does: each candidate along the direction, the nearest first, is given that likely
    word along the control which is the nearest to it by the logarithm of its count.

    Args:
        options: a row for each candidate of each word: ``row`` and ``position`` of the word, ``direction``,
            ``control``, -1 for none, ``replica``, ``rank``, ``candidate``, and whether it ``is_likely`` there.
        counts: of words in small letters: ``word`` and ``count``.
    """
    place = ["row", "position", "direction"]
    sizes = counts.select("word", (1 + pl.col("count")).log().alias("size"))
    sized = options.with_columns(word=pl.col("candidate").str.to_lowercase()).join(sizes, on="word", how="left")
    sized = sized.with_columns(pl.col("size").fill_null(0.0)).filter("is_likely")
    along = sized.filter(control=-1, replica=0).with_columns(turn=pl.col("rank").rank("ordinal").over(place))
    left, taken = sized.filter(pl.col("control") >= 0), [options.filter(control=-1)]
    for turn in range(1, 1 + int(along["turn"].to_numpy().max(initial=0))):
        wanted = along.filter(turn=turn).select(*place, pl.col("size").alias("wanted"))
        beside = left.join(wanted, on=place).with_columns(distance=(pl.col("size") - pl.col("wanted")).abs())
        chosen = beside.sort("distance", "rank", "candidate").unique(
            [*place, "control"], keep="first", maintain_order=True
        )
        left = left.join(chosen, on=[*place, "control", "candidate"], how="anti")
        taken.append(chosen.select(options.columns))
    return pl.concat(taken)


def excess(rate: float, controls: FloatArray) -> Excess:
    """E and its randomisation p-value.

    Args:
        rate: of the direction in question.
        controls: ``[R]`` rates of control directions.

    Raises:
        ValueError: if there is no control.

    >>> excess(0.5, np.array([0.1, 0.2, 0.6]))
    Excess(excess=0.2, p_value=0.5)
    """
    if not controls.size:
        raise ValueError("controls.number=0: must be at least 1; a rate of flips says nothing without controls")
    return Excess(float(rate - controls.mean()), _rank(rate, controls, 1))


def two_sided(value: float, controls: FloatArray) -> float:
    """Randomisation p-value of the size of a number among the sizes of the controls' numbers.

    >>> two_sided(-0.5, np.array([0.1, 0.6, -0.2]))
    0.5
    """
    return _rank(value, controls, 2)


def _rank(value: float, controls: FloatArray, sides: Literal[1, 2]) -> float:
    return rank_p(round(value, _DIGITS), controls.round(_DIGITS), sides=sides)


def asymmetry(first: BoolArray, second: BoolArray, units: Units) -> Asymmetry:
    """Whether one of two directions flips more of the same texts, by the signs of units (:func:`.flips.flips`).

    Null: in each unit either of the two is as likely to be the one that flips more. With units of one text that is
    McNemar's exact test.

    Args:
        first, second: ``[texts]``, which ones each flips.
        units: of the texts, such as their authors.

    >>> from tiltmeter.operators.statistics.units import each, units_of
    >>> first, second = np.array([True] * 8 + [False]), np.array([False] * 8 + [True])
    >>> asymmetry(first, second, each(9, "text"))
    Asymmetry(difference=0.7777777777777778, p_value=0.0390625, too_few=None)
    >>> asymmetry(first, second, units_of(list("aabbccdde"), "author")).too_few.have
    5
    """
    differences = first.astype(np.int64) - second.astype(np.int64)
    return Asymmetry(float(differences.mean()), *flips(differences, units))
