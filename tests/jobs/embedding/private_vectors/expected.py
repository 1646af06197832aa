"""What tests of private vectors put where, what is drawn by public keys, what must be left nowhere, and what the tables
of a release should say, by what was released, given away and asked."""

from math import floor, log2

import numpy as np
from scipy import stats

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import projections
from tiltmeter.operators.embedding.private_release.noise import norm_quantile
from tiltmeter.operators.embedding.private_release.profile import epsilon_of, gaussian_epsilon_of
from tiltmeter.operators.embedding.private_release.secrets import BLOCK_ROWS, off_grid_chance

NUM_WORDS, WIDTH, SEED = 60, 12, 7
KEY = np.random.default_rng(32).bytes(32)
UNLIKELY = 1e-12


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


def left(folder, places, planted):
    """Files that hold any of what was planted."""
    files = [path for place in places for path in (folder / place).rglob("*") if path.is_file()]
    assert len(files) > 5
    return [str(path) for path in files if any(secret in path.read_bytes() for secret in planted)]


def in_two_digits(value):
    return float(f"{value:.1e}")


def exact_epsilon(law, image, scale, delta, num_dimensions):
    """Of two vectors whose images lie this far apart."""
    if law == "gaussian":
        return gaussian_epsilon_of(delta, image, scale)
    return epsilon_of(delta, image / scale, num_dimensions)


def stretches(projection, plain):
    """Of all pairs of rows, in their order."""
    apart = np.concatenate([plain[row] - plain[row + 1 :] for row in range(len(plain))])
    return np.linalg.norm(apart @ projection.T, axis=1) / np.linalg.norm(apart, axis=1)


def map_of(run):
    """Rows of the map that was published; the identity where none was."""
    return np.array(run.table("map")["vector"].to_pylist()) if "map" in run.published else np.eye(WIDTH)


def given_by(run):
    return np.array(run.table("released")["vector"].to_pylist())


def noise_law(row, projection):
    """Columns that follow from the scale."""
    num = len(projection)
    deviation = row["scale"] * ((num + 1) ** 0.5 if row["delta"] == 0 else 1)
    return {"dimensions": num, "step": 2.0 ** floor(log2(deviation / 1024))}


def rounding_delta(row, projection, norm):
    """By the public bound on the norm of a vector."""
    num = len(projection)
    reach = 10 * row["scale"] if row["delta"] else norm_quantile(num, row["scale"], UNLIKELY)
    reach += np.linalg.norm(projection, axis=1).max() * norm
    return row["num_rows"] * (off_grid_chance(num, reach, row["step"], WIDTH) + UNLIKELY)


def exact_privacy(row, projection, vectors, delta, *, is_private):
    """At the distances of different vectors, of private ones in two digits."""
    sample = generator(Stream.PRIVATE_STUDY, "release's own distances").permutation(len(vectors))[:200]
    apart = np.linalg.norm(vectors[sample][:, None] - vectors, axis=2)
    apart[np.arange(len(sample)), sample] = np.nan
    rounded = in_two_digits if is_private else float
    near, median = rounded(np.median(np.nanmin(apart, axis=1))), rounded(np.nanmedian(apart))
    differences = vectors[sample] - np.roll(vectors[sample], 1, axis=0)
    stretch = np.linalg.norm(differences @ projection.T, axis=1) / np.linalg.norm(differences, axis=1)

    def exact(image):
        return exact_epsilon("gaussian" if row["delta"] else "norm", image, row["scale"], delta, len(projection))

    return {
        "exact_delta": delta,
        "nearest_distance": near,
        "median_distance": median,
        "exact_nearest": exact(row["sensitivity"] * near),
        "exact_typical": exact(rounded(np.median(stretch)) * median),
        "exact_worst": exact(row["sensitivity"] * median),
    }


def certificate(row, projection, epsilon, delta, slack, norm, vectors, *, is_private):
    """What it says of a release alone in its account: of its epsilon, its slack, its noise and its exact privacy."""
    said = {"epsilon": epsilon, "spent": epsilon, "delta": slack, "spent_delta": slack, "num_releases": 1}
    said |= noise_law(row, projection) | {"rounding_delta": rounding_delta(row, projection, norm)}
    return said | exact_privacy(row, projection, vectors, delta, is_private=is_private)


def audit(row, noise, stretch):
    """By name, the value, what it should be, of how many, and its chance: of what was really added to rows."""
    num, length = len(noise), noise.shape[1]
    radii = np.linalg.norm(noise, axis=1) / row["scale"]
    total, law = (
        ((radii**2).sum(), stats.chi2(num * length)) if row["delta"] else (radii.sum(), stats.gamma(num * length))
    )
    checks = {"radius": (total / num, length, num, 2 * min(law.cdf(total), law.sf(total)))}
    pairs = {"rows": (noise[: num // 2 * 2 : 2], noise[1::2])}
    if num > BLOCK_ROWS:
        later = noise[BLOCK_ROWS : 2 * BLOCK_ROWS]
        pairs["blocks"] = (noise[: len(later)], later)
    for name, (first, second) in pairs.items():
        cosines = (first * second).sum(axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
        p_value = 2 * stats.norm.sf(abs(cosines.sum()) * (length / len(cosines)) ** 0.5)
        checks[name] = (cosines.mean(), 0.0, len(cosines), p_value)
    return checks | {"stretch": (stretch, row["sensitivity"], None, None)}
