"""Embeddings that are given: files, how they spell listed words, which are replicas of one, which are of no use; and
encoders, by a small model that is saved, found by its folder, and measured through the whole job."""

import re
from functools import cache

import huggingface_hub.constants
import numpy as np
import pytest
import torch
from gensim.models import KeyedVectors
from scipy.stats import spearmanr
from sklearn.covariance import oas
from transformers import BertModel

from tiltmeter.cluster.config import ClusterError
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.embedding.config import WordSetError
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.checkpoints import CheckpointError

ANGLES = {"Rose": 5, "rose": 60, "tulip": 30, "ant": 70, "wasp": 85, "love": 0, "peace": 10, "war": 90, "pain": 80}
"""Words by the direction of their vectors in a plane, in degrees."""

TARGETS = {
    "spelling": {"target_x": ["Rose", "Tulip"], "target_y": ["ant", "wasp"]},
    "alike": {"target_x": ["Rose", "rose", "tulip"], "target_y": ["ant", "wasp"]},
    "shared": {"target_x": ["Rose", "tulip"], "target_y": ["rose", "ant", "wasp"]},
    "phrase": {"target_x": ["Rose", "tulip"], "target_y": ["Ant wasp", "ant", "wasp"]},
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


FORMATS = {
    "word2vec_text": lambda path, places: path.write_text(f"9 2\nbad 1\n{_rows(places, ' 0')}"),
    "glove": lambda path, places: path.write_text(f"9 2\n{_rows(places)}"),
    "keyedvectors": _keyed,
}
"""Writers of files, of which the first two look like files of another format; of the others, vectors are released."""


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


@pytest.fixture(scope="module")
def outcomes(run_here, write, overrides, tmp_path_factory):
    """Of the same files with each setting of fold_case."""
    folder = tmp_path_factory.mktemp("files")
    write(folder / "cased.bin", ANGLES)
    # A few tokens in capitals do not make a file of 150 words a cased one.
    rare = {f"word{number}": number for number in range(150)} | {"<UNK>": 45}
    write(folder / "lower.bin", {word: at for word, at in ANGLES.items() if word != "Rose"} | rare)
    write(folder / "zero.bin", ANGLES | {"tulip": None})
    write(folder / "numbers.bin", {"one": 1, "two": 2})
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


def test_a_file_has_too_few_words_beside_others_and_capitals_and_phrases_only_if_that_is_asked_for(outcomes):
    [row] = outcomes["false"].rows("associations", model="lower", test="spelling")
    assert (row["status"], row["missing_words"]) == ("too_few_words", ["Rose", "Tulip"])
    [row] = outcomes["auto"].rows("associations", model="cased", test="phrase")
    assert (row["status"], row["missing_words"]) == ("ok", ["Ant wasp"])
    assert {row["status"] for row in outcomes["auto"].rows("associations", model="numbers")} == {"too_few_words"}


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


SIZES = {"a": 2, "b": 2, "c": 2, "wide": 3}
NOT_REPLICAS = {
    "two": (
        "ab",
        InputError,
        r"embedding.path: 2 different files of 2, but .* the original's and those of 2 replicas or",
    ),
    "again": ("abca", InputError, r"embedding.path: 3 different files of 4, .* each once; .*embedding.replicas=false"),
    "wide": (["a", "b", "wide"], UnitsFailed, r"of one embedding have one number of dimensions, not \[2, 3\]"),
}


@pytest.mark.parametrize(("names", "error", "message"), NOT_REPLICAS.values(), ids=NOT_REPLICAS)
def test_replicas_are_three_files_or_more_each_once_and_of_one_width(
    run_here, write_vectors, overrides, tmp_path, names, error, message
):
    for name in {*names}:
        write_vectors(tmp_path / f"{name}.bin", ANGLES, np.full((len(ANGLES), SIZES[name]), SIZES[name]))
    paths = ",".join(f"{tmp_path}/{name}.bin" for name in names)
    where = [f"embedding.path=[{paths}]", "embedding.replicas=true", f"store={tmp_path}/store", "tests=[alike]"]
    with pytest.raises(error, match=message):
        run_here(*overrides, *where)


def test_broken_files_fail_and_leave_the_others_their_tables_and_a_file_alone_is_refused(
    run_here, outcome_of, write, overrides, tmp_path
):
    good, broken = (write(tmp_path / f"{name}.bin", ANGLES) for name in ("good", "broken"))
    broken.write_bytes(good.read_bytes()[:-20])
    (bad := tmp_path / "bad.txt").write_text(_rows(LINE) + "x nan\n" * 12)
    where = [*overrides, f"store={tmp_path}/store"]
    with pytest.raises(UnitsFailed) as failures:
        run_here(*where, f"embedding.path=[{good},{broken},{bad}]", f"run_dir={tmp_path}/run")
    assert re.search(r"broken.bin.*the file breaks off here", str(failures.value))
    assert "bad.txt: 12 of 20 records are bad (60%), more than reading" in str(failures.value)
    outcome = outcome_of(tmp_path / "run")
    assert {(row["model"], row["status"]) for row in outcome.rows("associations")} == {("good", "ok")}
    assert {row["model"] for row in outcome.rows("association_summary")} == {"good"}
    assert outcome.record["status"] == "failed"
    assert {failure["unit"] for failure in outcome.record["failures"]} == {str(broken), str(bad)}
    assert (outcome.path / "report.html").exists()
    with pytest.raises(InputError, match=r"reading\.max_bad_share=0\.5 allows"):
        run_here(*where, f"embedding.path={bad}", "reading.max_bad_share=0.5", f"run_dir={tmp_path}/alone")
    cues = write(tmp_path / "cues.bin", {"she": 1, "he": 2})
    message = r"wordset.en.associations: none of its 8 words \(Rose, Tulip, ant, ...\) is in any of the embeddings"
    with pytest.raises(WordSetError, match=message):
        run_here(*where, f"embedding.path={cues}", "tests=[spelling]", f"run_dir={tmp_path}/cues")


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


# --- encoders ---------------------------------------------------------------------------------------------------------

SETS = {"target_x": ["rose", "tulip"], "target_y": ["ant", "wasp"]} | ATTRIBUTES
WORDS = [word for words in SETS.values() for word in words]
COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture(scope="module")
def folder(write_bert, tmp_path_factory):
    place = tmp_path_factory.mktemp("encoders") / "tiny-bert"
    return write_bert(place, WORDS, num_hidden_layers=3, max_position_embeddings=8)


@pytest.fixture(scope="module")
def cached(write_bert, tmp_path_factory):
    """A cache of the hub that holds one commit of another model, which a tag names."""
    place = tmp_path_factory.mktemp("cache") / "models--we--other"
    write_bert(place / "snapshots" / COMMIT, WORDS, num_hidden_layers=2, max_position_embeddings=8)
    (place / "refs").mkdir()
    (place / "refs/v2").write_text(COMMIT)
    return place.parent


@pytest.fixture(scope="module")
def models(folder, cached):
    places = {"tiny-bert": folder, "we/other": cached / "models--we--other/snapshots" / COMMIT}
    return {name: BertModel.from_pretrained(place).eval() for name, place in places.items()}


@pytest.fixture(scope="module")
def measured(run_here, folder, word_lists, word_sets, tmp_path_factory):
    """The rows of a run on the small model, by test and measure; each run once, as it takes seconds."""
    tests = {"small": word_sets(**SETS), "one word": word_sets(**SETS | {"attribute_b": ["war", "absent"]})}
    lists = word_lists("en", associations=tests, wefats=None)

    @cache
    def measure(*settings):
        place = tmp_path_factory.mktemp("encoded")
        outcome = run_here(
            *("job=association", "embedding=encoder", f"embedding.model={folder}", *lists, "job.min_words=1"),
            *("job.similarities=[cosine,mahalanobis]", "job.statistics=[mean]", "job.num_neighbours=5"),
            *(f"store={place}/store", f"run_dir={place}/run", *settings),
        )
        rows = outcome.rows("associations")
        return {(row["model"], row["test"], row["similarity"]): row for row in rows}

    return measure


def _vector(model, word, layers=(-1,), position=1):
    """From a forward pass of the word alone."""
    ids = torch.tensor([[2, 5 + WORDS.index(word), 3]])
    with torch.no_grad():
        states = model(ids, output_hidden_states=True).hidden_states
    return sum(states[layer][0] for layer in layers)[position].numpy().astype(np.float64)


def _by_hand(model, *which):
    """WEAT score of the mean cosine."""
    unit = {word: vector / np.linalg.norm(vector) for word in WORDS for vector in [_vector(model, word, *which)]}
    x, y, a, b = (np.stack([unit[word] for word in words]) for words in SETS.values())
    scores = [(side @ a.T).mean(axis=1) - (side @ b.T).mean(axis=1) for side in (x, y)]
    return scores[0].sum() - scores[1].sum()


def test_layers_and_pooling_are_settings_and_so_is_the_commit_of_a_model(measured, models, folder, cached):
    row = measured()["tiny-bert", "small", "cosine"]
    assert row["score"] == pytest.approx(_by_hand(models["tiny-bert"]), abs=1e-5)
    assert (row["status"], row["num_replicas"]) == ("ok", 0)
    first = ["embedding.encoder.pooling=first", "embedding.encoder.pool_special=true"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cached))
        patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        both = f"embedding.model=[{folder},we/other]"
        rows = measured(
            both, "embedding.revision=v2", "embedding.encoder.layers=[-2,-1]", "embedding.device=cpu", *first
        )
    for name, model in models.items():
        row = rows[name, "small", "cosine"]
        assert row["score"] == pytest.approx(_by_hand(model, [-2, -1], 0), abs=1e-5)


def test_private_vectors_are_studied_on_the_first_words_that_an_encoder_is_given(run_here, models, folder, tmp_path):
    """At the last token, of a file in which a word comes twice and a line is blank."""
    (tmp_path / "words.txt").write_text("\n".join([*WORDS[:2], WORDS[0], "", *WORDS[2:]]))
    last = ["embedding.encoder.pooling=last", "embedding.encoder.pool_special=true"]
    nothing_else = ["audit.pairs=0", "deniability.words=0", "distances.epsilons=[]", "mechanisms=[M1]"]
    run = run_here(
        *("job=private_vectors", "embedding=encoder", f"embedding.model={folder}", *last, *nothing_else),
        *(f"vocabulary.word_file={tmp_path}/words.txt", "vocabulary.words=5", "epsilons=[2.0]", "exact_epsilons=[]"),
        *("audit.epsilon=2.0", f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
    )
    vectors = np.stack([_vector(models["tiny-bert"], word, [-1], 2) for word in WORDS[:5]])
    apart = np.linalg.norm(vectors[:, np.newaxis] - vectors, axis=2)[np.triu_indices(5, 1)]
    [row] = run.rows("mechanisms")
    distances = row["epsilon_x_median"], row["epsilon_x_diameter"]
    assert distances == pytest.approx((2 * np.median(apart), 2 * apart.max()), rel=1e-4)


def test_the_words_of_sets_are_embedded_by_an_encoder_and_answered_by_it(run_here, models, folder, tmp_path):
    (tmp_path / "pairs.txt").write_text("rose tulip 9\nant wasp 7\nlove war 1\nlove absent 5\nRose pain 2\n")
    (tmp_path / "questions.txt").write_text("rose tulip ant wasp\n")
    run = run_here(
        *("job=vector_quality", "embedding=encoder", f"embedding.model={folder}", "~similarity.WordSim-353"),
        *("~similarity.SimLex-999", "~analogies.Google", f"+similarity.rated={tmp_path}/pairs.txt"),
        *(f"+analogies.asked={tmp_path}/questions.txt", f"store={tmp_path}/store"),
    )
    unit = {word: _vector(models["tiny-bert"], word) for word in WORDS}
    unit = {word: vector / np.linalg.norm(vector) for word, vector in unit.items()}
    pairs = [("rose", "tulip"), ("ant", "wasp"), ("love", "war"), ("rose", "pain")]
    rho = spearmanr([unit[one] @ unit[other] for one, other in pairs], [9, 7, 1, 2]).statistic
    [rated], [asked] = run.rows("quality", set="rated"), run.rows("quality", set="asked")
    assert rated["value"] == pytest.approx(rho, abs=1e-6)
    assert (asked["section"], asked["num_items"], asked["num_missing"]) == ("all", 1, 0)
    assert (rated["num_missing"], rated["num_replicas"]) == (1, 0)


SYNONYMS = {"love": ["rose"], "war": ["ant"]}


@pytest.mark.parametrize("enlargement", ["neighbours", "synonyms"])
def test_a_covariance_rests_on_the_attribute_set_and_on_synonyms_if_these_are_asked_for(
    measured, models, word_lists, enlargement
):
    [_, listed] = word_lists("en", synonyms={"source": "made up", "words": SYNONYMS})
    asked = [listed, "job.enlargement=synonyms"] if enlargement == "synonyms" else []
    row = measured(*asked)["tiny-bert", "small", "mahalanobis"]
    vector = {word: _vector(models["tiny-bert"], word) for word in WORDS}

    def distances(words, side):
        more = [word for other in side for word in SYNONYMS.get(other, []) if asked]
        precision = np.linalg.inv(oas(np.stack([vector[word] for word in (*side, *more)]))[0])
        apart = np.array([[vector[word] - vector[other] for other in side] for word in words])
        return np.sqrt(np.einsum("wad,de,wae->wa", apart, precision, apart)).mean(axis=1)

    x, y, a, b = SETS.values()
    scores = [distances(words, b) - distances(words, a) for words in (x, y)]
    assert row["score"] == pytest.approx(scores[0].sum() - scores[1].sum(), abs=1e-4)
    assert (row["status"], row["covariance"]) == ("ok", "shrinkage")


def test_a_set_of_one_word_has_no_covariance(measured):
    row = measured()["tiny-bert", "one word", "mahalanobis"]
    assert (row["status"], row["score"], row["missing_words"]) == ("no_covariance", None, ["absent"])
    assert "shrinkage takes [n, dims] with n of 2 or more" in row["reason"]
    assert measured()["tiny-bert", "one word", "cosine"]["status"] == "ok"


def test_a_gpu_and_a_model_that_are_asked_for_must_be_there(measured, tmp_path):
    (tmp_path / "empty").mkdir()
    message = rf"^embedding.model=\S+: the folder {tmp_path}/empty holds no config.json"
    with pytest.raises(CheckpointError, match=message):
        measured(f"embedding.model={tmp_path}/empty", f"run_dir={tmp_path}/run")
    assert not (tmp_path / "run").exists()
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU")
    with pytest.raises(ClusterError, match=r"embedding.device=cuda: the cluster has no free GPU.*embedding.device=cpu"):
        measured("embedding.device=cuda")
