"""A study of private vectors: every number is computed again, of the vectors, the settings and the public keys."""

import json
from itertools import combinations
from math import comb, log, pi
from unittest.mock import Mock

import numpy as np
import pytest
from scipy import stats

from tests.jobs.embedding.private_vectors.places import NUM_WORDS, SEED, WIDTH, generator, public_map, settings
from tiltmeter.jobs.embedding.private_vectors import audits
from tiltmeter.jobs.embedding.private_vectors.tables import Audits, Distances
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release.noise import draw_noise
from tiltmeter.operators.embedding.private_release.profile import epsilon_of, gaussian_epsilon_of
from tiltmeter.operators.statistics.intervals import LOG, bootstrap_interval
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.store.tables import key_columns

BETA, OTHER_BETA, KEPT, LEVEL = 0.95, 0.6, 10, 0.8
NOMINAL, AUDITED, EXACT, DELTAS = 1.0, 2.0, 4.0, (1e-4, 1e-7)
SIDE, RUNS, PERTURBED, DRAWS, RELEASES = 20, 3, 25, 12, 850
MAPS = {
    "M1": ("none", "none"),
    "M2": ("gaussian", "published"),
    "M2 exact": ("gaussian", "exact_vocabulary"),
    "M2 spectral": ("gaussian", "spectral"),
    "haar": ("haar", "exact_vocabulary"),
    "public_pca": ("public_pca", "exact_vocabulary"),
    "gaussian": ("none", "none"),
}
"""Of each mechanism, the map and the kind of sensitivity."""

SETTINGS = [
    f"seed={SEED}",
    f"job.level={LEVEL}",
    f"beta={BETA}",
    f"dimensions={KEPT}",
    f"epsilons=[{NOMINAL}]",
    f"exact_epsilons=[{EXACT}]",
    f"deltas={list(DELTAS)}",
    f"vocabulary.words={NUM_WORDS + 20}",
    "vocabulary.tile_words=4",
    f"audit.epsilon={AUDITED}",
    f"distances.words={SIDE}",
    f"distances.runs={RUNS}",
    "distances.epsilons=[5.0,40.0]",
    f"distances.betas=[{OTHER_BETA}]",
    f"deniability.words={PERTURBED}",
    f"deniability.draws={DRAWS}",
]


@pytest.fixture(scope="module")
def study(run_here, folder, words, vectors, write_vectors):
    """Of a file in which the vectors of 20 words come again, and others come behind those that are asked for."""
    names = [*words[:30], *(f"again{number}" for number in range(20)), *words[30:], *(f"far{n}" for n in range(5))]
    rows = np.concatenate([vectors[:30], vectors[:20], vectors[30:], 9 * vectors[:5]])
    write_vectors(folder / "doubled.bin", names, rows)
    return run_here(*settings(folder, "study", *SETTINGS, "audit.pairs=0", file="doubled.bin"))


@pytest.fixture(scope="module")
def audited(run_here, folder, study):
    """Fewer mechanisms, each of which takes a while; the last batch of draws is a smaller one."""
    audit = ["audit.pairs=1", f"audit.draws={RELEASES}", "audit.batch=100", "audit.level=0.02"]
    nothing_else = ["distances.epsilons=[]", "deniability.words=0", "mechanisms=[M2 exact,gaussian]"]
    more = [*SETTINGS, *audit, *nothing_else, f"run_dir={folder}/audited"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audits, "audit_pair", judged := Mock(wraps=audits.audit_pair))
        run = run_here(*settings(folder, "study", *more, file="doubled.bin"))
    # Bounds of two mechanisms and two pairs hold together.
    assert [call.args[3] for call in judged.call_args_list] == 4 * [pytest.approx(0.02 / 4)]
    return run


@pytest.fixture(scope="module")
def plain(vectors):
    return vectors.astype(np.float64)


def stretches(projection, plain):
    """Of all pairs of words, in their order."""
    apart = np.array([first - second for first, second in combinations(plain, 2)])
    return np.linalg.norm(apart @ projection.T, axis=1) / np.linalg.norm(apart, axis=1)


def typical_stretch(projection, plain):
    """Median over the differences of words that follow one another in an order of the seed."""
    order = generator(Stream.PRIVATE_STUDY, "sample of words").permutation(NUM_WORDS)
    apart = plain[order] - plain[np.roll(order, 1)]
    return float(np.median(np.linalg.norm(apart @ projection.T, axis=1) / np.linalg.norm(apart, axis=1)))


def failure(num_dimensions, beta):
    return min(1.0, comb(NUM_WORDS, 2) * stats.chi2.sf(num_dimensions * (1 + beta) ** 2, num_dimensions))


def sensitivities(kind, beta, plain):
    """By kind of sensitivity, with the chance that it fails."""
    projection = public_map(kind, plain, KEPT if beta == BETA else WIDTH)
    if kind == "none":
        return {"none": (1.0, 0.0)}
    known = {"exact_vocabulary": (stretches(projection, plain).max(), 0.0)}
    known["spectral"] = (np.linalg.svd(projection, compute_uv=False)[0], 0.0)
    return known | ({"published": (1 + beta, failure(len(projection), beta))} if kind == "gaussian" else {})


@pytest.fixture(scope="module")
def distances(plain):
    """Of words: to the nearest in the median, of two in the median, and the largest."""
    apart = np.linalg.norm(plain[:, None] - plain, axis=2) + np.diag(np.full(NUM_WORDS, np.inf))
    pairs = apart[np.triu_indices(NUM_WORDS, 1)]
    return {"nearest": np.median(apart.min(axis=1)), "median": np.median(pairs), "largest": pairs.max()}


def exact_epsilon(row, image, delta):
    if row["law"] == "gaussian":
        return gaussian_epsilon_of(delta, image, row["scale"])
    return epsilon_of(delta, image / row["scale"], row["dimensions"])


@pytest.fixture(scope="module")
def mechanisms(study):
    """Rows of the table, by the key columns of all tables."""
    return {(row["mechanism"], row["compared_at"], row["epsilon"]): row for row in study.rows("mechanisms")}


def row_of(mechanisms, row):
    return mechanisms[row["mechanism"], row["compared_at"], row["epsilon"]]


def test_a_study_publishes_all_but_releases(study):
    known = {"mechanisms", "sensitivity", "profiles", "audits", "distances", "utility", "deniability", "draws"}
    assert study.published == known - {"utility", "audits"}, "without tasks and pairs"


def test_sensitivity_is_that_of_the_drawn_maps_over_all_pairs_of_different_words(study, plain, words):
    rows = {(row["projection"], row["beta"], row["sensitivity_kind"]): row for row in study.rows("sensitivity")}
    known = {("gaussian", BETA), ("gaussian", OTHER_BETA), ("haar", 0.0), ("public_pca", 0.0)}
    assert {key[:2] for key in rows} == known
    for (kind, beta, sensitivity_kind), row in rows.items():
        projection = public_map(kind, plain, WIDTH if beta == OTHER_BETA else KEPT)
        value, delta = sensitivities(kind, beta or BETA, plain)[sensitivity_kind]
        assert row["dimensions"] == len(projection)
        assert (row["sensitivity"], row["delta"]) == (pytest.approx(value, rel=1e-9), pytest.approx(delta))
        assert row["typical_stretch"] == pytest.approx(typical_stretch(projection, plain))
        pair = [*combinations(words, 2)][stretches(projection, plain).argmax()]
        assert {row["first"], row["second"]} == {*pair}
        assert (row["num_words"], row["num_merged"]) == (NUM_WORDS, 20)
    assert len(rows) == 2 * 3 + 2 * 2
    assert 0 < rows["gaussian", BETA, "published"]["delta"] < 0.1


def test_noise_is_made_for_the_sensitivity_of_each_mechanism(study, mechanisms, plain, distances):
    assert len(mechanisms) == len(study.rows("mechanisms")) == len(MAPS) * 3
    for (name, compared_at, epsilon), row in mechanisms.items():
        projection, kind = MAPS[name]
        value, delta = sensitivities(projection, BETA, plain)[kind]
        assert (row["projection"], row["sensitivity_kind"]) == (projection, kind)
        assert row["dimensions"] == (WIDTH if projection == "none" else KEPT)
        assert (row["sensitivity"], row["delta"]) == (pytest.approx(value, rel=1e-9), pytest.approx(delta))
        assert row["law"] == ("gaussian" if name == "gaussian" else "norm")
        image = distances["median"] * typical_stretch(public_map(projection, plain, KEPT), plain)
        if compared_at == "exact":
            assert exact_epsilon(row, image, DELTAS[0]) == pytest.approx(EXACT)
        if row["law"] == "norm":
            assert row["scale"] == pytest.approx(value / epsilon, rel=1e-9)
        else:
            exact = gaussian_epsilon_of(DELTAS[0], distances["median"], row["scale"])
            assert exact == pytest.approx(epsilon * distances["median"])
        spread = (row["dimensions"] + 1) ** 0.5 if row["law"] == "norm" else 1
        assert row["deviation"] == pytest.approx(spread * row["scale"])
        for column, kind in {"nearest": "nearest", "median": "median", "diameter": "largest"}.items():
            assert row[f"epsilon_x_{column}"] == pytest.approx(epsilon * distances[kind])
    nominal = {epsilon for _, compared_at, epsilon in mechanisms if compared_at == "nominal"}
    assert nominal == {NOMINAL, AUDITED}


def test_profiles_are_exact_at_the_distances_of_the_words(study, mechanisms, plain, distances):
    rows = study.rows("profiles")
    assert len(rows) == len(mechanisms) * 3 * 2 * len(DELTAS)
    for row in rows:
        made = row_of(mechanisms, row)
        distance = distances[row["distance_kind"]]
        assert row["distance"] == pytest.approx(distance)
        worst = made["sensitivity"] if row["stretch"] == "worst" else None
        factor = worst or typical_stretch(public_map(made["projection"], plain, KEPT), plain)
        assert row["exact_epsilon"] == pytest.approx(exact_epsilon(made, factor * distance, row["delta"]), rel=1e-6)
        bound = None if made["law"] == "gaussian" else pytest.approx(row["epsilon"] * distance)
        assert row["bound"] == bound


def test_audits_are_of_the_pairs_that_they_name_and_convict_nobody(audited, mechanisms, plain, words):
    rows = audited.rows("audits")
    order = generator(Stream.PRIVATE_STUDY, "pairs", 0).permutation(NUM_WORDS)
    first = plain[order[0]]
    nearest = order[1:][np.linalg.norm(plain[order[1:]] - first, axis=1).argmin()]
    others = {"nearest 0": nearest, "random 0": order[1]}
    assert len(rows) == len({tuple(row[key] for key in key_columns(Audits.schema())) for row in rows}) == 7 * 2 * 2
    for row in rows:
        made = mechanisms[row["mechanism"], "nominal", AUDITED]
        other = plain[others[row["choice"]]]
        assert row["pair"] == f"{words[order[0]]}, {words[others[row['choice']]]}"
        distance = np.linalg.norm(other - first)
        claimed = None if made["law"] == "gaussian" else pytest.approx(AUDITED * distance)
        image = np.linalg.norm(public_map(made["projection"], plain, KEPT) @ (other - first))
        assert (row["epsilon"], row["claimed"]) == (AUDITED, claimed)
        assert row["exact"] == pytest.approx(exact_epsilon(made, image, DELTAS[0]), rel=1e-6)
        assert (row["num_draws"], row["family"], row["level"]) == (RELEASES, len(rows), 0.02)
        assert row["verdict"] == "within"
        assert row["audited_low"] <= row["audited"] <= row["audited_high"]
        if row["score"] in ("likelihood", "projection"):
            assert 0.3 * row["exact"] < row["audited"] < 2 * row["exact"], "both words are released"


def test_distances_are_those_of_noisy_images_beside_closed_forms_and_bounds(study, plain):
    rows = study.rows("distances")
    order = generator(Stream.PRIVATE_STUDY, "distances").permutation(NUM_WORDS)
    sides = plain[order[:SIDE]], plain[order[SIDE : 2 * SIDE]]
    true = np.linalg.norm(sides[0][:, None] - sides[1], axis=2)
    products = sides[0] @ sides[1].T
    longest = np.linalg.norm(np.concatenate(sides), axis=1).max()
    draws = {draw["key"]: draw for draw in study.rows("draws")}
    assert len(draws) == len(rows) == 2 * 2 * 3
    for row in rows:
        beta, num, epsilon = row["beta"], row["dimensions"], row["epsilon"]
        assert (row["mechanism"], num) == (("M2", WIDTH) if beta == OTHER_BETA else ("M1", WIDTH))
        projection = public_map("gaussian" if beta else "none", plain, num)
        scale = (1 + beta) / epsilon
        squared, errors = num * (num + 1) * scale**2, []
        for number in range(RUNS):
            noise = generator(Stream.PRIVATE_NOISE, "distances", number)
            noisy = [side @ projection.T + draw_noise(noise, "norm", (SIDE, num), scale) for side in sides]
            apart = np.linalg.norm(noisy[0][:, None] - noisy[1], axis=2)
            readings = {
                "distance": (apart, true),
                "debiased_distance": (np.sqrt(np.maximum(apart**2 - 2 * squared, 0)), true),
                "inner_product": (noisy[0] @ noisy[1].T, products),
            }
            reading, truth = readings[row["read_out"]]
            errors.append(np.abs(reading - truth).mean())
        assert row["error"] == pytest.approx(np.mean(errors))
        draw = draws[json.dumps({key: row[key] for key in key_columns(Distances.schema())})]
        assert (draw["table"], draw["column"], row["num_runs"]) == ("distances", "error", RUNS)
        assert draw["values"] == pytest.approx(errors)
        spread = (1 + 1 / RUNS) ** 0.5
        ends = bootstrap_interval(np.mean(errors), np.array(errors), LEVEL, scale=LOG, spread=spread)[:2]
        assert (row["error_low"], row["error_high"]) == pytest.approx(ends)
        truth = products if row["read_out"] == "inner_product" else true
        assert row["constant_error"] == pytest.approx(np.abs(truth - np.median(truth)).mean())
        images = [((side @ projection.T) ** 2).sum(axis=1) for side in sides]
        deviation = (num + 1) ** 0.5 * scale
        variance = deviation**2 * np.add.outer(*images) + num * deviation**4
        forms = {
            "distance": np.mean(np.sqrt(true**2 + 2 * squared) - true),
            "inner_product": np.mean(np.sqrt(2 / pi * variance)),
        }
        if row["read_out"] in forms:
            assert row["closed_form"] == pytest.approx(forms[row["read_out"]])
        if not beta or row["read_out"] == "debiased_distance":
            assert (row["proposition"], row["quantile_bound"]) == (None, None)
            continue
        printed = 2 * num * log(2 * 2 * SIDE * num / DELTAS[0]) / epsilon
        quantile = stats.gamma.isf(DELTAS[0] / (2 * 2 * SIDE), num, scale=scale)
        for column, part, stretch in (("proposition", printed, 2), ("quantile_bound", quantile, 1 + beta)):
            bounds = {
                "distance": 2 * beta * longest + 2 * part,
                "inner_product": beta * longest**2 + 2 * stretch * longest * part + part**2,
            }
            assert row[column] == pytest.approx(bounds[row["read_out"]])


def test_deniability_is_that_of_words_perturbed_again(study, mechanisms, plain):
    chosen = generator(Stream.PRIVATE_STUDY, "deniability").permutation(NUM_WORDS)[:PERTURBED]
    rows = study.rows("deniability")
    assert {(row["mechanism"], row["compared_at"], row["epsilon"]) for row in rows} == mechanisms.keys()
    for row in rows:
        made = row_of(mechanisms, row)
        projection = public_map(made["projection"], plain, KEPT)
        images, scale = plain @ projection.T, made["scale"]
        [anchored] = {
            profile["exact_epsilon"]
            for profile in study.rows(
                "profiles", distance_kind="median", stretch="typical", delta=DELTAS[0], **keys_of(row)
            )
        }
        assert row["exact_epsilon"] == pytest.approx(anchored)
        key = document_key(f"deniability/{ {name: row[name] for name in [*keys_of(row), 'exact_epsilon']} }")
        nearest = []
        for word in chosen:
            noise = keyed_generator(SEED, Stream.PRIVATE_NOISE, key, int(word))
            noisy = images[word] + draw_noise(noise, made["law"], (DRAWS, images.shape[1]), scale)
            nearest.append(np.linalg.norm(noisy[:, None] - images, axis=2).argmin(axis=1))
        hits = np.array(nearest) == chosen[:, None]
        assert row["returned"] == pytest.approx(hits.mean())
        assert row["distinct"] == pytest.approx(np.mean([len({*part}) for part in nearest]))
        rate = share(hits.ravel(), units_of(np.repeat(chosen, DRAWS), "word"), level=LEVEL)
        assert row["status"] == ("ok" if rate.status == "ok" else rate.status)
        if row["status"] == "ok":
            assert [row[f"attacker{end}"] for end in ("", "_low", "_high")] == pytest.approx(rate[:3])
        assert (row["num_words"], row["num_draws"]) == (PERTURBED, DRAWS)
        apart = np.linalg.norm(images[chosen][:, None] - images, axis=2)
        caps = 1 / np.exp(-apart / scale).sum(axis=1)
        known = (None, None) if made["law"] == "gaussian" else pytest.approx((caps.mean(), caps.max()))
        assert (row["cap_mean"], row["cap_largest"]) == known


def keys_of(row):
    return {name: row[name] for name in ("mechanism", "dimensions", "epsilon", "compared_at")}


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 4])
def test_layout_changes_no_table(run_job, study, folder, num_cpus):
    layout = ["audit.pairs=0", f"cluster.num_cpus={num_cpus}", "vocabulary.tile_words=7"]
    run = run_job(*settings(folder, f"study{num_cpus}", *SETTINGS, *layout, file="doubled.bin"))
    assert run.digests == study.digests
