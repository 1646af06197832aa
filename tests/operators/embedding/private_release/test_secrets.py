"""Noise by a secret key, on a grid; and what of a release is seen from the noise that it added."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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
from tiltmeter.operators.embedding.private_release.secrets import (
    BLOCK_ROWS,
    content_digest,
    grid_step,
    keyed_digest,
    noisy_block,
    off_grid_chance,
    on_grid,
    secret_generator,
)

KEY, OTHER = bytes(range(32)), bytes(32)
ABOUT = {"mechanism": "M1", "epsilon": 2.0, "name": "release"}


def noise(key=KEY, about=ABOUT, block=0, num=5):
    return noisy_block(np.zeros((num, 3)), key, about, block, "norm", 1.0, 2.0**-12)


def test_bits_and_digests_depend_on_all_that_defines_the_release():
    assert np.array_equal(noise(), noise())
    others = [noise(OTHER), noise(block=1), noise(about=ABOUT | {"epsilon": 2.5}), noise(about=ABOUT | {"name": "b"})]
    for changed in others:
        assert not (noise() == changed).any()
    known = content_digest(KEY, np.eye(2))
    assert known not in (content_digest(OTHER, np.eye(2)), content_digest(KEY, np.eye(2).reshape(1, 4)))
    assert keyed_digest(KEY, {"a": 1}) != keyed_digest(OTHER, {"a": 1})


def test_secret_noise_has_its_law():
    drawn = [noisy_block(np.zeros((BLOCK_ROWS, 5)), KEY, ABOUT, block, "norm", 2.0, 2.0**-20) for block in range(20)]
    whole = noisy_block(np.zeros((BLOCK_ROWS, 3)), KEY, ABOUT, 0, "norm", 1.0, 2.0**-12)
    assert np.array_equal(whole[:5], noise()), "noise of a row depends on no other row"
    assert len(np.unique(whole, axis=0)) == BLOCK_ROWS
    radii = np.linalg.norm(np.concatenate(drawn), axis=1)
    assert stats.kstest(radii, stats.gamma(5, scale=2.0).cdf).pvalue > 0.001


def test_stream_is_chacha20():
    """By another implementation, with a counter and a nonce of 0."""
    ciphers = pytest.importorskip("cryptography.hazmat.primitives.ciphers")
    derived = keyed_digest(KEY, {**ABOUT, "block": 3})
    cipher = ciphers.Cipher(ciphers.algorithms.ChaCha20(derived, bytes(16)), mode=None)
    stream = np.frombuffer(cipher.encryptor().update(bytes(64)), dtype="<u4")
    bits = secret_generator(KEY, ABOUT, 3).bit_generator.random_raw(8)
    words = np.asarray(bits, dtype="<u8").view("<u4")
    assert words.tolist() == stream.tolist()


@given(st.floats(-1e6, 1e6), st.integers(-20, 5))
def test_grid_is_the_nearest_multiple(value, exponent):
    step = 2.0**exponent
    [placed] = on_grid(np.array([value]), step)
    assert abs(placed - value) <= step / 2
    assert placed / step == round(placed / step)
    for none in (np.inf, np.nan, 1e18):
        with pytest.raises(ValueError, match="too long for the grid"):
            on_grid(np.array([none]), 2.0**-10)


@given(st.floats(1e-6, 1e6))
def test_step_is_a_power_of_two_just_below(deviation):
    step = grid_step(deviation)
    assert deviation / 2048 < step <= deviation / 1024
    assert np.frexp(step)[0] == 0.5


def test_rounding_changes_few_vectors_and_fewer_on_a_coarser_grid():
    fine, coarse = (off_grid_chance(54, 50.0, step, 300) for step in (2.0**-12, 2.0**-8))
    assert 0 < coarse < fine < 1e-5


# --- residuals --------------------------------------------------------------------------------------------------------


@pytest.mark.long
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
    epsilons = [gaussian_epsilon_of(1e-6, distance, 1.3) / distance for distance in np.linspace(0.1, 8, 40)]
    assert np.all(np.diff(epsilons) >= 0), "per unit of distance it is weakest at its reach"
