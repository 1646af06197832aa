"""Measures of bias along the direction that pairs of words have in common, such as she and he, woman and man.

Each takes the pairs as X and Y, and as A the words that are held against their direction g: the first principal
component of the pairs' unit vectors, each pair centred on its own middle (:mod:`.embedding.direction`, Bolukbasi et al.
2016), found in each embedding by itself. Words are of length 1 here.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.association.measures import BiasMeasure, Exchange, Groups
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.direction import GenderDirection, gender_direction, projection
from tiltmeter.operators.embedding.similarity import unit_vectors
from tiltmeter.operators.statistics.intervals import LOGIT, of_size
from tiltmeter.operators.statistics.text_intervals import cut

LEAST_SIMILARITY = 0.05
"""|w.v| below which the share of it that goes along a direction is no number: it is divided by it."""

MOST_EXTREME = 500
_NUM_STARTS, _MOST_STEPS, _NUMBERS_AT_ONCE = 10, 50, 4_000_000


def direct_bias(groups: Groups) -> FloatArray:
    """DirectBias = mean_{w in A} |cos(w, g)| (Bolukbasi et al. 2016, section 5.2, c = 1).

    A word that an embedding lacks is left out there, as in ``gender_survey``.
    """
    sizes = np.abs(projection(groups.a, _direction(groups).direction))
    is_known = np.isfinite(sizes)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(is_known, sizes, 0.0).sum(axis=1) / is_known.sum(axis=1))


def direction_share(groups: Groups) -> FloatArray:
    """The share of the pairs' variance that g has: how well one direction stands for all of them."""
    return _direction(groups).first_share


def indirect_bias(groups: Groups) -> FloatArray:
    """beta(w, v) = (w.v - cos(w', v')) / (w.v), w' = w - (w.g) g (Bolukbasi et al. 2016, section 5.3).

    Of each word w of A and the word v in the same place of B; ``[embeddings, words of A]``. It is the share of their
    similarity that goes through g, and has no borders: NaN where |w.v| < 0.05, and where a word lies along g.
    """
    first, second = unit_vectors(groups.a), unit_vectors(groups.b)
    direction = _direction(groups).direction
    along = [projection(words, direction) for words in (first, second)]
    similarity = np.einsum("ewd,ewd->ew", first, second)
    with np.errstate(invalid="ignore", divide="ignore"):
        across = (similarity - along[0] * along[1]) / np.sqrt((1.0 - along[0] ** 2) * (1.0 - along[1] ** 2))
        share = (similarity - across) / similarity
    return np.asarray(np.where((np.abs(similarity) < LEAST_SIMILARITY) | ~np.isfinite(share), np.nan, share))


def clustering(groups: Groups, *, is_left: bool = False, num_extreme: int | None = None) -> FloatArray:
    """How well two clusters tell the words furthest along g from those furthest against it (Gonen, Goldberg 2019).

    max(accuracy, 1 - accuracy) of k-means with k = 2 (k-means++, ten starts) on the vectors of the words, which are
    chosen in each embedding by itself. It is near 1 for any direction of any embedding, as the words were chosen by it.

    Args:
        is_left: of what is left of the vectors without their part along g, of length 1 again.
        num_extreme: words on each side; else a quarter of A, and at most 500. NaN with fewer than two, and where an
            embedding lacks more than half of the words; others that it lacks are not among the most biased.
    """
    words, direction = unit_vectors(groups.a), _direction(groups).direction
    along = projection(groups.a, direction)
    is_lacking = np.isnan(along)
    is_known = is_lacking.mean(axis=1) <= 0.5
    along[~is_known] = 0.0
    along = np.where(is_lacking, np.nanmedian(along, axis=1, keepdims=True), along)
    num = min(MOST_EXTREME, along.shape[1] // 4) if num_extreme is None else num_extreme
    if num < 2:
        return np.full(len(along), np.nan)
    order = np.argsort(along, axis=1, kind="stable")
    chosen = np.sort(np.hstack([order[:, :num], order[:, -num:]]), axis=1)
    is_far = np.take_along_axis(along, chosen, axis=1) >= np.take_along_axis(along, order[:, -num, np.newaxis], axis=1)
    vectors = np.take_along_axis(words, chosen[:, :, np.newaxis], axis=1)
    if is_left:
        vectors = unit_vectors(
            vectors - np.einsum("ewd,ed->ew", vectors, direction)[..., np.newaxis] * direction[:, None]
        )
    share = (two_means(vectors) == is_far).mean(axis=1)
    return np.asarray(np.where(is_known, np.maximum(share, 1.0 - share), np.nan))


def two_means(vectors: NDArray[np.floating]) -> BoolArray:
    """``[embeddings, words]``: which words are in one of two clusters, the best of ten starts of k-means++.

    From products of vectors alone: |w - mu|^2 = w.w - 2 w.mu + mu.mu, and a mean is a weighted sum.

    >>> two_means(np.array([[[1.0, 0.0], [1.1, 0.0], [-1.0, 0.0], [-1.2, 0.0]]])).astype(int).tolist()[0] in (
    ...     [1, 1, 0, 0], [0, 0, 1, 1])
    True
    """
    at_once = max(1, _NUMBERS_AT_ONCE // (vectors.shape[1] * (vectors.shape[1] + 4 * _NUM_STARTS)))
    starts = range(0, len(vectors), at_once)
    return np.concatenate([_two_means(vectors[start : start + at_once]) for start in starts])


def _two_means(vectors: NDArray[np.floating]) -> BoolArray:
    products = np.nan_to_num(vectors) @ np.swapaxes(np.nan_to_num(vectors), 1, 2)
    squares = np.diagonal(products, axis1=1, axis2=2)[:, np.newaxis]
    firsts, second = keyed_generator(0, Stream.CLUSTERING).random((2, _NUM_STARTS))
    first = (firsts * products.shape[1]).astype(np.int64)
    from_first = np.maximum(squares + squares[:, 0, first, np.newaxis] - 2.0 * products[:, first], 0.0)
    reached = np.cumsum(from_first, axis=2)
    place = (reached < second[:, np.newaxis] * reached[:, :, -1:]).sum(axis=2).clip(max=products.shape[1] - 1)
    from_second = np.take_along_axis(squares, place[:, np.newaxis], axis=2).swapaxes(1, 2) - 2.0 * np.take_along_axis(
        products, place[:, :, np.newaxis], axis=1
    )
    is_one = squares + from_second < from_first
    for _ in range(_MOST_STEPS):
        near, inertia = _nearer(products, is_one)
        if (near == is_one).all():
            break
        is_one = near
    best = np.argmin(inertia, axis=1)
    return np.asarray(is_one[np.arange(len(is_one)), best])


def _nearer(products: FloatArray, is_one: BoolArray) -> tuple[BoolArray, FloatArray]:
    """Which words are nearer to the mean of the one cluster, and the inertia of the clusters as they are."""
    apart, inertia = [], np.zeros(is_one.shape[:2])
    for members in (is_one, ~is_one):
        num = members.sum(axis=2, keepdims=True)
        to_mean = (members / np.maximum(num, 1)) @ products
        square = (to_mean * members).sum(axis=2, keepdims=True) / np.maximum(num, 1)
        apart.append(np.where(num > 0, square - 2.0 * to_mean, np.inf))
        inertia -= (num * square)[:, :, 0]
    return np.asarray(apart[0] < apart[1]), inertia


def _direction(groups: Groups) -> GenderDirection:
    return gender_direction(groups.x, groups.y)


_DIRECTIONS = Exchange("directions")
_APART = "the most biased words lie in two clusters, by their sides"

OF_DIRECTIONS: Mapping[str, BiasMeasure] = {
    "direct_bias": BiasMeasure(
        "direct_bias/1",
        "words lie further along the direction, to either side",
        direct_bias,
        scale=of_size(LOGIT),
        null=_DIRECTIONS,
        takes="direction",
        in_pairs=True,
    ),
    "direction_share": BiasMeasure(
        "direction_share/1",
        "one direction stands for more of what the pairs differ in",
        direction_share,
        None,
        LOGIT,
        null="it says how well a direction is one, and not that there is a bias",
        takes="direction",
        in_pairs=True,
    ),
    "indirect_bias": BiasMeasure(
        "indirect_bias/1",
        "more of the similarity of a word and the one nearest to it goes through the direction",
        indirect_bias,
        null=_DIRECTIONS,
        takes="nearest",
        of_words=True,
        in_pairs=True,
    ),
    "clustering": BiasMeasure(
        "clustering/1", _APART, clustering, None, cut(0.5, 1.0), null=_DIRECTIONS, takes="direction", in_pairs=True
    ),
    "clustering_left": BiasMeasure(
        "clustering_left/1",
        f"{_APART}, also without the direction",
        partial(clustering, is_left=True),
        None,
        cut(0.5, 1.0),
        null=_DIRECTIONS,
        takes="direction",
        in_pairs=True,
    ),
}
"""By the name in ``measures``."""
