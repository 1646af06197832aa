"""Words of noisy vectors against their laws by numerical integration, in one and two dimensions."""

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.embedding.private_release.deniability import likeliest_rows, nearest_rows, written_rows
from tiltmeter.operators.embedding.private_release.noise import norm_noise
from tiltmeter.operators.embedding.private_release.projections import mahalanobis_map

EPSILON, WEIGHT, THRESHOLD, DRAWS = 1.5, 0.9, 0.4, 40_000
WORDS = np.random.default_rng(7).standard_normal((7, 2)) * [2.5, 0.4]
PRIOR = np.arange(7, 0, -1) / 28


def sigma():
    """As Xu et al. 2020 write it."""
    centred = WORDS - WORDS.mean(axis=0)
    covariance = centred.T @ centred / len(WORDS)
    return WEIGHT * covariance / (np.trace(covariance) / 2) + (1 - WEIGHT) * np.eye(2)


def plane(shape, size=0.05):
    """Points of the plane, and the density of x + r Sigma^(1/2) u there times their area, ``[words, points]``."""
    axis = np.arange(-14, 14, size)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    inverse = np.linalg.inv(shape)
    lengths = [np.sqrt(np.einsum("ij,jk,ik->i", points - word, inverse, points - word)) for word in WORDS]
    density = EPSILON**2 / (2 * np.pi * np.linalg.det(shape) ** 0.5) * np.exp(-EPSILON * np.array(lengths))
    return points, density * size**2


def written(points, masses, threshold=0.0):
    """P(y | x) by the two nearest words of each point, ``[x, y]``."""
    apart = np.linalg.norm(points[:, None] - WORDS, axis=2)
    order = np.argsort(apart, axis=1)[:, :2]
    first, second = np.take_along_axis(apart, order, axis=1).T
    chance = (1 - threshold) * second / (threshold * first + (1 - threshold) * second)
    law = np.zeros((len(WORDS), len(WORDS)))
    for row, mass in enumerate(masses):
        for place, share in enumerate((chance, 1 - chance)):
            law[row] += np.bincount(order[:, place], mass * share, minlength=len(WORDS))
    return law


def drawn(projection, threshold, noise_of=lambda noise: noise):
    """How often each word is written for each word, by draws."""
    rng, rows = np.random.default_rng(0), np.repeat(np.arange(len(WORDS)), DRAWS)
    images, inverse = (WORDS, None) if projection is None else (WORDS @ projection.T, np.linalg.inv(projection))
    noisy = images[rows] + noise_of(norm_noise(rng, (len(rows), 2), 1 / EPSILON))
    words = written_rows(noisy, images, inverse, threshold, rng.random(len(rows)))
    return np.histogram2d(rows, words, bins=np.arange(len(WORDS) + 1) - 0.5)[0]


def p_value(counts, law):
    """Of G^2 over all rows."""
    expected = DRAWS * law / law.sum(axis=1, keepdims=True)
    g_squared = 2 * np.where(counts > 0, counts * np.log(np.maximum(counts, 1) / expected), 0.0).sum()
    return stats.chi2.sf(g_squared, len(WORDS) * (len(WORDS) - 1))


@pytest.fixture(scope="module")
def ellipse():
    return plane(sigma())


@pytest.mark.long
@pytest.mark.parametrize("threshold", [None, THRESHOLD])
def test_words_by_mahalanobis_are_by_the_law_that_is_published(ellipse, threshold):
    points, masses = ellipse
    assert masses.sum(axis=1) == pytest.approx(1, abs=1e-3)
    law, projection = written(points, masses, threshold or 0.0), mahalanobis_map(WORDS, WEIGHT)
    assert p_value(drawn(projection, threshold), law) > 0.001
    assert p_value(drawn(None, threshold), law) < 1e-6

    def again(noise):
        """Of length r after Sigma^(1/2), too, as another package has it."""
        made = noise @ np.linalg.inv(projection)
        lengths = np.linalg.norm(noise, axis=1) / np.linalg.norm(made, axis=1)
        return (made * lengths[:, None]) @ projection

    assert p_value(drawn(projection, threshold, again), law) < 1e-6


@pytest.mark.parametrize("threshold", [0.0, THRESHOLD])
def test_a_word_loses_no_more_than_its_vector_in_the_metric_of_the_noise(ellipse, threshold):
    """Nor more than epsilon Delta times the Euclidean distance, which without Delta would not hold."""
    losses = np.log(written(*ellipse, threshold))
    largest = np.abs(losses[:, None] - losses).max(axis=2)
    apart = WORDS[:, None] - WORDS
    metric = np.sqrt(np.einsum("abi,ij,abj->ab", apart, np.linalg.inv(sigma()), apart))
    assert (largest <= EPSILON * metric + 1e-3).all()
    euclidean = np.linalg.norm(apart, axis=2) + np.eye(len(WORDS))
    stretch = (metric / euclidean).max()
    assert stretch <= np.linalg.eigvalsh(sigma())[0] ** -0.5
    assert 1 < (largest / euclidean / EPSILON).max() < stretch


def test_the_second_nearest_is_written_as_often_as_is_published():
    """On a line: at 1 the word at 0 with .6 2 / (.4 + .6 2) = 3/4, at 4 the one at 3 with .6 4 / (.4 + .6 4) = 6/7."""
    words, uniforms = np.array([[0.0], [3.0], [9.0]]), (np.arange(1000) + 0.5) / 1000
    drawn = [written_rows(np.full((1000, 1), at), words, None, THRESHOLD, uniforms) for at in (1.0, 4.0)]
    assert [np.bincount(rows, minlength=3).tolist() for rows in drawn] == [[750, 250, 0], [143, 857, 0]]
    assert set(written_rows(np.full((1000, 1), 1.0), words, None, None, uniforms)) == {0}


def test_no_attacker_names_more_than_the_one_who_knows_the_prior(ellipse):
    """The best share is the integral of the largest pi(x) p(v | x); with all words alike it is that of the nearest."""
    rng, projection = np.random.default_rng(1), mahalanobis_map(WORDS, WEIGHT)
    images = WORDS @ projection.T
    for prior in (PRIOR, np.full(7, 1 / 7)):
        rows = rng.choice(7, DRAWS, p=prior)
        noisy = images[rows] + norm_noise(rng, (DRAWS, 2), 1 / EPSILON)
        hits = (likeliest_rows(noisy, images, prior, "norm", 1 / EPSILON) == rows).mean()
        best = (prior[:, None] * ellipse[1]).max(axis=0).sum()
        assert hits == pytest.approx(best, abs=4 * (best * (1 - best) / DRAWS) ** 0.5)
        others = (nearest_rows(noisy, images) == rows).mean()
        assert others == hits if prior[0] == prior[-1] else others < hits - 0.01


def test_the_attacker_of_normal_noise_weighs_squares():
    """ln(.9 / .1) moves the border of two words at 0 and 1 from .5 to .5 + ln 9 sigma^2."""
    border = 0.5 + np.log(9) * 0.25**2
    vectors = np.array([[border - 1e-6], [border + 1e-6]])
    guesses = likeliest_rows(vectors, np.array([[0.0], [1.0]]), np.array([0.9, 0.1]), "gaussian", 0.25)
    assert guesses.tolist() == [0, 1]
