import numpy as np
import pytest

from tiltmeter.operators.embedding.private_release.distances import (
    constant_error,
    expected_distance_error,
    expected_product_error,
    pair_distances,
)
from tiltmeter.operators.embedding.private_release.noise import mean_squared_norm, norm_noise

NUM = 100


@pytest.fixture(scope="module")
def releases():
    """100 x 100 pairs of vectors of norm 6 or so, and what M1 makes of them at epsilon 1."""
    generator = np.random.default_rng(0)
    true = [generator.standard_normal((NUM, 300)) * 0.44 for _ in range(2)]
    runs = [[vectors + norm_noise(generator, (NUM, 300), 1.0) for vectors in true] for _ in range(10)]
    return true, runs


def test_distance_error_is_the_closed_form(releases):
    true, runs = releases
    distances = pair_distances(*true)
    error = np.mean([np.abs(pair_distances(*noisy) - distances).mean() for noisy in runs])
    assert error == pytest.approx(expected_distance_error(distances, mean_squared_norm("norm", 300, 1.0)), rel=0.03)
    assert error == pytest.approx(413, rel=0.03)
    assert constant_error(distances) < error / 100


def test_inner_product_error_is_the_closed_form(releases):
    true, runs = releases
    products = true[0] @ true[1].T
    error = np.mean([np.abs(first @ second.T - products).mean() for first, second in runs])
    norms = np.add.outer(*((vectors**2).sum(axis=1) for vectors in true))
    assert error == pytest.approx(expected_product_error(301**0.5, 300, norms), rel=0.03)
