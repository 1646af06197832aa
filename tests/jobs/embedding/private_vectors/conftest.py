"""Made-up vectors, classes of their words, and a key."""

import numpy as np
import pytest

from tests.jobs.embedding.private_vectors.places import KEY, NUM_WORDS, WIDTH


@pytest.fixture(scope="package")
def vectors():
    return np.random.default_rng(0).standard_normal((NUM_WORDS, WIDTH)).astype(np.float32)


@pytest.fixture(scope="package")
def words():
    return [f"planted{number}" for number in range(NUM_WORDS)]


@pytest.fixture(scope="package")
def folder(tmp_path_factory, write_vectors, words, vectors):
    path = tmp_path_factory.mktemp("private")
    write_vectors(path / "vectors.bin", words, vectors)
    texts = "".join(f"{word},{'ab'[int(vectors[row, 0] > 0)]}\n" for row, word in enumerate(words))
    (path / "words.csv").write_text("text,label\n" + texts)
    (path / "key").write_bytes(KEY)
    (path / "key").chmod(0o600)
    return path
