"""Orders of systems by their raw bias scores, small ones first: the partial order, and the complete order into levels.

Both are those of Lakkaraju, Srivastava and Valtorta 2023, *Rating Sentiment Analysis Systems for Bias through a Causal
Lens*. Systems with the same raw score share their place.
"""

import numpy as np
from numpy.typing import NDArray

VERSION = "ranking/1"

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


def complete_order(raw_scores: NDArray[np.floating], num_levels: int) -> NDArray[np.int64]:
    """The rating of each system, from 1 for the least biased to ``num_levels``.

    The n raw scores, ascending and with repetitions, are cut into L consecutive parts, the first n mod L of which hold
    one more than the others, as ``numpy.array_split`` does. A system is rated by the first part that holds its raw
    score, so that systems with one raw score share it. This is how the program cuts that was published with the paper.

    Args:
        raw_scores: ``[systems]``; infinite is the largest, NaN none.
        num_levels: L, at least 1.

    Returns:
        ``[systems]``, 0 where there is no raw score.

    Raises:
        ValueError: if there is no level.

    The parts are (0, 0), (0.6, 5.8) and (23):

    >>> complete_order(np.array([5.8, 0.0, 23.0, 0.6, 0.0]), num_levels=3)
    array([2, 1, 3, 2, 1])
    """
    if num_levels < 1:
        raise ValueError(f"num_levels={num_levels}: must be 1 or more, for example 3; set rating.num_levels")
    ranks = partial_order(raw_scores)
    known = ranks != NO_PLACE
    parts = np.array_split(ranks[known], num_levels)
    # The first of the places that a raw score takes in the ascending order is its rank.
    levels = np.repeat(np.arange(1, num_levels + 1), [part.size for part in parts])
    ratings = np.full(ranks.shape, NO_PLACE, dtype=np.int64)
    ratings[known] = levels[ranks[known] - 1]
    return ratings
