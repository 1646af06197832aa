import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import logistic, norm

from tiltmeter.operators.psychophysics.fitting import GRID, fitted
from tiltmeter.operators.psychophysics.forced_choice import JND_PER_SD, moments, response_curve

CURVES = {"normal": (norm, JND_PER_SD), "logistic": (logistic, 2 * np.log(3))}


@pytest.mark.parametrize("sigmoid", CURVES)
@pytest.mark.parametrize(("middle", "scale"), [(0.5, 0.1), (-3.0, 2.0), (0.52, 1e-6), (40.0, 0.5)])
def test_fit_recovers_a_distribution_of_its_kind(sigmoid, middle: float, scale: float) -> None:
    curve_of, per_scale = CURVES[sigmoid]
    flips = middle + scale * curve_of.ppf((np.arange(4000) + 0.5) / 4000)[None]
    found = fitted(flips, sigmoid)
    assert found.pse[0] == pytest.approx(middle, abs=0.002 * scale)
    assert found.jnd[0] == pytest.approx(per_scale * scale, rel=0.002)


@pytest.mark.parametrize("sigmoid", CURVES)
def test_fit_maximises_the_likelihood(sigmoid) -> None:
    curve_of, per_scale = CURVES[sigmoid]
    flips = np.random.default_rng(1).standard_t(3, (6, 32))
    found = fitted(flips, sigmoid)
    for row in range(6):
        alphas = flips[row].mean() + flips[row].std(ddof=1) * GRID
        shares = response_curve(flips[row], alphas)

        def loss(parameters: np.ndarray, shares: np.ndarray = shares, alphas: np.ndarray = alphas) -> float:
            z = (alphas - parameters[0]) / np.exp(parameters[1])
            return float(-(shares * curve_of.logcdf(z) + (1 - shares) * curve_of.logsf(z)).sum())

        best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
        assert found.pse[row] == pytest.approx(best[0], abs=1e-5)
        assert found.jnd[row] == pytest.approx(per_scale * np.exp(best[1]), rel=1e-5)


@given(st.lists(st.integers(-5, 5) | st.integers(-(10**9), 10**9), min_size=2, max_size=40), st.floats(1e-9, 1e9))
@settings(max_examples=300)
def test_fit_settles_and_scales_with_the_flips(values: list[int], scale: float) -> None:
    flips = np.array([values], dtype=np.float64)
    found, scaled = fitted(flips), fitted(scale * flips)
    if np.ptp(flips) == 0:
        assert np.isnan(found.pse[0])
        assert np.isnan(found.jnd[0])
        return
    assert found.jnd[0] > 0
    assert np.isfinite(found.pse[0])
    assert flips.min() - moments(flips).jnd[0] <= found.pse[0] <= flips.max() + moments(flips).jnd[0]
    assert scaled.jnd[0] > 0


def test_flips_one_rounding_step_apart_are_fitted() -> None:
    flips = np.where(np.arange(1000) < 10, np.nextafter(0.7, 1), 0.7)[None]
    found = fitted(flips)
    assert found.pse[0] == pytest.approx(0.7)
    assert 0 < found.jnd[0] < 1e-15
