"""Association tests by the Mahalanobis distance: a sparse estimate of the covariance, and sets that have none."""

import numpy as np
import pytest

from tiltmeter.operators.association.covariance import precision

TARGETS = {"target_x": ["rose", "tulip", "daisy"], "target_y": ["ant", "wasp", "flea"]}
GOOD = {"attribute_a": ["love", "peace", "joy", "honour", "luck"], "attribute_b": ["war", "pain", "rot", "ugly", "ash"]}
TESTS = {
    "near": TARGETS | GOOD,
    "twins": TARGETS | {"attribute_a": GOOD["attribute_a"], "attribute_b": ["twin"]},
    "unknown": TARGETS | {"attribute_a": ["nowhere", "nobody"], "attribute_b": GOOD["attribute_b"]},
}
WORDS = [word for words in (TARGETS | GOOD).values() for word in words]
FULL = np.random.default_rng(5).normal(size=(len(WORDS), 4))
TWIN = [9.0, -9.0, 9.0, -9.0]
NO_COVARIANCE = (
    "vectors has shape (2, 4): graphical_lasso takes [n, dims] with n of 3 or more; enlarge the set by its neighbours"
)


@pytest.fixture(scope="module")
def outcome(run_here, write_vectors, word_lists, word_sets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sparse")
    write_vectors(folder / "full.bin", [*WORDS, "twin", "brother"], [*FULL, TWIN, TWIN])
    targets = [WORDS.index(word) for words in TARGETS.values() for word in words]
    write_vectors(folder / "targets.bin", [WORDS[at] for at in targets], FULL[targets])
    return run_here(
        *("job=association", "embedding=file", f"embedding.path={folder}/*.bin", "job.covariance=graphical_lasso"),
        *("job.similarities=[cosine,mahalanobis]", "job.statistics=[mean]", "job.min_words=1", "job.num_neighbours=1"),
        *word_lists("en", associations={name: word_sets(**test) for name, test in TESTS.items()}, wefats=None),
        *(f"store={folder}/store", f"run_dir={folder}/run"),
    )


def _mean_distances(words, side):
    """Of words to the words of a set, by the covariance of the set and of the nearest neighbour of each word in it."""
    vectors = np.float32([*FULL, TWIN, TWIN]).astype(float)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    own = [WORDS.index(word) for word in side]
    cosines = unit[own] @ unit.T
    cosines[range(len(own)), own] = -np.inf
    theta = precision(vectors[sorted({*own, *cosines.argmax(axis=1)})], "graphical_lasso")
    apart = vectors[[WORDS.index(word) for word in words], np.newaxis] - vectors[own]
    return np.sqrt(np.einsum("wad,de,wae->wa", apart, theta, apart)).mean(axis=1)


def test_the_score_takes_the_precision_of_each_set_with_its_neighbours(outcome):
    scores = {
        side: _mean_distances(words, GOOD["attribute_b"]) - _mean_distances(words, GOOD["attribute_a"])
        for side, words in TARGETS.items()
    }
    [row] = outcome.rows("associations", model="full", test="near", similarity="mahalanobis")
    assert row["score"] == pytest.approx(scores["target_x"].sum() - scores["target_y"].sum(), rel=1e-4)
    assert (row["covariance"], row["status"], row["reason"]) == ("graphical_lasso", "ok", "")


def test_a_set_without_a_covariance_says_why_and_other_measures_go_on(outcome):
    [row] = outcome.rows("associations", model="full", test="twins", similarity="mahalanobis")
    assert (row["status"], row["reason"]) == ("no_covariance", NO_COVARIANCE)
    assert (row["score"], row["effect_size"], row["p_value"]) == (None, None, None)
    [row] = outcome.rows("associations", model="full", test="twins", similarity="cosine")
    assert (row["status"], row["covariance"], row["num_attributes"]) == ("ok", None, 6)


@pytest.mark.parametrize(("model", "test", "num"), [("full", "unknown", 2), ("targets", "near", 5)])
def test_a_set_without_a_known_word_has_too_few(outcome, model, test, num):
    for row in outcome.rows("associations", model=model, test=test):
        assert row["status"] == "too_few_words"
        assert row["reason"] == f"attribute_a (attribute_a) has 0 of its {num} words left, and needs 1"


def test_a_set_may_be_enlarged_by_the_synonyms_of_its_words(run_here, write_vectors, word_lists, word_sets, tmp_path):
    """A synonym of a word of each set is taken, and one that no embedding has is not."""
    synonyms = {"source": "made up", "words": {"joy": ["glee", "mirth"], "ash": ["soot"], "rose": ["bloom"]}}
    tests = word_lists("en", associations={"near": word_sets(**TARGETS, **GOOD)}, wefats=None)
    [_, added] = word_lists("en", synonyms=synonyms)
    more = {"glee": [1.0, 2.0, 0.0, 1.0], "soot": [0.0, 3.0, 1.0, -1.0], "bloom": [5.0, 5.0, 5.0, 5.0]}
    write_vectors(tmp_path / "full.bin", [*WORDS, *more], [*FULL, *more.values()])
    outcome = run_here(
        *("job=association", *tests, added, "job.enlargement=synonyms", "embedding=file"),
        *(f"embedding.path={tmp_path}/full.bin", f"store={tmp_path}/store"),
        *("job.similarities=[mahalanobis]", "job.statistics=[mean]", "job.min_words=1"),
    )
    vectors = dict(zip([*WORDS, *more], np.float32([*FULL, *more.values()]).astype(float), strict=True))

    def distances(side, synonym):
        theta = precision(np.array([vectors[word] for word in (*side, synonym)]))
        apart = np.array([[vectors[x] - vectors[a] for a in side] for words in TARGETS.values() for x in words])
        return np.sqrt(np.einsum("wad,de,wae->wa", apart, theta, apart)).mean(axis=1)

    scores = distances(GOOD["attribute_b"], "soot") - distances(GOOD["attribute_a"], "glee")
    [row] = outcome.rows("associations")
    assert row["score"] == pytest.approx(scores[:3].sum() - scores[3:].sum(), rel=1e-4)
    assert row["num_attributes"] == 10
