"""Where tests of private vectors put what they need."""

import numpy as np

NUM_WORDS, WIDTH = 60, 12
KEY = np.random.default_rng(32).bytes(32)


def settings(folder, name, *more, file="vectors.bin"):
    return [f"embedding.path={folder}/{file}", f"store={folder}/{name}", f"run_dir={folder}/{name}_run", *more]
