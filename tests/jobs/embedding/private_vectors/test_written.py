"""What a release writes, by planted rows: two releases, changed keys, more than one block, and what the job sees of it.

Each test fails where one of the mistakes is made that would leave a release without its privacy.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tests.jobs.embedding.private_vectors.places import KEY, settings
from tiltmeter.cluster.start import Workers
from tiltmeter.operators.embedding.private_release.secrets import BLOCK_ROWS
from tiltmeter.storage.errors import InputError, Refusal

NUM, WIDTH, KEPT, RADIUS, EPSILON = 2 * BLOCK_ROWS + 100, 16, 12, 3.0, 2.0
_BEYOND_CHANCE = 6.0
"""Standard deviations."""


@pytest.fixture(scope="module")
def planted(folder, write_vectors):
    """Rows of three blocks, far beyond the radius, and a second key."""
    rows = 20 * np.random.default_rng(3).standard_normal((NUM, WIDTH)).astype(np.float32)
    write_vectors(folder / "planted.bin", [f"row{number}" for number in range(NUM)], rows)
    (folder / "other_key").write_bytes(KEY[::-1])
    (folder / "other_key").chmod(0o600)
    return rows.astype(np.float64)


@pytest.fixture(scope="module")
def releases(run_job, folder, planted):
    """One, and the same by another name, with another key, at another epsilon; and one of an account of their own."""
    given = [
        "release.max_epsilon=9",
        f"release.radius={RADIUS}",
        "release.mechanism='M2 spectral'",
        f"dimensions={KEPT}",
    ]
    kinds = {
        "one": ["key", EPSILON, "a"],
        "name": ["key", EPSILON, "b"],
        "key": ["other_key", EPSILON, "a"],
        "epsilon": ["key", 3.0, "a"],
    }
    return {
        kind: run_job(
            "job=private_vectors",
            *settings(folder, f"written_{kind}", *given, file="planted.bin"),
            "release.mechanism='M2 spectral'",
            f"release.key_file={folder}/{key}",
            f"release.epsilon={epsilon}",
            f"release.name={name}",
        )
        for kind, (key, epsilon, name) in kinds.items()
    }


@pytest.fixture(scope="module")
def noise(releases, planted):
    """What was really added, in units of its scale by the certificate: of the map, the radius and epsilon."""
    norms = np.linalg.norm(planted, axis=1, keepdims=True)
    shortened = planted * np.minimum(1, RADIUS / norms)
    residuals = {}
    for kind, run in releases.items():
        projection = np.array(run.table("map")["vector"].to_pylist())
        assert projection.shape == (KEPT, WIDTH)
        scale = np.linalg.svd(projection, compute_uv=False)[0] / run.rows("releases")[0]["epsilon"]
        residuals[kind] = (np.array(run.table("released")["vector"].to_pylist()) - shortened @ projection.T) / scale
    return residuals


def correlation(first, second):
    """Of the noise of paired rows, in standard deviations: 0 but for chance where they are independent."""
    cosines = (first * second).sum(axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    return float(cosines.sum() * (KEPT / len(cosines)) ** 0.5)


def test_noise_has_the_law_of_its_certificate_around_shortened_rows(noise):
    """Fails for a Delta that is too small, for `M2 spectral` with Delta = 1, and where the radius is ignored."""
    for residual in noise.values():
        assert stats.kstest(np.linalg.norm(residual, axis=1), stats.gamma(KEPT).cdf).pvalue > 1e-6


def test_differences_of_rows_have_twice_the_variance_of_their_noise(noise):
    """Fails where rows share their noise, in a block or over blocks: squared differences of known rows, chi-square."""
    for lag in (1, BLOCK_ROWS):
        residual = noise["one"]
        first, second = residual[:BLOCK_ROWS:2], residual[lag : BLOCK_ROWS + lag : 2]
        squares = ((first - second) ** 2).sum(axis=1) / (2 * KEPT * (KEPT + 1))
        assert abs(squares.mean() - 1) < _BEYOND_CHANCE * squares.std() / len(squares) ** 0.5
        assert squares.min() > 1e-3


@pytest.mark.parametrize("kind", ["name", "key", "epsilon"])
def test_two_releases_of_the_same_rows_share_no_noise(noise, kind):
    """Fails for noise from the key alone, for equal seeds, and for a generator that heeds no key."""
    assert not (noise["one"] == noise[kind]).all(axis=1).any()
    assert abs(correlation(noise["one"], noise[kind])) < _BEYOND_CHANCE


def test_every_block_of_rows_has_noise_of_its_own(noise):
    """Fails where block 0's noise is added in every block."""
    residual = noise["one"]
    for first, second in combinations((residual[k * BLOCK_ROWS : k * BLOCK_ROWS + 100] for k in range(3)), 2):
        assert abs(correlation(first, second)) < _BEYOND_CHANCE
    assert len(np.unique(residual.round(6), axis=0)) == NUM


def test_the_job_finds_its_own_releases_as_they_should_be(releases):
    """It compares all that a release may share noise with, and finds the largest singular value by itself."""
    for run in releases.values():
        rows = {row["check"]: row for row in run.rows("release_audits")}
        assert rows.keys() == {"radius", "rows", "blocks", "another_name", "another_key", "stretch"}
        assert {row["verdict"] for row in rows.values()} == {"within"}
        assert rows["blocks"]["num_compared"] == BLOCK_ROWS
        [release] = run.rows("releases")
        assert 0.8 * release["sensitivity"] < rows["stretch"]["value"] <= release["sensitivity"]


@pytest.fixture(scope="module")
def certified(run_job, folder, vectors):
    """Releases of words by maps that are certified for their vocabulary, and the largest stretch of all its pairs."""
    (folder / "many.txt").write_text("".join(f"planted{number % 60}\n" for number in range(1500)))
    plain = vectors.astype(np.float64)
    apart = np.concatenate([plain[row] - plain[row + 1 :] for row in range(len(plain))])
    found = {}
    for mechanism in ("M2 exact", "haar", "public_pca"):
        given = [f"release.words={folder}/many.txt", f"release.mechanism='{mechanism}'", "dimensions=4"]
        run = run_job(
            "job=private_vectors",
            *settings(folder, f"many_{mechanism.split()[0]}", f"release.key_file={folder}/key", "release.epsilon=2"),
            *given,
        )
        projection = np.array(run.table("map")["vector"].to_pylist())
        stretches = np.linalg.norm(apart @ projection.T, axis=1) / np.linalg.norm(apart, axis=1)
        found[mechanism] = run, projection, stretches.max()
    return found


@pytest.mark.parametrize("mechanism", ["M2 exact", "haar", "public_pca"])
def test_a_certified_delta_is_the_largest_stretch_of_all_pairs_and_noise_is_made_for_it(certified, vectors, mechanism):
    """By brute force. Fails for a Delta that is 10 % too small, in the certificate or in the noise alone."""
    run, projection, largest = certified[mechanism]
    [release] = run.rows("releases")
    assert largest <= release["sensitivity"] < largest * (1 + 1e-6)
    assert (release["sensitivity"] < 1) == (mechanism != "M2 exact")
    images = vectors[np.arange(1500) % 60].astype(np.float64) @ projection.T
    radii = np.linalg.norm(np.array(run.table("released")["vector"].to_pylist()) - images, axis=1)
    assert stats.kstest(radii * 2.0 / largest, stats.gamma(4).cdf).pvalue > 1e-6
    assert {row["verdict"] for row in run.rows("release_audits")} == {"within"}


def test_a_release_says_what_it_is_exactly_and_what_an_attacker_names(certified, vectors):
    """By the table, and by hand: the nearest image of each released row."""
    run, projection, largest = certified["M2 exact"]
    [release] = run.rows("releases")
    images = vectors.astype(np.float64) @ projection.T
    given = np.array(run.table("released")["vector"].to_pylist())
    nearest = ((given[:, None] - images[None]) ** 2).sum(axis=2).argmin(axis=1)
    named = (nearest == np.arange(1500) % 60).mean()
    assert release["num_named"] == 1000
    assert release["named"] == pytest.approx(named, abs=0.06)
    assert release["attacker"] == pytest.approx(named, abs=0.1)
    assert release["attacker_low"] < release["attacker"] < release["attacker_high"]
    scale = largest / release["epsilon"]
    apart = np.linalg.norm(images[:, None] - images[None], axis=2) / scale
    caps = 1 / np.exp(-apart).sum(axis=1)
    assert release["cap_mean"] == pytest.approx(caps.mean())
    assert release["cap_largest"] == pytest.approx(caps.max())
    assert release["named"] < release["cap_largest"]
    assert release["exact_typical"] < release["exact_worst"] < 2 * release["median_distance"]
    assert "WARNING: near vectors have an exact epsilon of" in (run.path / "report.html").read_text()


def test_a_release_is_refused_where_near_vectors_would_be_told_apart(run_job, folder, planted):
    given = [f"release.key_file={folder}/key", "release.epsilon=20", "release.max_epsilon=20", "release.most_epsilon=1"]
    with pytest.raises(Refusal, match=r"^release.epsilon=20: .* more than release.most_epsilon=1"):
        run_job("job=private_vectors", *settings(folder, "near", *given))
    assert not (folder / "near" / "accounts").exists()


def test_a_key_that_a_node_lacks_is_noticed_before_anything_is_spent(run_job, folder, monkeypatch):
    def others(_, question):
        return {"here": question(), "there": "release.key_file=key: there is no such file", "far": "0" * 64}

    monkeypatch.setattr(Workers, "ask_nodes", others)
    given = [f"release.key_file={folder}/key", "release.epsilon=1"]
    with pytest.raises(InputError, match=r"nothing was spent:\n  node there: .* no such file\n  node far: has another"):
        run_job("job=private_vectors", *settings(folder, "nodes", *given))
    assert not (folder / "nodes" / "accounts").exists()
