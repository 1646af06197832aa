"""Samplers against a posterior that is known in closed form: a probit link on a linear score (section 3.9 of GPML)."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import ndtr

from tiltmeter.operators.sentiment.posterior.diagnostics import diagnosed
from tiltmeter.operators.sentiment.posterior.networks import Network, Target
from tiltmeter.operators.sentiment.posterior.priors import Gaussian, Points, standard
from tiltmeter.operators.sentiment.posterior.samplers.exact import evidence, exact_draws
from tiltmeter.operators.sentiment.posterior.samplers.nuts import NutsConfig, nuts_chain

DIMENSIONS, OFFSET = 100, 0.4


class Moments(NamedTuple):
    evidence: float
    mean: np.ndarray


def probit_moments(prior, slope, offset):
    """The posterior of p(+ | s) = Phi(a . s + b) in closed form.

    P(+) = Phi(t) and E[s | +] = mu + Sigma a phi(t) / (Phi(t) sqrt(1 + a^T Sigma a)), with
    t = (a . mu + b) / sqrt(1 + a^T Sigma a).
    """
    spread = prior.factor @ (prior.factor.T @ slope)
    width = np.sqrt(1.0 + slope @ spread)
    t = (slope @ prior.mean + offset) / width
    density = np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi)
    return Moments(ndtr(t), prior.mean + spread * density / (ndtr(t) * width))


@pytest.fixture(scope="module")
def oracle():
    """A correlated prior in 100 dimensions, what is asked about it, and its posterior's evidence and mean."""
    rng = np.random.default_rng(0)
    slope = rng.normal(size=DIMENSIONS) / 5
    root = rng.normal(size=(DIMENSIONS, DIMENSIONS)) / 10
    prior = Gaussian(rng.normal(size=DIMENSIONS) / 10, np.linalg.cholesky(root @ root.T + 0.3 * np.eye(DIMENSIONS)))
    target = Target(Network((slope[:, np.newaxis],), (np.array([OFFSET]),)), 1, "probit")
    return prior, target, probit_moments(prior, slope, OFFSET)


def check_means(chains, moments):
    errors = np.array([diagnosed(chains[:, :, place]).standard_error for place in range(DIMENSIONS)])
    z = (chains.mean(axis=(0, 1)) - moments.mean) / errors
    assert np.abs(z).max() < 4
    assert 0.6 < (z**2).mean() < 1.5


def test_the_closed_form_is_that_of_numerical_integration():
    """In one dimension, by a fine grid."""
    from scipy.stats import norm

    prior = Gaussian(np.array([0.3]), np.array([[1.7]]))
    moments = probit_moments(prior, np.array([0.8]), -0.5)
    grid = np.linspace(-20, 20, 400_001)
    joint = norm.pdf(grid, 0.3, 1.7) * norm.cdf(0.8 * grid - 0.5) * (grid[1] - grid[0])
    assert moments.evidence == pytest.approx(joint.sum(), abs=1e-9)
    assert moments.mean[0] == pytest.approx((grid * joint).sum() / joint.sum(), abs=1e-8)


def test_exact_draws_have_the_mean_and_the_evidence_of_the_closed_form(oracle):
    prior, target, moments = oracle
    generator = np.random.default_rng(1)
    found = evidence(generator, prior, target, 20_000)
    assert abs(found.probability - moments.evidence) < 4 * found.standard_error
    other = evidence(generator, prior, target._replace(sign=-1), 20_000)
    assert abs(other.probability - (1 - moments.evidence)) < 4 * other.standard_error
    check_means(exact_draws(generator, prior, target, 20_000, found.probability)[np.newaxis], moments)


@pytest.mark.slow
def test_nuts_has_the_mean_of_the_closed_form(oracle):
    prior, target, moments = oracle
    config = NutsConfig(warmup=300, draws=1000)
    chains = [nuts_chain(np.random.default_rng(seed), prior, target, config) for seed in range(2)]
    check_means(np.stack([chain.draws for chain in chains]), moments)
    assert not any(chain.diverged.any() or chain.saturated.any() for chain in chains)
    assert all(0.7 < chain.acceptance.mean() < 0.95 for chain in chains)


def test_nuts_of_a_network_agrees_with_exact_draws_and_follows_its_generator():
    rng = np.random.default_rng(3)
    network = Network((rng.normal(size=(6, 5)), rng.normal(size=(5, 1))), (rng.normal(size=5), rng.normal(size=1)))
    prior, target = standard(6), Target(network, -1, power=2.0)
    found = evidence(rng, prior, target, 20_000)
    exact = exact_draws(rng, prior, target, 20_000, found.probability)
    chain = nuts_chain(rng, prior, target, NutsConfig(warmup=300, draws=1500))
    for place in range(6):
        row = diagnosed(chain.draws[np.newaxis, :, place])
        error = np.hypot(row.standard_error, exact[:, place].std() / np.sqrt(len(exact)))
        assert abs(row.mean - exact[:, place].mean()) < 4 * error
    short = NutsConfig(warmup=20, draws=50)
    first, second, other = (nuts_chain(np.random.default_rng(seed), prior, target, short).draws for seed in (5, 5, 6))
    assert (first == second).all()
    assert (first != other).any()


def test_points_are_drawn_with_their_posterior_weights():
    points = Points(np.array([[-1.0], [1.0], [3.0]]))
    target = Target(Network((np.array([[1.0]]),), (np.zeros(1),)), 1)
    draws = exact_draws(np.random.default_rng(0), points, target, 20_000, 0.65)
    weights = 1 / (1 + np.exp(-points.vectors[:, 0]))
    shares = [(draws[:, 0] == value).mean() for value in points.vectors[:, 0]]
    assert shares == pytest.approx(weights / weights.sum(), abs=0.015)


def test_a_label_that_is_too_rare_is_refused():
    target = Target(Network((np.array([[0.0]]),), (np.array([-20.0]),)), 1)
    found = evidence(np.random.default_rng(0), standard(1), target, 100)
    with pytest.raises(ValueError, match="next to nothing"):
        exact_draws(np.random.default_rng(0), standard(1), target, 10, found.probability)
