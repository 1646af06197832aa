"""Embeddings in files: how they spell listed words, which are replicas of one, and files that are of no use."""

import numpy as np
import pytest

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.embedding.corpus.texts import WordSetError
from tiltmeter.storage.errors import InputError

ANGLES = {"Rose": 5, "rose": 60, "tulip": 30, "ant": 70, "wasp": 85, "love": 0, "peace": 10, "war": 90, "pain": 80}
"""Words by the direction of their vectors in a plane, in degrees."""

TARGETS = {
    "spelling": {"target_x": ["Rose", "Tulip"], "target_y": ["ant", "wasp"]},
    "alike": {"target_x": ["Rose", "rose", "tulip"], "target_y": ["ant", "wasp"]},
    "shared": {"target_x": ["Rose", "tulip"], "target_y": ["rose", "ant", "wasp"]},
}
ATTRIBUTES = {"attribute_a": ["love", "peace"], "attribute_b": ["war", "pain"]}


@pytest.fixture(scope="module")
def write(write_vectors):
    """Writes words in these directions; a word without one has a vector of length 0."""

    def write(path, angles):
        vectors = [(0, 0) if at is None else (np.cos(np.deg2rad(at)), np.sin(np.deg2rad(at))) for at in angles.values()]
        return write_vectors(path, angles, vectors)

    return write


@pytest.fixture(scope="module")
def overrides(word_lists, word_sets):
    tests = {name: word_sets(**targets, **ATTRIBUTES) for name, targets in TARGETS.items()}
    return [
        *("job=association", "embedding=file", "job.similarities=[cosine]", "job.statistics=[mean]", "job.min_words=1"),
        *word_lists("en", associations=tests, wefats=None),
    ]


@pytest.fixture(scope="module")
def outcomes(run_here, write, overrides, tmp_path_factory):
    """Of the same files with each setting of fold_case."""
    folder = tmp_path_factory.mktemp("files")
    write(folder / "cased.bin", ANGLES)
    # A few tokens in capitals do not make a file of 150 words a cased one.
    rare = {f"word{number}": number for number in range(150)} | {"<UNK>": 45}
    write(folder / "lower.bin", {word: at for word, at in ANGLES.items() if word != "Rose"} | rare)
    write(folder / "zero.bin", ANGLES | {"tulip": None})
    where = [f"embedding.path={folder}/*.bin", f"store={folder}/store"]
    return {
        fold: run_here(*overrides, *where, f"embedding.fold_case={fold}", f"run_dir={folder}/{fold}")
        for fold in ("auto", "true", "false")
    }


def _score(x, y):
    """Of words as the file spells them."""

    def near(word, side):
        return np.mean([np.cos(np.deg2rad(ANGLES[word] - ANGLES[other])) for other in ATTRIBUTES[side]])

    scores = [sum(near(word, "attribute_a") - near(word, "attribute_b") for word in words) for words in (x, y)]
    return scores[0] - scores[1]


@pytest.mark.parametrize(
    ("fold", "model", "spelled"),
    [
        ("auto", "cased", ["Rose"]),
        ("auto", "lower", ["rose", "tulip"]),
        ("true", "cased", ["Rose", "tulip"]),
        ("true", "lower", ["rose", "tulip"]),
        ("false", "cased", ["Rose"]),
    ],
)
def test_a_word_is_taken_as_it_is_listed_before_it_is_taken_in_lower_case(outcomes, fold, model, spelled):
    [row] = outcomes[fold].rows("associations", model=model, test="spelling")
    assert row["score"] == pytest.approx(_score(spelled, ["ant", "wasp"]), abs=1e-6)
    assert row["missing_words"] == ["Rose", "Tulip"][len(spelled) :]


def test_a_file_in_lower_case_has_no_capitals_to_find_unless_they_are_folded(outcomes):
    [row] = outcomes["false"].rows("associations", model="lower", test="spelling")
    assert (row["status"], row["missing_words"]) == ("too_few_words", ["Rose", "Tulip"])


def test_entries_that_a_file_spells_alike_count_once(outcomes):
    [row] = outcomes["auto"].rows("associations", model="lower", test="alike")
    assert (row["num_targets"], row["missing_words"], row["status"]) == (4, [], "ok")
    assert row["score"] == pytest.approx(_score(["rose", "tulip"], ["ant", "wasp"]), abs=1e-6)
    [row] = outcomes["auto"].rows("associations", model="cased", test="alike")
    assert row["num_targets"] == 5
    assert row["score"] == pytest.approx(_score(["Rose", "rose", "tulip"], ["ant", "wasp"]), abs=1e-6)


def test_targets_that_a_file_spells_alike_leave_nothing_to_test(outcomes):
    [row] = outcomes["auto"].rows("associations", model="lower", test="shared")
    assert (row["status"], row["score"], row["p_value"]) == ("same_words", None, None)
    assert row["reason"] == "the embedding spells ['Rose'] of target_x like words of target_y"
    [row] = outcomes["auto"].rows("associations", model="cased", test="shared")
    assert (row["status"], row["num_targets"]) == ("ok", 5)


def test_a_vector_of_length_0_counts_as_missing(outcomes):
    [row] = outcomes["auto"].rows("associations", model="zero", test="alike")
    assert (row["num_targets"], row["missing_words"], row["status"]) == (4, ["tulip"], "ok")
    assert row["score"] == pytest.approx(_score(["Rose", "rose"], ["ant", "wasp"]), abs=1e-6)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["a", "b"], r"embedding.path: 2 different files of 2, but .* takes the original's and those of 2 replicas or"),
        (["a", "b", "c", "a"], r"embedding.path: 3 different files of 4, .* each once; .*embedding.replicas=false"),
    ],
)
def test_replicas_are_three_files_or_more_each_once(run_here, write, overrides, tmp_path, chosen, message):
    for name in set(chosen):
        write(tmp_path / f"{name}.bin", ANGLES)
    paths = ",".join(f"{tmp_path}/{name}.bin" for name in chosen)
    with pytest.raises(InputError, match=message):
        run_here(*overrides, f"embedding.path=[{paths}]", "embedding.replicas=true", f"store={tmp_path}/store")


def test_replicas_of_different_dimensions_fail_with_both(run_here, write, write_vectors, overrides, tmp_path):
    for name in ("r0", "r1"):
        write(tmp_path / f"{name}.bin", ANGLES)
    write_vectors(tmp_path / "r2.bin", ANGLES, np.ones((len(ANGLES), 3)))
    where = [f"embedding.path={tmp_path}/*.bin", "embedding.replicas=true", f"store={tmp_path}/store"]
    with pytest.raises(UnitsFailed, match=r"replicas of one embedding have one number of dimensions, not \[2, 3\]"):
        run_here(*overrides, *where, "tests=[alike]")


def test_a_broken_file_fails_and_leaves_the_others_their_tables(run_here, outcome_of, write, overrides, tmp_path):
    good, broken = (write(tmp_path / f"{name}.bin", ANGLES) for name in ("good", "broken"))
    broken.write_bytes(good.read_bytes()[:-20])
    where = [f"embedding.path=[{good},{broken}]", f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    with pytest.raises(UnitsFailed, match=r"broken.bin.*the file breaks off here"):
        run_here(*overrides, *where)
    outcome = outcome_of(tmp_path / "run")
    assert {(row["model"], row["status"]) for row in outcome.rows("associations")} == {("good", "ok")}
    assert {row["model"] for row in outcome.rows("association_summary")} == {"good"}
    assert outcome.record["status"] == "failed"
    [failure] = outcome.record["failures"]
    assert failure["unit"] == str(broken)
    assert (outcome.path / "report.html").exists()


def test_a_file_without_a_word_of_the_chosen_tests_is_refused(run_here, write, overrides, tmp_path):
    where = [f"embedding.path={write(tmp_path / 'cues.bin', {'she': 1, 'he': 2})}", f"store={tmp_path}/store"]
    message = r"wordset.en.associations: none of its 8 words \(Rose, Tulip, ant, ...\) is in any of the embeddings"
    with pytest.raises(WordSetError, match=message):
        run_here(*overrides, *where, "tests=[spelling]")


@pytest.mark.slow
def test_a_file_without_any_listed_word_ends_the_command_with_status_2(tiltmeter, joining, write, tmp_path):
    path = write(tmp_path / "numbers.bin", {"one": 1, "two": 2})
    how = ["job=association", "embedding=file", f"embedding.path={path}", "tests=[weat1]"]
    process = tiltmeter(*joining, *how, "run_dir=run")
    _, errors = process.communicate(timeout=120)
    assert "tiltmeter: wordset.en.associations: none of its 100 words (aster, clover, hyacinth, ...) is in" in errors
    assert "Traceback" not in errors
    assert process.returncode == 2


def test_a_file_without_any_listed_word_has_too_few_beside_one_that_has_them(run_here, write, overrides, tmp_path):
    good, other = write(tmp_path / "good.bin", ANGLES), write(tmp_path / "numbers.bin", {"one": 1, "two": 2})
    where = [f"embedding.path=[{good},{other}]", f"store={tmp_path}/store"]
    statuses = {(row["model"], row["status"]) for row in run_here(*overrides, *where).rows("associations")}
    assert statuses == {("good", "ok"), ("numbers", "too_few_words")}


def test_a_phrase_that_a_file_lacks_is_the_mean_of_its_words_if_that_is_asked_for(
    run_here, write_vectors, word_lists, word_sets, tmp_path
):
    vectors = {"rose": (1, 0.2), "tulip": (2, 1), "ant": (0, 1), "wasp": (3, 5), "red_ant": (1, 9), "red": (9, 1)}
    vectors |= {"love\u0301": (1, 0), "war": (0, 1)}  # the list has one character for its last letter
    sides = {"target_x": ["rose", "tulip"], "target_y": ["Ant wasp", "red ant", "red bee"]}
    tests = {"phrases": word_sets(**sides, attribute_a=["'lov\u00e9'"], attribute_b=["war"])}
    overrides = [
        *("job=association", "embedding=file", "job.similarities=[cosine]", "job.statistics=[mean]", "job.min_words=1"),
        *word_lists("en", associations=tests, wefats=None),
        f"embedding.path={write_vectors(tmp_path / 'words.bin', vectors, list(vectors.values()))}",
        f"store={tmp_path}/store",
    ]
    [row] = run_here(*overrides, "embedding.average_phrases=true").rows("associations")
    assert row["missing_words"] == ["red bee"]
    mean = np.mean([vectors["ant"], vectors["wasp"]], axis=0)
    scores = [(at[0] - at[1]) / np.hypot(*at) for at in (vectors["rose"], vectors["tulip"], mean, vectors["red_ant"])]
    assert row["score"] == pytest.approx(scores[0] + scores[1] - scores[2] - scores[3], abs=1e-6)
    [row] = run_here(*overrides).rows("associations")
    assert row["missing_words"] == ["Ant wasp", "red bee"]
