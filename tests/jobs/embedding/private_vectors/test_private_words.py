"""Releases of private words by their vectors in a public vocabulary, with maps that are certified for it."""

import hashlib

import numpy as np
import pytest
from scipy import stats

from tests.jobs.embedding.private_vectors.certificates import certificate, given_by, map_of
from tests.jobs.embedding.private_vectors.leaks import left
from tests.jobs.embedding.private_vectors.places import KEY, NUM_WORDS, SEED, WIDTH, settings
from tiltmeter.operators.embedding.private_release.profile import gaussian_epsilon_of
from tiltmeter.storage.errors import InputError

SECRETS = ["unknownsecret", "planted3", "planted3", "planted41", *("anothersecret", "planted7", "planted8") * 300]
"""Words without a vector, words that come again, and three that come often."""

EPSILON, KEPT, DELTA = 2.0, 6, 1e-7
GIVEN = [f"seed={SEED}", f"deltas=[{DELTA},1e-4]", f"dimensions={KEPT}", f"vocabulary.words={NUM_WORDS}", "beta=0.85"]
MECHANISMS = ("M1", "M2", "M2 exact", "M2 spectral", "haar", "public_pca", "gaussian")


@pytest.fixture(scope="module")
def private(folder, words, vectors, write_vectors):
    """Settings of a release of these words; behind the words of the vocabulary the file has others, far out."""
    (folder / "private.txt").write_text("\n".join(SECRETS) + "\n")
    far = 90 * np.ones((3, WIDTH), np.float32)
    write_vectors(folder / "more.bin", [*words, "anothersecret", "far", "farther"], np.concatenate([vectors, far]))

    def given(name, mechanism, *more):
        release = [f"release.words={folder}/private.txt", f"release.mechanism='{mechanism}'"]
        release += [f"release.key_file={folder}/key", f"release.epsilon={EPSILON}"]
        return settings(folder, name.replace(" ", "_"), *GIVEN, *release, *more, file="more.bin")

    return given


@pytest.fixture(scope="module")
def releases(run_here, private):
    return {name: run_here(*private(f"words {name}", name)) for name in MECHANISMS}


@pytest.fixture(scope="module")
def plain(vectors):
    return vectors.astype(np.float64)


@pytest.fixture(scope="module")
def rows(words, plain):
    """Of the secrets in the vocabulary; those without a vector are the word nearest to the mean."""
    middle = np.linalg.norm(plain - plain.mean(axis=0), axis=1).argmin()
    return np.array([words.index(word) if word in words else middle for word in SECRETS])


def stretches(projection, plain):
    apart = np.concatenate([plain[row] - plain[row + 1 :] for row in range(len(plain))])
    return np.linalg.norm(apart @ projection.T, axis=1) / np.linalg.norm(apart, axis=1)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_certificate_holds_for_all_pairs_of_the_vocabulary_and_noise_is_made_for_it(releases, plain, rows, mechanism):
    """By brute force. Fails for a Delta that is 10 % too small, in the certificate or in the noise alone."""
    run = releases[mechanism]
    [row], projection = run.rows("releases"), map_of(run)
    largest = stretches(projection, plain).max()
    spectral = np.linalg.svd(projection, compute_uv=False)[0]
    sensitivity = {"M2": 1.85, "M2 spectral": spectral}.get(mechanism, largest)
    slack = DELTA if mechanism == "gaussian" else 0.0  # whether a public map holds was looked at, and no chance is left
    assert row["sensitivity"] == pytest.approx(sensitivity, rel=1e-9)
    assert row["sensitivity"] >= largest
    assert (largest < 0.9999) == (mechanism in ("haar", "public_pca"))
    norm = np.linalg.norm(plain, axis=1).max()
    expected = certificate(row, projection, EPSILON, DELTA, slack, norm, plain, is_private=False)
    expected |= {"num_rows": len(SECRETS), "num_named": len(SECRETS), "num_words": NUM_WORDS, "num_draws": 50}
    expected |= {"radius": None}
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    radii = np.linalg.norm(given_by(run) - plain[rows] @ projection.T, axis=1)
    law = stats.gamma(len(projection), scale=sensitivity / EPSILON)
    if mechanism == "gaussian":
        diameter = np.linalg.norm(plain[:, None] - plain, axis=2).max()
        assert gaussian_epsilon_of(DELTA, diameter, row["scale"]) == pytest.approx(EPSILON * diameter)
        law = stats.chi(WIDTH, scale=row["scale"])
    assert stats.kstest(radii, law.cdf).pvalue > 1e-6
    assert {row["verdict"] for row in run.rows("release_audits")} == {"within"}


def test_noise_is_of_each_occurrence_and_of_each_mechanism(releases, plain, rows):
    given = {name: given_by(run) for name, run in releases.items()}
    for table in given.values():
        assert len(np.unique(table, axis=0)) == len(SECRETS)
    drawn = {name: given[name] - plain[rows] @ map_of(releases[name]).T for name in ("M2", "M2 exact", "M2 spectral")}
    directions = [noise / np.linalg.norm(noise, axis=1, keepdims=True) for noise in drawn.values()]
    cosines = [(directions[number - 1] * directions[number]).sum(axis=1).mean() for number in range(3)]
    assert max(map(abs, cosines)) < 6 / (KEPT * len(SECRETS)) ** 0.5


@pytest.mark.parametrize("mechanism", ["M2 exact", "gaussian"])
def test_a_release_says_what_an_attacker_names(releases, plain, rows, mechanism):
    """By the table, and by hand: the nearest image of each released row; all words are released anew."""
    run = releases[mechanism]
    [row], projection = run.rows("releases"), map_of(run)
    images, given = plain @ projection.T, given_by(run)
    nearest = np.linalg.norm(given[:, None] - images, axis=2).argmin(axis=1)
    assert row["named"] == pytest.approx((nearest == rows).mean())
    shape, rng = (NUM_WORDS, 200, len(projection)), np.random.default_rng(0)
    noise = rng.standard_normal(shape) * row["scale"]
    if mechanism != "gaussian":
        noise *= rng.gamma(KEPT, size=shape[:2])[..., None] / np.linalg.norm(noise, axis=2, keepdims=True)
        noise *= row["scale"]
    anew = np.linalg.norm((images[:, None] + noise)[:, :, None] - images, axis=3).argmin(axis=2)
    share = (anew == np.arange(NUM_WORDS)[:, None]).mean()
    assert row["attacker"] == pytest.approx(share, abs=6 * (share * (1 - share) / (50 * NUM_WORDS)) ** 0.5)
    caps = 1 / np.exp(-np.linalg.norm(images[:, None] - images, axis=2) / row["scale"]).sum(axis=1)
    known = (None, None) if mechanism == "gaussian" else pytest.approx((caps.mean(), caps.max()))
    assert (row["cap_mean"], row["cap_largest"]) == known
    page = (run.path / "report.html").read_text()
    assert "WARNING: near vectors have an exact epsilon of" in page
    bound = f"epsilon {EPSILON:g} per unit of distance up to the largest that there may be, with a slack"
    assert (f"{bound}." in page) == (mechanism == "gaussian")


def test_intervals_of_an_attacker_are_as_wide_as_is_asked_for(releases, run_here, private, folder):
    """The same release, which is neither drawn nor spent again."""
    more = ["job.level=0.5", f"run_dir={folder}/narrower"]
    again = run_here(*private("words M2 exact", "M2 exact", *more)).rows("releases")[0]
    [row] = releases["M2 exact"].rows("releases")
    kept = ("attacker", "named", "spent", "num_releases")
    assert [again[name] for name in kept] == [row[name] for name in kept]
    assert row["attacker_low"] < again["attacker_low"] < row["attacker"] < again["attacker_high"] < row["attacker_high"]
    assert 2 < (row["attacker_high"] - row["attacker_low"]) / (again["attacker_high"] - again["attacker_low"]) < 4


def test_the_order_and_choice_of_private_words_are_left_nowhere(releases, folder):
    content = (folder / "private.txt").read_bytes()
    planted = [KEY, KEY.hex().encode(), content, b"unknownsecret", b"planted3\nplanted41"]
    planted += [kind(content).hexdigest().encode() for kind in (hashlib.sha256, hashlib.md5, hashlib.blake2b)]
    assert left(folder, ["words_M2_exact", "words_M2_exact_run"], planted) == []


def test_a_published_map_that_breaks_its_promise_releases_nothing(run_here, private, folder, plain):
    with pytest.raises(InputError, match=r"release.mechanism=M2: promises nothing, .* by 1.840, and 1 \+ beta is 1.8"):
        run_here(*private("broken", "M2", "beta=0.8"))
    assert not (folder / "broken" / "accounts").exists()
