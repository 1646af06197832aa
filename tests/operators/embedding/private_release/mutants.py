"""Mechanisms with the mistakes of public code, each as a function that releases a pair's vector and a companion.

``release(generator, image, companion, n) -> (vectors, companions, repeated)``: ``[n, m]`` each.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.embedding.private_release.noise import norm_noise
from tiltmeter.operators.embedding.private_release.scores import Pair, Releases
from tiltmeter.operators.embedding.private_release.secrets import grid_step, on_grid


class Mechanism(NamedTuple):
    """Attributes:
    pair: two vectors, with the noise as the mechanism specifies it.
    claimed: bound on the loss of the pair that it claims.
    release: noise as it is really drawn: of an image, ``n`` times; ``[n, m]``.
    shares_noise: whether the rows of a batch have one noise.
    same_seed: whether a repeated release draws the same.
    release_beside: of the companion, where the image that is released beside it matters.
    """

    pair: Pair
    claimed: float
    release: Callable
    shares_noise: bool = False
    same_seed: bool = False
    release_beside: Callable | None = None


def specified(num_dimensions, rho, scale=1.0, stretch=None):
    """A pair whose images lie rho scales apart, with two other words; and the mechanism that is right."""
    image, other = np.zeros(num_dimensions), np.zeros(num_dimensions)
    other[0] = rho * scale
    rivals = np.random.default_rng(7).standard_normal((2, num_dimensions)) * rho * scale
    return Pair(image, other, "norm", scale, rivals)


def right(pair):
    """On a grid, as the product publishes."""
    step = grid_step(pair.deviation)
    return lambda generator, image, n: on_grid(image + norm_noise(generator, (n, len(image)), pair.scale), step)


def releases(mechanism, image, seed, n):
    """Of one image: the mechanism draws for it, for a companion in the same batch, and once more."""
    generator = np.random.default_rng(seed)
    companion = np.full(len(image), 3.0)
    vectors = mechanism.release(generator, image, n)
    if mechanism.shares_noise:
        companions = companion + (vectors - image)
    elif mechanism.release_beside:
        companions = mechanism.release_beside(generator, image, companion, n)
    else:
        companions = mechanism.release(generator, companion, n)
    again = np.random.default_rng(seed) if mechanism.same_seed else generator
    return Releases(vectors, companions, mechanism.release(again, image, n), companion)


def _scaled(factor):
    def make(num_dimensions, rho):
        pair = specified(num_dimensions, rho)
        draw = right(pair._replace(scale=factor * pair.scale))
        return Mechanism(pair, rho, draw)

    return make


def laplace_by_coordinate():
    """A claim for the Euclidean distance; the pair differs in all coordinates alike."""
    num_dimensions = 300
    other = np.full(num_dimensions, 1 / num_dimensions**0.5)
    pair = Pair(np.zeros(num_dimensions), other, "norm", 1.0, np.empty((0, num_dimensions)))
    return Mechanism(pair, 1.0, lambda generator, image, n: image + generator.laplace(size=(n, num_dimensions)))


def renormalised_mahalanobis():
    """Directions drawn by an ellipse, made unit vectors again: the density jumps at 0."""
    pair = specified(2, 0.037)
    axes = np.array([1.0, 10**0.5])

    def release(generator, image, n):
        directions = generator.standard_normal((n, 2)) * axes
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return image + directions * generator.standard_gamma(2, (n, 1))

    return Mechanism(pair, 0.037, release)


def one_noise_for_the_batch():
    pair = specified(54, 3.0)
    return Mechanism(pair, 3.0, right(pair), shares_noise=True)


def normalised_along_the_batch():
    pair = specified(54, 3.0)

    def release(generator, image, n):
        directions = generator.standard_normal((n, 54))
        directions /= np.linalg.norm(directions, axis=0)
        return image + directions * generator.standard_gamma(54, (n, 1))

    return Mechanism(pair, 3.0, release)


def rate_for_scale():
    """Epsilon is 1/2: the scale is 2, and a library that wants a rate is given it."""
    pair = specified(54, 3.0, scale=2.0)
    return Mechanism(pair, 3.0, right(pair._replace(scale=0.5)))


def plain_normal_noise():
    """A chi radius of the same mean square as the Gamma radius, in few dimensions."""
    pair = specified(2, 3.0)
    deviation = 3**0.5
    return Mechanism(pair, 3.0, lambda generator, image, n: image + deviation * generator.standard_normal((n, 2)))


def components_of_the_private_batch():
    """All rows are released along the batch's own direction: where one vector lies turns the others."""
    pair = specified(2, 1.0)

    def along(generator, image, released, n):
        direction = np.array([6.0, 5.0]) * (image + 1e-3)
        direction = direction / np.linalg.norm(direction)
        return np.outer(released @ direction + norm_noise(generator, (n, 1), 1.0)[:, 0], direction)

    def release(generator, image, n):
        return along(generator, image, image, n)

    return Mechanism(pair, 1.0, release, release_beside=along)


def special_words_as_they_are():
    pair = specified(54, 3.0)

    def release(generator, image, n):
        if not image.any():
            return np.zeros((n, 54))
        return right(pair)(generator, image, n)

    return Mechanism(pair, 3.0, release)


def single_precision():
    """No grid: what is added to 0 keeps all its digits, what is added to something larger loses some."""
    pair = specified(1, 0.5)

    def release(generator, image, n):
        noise = norm_noise(generator, (n, 1), 1.0).astype(np.float32)
        return (image.astype(np.float32) + noise).astype(np.float64)

    return Mechanism(pair, 0.5, release)


def same_seed_again():
    pair = specified(54, 3.0)
    return Mechanism(pair, 3.0, right(pair), same_seed=True)


MUTANTS = {
    "laplace by coordinate": laplace_by_coordinate,
    "renormalised mahalanobis": renormalised_mahalanobis,
    "one noise for the batch": one_noise_for_the_batch,
    "normalised along the batch": normalised_along_the_batch,
    "rate for scale": rate_for_scale,
    "sensitivity forgotten": lambda: _scaled(1 / 1.9)(54, 10.0),
    "sensitivity used twice": lambda: _scaled(1.9)(54, 10.0),
    "plain normal noise": plain_normal_noise,
    "components of the private batch": components_of_the_private_batch,
    "special words as they are": special_words_as_they_are,
    "single precision": single_precision,
    "same seed again": same_seed_again,
}


def one_percent_too_small():
    return _scaled(0.99)(54, 10.0)
