import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

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


def test_bits_are_the_same_again_and_depend_on_all_that_defines_the_release():
    assert np.array_equal(noise(), noise())
    others = [noise(OTHER), noise(block=1), noise(about=ABOUT | {"epsilon": 2.5}), noise(about=ABOUT | {"name": "b"})]
    for changed in others:
        assert not (noise() == changed).any()


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


def test_digests_say_nothing_without_the_key():
    vectors = np.eye(2)
    assert content_digest(KEY, vectors) != content_digest(OTHER, vectors)
    assert content_digest(KEY, vectors) != content_digest(KEY, vectors.reshape(1, 4))
    assert keyed_digest(KEY, {"a": 1}) != keyed_digest(OTHER, {"a": 1})


def test_rounding_changes_few_vectors_and_fewer_on_a_coarser_grid():
    fine, coarse = (off_grid_chance(54, 50.0, step, 300) for step in (2.0**-12, 2.0**-8))
    assert 0 < coarse < fine < 1e-5
