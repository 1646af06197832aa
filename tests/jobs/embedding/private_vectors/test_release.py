"""Release mode: what is given away, what is not, and at any layout."""

import hashlib
import random
import time

import numpy as np
import pytest

from tests.jobs.embedding.private_vectors.places import KEY, NUM_WORDS, WIDTH, settings
from tiltmeter.jobs.embedding.private_vectors.release.mechanism import ReleaseMechanism, for_any_vectors
from tiltmeter.operators.embedding.private_release.composition import Promise
from tiltmeter.operators.embedding.private_release.mechanisms import Specification, exact_epsilon
from tiltmeter.operators.embedding.private_release.profile import gaussian_epsilon_of
from tiltmeter.operators.embedding.private_release.secrets import grid_step, off_grid_chance
from tiltmeter.storage.errors import InputError, Refusal

TEN = "release.epsilon=10"


def left(folder, places, planted):
    """Files that hold any of what was planted."""
    files = [path for place in places for path in (folder / place).rglob("*") if path.is_file()]
    assert len(files) > 5
    return [str(path) for path in files if any(secret in path.read_bytes() for secret in planted)]


@pytest.fixture(scope="module")
def released(run_job, folder):
    return run_job("job=private_vectors", *settings(folder, "given", f"release.key_file={folder}/key", TEN))


def test_released_vectors_are_on_the_grid_near_the_true_ones(released, vectors):
    [release] = released.rows("releases")
    table = np.array(released.table("released")["vector"].to_pylist())
    assert table.shape == (NUM_WORDS, WIDTH)
    assert (table / release["step"] == np.rint(table / release["step"])).all()
    radii = np.linalg.norm(table - vectors, axis=1)
    assert radii.mean() == pytest.approx(WIDTH * release["scale"], rel=0.2)


def test_a_release_publishes_what_it_gives_away_and_promises_and_no_draws(released):
    assert released.published == {"released", "releases", "release_audits"}


def test_nothing_of_the_vectors_is_left_anywhere(released, folder, words, vectors):
    """Words, their digests and those of the file and its rows, rows as bytes, and the key."""
    content = (folder / "vectors.bin").read_bytes()
    planted = [KEY, KEY.hex().encode(), content, *(word.encode() for word in words)]
    planted += [row.tobytes() for row in (*vectors, *vectors.astype(np.float64))]
    for secret in [content, *(word.encode() for word in words), *(row.tobytes() for row in vectors)]:
        digests = [hashlib.sha256(secret), hashlib.md5(secret), hashlib.blake2b(secret), hashlib.sha1(secret)]
        planted += [digest.hexdigest().encode() for digest in digests]
    assert left(folder, ["given", "given_run"], planted) == []


def test_a_release_again_has_the_same_bits_and_spends_nothing(run_job, released, folder):
    workers = [f"release.key_file={folder}/key", "cluster.num_cpus=2", TEN]
    again = run_job("job=private_vectors", *settings(folder, "again", *workers))
    assert again.digests["released"] == released.digests["released"]
    twice = run_job(
        "job=private_vectors",
        f"embedding.path={folder}/vectors.bin",
        f"store={folder}/given",
        f"run_dir={folder}/twice",
        f"release.key_file={folder}/key",
        TEN,
    )
    assert twice.rows("releases")[0]["spent"] == 10.0


def test_a_release_past_its_account_is_refused(run_job, released, folder):
    other = [f"release.key_file={folder}/key", "release.name=other", "release.epsilon=1.0"]
    with pytest.raises(Refusal, match=r"release.epsilon=1: .* more than release.max_epsilon=10"):
        run_job("job=private_vectors", *settings(folder, "given", *other))


def test_releases_of_unlike_noise_are_spent_from_one_account(run_job, folder):
    """Epsilons and slacks add up; normal noise composes by the root of its squares."""
    key = f"release.key_file={folder}/key"
    normal = ["release.mechanism=gaussian", "release.radius=5", "release.epsilon=1"]
    given = [key, "release.max_epsilon=4"]
    first = run_job("job=private_vectors", *settings(folder, "both", *given, "release.epsilon=2"))
    assert (first.rows("releases")[0]["spent"], first.rows("releases")[0]["spent_delta"]) == (2.0, 0.0)
    rows = []
    for name in ("one", "two"):
        run = run_job("job=private_vectors", *settings(folder, "both", *given, *normal, f"release.name={name}"))
        rows += run.rows("releases")
    assert [row["num_releases"] for row in rows] == [2, 3]
    assert [row["spent_delta"] for row in rows] == pytest.approx([1e-6, 2e-6])
    assert rows[0]["spent"] == pytest.approx(3.0)
    together = gaussian_epsilon_of(2e-6, 10 * 2**0.5 / rows[0]["scale"], 1.0) / 10
    assert rows[1]["spent"] == pytest.approx(2 + together)
    assert 1.4 < together < 2
    with pytest.raises(Refusal, match=r"release.epsilon=1: .* or than release.max_delta=2e-06"):
        run_job(
            "job=private_vectors",
            *settings(folder, "both", *given, *normal, "release.max_delta=2e-6", "release.name=b"),
        )


@pytest.mark.parametrize("epsilon", ["1e20", "1e-320", "1e-300"])
def test_noise_that_no_double_holds_beside_the_vectors_is_refused_before_anything_is_spent(run_job, folder, epsilon):
    given = [
        f"release.key_file={folder}/key",
        f"release.epsilon={epsilon}",
        "release.max_epsilon=1e20",
        "release.most_epsilon=1e30",
    ]
    with pytest.raises(InputError, match=r"^release.epsilon=.*: no double holds"):
        run_job("job=private_vectors", *settings(folder, f"fine{epsilon}", *given))
    assert not (folder / f"fine{epsilon}" / "accounts").exists()


def test_more_rows_are_never_released_than_were_asked_for(configured, folder):
    """The first words of a vocabulary are no choice of private vectors: all of these are given away."""
    given = settings(folder, "x", f"release.key_file={folder}/key", "vocabulary.words=5", TEN)
    with pytest.raises(Refusal, match=r"^vocabulary.words=5: all vectors of embedding.path are released"):
        configured("job=private_vectors", *given)
    configured("job=private_vectors", *given, "release.words=words.txt")


@pytest.mark.parametrize("law", ["norm", "gaussian"])
def test_rounding_is_bounded_by_the_longest_row_of_the_map(law):
    """A certified stretch of distances says nothing of the terms of a coordinate."""
    rows = np.array([[3.0, 4.0], [0.0, 1.0]])
    made = Specification(law, 2, sensitivity=1.2, scale=1e-3)
    mechanism = ReleaseMechanism(rows, made, Promise(1.0, 0.0), "", norm=7.0)
    terms = np.abs(rows * np.array([0.6, 0.8]) * 7.0).sum(axis=1).max()
    chance = off_grid_chance(2, terms, grid_step(made.deviation), 2)
    assert mechanism.rounding(100, 2) >= 100 * chance
    assert mechanism.rounding(100, 2) < 110 * chance
    assert mechanism._replace(norm=None).rounding(100, 2) is None


def test_normal_noise_is_as_private_as_its_epsilon_says_per_unit_of_distance(configured, folder):
    given = ["release.mechanism=gaussian", "release.radius=2.5", "release.epsilon=1", f"release.key_file={folder}/key"]
    made = for_any_vectors(configured("job=private_vectors", *settings(folder, "x", *given)), WIDTH).specification
    losses = [exact_epsilon(made, distance, 1e-6) / distance for distance in (0.5, 2.0, 4.0, 5.0)]
    assert losses[-1] == pytest.approx(1.0)
    assert all(loss < 1 for loss in losses[:-1])


def refusal(configured, folder, *more):
    from tiltmeter.jobs.embedding.private_vectors.sources import find_sources

    find_sources(configured("job=private_vectors", *settings(folder, "refused", TEN, *more)))


def test_keys_that_are_not_safe_are_refused(configured, folder, tmp_path):
    for name, mode, content, message in [
        ("open", 0o644, KEY, "may be read or written by others"),
        ("short", 0o600, b"abc", "has 3 bytes, and must have 32"),
        ("zeros", 0o600, bytes(32), "which are not random"),
    ]:
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(mode)
        with pytest.raises(InputError, match=message):
            refusal(configured, folder, f"release.key_file={tmp_path}/{name}")
    with pytest.raises(InputError, match="there is no such file"):
        refusal(configured, folder, f"release.key_file={tmp_path}/absent")
    inside = folder / "refused"
    inside.mkdir(exist_ok=True)
    (inside / "key").write_bytes(KEY)
    (inside / "key").chmod(0o600)
    with pytest.raises(InputError, match="lies inside store="):
        refusal(configured, folder, f"release.key_file={inside}/key")


# --- words of a public vocabulary -----------------------------------------------------------------------------------


SECRETS = ["unknownsecret", "planted3", "planted3", "planted41", "anothersecret", "planted0"]


@pytest.fixture(scope="module")
def private_words(folder):
    (folder / "private.txt").write_text("\n".join(SECRETS) + "\n")
    return f"release.words={folder}/private.txt"


@pytest.fixture(scope="module")
def released_words(run_job, folder, private_words):
    of_words = [f"release.key_file={folder}/key", private_words, "release.mechanism='M2 exact'", "dimensions=4"]
    return run_job("job=private_vectors", *settings(folder, "words", "release.epsilon=9", *of_words))


def test_words_of_a_public_vocabulary_are_released_with_a_certified_map(released_words, vectors):
    [release] = released_words.rows("releases")
    assert (release["num_rows"], release["dimensions"], release["delta"]) == (len(SECRETS), 4, 0.0)
    assert release["sensitivity"] < 1.9
    assert 0 < release["rounding_delta"] < 1e-6
    table = np.array(released_words.table("released")["vector"].to_pylist())
    assert table.shape == (len(SECRETS), 4)
    assert not (table[1] == table[2]).any()  # noise for each occurrence, not for each word


def test_the_order_and_choice_of_private_words_are_left_nowhere(released_words, folder):
    content = (folder / "private.txt").read_bytes()
    planted = [KEY, KEY.hex().encode(), content, b"unknownsecret", b"anothersecret", b"planted3\nplanted41"]
    planted += [kind(content).hexdigest().encode() for kind in (hashlib.sha256, hashlib.md5, hashlib.blake2b)]
    assert left(folder, ["words", "words_run"], planted) == []


@pytest.mark.parametrize("mechanism", ["M1", "M2", "haar", "public_pca", "gaussian"])
def test_every_mechanism_of_a_public_vocabulary_can_release_its_words(run_job, folder, private_words, mechanism):
    of_words = [f"release.key_file={folder}/key", private_words, f"release.mechanism={mechanism}", "dimensions=4", TEN]
    run = run_job("job=private_vectors", *settings(folder, f"words_{mechanism}", *of_words))
    [release] = run.rows("releases")
    # The map of M2 is public, and holds for the vocabulary or not: what was looked at is left to no chance.
    assert (release["delta"] > 0) == (mechanism == "gaussian")
    assert len(run.rows("released")) == len(SECRETS)
    page = (folder / f"words_{mechanism}_run" / "report.html").read_text()
    bound = "per unit of distance up to the largest that there may be, with a slack"
    assert (f"epsilon 10 {bound}." in page) == (mechanism == "gaussian")
    assert "epsilon 10 per unit of distance" in page


def test_a_published_map_that_breaks_its_promise_releases_nothing(run_job, folder, private_words):
    """The map to 6 dimensions of this seed stretches a pair by 1.919."""
    of_words = [f"release.key_file={folder}/key", private_words, "release.mechanism=M2", "dimensions=6", TEN]
    with pytest.raises(InputError, match=r"release.mechanism=M2: promises nothing, .* by 1.919, and 1 \+ beta is 1.9"):
        run_job("job=private_vectors", *settings(folder, "broken", *of_words))
    assert not (folder / "broken" / "accounts").exists()


def test_a_radius_is_refused_for_words(configured, folder):
    with pytest.raises(Refusal, match=r"release.radius=2: is for private vectors"):
        configured("job=private_vectors", *settings(folder, "x", "release.words=a.txt", "release.radius=2", TEN))


# --- layouts and deaths ---------------------------------------------------------------------------------------------


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
    runs = [
        run_job("job=private_vectors", *large_settings(folder, f"large{num}", f"cluster.num_cpus={num}"))
        for num in (1, 2, 4)
    ]
    assert len({run.digests["released"] for run in runs}) == 1
    command = ["job=private_vectors", *large_settings(folder, "killed", "cluster.num_cpus=2")]
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
