"""Job `association` on files and encoders: its numbers against others worked out here, and its reasons for gaps."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.covariance import oas

from tests.fixtures.numbers import LINEAR, check_intervals, correlated, in_replicas
from tiltmeter.operators.association.covariance import precision
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.vectors.files import EmbeddingFile

pytestmark = pytest.mark.filterwarnings("ignore:Only one sample")  # parts of small sets, for the graphical lasso

# All sets are of unlike size, and small enough to enumerate all partitions of the targets.
SETS = {
    "near": {
        "target_x": ["Rose", "tulip", "new moon"],
        "target_y": ["ant", "wasp", "flea", "moth"],
        "attribute_a": ["love", "peace", "joy"],
        "attribute_b": ["war", "pain"],
    },
    "gone": {
        "target_x": ["rose", "absent", "missing"],
        "target_y": ["ant", "wasp", "flea"],
        "attribute_a": ["love", "peace", "nowhere"],
        "attribute_b": ["war", "pain", "rot"],
    },
    "same": {
        "target_x": ["new moon", "tulip"],
        "target_y": ["ant", "new_moon"],
        "attribute_a": ["love", "peace"],
        "attribute_b": ["war", "pain"],
    },
    "void": {
        "target_x": ["Rose", "tulip"],
        "target_y": ["ant", "wasp"],
        "attribute_a": ["nowhere", "nobody"],
        "attribute_b": ["war", "pain"],
    },
    "few": {
        "target_x": ["Rose", "tulip"],
        "target_y": ["ant", "wasp"],
        "attribute_a": ["love", "joy"],
        "attribute_b": ["pain", "rot"],
    },
}
SYNONYMS = {"joy": ["glee", "mirth"], "war": ["rot"], "Rose": ["glee"]}
"""Of a target, too, which is no matter, and one that no embedding has."""

WORDS = [
    *("Rose", "rose", "tulip", "new_moon", "ant", "wasp", "flea", "moth"),
    *("love", "peace", "joy", "war", "pain", "rot", "glee"),
]
"""'Rose' is not 'rose' in a file that has both, and 'new moon' is found as 'new_moon'."""

DIMS, NUM_FILES = 6, 5


@pytest.fixture(scope="module")
def configured_sets(word_lists, word_sets):
    """Overrides that put the word sets of this file in the place of the English ones."""
    tests = {name: word_sets(**sets) for name, sets in SETS.items()}
    return ["job=association", *word_lists("en", associations=tests, wefats=None)]


def _vectors(seed):
    return EmbeddingFile(list(WORDS), np.random.default_rng(seed).normal(size=(len(WORDS), DIMS)).astype(np.float32))


@pytest.fixture(scope="module")
def embedding():
    return _vectors(1)


@pytest.fixture(scope="module")
def outcome(run_here, configured_sets, embedding, write_vectors, tmp_path_factory):
    folder = tmp_path_factory.mktemp("association")
    path = write_vectors(folder / "small.bin", *embedding)
    how = ["embedding=file", f"embedding.path={path}", "job.num_neighbours=2", "tests=[near,gone,same,void]"]
    return run_here(*configured_sets, *how, f"store={folder}/store", f"run_dir={folder}/run")


def _sides(embedding):
    vector = dict(zip(embedding.words, embedding.vectors.astype(np.float64), strict=True))
    spelling = {"new moon": "new_moon"}
    return [np.stack([vector[spelling.get(word, word)] for word in words]) for words in SETS["near"].values()]


def _cosine(word, others):
    return others @ word / np.linalg.norm(others, axis=1) / np.linalg.norm(word)


MEASURES = {
    "cosine": _cosine,
    "euclidean": lambda word, others: np.sqrt(((others - word) ** 2).sum(axis=1)),
    "manhattan": lambda word, others: np.abs(others - word).sum(axis=1),
}
STATISTICS = {"mean": np.mean, "median": np.median, "min": np.min, "max": np.max}


def _distance(inverses):
    """Of a word to those of a side, by the inverse of the side's covariance."""
    return lambda word, side: np.array(
        [((word - other) @ inverses[len(side)] @ (word - other)) ** 0.5 for other in side]
    )


def _mahalanobis(embedding):
    """By the covariance of a set with the two nearest neighbours of its words."""
    vectors = embedding.vectors.astype(np.float64)
    nearest = [{at for other in side for at in np.argsort(-_cosine(other, vectors))[:3]} for side in _sides(embedding)]
    return _distance(
        {size: np.linalg.inv(oas(vectors[sorted(rows)])[0]) for size, rows in zip((3, 2), nearest[2:], strict=True)}
    )


def _sparse(embedding):
    """By a sparse estimate, of a set with the synonyms of its words."""
    a, b = _sides(embedding)[2:]
    more = dict(zip(embedding.words, embedding.vectors.astype(np.float64), strict=True))
    sets = {3: [*a, more["glee"]], 2: [*b, more["rot"]]}
    return _distance({size: precision(np.stack(rows), "graphical_lasso") for size, rows in sets.items()})


def _scores(embedding, similarity, statistic="mean", mahalanobis=_mahalanobis):
    x, y, a, b = _sides(embedding)
    words, sign = [*x, *y], 1 if similarity == "cosine" else -1
    measure = MEASURES.get(similarity) or mahalanobis(embedding)
    near_a, near_b = ([measure(word, side) for word in words] for side in (a, b))
    if statistic == "smallest_gap":
        return np.array([np.abs(np.subtract.outer(*near)).min() for near in zip(near_a, near_b, strict=True)])
    f = STATISTICS[statistic]
    return np.array([sign * (f(to_a) - f(to_b)) for to_a, to_b in zip(near_a, near_b, strict=True)])


def _sums(scores):
    """Of all ways to choose three of the seven targets."""
    return np.array([scores[list(chosen)].sum() for chosen in combinations(range(7), 3)])


@pytest.mark.parametrize("similarity", [*MEASURES, "mahalanobis"])
@pytest.mark.parametrize("statistic", [*STATISTICS, "smallest_gap"])
def test_every_measure_and_statistic_gives_what_its_formula_says(outcome, embedding, similarity, statistic):
    [row] = outcome.rows("associations", test="near", similarity=similarity, statistic=statistic)
    scores = _scores(embedding, similarity, statistic)
    x, y = scores[:3], scores[3:]
    assert row["score"] == pytest.approx(x.sum() - y.sum(), rel=1e-5, abs=1e-6)
    p = np.mean(_sums(scores) >= x.sum() - 1e-9)
    assert (row["p_value"], row["p_low"], row["p_high"]) == pytest.approx((p, p, p))
    assert row["effect_size"] == pytest.approx((x.mean() - y.mean()) / scores.std(ddof=1), rel=1e-5, abs=1e-6)
    assert row["absolute_effect_size"] == abs(row["effect_size"])
    assert (row["p_method"], row["ddof"], row["num_targets"], row["num_attributes"]) == ("exact", 1, 7, 5)
    assert (row["covariance"], row["missing_words"]) == ("shrinkage" if similarity == "mahalanobis" else None, [])
    assert (row["status"], row["alternative"], row["num_replicas"]) == ("ok", "greater", 0)


def test_a_test_with_too_few_words_says_which_set_and_what_is_missing(outcome):
    found = outcome.rows("associations", test="gone")
    assert len(found) == 4 * 5
    for row in found:
        assert (row["status"], row["effect_size"], row["p_value"]) == ("too_few_words", None, None)
        assert row["reason"] == "target_x (target_x) has 1 of its 3 words left, and needs 2"
        assert row["missing_words"] == ["absent", "missing", "nowhere"]
    for row in outcome.rows("associations", test="void"):
        assert row["reason"] == "attribute_a (attribute_a) has 0 of its 2 words left, and needs 2"
    for row in outcome.rows("associations", test="same"):
        assert (row["status"], row["p_value"]) == ("same_words", None)
        assert row["reason"].startswith("the embedding spells ['new moon'] of target_x like words of target_y")


def test_the_summary_counts_the_tests_with_a_result(outcome):
    summary = outcome.table("association_summary").to_pylist()
    assert len(summary) == 4 * 5
    for row in summary:
        [found] = outcome.rows("associations", test="near", similarity=row["similarity"], statistic=row["statistic"])
        is_ok = found["status"] == "ok"
        assert (row["num_tests"], row["num_significant"]) == (int(is_ok), int(is_ok and found["p_value"] < 0.05))
        assert row["mean_effect_size"] == (found["effect_size"] if is_ok else None)


@pytest.fixture(scope="module")
def replicas(run_here, configured_sets, write_vectors, word_lists, tmp_path_factory):
    """Files of the replicas of one model, measured otherwise than by default."""
    folder = tmp_path_factory.mktemp("replicas")
    for number in range(NUM_FILES):
        write_vectors(folder / f"r{number}.bin", *_vectors(number))
    otherwise = [
        *("job.ddof=0", "job.level=0.8", "job.interval=centred", "job.alternative=less", "job.min_share=0.8"),
        *("job.covariance=graphical_lasso", "job.enlargement=synonyms"),
        *("job.similarities=[cosine,mahalanobis]", "job.statistics=[mean]", "tests=[near,gone,few]"),
    ]
    [_, synonyms] = word_lists("en", synonyms={"source": "made up", "words": SYNONYMS})
    return run_here(
        *(*configured_sets, "embedding=file", f"embedding.path={folder}/*.bin", "embedding.replicas=true"),
        *(*otherwise, synonyms, f"store={folder}/store", f"run_dir={folder}/run"),
    )


@pytest.mark.parametrize("similarity", ["cosine", "mahalanobis"])
def test_every_replica_is_measured_by_its_own_vectors_and_p_is_the_originals(replicas, similarity):
    [row] = replicas.rows("associations", test="near", similarity=similarity)
    scores = np.array([_scores(_vectors(number), similarity, mahalanobis=_sparse) for number in range(NUM_FILES)])
    x, y = scores[:, :3], scores[:, 3:]
    numbers = {
        "score": x.sum(axis=1) - y.sum(axis=1),
        "effect_size": (x.mean(axis=1) - y.mean(axis=1)) / scores.std(axis=1),
    }
    drawn = {name: values for of, name, values in in_replicas(replicas, "associations") if of == row}
    for name, values in numbers.items():
        assert [row[name], *drawn[name]] == pytest.approx(values.tolist(), rel=1e-4, abs=1e-6)
    assert (row["covariance"], row["num_attributes"]) == ("graphical_lasso" if similarity == "mahalanobis" else None, 5)
    assert row["p_value"] == pytest.approx(np.mean(_sums(scores[0]) <= x[0].sum() + 1e-9))
    assert (row["num_replicas"], row["ddof"], row["alternative"]) == (NUM_FILES - 1, 0, "less")
    assert [gone["reason"] for gone in replicas.rows("associations", test="gone", similarity=similarity)] == [
        "target_x (target_x) has 1 of its 3 words left, and needs 3"
    ]


def test_a_set_without_a_covariance_says_why_and_other_measures_go_on(replicas):
    """Two words, of which neither has a synonym."""
    [row] = replicas.rows("associations", test="few", similarity="mahalanobis")
    reason = "vectors has shape (2, 6): graphical_lasso takes [n, dims] with n of 3 or more"
    assert (row["status"], row["reason"].partition(";")[0]) == ("no_covariance", reason)
    assert (row["score"], row["effect_size"], row["p_value"]) == (None, None, None)
    [row] = replicas.rows("associations", test="few", similarity="cosine")
    assert (row["status"], row["covariance"], row["num_attributes"]) == ("ok", None, 4)


def test_intervals_are_by_the_level_and_the_method_that_are_asked_for(replicas):
    # Of 3 and 4 targets, or of 2 and 2, d is at most this large, where all that differs is the set.
    largest = {"near": (7 * 7 / 12) ** 0.5, "few": 2.0}
    scales = {"score": LINEAR, "effect_size": lambda row: correlated(largest[row["test"]])}
    check_intervals(replicas, {"associations": scales}, 0.8, "centred")


def test_files_of_models_are_measured_one_by_one(run_here, configured_sets, write_vectors, tmp_path):
    for number in range(2):
        write_vectors(tmp_path / f"r{number}.vec", *_vectors(number), "word2vec_text")
    quick = ["job.similarities=[cosine,mahalanobis]", "job.statistics=[mean]", "job.num_neighbours=2", "tests=[near]"]
    paths = ["embedding=file", f"embedding.path={tmp_path}/*.vec", f"store={tmp_path}/store"]
    run = run_here(*configured_sets, *paths, *quick, f"run_dir={tmp_path}/run")
    rows, summary = run.rows("associations"), run.rows("association_summary")
    measures = [(f"r{number}", similarity) for number in range(2) for similarity in ("cosine", "mahalanobis")]
    assert [(row["model"], row["similarity"]) for row in rows] == measures
    for row, together, (model, similarity) in zip(rows, summary, measures, strict=True):
        scores = _scores(_vectors(int(model[1])), similarity)
        assert row["score"] == pytest.approx(scores[:3].sum() - scores[3:].sum(), rel=1e-5, abs=1e-6)
        assert (row["effect_size_low"], row["num_replicas"]) == (None, 0)
        assert (together["num_tests"], together["mean_effect_size"]) == (1, row["effect_size"])


def test_a_path_must_be_there(run_here, tmp_path):
    with pytest.raises(InputError, match=r"embedding.path=nowhere.bin: there is no file .*nowhere.bin"):
        run_here("job=association", "embedding=file", "embedding.path=nowhere.bin", f"store={tmp_path}/store")


def test_two_files_of_one_name_are_refused(run_here, embedding, write_vectors, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_vectors(tmp_path / folder / "same.bin", *embedding)
    paths = f"[{tmp_path}/one/same.bin,{tmp_path}/two/same.bin]"
    with pytest.raises(InputError, match=r"two files are called 'same'.*embedding.replicas=true"):
        run_here("job=association", "embedding=file", f"embedding.path={paths}", f"store={tmp_path}/store")
