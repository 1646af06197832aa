"""Noise: its laws, how far it moves distances, and what loss of privacy it leaves."""

from math import exp, expm1, log

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import dblquad, quad

from tiltmeter.operators.embedding.private_release.distances import (
    constant_error,
    expected_distance_error,
    expected_product_error,
    pair_distances,
)
from tiltmeter.operators.embedding.private_release.noise import (
    coordinate_deviation,
    draw_noise,
    log_density,
    mean_squared_norm,
    norm_noise,
    norm_quantile,
    published_dimensions,
)
from tiltmeter.operators.embedding.private_release.profile import (
    delta_of,
    epsilon_of,
    gaussian_delta_of,
    gaussian_epsilon_of,
    loss_above,
    loss_below,
    true_positive_rate,
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
def test_moments_are_those_of_the_law_and_its_density_is_one_over_the_plane(law):
    noise = draw_noise(np.random.default_rng(5), law, (NUM_DRAWS, 7), 1.5)
    assert noise.std() == pytest.approx(coordinate_deviation(law, 7, 1.5), rel=0.01)
    assert (noise**2).sum(axis=1).mean() == pytest.approx(mean_squared_norm(law, 7, 1.5), rel=0.01)
    axis = np.linspace(-30, 30, 601)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(log_density(law, points, 1.3)).sum() * 0.1**2 == pytest.approx(1, abs=2e-3)
    near, far = log_density("norm", np.array([[0.0, 1.0], [3.0, 0.0]]), 0.5)
    assert near - far == pytest.approx(2 / 0.5)


def test_dimensions_are_those_of_the_appendix():
    betas = [0.5, 0.6, 0.7, 0.9, 0.93, 0.66, 0.468]
    assert [published_dimensions(300, beta) for beta in betas] == [173, 120, 89, 54, 50, 100, 198]
    with pytest.raises(ValueError, match=r"beta=1\.2"):
        published_dimensions(300, 1.2)


def test_errors_of_distances_and_inner_products_are_the_closed_forms():
    """100 x 100 pairs of vectors of norm 6 or so, and what M1 makes of them at epsilon 1."""
    generator = np.random.default_rng(0)
    true = [generator.standard_normal((100, 300)) * 0.44 for _ in range(2)]
    distances, products = pair_distances(*true), true[0] @ true[1].T
    errors = []
    for _ in range(10):
        first, second = (vectors + norm_noise(generator, (100, 300), 1.0) for vectors in true)
        errors.append([abs(pair_distances(first, second) - distances), abs(first @ second.T - products)])
    apart, product = np.mean(errors, axis=(0, 2, 3))
    assert apart == pytest.approx(expected_distance_error(distances, mean_squared_norm("norm", 300, 1.0)), rel=0.03)
    assert apart == pytest.approx(413, rel=0.03)
    assert constant_error(distances) < apart / 100
    norms = np.add.outer(*((vectors**2).sum(axis=1) for vectors in true))
    assert product == pytest.approx(expected_product_error(301**0.5, 300, norms), rel=0.03)


# --- loss of privacy --------------------------------------------------------------------------------------------------

RHO = st.floats(0.05, 200)
DIMENSIONS = st.integers(1, 400)


@pytest.mark.parametrize(
    ("rho", "expected"),
    [
        (0.5, {10: 0.449, 54: 0.246, 100: 0.183, 174: 0.138, 300: 0.104}),
        (1, {10: 0.914, 54: 0.512, 100: 0.382, 174: 0.289, 300: 0.218}),
        (3, {10: 2.820, 54: 1.649, 100: 1.233, 174: 0.934, 300: 0.705}),
        (10, {10: 9.683, 54: 6.126, 100: 4.585, 174: 3.456, 300: 2.593}),
        *((10, {54: 6.125987, 300: 2.593294}), (3, {10: 2.820376}), (5.263, {54: 3.024287}), (84.5, {300: 32.438378})),
    ],
)
def test_epsilons_of_several_dimensions(rho, expected):
    digits = max(len(str(value).partition(".")[2]) for value in expected.values())
    found = {num_dimensions: epsilon_of(1e-6, rho, num_dimensions) for num_dimensions in expected}
    assert found == pytest.approx(expected, abs=0.6 * 10.0**-digits)


@pytest.mark.parametrize("rho", [0.3, 1.0, 10.0])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.99])
def test_one_dimension_is_the_laplace_mechanism(rho, share):
    assert delta_of(share * rho, rho, 1) == pytest.approx(-expm1((share - 1) * rho / 2), abs=1e-12)
    assert epsilon_of(1e-6, rho, 1) == pytest.approx(rho + 2 * log(1 - 1e-6), abs=1e-12)


def test_loss_of_one_dimension_has_its_mean_and_its_atoms():
    for rho, mean in [(1, 0.3679), (3, 2.0498), (10, 9.0)]:
        thresholds = np.linspace(-rho, rho, 20001)
        tails = [loss_above(t, rho, 1) for t in thresholds]
        assert -rho + np.trapezoid(tails, thresholds) == pytest.approx(mean, abs=1e-3)
    assert loss_above(3 - 1e-12, 3, 1) == pytest.approx(1 / 2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("num_dimensions", "rho", "epsilon"), [(3, 2.0, 0.7), (3, 2.0, 1.8), (12, 6.0, 3.0), (2, 3.0, 1.0)]
)
def test_delta_is_the_two_dimensional_integral(num_dimensions, rho, epsilon):
    """By the radius and the angle: the definition, with neither the closed tail nor the substitution."""

    def angles(angle):
        return np.sin(angle) ** (num_dimensions - 2)

    norm = quad(angles, 0, np.pi)[0]

    def integrand(angle, radius):
        loss = np.sqrt(radius**2 + 2 * radius * rho * np.cos(angle) + rho**2) - radius
        return stats.gamma.pdf(radius, num_dimensions) * angles(angle) * max(0.0, -expm1(epsilon - loss)) / norm

    def last_angle(radius):
        """At which the loss is epsilon; beyond it, it is smaller."""
        cosine = ((radius + epsilon) ** 2 - radius**2 - rho**2) / (2 * radius * rho)
        return np.arccos(np.clip(cosine, -1, 1))

    brute, error = dblquad(integrand, 0, 60, 0, last_angle, epsabs=1e-6)
    assert delta_of(epsilon, rho, num_dimensions) == pytest.approx(brute, abs=max(3e-6, 3 * error))


@given(RHO, DIMENSIONS, st.floats(0, 1), st.floats(0, 1))
@example(162.0, 80, 0.0, 0.0)
def test_delta_falls_and_is_between_nothing_and_the_bound(rho, num_dimensions, first, second):
    low, high = sorted((first * rho, second * rho))
    assert 0 <= delta_of(high, rho, num_dimensions) <= delta_of(low, rho, num_dimensions) + 1e-9 <= 1 + 1e-9


@pytest.mark.long
@given(RHO, DIMENSIONS, st.floats(1e-9, 0.5))
def test_epsilon_inverts_delta(rho, num_dimensions, delta):
    epsilon = epsilon_of(delta, rho, num_dimensions)
    assert 0 <= epsilon <= rho
    if epsilon > 1e-6:
        assert delta_of(epsilon, rho, num_dimensions) == pytest.approx(delta, rel=1e-4)


@pytest.mark.long
@given(RHO, DIMENSIONS, st.floats(0.01, 0.99))
@example(1.0, 367, 0.98828125)
@example(165.0, 2, 0.96875)
def test_loss_of_the_other_vector_is_mirrored(rho, num_dimensions, share):
    """Integrating exp(-loss) over the loss of one vector gives the chances of the other."""
    threshold = share * rho
    below = loss_below(-threshold, rho, num_dimensions)
    assert loss_below(threshold, rho, num_dimensions) == pytest.approx(1 - loss_above(threshold, rho, num_dimensions))
    assert below <= exp(-threshold) * loss_above(threshold, rho, num_dimensions) * (1 + 1e-6) + 1e-12
    assert true_positive_rate(below, rho, num_dimensions) == pytest.approx(
        loss_above(threshold, rho, num_dimensions), abs=1e-4
    )


def test_many_dimensions_are_nearly_normal_and_a_large_loss_does_not_overflow():
    assert epsilon_of(1e-6, 10, 300) == pytest.approx(gaussian_epsilon_of(1e-6, 10, 301**0.5), rel=0.02)
    assert epsilon_of(1e-6, 10, 30_000) == pytest.approx(gaussian_epsilon_of(1e-6, 10, 30_001**0.5), rel=2e-3)
    assert 1700 < epsilon_of(1e-6, 2000, 300) < 2000


def test_normal_noise_by_hand():
    """Balle and Wang's curve at e = 0 is the total variation 2 N(r / 2 sigma) - 1."""
    assert gaussian_delta_of(0.0, 3.0, 2.0) == pytest.approx(2 * stats.norm.cdf(0.75) - 1)
    with pytest.raises(ValueError, match="epsilon=-1"):
        delta_of(-1, 1.0, 3)
    grid = np.linspace(-40, 40, 400_001)
    ratio = stats.norm.pdf(grid, 3, 2) - exp(1.2) * stats.norm.pdf(grid, 0, 2)
    assert gaussian_delta_of(1.2, 3.0, 2.0) == pytest.approx(np.trapezoid(np.maximum(ratio, 0), grid), abs=1e-7)
