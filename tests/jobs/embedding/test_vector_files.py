"""Embeddings in files: how they spell listed words, which are replicas of one, and files that are of no use."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gensim.models import KeyedVectors

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.embedding.config import WordSetError
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


LINE = {"Rose": float(np.frombuffer(b"0.50", np.float32)[0]), "tulip": 1.5, "ant": 4.0, "wasp": -3.0}
LINE |= {"love": 1.0, "peace": -1.0, "war": 2.5, "pain": 7.0}
"""Words by their place on a line; as four bytes, the first place reads like a number."""


def _rows(places, more=""):
    return "".join(f"{word} {place}{more}\n" for word, place in places.items())


def _keyed(path, places):
    keyed = KeyedVectors(1)
    keyed.add_vectors([*places], np.float32([*places.values()])[:, np.newaxis])
    keyed.save(str(path))


def _table(path, places):
    pq.write_table(pa.table({"word": [*places], "vector": [[place] for place in places.values()]}), path)


FORMATS = {
    "word2vec_text": lambda path, places: path.write_text(f"9 2\nbad 1\n{_rows(places, ' 0')}"),
    "glove": lambda path, places: path.write_text(f"9 2\n{_rows(places)}"),
    "word2vec_binary": lambda path, places: path.write_bytes(
        b"8 1\n"
        + b"".join(word.encode() + b" " + np.float32(place).tobytes() + b"\n" for word, place in places.items())
    ),
    "keyedvectors": _keyed,
    "parquet": _table,
}
"""Writers of files, of which the first three look like files of another format."""


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_is_read_in_the_format_that_is_said(run_here, overrides, tmp_path, form):
    FORMATS[form](tmp_path / "line.dat", LINE)
    where = [f"embedding.path={tmp_path}/line.dat", f"store={tmp_path}/store", "reading.max_bad_share=0.2"]
    chosen = [f"embedding.format={form}", f"embedding.allow_pickle={form == 'keyedvectors'}"]
    for number in range(2 if form == "word2vec_text" else 1):  # what the store has, too, is counted
        run = run_here(*overrides, *where, *chosen, "tests=[shared]", "job.similarities=[euclidean]")
        [row] = run.rows("associations")
        near = {
            word: np.mean([[abs(LINE[word] - LINE[to]) for to in ATTRIBUTES[side]] for side in ATTRIBUTES], axis=1)
            for word in ("Rose", "tulip", "ant", "wasp")
        }
        scores = [to_b - to_a for to_a, to_b in near.values()]
        assert row["score"] == pytest.approx(sum(scores[:2]) - sum(scores[2:]), rel=1e-6)
        assert (row["missing_words"], row["status"]) == (["rose"], "ok")
        left = {"file": f"{tmp_path}/line.dat", "reason": "not 2 numbers after a word", "kind": "bad", "num": 1}
        assert run.record["left_out"] == ([left | {"first": "line 2"}] if form == "word2vec_text" else []), number


def test_a_file_of_too_many_bad_rows_is_refused(run_here, write, overrides, tmp_path):
    good, bad = write(tmp_path / "good.bin", ANGLES), tmp_path / "bad.txt"
    bad.write_text(_rows(LINE) + "x nan\n" * 12)
    where = [*overrides, f"store={tmp_path}/store"]
    with pytest.raises(UnitsFailed, match=r"bad\.txt: 12 of 20 records are bad \(60%\), more than reading"):
        run_here(*where, f"embedding.path=[{good},{bad}]", f"run_dir={tmp_path}/both")
    with pytest.raises(InputError, match=r"reading\.max_bad_share=0\.5 allows"):
        run_here(*where, f"embedding.path={bad}", "reading.max_bad_share=0.5", f"run_dir={tmp_path}/alone")


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


SPELLED = {
    ("auto", "cased"): ["Rose"],
    ("auto", "lower"): ["rose", "tulip"],
    ("true", "cased"): ["Rose", "tulip"],
    ("true", "lower"): ["rose", "tulip"],
    ("false", "cased"): ["Rose"],
}


@pytest.mark.parametrize(("fold", "model"), SPELLED)
def test_a_word_is_taken_as_it_is_listed_before_it_is_taken_in_lower_case(outcomes, fold, model):
    [row] = outcomes[fold].rows("associations", model=model, test="spelling")
    spelled = SPELLED[fold, model]
    assert row["score"] == pytest.approx(_score(spelled, ["ant", "wasp"]), abs=1e-6)
    assert row["missing_words"] == ["Rose", "Tulip"][len(spelled) :]


def test_a_file_in_lower_case_has_no_capitals_to_find_unless_they_are_folded(outcomes):
    [row] = outcomes["false"].rows("associations", model="lower", test="spelling")
    assert (row["status"], row["missing_words"]) == ("too_few_words", ["Rose", "Tulip"])


@pytest.mark.parametrize(
    ("model", "words", "missing"),
    [
        ("lower", ["rose", "tulip"], []),
        ("cased", ["Rose", "rose", "tulip"], []),
        ("zero", ["Rose", "rose"], ["tulip"]),
    ],
)
def test_entries_that_a_file_spells_alike_count_once_and_vectors_of_length_0_as_missing(
    outcomes, model, words, missing
):
    [row] = outcomes["auto"].rows("associations", model=model, test="alike")
    assert (row["num_targets"], row["missing_words"], row["status"]) == (len(words) + 2, missing, "ok")
    assert row["score"] == pytest.approx(_score(words, ["ant", "wasp"]), abs=1e-6)


def test_targets_that_a_file_spells_alike_leave_nothing_to_test(outcomes):
    [row] = outcomes["auto"].rows("associations", model="lower", test="shared")
    assert (row["status"], row["score"], row["p_value"]) == ("same_words", None, None)
    assert row["reason"] == "the embedding spells ['Rose'] of target_x like words of target_y"
    [row] = outcomes["auto"].rows("associations", model="cased", test="shared")
    assert (row["status"], row["num_targets"]) == ("ok", 5)


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
