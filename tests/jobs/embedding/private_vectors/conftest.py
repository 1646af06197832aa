"""Made-up vectors, classes of their words, and a key."""

import numpy as np
import pytest

from tests.jobs.embedding.private_vectors.expected import KEY, NUM_WORDS, WIDTH


@pytest.fixture(scope="package")
def vectors():
    """More spread in some directions than in others, and not around 0."""
    rows = np.random.default_rng(0).standard_normal((NUM_WORDS, WIDTH))
    return (rows * np.linspace(0.5, 1.5, WIDTH) + 0.3).astype(np.float32)


@pytest.fixture(scope="package")
def words():
    return [f"planted{number}" for number in range(NUM_WORDS)]


@pytest.fixture(scope="package")
def folder(tmp_path_factory, write_vectors, words, vectors):
    path = tmp_path_factory.mktemp("private")
    write_vectors(path / "vectors.bin", words, vectors)
    for name, key in {"key": KEY, "other_key": KEY[::-1]}.items():
        (path / name).write_bytes(key)
        (path / name).chmod(0o600)
    return path


@pytest.fixture(scope="package")
def plain(vectors):
    return vectors.astype(np.float64)
