"""How many more of the words of X than of Y lie nearer to A than to B."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.association.measures import BiasMeasure, Exchange, Groups
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.statistics.text_intervals import cut


def nearest_share(groups: Groups) -> NDArray[np.float64]:
    """P(x in X: m(x, A) > m(x, B)) - P(y in Y: m(y, A) > m(y, B)), m the mean cosine; ``[embeddings]``."""

    def share(words: NDArray[np.floating]) -> NDArray[np.float64]:
        to_a, to_b = (pairwise(words, side, "cosine").mean(axis=2) for side in (groups.a, groups.b))
        return np.where(np.isnan(to_a - to_b).any(axis=1), np.nan, (to_a > to_b).mean(axis=1))

    return share(groups.x) - share(groups.y)


MEASURE = BiasMeasure(
    "nearest_share/1",
    "more of the words of X than of Y lie nearer to A than to B",
    nearest_share,
    scale=cut(-1.0, 1.0),
    null=Exchange("targets"),
)
