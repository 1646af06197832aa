"""What of a release is seen from the noise that it added."""

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.embedding.private_release.composition import Promise, composed
from tiltmeter.operators.embedding.private_release.deniability import naming_caps, nearest_rows
from tiltmeter.operators.embedding.private_release.noise import norm_noise
from tiltmeter.operators.embedding.private_release.profile import gaussian_delta_of, gaussian_epsilon_of
from tiltmeter.operators.embedding.private_release.residuals import (
    cosine_check,
    most_stretched,
    radius_check,
    stretch_check,
)


@pytest.mark.parametrize(("law", "num"), [("norm", 3), ("gaussian", 50)])
def test_p_values_are_uniform_for_noise_as_it_should_be(law, num):
    rng = np.random.default_rng(0)
    draw = norm_noise if law == "norm" else lambda rng, shape, scale: scale * rng.standard_normal(shape)
    pairs = [(draw(rng, (num, 5), 2.0), draw(rng, (num, 5), 2.0)) for _ in range(1500)]
    radii = [radius_check(first, law, 2.0).p for first, _ in pairs]
    cosines = [cosine_check(first, second).p for first, second in pairs]
    assert stats.kstest(radii, "uniform").pvalue > 1e-3
    assert np.mean(np.array(cosines) <= 0.05) <= 0.065


def test_noise_that_is_too_small_or_shared_is_seen():
    noise = norm_noise(np.random.default_rng(1), (2000, 12), 1.0)
    assert radius_check(0.97 * noise, "norm", 1.0).p < 1e-4
    assert cosine_check(noise, noise).p == 0.0
    mixed = noise + norm_noise(np.random.default_rng(2), (2000, 12), 3.0)
    assert cosine_check(noise, mixed).p < 1e-6


def test_stretches_are_those_of_all_pairs_and_far_vectors_show_them():
    rng = np.random.default_rng(3)
    vectors, projection = rng.standard_normal((900, 20)), rng.standard_normal((6, 20)) / 6**0.5
    differences = vectors[:50, None] - vectors[None, :50]
    lengths = np.linalg.norm(differences, axis=2) + np.eye(50)
    by_hand = (np.linalg.norm(differences @ projection.T, axis=2) / lengths).max()
    found = stretch_check(vectors[:50], projection, 1.0)
    assert (found.value, found.expected, found.num) == (pytest.approx(by_hand), 1.0, 50 * 49 / 2)
    far = stretch_check(most_stretched(vectors, projection, 100), projection, 1.0).value
    assert far > stretch_check(vectors[:100], projection, 1.0).value


def test_belief_in_the_right_word_never_rises_above_its_cap_and_names_not_above_the_largest():
    rng = np.random.default_rng(4)
    images = rng.standard_normal((40, 2))
    caps = naming_caps(np.arange(40), images, 0.5)
    named, highest = [], []
    for row, image in enumerate(images):
        drawn = image + norm_noise(rng, (4000, 2), 0.5)
        likelihood = np.exp(-np.linalg.norm(drawn[:, None] - images, axis=2) / 0.5)
        highest.append((likelihood[:, row] / likelihood.sum(axis=1)).max())
        named.append(np.mean(nearest_rows(drawn, images) == row))
    assert np.all(highest <= caps)
    assert np.max(highest / caps) > 0.8
    assert np.mean(named) < caps.max()


def test_normal_noise_composes_as_one_of_the_root_of_the_sum_of_squares():
    """Two releases of deviations 3 and 4 are one of 2.4, and never more than epsilons and deltas added."""
    parts = [Promise(gaussian_epsilon_of(1e-6, 5.0, sd) / 5, 1e-6, mu=1 / sd, reach=5.0) for sd in (3.0, 4.0)]
    together = composed(parts)
    assert gaussian_delta_of(5 * together.epsilon, 5.0, 2.4) == pytest.approx(2e-6)
    assert together.epsilon < sum(part.epsilon for part in parts)
    mixed = composed([*parts, Promise(0.5, 1e-7)])
    assert (mixed.epsilon, mixed.delta) == pytest.approx((together.epsilon + 0.5, 2.1e-6))


def test_per_unit_of_distance_normal_noise_is_weakest_at_its_reach():
    epsilons = [gaussian_epsilon_of(1e-6, distance, 1.3) / distance for distance in np.linspace(0.1, 8, 40)]
    assert np.all(np.diff(epsilons) >= 0)
