"""Where tests of private vectors put what they need, and what is drawn by public keys."""

import numpy as np

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import projections

NUM_WORDS, WIDTH, SEED = 60, 12, 7
KEY = np.random.default_rng(32).bytes(32)


def settings(folder, name, *more, file="vectors.bin"):
    """Of a job with a store of this name."""
    where = [f"embedding.path={folder}/{file}", f"store={folder}/{name}", f"run_dir={folder}/{name}_run"]
    return ["job=private_vectors", *where, *more]


def generator(stream, purpose, *number):
    """By a public key of the seed."""
    return keyed_generator(SEED, stream, document_key(purpose), *number)


def public_map(kind, plain, num):
    """Rows of a public map of the seed."""
    if kind == "none":
        return np.eye(WIDTH)
    if kind == "public_pca":
        return projections.principal_projection(plain, num)
    draw = {"gaussian": projections.gaussian_projection, "haar": projections.haar_projection}[kind]
    return draw(keyed_generator(SEED, Stream.PRIVATE_MAP, document_key(kind), num, WIDTH), num, WIDTH)
