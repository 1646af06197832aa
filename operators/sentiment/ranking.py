"""Orders of systems by their raw bias scores, small ones first: the partial order, and the complete order into levels.

Both are those of Lakkaraju, Srivastava and Valtorta 2023, *Rating Sentiment Analysis Systems for Bias through a Causal
Lens*. Systems with the same raw score share their place.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

VERSION = "ranking/2"

Cut = Literal["distinct", "repeated"]
"""What is cut into levels: every raw score once, or as often as systems have it."""

NO_PLACE = 0
"""The rank and rating of a system without a raw score."""


def partial_order(raw_scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """The rank of each system: 1 + the number of systems with a smaller raw score.

    Args:
        raw_scores: ``[systems]``; infinite is the largest, NaN none.

    Returns:
        ``[systems]``, 0 where there is no raw score.

    >>> partial_order(np.array([5.8, 0.0, 23.0, np.nan, 0.0]))
    array([3, 1, 4, 0, 1])
    """
    known = ~np.isnan(raw_scores)
    ranks = np.full(raw_scores.shape, NO_PLACE, dtype=np.int64)
    ranks[known] = 1 + np.searchsorted(np.sort(raw_scores[known]), raw_scores[known])
    return ranks


def complete_order(raw_scores: NDArray[np.floating], num_levels: int, cut: Cut = "distinct") -> NDArray[np.int64]:
    """The rating of each system, from 1 for the least biased to ``num_levels``.

    The n raw scores are cut in ascending order into L consecutive parts, the first n mod L of which hold one more than
    the others, as ``numpy.array_split`` does. A system is rated by the first part that holds its raw score, so that
    systems with one raw score share it. Cutting the distinct ones gives the ratings of 29 of the 30 rows of tables XIX
    and XX of Lakkaraju et al. 2023 (*The Effect of Human v/s Synthetic Test Data and Round-tripping on Assessment of
    Sentiment Analysis Systems for Bias*) from the raw scores that are printed beside them, by their places (by the
    names of the systems 26, or 27 with a row that lacks one); cutting them with repetitions, as the program does that
    was published with the paper, 9.

    Args:
        raw_scores: ``[systems]``; infinite is the largest, NaN none.
        num_levels: L, at least 1.
        cut: which raw scores.

    Returns:
        ``[systems]``, 0 where there is no raw score.

    Raises:
        ValueError: if there is no level, or ``cut`` is unknown.

    The parts are (0, 1.3), (2.6, 5.8) and (23), and with repetitions (0, 0), (1.3, 2.6) and (5.8, 23):

    >>> scores = np.array([0.0, 0.0, 1.3, 2.6, 5.8, 23.0])
    >>> complete_order(scores, num_levels=3), complete_order(scores, num_levels=3, cut="repeated")
    (array([1, 1, 1, 2, 2, 3]), array([1, 1, 2, 2, 3, 3]))
    """
    if cut not in get_args(Cut):
        raise ValueError(f"cut={cut!r}: must be one of {', '.join(get_args(Cut))}; set rating.cut")
    if num_levels < 1:
        raise ValueError(f"num_levels={num_levels}: must be 1 or more, for example 3; set rating.num_levels")
    known = ~np.isnan(raw_scores)
    ordered = np.sort(raw_scores[known])
    if cut == "distinct":
        ordered = np.unique(ordered)
    levels = np.repeat(np.arange(1, num_levels + 1), [part.size for part in np.array_split(ordered, num_levels)])
    ratings = np.full(raw_scores.shape, NO_PLACE, dtype=np.int64)
    ratings[known] = levels[np.searchsorted(ordered, raw_scores[known])]
    return ratings
