"""Audits convict mechanisms with the mistakes of public code and no right ones, and their bounds keep the level."""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.embedding.private_release.bounds import (
    CHOOSING,
    Counts,
    audited_loss,
    beats_curve,
    proportion_bounds,
)
from tiltmeter.operators.embedding.private_release.noise import norm_noise
from tiltmeter.operators.embedding.private_release.profile import loss_above, loss_below, true_positive_rate
from tiltmeter.operators.embedding.private_release.scores import (
    SCORES,
    Pair,
    Releases,
    count_scores,
    lowest_bits,
    score_edges,
    scores,
)
from tiltmeter.operators.embedding.private_release.secrets import grid_step, on_grid
from tiltmeter.operators.embedding.private_release.verdicts import audit_pair

BATCH = 25_000
NUM_AUDITS = 21


class Mechanism(NamedTuple):
    """Attributes:
    pair: two vectors, with the noise as the mechanism specifies it.
    claimed: bound on the loss of the pair that it claims.
    release: noise as it is really drawn: of a generator, an image, ``n`` times; ``[n, m]``.
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


def specified(num_dimensions, rho, scale=1.0):
    """A pair whose images lie rho scales apart, with two other words."""
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


# --- mistakes of public code ------------------------------------------------------------------------------------------

NEAR, FAR, PLANE = specified(54, 3.0), specified(54, 10.0), specified(2, 3.0)


def laplace_by_coordinate(generator, image, n):
    """A claim for the Euclidean distance; the pair differs in all coordinates alike."""
    return image + generator.laplace(size=(n, len(image)))


def renormalised_mahalanobis(generator, image, n):
    """Directions drawn by an ellipse, made unit vectors again: the density jumps at 0."""
    directions = generator.standard_normal((n, 2)) * [1.0, 10**0.5]
    return image + directions / np.linalg.norm(directions, axis=1, keepdims=True) * generator.standard_gamma(2, (n, 1))


def normalised_along_the_batch(generator, image, n):
    directions = generator.standard_normal((n, 54))
    return image + directions / np.linalg.norm(directions, axis=0) * generator.standard_gamma(54, (n, 1))


def plain_normal_noise(generator, image, n):
    """A chi radius of the same mean square as the Gamma radius, in few dimensions."""
    return image + 3**0.5 * generator.standard_normal((n, 2))


def along_the_private_batch(generator, image, released, n):
    """All rows are released along the batch's own direction: where one vector lies turns the others."""
    direction = np.array([6.0, 5.0]) * (image + 1e-3)
    direction = direction / np.linalg.norm(direction)
    return np.outer(released @ direction + norm_noise(generator, (n, 1), 1.0)[:, 0], direction)


def special_words_as_they_are(generator, image, n):
    return right(NEAR)(generator, image, n) if image.any() else np.zeros((n, 54))


def single_precision(generator, image, n):
    """No grid: what is added to 0 keeps all its digits, what is added to something larger loses some."""
    noise = norm_noise(generator, (n, 1), 1.0).astype(np.float32)
    return (image.astype(np.float32) + noise).astype(np.float64)


def scaled(factor):
    """The right mechanism with noise of another scale."""
    return Mechanism(FAR, 10.0, right(FAR._replace(scale=factor)))


ALIKE = Pair(np.zeros(300), np.full(300, 1 / 300**0.5), "norm", 1.0, np.empty((0, 300)))
HALVED = specified(54, 3.0, scale=2.0)  # epsilon is 1/2: the scale is 2, and a library that wants a rate is given it
SINGLE = Mechanism(specified(1, 0.5), 0.5, single_precision)
MUTANTS = {
    "laplace by coordinate": Mechanism(ALIKE, 1.0, laplace_by_coordinate),
    "renormalised mahalanobis": Mechanism(specified(2, 0.037), 0.037, renormalised_mahalanobis),
    "one noise for the batch": Mechanism(NEAR, 3.0, right(NEAR), shares_noise=True),
    "normalised along the batch": Mechanism(NEAR, 3.0, normalised_along_the_batch),
    "rate for scale": Mechanism(HALVED, 3.0, right(HALVED._replace(scale=0.5))),
    "sensitivity forgotten": scaled(1 / 1.9),
    "sensitivity used twice": scaled(1.9),
    "plain normal noise": Mechanism(PLANE, 3.0, plain_normal_noise),
    "components of the private batch": Mechanism(
        specified(2, 1.0),
        1.0,
        lambda generator, image, n: along_the_private_batch(generator, image, image, n),
        release_beside=along_the_private_batch,
    ),
    "special words as they are": Mechanism(NEAR, 3.0, special_words_as_they_are),
    "single precision": SINGLE,
    "same seed again": Mechanism(NEAR, 3.0, right(NEAR), same_seed=True),
}
NUM_DRAWS = {"renormalised mahalanobis": 1_000_000, "single precision": 200_000}
"""That convict; 10,000 do of the others."""


# --- audits ----------------------------------------------------------------------------------------------------------


def counted(mechanism, num_draws, seed):
    """Counts of all scores in batches of draws: one in eight chooses thresholds."""
    edges = score_edges(mechanism.pair)
    sides = {name: [np.zeros(len(edges[name]) - 1, np.int64) for _ in range(4)] for name in SCORES}
    num_batches = max(CHOOSING, num_draws // BATCH)
    for side, image in enumerate((mechanism.pair.image, mechanism.pair.other)):
        for batch in range(num_batches):
            drawn = releases(mechanism, image, [seed, side, batch], num_draws // num_batches)
            is_bound = batch % CHOOSING > 0
            for name, values in scores(mechanism.pair, drawn).items():
                sides[name][2 * is_bound + side] += count_scores(values, edges[name])
    return {name: Counts(*side) for name, side in sides.items()}


def audited(mechanism, num_draws, seed=0, level=0.05):
    step = grid_step(mechanism.pair.deviation)
    return audit_pair(mechanism.pair, mechanism.claimed, counted(mechanism, num_draws, seed), level, step=step)


def verdicts(results):
    return {name: result.verdict for name, result in results.items() if result.verdict != "within"}


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_convicted(name):
    assert verdicts(audited(MUTANTS[name], NUM_DRAWS.get(name, 10_000)))


@pytest.mark.long
@pytest.mark.parametrize(("num_dimensions", "rho"), [(1, 1.0), (2, 3.0), (54, 3.0), (54, 10.0)])
def test_a_right_mechanism_is_not_convicted(num_dimensions, rho):
    pair = specified(num_dimensions, rho)
    assert verdicts(audited(Mechanism(pair, rho, right(pair)), 40_000)) == {}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_noise_that_is_one_percent_too_small_is_convicted():
    convicted = [bool(verdicts(audited(scaled(0.99), 1_000_000, seed))) for seed in range(20)]
    assert sum(convicted) >= 19


@cache
def loss_edges(every):
    edges = score_edges(specified(1, 1.0))["likelihood"][1:-1]
    return np.concatenate([[-2.0], edges[::every], [2.0]])


@cache
def loss_laws(num_dimensions, rho, every):
    """Of the likelihood ratio, in the bins of its grid, for both vectors."""
    edges = loss_edges(every) * rho
    above = np.array([loss_above(edge, rho, num_dimensions) for edge in edges])
    below = np.array([1 - loss_above(-edge, rho, num_dimensions) for edge in edges])
    laws = [np.clip(-np.diff(chances), 0, None) for chances in (above, below)]
    return [law / law.sum() for law in laws]


def drawn_counts(generator, num_dimensions, rho, num_draws, every):
    """Counts of the likelihood ratio of both vectors by its exact law; one draw in eight chooses thresholds."""
    laws = loss_laws(num_dimensions, rho, every)
    nums = (num_draws // CHOOSING, num_draws - num_draws // CHOOSING)
    return Counts(*(generator.multinomial(num, law) for num in nums for law in laws))


@pytest.mark.long
@pytest.mark.parametrize(("num_dimensions", "rho"), [(1, 1.0), (10, 3.0)])
def test_bounds_of_a_right_mechanism_are_seldom_above_the_truth(num_dimensions, rho):
    """The truth is the largest ratio of chances by a set of scores above a threshold."""
    edges = loss_edges(20)
    generator = np.random.default_rng(0)
    hits = np.array([loss_above(edge * rho, rho, num_dimensions) for edge in edges[:-1]])
    alarms = np.array([loss_below(-edge * rho, rho, num_dimensions) for edge in edges[:-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        truth = np.nanmax(np.where(hits > 0, np.log(hits / alarms), -np.inf))
    bounds = [audited_loss(drawn_counts(generator, num_dimensions, rho, 20_000, 20), 0.05).low for _ in range(200)]
    assert truth <= rho * (1 + 1e-9)
    assert sum(bound > truth for bound in bounds) <= 18


@pytest.mark.long
@pytest.mark.parametrize(
    ("num_dimensions", "rho", "few", "many"),
    [
        *((1, 1, 0.96, 0.992), (1, 3, 2.90, 2.982), (10, 3, 2.17, 2.38)),
        *((54, 3, 0.82, 1.22), (54, 10, 3.48, 4.33), (300, 10, 1.36, 1.80)),
    ],
)
def test_power(num_dimensions, rho, few, many):
    """The figures are of single audits on halves of the draws, of which one varies by 5 % and more."""
    for num_draws, expected in ((100_000, few), (2_000_000, many)):
        generator = np.random.default_rng(1)
        counts = [drawn_counts(generator, num_dimensions, rho, num_draws, 8) for _ in range(NUM_AUDITS)]
        assert np.median([audited_loss(count, 0.05).low for count in counts]) > 0.95 * expected


def test_a_score_that_says_nothing_gives_no_bound():
    generator = np.random.default_rng(0)
    noise = [generator.multinomial(50_000, np.full(50, 0.02)) for _ in range(400)]
    bounds = [audited_loss(Counts(*noise[4 * number : 4 * number + 4]), 0.05).low for number in range(100)]
    assert np.mean([bound > 0 for bound in bounds]) <= 0.09


def test_bounds_of_a_chance_are_those_of_scipy_and_lowest_bits_are_by_hand():
    low, high = proportion_bounds(np.arange(21), 20, 0.025)
    for count in range(21):
        interval = stats.binomtest(count, 20).proportion_ci(0.95, "exact")
        assert (low[count], high[count]) == pytest.approx(tuple(interval))
    assert lowest_bits(np.array([[1.25, 3.0], [0.75, -(2.0**-30)]])).tolist() == [[-2, 0], [-2, -30]]
    singles = 0.5 + np.random.default_rng(0).random(1000).astype(np.float32)
    assert lowest_bits(singles.astype(np.float64)).min() == -24


@pytest.mark.long
def test_curve_is_beaten_by_less_noise_and_not_by_more():
    generator = np.random.default_rng(0)
    curve = partial(true_positive_rate, rho=3.0, num_dimensions=10)
    outcomes = {rho: beats_curve(drawn_counts(generator, 10, rho, 200_000, 8), curve, 0.05) for rho in (2.9, 3.0, 3.2)}
    assert outcomes == {2.9: False, 3.0: False, 3.2: True}


@pytest.mark.slow
def test_low_bits_of_what_is_on_the_grid_say_nothing():
    """Where single precision gives 4.58 away at a claim of 0.5."""
    pair = specified(1, 0.5)
    counts = counted(Mechanism(pair, 0.5, right(pair)), 4_000_000, 3)["low_bits"]
    assert audited_loss(counts, 0.05).low <= 0.5
    single = counted(SINGLE, 400_000, 3)["low_bits"]
    assert audited_loss(single, 0.05).low > 4
