"""Job `association` on files and encoders: its numbers against others worked out here, and its reasons for gaps."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t
from sklearn.covariance import oas

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.vectors.files import EmbeddingFile

# Two tests of three targets on each side; the word sets are small enough to enumerate all partitions.
SETS = {
    "near": {
        "target_x": ["Rose", "tulip", "new moon"],
        "target_y": ["ant", "wasp", "flea"],
        "attribute_a": ["love", "peace", "joy"],
        "attribute_b": ["war", "pain", "rot"],
    },
    "gone": {
        "target_x": ["rose", "absent", "missing"],
        "target_y": ["ant", "wasp", "flea"],
        "attribute_a": ["love", "peace", "nowhere"],
        "attribute_b": ["war", "pain", "rot"],
    },
}
WORDS = ["Rose", "rose", "tulip", "new_moon", "ant", "wasp", "flea", "love", "peace", "joy", "war", "pain", "rot"]
DIMS = 6


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
def outcome(run_job, configured_sets, embedding, write_vectors, tmp_path_factory):
    folder = tmp_path_factory.mktemp("association")
    path = write_vectors(folder / "small.bin", *embedding)
    how = ["embedding=file", f"embedding.path={path}", "job.num_neighbours=2"]
    return run_job(*configured_sets, *how, f"store={folder}/store", f"run_dir={folder}/run")


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


def _scores(embedding, similarity, statistic):
    x, y, a, b = _sides(embedding)
    measure, sign = MEASURES[similarity], 1 if similarity == "cosine" else -1
    if statistic == "smallest_gap":
        return np.array([np.abs(np.subtract.outer(measure(word, a), measure(word, b))).min() for word in (*x, *y)])
    f = STATISTICS[statistic]
    return np.array([sign * (f(measure(word, a)) - f(measure(word, b))) for word in (*x, *y)])


@pytest.mark.parametrize("similarity", MEASURES)
@pytest.mark.parametrize("statistic", [*STATISTICS, "smallest_gap"])
def test_every_measure_and_statistic_gives_what_its_formula_says(outcome, embedding, similarity, statistic):
    [row] = outcome.rows("associations", test="near", similarity=similarity, statistic=statistic)
    scores = _scores(embedding, similarity, statistic)
    x, y = scores[:3], scores[3:]
    assert row["score"] == pytest.approx(x.sum() - y.sum(), abs=1e-6)
    sums = [scores[list(chosen)].sum() for chosen in combinations(range(6), 3)]
    p = np.mean([total >= x.sum() - 1e-9 for total in sums])
    assert (row["p_value"], row["p_low"], row["p_high"]) == pytest.approx((p, p, p))
    if np.ptp(scores) > 0:
        assert row["status"] == "ok"
        assert row["effect_size"] == pytest.approx((x.mean() - y.mean()) / scores.std(ddof=1), abs=1e-6)
        assert row["absolute_effect_size"] == abs(row["effect_size"])
    else:
        assert row["status"] == "no_spread"
    assert (row["p_method"], row["ddof"], row["num_targets"], row["num_attributes"]) == ("exact", 1, 6, 6)
    assert row["missing_words"] == []


def test_mahalanobis_takes_the_covariance_of_each_set_with_its_neighbours(outcome, embedding):
    x, y, *sides = _sides(embedding)
    vectors = embedding.vectors.astype(np.float64)
    precisions = []
    for side in sides:
        # Two neighbours of each word, and the words themselves.
        nearest = {at for word in side for at in np.argsort(-_cosine(word, vectors))[:3]}
        precisions.append(np.linalg.inv(oas(vectors[sorted(nearest)])[0]))

    def distance(word, side, precision):
        return np.mean([np.sqrt((word - other) @ precision @ (word - other)) for other in side])

    scores = np.array([distance(w, sides[1], precisions[1]) - distance(w, sides[0], precisions[0]) for w in (*x, *y)])
    [row] = outcome.rows("associations", test="near", similarity="mahalanobis", statistic="mean")
    assert row["score"] == pytest.approx(scores[:3].sum() - scores[3:].sum(), rel=1e-5)
    assert row["covariance"] == "shrinkage"


def test_a_word_is_taken_as_it_is_listed_and_in_a_cased_file_only_so(outcome):
    """'Rose' is not 'rose' in a file that has both, and 'new moon' is found as 'new_moon'."""
    assert outcome.rows("associations", test="near", similarity="cosine", statistic="mean")[0]["num_targets"] == 6


def test_a_test_with_too_few_words_says_which_set_and_what_is_missing(outcome):
    found = outcome.rows("associations", test="gone")
    assert len(found) == 4 * 5
    for row in found:
        assert (row["status"], row["effect_size"], row["p_value"]) == ("too_few_words", None, None)
        assert row["reason"] == "target_x (target_x) has 1 of its 3 words left, and needs 2"
        assert row["missing_words"] == ["absent", "missing", "nowhere"]


def test_the_summary_counts_the_tests_with_a_result(outcome):
    summary = outcome.table("association_summary").to_pylist()
    assert len(summary) == 4 * 5
    for row in summary:
        [found] = outcome.rows("associations", test="near", similarity=row["similarity"], statistic=row["statistic"])
        is_ok = found["status"] == "ok"
        assert (row["num_tests"], row["num_significant"]) == (int(is_ok), int(is_ok and found["p_value"] < 0.05))
        assert row["mean_effect_size"] == (found["effect_size"] if is_ok else None)


@pytest.mark.slow
def test_chosen_tests_only_and_in_one_command(tiltmeter, joining, outcome_of, embedding, write_vectors, tmp_path):
    words = [word.lower() for word in ("Brad", "Emily", "Darnell", "Jamal", "joy", "love", "agony", "terrible", "x")]
    path = write_vectors(tmp_path / "lower.txt", words, embedding.vectors[: len(words)], "word2vec_text")
    process = tiltmeter(
        *("job=association", "embedding=file", f"embedding.path={path}", "tests=[weat5]", f"run_dir={tmp_path}/run"),
        *(*joining, f"store={tmp_path}/store"),
    )
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    found = outcome_of(tmp_path / "run").rows("associations")
    assert {row["test"] for row in found} == {"weat5"}
    assert {(row["num_targets"], row["num_attributes"], row["status"]) for row in found} <= {
        (4, 4, "ok"),
        (4, 4, "no_spread"),
    }
    assert "Allison" in found[0]["missing_words"]
    assert "0 of 1 association test has one-sided p < 0.05" in output, output


def test_files_of_replicas_give_intervals_and_files_of_models_do_not(run_job, configured_sets, write_vectors, tmp_path):
    for number in range(4):
        write_vectors(tmp_path / f"r{number}.vec", *_vectors(number), "word2vec_text")
    same = [*configured_sets, "embedding=file", f"embedding.path={tmp_path}/*.vec", f"store={tmp_path}/store"]
    quick = ["job.similarities=[cosine]", "job.statistics=[mean]", "tests=[near]"]
    models = run_job(*same, *quick, f"run_dir={tmp_path}/models")
    replicas = run_job(*same, *quick, "embedding.replicas=true", f"run_dir={tmp_path}/replicas")
    apart = models.rows("associations")
    [together] = replicas.rows("associations")
    assert [row["model"] for row in apart] == ["r0", "r1", "r2", "r3"]
    assert {(row["effect_size_low"], row["num_replicas"]) for row in apart} == {(None, 0)}
    assert together["effect_size"] == apart[0]["effect_size"]
    others = [row["effect_size"] for row in apart[1:]]
    ends = together["effect_size_percentile_low"], together["effect_size_percentile_high"]
    assert ends == pytest.approx(tuple(np.quantile(others, [0.025, 0.975])))
    # Of 3 and 3 targets, d is at most the root of 6 * 5 / 9, where all that differs is the set.
    most = (6 * 5 / 9) ** 0.5
    moved = np.arctanh(np.array(others) / most)
    at = np.arctanh(together["effect_size"] / most)
    assert together["effect_size_shift"] == pytest.approx((moved.mean() - at) / moved.std(ddof=1))
    centre = at if abs(together["effect_size_shift"]) > 1 else moved.mean()
    low, high = most * np.tanh(centre + t.ppf(0.975, 2) * moved.std(ddof=1) * np.array([-1, 1]))
    ends = min(low, together["effect_size"]), max(high, together["effect_size"])
    assert (together["effect_size_low"], together["effect_size_high"]) == pytest.approx(ends)
    assert (together["num_replicas"], together["p_value"]) == (3, apart[0]["p_value"])


@pytest.mark.slow
def test_monte_carlo_hangs_on_the_seed_and_is_near_the_exact_value(
    run_job, configured_sets, embedding, outcome, write_vectors, tmp_path
):
    path = write_vectors(tmp_path / "small.bin", *embedding)
    how = ["embedding=file", f"embedding.path={path}", "job.p_value=monte_carlo", "job.similarities=[cosine]"]
    runs = [
        run_job(*configured_sets, *how, f"seed={seed}", f"store={tmp_path}/{at}", f"run_dir={tmp_path}/run{at}")
        for at, seed in enumerate((0, 1))
    ]
    found, other = (run.rows("associations", test="near") for run in runs)
    assert found != other
    for row in found:
        [exact] = outcome.rows("associations", test="near", similarity="cosine", statistic=row["statistic"])
        assert row["p_method"] == "monte_carlo"
        assert abs(row["p_value"] - exact["p_value"]) < 5 * max(row["p_standard_error"], 1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["tests=[weat5,weat99]"],
            r"tests=\['weat5', 'weat99'\]: \['weat99'\] not among the association tests \['weat1'",
        ),
        (["corpus=enwiki"], r"corpus=enwiki: embeddings that are there already need no corpus; leave it out"),
        (["embedding.language=xx"], r"wordset.xx: job=association needs associations, or wefats in the language xx"),
        (["embedding.format=csv"], r"embedding.format=csv: .*word2vec_text"),
        (["job.similarities=[dot]"], r"job.similarities=dot: must be cosine, euclidean, manhattan or mahalanobis"),
        (["job.similarities=[cosine,cosine]"], r"job.similarities.*\['cosine'\] named more than once: name each once"),
        (
            ["wordset.en.associations.weat1.attribute_b.words=[love,war]"],
            r"\['love'\] in both attributes 'pleasant' and 'unpleasant': they must be disjoint",
        ),
        (
            ["wordset.en.other_cue_pairs=[[love,hate],[she,he]]"],
            r"wordset.en.other_cue_pairs: \[\['she', 'he'\]\] are among wordset.en.cue_pairs: list each pair once",
        ),
        (
            ["wordset.en.other_cue_pairs=[[love,hate],[love,hate]]"],
            r"wordset.en.other_cue_pairs: \[\['love', 'hate'\]\] listed more than once",
        ),
        (
            ["job.enlargement=synonyms"],
            r"wordset.en.synonyms: job.enlargement=synonyms needs a list .*wordset=\[english,english_synonyms\]",
        ),
        (
            ["+wordset.en.synonyms={source: mine, words: {joy: []}}"],
            r"wordset.en.synonyms.words.joy is empty: give at least one word",
        ),
        (["job=psychophysics"], r"its observers are bootstrap replicas, which embedding=file has not; train some"),
        (["job=bootstrap"], r"job=bootstrap: trains embeddings; choose embedding=glove, word2vec or fasttext"),
    ],
)
def test_what_can_not_be_measured_is_refused(configured, arguments, message):
    with pytest.raises(ConfigError, match=message):
        configured("job=association", "embedding=file", "embedding.path=x.bin", *arguments)


def test_a_path_must_be_given_and_be_there(configured, run_job, tmp_path):
    with pytest.raises(ConfigError, match=r"embedding.path has no value: set it with embedding.path=<value>"):
        configured("job=association", "embedding=file")
    with pytest.raises(InputError, match=r"embedding.path=nowhere.bin: there is no file .*nowhere.bin"):
        run_job("job=association", "embedding=file", "embedding.path=nowhere.bin", f"store={tmp_path}/store")


def test_two_files_of_one_name_are_refused(run_job, embedding, write_vectors, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_vectors(tmp_path / folder / "same.bin", *embedding)
    paths = f"[{tmp_path}/one/same.bin,{tmp_path}/two/same.bin]"
    with pytest.raises(InputError, match=r"two files are called 'same'.*embedding.replicas=true"):
        run_job("job=association", "embedding=file", f"embedding.path={paths}", f"store={tmp_path}/store")
