"""Diagnostics of chains: arviz-stats', and what they make of chains that are wrong."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from tiltmeter.operators.sentiment.posterior.diagnostics import agreement, bfmi, diagnosed, faults

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
    rng = np.random.default_rng(seed)
    chains = rng.normal(size=shape)
    for place in range(1, shape[1]):
        chains[:, place] = rho * chains[:, place - 1] + np.sqrt(1 - rho**2) * chains[:, place]
    return chains


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


def test_chains_in_different_places_fail():
    apart = np.random.default_rng(0).normal(size=(4, 500)) + np.arange(4)[:, np.newaxis]
    found = faults([diagnosed(apart)], 2, 1, np.array([0.1]))
    assert len(found) == 5
    assert found[0].startswith("R-hat")
    assert faults([diagnosed(autoregressive(0, (4, 1000)))], 0, 0, NO_ENERGY) == []


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


@pytest.mark.parametrize("place", [0, 1])
def test_a_quantity_that_never_changes_has_not_converged_wherever_it_stands(place):
    rows = [diagnosed(autoregressive(0, (4, 1000)))]
    rows.insert(place, diagnosed(np.ones((4, 1000))))
    [fault] = faults(rows, 0, 0, NO_ENERGY)
    assert "never changes" in fault
