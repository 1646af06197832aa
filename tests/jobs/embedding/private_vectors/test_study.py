"""A study of private vectors: every number is computed again, of the vectors, the settings and the public keys."""

import json
from itertools import combinations
from math import comb, log, pi
from unittest.mock import Mock

import numpy as np
import pytest
from scipy import stats

from tests.jobs.embedding.private_vectors.expected import (
    NUM_WORDS,
    SEED,
    WIDTH,
    exact_epsilon,
    generator,
    public_map,
    settings,
    stretches,
)
from tiltmeter.jobs.embedding.private_vectors import audits
from tiltmeter.jobs.embedding.private_vectors.sources import find_sources
from tiltmeter.jobs.embedding.private_vectors.tables import Audits, Distances
from tiltmeter.jobs.embedding.private_vectors.utility import task_works
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release.noise import draw_noise
from tiltmeter.operators.embedding.private_release.profile import gaussian_epsilon_of
from tiltmeter.operators.embedding.private_release.utility import (
    TaskData,
    held_out,
    linear_result,
    mean_vectors,
    occurrences,
    private_means,
    text_hits,
)
from tiltmeter.operators.statistics.intervals import LOG, LOGIT, bootstrap_interval
from tiltmeter.operators.statistics.means import mean, share
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.store.tables import key_columns

BETA, OTHER_BETA, KEPT, LEVEL = 0.95, 0.6, 10, 0.8
NOMINAL, AUDITED, EXACT, DELTAS = 1.0, 2.0, 4.0, (1e-4, 1e-7)
SIDE, RUNS, PERTURBED, DRAWS, RELEASES = 20, 3, 25, 12, 850
PENALTIES, FOLDS, LIMIT = [0.02, 2.0], 2, 50
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
    *(f"seed={SEED}", f"job.level={LEVEL}", f"beta={BETA}", f"dimensions={KEPT}", f"deltas={list(DELTAS)}"),
    *(f"epsilons=[{NOMINAL}]", f"exact_epsilons=[{EXACT}]", f"audit.epsilon={AUDITED}"),
    *(f"vocabulary.words={NUM_WORDS + 20}", "vocabulary.tile_words=4"),
    *(f"distances.words={SIDE}", f"distances.runs={RUNS}", f"distances.betas=[{OTHER_BETA}]"),
    *("distances.epsilons=[5.0,40.0]", f"deniability.words={PERTURBED}", f"deniability.draws={DRAWS}"),
]


@pytest.fixture(scope="module")
def study(run_here, folder, words, vectors, write_vectors):
    """Of a file in which the vectors of 20 words come again, and others come behind those that are asked for."""
    names = [*words[:30], *(f"again{number}" for number in range(20)), *words[30:], *(f"far{n}" for n in range(5))]
    rows = np.concatenate([vectors[:30], vectors[:20], vectors[30:], 9 * vectors[:5]])
    write_vectors(folder / "doubled.bin", names, rows)
    return run_here(*settings(folder, "study", *SETTINGS, "audit.pairs=0", file="doubled.bin"))


def write(path, rows):
    path.write_text("text,label,review,grade\n" + "".join(f"{','.join(row)}\n" for row in rows))


@pytest.fixture(scope="module")
def texts(words, vectors):
    """Reviews for training and test, three of four good by the sum of their words' first numbers; words that no
    vector has stand in between."""
    rows = np.random.default_rng(4).integers(0, NUM_WORDS, (LIMIT + 30, 6))
    values = vectors[rows, -1].sum(axis=1)
    kinds = np.where(values > np.quantile(values, 0.25), "good", "bad")
    return [
        (f"{words[first].upper()} unknown " + " ".join(words[row] for row in more), kind)
        for (first, *more), kind in zip(rows, kinds, strict=True)
    ]


@pytest.fixture(scope="module")
def labelled(words, vectors):
    """Three words of four are of class a; two have no vector."""
    is_a = vectors[:, -1] > np.quantile(vectors[:, -1], 0.25)
    return [("absent", "a"), *((word, "ba"[int(kind)]) for word, kind in zip(words, is_a, strict=True)), ("none", "b")]


@pytest.fixture(scope="module")
def audited(run_here, folder, study, texts, labelled):
    """Fewer mechanisms, each of which takes a while, and tasks; the last batch of draws is a smaller one."""
    audit = ["audit.pairs=1", f"audit.draws={RELEASES}", "audit.batch=100", "audit.level=0.02"]
    nothing_else = ["distances.epsilons=[]", "deniability.words=0", "mechanisms=[M2 exact,gaussian]"]
    write(folder / "words.csv", [(*row, "planted0", "good") for row in labelled])
    write(folder / "train.csv", [("planted0", "a", *row) for row in [*texts[:LIMIT], *texts[:9]]])
    write(folder / "test.csv", [("planted0", "b", *row) for row in texts[LIMIT:]])
    write(folder / "thirds.csv", [(word, "abc"[row % 3], "", "") for row, (word, _) in enumerate(labelled)])
    write(folder / "one.csv", [(*row, "", "") for row in labelled if row[1] == "a"])
    write(folder / "nothing.csv", [])
    files = {
        "lexicon": f"path: {folder}/words.csv, kind: words",
        "reviews": f"path: {folder}/train.csv, test: {folder}/test.csv, text: review, label: grade",
        "thirds": f"path: {folder}/thirds.csv, kind: words",
        "one": f"path: {folder}/words.csv, test: {folder}/one.csv, kind: words",
        "nothing": f"path: {folder}/words.csv, test: {folder}/nothing.csv, kind: words",
    }
    tasks = [f"+utility.tasks.{name}={{{about}}}" for name, about in files.items()]
    tasks += [f"utility.runs={RUNS}", f"utility.penalties={PENALTIES}", f"utility.folds={FOLDS}"]
    tasks += [f"utility.limit={LIMIT}", "utility.noise_per=[occurrence,word]", f"epsilons=[{AUDITED}]"]
    more = [*SETTINGS, *audit, *nothing_else, *tasks, f"run_dir={folder}/audited"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audits, "audit_pair", judged := Mock(wraps=audits.audit_pair))
        run = run_here(*settings(folder, "study", *more, file="doubled.bin"))
    # Bounds of two mechanisms and two pairs hold together.
    assert [call.args[3] for call in judged.call_args_list] == 4 * [pytest.approx(0.02 / 4)]
    return run


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


def exact_of(row, image, delta=DELTAS[0]):
    return exact_epsilon(row["law"], image, row["scale"], delta, row["dimensions"])


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
            assert exact_of(row, image) == pytest.approx(EXACT)
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
        assert row["exact_epsilon"] == pytest.approx(exact_of(made, factor * distance, row["delta"]), rel=1e-6)
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
        assert row["exact"] == pytest.approx(exact_of(made, image), rel=1e-6)
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


KEYS = ("mechanism", "dimensions", "epsilon", "compared_at")


def anchored(run, row):
    """The exact epsilon of a mechanism at the median distance, typically."""
    known = {name: row[name] for name in KEYS} | {"distance_kind": "median", "stretch": "typical", "delta": DELTAS[0]}
    [profile] = run.rows("profiles", **known)
    return profile["exact_epsilon"]


def test_deniability_is_that_of_words_perturbed_again(study, mechanisms, plain):
    chosen = generator(Stream.PRIVATE_STUDY, "deniability").permutation(NUM_WORDS)[:PERTURBED]
    rows = study.rows("deniability")
    assert {(row["mechanism"], row["compared_at"], row["epsilon"]) for row in rows} == mechanisms.keys()
    for row in rows:
        made = row_of(mechanisms, row)
        projection = public_map(made["projection"], plain, KEPT)
        images, scale = plain @ projection.T, made["scale"]
        assert row["exact_epsilon"] == pytest.approx(anchored(study, row))
        key = document_key(f"deniability/{ {name: row[name] for name in (*KEYS, 'exact_epsilon')} }")
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


# --- tasks ------------------------------------------------------------------------------------------------------------


def test_controls_stand_beside_every_mechanism(audited):
    rows = audited.rows("utility", task="lexicon", measure="accuracy")
    put = [(row["mechanism"], row["compared_at"], row["noise_per"], row["dimensions"]) for row in rows]
    made = [("M2 exact", kind, KEPT) for kind in ("nominal", "exact")]
    made += [("gaussian", kind, 12) for kind in ("nominal", "exact")]
    made += [("noise_only norm", "nominal", KEPT), ("noise_only gaussian", "nominal", 12)]
    expected = [("non_private", "nominal", "none", 0), ("constant", "nominal", "none", 0)]
    expected += [(name, kind, per, num) for per in ("occurrence", "word") for name, kind, num in made]
    assert put == expected


@pytest.mark.parametrize("task", ["lexicon", "reviews"])
def test_each_number_is_that_of_the_test_part_by_noise_of_its_own(audited, texts, labelled, words, plain, task):
    is_text = task == "reviews"
    given = texts if is_text else [row for row in labelled[:LIMIT] if row[0] in words]
    rows = {word: row for row, word in enumerate(words)}
    known = occurrences([text.lower().split() for text, _ in given], rows)
    labels = np.array([kind == max(kinds for _, kinds in given) for _, kinds in given for kind in [kinds]]).astype(int)
    split = np.arange(len(given)) >= LIMIT if is_text else None
    parts = [
        split if is_text else held_out(generator(Stream.PRIVATE_STUDY, f"test part of {task}", number), len(given))
        for number in range(RUNS)
    ]
    scales = {(row["mechanism"], row["compared_at"]): row for row in audited.rows("mechanisms")}
    table = audited.rows("utility", task=task)
    assert len(table) == 14 * (1 if is_text else 2) - (0 if is_text else 1), "a constant has no area"
    for row in table:
        name = row["mechanism"]
        about = {key: row[key] for key in ("task", "mechanism", "dimensions", "epsilon", "compared_at", "noise_per")}
        about |= {"exact_epsilon": row["exact_epsilon"]}
        alone = {"noise_only norm": "M2 exact", "noise_only gaussian": "gaussian"}.get(name, name)
        made = scales.get((alone, row["compared_at"]))
        if name.startswith("noise_only") or made is None:
            assert (row["epsilon"], row["exact_epsilon"]) == (None, None)
        else:
            assert row["exact_epsilon"] == pytest.approx(anchored(audited, row))
        hits, measures = [], []
        for number, part in enumerate(parts):
            noise = generator(Stream.PRIVATE_NOISE, str(sorted(about.items(), key=str)), number)
            if made is None:
                features = mean_vectors(known, plain[known.rows])
            else:
                images = plain @ public_map(made["projection"], plain, KEPT).T * (alone == name)
                by_word = row["noise_per"] == "word"
                features = private_means(noise, known, images, made["law"], made["scale"], by_word=by_word)
            area = None
            if name == "constant":
                hits.append(labels[part] == int(labels[~part].mean() > 0.5))
            elif is_text:
                hits.append(text_hits(features, labels, part, PENALTIES, FOLDS, SEED))
            else:
                result = linear_result(features, labels, part)
                hits.append(result.hits)
                area = result.area
            measures.append({"accuracy": hits[-1].mean(), "area": area}[row["measure"]])
        assert (row["num_test"], row["num_runs"], row["status"]) == (parts[0].sum(), RUNS, "ok")
        assert row["value"] == pytest.approx(np.mean(measures))
        assert row["sd_training"] == pytest.approx(np.std(measures, ddof=1))
        if row["measure"] == "accuracy":
            units = units_of(np.concatenate([np.flatnonzero(part) for part in parts]), "text")
            interval = mean(np.concatenate(hits), units, level=LEVEL, scale=LOGIT, seeds=np.array(measures))
            assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
        else:
            assert (row["low"], row["high"]) == (None, None)


def test_tasks_that_cannot_be_judged_keep_a_row_that_says_why(audited):
    """Three classes have no area; a test part may be empty, or have one class."""
    rows = audited.rows("utility", mechanism="M2 exact", compared_at="exact", noise_per="word")
    by_task = {(row["task"], row["measure"]): row for row in rows}
    for task in ("thirds", "one"):
        assert 0 < by_task[task, "accuracy"]["value"] <= 1
        area = by_task[task, "area"]
        assert (area["status"], area["value"]) == ("undefined", None)
        assert area["reason"] == "two classes, both in the test part, are needed"
    assert by_task["nothing", "accuracy"]["reason"].startswith("the test part has no text")
    assert ("nothing", "area") not in by_task


def test_a_random_part_that_leaves_one_class_to_learn_is_no_task():
    data = TaskData(occurrences([["a"], ["a"], ["a"]], {"a": 0}), np.array([0, 0, 1]), None)
    assert data.unusable(0, [np.array([False, False, True])]).startswith("a random training part has one class alone")
    assert data.unusable(0, [np.array([False, True, False])]) == ""


def test_units_of_tasks_name_the_tokens_that_they_are_made_of(configured, folder, audited):
    """A text is other words where tokens are made otherwise, or in another language."""
    languages = [
        configured(*settings(folder, "x", f"+utility.tasks.t={{path: {folder}/words.csv}}", *more))
        for more in ([], ["embedding.language=tr"])
    ]
    works = [next(task_works(config, find_sources(config), None, [])) for config in languages]
    tokens = [work.unit().config["tokens"] for work in works]
    assert tokens == [Tokenizer("en").identity, Tokenizer("tr").identity]


def test_elliptic_noise_is_made_for_the_metric_of_the_public_vectors(run_here, folder, plain, distances):
    """Its map is the inverse root of Sigma: squared lengths of images are those of Mahalanobis."""
    small = [f"audit.pairs=1 audit.draws={RELEASES} audit.batch=100 deniability.words=20 distances.epsilons=[]"]
    asked = [*SETTINGS, *small[0].split(), "mechanisms=[mahalanobis]", "covariance_weight=0.7"]
    run = run_here(*settings(folder, "elliptic_study", *asked))
    covariance = np.cov(plain.T)
    sigma = 0.7 * covariance / np.diag(covariance).mean() + 0.3 * np.eye(WIDTH)
    apart = np.array([one - other for one, other in combinations(plain, 2)])
    metric = np.sqrt(np.einsum("ni,ij,nj->n", apart, np.linalg.inv(sigma), apart))
    stretch = metric / np.linalg.norm(apart, axis=1)
    known = {"exact_vocabulary": stretch.max(), "spectral": np.linalg.eigvalsh(sigma)[0] ** -0.5}
    rows = [row for row in run.rows("sensitivity") if row["projection"] == "mahalanobis"]
    assert {row["sensitivity_kind"]: row["sensitivity"] for row in rows} == pytest.approx(known)
    for row in run.rows("mechanisms"):
        assert (row["dimensions"], row["sensitivity"]) == (WIDTH, pytest.approx(stretch.max()))
        if row["compared_at"] == "nominal":
            assert row["scale"] == pytest.approx(stretch.max() / row["epsilon"])
    assert {row["verdict"] for row in run.rows("audits")} == {"within"}
    assert {row["num_words"] for row in run.rows("deniability")} == {20}


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 4])
def test_layout_changes_no_table(run_job, study, folder, num_cpus):
    layout = ["audit.pairs=0", f"cluster.num_cpus={num_cpus}", "vocabulary.tile_words=7"]
    run = run_job(*settings(folder, f"study{num_cpus}", *SETTINGS, *layout, file="doubled.bin"))
    assert run.digests == study.digests
