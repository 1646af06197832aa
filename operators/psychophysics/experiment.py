"""The forced choice task on vectors of bootstrap replicas, in one call."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.psychophysics.forced_choice import flip_points
from tiltmeter.operators.psychophysics.resamples import Psychometrics, psychometrics_of


def psychometrics(
    words: NDArray[np.floating],
    cue_1: NDArray[np.floating],
    cue_2: NDArray[np.floating],
    *,
    seed: int = 0,
    num_resamples: int = 1000,
    level: float = 0.95,
) -> Psychometrics:
    """PSE and JND of words between two cues, with their bootstrap intervals.

    Args:
        words: ``[replicas, words, dims]``, the replicas alone, not the original corpus; NaN for a word that a replica
            lacks.
        cue_1, cue_2: ``[replicas, dims]``; words with a PSE above 1/2 lean to the first.
        seed, num_resamples, level: of the intervals, as for :func:`.resamples.psychometrics_of`.

    Returns:
        A row for each word.

    Raises:
        ValueError: if the shapes do not fit, or an argument is out of range.

    >>> rng = np.random.default_rng(0)
    >>> she, he = (np.tile(cue, (20, 1)) for cue in np.eye(2))
    >>> nurse = np.array([[2.0, 1.0]]) + 0.1 * rng.normal(size=(20, 1, 2))
    >>> result = psychometrics(nurse, she, he)
    >>> result.pse.round(2), bool(result.pse_low[0] > 0.5), result.num_replicas
    (array([0.72]), True, array([20]))
    """
    shapes = {"words": np.shape(words), "cue_1": np.shape(cue_1), "cue_2": np.shape(cue_2)}
    num_replicas, *_, dims = shapes["words"] if len(shapes["words"]) == 3 else (-1, -1)
    if not shapes["cue_1"] == shapes["cue_2"] == (num_replicas, dims):
        raise ValueError(f"{shapes}: must be [replicas, words, dims] and twice [replicas, dims]")
    flips = flip_points(words, np.asarray(cue_1)[:, np.newaxis], np.asarray(cue_2)[:, np.newaxis])
    return psychometrics_of(flips.T, seed, num_resamples, level)
