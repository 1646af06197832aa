"""Release mode: what is given away, what is not, what is spent, and at any layout."""

import hashlib
import random
import time

import numpy as np
import pytest

from tests.jobs.embedding.private_vectors.leaks import left
from tests.jobs.embedding.private_vectors.places import KEY, NUM_WORDS, WIDTH, settings
from tiltmeter.jobs.embedding.private_vectors.sources import _Proof, find_sources
from tiltmeter.operators.embedding.private_release.profile import gaussian_epsilon_of
from tiltmeter.operators.embedding.private_release.secrets import keyed_digest
from tiltmeter.storage.errors import InputError, Refusal

TEN = "release.epsilon=10"


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
    table = np.array(released.table("released")["vector"].to_pylist())
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
    for secret in [content, *(word.encode() for word in words), *(row.tobytes() for row in vectors)]:
        digests = [hashlib.sha256(secret), hashlib.md5(secret), hashlib.blake2b(secret), hashlib.sha1(secret)]
        planted += [digest.hexdigest().encode() for digest in digests]
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
    for secret in [
        *(f"secret{row}".encode() for row in range(0, NUM_ROWS, 50)),
        *(row.tobytes() for row in large[::50]),
    ]:
        planted += [kind(secret).hexdigest().encode() for kind in (hashlib.sha256, hashlib.md5)]
    assert left(folder, ["killed", "killed_run", "large4", "large4_run"], planted) == []
    assert not any(secret in (output + errors) for secret in ("secret1", "secret49999", KEY.hex()))
