"""Private texts: the exact law of the exponential mechanism, its exact losses, and what a release writes and leaves."""

import hashlib
from math import inf

import numpy as np
import pytest
from scipy import stats

from tests.jobs.embedding.private_vectors.expected import KEY, NUM_WORDS, SEED, left, settings
from tiltmeter.operators.embedding.private_release.word_laws import (
    Law,
    distances,
    draw_words,
    epsilon_of_loss,
    log_normalisers,
    losses,
    rounding_chance,
)
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.storage.errors import Refusal

EPSILON, GAMMA = 3.0, 3.5
NUM_TEXTS, LENGTH = 410, 9
LAWS = [Law(1.0), Law(EPSILON, GAMMA)]


def law_of(plain, epsilon, gamma):
    """By brute force, ``[x, y]``."""
    apart = np.linalg.norm(plain[:, None] - plain, axis=2)
    weights = np.exp(-epsilon * np.minimum(apart, gamma) / 2)
    return weights / weights.sum(axis=1, keepdims=True)


def largest_losses(rows):
    """Over all outputs, ``[x, x']``."""
    return np.log(rows[:, None] / rows).max(axis=2)


@pytest.mark.parametrize("law", LAWS)
def test_the_truncated_mechanism_is_the_exponential_one_of_the_capped_distance(plain, law):
    """The bucket of all words beyond gamma, drawn by its number of words and then one of them, is the same law."""
    log_z = log_normalisers(plain, plain, law)
    apart = distances(plain, plain)
    made = law.weights(apart) / np.exp(log_z)[:, None]
    assert np.abs(made - law_of(plain, *law)).max() < 1e-12
    if law.gamma < inf:
        far = apart > law.gamma
        bucket = far.sum(axis=1) * np.exp(-law.epsilon * law.gamma / 2)
        inside = np.where(far, 0.0, np.exp(-law.epsilon * apart / 2))
        total = bucket + inside.sum(axis=1)
        carvalho = inside / total[:, None] + far * (bucket / far.sum(axis=1) / total)[:, None]
        assert np.abs(made - carvalho).max() < 1e-12
        assert 0.1 < (bucket / total).max() < 0.9


@pytest.mark.parametrize("law", LAWS)
def test_losses_are_those_of_all_pairs_and_outputs(plain, law):
    rows = law_of(plain, *law)
    known = largest_losses(rows)
    apart = np.linalg.norm(plain[:, None] - plain, axis=2)
    bounds = law.epsilon * np.minimum(apart, law.gamma) + np.eye(NUM_WORDS)
    prior = np.log(np.array([np.arange(1, NUM_WORDS + 1) / (NUM_WORDS * (NUM_WORDS + 1) / 2)]))
    log_z = log_normalisers(plain, plain, law)
    parts = [losses(plain, start, start + 20, law, log_z, prior) for start in range(0, NUM_WORDS, 20)]
    most = max(parts, key=lambda part: part.loss)
    assert most.loss == pytest.approx(known.max(), rel=1e-10)
    assert max(known[most.pair], known[most.pair[::-1]]) == pytest.approx(known.max(), rel=1e-10)
    ratio = max(part.ratio for part in parts)
    assert ratio == pytest.approx((known / bounds).max(), rel=1e-10)
    assert 0.5 < ratio < 1
    np.fill_diagonal(apart, inf)
    near = apart.argmin(axis=1)
    pairs = np.maximum(known[np.arange(NUM_WORDS), near], known[near, np.arange(NUM_WORDS)])
    assert np.concatenate([part.near for part in parts]) == pytest.approx(pairs)
    named = (np.exp(prior[0])[:, None] * rows).max(axis=0).sum()
    assert sum(part.named[0] for part in parts) == pytest.approx(named)


def test_the_epsilon_of_an_exact_loss_is_below_it_by_a_thousandth_at_most(plain):
    for asked, gamma in [(2.0, inf), (2.0, GAMMA), (30.0, GAMMA)]:
        reach = np.minimum(np.linalg.norm(plain[:, None] - plain, axis=2), gamma).max()
        found = epsilon_of_loss(asked, reach, lambda epsilon, gamma=gamma: largest(plain, epsilon, gamma))
        assert 0.999 * asked <= largest(plain, found, gamma) <= asked
        assert found > 1.05 * asked / reach


def largest(plain, epsilon, gamma):
    return largest_losses(law_of(plain, epsilon, gamma)).max()


def goodness(plain, law, num_words, num_draws, *, asked=None):
    """Smallest p by Holm over words, of G^2 of draws against the exact row; cells that are expected below 5 pooled."""
    chances, p_values = law_of(plain, *(asked or law)), []
    for word in range(num_words):
        uniforms = np.random.default_rng([5, word]).random(num_draws)
        drawn = draw_words(np.full(num_draws, word), uniforms, plain, law)
        counts, expected = np.bincount(drawn, minlength=len(plain)), num_draws * chances[word]
        rare = expected < 5
        pooled = [np.append(part[~rare], part[rare].sum()) for part in (counts, expected)]
        counts, expected = (part[pooled[1] > 0] for part in pooled)
        some = counts > 0
        g_squared = 2 * (counts[some] * np.log(counts[some] / expected[some])).sum()
        p_values.append(stats.chi2.sf(g_squared, len(expected) - 1))
    return holm(np.array(p_values)).min()


def test_draws_are_by_the_exact_law_and_those_of_another_are_not(plain):
    assert goodness(plain, LAWS[1], 20, 20_000) > 0.001
    assert goodness(plain, LAWS[1], 20, 20_000, asked=Law(1.05 * EPSILON, GAMMA)) < 0.001


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_a_million_draws_are_by_the_exact_law(plain, law):
    assert goodness(plain, law, 20, 1_000_000) > 0.001


# --- releases ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts(words):
    """Rows of words, -1 for a name that nobody else has; the first text is empty, the second of unknown words."""
    rows = np.random.default_rng(6).integers(0, NUM_WORDS, (NUM_TEXTS, LENGTH))
    rows[::5, 3] = -1
    return [np.empty(0, int), np.full(3, -1), *rows]


@pytest.fixture(scope="module")
def given(folder, words, texts):
    """Settings of a release of these texts."""
    lines = [" ".join("Xeniasecretname" if row < 0 else words[row] for row in rows) for rows in texts]
    (folder / "private.csv").write_text("who,said\n" + "".join(f'ann,"{line}"\n' for line in lines))
    release = [f"release.texts={folder}/private.csv", "release.text_column=said", f"release.key_file={folder}/key"]
    release += [f"seed={SEED}", f"release.epsilon={EPSILON}"]
    return lambda name, *more: settings(folder, f"texts_{name}", *release, *more)


EXPONENTIAL = ["release.mechanism=exponential", f"release.gamma={GAMMA}", "release.unknown=gone"]


@pytest.fixture(scope="module")
def released(run_here, given):
    return run_here(*given("exponential", *EXPONENTIAL))


def written_by(run, words, unknown):
    """Rows of words of each text."""
    names = {word: row for row, word in enumerate(words)} | {unknown: -1}
    return [np.array([names[word] for word in row["text"].split()], int) for row in run.rows("private_texts")]


def test_a_release_writes_texts_by_the_law_that_it_names_and_no_unknown_word(released, texts, words, plain):
    written = written_by(released, words, "gone")
    assert [len(rows) for rows in written] == [len(rows) for rows in texts]
    flat, drawn = np.concatenate(texts), np.concatenate(written)
    assert (drawn[flat < 0] == -1).all()
    assert (drawn[flat >= 0] >= 0).all()
    rows = law_of(plain, EPSILON, GAMMA)
    known = flat >= 0
    kept = (flat == drawn)[known]
    chances = np.diag(rows)[flat[known]]
    assert abs(kept.sum() - chances.sum()) < 5 * (chances * (1 - chances)).sum() ** 0.5
    [row] = released.rows("text_releases")
    assert row["kept"] == pytest.approx(kept.mean())
    assert (row["num_texts"], row["num_words"], row["num_unknown"]) == (len(texts), len(flat), (~known).sum())
    assert (row["epsilon"], row["gamma"], row["spent"], row["num_releases"]) == (EPSILON, GAMMA, EPSILON, 1)
    assert row["rounding_delta"] == rounding_chance(len(flat), NUM_WORDS)

    def cosines(after):
        pairs = [
            (plain[one[one >= 0]].mean(axis=0), plain[other[other >= 0]].mean(axis=0))
            for one, other in zip(texts, after, strict=True)
            if (one >= 0).any() and (other >= 0).any()
        ]
        return np.mean([a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs])

    assert row["similarity"] == pytest.approx(cosines(written))
    assert row["similarity_other"] == pytest.approx(cosines([*written[1:], written[0]]))
    assert row["similarity"] > row["similarity_other"] + 0.1


def test_the_same_word_is_drawn_anew_in_every_place_and_text(released, texts, words):
    drawn = [written for rows, written in zip(texts, written_by(released, words, "gone"), strict=True) if len(rows)]
    assert len({tuple(rows) for rows in drawn}) > 0.95 * NUM_TEXTS
    flat, written = np.concatenate(texts), np.concatenate(drawn)
    assert min(len(set(written[flat == word])) for word in range(NUM_WORDS)) > 1


def test_privacy_of_words_and_texts_is_exact(released, texts, plain, words):
    rows = law_of(plain, EPSILON, GAMMA)
    known = largest_losses(rows)
    capped = np.minimum(np.linalg.norm(plain[:, None] - plain, axis=2), GAMMA)
    told = {row["prior"]: row for row in released.rows("word_privacy")}
    priors = {"uniform": np.ones(NUM_WORDS), "zipf": 1 / np.arange(1, NUM_WORDS + 1)}
    assert told.keys() == priors.keys()
    for name, weights in priors.items():
        row, prior = told[name], weights / weights.sum()
        assert (row["num_words"], row["epsilon"], row["mechanism"]) == (NUM_WORDS, EPSILON, "exponential")
        assert row["nominal"] == pytest.approx(EPSILON * capped.max())
        assert row["loss"] == pytest.approx(known.max())
        assert row["loss"] < row["nominal"]
        pair = words.index(row["first"]), words.index(row["second"])
        assert max(known[pair], known[pair[::-1]]) == pytest.approx(known.max())
        assert row["ratio"] == pytest.approx((known / (EPSILON * capped + np.eye(NUM_WORDS))).max())
        assert row["kept"] == pytest.approx(prior @ np.diag(rows))
        assert row["named"] == pytest.approx((prior[:, None] * rows).max(axis=0).sum())
        assert row["prior_rate"] == pytest.approx(prior.max())
        assert (row["num_draws"], row["named_low"], row["kept_high"]) == (None, None, None)
    for row, text in zip(released.rows("private_texts"), texts, strict=True):
        num = int((text >= 0).sum())
        assert (row["num_words"], row["num_unknown"]) == (len(text), len(text) - num)
        assert row["epsilon"] == pytest.approx(num * known.max())
        assert row["nominal_epsilon"] == pytest.approx(num * EPSILON * capped.max())


def test_nothing_of_the_texts_is_left_anywhere(released, folder, texts, words):
    content = (folder / "private.csv").read_bytes()
    lines = [line.split(b'"')[1] for line in content.splitlines() if b"Xenia" in line]
    planted = [KEY, KEY.hex().encode(), content, b"secretname", *lines]
    planted += [kind(content).hexdigest().encode() for kind in (hashlib.sha256, hashlib.md5, hashlib.blake2b)]
    assert left(folder, ["texts_exponential", "texts_exponential_run"], planted) == []
    page = (released.path / "report.html").read_text()
    assert "Private texts, written anew" in page
    assert "are not protected" in page


def test_a_noisy_vector_gives_its_nearest_word_from_the_same_account(run_here, released, given, folder, texts, plain):
    """Beside the share by as many draws of our own; of the word no exact loss is stated, nor any by normal noise."""
    elsewhere = f"run_dir={folder}/texts_other_run"
    run = run_here(*given("exponential", elsewhere, "release.mechanism=M1", "release.name=other"))
    [row] = run.rows("text_releases")
    assert (row["spent"], row["num_releases"], row["gamma"]) == (2 * EPSILON, 2, None)
    flat = np.concatenate(texts)
    flat = flat[flat >= 0]
    noisy = plain[flat] + noise_of(len(flat), plain.shape[1])
    kept = (np.linalg.norm(noisy[:, None] - plain, axis=2).argmin(axis=1) == flat).mean()
    assert row["kept"] == pytest.approx(kept, abs=5 * (2 * kept * (1 - kept) / len(flat)) ** 0.5)
    diameter = np.linalg.norm(plain[:, None] - plain, axis=2).max()
    text = run.rows("private_texts")[5]
    assert (text["epsilon"], text["nominal_epsilon"]) == (None, pytest.approx(LENGTH * EPSILON * diameter))
    for told in run.rows("word_privacy"):
        assert (told["loss"], told["first"], told["ratio"]) == (None, None, None)
        assert told["nominal"] == pytest.approx(EPSILON * diameter)
    assert row["warning"].startswith(
        f"a word and its nearest other have vectors with an exact epsilon of {told['near_loss']:.3g}"
    )
    with pytest.raises(Refusal, match=r"release.epsilon=3: .* more than release.max_epsilon=7"):
        run_here(*given("exponential", elsewhere, "release.max_epsilon=7", "release.name=third", *EXPONENTIAL))


def noise_of(num, width, scale=1 / EPSILON):
    """Of density exp(-norm / scale)."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((num, width))
    return noise * (rng.gamma(width, scale, num) / np.linalg.norm(noise, axis=1))[:, None]


WEIGHT, THRESHOLD = 0.8, 0.3
ELLIPTIC = [f"covariance_weight={WEIGHT}", "release.mechanism=mahalanobis", f"release.vickrey={THRESHOLD}"]
ELLIPTIC += ["deniability.draws=20", "job.level=0.999"]


@pytest.fixture(scope="module")
def elliptic(run_here, given):
    return run_here(*given("elliptic", *ELLIPTIC))


def test_words_of_elliptic_noise_and_what_attackers_name_of_them(elliptic, texts, words, plain):
    """By draws of our own, as Xu et al. write both; Delta is the largest stretch of Sigma^(-1/2)."""
    covariance = np.cov(plain.T)
    shape = WEIGHT * covariance / np.diag(covariance).mean() + (1 - WEIGHT) * np.eye(len(covariance))
    values, vectors = np.linalg.eigh(shape)
    root, inverse = (vectors * values**power @ vectors.T for power in (0.5, -0.5))
    apart = plain[:, None] - plain
    euclidean = np.linalg.norm(apart, axis=2)
    delta = (np.linalg.norm(apart @ inverse, axis=2) / (euclidean + np.eye(NUM_WORDS))).max()
    told = {row["prior"]: row for row in elliptic.rows("word_privacy")}
    for name, weights in {"uniform": np.ones(NUM_WORDS), "zipf": 1 / np.arange(1, NUM_WORDS + 1)}.items():
        prior, row = weights / weights.sum(), told[name]
        rows = np.random.default_rng(1).choice(NUM_WORDS, 20_000, p=prior)
        noisy = plain[rows] + noise_of(len(rows), len(root), delta / EPSILON) @ root
        near = np.linalg.norm(noisy[:, None] - plain, axis=2)
        order = near.argsort(axis=1)[:, :2]
        first, second = np.take_along_axis(near, order, axis=1).T
        chance = (1 - THRESHOLD) * second / (THRESHOLD * first + (1 - THRESHOLD) * second)
        kept = (chance * (order[:, 0] == rows) + (1 - chance) * (order[:, 1] == rows)).mean()
        metric = np.linalg.norm((noisy[:, None] - plain) @ inverse, axis=2)
        named = ((np.log(prior) - EPSILON / delta * metric).argmax(axis=1) == rows).mean()
        assert (row["num_draws"], row["prior_rate"]) == (200 * 20, pytest.approx(prior.max()))
        for column, known in {"kept": kept, "named": named}.items():
            assert row[f"{column}_low"] < known < row[f"{column}_high"], (name, column)
        assert kept < named - 0.03
        assert row["nominal"] == pytest.approx(EPSILON * euclidean.max())
    flat, [row] = np.concatenate(texts), elliptic.rows("text_releases")
    known, rate = flat >= 0, told["uniform"]["kept"]
    written = np.concatenate(written_by(elliptic, words, "_"))
    assert row["kept"] == pytest.approx((written == flat)[known].mean())
    assert row["kept"] == pytest.approx(rate, abs=5 * (2 * rate * (1 - rate) / 4000) ** 0.5)
    assert row["guarantee"].endswith(
        f"It is at most {EPSILON / delta:.3g} times the distance in the metric of the noise, for any two vectors. That "
        "the second nearest word may be written adds nothing to it."
    )


def test_an_exact_loss_that_is_asked_for_gives_the_epsilon(run_here, given, plain):
    run = run_here(*given("asked", *EXPONENTIAL, "release.exact_loss=4", "release.epsilon=null"))
    row, [release] = run.rows("word_privacy")[0], run.rows("text_releases")
    assert row["loss"] == pytest.approx(largest(plain, release["epsilon"], GAMMA))
    assert 0.999 * 4 <= row["loss"] <= 4
    assert (row["epsilon"], release["spent"]) == (release["epsilon"], release["epsilon"])


def test_what_is_no_table_of_texts_is_refused_without_a_word_of_it(run_here, given, folder):
    for content, message in {
        "s3cret line\nother\n": "has no column 'said', or no row; name the column in release.text_column",
        "said\n": "has no column 'said', or no row",
    }.items():
        (folder / "bad.csv").write_text(content)
        with pytest.raises(Refusal, match=f"^release.texts: {message}") as refused:
            run_here(*given("bad", *EXPONENTIAL, f"release.texts={folder}/bad.csv"))
        assert "s3cret" not in str(refused.value)
    with pytest.raises(Refusal, match=r"^release.epsilon=3: between a word and its nearest other the loss is exactly"):
        run_here(*given("near", *EXPONENTIAL, "release.max_exact_epsilon=0.1"))
    at_most = ["release.epsilon=20", "release.max_epsilon=100", "release.max_exact_epsilon=0.1"]
    with pytest.raises(Refusal, match=r"^release.epsilon=20: .* more than release.max_exact_epsilon=0.1"):
        run_here(*given("near", "release.mechanism=M1", *at_most))
    assert not (folder / "texts_near" / "accounts").exists()


def test_records_that_cannot_be_read_are_counted_and_not_said(run_here, given, folder, words):
    lines = [f"ann,{words[0]} {words[1]}", "bob,s3cret,line", f"eve,{words[2]}"]
    for name, num_bad in {"few": 1, "many": 12}.items():
        rows = ["who,said", *lines[:1], *lines[1:2] * num_bad, *lines[2:]]
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    run = run_here(*given("few", *EXPONENTIAL, f"release.texts={folder}/few.csv"))
    [left_out] = run.record["left_out"]
    known = {"file": "release.texts", "reason": "not as many fields as columns", "num": 1, "first": "line 3"}
    assert known.items() <= left_out.items()
    assert [row["num_words"] for row in run.rows("private_texts")] == [2, 1]
    assert left(folder, ["texts_few", "texts_few_run"], [b"s3cret"]) == []
    with pytest.raises(Refusal, match=r"^release.texts: 12 of 14 records are bad .* first at line 3\)") as refused:
        run_here(*given("many", *EXPONENTIAL, f"release.texts={folder}/many.csv"))
    assert "s3cret" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
def test_a_release_on_a_cluster_has_the_same_texts(run_job, released, elliptic, given, num_cpus):
    for name, run in {"exponential": released, "elliptic": elliptic}.items():
        more = EXPONENTIAL if run is released else ELLIPTIC
        other = run_job(*given(f"{name}{num_cpus}", *more, f"cluster.num_cpus={num_cpus}"))
        assert {table: other.digests[table] for table in ("private_texts", "word_privacy")} == {
            table: run.digests[table] for table in ("private_texts", "word_privacy")
        }
