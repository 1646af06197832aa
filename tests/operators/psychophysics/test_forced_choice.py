import numpy as np
import pytest

from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.operators.psychophysics.fitting import fitted
from tiltmeter.operators.psychophysics.forced_choice import (
    Width,
    curve,
    flip_points,
    moments,
    response_curve,
)
from tiltmeter.operators.psychophysics.resamples import psychometrics_of


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


def test_flip_points_broadcast_and_are_nan_where_they_are_undefined() -> None:
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


def test_response_curve_leaves_missing_replicas_out() -> None:
    flips = np.array([[0.1, np.nan, 0.3, 0.3], [np.nan] * 4])
    shares = response_curve(flips, np.array([0.1, 0.3, 0.31]))
    np.testing.assert_allclose(shares[0], [1 / 3, 1.0, 1.0])
    assert np.isnan(shares[1]).all()


@pytest.mark.parametrize(
    ("num", "pse", "jnd"), [(1, 1, np.nan), (2, 1, 1), (3, 2, 2), (4, 2, 2), (5, 3, 2), (32, 16, 16)]
)
def test_curve_takes_order_statistics(num: int, pse: float, jnd: float) -> None:
    flips = np.random.default_rng(0).permutation(np.arange(1.0, num + 1))[None]
    found = curve(flips, "quartiles")
    np.testing.assert_array_equal([found.pse[0], found.jnd[0]], [pse, jnd])


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


def test_degenerate_rows() -> None:
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
def test_refusals(estimator) -> None:
    with pytest.raises(ValueError, match=r"flips has shape \(3,\)"):
        estimator(np.full(3, 0.5))
