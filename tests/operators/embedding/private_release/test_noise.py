import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.embedding.private_release.noise import (
    coordinate_deviation,
    draw_noise,
    log_density,
    mean_squared_norm,
    norm_noise,
    norm_quantile,
    published_dimensions,
)

NUM_DRAWS = 100_000


MANY = pytest.param(1_000_000, marks=pytest.mark.slow)


@pytest.mark.parametrize("num_draws", [NUM_DRAWS, MANY])
@pytest.mark.parametrize("num_dimensions", [1, 2, 10, 54, pytest.param(300, marks=pytest.mark.slow)])
def test_radius_and_cosine_have_their_laws(num_dimensions, num_draws):
    generator = np.random.default_rng([num_dimensions, num_draws])
    parts = [radius_and_cosine(generator, num_dimensions) for _ in range(num_draws // NUM_DRAWS)]
    radii, cosines = np.concatenate(parts, axis=1)
    assert stats.kstest(radii, stats.gamma(num_dimensions, scale=2.0).cdf).pvalue > 0.001
    assert np.mean(radii > norm_quantile(num_dimensions, 2.0, 0.01)) == pytest.approx(0.01, abs=0.0015)
    if num_dimensions > 1:
        half = (num_dimensions - 1) / 2
        assert stats.kstest(cosines, stats.beta(half, half, loc=-1, scale=2).cdf).pvalue > 0.001


def radius_and_cosine(generator, num_dimensions):
    noise = norm_noise(generator, (NUM_DRAWS, num_dimensions), 2.0)
    assert len(np.unique(noise[:5000], axis=0)) == 5000, "however many chunks rows are drawn in"
    radii = np.linalg.norm(noise, axis=1)
    return radii, noise[:, 0] / radii


@pytest.mark.parametrize("law", ["norm", "gaussian"])
def test_moments_are_those_of_the_law(law):
    noise = draw_noise(np.random.default_rng(5), law, (NUM_DRAWS, 7), 1.5)
    assert noise.std() == pytest.approx(coordinate_deviation(law, 7, 1.5), rel=0.01)
    assert (noise**2).sum(axis=1).mean() == pytest.approx(mean_squared_norm(law, 7, 1.5), rel=0.01)


@pytest.mark.parametrize("law", ["norm", "gaussian"])
def test_density_is_one_over_the_plane(law):
    axis = np.linspace(-30, 30, 601)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(log_density(law, points, 1.3)).sum() * 0.1**2 == pytest.approx(1, abs=2e-3)


def test_density_falls_by_the_norm():
    near, far = log_density("norm", np.array([[0.0, 1.0], [3.0, 0.0]]), 0.5)
    assert near - far == pytest.approx(2 / 0.5)


def test_dimensions_are_those_of_the_appendix():
    betas = [0.5, 0.6, 0.7, 0.9, 0.93, 0.66, 0.468]
    assert [published_dimensions(300, beta) for beta in betas] == [173, 120, 89, 54, 50, 100, 198]
    with pytest.raises(ValueError, match=r"beta=1\.2"):
        published_dimensions(300, 1.2)
