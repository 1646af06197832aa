import math
from math import log10

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tiltmeter.operators.embedding.private_release.projections import (
    clipped,
    gaussian_projection,
    haar_projection,
    principal_projection,
)
from tiltmeter.operators.embedding.private_release.sensitivity import (
    distinct_rows,
    failure_bound,
    largest_stretches,
    spectral_sensitivity,
    typical_distances,
)


def brute_force(block, other, projection):
    """The largest ratio over all pairs, one row at a time."""
    best = 0.0
    for vector in block:
        differences = other - vector
        lengths = np.linalg.norm(differences, axis=1)
        images = np.linalg.norm(differences @ projection.T, axis=1)[lengths > 0]
        best = max(best, (images / lengths[lengths > 0]).max(initial=0.0))
    return best


@pytest.fixture(scope="module")
def words():
    """2,000 vectors, of which some are all but equal, and two are."""
    vectors = np.random.default_rng(0).standard_normal((2000, 40)) + 3
    vectors[5] = vectors[9] + 1e-5 * np.random.default_rng(1).standard_normal(40)
    vectors[7] = vectors[3]
    vectors[11] = vectors[12] * 1.001
    return vectors


@pytest.mark.long
def test_exact_sensitivity_is_that_of_brute_force_in_tiles_too(words):
    projections = [gaussian_projection(np.random.default_rng(2), num_kept, 40) for num_kept in (2, 20)]
    blocks = [words[start : start + 700] for start in range(0, 2000, 700)]
    tiles = [
        largest_stretches(first, second, projections, is_diagonal=row == column)
        for row, first in enumerate(blocks)
        for column, second in enumerate(blocks)
        if row <= column
    ]
    whole = largest_stretches(words, words, projections, is_diagonal=True)
    for number, (pair, projection) in enumerate(zip(whole, projections, strict=True)):
        expected = brute_force(words, words, projection)
        assert pair.ratio == pytest.approx(expected, rel=1e-12)
        assert expected <= pair.upper < expected * (1 + 1e-9)
        difference = words[pair.first] - words[pair.second]
        assert np.linalg.norm(projection @ difference) / np.linalg.norm(difference) == pytest.approx(pair.ratio)
        assert max(tile[number].ratio for tile in tiles) == pytest.approx(pair.ratio, rel=1e-12)


@pytest.mark.parametrize("num_kept", [30, 38, 40])
def test_the_worst_pair_is_found_where_a_map_keeps_nearly_all_of_all_distances(num_kept):
    """Principal components of vectors with a long tail: single precision can't tell the best from others."""
    vectors = np.random.default_rng(3).standard_normal((300, 40)) * np.geomspace(1, 0.005, 40)
    projection = principal_projection(vectors, num_kept)
    [pair] = largest_stretches(vectors, vectors, [projection], is_diagonal=True)
    assert pair.ratio == pytest.approx(brute_force(vectors, vectors, projection), rel=1e-13)
    assert 0.999 < pair.ratio <= pair.upper < 1 + 1e-9


def test_the_worst_pair_is_found_where_vectors_nearly_coincide():
    """Two vectors at a distance that single precision can't tell from 0, apart in the direction that is stretched."""
    projection = np.array([[5.0, 0.0], [0.0, 0.1]])
    vectors = np.array([[100.0, 100.0], [100.0 + 1e-9, 100.0], [0.0, 90.0], [100.0, 7.0]])
    [pair] = largest_stretches(vectors, vectors, [projection], is_diagonal=True)
    assert (pair.first, pair.second) == (0, 1)
    assert pair.ratio == pytest.approx(5.0)


@given(arrays.arrays(np.float64, (6, 3), elements=st.floats(-100, 100, width=16)))
def test_no_vocabulary_is_stretched_more_than_all_vectors(vectors):
    projection = gaussian_projection(np.random.default_rng(0), 2, 3)
    [pair] = largest_stretches(vectors, vectors, [projection], is_diagonal=True)
    assert pair.ratio <= spectral_sensitivity(projection) * (1 + 1e-9)
    assert pair.ratio == pytest.approx(brute_force(vectors, vectors, projection), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    ("num_words", "betas"),
    [
        (3798, {0.468: -11.3, 0.5: -11.2, 0.66: -10.8, 0.7: -10.7, 0.9: -10.2, 0.93: -10.3}),
        (2_200_000, {0.468: -5.8, 0.5: -5.7, 0.66: -5.2, 0.7: -5.1, 0.9: -4.7, 0.93: -4.8}),
    ],
)
def test_failure_of_the_published_bound(num_words, betas):
    dimensions = {0.468: 199, 0.5: 174, 0.66: 100, 0.7: 89, 0.9: 54, 0.93: 51}
    bounds = {beta: log10(failure_bound(num_words, dimensions[beta], beta)) for beta in betas}
    assert bounds == pytest.approx(betas, abs=0.051)


def test_a_haar_projection_is_gram_and_schmidt_s_of_normal_columns():
    """By the one triangle with a positive diagonal, which makes its distribution uniform."""
    normal = np.random.default_rng(1).standard_normal((20, 5))
    triangle = np.linalg.cholesky(normal.T @ normal).T
    rows = haar_projection(np.random.default_rng(1), 5, 20)
    np.testing.assert_allclose(rows.T @ triangle, normal, atol=1e-12)


def test_orthonormal_maps_stretch_nothing_and_components_keep_most():
    vectors = np.random.default_rng(0).standard_normal((300, 20)) * np.geomspace(1, 0.05, 20)
    components, subspace = principal_projection(vectors, 5), haar_projection(np.random.default_rng(1), 5, 20)
    for projection in (components, subspace):
        assert np.allclose(projection @ projection.T, np.eye(5))
        assert spectral_sensitivity(projection) == pytest.approx(1)
    centred = vectors - vectors.mean(axis=0)
    kept = [((centred @ projection.T) ** 2).sum() / (centred**2).sum() for projection in (components, subspace)]
    assert kept[0] > 0.7 > kept[1]


@given(
    arrays.arrays(np.float64, (3, 20), elements=st.floats(allow_nan=False, allow_infinity=False)),
    st.floats(np.finfo(np.float64).tiny, np.finfo(np.float64).max),
)
def test_clipping_at_any_radius_of_vectors_of_any_size(vectors, radius):
    """From the smallest floats to the largest, without a warning: of squares there are no floats."""
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        short = clipped(vectors, radius)
    assert (np.abs(short) <= np.abs(vectors)).all()
    for row, vector in zip(short, vectors, strict=True):
        assert math.hypot(*row) <= radius * (1 + 1e-14)
        if math.hypot(*vector) <= radius * (1 - 1e-14):
            assert row.tolist() == vector.tolist()


@given(arrays.arrays(np.float64, (2, 3), elements=st.floats(-10, 10, width=16)), st.floats(0.1, 5))
def test_clipping_takes_no_two_vectors_apart(vectors, radius):
    short = clipped(vectors, radius)
    assert np.linalg.norm(short[0] - short[1]) <= np.linalg.norm(vectors[0] - vectors[1]) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("radius", [0.0, -1.0, 5e-324, np.nan, np.inf])
def test_a_radius_that_is_none_is_refused(radius):
    with pytest.raises(ValueError, match="must be a positive normal number"):
        clipped(np.ones((1, 2)), radius)


def test_distances_and_equal_vectors_by_hand():
    vectors = np.array([[0.0], [3.0], [3.0], [10.0]])
    assert distinct_rows(vectors).tolist() == [0, 1, 3]
    distances = typical_distances(vectors[[0, 3]], np.array([0, 2]), vectors[[0, 1, 3]])
    assert distances == (5.0, 8.5)
