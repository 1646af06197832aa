import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t as student

from tiltmeter.operators.psychophysics.fitting import fitted
from tiltmeter.operators.psychophysics.forced_choice import moments
from tiltmeter.operators.psychophysics.resamples import psychometrics_of, resample_indices


def test_degenerate_rows() -> None:
    nan = np.nan
    flips = np.array([[nan, nan, nan], [0.3, nan, nan], [0.3, 0.3, nan], [0.3, 0.5, nan]])
    result = psychometrics_of(flips, seed=0, num_resamples=50)
    assert result.num_replicas.tolist() == [0, 1, 2, 2]
    np.testing.assert_array_equal(np.isnan(result.pse_low), [True, True, False, False])
    assert (result.jnd_low[2], result.jnd_high[2]) == (0, 0)
    assert np.isnan(result.jnd_fit_low[:3]).all()
    assert np.isfinite(result.jnd_fit_low[3])


def test_flips_outside_of_the_mixtures_are_counted_and_count() -> None:
    flips = np.array([[0.0, 1.0, 0.5, np.nan], [-0.1, 1.2, 0.5, 2.0], [np.nan, np.inf, np.nan, 1.5]])
    result = psychometrics_of(flips, seed=0, num_resamples=50)
    assert result.num_outside.tolist() == [0, 3, 1]
    assert result.pse[1] == np.mean(flips[1])


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
    centred, reach = (
        psychometrics_of(others[None], 3, 101, 0.8, method="centred"),
        student.ppf(0.9, 8) * others.std(ddof=1),
    )
    for pse, low, high in (centred[:3], (centred.pse_fit, centred.pse_fit_low, centred.pse_fit_high)):
        assert (low[0], high[0]) == pytest.approx((pse[0] - reach, pse[0] + reach))
    assert abs(centred.pse_fit[0] - centred.pse[0]) > 1e-4


def test_every_interval_of_the_resamples_is_made_again() -> None:
    flips = np.random.default_rng(7).normal(0.6, 0.1, 32)
    found = psychometrics_of(flips[None], seed=3, num_resamples=101, level=0.8)
    resamples = flips[resample_indices(3, 101, 32)]
    (pse, jnd), (pse_fit, jnd_fit) = moments(resamples), fitted(resamples)
    shares = {
        "pse_monte_carlo": pse,
        "jnd_percentile": jnd,
        "pse_fit_monte_carlo": pse_fit,
        "jnd_fit_percentile": jnd_fit,
    }
    for name, values in shares.items():
        ends = getattr(found, f"{name}_low")[0], getattr(found, f"{name}_high")[0]
        assert ends == pytest.approx(np.quantile(values, [0.1, 0.9])), name
    for name, values in {"jnd": jnd, "jnd_fit": jnd_fit}.items():
        reach = student.ppf(0.9, 31) * np.log(values).std(ddof=1)
        estimate, low, high = (getattr(found, f"{name}{end}")[0] for end in ("", "_low", "_high"))
        assert (low, high) == pytest.approx((estimate * math.exp(-reach), estimate * math.exp(reach))), name


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
    with pytest.raises(ValueError, match="num_resamples=0: must be 1 or more"):
        psychometrics_of(flips, 0, 0)
    with pytest.raises(ValueError, match=r"level=95: must lie strictly between 0 and 1"):
        psychometrics_of(flips, 0, 10, level=95)
    with pytest.raises(ValueError, match="seed=-1: must lie in"):
        psychometrics_of(flips, -1, 10)
