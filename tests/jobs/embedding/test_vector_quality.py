"""Job `vector_quality` on files, on a trained corpus and on an encoder: every number again, by gensim and by hand."""

import numpy as np
import pytest
from gensim.models import KeyedVectors
from scipy.stats import spearmanr, t

from tests.jobs.test_layouts import survive
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.errors import InputError

WORDS = ("Paris", "paris", "France", "Rome", "Italy", "Oslo", "Norway", "big", "bigger", "small", "smaller", "rare")
NUM_REPLICAS = 4

PAIRS = (
    "# two words and a number\nparis\tROME\t8.5\trated by 9\nbig\tsmall\t3.5\nFrance\tbigger\t1\nItaly\tNorway\t7\n"
    "Oslo\tabsent\t9\nrare\tsmaller\t2.5\nno pair\nbig\tsmall\tnan\n"
)
QUESTIONS = (
    ": capitals\nParis France Rome Italy\nParis France Oslo Norway\nRome Italy Oslo Norway\nRome Italy Nairobi Kenya\n"
    ": sizes\nbig bigger small smaller\nsmall smaller big bigger\n: all\nrare big rare big\n"
    ": of no use\nx y z w\ntwo words\n"
)


def _vectors(number):
    """Relations that hold but for noise; a replica lacks the rare word, and none has vectors of another length."""
    rng = np.random.default_rng(5)
    bases = {word: rng.normal(size=8) for word in ("Paris", "Rome", "Oslo", "big", "small", "rare")}
    capital, size = rng.normal(size=(2, 8))
    made = [bases["Paris"], -bases["Paris"], bases["Paris"] + capital, bases["Rome"], bases["Rome"] + capital]
    made += [bases["Oslo"], bases["Oslo"] + capital, bases["big"], bases["big"] + size, bases["small"]]
    made += [bases["small"] + size, bases["rare"]]
    return np.array(made) + np.random.default_rng(number).normal(scale=0.35, size=(len(WORDS), 8))


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Overrides that ask for two small sets alone."""
    folder = tmp_path_factory.mktemp("sets")
    (folder / "pairs.tsv").write_text(PAIRS)
    (folder / "questions.txt").write_text(QUESTIONS)
    usual = ["~similarity.WordSim-353", "~similarity.SimLex-999", "~analogies.Google"]
    return [
        "job=vector_quality",
        *usual,
        f"+similarity.rated={folder}/pairs.tsv",
        f"+analogies.asked={folder}/questions.txt",
    ]


@pytest.fixture(scope="module")
def files(write_vectors, tmp_path_factory):
    """An original and its replicas; the last lacks a word."""
    folder = tmp_path_factory.mktemp("vectors")
    paths = []
    for number in range(1 + NUM_REPLICAS):
        kept = slice(None, -1) if number == NUM_REPLICAS else slice(None)
        paths.append(write_vectors(folder / f"r{number}.bin", WORDS[kept], _vectors(number)[kept]))
    return paths


@pytest.fixture(scope="module")
def outcome(run_here, sets, files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("quality")
    where = ["embedding=file", f"embedding.path=[{','.join(map(str, files))}]", "embedding.replicas=true"]
    return run_here(*sets, *where, f"store={folder}/store", f"run_dir={folder}/run")


def _keyed(path):
    return KeyedVectors.load_word2vec_format(str(path), binary=True)


@pytest.mark.once("vector_quality")
def test_similarities_are_gensims_in_every_embedding(outcome, files, tmp_path):
    (tmp_path / "pairs.tsv").write_text("\n".join("\t".join(line.split("\t")[:3]) for line in PAIRS.splitlines()[:7]))
    rhos = [_keyed(path).evaluate_word_pairs(str(tmp_path / "pairs.tsv"))[1].statistic for path in files]
    [row] = outcome.rows("quality", set="rated")
    assert row["value"] == pytest.approx(rhos[0], abs=1e-6)
    [draws] = outcome.rows("draws", table="quality", column="value")[:1]
    assert draws["values"] == pytest.approx(rhos[1:], abs=1e-6)
    assert (row["num_items"], row["num_missing"], row["missing"], row["num_words"]) == (6, 1, 1 / 6, len(WORDS) - 1)
    assert (row["task"], row["section"], row["value_with_inputs"], row["by_section"]) == (
        "similarity",
        "all",
        None,
        None,
    )


def test_a_pair_without_a_word_lies_at_the_mean_cosine(outcome, files):
    keyed = _keyed(files[0])
    known = [("Paris", "Rome"), ("big", "small"), ("France", "bigger"), ("Italy", "Norway"), ("rare", "smaller")]
    cosines = [keyed.similarity(*pair) for pair in known]
    of_all = spearmanr([*cosines, np.mean(cosines)], [8.5, 3.5, 1, 7, 2.5, 9]).statistic
    [row] = outcome.rows("quality", set="rated")
    assert row["value_of_all"] == pytest.approx(of_all, abs=1e-6)


def test_analogies_are_gensims_by_section_and_as_a_whole(outcome, files, tmp_path):
    (tmp_path / "questions.txt").write_text(QUESTIONS.replace("two words\n", ""))
    accuracy, sections = _keyed(files[0]).evaluate_word_analogies(str(tmp_path / "questions.txt"))
    rows = {row["section"]: row for row in outcome.rows("quality", set="asked")}
    assert [*rows] == ["capitals", "sizes", "section all", "of no use", "all"]
    assert rows["all"]["value"] == pytest.approx(accuracy)
    for section in sections[:3]:
        right, wrong = len(section["correct"]), len(section["incorrect"])
        row = rows[section["section"].replace("all", "section all")]
        assert row["value"] == pytest.approx(right / (right + wrong))
        assert row["num_items"] - row["num_missing"] == right + wrong
    assert (rows["all"]["num_items"], rows["all"]["num_missing"]) == (8, 2)
    assert rows["all"]["value_of_all"] == pytest.approx(rows["all"]["value"] * 6 / 8)
    assert (rows["of no use"]["status"], rows["of no use"]["reason"]) == ("undefined", "no question has all its words")


def test_with_inputs_allowed_a_word_of_the_question_may_be_answered(outcome, files):
    keyed, right, asked = _keyed(files[0]), [], []
    for line in QUESTIONS.splitlines():
        words = line.split()
        if all(word in keyed for word in words):
            a, b, c = (keyed.get_vector(word, norm=True) for word in words[:3])
            near = [float(keyed.get_vector(word, norm=True) @ (b - a + c)) for word in WORDS if word != "paris"]
            right.append([word for word in WORDS if word != "paris"][int(np.argmax(near))] == words[3])
            asked.append(words)
    [row] = outcome.rows("quality", set="asked", section="all")
    assert len(asked) == row["num_items"] - row["num_missing"] == 6
    assert row["value_with_inputs"] == pytest.approx(np.mean(right))
    assert row["value_with_inputs"] != row["value"]


def test_intervals_are_over_replicas_and_of_a_whole_set_over_sections_too(outcome):
    rated = [row for row in outcome.rows("quality") if row["set"] == "rated"]
    assert {row["num_replicas"] for row in rated} == {NUM_REPLICAS}
    draws = {
        row["column"]: np.array(row["values"])
        for row in outcome.rows("draws", table="quality")
        if '"set": "rated"' in row["key"]
    }
    for name, ends in {"value": ("low", "high"), "value_of_all": ("value_of_all_low", "value_of_all_high")}.items():
        # Around the number itself, as replicas have noise that makes them worse.
        own, reach = rated[0][name], t.ppf(0.975, 3) * draws[name].std(ddof=1)
        by_hand = [max(own - reach, -1.0), min(own + reach, 1.0)]
        assert [rated[0][end] for end in ends] == pytest.approx(by_hand, abs=1e-6)
    whole = outcome.rows("quality", set="asked", section="all")[0]
    parts = [
        row for row in outcome.rows("quality", set="asked") if row["section"] != "all" and row["value"] is not None
    ]
    sizes = np.array([row["num_items"] - row["num_missing"] for row in parts])
    share = means.share(
        sizes * [row["value"] for row in parts], units_of(np.arange(len(parts)), "section"), level=0.95, sizes=sizes
    )
    assert whole["by_section"] == pytest.approx(whole["value"])
    assert whole["num_sections"] == len(parts) == 3
    assert [whole["by_section_low"], whole["by_section_high"]] == pytest.approx([share.low, share.high], nan_ok=True)


def test_bad_lines_are_left_out_and_counted(outcome):
    left_out = {row["file"].rpartition("/")[2]: row for row in outcome.record["left_out"]}
    assert (left_out["pairs.tsv"]["num"], left_out["pairs.tsv"]["first"]) == (2, "line 8")
    assert left_out["questions.txt"]["reason"] == "not four words"


def test_fewer_words_and_their_case_are_settings(run_here, sets, files, outcome, tmp_path):
    where = ["embedding=file", f"embedding.path={files[0]}", f"store={tmp_path}"]
    few = run_here(*sets, *where, "most_words=7", "fold_case=false")
    [row] = few.rows("quality", set="rated")
    assert (row["num_words"], row["num_missing"], row["status"], row["num_replicas"]) == (7, 5, "undefined", 0)
    assert few.rows("quality", set="asked", section="capitals")[0]["num_missing"] == 1
    every = run_here(*sets, *where, "most_words=null", "~analogies.asked")
    assert every.rows("quality")[0]["value"] == outcome.rows("quality", set="rated")[0]["value"]


def test_trained_replicas_and_further_starts(run_here, made_up, one_corpus, write_lines, tmp_path):
    """Words of the corpus alone; each embedding is scored, and starts tell what training adds."""
    documents = write_lines(tmp_path / "en.jsonl", made_up("en"))
    (tmp_path / "pairs.tsv").write_text("enaa enba 3\nenca enda 2\nenea enfa 1\nenga enha 4\nenaa enda 2.5\n")
    (tmp_path / "questions.txt").write_text(": one\nenaa enba enca enda\nenea enfa enga enha\n")
    run = run_here(
        *("job=vector_quality", *one_corpus("en", documents), "~similarity.WordSim-353", "~similarity.SimLex-999"),
        *("~analogies.Google", f"+similarity.rated={tmp_path}/pairs.tsv", f"+analogies.asked={tmp_path}/questions.txt"),
        *("embedding.num_replicas=3", "embedding.num_starts=2", "embedding.trainer.dimensions=4"),
        *("embedding.trainer.epochs=2", f"store={tmp_path}/store"),
    )
    parts, [row] = run.parts("en"), run.rows("quality", set="rated")
    pairs = [("enaa", "enba"), ("enca", "enda"), ("enea", "enfa"), ("enga", "enha"), ("enaa", "enda")]

    def rho(name):
        table = parts[f"{name}.parquet"]
        vectors = dict(zip(table["word"].to_pylist(), map(np.array, table["vector"].to_pylist()), strict=True))
        unit = {word: vector / np.linalg.norm(vector) for word, vector in vectors.items()}
        return spearmanr([unit[one] @ unit[other] for one, other in pairs], [3, 2, 1, 4, 2.5]).statistic

    assert row["value"] == pytest.approx(rho("en_replica_0000"))
    assert row["value_sd_training"] == pytest.approx(np.std([rho("en_replica_0000"), rho("en_start_0001")], ddof=1))
    [draws] = run.rows("draws", table="quality", column="value")[:1]
    assert draws["values"] == pytest.approx([rho(f"en_replica_000{number}") for number in (1, 2, 3)])
    assert '"paired_by": "replicas"' in draws["scheme"]


REFUSED = {
    "too_few": ("paris rome 3\nbig small 2\n", "similarity.rated: .*pairs.tsv has 2 items, and must have three pairs"),
    "bad": ("x y\n" * 20 + "paris rome 3\n" * 5, "not two words and a number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_set_of_no_use_is_refused_before_any_work(run_here, sets, files, tmp_path, name):
    text, message = REFUSED[name]
    (tmp_path / "pairs.tsv").write_text(text)
    where = ["embedding=file", f"embedding.path={files[0]}", f"store={tmp_path}/store"]
    with pytest.raises(InputError, match=message):
        run_here(*sets, *where, f"similarity.rated={tmp_path}/pairs.tsv")
    assert not (tmp_path / "store/ledger").exists()


def test_a_file_that_cant_be_read_leaves_the_others_alone(run_here, sets, files, tmp_path, outcome_of):
    (tmp_path / "broken.bin").write_bytes(b"3 2\nparis")
    where = ["embedding=file", f"embedding.path=[{files[0]},{tmp_path}/broken.bin]", f"store={tmp_path}/store"]
    with pytest.raises(UnitsFailed):
        run_here(*sets, *where, f"run_dir={tmp_path}/run")
    rows = outcome_of(tmp_path / "run").rows("quality")
    assert {row["model"] for row in rows} == {"r0"}


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
def test_any_number_of_workers_gives_the_same_tables(outcome, run_job, sets, files, tmp_path, num_cpus):
    where = ["embedding=file", f"embedding.path=[{','.join(map(str, files))}]", "embedding.replicas=true"]
    run = run_job(*sets, *where, f"store={tmp_path}", f"cluster.num_cpus={num_cpus}")
    assert run.digests == outcome.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_changes_no_table(outcome, tiltmeter, outcome_of, sets, files, tmp_path, victim):
    where = ["embedding=file", f"embedding.path=[{','.join(map(str, files))}]", "embedding.replicas=true"]
    survive(tiltmeter, outcome_of, tmp_path, [*sets, *where], victim, outcome)
