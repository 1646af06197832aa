"""Job `association` on files of vectors: what the operators say of the right words and settings, or why not."""

from statistics import mean, stdev

import numpy as np
import pytest

from tests.fixtures.numbers import LINEAR, check_intervals, correlated, in_replicas
from tiltmeter.operators.association import weat
from tiltmeter.operators.association.covariance import enlarged, precision
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.partitions.permutation import monte_carlo_p_value, permutation_p_value
from tiltmeter.storage.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore:Only one sample")  # parts of small sets, for the graphical lasso

SIDES = ("target_x", "target_y", "attribute_a", "attribute_b")
SETS = {
    "near": "Rose,tulip,new moon|ant,wasp,flea,moth|love,peace,joy|war,pain",
    "gone": "rose,absent,missing|ant,wasp,flea|love,peace,nowhere|war,pain,rot",
    "same": "new moon,tulip|ant,new_moon|love,peace|war,pain",
    "void": "Rose,tulip|ant,wasp|nowhere,nobody|war,pain",
    "few": "Rose,tulip|ant,wasp|love,joy|pain,rot",
}
"""Sets of unlike size, and small enough to enumerate all partitions of the targets."""

SETS = {
    name: dict(zip(SIDES, (side.split(",") for side in sets.split("|")), strict=True)) for name, sets in SETS.items()
}
SYNONYMS = {"joy": ["glee", "mirth"], "war": ["rot"], "Rose": ["glee"]}
"""Of a target, too, which is no matter, and one that no embedding has."""

WORDS = [
    *("Rose", "rose", "tulip", "new_moon", "ant", "wasp", "flea", "moth"),
    *("love", "peace", "joy", "war", "pain", "rot", "glee"),
]
"""'Rose' is not 'rose' in a file that has both, and 'new moon' is found as 'new_moon'."""

NEAR = [[WORDS.index(word.replace(" ", "_")) for word in words] for words in SETS["near"].values()]
SIMILARITIES = ("cosine", "euclidean", "manhattan", "mahalanobis")
STATISTICS = ("mean", "median", "min", "max", "smallest_gap")
DIMS, NUM_FILES = 6, 5


def _vectors(seed):
    return np.random.default_rng(seed).normal(size=(len(WORDS), DIMS)).astype(np.float32)


@pytest.fixture(scope="module")
def configured_sets(word_lists, word_sets):
    """Overrides that put the word sets of this file in the place of the English ones."""
    tests = {name: word_sets(**sets) for name, sets in SETS.items()}
    return ["job=association", *word_lists("en", associations=tests, wefats=None), "embedding=file"]


@pytest.fixture(scope="module")
def outcome(run_here, configured_sets, write_vectors, tmp_path_factory):
    """Two models."""
    folder = tmp_path_factory.mktemp("association")
    for number in range(2):
        write_vectors(folder / f"r{number}.vec", WORDS, _vectors(number), "word2vec_text")
    how = [f"embedding.path={folder}/*.vec", "job.num_neighbours=2", "tests=[near,gone,same,void]"]
    how += ["measures=[weat,rnd,nas,rnsb]"]
    return run_here(*configured_sets, *how, f"store={folder}/store", f"run_dir={folder}/run")


def _by_neighbours(vectors):
    """Of each attribute set with the two nearest neighbours of its words."""
    return [precision(vectors[rows]) for rows in enlarged([np.array(side) for side in NEAR[2:]], vectors, 2)]


def _by_synonyms(vectors):
    """Sparse, of each attribute set with the synonyms of its words."""
    more = [WORDS.index("glee")], [WORDS.index("rot")]
    sets = (side + others for side, others in zip(NEAR[2:], more, strict=True))
    return [precision(vectors[rows], "graphical_lasso") for rows in sets]


def _expected(seed, similarity, statistic="mean", ddof=1, precisions=_by_neighbours):
    vectors = _vectors(seed).astype(np.float64)
    matrices = tuple(precisions(vectors)) if similarity == "mahalanobis" else None
    return weat(*(vectors[rows] for rows in NEAR), similarity, statistic, ddof=ddof, precisions=matrices)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_measure_and_statistic_gives_what_its_formula_says(outcome, similarity, statistic):
    rows = outcome.rows("associations", test="near", similarity=similarity, statistic=statistic)
    assert [row["model"] for row in rows] == ["r0", "r1"]
    for number, row in enumerate(rows):
        test = _expected(number, similarity, statistic)
        assert (row["score"], row["effect_size"]) == pytest.approx((test.score, test.effect_size), rel=1e-5, abs=1e-6)
        assert (row["p_value"], row["p_low"], row["p_high"]) == pytest.approx((test.p_value,) * 3)
        assert row["absolute_effect_size"] == abs(row["effect_size"])
        assert (row["p_method"], row["ddof"], row["num_targets"], row["num_attributes"]) == ("exact", 1, 7, 5)
        assert (row["covariance"], row["missing_words"]) == ("shrinkage" if similarity == "mahalanobis" else None, [])
        assert (row["status"], row["alternative"], row["num_replicas"]) == ("ok", "greater", 0)
        assert row["effect_size_low"] is None


def test_a_test_with_too_few_words_says_which_set_and_what_is_missing(outcome):
    found = outcome.rows("associations", test="gone")
    assert len(found) == 2 * 4 * 5
    for row in found:
        assert (row["status"], row["effect_size"], row["p_value"]) == ("too_few_words", None, None)
        assert row["reason"] == "target_x (target_x) has 1 of its 3 words left, and needs 2"
        assert row["missing_words"] == ["absent", "missing", "nowhere"]
    for row in outcome.rows("associations", test="void"):
        assert row["reason"] == "attribute_a (attribute_a) has 0 of its 2 words left, and needs 2"
    for row in outcome.rows("associations", test="same"):
        assert (row["status"], row["p_value"]) == ("same_words", None)
        assert row["reason"].startswith("the embedding spells ['new moon'] of target_x like words of target_y")


def test_known_measures_are_taken_of_every_model_and_test(outcome):
    rows = outcome.rows("measures", query="near", model="r1")
    assert [(row["measure"], row["groups"], row["attributes"]) for row in rows if row["word"] is None] == [
        ("weat", "target_x, target_y", "attribute_a, attribute_b"),
        ("rnd", "target_x, target_y", "attribute_a"),
        ("rnd", "target_x, target_y", "attribute_b"),
        ("rnd", "attribute_a, attribute_b", "target_x"),
        ("rnd", "attribute_a, attribute_b", "target_y"),
        ("rnsb", "target_x, target_y", "attribute_a, attribute_b"),
    ]
    test = _expected(1, "cosine", ddof=0)
    assert rows[0]["value"] == pytest.approx(test.effect_size, rel=1e-5)
    vectors = _vectors(1).astype(np.float64)
    a, b, y = (vectors[NEAR[side]] / np.linalg.norm(vectors[NEAR[side]], axis=1)[:, None] for side in (2, 3, 1))
    by_hand = np.mean([np.linalg.norm(word - a.mean(axis=0)) - np.linalg.norm(word - b.mean(axis=0)) for word in y])
    assert rows[4]["value"] == pytest.approx(by_hand, rel=1e-5)
    assert [row["word"] for row in rows if row["measure"] == "nas"] == [
        *SETS["near"]["target_x"],
        *SETS["near"]["target_y"],
    ]
    assert {row["null"] for row in rows} == {"targets", "attributes", "it is above 0 for any words"}
    assert [row["p_value"] is None for row in rows] == [row["measure"] == "rnsb" for row in rows]
    assert {row["status"] for row in outcome.rows("measures", query="gone")} == {"too_few_words"}
    assert "NAS: a larger value says that the word goes with A" in (outcome.path / "report.html").read_text()


def test_the_summary_counts_the_tests_with_a_result(outcome):
    summary = outcome.rows("association_summary")
    assert len(summary) == 2 * 4 * 5
    for row in summary:
        key = {name: row[name] for name in ("model", "similarity", "statistic")}
        [found] = outcome.rows("associations", test="near", **key)
        assert (row["num_tests"], row["num_significant"]) == (1, int(found["p_value"] < 0.05))
        assert (row["mean_effect_size"], row["sd_effect_size"]) == (found["effect_size"], None)


@pytest.fixture(scope="module")
def replicas(run_here, configured_sets, write_vectors, word_lists, tmp_path_factory):
    """Files of the replicas of one model, measured otherwise than by default."""
    folder = tmp_path_factory.mktemp("replicas")
    for number in range(NUM_FILES):
        write_vectors(folder / f"r{number}.bin", WORDS, _vectors(number))
    otherwise = [
        *("job.ddof=0", "job.level=0.8", "job.interval=centred", "job.alternative=less", "job.min_share=0.8"),
        *("job.covariance=graphical_lasso", "job.enlargement=synonyms"),
        *("job.similarities=[cosine,mahalanobis]", "job.statistics=[mean]", "tests=[near,gone,few]"),
    ]
    [_, synonyms] = word_lists("en", synonyms={"source": "made up", "words": SYNONYMS})
    return run_here(
        *(*configured_sets, f"embedding.path={folder}/*.bin", "embedding.replicas=true"),
        *(*otherwise, synonyms, f"store={folder}/store", f"run_dir={folder}/run"),
    )


@pytest.mark.parametrize("similarity", ["cosine", "mahalanobis"])
def test_every_replica_is_measured_by_its_own_vectors_and_p_is_the_originals(replicas, similarity):
    [row] = replicas.rows("associations", test="near", similarity=similarity)
    tests = [_expected(number, similarity, ddof=0, precisions=_by_synonyms) for number in range(NUM_FILES)]
    drawn = {name: values for of, name, values in in_replicas(replicas, "associations") if of == row}
    for name in ("score", "effect_size"):
        expected = [float(getattr(test, name)) for test in tests]
        assert [row[name], *drawn[name]] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert (row["covariance"], row["num_attributes"]) == ("graphical_lasso" if similarity == "mahalanobis" else None, 5)
    scores = tests[0].scores
    assert row["p_value"] == pytest.approx(permutation_p_value(scores[:3], scores[3:], alternative="less").value)
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


def test_files_must_be_there_and_have_names_of_their_own(run_here, write_vectors, tmp_path):
    how = ["job=association", "embedding=file", f"store={tmp_path}/store"]
    with pytest.raises(InputError, match=r"embedding.path=nowhere.bin: there is no file .*nowhere.bin"):
        run_here(*how, "embedding.path=nowhere.bin")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_vectors(tmp_path / folder / "same.bin", WORDS, _vectors(1))
    with pytest.raises(InputError, match=r"two files are called 'same'.*embedding.replicas=true"):
        run_here(*how, f"embedding.path=[{tmp_path}/one/same.bin,{tmp_path}/two/same.bin]")


# --- all tests together, and tests that are too large to count ------------------------------------------------------

ATTRIBUTES = [{"love": 0, "peace": 10, "joy": 20}, {"war": 90, "pain": 80, "rot": 75}]
TARGETS = {
    "forth": [{"rose": 5, "tulip": 25, "daisy": 30}, {"ant": 70, "wasp": 65, "flea": 85}],
    "back": [{"gun": 88, "sword": 40, "axe": 60}, {"harp": 12, "lute": 50, "drum": 33}],
    "tenth": [{"rose": 5, "tulip": 25}, {"ant": 70, "wasp": 65, "flea": 85}],
    "many": [{f"m{at}": 2.5 * at for at in range(24)}, {f"n{at}": 9 + 3.1 * at for at in range(20)}],
    "crowd": [{f"x{at}": at / 9 for at in range(500)}, {f"y{at}": 35 + at / 10 for at in range(501)}],
}
"""Words by the direction of their vectors in a plane, in degrees: cosines are those of the differences."""

MISSING = {"gone": [{"rose": 5, "absent": 0, "missing": 0}, TARGETS["forth"][1]]}
LARGE = {name: [*targets, *ATTRIBUTES] for name, targets in (TARGETS | MISSING).items()}


@pytest.fixture(scope="module")
def of_angles(run_here, write_vectors, word_lists, word_sets, tmp_path_factory):
    """Runs the tests of words by their direction."""
    folder = tmp_path_factory.mktemp("summary")
    angles = {word: angle for sides in LARGE.values() for side in sides for word, angle in side.items()}
    words = [word for word in angles if word not in ("absent", "missing")]
    radians = np.deg2rad([angles[word] for word in words])
    path = write_vectors(folder / "plane.bin", words, np.stack([np.cos(radians), np.sin(radians)], axis=1))
    tests = {name: word_sets(**dict(zip(SIDES, map(list, sides), strict=True))) for name, sides in LARGE.items()}
    overrides = [
        *("job=association", "embedding=file", f"embedding.path={path}", f"store={folder}/store"),
        *word_lists("en", associations=tests, wefats=None),
        *("job.similarities=[cosine]", "job.statistics=[mean]", "job.relative_width=0.002"),
    ]
    return lambda name, *how: run_here(*overrides, *how, f"run_dir={folder}/{name}")


@pytest.fixture(scope="module")
def together(of_angles):
    return of_angles("together", "job.significance=0.1")


def _scores(name):
    """Of both targets of a test, by the directions of its words."""
    x, y, *sides = LARGE[name]

    def score(angle):
        near_a, near_b = (np.cos(np.deg2rad(angle - np.array(list(side.values())))).mean() for side in sides)
        return near_a - near_b

    return [np.array([score(angle) for angle in side.values()]) for side in (x, y)]


def _effect_size(name):
    of_x, of_y = _scores(name)
    return (mean(of_x) - mean(of_y)) / stdev([*of_x, *of_y])


def test_the_tests_are_what_they_are_meant_to_be(together):
    rows = {row["test"]: row for row in together.rows("associations")}
    unlike = {"crowd": "too_many_words", "gone": "too_few_words"}
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(LARGE, "ok") | unlike
    for name in TARGETS:
        assert rows[name]["effect_size"] == pytest.approx(_effect_size(name), abs=1e-5)
    # X has the largest scores: of the 20 or 10 partitions only its own is as large.
    assert (rows["forth"]["p_value"], rows["tenth"]["p_value"]) == (1 / 20, 1 / 10)
    assert rows["back"]["effect_size"] < 0 < rows["forth"]["effect_size"]
    # Of the many partitions there are bounds, as near to each other as is asked for.
    many = rows["many"]
    assert (many["p_method"], many["num_targets"]) == ("certified", 44)
    assert many["p_low"] < many["p_high"] == many["p_value"] < many["p_low"] * 1.00201
    assert many["p_value"] == pytest.approx(permutation_p_value(*_scores("many"), 0.001).value, rel=0.002)
    crowd = rows["crowd"]
    assert (crowd["num_targets"], crowd["p_value"], crowd["p_method"]) == (1001, None, None)
    reason = "over 1000 targets are too many for a p-value: draw some instead (job.p_value=monte_carlo)"
    assert reason in crowd["reason"]


def test_the_summary_takes_mean_and_sample_deviation_of_effect_sizes_and_of_their_size(together):
    """Significant is what lies below the level that is set, not what reaches it."""
    effects = [_effect_size(name) for name in ("forth", "back", "tenth", "many")]
    [row] = together.rows("association_summary")
    assert (row["num_tests"], row["num_significant"], row["significance"]) == (4, 2, 0.1)
    for name, values in (("effect_size", effects), ("absolute_effect_size", [*map(abs, effects)])):
        assert (row[f"mean_{name}"], row[f"sd_{name}"]) == pytest.approx((mean(values), stdev(values)), abs=1e-5)
    assert (row["similarity"], row["statistic"], row["ddof"]) == ("cosine", "mean", 1)


def test_over_a_thousand_targets_are_drawn_from_as_the_reason_says(of_angles):
    """By the seed of the run and the name of the test; either direction counts, if that is asked for."""
    how = ["job.p_value=monte_carlo", "job.num_draws=199", "job.alternative=two-sided", "seed=3"]
    rows = of_angles("drawn", *how, "tests=[crowd,back,many]").rows("associations")
    assert [row["test"] for row in rows] == ["crowd", "back", "many"]
    for row in rows:
        expected = monte_carlo_p_value(*_scores(row["test"]), 199, 3, document_key(row["test"]), "two-sided")
        assert (row["status"], row["p_method"], row["alternative"]) == ("ok", "monte_carlo", "two-sided")
        numbers = [row[name] for name in ("p_value", "p_low", "p_high", "p_standard_error")]
        assert numbers == pytest.approx([*expected[:3], expected.standard_error])
