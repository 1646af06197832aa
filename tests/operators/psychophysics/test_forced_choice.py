import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import logistic, norm
from scipy.stats import t as student

from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.operators.psychophysics.forced_choice import (
    GRID,
    JND_PER_SD,
    Width,
    curve,
    fitted,
    flip_points,
    moments,
    psychometrics_of,
    resample_indices,
    response_curve,
)


def _vectors(seed: int, replicas: int = 32, dims: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    word, cue_1, cue_2 = (rng.normal(size=dims) + 0.3 * rng.normal(size=(replicas, dims)) for _ in range(3))
    return word, cue_1, cue_2


def _answers(word: np.ndarray, cue_1: np.ndarray, cue_2: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """The task itself: both scores of every replica at every mixture, ``[replicas, alphas]``."""
    similarity = cosine(cue_1, cue_2)[:, None]
    score_1 = (1 - alphas) + alphas * similarity + cosine(word, cue_1)[:, None]
    score_2 = (1 - alphas) * similarity + alphas + cosine(word, cue_2)[:, None]
    return np.asarray(score_2 >= score_1)


@pytest.mark.parametrize("seed", range(5))
def test_all_estimates_agree_with_the_task_on_a_fine_grid(seed: int) -> None:
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


def test_flip_point_of_a_word_on_the_female_side_lies_above_one_half() -> None:
    female, male = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    # cosines 0.8 and 0.6 with orthogonal cues: 1/2 + 0.2/2.
    assert flip_points(np.array([4.0, 3.0]), female, male) == pytest.approx(0.6)
    assert flip_points(np.array([4.0, 3.0]), male, female) == pytest.approx(0.4)


def test_flip_points_may_lie_outside_the_mixtures() -> None:
    near = np.array([1.0, 0.1])
    # contrast (1, 0) - (1, 0.1)/sqrt(1.01), of which the word takes the second part alone.
    assert flip_points(np.array([0.0, 1.0]), np.array([1.0, 0.0]), near) < -5


def test_flip_points_broadcast_over_words_and_replicas() -> None:
    word, cue_1, cue_2 = _vectors(0)
    words = np.stack([word, 2 * cue_1, cue_2])
    found = flip_points(words, cue_1, cue_2)
    assert found.shape == (3, 32)
    np.testing.assert_allclose(found[1], 1.0)
    np.testing.assert_allclose(found[2], 0.0, atol=1e-12)


def test_undefined_flip_points_are_nan() -> None:
    word, cue_1, cue_2 = _vectors(0, replicas=5)
    word[0, 0] = cue_1[1, 2] = cue_2[2, 1] = np.nan
    cue_2[3] = 3.0 * cue_1[3]
    assert np.isnan(flip_points(word, cue_1, cue_2)).tolist() == [True, True, True, True, False]


def test_response_curve_leaves_missing_replicas_out() -> None:
    flips = np.array([[0.1, np.nan, 0.3, 0.3], [np.nan] * 4])
    shares = response_curve(flips, np.array([0.1, 0.3, 0.31]))
    np.testing.assert_allclose(shares[0], [1 / 3, 1.0, 1.0])
    assert np.isnan(shares[1]).all()


def test_moments_identity() -> None:
    flips = np.random.default_rng(0).normal(0.5, 0.2, (7, 32))
    found = moments(flips)
    np.testing.assert_allclose(found.pse, flips.mean(axis=1))
    np.testing.assert_allclose(found.jnd, (norm.ppf(0.75) - norm.ppf(0.25)) * flips.std(axis=1, ddof=1))
    assert pytest.approx(1.349, abs=5e-4) == JND_PER_SD


@pytest.mark.parametrize(
    ("num", "pse", "jnd"), [(1, 1, np.nan), (2, 1, 1), (3, 2, 2), (4, 2, 2), (5, 3, 2), (32, 16, 16)]
)
def test_curve_takes_order_statistics(num: int, pse: float, jnd: float) -> None:
    flips = np.random.default_rng(0).permutation(np.arange(1.0, num + 1))[None]
    found = curve(flips, "quartiles")
    np.testing.assert_array_equal([found.pse[0], found.jnd[0]], [pse, jnd])


def test_jnd_is_the_window_of_equation_6_that_holds_half_of_the_replicas() -> None:
    """By hand: from the PSE of 2 the flips are 1, 0, 2 and 7 away, so half lie within 1 of it."""
    found = curve(np.array([[1.0, 2.0, 4.0, 9.0]]))
    assert (found.pse.tolist(), found.jnd.tolist()) == ([2.0], [2.0])
    flips = np.random.default_rng(2).gamma(2.0, size=(50, 31))
    found = curve(flips)
    shares = [np.mean(np.abs(row - pse) <= jnd / 2 + 1e-12) for row, pse, jnd in zip(flips, *found, strict=True)]
    assert set(np.round(shares, 6)) == {round(16 / 31, 6)}


@pytest.mark.parametrize(("width", "jnd"), [("window", [0.2, 0.0, 0.2]), ("quartiles", [0.5, 0.0, 0.4])])
def test_pse_and_jnd_of_three_words_by_hand(width: Width, jnd: list[float]) -> None:
    """Of three replicas, half is reached at the second flip, and 25 % and 75 % at the first and the third.

    From the middle of 0.3, the first word's flips are 0.1, 0 and 0.4 away: two of three lie in a window of 0.2.
    """
    found = psychometrics_of(np.array([[0.7, 0.2, 0.3], [0.5, 0.5, 0.5], [0.4, 0.1, 0.5]]), 0, 10, width=width)
    np.testing.assert_allclose(found.pse_curve, [0.3, 0.5, 0.4])
    np.testing.assert_allclose(found.jnd_curve, jnd, atol=1e-12)
    deviations = [np.sqrt((0.3**2 + 0.2**2 + 0.1**2) / 2), 0.0, np.sqrt((0.2**2 + 0.7**2 + 0.5**2) / 18)]
    np.testing.assert_allclose(found.pse, [0.4, 0.5, 1 / 3])
    np.testing.assert_allclose(found.flip_sd, deviations, atol=1e-12)
    np.testing.assert_allclose(found.jnd, 1.3489795 * np.array(deviations), rtol=1e-7)


@pytest.mark.parametrize(("mean", "sd"), [(0.5, 0.1), (-3.0, 2.0), (0.52, 1e-6), (40.0, 0.5)])
def test_fit_recovers_a_normal_distribution(mean: float, sd: float) -> None:
    flips = mean + sd * norm.ppf((np.arange(4000) + 0.5) / 4000)[None]
    found = fitted(flips)
    assert found.pse[0] == pytest.approx(mean, abs=0.002 * sd)
    assert found.jnd[0] == pytest.approx(1.349 * sd, rel=0.002)


@pytest.mark.parametrize(("middle", "scale"), [(0.5, 0.1), (-3.0, 2.0), (0.52, 1e-6)])
def test_logistic_fit_recovers_a_logistic_distribution(middle: float, scale: float) -> None:
    flips = middle + scale * logistic.ppf((np.arange(4000) + 0.5) / 4000)[None]
    found = fitted(flips, "logistic")
    assert found.pse[0] == pytest.approx(middle, abs=0.002 * scale)
    assert found.jnd[0] == pytest.approx(2 * np.log(3) * scale, rel=0.002)


def test_fit_is_as_unbiased_as_the_sample_deviation_for_few_replicas() -> None:
    flips = np.random.default_rng(0).normal(0.6, 0.1, (20_000, 32))
    fit, by_moments = fitted(flips), moments(flips)
    # Standard errors over 20 000 rows: 0.13 % of sd for PSE, 0.1 % of JND.
    assert fit.pse.mean() == pytest.approx(0.6, abs=0.0005)
    assert fit.jnd.mean() / (JND_PER_SD * 0.1) == pytest.approx(1 - 0.25 / 32, abs=0.004)
    assert fit.jnd.mean() == pytest.approx(by_moments.jnd.mean(), rel=0.003)


@pytest.mark.parametrize(
    ("sigmoid", "curve_of", "per_scale"), [("normal", norm, JND_PER_SD), ("logistic", logistic, 2 * np.log(3))]
)
def test_fit_maximises_the_likelihood(sigmoid, curve_of, per_scale) -> None:
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


def test_degenerate_rows() -> None:
    nan = np.nan
    flips = np.array([[nan, nan, nan], [0.3, nan, nan], [0.3, 0.3, nan], [0.3, 0.5, nan]])
    for found in (moments(flips), curve(flips)):
        np.testing.assert_array_equal(np.isnan(found.pse), [True, False, False, False])
        np.testing.assert_array_equal(np.isnan(found.jnd), [True, True, False, False])
        assert found.jnd[2] == 0
        assert found.pse[1] == 0.3
    fit = fitted(flips)
    np.testing.assert_array_equal(np.isnan(fit.pse), [True, True, True, False])
    np.testing.assert_array_equal(np.isnan(fit.jnd), [True, True, True, False])
    result = psychometrics_of(flips, seed=0, num_resamples=50)
    assert result.num_replicas.tolist() == [0, 1, 2, 2]
    np.testing.assert_array_equal(np.isnan(result.pse_low), [True, True, False, False])
    assert (result.jnd_low[2], result.jnd_high[2]) == (0, 0)
    assert np.isnan(result.jnd_fit_low[:3]).all()
    assert np.isfinite(result.jnd_fit_low[3])


def test_no_rows_and_no_replicas() -> None:
    for shape in ((0, 5), (2, 0), (0, 0)):
        result = psychometrics_of(np.empty(shape), seed=0, num_resamples=10)
        assert all(column.shape == shape[:1] for column in result)


def test_missing_replicas_are_the_same_as_absent_ones() -> None:
    flips = np.random.default_rng(3).normal(0.5, 0.1, (3, 20))
    holes = np.full((3, 32), np.nan)
    holes[:, 5:25] = flips
    for with_holes, without in zip(psychometrics_of(holes, 7, 100), psychometrics_of(flips, 7, 100), strict=True):
        np.testing.assert_allclose(with_holes, without, rtol=1e-12)


def test_rows_do_not_depend_on_order_or_batch() -> None:
    flips = np.random.default_rng(4).normal(0.5, 0.1, (9, 32))
    flips[2, :7] = np.nan
    flips[5] = 0.4
    together = psychometrics_of(flips, seed=5, num_resamples=200)
    order = np.random.default_rng(0).permutation(9)
    for whole, shuffled in zip(together, psychometrics_of(flips[order], seed=5, num_resamples=200), strict=True):
        np.testing.assert_array_equal(whole[order], shuffled)
    for row in range(9):
        alone = psychometrics_of(flips[row : row + 1], seed=5, num_resamples=200)
        np.testing.assert_array_equal([column[row] for column in together], [column[0] for column in alone])


def test_seed_decides_the_intervals_alone() -> None:
    flips = np.random.default_rng(4).normal(0.5, 0.1, (2, 32))
    one, other = psychometrics_of(flips, 0, 200), psychometrics_of(flips, 1, 200)
    np.testing.assert_array_equal(one.jnd_fit, other.jnd_fit)
    np.testing.assert_array_equal(one.pse_fit_high, other.pse_fit_high)
    assert (one.jnd_low != other.jnd_low).all()
    assert (one.jnd_percentile_low != other.jnd_percentile_low).all()
    assert (one.pse_fit_monte_carlo_high != other.pse_fit_monte_carlo_high).all()


def test_intervals_cover_the_truth() -> None:
    flips = np.random.default_rng(6).normal(0.6, 0.1, (300, 32))
    found = psychometrics_of(flips, 0, 400, level=0.9)
    jnd = 0.1 * JND_PER_SD
    truth = {"pse_monte_carlo": 0.6, "pse_fit_monte_carlo": 0.6, "jnd_percentile": jnd, "jnd_fit_percentile": jnd}
    for name, value in truth.items():
        low, high = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
        # Percentile intervals from 32 replicas are a little short; the standard error over 300 rows is 2 %.
        assert 0.78 <= np.mean((low < value) & (value < high)) <= 0.95, name
    for name in ("jnd", "jnd_fit"):
        low, high = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
        assert 0.85 <= np.mean((low < jnd) & (jnd < high)) <= 0.96, name


def test_the_interval_of_a_pse_is_that_of_corpora_drawn_again() -> None:
    """Flips spread around the answer of the corpus as that does around the mean over corpora."""
    rng = np.random.default_rng(6)
    flips = rng.normal(0.6 + 0.1 * rng.normal(size=(2000, 1)), 0.1, (2000, 16))
    found = psychometrics_of(flips, 0, 10, level=0.9)
    for low, high in ((found.pse_low, found.pse_high), (found.pse_fit_low, found.pse_fit_high)):
        assert np.mean((low < 0.6) & (high > 0.6)) == pytest.approx(0.9, abs=0.025)
    assert np.mean((found.pse_monte_carlo_low < 0.6) & (found.pse_monte_carlo_high > 0.6)) < 0.5


def test_intervals_by_hand() -> None:
    # Mean 0.5; the middle half of Student's t with 3 degrees of freedom reaches to 0.7649.
    flips = np.array([[0.4, 0.4, 0.6, 0.6]])
    sd = math.sqrt(4 * 0.01 / 3)
    found = psychometrics_of(flips, 0, 200, level=0.5)
    assert (found.pse_low[0], found.pse_high[0]) == pytest.approx((0.5 - 0.7649 * sd, 0.5 + 0.7649 * sd), rel=1e-4)
    inner = psychometrics_of(flips, 0, 200, level=0.5, method="percentile")
    assert (inner.pse_low[0], inner.pse_high[0]) == pytest.approx((0.4, 0.6))
    assert (inner.jnd_low[0], inner.jnd_high[0]) == (found.jnd_percentile_low[0], found.jnd_percentile_high[0])
    jnds, jnd = moments(flips[0][resample_indices(0, 200, 4)]).jnd, found.jnd[0]
    assert (jnds == 0).any(), "the linear interval takes the place of the logarithmic one"
    reach = 0.7649 * jnds.std(ddof=1)
    assert (found.jnd_low[0], found.jnd_high[0]) == pytest.approx((jnd - reach, jnd + reach), rel=1e-4)
    others = np.random.default_rng(7).normal(0.6, 0.1, 9)
    found = psychometrics_of(others[None], 3, 101, level=0.8)
    logs = np.log(moments(others[resample_indices(3, 101, 9)]).jnd)
    reach = student.ppf(0.9, 8) * logs.std(ddof=1)
    assert found.jnd_low[0] == pytest.approx(found.jnd[0] * math.exp(-reach))
    assert found.jnd_high[0] == pytest.approx(found.jnd[0] * math.exp(reach))


def test_interval_is_the_percentile_of_the_resamples() -> None:
    flips = np.random.default_rng(7).normal(0.6, 0.1, 32)
    found = psychometrics_of(flips[None], seed=3, num_resamples=101, level=0.8)
    resamples = flips[resample_indices(3, 101, 32)]
    assert found.pse_monte_carlo_low[0] == pytest.approx(np.quantile(resamples.mean(axis=1), 0.1))
    assert found.jnd_percentile_high[0] == pytest.approx(np.quantile(JND_PER_SD * resamples.std(axis=1, ddof=1), 0.9))


def test_resampling_is_uniform_and_a_prefix_of_longer_ones() -> None:
    indices = resample_indices(0, 20_000, 7)
    shares = np.bincount(indices.ravel(), minlength=7) / indices.size
    np.testing.assert_allclose(shares, 1 / 7, atol=0.004)
    np.testing.assert_array_equal(resample_indices(0, 10, 7), indices[:10])


def test_all_resamples_of_a_row_are_estimated_at_once(num_lines: Callable[..., int]) -> None:
    flips = np.random.default_rng(8).normal(0.5, 0.1, (40, 32))
    psychometrics_of(flips[:1], 0, 10)
    few, many = (num_lines(lambda num=num: psychometrics_of(flips, 0, num)) for num in (10, 1000))
    assert many < 1.5 * few < 1500 * len(flips), "it was 1.07 times as many lines of Python, and 760 a row"


def test_refusals() -> None:
    flips = np.full((2, 3), 0.5)
    for estimator in (moments, curve, fitted):
        with pytest.raises(ValueError, match=r"flips has shape \(3,\)"):
            estimator(flips[0])
    with pytest.raises(ValueError, match="num_resamples=0: must be 1 or more"):
        psychometrics_of(flips, 0, 0)
    with pytest.raises(ValueError, match=r"level=95: must lie strictly between 0 and 1"):
        psychometrics_of(flips, 0, 10, level=95)
    with pytest.raises(ValueError, match="seed=-1: must lie in"):
        psychometrics_of(flips, -1, 10)
