"""Gender that is planted in vectors of files, erased, and measured by words that the erasers have not seen."""

import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from tests.jobs.test_layouts import survive
from tiltmeter.jobs.mitigation.erasing import NUM_FOLDS, Space, judged_pairs
from tiltmeter.jobs.mitigation.page import measures
from tiltmeter.operators.association.erasers import leace
from tiltmeter.operators.association.remains import accuracy_of_probe
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.vectors.files import read_embedding

NUM_REPLICAS, DIMS = 4, 6
PAIRS = [(f"woman{number}", f"man{number}") for number in range(6)]
SIDES = {
    "target_x": ["math", "algebra", "number"],
    "target_y": ["poetry", "art", "dance"],
    "attribute_a": ["man0", "man1", "uncle"],
    "attribute_b": ["woman0", "woman1", "aunt"],
}
ALL = {**SIDES, "attribute_a": [man for _, man in PAIRS], "attribute_b": [woman for woman, _ in PAIRS]}
POOL = [f"{chr(97 + number % 26)}{number}" for number in range(240)]
JUDGED = ["tiger", "cat", "train", "car", "media", "radio"]
WORDS = [*POOL[:120], *(word for pair in PAIRS for word in pair), *SIDES["target_x"], *SIDES["target_y"]]
WORDS = [*WORDS, "uncle", "aunt", *JUDGED, *POOL[120:]]


def made_up(is_there):
    """Vectors of an original and its replicas; gender, if it is there, is the first coordinate."""
    rng = np.random.default_rng(11)
    means = rng.normal(size=(len(WORDS), DIMS))
    if is_there:
        sides = {
            **dict.fromkeys(("uncle", *SIDES["target_x"]), -2.0),
            **dict.fromkeys(("aunt", *SIDES["target_y"]), 2.0),
        }
        sides |= {word: side for pair in PAIRS for word, side in zip(pair, (3.0, -3.0), strict=True)}
        means[:, 0] = [sides.get(word, 1.5 * mean) for word, mean in zip(WORDS, means[:, 0], strict=True)]
    return (means + 0.2 * rng.normal(size=(1 + NUM_REPLICAS, *means.shape))).astype(np.float32)


@pytest.fixture(scope="module")
def given(write_vectors, word_lists, word_sets, tmp_path_factory):
    """Settings of a run on made up vectors, with gender or without."""

    def settings(name, is_there=True):
        folder = tmp_path_factory.mktemp(name)
        vectors = made_up(is_there)
        paths = [write_vectors(folder / f"{number}.bin", WORDS, one) for number, one in enumerate(vectors)]
        gender = {"definitional_pairs": [list(pair) for pair in PAIRS], "professions": []}
        tests = {"subjects": word_sets(**SIDES), "all_pairs": word_sets(**ALL)}
        return vectors, [
            *("job=mitigation", "embedding=file", "embedding.replicas=true", "job.num_extremes=40", "job.rounds=3"),
            f"embedding.path=[{','.join(map(str, paths))}]",
            *word_lists("en", associations=tests, gender=gender, wefats=None, occupations=None, cue_pairs=None),
            *("job.specific=[uncle,aunt]", "job.components=2", "measures=[weat,ripa,semaxis]", "job.export=[parquet]"),
        ]

    return settings


@pytest.fixture(scope="module")
def planted(run_here, given, tmp_path_factory):
    vectors, settings = given("planted")
    return vectors, run_here(
        *settings, f"store={tmp_path_factory.mktemp('store')}", "job.methods=[hard,leace,half_sibling,inlp,double_hard]"
    )


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def draws(run, table, column, **key):
    """Of the number whose row has these keys: of each replica."""
    rows = [row for row in run.rows("draws") if (row["table"], row["column"]) == (table, column)]
    [row] = [row for row in rows if key.items() <= json.loads(row["key"]).items()]
    return np.array(row["values"], float)


def weat(words):
    """WEAT's effect size, as WEFE has it, of the words of a query by name."""
    x, y, a, b = (unit(np.array([words[word] for word in side])) for side in SIDES.values())
    scores = [(side @ a.T).mean(axis=1) - (side @ b.T).mean(axis=1) for side in (x, y)]
    return (scores[0].mean() - scores[1].mean()) / np.concatenate(scores).std()


def hard_by_hand(vectors):
    """Words of the query: those of no gender without the direction of the pairs of which it has no word."""
    of = dict(zip(WORDS, unit(vectors.astype(float)), strict=True))
    halves = np.array([of[woman] - of[man] for woman, man in PAIRS[2:]])
    direction = np.linalg.svd(halves)[2][0]
    neutral = {word: of[word] - (of[word] @ direction) * direction for word in (*SIDES["target_x"], *SIDES["target_y"])}
    return of | neutral


def test_differences_are_of_each_replica_by_an_eraser_that_has_seen_no_word_of_the_query(planted):
    vectors, run = planted
    before = [weat(dict(zip(WORDS, one.astype(float), strict=True))) for one in vectors]
    after = [weat(hard_by_hand(one)) for one in vectors]
    [row] = [
        row
        for row in run.rows("mitigation")
        if (row["method"], row["erased"], row["measure"], row["query"]) == ("hard", "gender", "weat", "subjects")
    ]
    assert [row[name] for name in ("before", "after", "difference")] == pytest.approx(
        [before[0], after[0], after[0] - before[0]], abs=1e-6
    )
    key = {"method": "hard", "erased": "gender", "measure": "weat", "query": "subjects"}
    assert draws(run, "mitigation", "difference", **key) == pytest.approx(np.subtract(after, before)[1:], abs=1e-6)
    assert draws(run, "mitigation", "before", **key) == pytest.approx(before[1:], abs=1e-6)
    assert (row["num_pairs"], row["num_words"], row["num_replicas"], row["status"]) == (4, 12, 4, "ok")
    assert row["difference_low"] < row["difference"] < row["difference_high"]


def test_a_query_that_has_a_word_of_each_pair_leaves_nothing_to_fit_to(planted):
    rows = [row for row in planted[1].rows("mitigation") if row["query"] == "all_pairs" and row["measure"] == "weat"]
    assert {(row["status"], row["num_pairs"], row["after"]) for row in rows} == {("no_pairs", 0, None)}
    assert rows[0]["reason"].startswith("without the words of the query no pair")


def test_a_measure_of_words_has_a_row_for_each_target_of_each_method(planted):
    rows = [row for row in planted[1].rows("mitigation") if row["measure"] == "semaxis" and row["query"] == "subjects"]
    assert len(rows) == 5 * 2 * 6
    assert {row["word"] for row in rows} == {*SIDES["target_x"], *SIDES["target_y"]}


@pytest.mark.once("mitigation")
def test_planted_gender_falls_and_random_pairs_and_absent_gender_leave_the_measure_where_it_is(
    planted, run_here, given, tmp_path
):
    _, settings = given("absent", is_there=False)
    forms = "job.export=[word2vec_text,word2vec_binary,glove,keyedvectors,parquet]"
    absent = run_here(*settings, f"store={tmp_path}", "job.methods=[hard,leace]", "job.num_words=null", forms)
    assert len([*(absent.path / "exports").glob("0_*")]) == 2 * 5 * (1 + NUM_REPLICAS)
    moved = {}
    for what, run in (("planted", planted[1]), ("absent", absent)):
        for row in run.rows("mitigation"):
            sides = row["measure"], row["query"], row["groups"]
            if sides == ("ripa", "subjects", "attribute_a, attribute_b") and row["method"] in ("hard", "leace"):
                key = what, row["method"], row["erased"]
                moved[key] = moved.get(key, 0.0) + (abs(row["before"]) - abs(row["after"])) / 2
    for method in ("hard", "leace"):
        assert moved["planted", method, "gender"] > 0.4
        assert moved["planted", method, "random"] < 0.15
        assert moved["absent", method, "gender"] < 0.15


def check(run, name, method="leace", erased="gender"):
    [row] = [
        row
        for row in run.rows("mitigation_checks")
        if (row["check"], row["method"], row["erased"]) == (name, method, erased)
    ]
    return row


def halves(words):
    keys = [document_key(f"0\n{word[:5]}") % 2**32 for word in words]
    return np.array([key % 2 == 1 for key in keys]), np.array([key // 2 % NUM_FOLDS for key in keys])


def extremes_by_hand(units):
    """Words of no gender by their place along the direction of all pairs: the 40 furthest to each side."""
    of = dict(zip(WORDS, units, strict=True))
    direction = np.linalg.svd(np.array([of[woman] - of[man] for woman, man in PAIRS]))[2][0]
    direction *= np.sign(sum((of[woman] - of[man]) @ direction for woman, man in PAIRS))
    meant = {word for pair in PAIRS for word in pair} | {"uncle", "aunt"}
    pool = sorted((word for word in WORDS if word not in meant), key=lambda word: -(of[word] @ direction))
    return of, [*pool[:40], *pool[-40:]], np.arange(80) < 40


def test_what_is_left_is_asked_of_the_half_that_the_eraser_was_not_fitted_to(planted):
    vectors, run = planted
    accuracies = []
    for one in vectors[:2]:
        of, words, is_first = extremes_by_hand(unit(one.astype(float)))
        is_held_out, folds = halves(words)
        rows = np.array([of[word] for word in words])
        fitted = leace(rows[~is_held_out], is_first[~is_held_out].astype(float))
        after = fitted.erased(rows[is_held_out])
        accuracies.append(accuracy_of_probe(after, is_first[is_held_out], folds[is_held_out], "linear"))
        if one is vectors[0]:
            every = np.array([of[word] for word in WORDS])
            pool = [place for place, word in enumerate(WORDS) if not word.startswith(("man", "woman", "uncle", "aunt"))]
            cosines = (unit(fitted.erased(every)) * every).sum(axis=1)[pool]
            assert check(run, "cosine")["after"] == pytest.approx(cosines.mean(), abs=1e-6)
            assert check(run, "probe_linear")["num_words"] == is_held_out.sum()
    row = check(run, "probe_linear")
    assert row["after"] == pytest.approx(accuracies[0])
    assert draws(run, "mitigation_checks", "after", check="probe_linear", method="leace", erased="gender")[
        0
    ] == pytest.approx(accuracies[1])
    assert row["difference"] == pytest.approx(row["after"] - row["before"])
    assert row["before"] > 0.9
    assert (row["after"] < 0.8, check(run, "probe_linear", erased="random")["after"] > 0.9) == (True, True)
    assert 0.25 < check(run, "probe_linear_permuted")["before"] < 0.75


def test_ranks_shares_and_agreement_with_people(planted):
    vectors, run = planted
    ranks = {"hard": 1, "double_hard": 2, "half_sibling": 12, "leace": 1}
    for method, rank in ranks.items():
        for erased in ("gender", "random"):
            assert check(run, "rank", method, erased)["after"] == rank
    assert 1 <= check(run, "rank", "inlp")["after"] <= 3
    assert check(run, "changed", "leace")["after"] == 1.0
    # Words that have a gender by meaning stay, but those of pairs are equalised.
    assert check(run, "changed", "half_sibling")["after"] == pytest.approx((len(WORDS) - 14) / len(WORDS))
    assert check(run, "changed", "hard")["after"] == pytest.approx((len(WORDS) - 2) / len(WORDS))
    human = {(first, second): number for first, second, number in judged_pairs("wordsim353")}
    known = [pair for pair in human if {*pair} <= {*WORDS}]
    assert check(run, "wordsim353")["num_words"] == len(known) >= 3
    of = dict(zip(WORDS, unit(vectors[0].astype(float)), strict=True))
    cosines = [of[first] @ of[second] for first, second in known]
    ranks = [pl.Series(values).rank().to_numpy() for values in (cosines, [human[pair] for pair in known])]
    assert check(run, "wordsim353")["before"] == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert check(run, "simlex999")["status"] == "undefined"


def test_vectors_are_taken_away_as_a_method_leaves_them(planted):
    vectors, run = planted
    words, hard = read_embedding(str(run.path / "exports" / "0_hard_replica_0002.parquet"))
    assert words == WORDS
    of, units = dict(zip(words, hard, strict=True)), unit(vectors[2].astype(float))
    assert np.linalg.norm(hard, axis=1) == pytest.approx(np.ones(len(words)), abs=1e-6)
    before = dict(zip(WORDS, units, strict=True))
    assert of["uncle"] == pytest.approx(before["uncle"], abs=1e-6)
    for woman, man in PAIRS:
        assert of[woman] @ of["math"] == pytest.approx(of[man] @ of["math"], abs=1e-6)
        assert np.linalg.norm(of[woman] - of[man]) > 0.5
    names = {place.name for place in (run.path / "exports").iterdir() if place.suffix == ".parquet"}
    assert len(names) == 5 * (1 + NUM_REPLICAS)


def test_a_page_says_what_a_probe_still_tells_and_how_many_numbers_moved_and_does_without_measures(planted):
    checks, rows = (
        pl.read_parquet(planted[1].path / f"{name}.parquet") for name in ("mitigation_checks", "mitigation")
    )
    [made] = measures({"mitigation_checks": checks, "mitigation": rows})
    said = made.findings[0].items
    row = check(planted[1], "probe_linear")
    assert said[1].startswith("After LEACE a linear probe still tells the side of held-out words")
    assert f"a balanced accuracy of {row['after']:.2f} [" in said[1]
    moved = rows.filter(method="hard", erased="gender", status="ok").filter(
        (pl.col("difference_low") > 0) | (pl.col("difference_high") < 0)
    )
    nearer = moved.filter(pl.col("after").abs() < pl.col("before").abs()).height
    assert (
        f"hard debiasing brings {nearer} nearer to the value without bias, and takes {moved.height - nearer} further"
        in said[5]
    )
    [without] = measures({"mitigation_checks": checks, "mitigation": rows.clear()})
    assert without.findings[0].items == said[:5]
    assert [part.anchor for part in without.sections] == ["left"]


def test_random_pairs_are_words_of_no_gender_that_are_as_frequent_each_another():
    words = [f"word{number}" for number in range(400)]
    table = pa.table(
        {
            "word": words,
            "spelled": words,
            "vector": pa.array(np.random.default_rng(0).normal(size=(400, 4)).tolist(), pa.list_(pa.float64(), 4)),
        }
    )
    space = Space(table, ["word10", "word11"], 0)
    pairs = np.array([[10, 11], [200, 390]])
    drawn = space.random_pairs(pairs, space.pool(), np.random.default_rng(1))
    assert drawn.shape == (2, 2)
    assert len(np.unique(drawn)) == 4
    assert not np.isin(drawn, [10, 11]).any()
    assert np.abs(drawn - pairs).max() < 60
    other = space.random_pairs(pairs, space.pool(), np.random.default_rng(2))
    assert (other != drawn).any()


def test_words_that_are_spelled_like_one_of_the_query_are_kept_out_as_well():
    table = pa.table(
        {
            "word": ["Rose", "rose", "man", "woman"],
            "spelled": ["rose", "rose", "man", "woman"],
            "vector": pa.array(np.eye(4).tolist(), pa.list_(pa.float64(), 4)),
        }
    )
    space = Space(table, ["man"], 0)
    assert space.pool({"rose"}).tolist() == [3]
    assert space.known_pairs([("woman", "man"), ("rose", "man"), ("gone", "man")], {"rose"}).tolist() == [[3, 2]]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("few", "has vectors of 20 words beside those of a gender, and 44 are needed; take another embedding"),
        ("no pair", "has both words of no pair that defines gender; give others in wordset"),
    ],
)
def test_vectors_to_which_nothing_can_be_fitted_are_refused(run_here, given, write_vectors, tmp_path, change, reason):
    vectors, settings = given("refused")
    kept = range(132) if change == "few" else [place for place, word in enumerate(WORDS) if not word.startswith("man")]
    kept = [*kept][100:] if change == "few" else [*kept]
    path = write_vectors(tmp_path / "few.bin", [WORDS[place] for place in kept], vectors[0][kept])
    with pytest.raises(InputError, match=f"few: {reason}"):
        run_here(*settings, f"embedding.path={path}", "embedding.replicas=false", f"store={tmp_path}/store")


@pytest.mark.parametrize("measure", ["direct_bias", "analogies"])
def test_what_is_along_the_direction_is_refused(run_here, given, tmp_path, measure):
    _, settings = given("along")
    with pytest.raises(InputError, match=f"^measures={measure}: is along the direction that job=mitigation erases"):
        run_here(*settings, f"measures=[weat,{measure}]", f"store={tmp_path}/store")


CORPUS = [
    *("job=mitigation", "corpus=file", "corpus.language=en", "embedding.num_replicas=4", "tests=[weat7]"),
    "corpus.path=package://gensim/test/test_data/enwiki-table-markup.xml.bz2",
    *("embedding.trainer.dimensions=8", "embedding.trainer.epochs=2", "job.num_extremes=20", "job.rounds=2"),
    *("job.components=2", "job.methods=[double_hard,inlp]", "measures=[weat]"),
]


@pytest.fixture(scope="module")
def trained(run_job, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    return run_job(*CORPUS, f"store={folder}/store", f"run_dir={folder}/run")


@pytest.mark.slow
@pytest.mark.parametrize("num", [2, 4])
def test_the_number_of_workers_changes_no_table(trained, run_job, tmp_path, num):
    assert run_job(*CORPUS, f"store={tmp_path}", f"cluster.num_cpus={num}").digests == trained.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_at_a_random_moment_changes_no_table(trained, tiltmeter, outcome_of, tmp_path, victim):
    survive(tiltmeter, outcome_of, tmp_path, CORPUS, victim, trained)
