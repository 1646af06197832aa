"""Release mode: what is given away of vectors and of words, what is not, what is spent, and at any layout."""

import hashlib
import random
import time

import numpy as np
import pytest
from scipy import stats

from tests.jobs.embedding.private_vectors.expected import (
    KEY,
    NUM_WORDS,
    SEED,
    WIDTH,
    certificate,
    given_by,
    left,
    map_of,
    settings,
    stretches,
)
from tiltmeter.jobs.embedding.private_vectors.sources import _Proof, find_sources
from tiltmeter.operators.embedding.private_release.profile import gaussian_epsilon_of
from tiltmeter.operators.embedding.private_release.secrets import keyed_digest
from tiltmeter.storage.errors import InputError, Refusal

TEN = "release.epsilon=10"


def digests(secrets, *kinds):
    return [kind(secret).hexdigest().encode() for kind in kinds for secret in secrets]


@pytest.fixture(scope="module")
def given(folder):
    """Settings of a release by the key."""
    return lambda name, *more: settings(folder, name, f"release.key_file={folder}/key", *more)


@pytest.fixture(scope="module")
def released(run_here, given):
    return run_here(*given("given", TEN))


def test_released_vectors_are_on_the_grid_near_the_true_ones_and_no_draws_are_published(released, vectors):
    assert released.published == {"released", "releases", "release_audits"}
    [release] = released.rows("releases")
    table = given_by(released)
    assert table.shape == (NUM_WORDS, WIDTH)
    assert released.table("released")["row"].to_pylist() == [*range(NUM_WORDS)]
    assert (table / release["step"] == np.rint(table / release["step"])).all()
    radii = np.linalg.norm(table - vectors, axis=1)
    assert radii.mean() == pytest.approx(WIDTH / 10, rel=0.2)
    assert (release["radius"], release["rounding_delta"]) == (None, None)


def test_nothing_of_the_vectors_is_left_anywhere(released, folder, words, vectors):
    """Words, their digests and those of the file and its rows, rows as bytes, and the key."""
    content = (folder / "vectors.bin").read_bytes()
    planted = [KEY, KEY.hex().encode(), content, *(word.encode() for word in words)]
    planted += [row.tobytes() for row in (*vectors, *vectors.astype(np.float64))]
    secrets = [content, *(word.encode() for word in words), *(row.tobytes() for row in vectors)]
    planted += digests(secrets, hashlib.sha256, hashlib.md5, hashlib.blake2b, hashlib.sha1)
    assert left(folder, ["given", "given_run"], planted) == []


def test_a_release_again_on_a_cluster_has_the_same_bits(run_job, released, given):
    again = run_job(*given("again", "cluster.num_cpus=2", TEN))
    assert again.digests["released"] == released.digests["released"]


def test_a_release_again_spends_nothing_and_one_past_its_account_is_refused(run_here, released, given, folder):
    twice = run_here(*given("given", TEN, f"run_dir={folder}/twice"))
    assert [twice.rows("releases")[0][name] for name in ("spent", "num_releases")] == [10.0, 1]
    with pytest.raises(Refusal, match=r"release.epsilon=1: .* more than release.max_epsilon=10"):
        run_here(*given("given", "release.name=other", "release.epsilon=1.0"))


def test_releases_of_unlike_noise_are_spent_from_one_account(run_here, given):
    """Epsilons and slacks add up; normal noise composes by the root of its squares; another input has its own."""
    normal = ["release.mechanism=gaussian", "release.radius=5", "release.epsilon=1"]
    both = [*given("both"), "release.max_epsilon=4"]
    [first] = run_here(*both, "release.epsilon=2").rows("releases")
    rows = [run_here(*both, *normal, f"release.name={name}").rows("releases")[0] for name in ("one", "two")]
    [elsewhere] = run_here(*both, "release.epsilon=3", "release.input=elsewhere").rows("releases")
    assert [row["num_releases"] for row in (first, *rows, elsewhere)] == [1, 2, 3, 1]
    assert [row["input"] for row in (first, elsewhere)] == ["vectors", "elsewhere"]
    assert [row["release"] for row in (first, *rows)] == ["release", "one", "two"]
    assert [row["spent_delta"] for row in (first, *rows, elsewhere)] == pytest.approx([0.0, 1e-6, 2e-6, 0.0])
    together = gaussian_epsilon_of(2e-6, 10 * 2**0.5 / rows[0]["scale"], 1.0) / 10
    assert [row["spent"] for row in (first, *rows, elsewhere)] == pytest.approx([2, 3, 2 + together, 3])
    assert 1.4 < together < 2
    assert {(row["max_epsilon"], row["max_delta"]) for row in rows} == {(4.0, 1e-5)}
    with pytest.raises(Refusal, match=r"release.epsilon=1: .* or than release.max_delta=2e-06"):
        run_here(*both, *normal, "release.max_delta=2e-6", "release.name=b")


@pytest.mark.parametrize("epsilon", ["1e20", "1e-320", "1e-300"])
def test_noise_that_no_double_holds_beside_the_vectors_is_refused_before_anything_is_spent(
    run_here, given, folder, epsilon
):
    more = [f"release.epsilon={epsilon}", "release.max_epsilon=1e20", "release.max_exact_epsilon=1e30"]
    with pytest.raises(InputError, match=r"^release.epsilon=.*: no double holds"):
        run_here(*given(f"fine{epsilon}", *more))
    assert not (folder / f"fine{epsilon}" / "accounts").exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "mode", "content", "message"),
    [
        *((f"open to {bit:o}", 0o600 | bit, KEY, "may be read or written by others") for bit in (32, 16, 8, 4, 2, 1)),
        ("short", 0o600, b"abc", "has 3 bytes, and must have 32"),
        ("zeros", 0o600, bytes(32), "which are not random"),
        ("absent", None, None, "there is no such file"),
        ("store/key", 0o600, KEY, "lies inside store="),
        ("run/key", 0o600, KEY, "lies inside run_dir="),
    ],
)
def test_keys_that_are_not_safe_are_refused(configured, folder, tmp_path, place, mode, content, message):
    if mode:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(content)
        (tmp_path / place).chmod(mode)
    where = [f"store={tmp_path}/store", f"run_dir={tmp_path}/run", f"release.key_file={tmp_path}/{place}"]
    with pytest.raises(InputError, match=message):
        find_sources(configured(*settings(folder, "refused", TEN, *where)))


def test_a_node_proves_that_it_has_the_key_where_nobody_else_can_read_it(tmp_path):
    proof = _Proof(tmp_path / "key", "challenge")
    assert "there is no such file" in proof()
    proof.path.write_bytes(KEY)
    proof.path.chmod(0o640)
    assert proof().endswith(f"run chmod 600 {proof.path}")
    proof.path.chmod(0o600)
    assert proof() == keyed_digest(KEY, {"challenge": "challenge"}).hex()


# --- words of a public vocabulary, with maps that are certified for it ------------------------------------------------

SECRETS = ["unknownsecret", "planted3", "planted3", "planted41", *("anothersecret", "planted7", "planted8") * 300]
"""Words without a vector, words that come again, and three that come often."""

EPSILON, KEPT, DELTA = 2.0, 6, 1e-7
GIVEN = [f"seed={SEED}", f"deltas=[{DELTA},1e-4]", f"dimensions={KEPT}", f"vocabulary.words={NUM_WORDS}", "beta=0.85"]
GIVEN += ["embedding.format=parquet"]
MECHANISMS = ("M2", "M2 exact", "M2 spectral", "public_pca", "gaussian")


@pytest.fixture(scope="module")
def private(folder, words, vectors, write_vectors):
    """Settings of a release of these words; behind the words of the vocabulary the file has others, far out."""
    (folder / "private.txt").write_text("\n".join(SECRETS) + "\n")
    far = 90 * np.ones((3, WIDTH), np.float32)
    names = [*words, "anothersecret", "far", "farther"]
    write_vectors(folder / "more.dat", names, np.concatenate([vectors, far]), "parquet")

    def given(name, mechanism, *more):
        release = [f"release.words={folder}/private.txt", f"release.mechanism='{mechanism}'"]
        release += [f"release.key_file={folder}/key", f"release.epsilon={EPSILON}"]
        return settings(folder, name.replace(" ", "_"), *GIVEN, *release, *more, file="more.dat")

    return given


@pytest.fixture(scope="module")
def releases(run_here, private):
    return {name: run_here(*private(f"words {name}", name)) for name in MECHANISMS}


@pytest.fixture(scope="module")
def rows(words, plain):
    """Of the secrets in the vocabulary; those without a vector are the word nearest to the mean."""
    middle = np.linalg.norm(plain - plain.mean(axis=0), axis=1).argmin()
    return np.array([words.index(word) if word in words else middle for word in SECRETS])


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
    assert (largest < 0.9999) == (mechanism == "public_pca")
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
    planted += digests([content], hashlib.sha256, hashlib.md5, hashlib.blake2b)
    assert left(folder, ["words_M2_exact", "words_M2_exact_run"], planted) == []


def test_a_published_map_that_breaks_its_promise_releases_nothing(run_here, private, folder, plain):
    with pytest.raises(InputError, match=r"release.mechanism=M2: promises nothing, .* by 1.840, and 1 \+ beta is 1.8"):
        run_here(*private("broken", "M2", "beta=0.8"))
    assert not (folder / "broken" / "accounts").exists()


# --- kills ------------------------------------------------------------------------------------------------------------

NUM_ROWS, NUM_KILLS = 50_000, 20


@pytest.fixture(scope="module")
def large(folder, write_vectors):
    rows = np.random.default_rng(8).standard_normal((NUM_ROWS, WIDTH)).astype(np.float32)
    write_vectors(folder / "large.bin", [f"secret{row}" for row in range(NUM_ROWS)], rows)
    return rows


def large_settings(folder, name, *more):
    return settings(folder, name, f"release.key_file={folder}/key", TEN, *more, file="large.bin")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_bits_are_the_same_at_any_layout_and_after_kills_and_nothing_is_left(
    run_job, tiltmeter, outcome_of, folder, large
):
    runs = [run_job(*large_settings(folder, f"large{num}", f"cluster.num_cpus={num}")) for num in (1, 2, 4)]
    assert len({run.digests["released"] for run in runs}) == 1
    command = large_settings(folder, "killed", "cluster.num_cpus=2")
    longest, num_whole = 12.0, 0
    for _ in range(NUM_KILLS):
        process = tiltmeter(*command)
        time.sleep(random.uniform(0.5, longest))
        num_whole += process.poll() is not None
        process.kill()
        process.communicate()
    output, errors = tiltmeter(*command).communicate(timeout=600)
    outcome = outcome_of(folder / "killed_run")
    assert outcome.digests["released"] == runs[0].digests["released"], errors
    assert outcome.rows("releases")[0]["spent"] == 10.0
    print(f"{NUM_KILLS - num_whole} of {NUM_KILLS} kills struck a run")
    planted = [KEY, KEY.hex().encode(), *(row.tobytes() for row in large[::50]), b"secret1", b"secret49999"]
    secrets = [*(f"secret{row}".encode() for row in range(0, NUM_ROWS, 50)), *(row.tobytes() for row in large[::50])]
    planted += digests(secrets, hashlib.sha256, hashlib.md5)
    assert left(folder, ["killed", "killed_run", "large4", "large4_run"], planted) == []
    assert not any(secret in (output + errors) for secret in ("secret1", "secret49999", KEY.hex()))
