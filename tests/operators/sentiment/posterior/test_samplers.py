"""Samplers against a posterior that is known in closed form: a probit link on a linear score (section 3.9 of GPML);
diagnostics of chains, arviz-stats' and what they make of chains that are wrong."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.signal import lfilter
from scipy.special import ndtr
from scipy.stats import norm

from tiltmeter.operators.sentiment.posterior.diagnostics import agreement, bfmi, diagnosed, faults
from tiltmeter.operators.sentiment.posterior.networks import Network, Target
from tiltmeter.operators.sentiment.posterior.priors import Gaussian, Points, standard
from tiltmeter.operators.sentiment.posterior.samplers.exact import evidence, exact_draws
from tiltmeter.operators.sentiment.posterior.samplers.nuts import NutsConfig, nuts_chain

DIMENSIONS, OFFSET = 100, 0.4


def probit_moments(prior, slope, offset):
    """The evidence and the mean of the posterior of p(+ | s) = Phi(a . s + b) in closed form.

    P(+) = Phi(t) and E[s | +] = mu + Sigma a phi(t) / (Phi(t) sqrt(1 + a^T Sigma a)), with
    t = (a . mu + b) / sqrt(1 + a^T Sigma a).
    """
    spread = prior.factor @ (prior.factor.T @ slope)
    width = np.sqrt(1.0 + slope @ spread)
    t = (slope @ prior.mean + offset) / width
    density = np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi)
    return ndtr(t), prior.mean + spread * density / (ndtr(t) * width)


@pytest.fixture(scope="module")
def oracle():
    """A correlated prior in 100 dimensions, what is asked about it, and its posterior's evidence and mean."""
    rng = np.random.default_rng(0)
    slope = rng.normal(size=DIMENSIONS) / 5
    root = rng.normal(size=(DIMENSIONS, DIMENSIONS)) / 10
    prior = Gaussian(rng.normal(size=DIMENSIONS) / 10, np.linalg.cholesky(root @ root.T + 0.3 * np.eye(DIMENSIONS)))
    target = Target(Network((slope[:, np.newaxis],), (np.array([OFFSET]),)), 1, "probit")
    return prior, target, probit_moments(prior, slope, OFFSET)


def check_means(chains, mean):
    errors = np.array([diagnosed(chains[:, :, place]).standard_error for place in range(DIMENSIONS)])
    z = (chains.mean(axis=(0, 1)) - mean) / errors
    assert np.abs(z).max() < 4
    assert 0.6 < (z**2).mean() < 1.5


def test_the_closed_form_is_that_of_numerical_integration():
    """In one dimension, by a fine grid."""
    prior = Gaussian(np.array([0.3]), np.array([[1.7]]))
    probability, mean = probit_moments(prior, np.array([0.8]), -0.5)
    grid = np.linspace(-20, 20, 400_001)
    joint = norm.pdf(grid, 0.3, 1.7) * norm.cdf(0.8 * grid - 0.5) * (grid[1] - grid[0])
    assert probability == pytest.approx(joint.sum(), abs=1e-9)
    assert mean[0] == pytest.approx((grid * joint).sum() / joint.sum(), abs=1e-8)


@pytest.mark.long
def test_exact_draws_have_the_mean_and_the_evidence_of_the_closed_form(oracle):
    prior, target, (probability, mean) = oracle
    generator = np.random.default_rng(1)
    found = evidence(generator, prior, target, 20_000)
    assert abs(found.probability - probability) < 4 * found.standard_error
    other = evidence(generator, prior, target._replace(sign=-1), 20_000)
    assert abs(other.probability - (1 - probability)) < 4 * other.standard_error
    check_means(exact_draws(generator, prior, target, 20_000, found.probability)[np.newaxis], mean)


@pytest.mark.slow
def test_nuts_has_the_mean_of_the_closed_form(oracle):
    prior, target, (_, mean) = oracle
    config = NutsConfig(warmup=300, draws=1000)
    chains = [nuts_chain(np.random.default_rng(seed), prior, target, config) for seed in range(2)]
    check_means(np.stack([chain.draws for chain in chains]), mean)
    assert not any(chain.diverged.any() or chain.saturated.any() for chain in chains)
    assert all(0.7 < chain.acceptance.mean() < 0.95 for chain in chains)


@pytest.mark.long
def test_nuts_of_a_network_agrees_with_exact_draws():
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


# --- diagnostics ----------------------------------------------------------------------------------------------------

NO_ENERGY = np.array([np.nan])


@pytest.mark.parametrize("seed", range(20))
def test_rhat_and_effective_draws_are_those_of_arviz(seed):
    rng = np.random.default_rng(seed)
    chains = rng.normal(size=(4, 200)).cumsum(axis=1) * rng.uniform(0, 0.2) + rng.standard_t(3, size=(4, 200))
    row = diagnosed(chains)
    assert row.rhat == pytest.approx(array_stats.rhat(chains), abs=1e-10)
    assert row.ess_bulk == pytest.approx(array_stats.ess(chains), abs=1e-10)
    assert row.ess_tail == pytest.approx(array_stats.ess(chains, method="tail", prob=(0.05, 0.95)), abs=1e-10)


def autoregressive(rho, shape, seed=0):
    return lfilter([np.sqrt(1 - rho**2)], [1.0, -rho], np.random.default_rng(seed).normal(size=shape))


def test_effective_draws_of_an_autoregressive_chain_are_those_of_theory():
    """n (1 - rho) / (1 + rho)."""
    row = diagnosed(autoregressive(0.6, (4, 20_000)))
    assert row.ess_bulk == pytest.approx(80_000 / 4, rel=0.1)
    assert row.standard_error == pytest.approx(1 / np.sqrt(80_000 / 4), rel=0.1)
    assert row.lag_one == pytest.approx(0.6, abs=0.02)


def test_a_chain_by_itself_is_held_against_itself():
    drifting = np.linspace(0, 3, 400)[np.newaxis] + np.random.default_rng(0).normal(size=(1, 400))
    assert diagnosed(drifting).rhat > 1.2
    assert diagnosed(np.random.default_rng(0).normal(size=(1, 4000))).rhat < 1.01


def test_chains_in_different_places_and_a_quantity_that_never_changes_wherever_it_stands_fail():
    apart = np.random.default_rng(0).normal(size=(4, 500)) + np.arange(4)[:, np.newaxis]
    found = faults([diagnosed(apart)], 2, 1, np.array([0.1]))
    assert len(found) == 5
    assert found[0].startswith("R-hat")
    good, still = diagnosed(autoregressive(0, (4, 1000))), diagnosed(np.ones((4, 1000)))
    assert faults([good], 0, 0, NO_ENERGY) == []
    for rows in ([good, still], [still, good]):
        [fault] = faults(rows, 0, 0, NO_ENERGY)
        assert "never changes" in fault


@pytest.mark.long
def test_agreement_with_exact_draws_is_calibrated():
    values = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        chains, exact = rng.normal(size=(2, 200)), rng.normal(size=500)
        values.append(agreement(chains, diagnosed(chains), exact))
    assert np.std([held.z for held in values]) == pytest.approx(1, abs=0.15)
    assert np.mean([held.ks_p < 0.05 for held in values]) < 0.12
    shifted = agreement(chains + 1.0, diagnosed(chains + 1.0), exact)
    assert shifted.z > 8
    assert shifted.ks_p < 1e-6


def test_energies_that_mix_slowly_have_a_small_bfmi():
    slow = np.random.default_rng(0).normal(size=(1, 5000)).cumsum(axis=1)
    quick = np.random.default_rng(0).normal(size=(1, 5000))
    assert bfmi(slow)[0] < 0.05
    assert bfmi(quick)[0] == pytest.approx(2, abs=0.15)
    assert np.isnan(bfmi(np.zeros((1, 10)))[0])
