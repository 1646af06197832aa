"""WEFAT in job `association`: effect sizes of occupations worked out here, and their correlations as scipy has them."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from tests.fixtures.numbers import check_intervals, correlated, in_replicas
from tiltmeter.jobs.association.wefat import validated
from tiltmeter.operators.statistics.intervals import IntervalSettings

WOMEN = {"nurse": 90, "writer": 63, "lawyer": 35, "driver": 6, "guard": 22}
FEMALE, MALE = ["she", "woman", "girl"], ["he", "man", "boy"]
TARGETS = {"target_x": ["nurse", "writer"], "target_y": ["lawyer", "driver"]}
ABSENT = {"whole": ["girl", "guard"], "lacking": ["girl", "guard", "woman"]}
"""Words that each of two files does not have."""

CORRELATIONS = {"pearson": pearsonr, "spearman": spearmanr}
VECTORS = dict(zip([*WOMEN, *FEMALE, *MALE], np.random.default_rng(3).normal(size=(11, 5)), strict=True))


@pytest.fixture(scope="module")
def overrides(write_vectors, word_lists, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wefat")
    for name, absent in ABSENT.items():
        vectors = {word: vector for word, vector in VECTORS.items() if word not in absent}
        write_vectors(folder / f"{name}.bin", vectors, list(vectors.values()))
    occupations = {"source": "made up", "year": 2000, "percent_women": WOMEN}
    return [
        *("job=association", "embedding=file", f"embedding.path={folder}/*.bin", f"store={folder}/store"),
        *word_lists("en", occupations=occupations),
    ]


@pytest.fixture(scope="module")
def wefats(word_sets):
    return {
        "gender": word_sets(attribute_a=FEMALE, attribute_b=MALE),
        "other": word_sets(attribute_a=["she"], attribute_b=["he"]),
    }


@pytest.fixture(scope="module")
def outcome(run_here, overrides, word_lists, wefats, tmp_path_factory):
    """Of a word set that has WEFATs alone."""
    lists = word_lists("en", wefats=wefats, associations=None)
    return run_here(*overrides, *lists, f"run_dir={tmp_path_factory.mktemp('run')}/run")


MOVED = [
    {word: vector + 0.5 * rng.normal(size=5) for word, vector in VECTORS.items() if word not in ABSENT["whole"]}
    for rng in map(np.random.default_rng, range(4))
]
"""An original and its replicas."""


@pytest.fixture(scope="module")
def chosen(run_here, write_vectors, word_lists, word_sets, wefats, tmp_path_factory):
    """Of two WEFATs of several tests on files of replicas, otherwise than by default; two thirds are too few words."""
    folder = tmp_path_factory.mktemp("replicas")
    for number in range(4):
        write_vectors(folder / f"r{number}.bin", list(MOVED[number]), list(MOVED[number].values()))
    associations = {"near": word_sets(**TARGETS, attribute_a=FEMALE, attribute_b=MALE)}
    unlike = {"unlike": word_sets(attribute_a=[*FEMALE[:2], "boy"], attribute_b=MALE[:2])}
    occupations = {"source": "made up", "year": 2000, "percent_women": WOMEN}
    return run_here(
        *("job=association", "embedding=file", f"embedding.path={folder}/*.bin", "embedding.replicas=true"),
        *word_lists("en", wefats=wefats | unlike, associations=associations, occupations=occupations),
        *("tests=[gender,unlike]", "job.min_share=0.7", "job.similarities=[cosine]", "job.ddof=0"),
        *("job.level=0.8", "job.interval=centred", f"store={folder}/store", f"run_dir={folder}/run"),
    )


def _cosine(word, other):
    return word @ other / np.linalg.norm(word) / np.linalg.norm(other)


MEASURES = {
    "cosine": _cosine,
    "euclidean": lambda word, other: -np.linalg.norm(word - other),
    "manhattan": lambda word, other: -np.abs(word - other).sum(),
}


def _effect_size(word, similarity, absent):
    measure = MEASURES[similarity]
    a, b = ([measure(VECTORS[word], VECTORS[o]) for o in side if o not in absent] for side in (FEMALE, MALE))
    return (np.mean(a) - np.mean(b)) / np.std([*a, *b], ddof=1)


@pytest.mark.once("association")
@pytest.mark.parametrize("similarity", MEASURES)
def test_effect_sizes_are_in_standard_deviations_over_both_attribute_sets(outcome, similarity):
    rows = outcome.rows("word_associations", model="whole", test="gender", similarity=similarity)
    assert [row["word"] for row in rows] == list(WOMEN)
    for row in rows:
        assert (row["percent_women"], row["num_attributes"], row["ddof"]) == (WOMEN[row["word"]], 5, 1)
        if row["word"] == "guard":
            assert (row["status"], row["reason"]) == ("missing_words", "not in the vocabulary: 'guard'")
            assert row["effect_size"] is None
        else:
            assert row["effect_size"] == pytest.approx(_effect_size(row["word"], similarity, ["girl"]), abs=1e-5)
            assert (row["status"], row["effect_size_low"], row["num_replicas"]) == ("ok", None, 0)


@pytest.mark.parametrize("similarity", MEASURES)
def test_effect_sizes_are_held_against_the_share_of_women(outcome, similarity):
    words = [word for word in WOMEN if word != "guard"]
    effects, women = [_effect_size(word, similarity, ["girl"]) for word in words], [WOMEN[word] for word in words]
    [row] = outcome.rows("validation", model="whole", test="gender", similarity=similarity)
    for kind, correlate in CORRELATIONS.items():
        assert row[kind] == pytest.approx(correlate(effects, women)[0], abs=1e-5)
        orders = [abs(correlate(effects, order)[0]) for order in permutations(women)]
        assert row[f"{kind}_p"] == pytest.approx(np.mean(np.array(orders) >= abs(row[kind]) - 1e-5))
    assert (row["measure"], row["against"], row["num_occupations"]) == ("wefat", "share_women", 4)
    assert (row["pearson_low"], row["cue_1"], row["status"]) == (None, None, "ok")


def test_the_mahalanobis_distance_and_tests_that_are_not_listed_have_no_rows(outcome):
    assert {row["similarity"] for row in outcome.rows("word_associations")} == set(MEASURES)
    assert outcome.published == {"word_associations", "validation"}


@pytest.mark.parametrize(("run", "left", "needed"), [("outcome", 1, 2), ("chosen", 2, 3)])
def test_too_few_attributes_leave_all_occupations_without_result(request, run, left, needed):
    reason = f"attribute_a has {left} of its 3 words left, and needs {needed}"
    for table in ("word_associations", "validation"):
        for row in request.getfixturevalue(run).rows(table, test="gender"):
            if row["model"] != "whole":
                assert (row["status"], row["reason"]) == ("too_few_words", reason)
                assert row["pearson" if table == "validation" else "effect_size"] is None


@pytest.mark.parametrize(("women", "status"), [([0.2, 0.9, np.nan], "too_few_occupations"), ([0.5] * 3, "constant")])
def test_a_correlation_needs_three_occupations_that_differ(women, status):
    key = dict.fromkeys(("model", "language", "measure", "against"), "made up")
    row = validated(key, np.array([1.0, 3.0, 2.0]), np.array(women), IntervalSettings())
    assert (row.status, row.num_occupations) == (status, int(np.isfinite(women).sum()))


def test_chosen_wefats_are_all_that_runs(chosen):
    assert chosen.published == {"word_associations", "validation", "draws"}
    rows = chosen.rows("word_associations")
    assert {(row["test"], row["similarity"]) for row in rows} == {("gender", "cosine"), ("unlike", "cosine")}
    assert len(rows) == 2 * len(WOMEN)


def test_replicas_have_effect_sizes_of_their_own_with_intervals_as_asked_for(chosen):
    def effect(vectors, word):
        a, b = ([_cosine(vectors[word], vectors[o]) for o in side] for side in (["she", "woman", "boy"], ["he", "man"]))
        return (np.mean(a) - np.mean(b)) / np.std([*a, *b])

    words = [word for word in WOMEN if word != "guard"]
    effects = {word: [effect(vectors, word) for vectors in MOVED] for word in words}
    for row, name, values in in_replicas(chosen, "word_associations"):
        assert [row[name], *values] == pytest.approx(effects[row["word"]], abs=1e-5)
        assert (row["ddof"], row["num_attributes"], row["num_replicas"]) == (0, 5, 3)
    women = [WOMEN[word] for word in words]
    for row, name, values in in_replicas(chosen, "validation"):
        of_embeddings = [CORRELATIONS[name](replica, women)[0] for replica in zip(*effects.values(), strict=True)]
        assert [row[name], *values] == pytest.approx(of_embeddings, abs=1e-5)
    scales = {
        # Of 3 and 2 attributes.
        "word_associations": {"effect_size": correlated((5 * 5 / 6) ** 0.5)},
        "validation": {"pearson": correlated(), "spearman": correlated()},
    }
    check_intervals(chosen, scales, 0.8, "centred")
