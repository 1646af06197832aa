"""Flips of a forced choice, and PSE and JND of them by order, by moments and by a fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import logistic, norm

from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.operators.psychophysics.fitting import GRID, fitted
from tiltmeter.operators.psychophysics.forced_choice import JND_PER_SD, curve, flip_points, moments, response_curve
from tiltmeter.operators.psychophysics.resamples import psychometrics_of


def _vectors(seed, replicas=32, dims=6):
    rng = np.random.default_rng(seed)
    word, cue_1, cue_2 = (rng.normal(size=dims) + 0.3 * rng.normal(size=(replicas, dims)) for _ in range(3))
    return word, cue_1, cue_2


def _answers(word, cue_1, cue_2, alphas):
    """The task itself: both scores of every replica at every mixture, ``[replicas, alphas]``."""
    similarity = cosine(cue_1, cue_2)[:, None]
    score_1 = (1 - alphas) + alphas * similarity + cosine(word, cue_1)[:, None]
    score_2 = (1 - alphas) * similarity + alphas + cosine(word, cue_2)[:, None]
    return np.asarray(score_2 >= score_1)


@pytest.mark.parametrize("seed", range(5))
def test_all_estimates_agree_with_the_task_on_a_fine_grid(seed):
    word, cue_1, cue_2 = _vectors(seed)
    flips = flip_points(word, cue_1, cue_2)
    step = 1e-4
    alphas = np.arange(flips.min() - 0.01, flips.max() + 0.01, step)
    answers = _answers(word, cue_1, cue_2, alphas)
    brute_flips = alphas[answers.argmax(axis=1)]
    np.testing.assert_allclose(flips, brute_flips, atol=1.01 * step)
    shares = answers.mean(axis=0)
    np.testing.assert_array_equal(response_curve(flips, alphas), shares)
    low, middle, high = (alphas[np.argmax(shares >= level)] for level in (0.25, 0.5, 0.75))
    assert curve(flips[None]).pse[0] == pytest.approx(middle, abs=1.01 * step)
    assert curve(flips[None], "quartiles").jnd[0] == pytest.approx(high - low, abs=2.01 * step)
    window = np.sort(np.abs(brute_flips - middle))[15]
    assert curve(flips[None]).jnd[0] == pytest.approx(2 * window, abs=4.01 * step)
    assert moments(flips[None]).pse[0] == pytest.approx(brute_flips.mean(), abs=1.01 * step)
    assert moments(flips[None]).jnd[0] == pytest.approx(1.349 * brute_flips.std(ddof=1), abs=3 * step)


def test_flip_points_broadcast_and_are_nan_where_they_are_undefined():
    word, cue_1, cue_2 = _vectors(0)
    found = flip_points(np.stack([word, 2 * cue_1, cue_2]), cue_1, cue_2)
    assert found.shape == (3, 32)
    np.testing.assert_allclose(found[1], 1.0)
    np.testing.assert_allclose(found[2], 0.0, atol=1e-12)
    # Outside of the mixtures: contrast (1, 0) - (1, 0.1)/sqrt(1.01), of which the word takes the second part alone.
    assert flip_points(np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.array([1.0, 0.1])) < -5
    word[0, 0] = cue_1[1, 2] = cue_2[2, 1] = np.nan
    cue_2[3] = 3.0 * cue_1[3]
    assert np.isnan(flip_points(word, cue_1, cue_2)).tolist() == [True] * 4 + [False] * 28


def test_response_curve_leaves_missing_replicas_out():
    flips = np.array([[0.1, np.nan, 0.3, 0.3], [np.nan] * 4])
    shares = response_curve(flips, np.array([0.1, 0.3, 0.31]))
    np.testing.assert_allclose(shares, [[1 / 3, 1.0, 1.0], [np.nan] * 3])


@pytest.mark.parametrize(
    ("num", "pse", "jnd"), [(1, 1, np.nan), (2, 1, 1), (3, 2, 2), (4, 2, 2), (5, 3, 2), (32, 16, 16)]
)
def test_curve_takes_order_statistics(num, pse, jnd):
    flips = np.random.default_rng(0).permutation(np.arange(1.0, num + 1))[None]
    found = curve(flips, "quartiles")
    np.testing.assert_array_equal([found.pse[0], found.jnd[0]], [pse, jnd])


@pytest.mark.parametrize(("width", "jnd"), [("window", [0.2, 0.0, 0.2]), ("quartiles", [0.5, 0.0, 0.4])])
def test_pse_and_jnd_of_three_words_by_hand(width, jnd):
    """Of three replicas, half is reached at the second flip, and 25 % and 75 % at the first and the third.

    From the middle of 0.3, the first word's flips are 0.1, 0 and 0.4 away: two of three lie in a window of 0.2.
    """
    found = psychometrics_of(np.array([[0.7, 0.2, 0.3], [0.5, 0.5, 0.5], [0.4, 0.1, 0.5]]), 0, 10, width=width)
    deviations = np.array([np.sqrt((0.3**2 + 0.2**2 + 0.1**2) / 2), 0.0, np.sqrt((0.2**2 + 0.7**2 + 0.5**2) / 18)])
    expected = {"pse_curve": [0.3, 0.5, 0.4], "jnd_curve": jnd, "pse": [0.4, 0.5, 1 / 3]}
    for name, values in (expected | {"flip_sd": deviations, "jnd": 1.3489795 * deviations}).items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-7, atol=1e-12, err_msg=name)


def test_degenerate_rows():
    nan = np.nan
    flips = np.array([[nan, nan, nan], [0.3, nan, nan], [0.3, 0.3, nan], [0.3, 0.5, nan]])
    for found in (moments(flips), curve(flips)):
        np.testing.assert_array_equal(np.isnan(found.pse), [True, False, False, False])
        np.testing.assert_array_equal(np.isnan(found.jnd), [True, True, False, False])
        assert found.jnd[2] == 0
        assert found.pse[1] == 0.3
    for column in fitted(flips):
        np.testing.assert_array_equal(np.isnan(column), [True, True, True, False])


@pytest.mark.parametrize("estimator", [moments, curve, fitted])
def test_refusals(estimator):
    with pytest.raises(ValueError, match=r"flips has shape \(3,\)"):
        estimator(np.full(3, 0.5))


CURVES = {"normal": (norm, JND_PER_SD), "logistic": (logistic, 2 * np.log(3))}


@pytest.mark.parametrize("sigmoid", CURVES)
@pytest.mark.parametrize(("middle", "scale"), [(0.5, 0.1), (-3.0, 2.0), (0.52, 1e-6), (40.0, 0.5)])
def test_fit_recovers_a_distribution_of_its_kind(sigmoid, middle, scale):
    curve_of, per_scale = CURVES[sigmoid]
    flips = middle + scale * curve_of.ppf((np.arange(4000) + 0.5) / 4000)[None]
    found = fitted(flips, sigmoid)
    assert found.pse[0] == pytest.approx(middle, abs=0.002 * scale)
    assert found.jnd[0] == pytest.approx(per_scale * scale, rel=0.002)


@pytest.mark.parametrize("sigmoid", CURVES)
def test_fit_maximises_the_likelihood(sigmoid):
    curve_of, per_scale = CURVES[sigmoid]
    flips = np.random.default_rng(1).standard_t(3, (6, 32))
    found = fitted(flips, sigmoid)
    for row in range(6):
        alphas = flips[row].mean() + flips[row].std(ddof=1) * GRID
        shares = response_curve(flips[row], alphas)

        def loss(parameters, shares=shares, alphas=alphas):
            z = (alphas - parameters[0]) / np.exp(parameters[1])
            return float(-(shares * curve_of.logcdf(z) + (1 - shares) * curve_of.logsf(z)).sum())

        best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
        assert found.pse[row] == pytest.approx(best[0], abs=1e-5)
        assert found.jnd[row] == pytest.approx(per_scale * np.exp(best[1]), rel=1e-5)


@pytest.mark.long
@given(st.lists(st.integers(-5, 5) | st.integers(-(10**9), 10**9), min_size=2, max_size=40), st.floats(1e-9, 1e9))
@settings(max_examples=300)
def test_fit_settles_and_scales_with_the_flips(values, scale):
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


def test_flips_one_rounding_step_apart_are_fitted():
    flips = np.where(np.arange(1000) < 10, np.nextafter(0.7, 1), 0.7)[None]
    found = fitted(flips)
    assert found.pse[0] == pytest.approx(0.7)
    assert 0 < found.jnd[0] < 1e-15
