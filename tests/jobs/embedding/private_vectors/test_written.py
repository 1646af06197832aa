"""What a release writes of private vectors, by planted rows: two releases, changed keys, more than one block, and what
its certificate and its audit say.

Each test fails where one of the mistakes is made that would leave a release without its privacy.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tests.jobs.embedding.private_vectors.expected import (
    KEY,
    SEED,
    WIDTH,
    audit,
    certificate,
    exact_privacy,
    given_by,
    map_of,
    settings,
)
from tiltmeter.cluster.start import Workers
from tiltmeter.jobs.embedding.private_vectors import audits
from tiltmeter.jobs.embedding.private_vectors.tables import ReleaseAudits
from tiltmeter.operators.embedding.private_release import residuals
from tiltmeter.operators.embedding.private_release.profile import gaussian_epsilon_of
from tiltmeter.operators.embedding.private_release.secrets import BLOCK_ROWS, noisy_rows
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.storage.errors import InputError, Refusal

NUM, KEPT, RADIUS, EPSILON, DELTA = 2 * BLOCK_ROWS + 100, 10, 3.0, 2.0, 1e-7
NUM_TRIED, NUM_DRAWS = 40, 30
BEYOND_CHANCE = 6.0
"""Standard deviations."""
GIVEN = [
    *(f"seed={SEED}", f"release.radius={RADIUS}", "embedding.format=word2vec_binary"),
    *("release.mechanism='M2 spectral'", f"dimensions={KEPT}", f"deltas=[{DELTA},1e-4]"),
    *(f"deniability.words={NUM_TRIED}", f"deniability.draws={NUM_DRAWS}"),
]


@pytest.fixture(scope="module")
def planted(folder, write_vectors):
    """Rows of three blocks, most beyond the radius and some within; the last ten are the first again."""
    rows = np.random.default_rng(3).standard_normal((NUM, WIDTH)).astype(np.float32)
    rows *= np.where(np.arange(NUM) % 3, 20, 0.4)[:, None].astype(np.float32)
    rows[-10:] = rows[:10]
    write_vectors(folder / "planted.bin", [f"row{number}" for number in range(NUM)], rows)
    return rows.astype(np.float64)


@pytest.fixture(scope="module")
def shortened(planted):
    return planted * np.minimum(1, RADIUS / np.linalg.norm(planted, axis=1, keepdims=True))


KINDS = {
    "one": ["key", EPSILON, "a"],
    "name": ["key", EPSILON, "b"],
    "key": ["other_key", EPSILON, "a"],
    "epsilon": ["key", 3.0, "a"],
    "normal": ["key", EPSILON, "a", "release.mechanism=gaussian"],
    "haar": ["key", EPSILON, "a", "release.mechanism=haar"],
}


@pytest.fixture(scope="module")
def releases(run_here, folder, planted):
    """One, and the same by another name, with another key, at another epsilon, by other mechanisms; each has a store
    and an account of its own."""
    return {
        kind: run_here(
            *settings(folder, f"written_{kind}", *GIVEN, *more, file="planted.bin"),
            *(f"release.key_file={folder}/{key}", f"release.epsilon={epsilon}", f"release.name={name}"),
        )
        for kind, (key, epsilon, name, *more) in KINDS.items()
    }


@pytest.fixture(scope="module")
def noise(releases, shortened):
    """What was really added, in units of its scale by the certificate: of the map, the radius and epsilon."""
    residuals = {}
    for kind in ("one", "name", "key", "epsilon", "haar"):
        projection = map_of(releases[kind])
        assert projection.shape == (KEPT, WIDTH)
        scale = np.linalg.svd(projection, compute_uv=False)[0] / KINDS[kind][1]
        residuals[kind] = (given_by(releases[kind]) - shortened @ projection.T) / scale
    return residuals


def correlation(first, second):
    """Of the noise of paired rows, in standard deviations: 0 but for chance where they are independent."""
    cosines = (first * second).sum(axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    return float(cosines.sum() * (KEPT / len(cosines)) ** 0.5)


@pytest.mark.once("private_vectors")
def test_noise_has_the_law_of_its_certificate_around_shortened_rows(noise):
    """Fails for a Delta that is too small, for `M2 spectral` with Delta = 1, and where the radius is ignored."""
    for residual in noise.values():
        assert stats.kstest(np.linalg.norm(residual, axis=1), stats.gamma(KEPT).cdf).pvalue > 1e-6


@pytest.mark.parametrize("kind", ["name", "key", "epsilon", "haar"])
def test_two_releases_of_the_same_rows_share_no_noise(noise, kind):
    """Fails for noise from the key alone, for equal seeds, and for a generator that heeds no key."""
    assert not (noise["one"] == noise[kind]).all(axis=1).any()
    assert abs(correlation(noise["one"], noise[kind])) < BEYOND_CHANCE


def test_every_block_of_rows_has_noise_of_its_own(noise):
    """Fails where block 0's noise is added in every block."""
    residual = noise["one"]
    for first, second in combinations((residual[k * BLOCK_ROWS : k * BLOCK_ROWS + 100] for k in range(3)), 2):
        assert abs(correlation(first, second)) < BEYOND_CHANCE
    assert len(np.unique(residual.round(6), axis=0)) == NUM


@pytest.mark.parametrize("kind", ["one", "epsilon", "normal", "haar"])
def test_a_certificate_says_what_follows_from_the_settings_and_the_map(releases, shortened, kind):
    run, epsilon = releases[kind], KINDS[kind][1]
    [row], projection = run.rows("releases"), map_of(run)
    slack, sensitivity = DELTA if kind == "normal" else 0.0, np.linalg.svd(projection, compute_uv=False)[0]
    expected = certificate(row, projection, epsilon, DELTA, slack, RADIUS, shortened[:-10], is_private=True)
    expected |= {"max_epsilon": 10.0, "max_delta": 1e-5, "radius": RADIUS, "num_rows": NUM, "num_named": 1000}
    expected |= {"num_words": NUM_TRIED, "num_draws": NUM_DRAWS, "sensitivity": pytest.approx(sensitivity)}
    assert (sensitivity > 1.5) == (kind in ("one", "epsilon"))
    if kind == "normal":
        assert gaussian_epsilon_of(DELTA, 2 * RADIUS, row["scale"]) == pytest.approx(epsilon * 2 * RADIUS)
    else:
        expected["scale"] = pytest.approx(sensitivity / epsilon)
    assert {name: row[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["one", "normal", "haar"])
def test_the_job_finds_its_own_releases_as_they_should_be(releases, shortened, kind):
    """It compares all that a release may share noise with, and finds the largest singular value by itself."""
    run = releases[kind]
    [release], projection = run.rows("releases"), map_of(run)
    rows = {row["check"]: row for row in run.rows("release_audits")}
    assert rows.keys() == {"radius", "rows", "blocks", "another_name", "another_key", "stretch"}
    assert {(row["verdict"], row["level"]) for row in rows.values()} == {("within", 1e-5)}
    known = audit(release, given_by(run) - shortened @ projection.T, rows["stretch"]["value"])
    for name, (value, expected, num, p_value) in known.items():
        assert (rows[name]["value"], rows[name]["expected"]) == pytest.approx((value, expected), abs=1e-9)
        assert num is None or rows[name]["num_compared"] == num
        assert rows[name]["p_value"] == (p_value if p_value is None else pytest.approx(p_value))
    by_chance = [row for name, row in rows.items() if name != "stretch"]
    assert [row["p_holm"] for row in by_chance] == pytest.approx(holm(np.array([row["p_value"] for row in by_chance])))
    assert {rows[name]["num_compared"] for name in ("another_name", "another_key")} == {NUM}
    assert 0.8 * release["sensitivity"] < rows["stretch"]["value"] <= release["sensitivity"] * (1 + 1e-9)


def test_a_release_that_is_not_what_it_says_is_found_out(releases, shortened, monkeypatch):
    """By its own audit, for each of what a certificate and a key say."""
    run = releases["one"]
    [row], projection = run.rows("releases"), map_of(run)
    about = {"name": "a", "law": "norm", "scale": row["scale"], "step": row["step"]}
    secret = type("Secret", (), {"about": about, "projection": projection})()
    images = shortened @ projection.T
    subject = audits._Subject(secret, shortened, images, images)
    sound, reused = given_by(run), noisy_rows(images, KEY, about, 0)
    block = np.tile(sound[:BLOCK_ROWS] - images[:BLOCK_ROWS], (3, 1))[:NUM] + images
    neighbours = np.repeat((sound - images)[::2], 2, axis=0) + images
    said = row | {"reach": 0.0}

    def wrong(vectors, **changed):
        rows = audits._checks(subject, KEY, said | changed, vectors)
        return {row.check for row in rows if row.verdict != "within"}

    assert wrong(sound) == set()
    assert wrong(sound, epsilon=1.1 * EPSILON) == wrong(sound, epsilon=EPSILON / 1.1) == {"radius"}
    assert wrong(sound, sensitivity=0.7 * row["sensitivity"]) == {"radius", "stretch"}
    assert wrong(block) == {"blocks"}
    assert wrong(neighbours) == {"rows"}
    forgetful = {
        "another_name": lambda images, key, _, start: noisy_rows(images, key, about, start),
        "another_key": lambda images, _, named, start: noisy_rows(images, KEY, named, start),
    }
    for name, writing in forgetful.items():
        monkeypatch.setattr(residuals, "noisy_rows", writing)
        assert wrong(reused) == {name}


def test_what_stands_in_the_way_of_giving_it_away_is_said():
    sound, named = {"exact_nearest": 1.0}, {"named": 0.5}
    assert audits._warning(sound, named, [ReleaseAudits(check="rows", verdict="within")]) == ""
    wrong = [ReleaseAudits(check="rows", verdict="bad")]
    warnings = audits._warning({"exact_nearest": 1.01}, {"named": 0.51}, wrong)
    assert [part[:28] for part in warnings.split("; ")] == [
        "it is not what it says (rows",
        "near vectors have an exact e",
        "an attacker who knows the vo",
    ]


def test_a_release_is_refused_where_near_vectors_would_be_told_apart_by_more_than_is_allowed(run_here, folder, vectors):
    made = {"delta": 0.0, "scale": 1 / 20, "sensitivity": 1.0}
    exact = exact_privacy(made, np.eye(WIDTH), vectors.astype(np.float64), 1e-6, is_private=True)["exact_nearest"]
    given = ["seed=7", f"release.key_file={folder}/key", "release.epsilon=20", "release.max_epsilon=20"]
    [row] = run_here(*settings(folder, "far", *given, f"release.max_exact_epsilon={1.01 * exact}")).rows("releases")
    assert row["exact_nearest"] == pytest.approx(exact)
    with pytest.raises(Refusal, match=r"^release.epsilon=20: .* more than release.max_exact_epsilon="):
        run_here(*settings(folder, "near", *given, f"release.max_exact_epsilon={0.99 * exact}"))
    assert not (folder / "near" / "accounts").exists()


def test_a_key_that_a_node_lacks_is_noticed_before_anything_is_spent(run_here, folder, monkeypatch):
    def others(_, question):
        return {"here": question(), "there": "release.key_file=key: there is no such file", "far": "0" * 64}

    monkeypatch.setattr(Workers, "ask_nodes", others)
    given = [f"release.key_file={folder}/key", "release.epsilon=1"]
    with pytest.raises(InputError, match=r"nothing was spent:\n  node there: .* no such file\n  node far: has another"):
        run_here(*settings(folder, "nodes", *given))
    assert not (folder / "nodes" / "accounts").exists()
