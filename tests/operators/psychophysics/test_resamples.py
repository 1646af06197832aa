"""Intervals of psychometrics over resamples of replicas, and all of them of vectors in one call."""

import numpy as np
import pytest

from tiltmeter.operators.psychophysics import psychometrics
from tiltmeter.operators.psychophysics.fitting import fitted
from tiltmeter.operators.psychophysics.forced_choice import flip_points, moments
from tiltmeter.operators.psychophysics.resamples import psychometrics_of, resample_indices
from tiltmeter.operators.statistics.intervals import LOG, bootstrap_interval


def test_degenerate_rows():
    nan = np.nan
    flips = np.array([[nan, nan, nan], [0.3, nan, nan], [0.3, 0.3, nan], [0.3, 0.5, nan]])
    result = psychometrics_of(flips, seed=0, num_resamples=50)
    assert result.num_replicas.tolist() == [0, 1, 2, 2]
    np.testing.assert_array_equal(np.isnan(result.pse_low), [True, True, False, False])
    assert (result.jnd_low[2], result.jnd_high[2]) == (0, 0)
    assert np.isnan(result.jnd_fit_low[:3]).all()
    assert np.isfinite(result.jnd_fit_low[3])


def test_flips_outside_of_the_mixtures_are_counted_and_count():
    flips = np.array([[0.0, 1.0, 0.5, np.nan], [-0.1, 1.2, 0.5, 2.0], [np.nan, np.inf, np.nan, 1.5]])
    result = psychometrics_of(flips, seed=0, num_resamples=50)
    assert result.num_outside.tolist() == [0, 3, 1]
    assert result.pse[1] == np.mean(flips[1])


@pytest.mark.parametrize("shape", [(0, 5), (2, 0), (0, 0)])
def test_no_rows_and_no_replicas(shape):
    result = psychometrics_of(np.empty(shape), seed=0, num_resamples=10)
    assert all(column.shape == shape[:1] for column in result)


def test_rows_do_not_depend_on_order_or_batch():
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


def test_seed_decides_the_intervals_alone():
    flips = np.random.default_rng(4).normal(0.5, 0.1, (2, 32))
    one, other = psychometrics_of(flips, 0, 200), psychometrics_of(flips, 1, 200)
    np.testing.assert_array_equal(one.jnd_fit, other.jnd_fit)
    np.testing.assert_array_equal(one.pse_fit_high, other.pse_fit_high)
    assert (one.jnd_low != other.jnd_low).all()
    assert (one.jnd_percentile_low != other.jnd_percentile_low).all()
    assert (one.pse_fit_monte_carlo_high != other.pse_fit_monte_carlo_high).all()


@pytest.mark.parametrize(("method", "level"), [("averaged", 0.8), ("centred", 0.5), ("percentile", 0.8)])
def test_every_interval_is_made_again_of_the_replicas_that_there_are(method, level):
    """Also of flips of which resamples may draw equal ones only, whose JND of 0 has no logarithm."""
    flips = np.full((2, 40), np.nan)
    flips[0, 3:35], flips[1, 20:24] = np.random.default_rng(7).normal(0.6, 0.1, 32), [0.4, 0.4, 0.6, 0.7]
    found = psychometrics_of(flips, seed=3, num_resamples=101, level=level, method=method)
    for row, known in enumerate((flips[0, 3:35], flips[1, 20:24])):
        resamples = known[resample_indices(3, 101, known.size)]
        (pse, jnd), (pse_fit, jnd_fit) = moments(resamples), fitted(resamples)
        assert (jnd == 0).any() == (row == 1)
        shares = {"pse_monte_carlo": pse, "jnd_percentile": jnd}
        shares |= {"pse_fit_monte_carlo": pse_fit, "jnd_fit_percentile": jnd_fit}
        tail = (1 - level) / 2
        expected = {name: np.nanquantile(values, [tail, 1 - tail]) for name, values in shares.items()}
        for name, values in {"pse": known, "pse_fit": known, "jnd": jnd, "jnd_fit": jnd_fit}.items():
            how = (method,) if name.startswith("pse") else ("centred" if method == "averaged" else method, LOG)
            freedom = {} if name.startswith("pse") else {"df": known.size - 1.0}
            estimate = getattr(found, name)[[row]]
            expected[name] = np.ravel(bootstrap_interval(estimate, values[None], level, *how, **freedom)[:2])
        for name, ends in expected.items():
            published = [getattr(found, f"{name}_{end}")[row] for end in ("low", "high")]
            assert published == pytest.approx(ends.tolist()), name
        assert abs(found.pse_fit[row] - found.pse[row]) > 1e-4


def test_resampling_is_uniform_and_a_prefix_of_longer_ones():
    indices = resample_indices(0, 20_000, 7)
    shares = np.bincount(indices.ravel(), minlength=7) / indices.size
    np.testing.assert_allclose(shares, 1 / 7, atol=0.004)
    np.testing.assert_array_equal(resample_indices(0, 10, 7), indices[:10])


def test_all_resamples_of_a_row_are_estimated_at_once(num_lines):
    flips = np.random.default_rng(8).normal(0.5, 0.1, (40, 32))
    psychometrics_of(flips[:1], 0, 10)
    few, many = (num_lines(lambda num=num: psychometrics_of(flips, 0, num)) for num in (10, 1000))
    assert many < 1.5 * few < 1500 * len(flips), "it was 1.07 times as many lines of Python, and 760 a row"


def test_refusals():
    flips = np.full((2, 3), 0.5)
    with pytest.raises(ValueError, match="num_resamples=0: must be 1 or more"):
        psychometrics_of(flips, 0, 0)
    with pytest.raises(ValueError, match=r"level=95: must lie strictly between 0 and 1"):
        psychometrics_of(flips, 0, 10, level=95)
    with pytest.raises(ValueError, match="seed=-1: must lie in"):
        psychometrics_of(flips, -1, 10)


@pytest.fixture
def vectors():
    rng = np.random.default_rng(3)
    return rng.normal(size=(25, 4, 8)), rng.normal(size=(25, 8)), rng.normal(size=(25, 8))


def test_rows_are_those_of_the_flips_of_each_word(vectors):
    words, she, he = vectors
    words[2, 1] = np.nan
    flips = np.array([[flip_points(words[r, w], she[r], he[r]) for r in range(25)] for w in range(4)])
    expected = psychometrics_of(flips, seed=5, num_resamples=60, level=0.9)
    result = psychometrics(words, she, he, seed=5, num_resamples=60, level=0.9)
    for name, column in expected._asdict().items():
        assert getattr(result, name) == pytest.approx(column, nan_ok=True), name
    assert result.num_replicas.tolist() == [25, 24, 25, 25]


def test_shapes_that_do_not_fit_are_refused(vectors):
    words, she, he = vectors
    for wrong in ((words[0], she, he), (words, she[:, np.newaxis], he), (words, she, he[:5]), (words, she[0], he[0])):
        with pytest.raises(ValueError, match=r"must be \[replicas, words, dims\]"):
            psychometrics(*wrong)
