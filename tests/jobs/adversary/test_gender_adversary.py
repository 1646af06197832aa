"""The job `gender_adversary` on sentences in which gender decides, and on those in which it does not."""

import csv
import json
from collections import Counter

import numpy as np
import pytest

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.classifiers.adversary.spaces import change_limit
from tiltmeter.operators.classifiers.adversary.words import folded
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.checkpoints import CheckpointError

from .conftest import NOUNS, OTHERS, SMALL, words_and_vectors

ISSUE = {
    "attacks": "row victim direction search status num_changes is_minimal probability_before probability_after "
    "num_queries",
    "summary": "victim direction stratum flip_rate flip_rate_low flip_rate_high excess p_value asymmetry asymmetry_p",
}
FLIPPED = ("flipped", "flipped_minimal")


def summary(run, direction, stratum="all", search="ladder"):
    [row] = run.rows("summary", direction=direction, stratum=stratum, search=search)
    return row


def test_tables_have_what_was_asked_for(attacked):
    assert {"texts", "candidates", "attacks", "substitutions", "controls", "summary"} <= attacked.published
    for name, columns in ISSUE.items():
        assert set(columns.split()) <= set(attacked.table(name).column_names)


def test_planted_bias_is_found_and_lies_on_gendered_words(attacked):
    row = summary(attacked, "pair_to_female", "male")
    assert row["excess"] > 0.5
    assert row["excess_low"] > 0.2
    assert row["fall_excess"] > 0.3
    # Some controls take so much away that all texts flip, but none lowers probabilities as much.
    assert row["fall_p_value"] == 1 / 40
    assert row["definitional_share"] > 0.8
    assert row["flip_rate_low"] <= row["flip_rate"] <= row["flip_rate_high"]


def test_p_values_are_adjusted_over_all_directions_that_have_one(attacked):
    rows = [row for row in attacked.rows("summary", stratum="all", search="ladder") if row["p_value"] is not None]
    assert {row["direction"] for row in rows} == {"pair_to_female", "pair_to_male"}
    least = min(rows, key=lambda row: row["p_value"])
    assert least["p_adjusted"] == pytest.approx(min(1.0, 2 * least["p_value"]))
    assert summary(attacked, "swap_to_female")["p_value"] is None


def test_both_ways_are_held_against_each_other(attacked):
    there, back = summary(attacked, "swap_to_female"), summary(attacked, "swap_to_male")
    assert there["asymmetry"] == pytest.approx(there["flip_rate"] - back["flip_rate"])
    assert there["asymmetry"] == -back["asymmetry"]
    assert there["asymmetry_p"] == back["asymmetry_p"]
    released = summary(attacked, "pair_to_female", search="greedy")
    other = summary(attacked, "pair_to_male", search="greedy")
    assert released["asymmetry"] == pytest.approx(released["flip_rate"] - other["flip_rate"])
    assert released["asymmetry_control_p"] is None


def test_swapping_changes_texts_with_words_of_the_other_gender_alone(attacked):
    texts = {row["row"]: row for row in attacked.rows("texts", victim="linear")}
    for row in attacked.rows("attacks", direction="swap_to_female", search="swap"):
        assert texts[row["row"]]["has_male"]
        assert row["num_changes"] == 1
    assert summary(attacked, "swap_to_female", "female")["flip_rate"] == 0.0
    assert summary(attacked, "swap_to_female", "male", "swap")["flip_rate"] > 0.5


def test_what_is_replaced_keeps_its_capitals_and_marks(attacked):
    texts = {row["row"]: row["text"] for row in attacked.rows("texts", victim="linear")}
    rows = attacked.rows("substitutions")
    assert rows
    for row in rows:
        assert texts[row["row"]].split()[row["position"]] == row["word"]
        assert row["word"].endswith(",") == row["replacement"].endswith(",")
    assert {row["replacement"] for row in rows if row["word"] == "king," and row["search"] == "swap"} <= {"queen,"}


def test_shares_add_up_to_the_fall(attacked):
    changes = attacked.rows("substitutions", search="ladder")
    for attack in attacked.rows("attacks", search="ladder"):
        key = (attack["row"], attack["direction"])
        shares = [row["shapley"] for row in changes if (row["row"], row["direction"]) == key]
        if shares:
            fall = attack["probability_before"] - attack["probability_after"]
            assert sum(shares) == pytest.approx(fall, abs=1e-12)
            assert len(shares) == attack["num_changes"]


def test_controls_have_as_many_chances_and_so_excess_at_equal_size_is_excess(attacked):
    rows, row = attacked.rows("controls", direction="pair_to_female"), summary(attacked, "pair_to_female")
    attacks = attacked.rows("attacks", direction="pair_to_female", search="ladder")
    for name, number in (("log10_size", "log10_size"), ("num_candidates", "num_candidates")):
        mean = np.mean([attack[name] or 0.0 for attack in attacks])
        assert [control[number] for control in rows] == pytest.approx([mean] * len(rows))
    assert row["mean_candidates"] == pytest.approx(row["mean_control_candidates"])
    assert (row["size_slope"], row["size_excess"]) == (0.0, pytest.approx(row["excess"]))
    assert 1 / 40 <= row["size_p_value"] <= 1.0


def test_candidates_along_gender_are_words_of_the_texts_and_too_few_are_refused(run_job, adversary, labelled, tmp_path):
    usual = [setting for setting in adversary if setting != "candidates.min_count=0"]
    run = run_job(
        *usual, "candidates.min_count=30", "max_texts=20", f"store={tmp_path}/store", f"run_dir={tmp_path}/run"
    )
    words = Counter(word for row in csv.DictReader(labelled.open()) for word in folded(row["text"].split()))
    along = {row["candidate"] for row in run.rows("candidates") if row["direction"].startswith("pair_")}
    assert along
    assert min(words[word] for word in along) >= 30
    with pytest.raises(UnitsFailed, match=r"candidates\.min_count=1000: no word of the embedding occurs so often"):
        run_job(*usual, "candidates.min_count=1000", "max_texts=20", f"store={tmp_path}/store")


def test_no_search_changes_more_than_its_share(attacked):
    lengths = {row["row"]: row["num_words"] for row in attacked.rows("texts", victim="linear")}
    for attack in attacked.rows("attacks", search="ladder"):
        assert (attack["num_changes"] or 0) <= change_limit(lengths[attack["row"]], 0.4)
        assert attack["is_minimal"] == (
            None if attack["status"] == "no_candidate" else attack["status"] == "flipped_minimal"
        )


def test_rows_without_an_attack_say_why(attacked):
    left_out = {row["status"] for row in attacked.rows("texts", victim="")}
    assert left_out == {"no_text", "no_label"}
    bare = [row for row in attacked.rows("texts") if row["text"].startswith("42")]
    assert bare
    for row in bare:
        assert (row["status"], row["num_eligible"]) == ("no_candidate", 0)
        attacks = attacked.rows("attacks", row=row["row"])
        assert {attack["status"] for attack in attacks} == {"no_candidate"}
        assert all(attack["reason"] for attack in attacks)
        assert {attack["direction"] for attack in attacks} >= {"pair_to_female", "names_to_male", "neighbours"}


def test_controls_are_pairs_without_gender_and_their_mean_is_what_excess_is_over(attacked):
    rows = attacked.rows("controls", direction="pair_to_female")
    assert len(rows) == 39
    assert len({row["words"] for row in rows}) > 10
    assert not any(word in row["words"].split() for row in rows for word in ("man", "woman", "queen"))
    row = summary(attacked, "pair_to_female")
    assert row["excess"] == pytest.approx(row["flip_rate"] - np.mean([control["flip_rate"] for control in rows]))


def test_candidates_say_what_they_have_to_do_with_gender(attacked):
    [row] = attacked.rows("candidates", direction="pair_to_female", word="king", candidate="queen")
    assert (row["kind"], row["stability"]) == ("definitional", None)
    assert row["leaning"] > 0.3
    assert {row["kind"] for row in attacked.rows("candidates")} >= {"definitional", "other"}


def test_neighbours_are_those_of_vectors_that_are_fitted_to_synonyms(attacked):
    rows = attacked.rows("candidates", direction="neighbours")
    first = {row["word"]: row["candidate"] for row in rows if row["rank"] == 0}
    pairs = [("lamp", "glass"), ("glass", "lamp"), ("film", "river"), ("river", "film")]
    assert first.keys() & {word for word, _ in pairs}
    assert all(first.get(word, other) == other for word, other in pairs)


def test_constraints_leave_candidates_out_and_say_so(attacked):
    reasons = {}
    for row in attacked.rows("candidates"):
        reasons.setdefault(row["removed_by"], set()).add(frozenset((row["word"], row["candidate"])))
    assert reasons.keys() <= {"", "antonym", "part_of_speech"}
    assert reasons.get("antonym", set()) <= {frozenset(("plot", "cast"))}
    assert all(len(pair & set(NOUNS)) == 1 == len(pair & set(OTHERS[3:])) for pair in reasons["part_of_speech"])
    assert reasons["part_of_speech"].isdisjoint(reasons[""])
    assert frozenset(("plot", "cast")) not in reasons[""]
    replaced = {frozenset((row["word"].lower(), row["replacement"])) for row in attacked.rows("substitutions")}
    assert replaced.isdisjoint(reasons["part_of_speech"])


# --- draws ----------------------------------------------------------------------------------------------------------

SUMMARY_KEYS = ("victim", "direction", "stratum", "search")


def check_draws(run, **wanted):
    """As many numbers of texts have draws as have an interval, and these lie about the number, but for replicas."""
    num = 0
    for column in ("flip_rate", "excess", "changeable_rate"):
        draws = {draw["key"]: draw["values"] for draw in run.rows("draws", table="summary", column=column)}
        for row in run.rows("summary", **wanted):
            key = json.dumps({name: row[name] for name in SUMMARY_KEYS})
            if row[f"{column}_low"] is not None and (column != "changeable_rate" or key in draws):
                values = draws[key]
                assert row[f"{column}_low"] <= row[column] <= row[f"{column}_high"]
                assert row["num_replicas"] or abs(np.mean(values) - row[column]) <= 0.6 * np.std(values) + 1e-12
                num += 1
    return num


def compared(run_job, before, after, store, where):
    """Rows of the table `differences`."""
    runs = f"runs=[{before.path},{after.path}]"
    return run_job("job=compare", runs, f"store={store}", f"run_dir={where}").rows("differences", table="summary")


def test_every_interval_leaves_draws(attacked):
    num = check_draws(attacked)
    assert num == len(attacked.rows("draws")) > 8
    assert len({json.loads(draw["scheme"])["items"] for draw in attacked.rows("draws")}) == 4, "one for each stratum"


def test_intervals_are_by_author_and_of_texts_that_can_change(attacked):
    texts = {row["row"]: row for row in attacked.rows("texts", victim="linear")}
    authors = [texts[row]["group"] for row in sorted(texts)]
    assert len(set(authors)) < len(authors)
    for direction, search in (("swap_to_female", "swap"), ("pair_to_male", "ladder"), ("neighbours", "ladder")):
        attacks = {row["row"]: row for row in attacked.rows("attacks", direction=direction, search=search)}
        able = [
            row for row in sorted(texts) if attacks.get(row, {"status": "no_candidate"})["status"] != "no_candidate"
        ]
        flipped = {row for row, attack in attacks.items() if attack["status"] in FLIPPED}
        found = summary(attacked, direction, search=search)
        assert found["num_changeable"] == len(able) < found["num_texts"]
        for name, rows in (("flip_rate", sorted(texts)), ("changeable_rate", able)):
            expected = share(
                np.array([row in flipped for row in rows]),
                units_of([texts[row]["group"] for row in rows], "group"),
                level=0.95,
            )
            ends = [found[name], found[f"{name}_low"], found[f"{name}_high"]]
            assert ends == pytest.approx([expected.value, expected.low, expected.high])


@pytest.mark.parametrize(
    ("setting", "paired_by"),
    [
        pytest.param("candidates.top=1", "items", marks=pytest.mark.slow),
        ("max_texts=40", "unpaired"),
        pytest.param("seed=1", "unpaired", marks=pytest.mark.slow),
    ],
)
def test_a_later_run_is_judged_text_by_text_if_its_texts_are_the_same(
    attacked, run_job, adversary, tmp_path, setting, paired_by
):
    store = attacked.path.parent / "store"
    later = run_job(*adversary, setting, f"store={store}", f"run_dir={tmp_path}/later")
    rows = compared(run_job, attacked, later, store, tmp_path / "compared")
    assert {row["column"] for row in rows} == {"flip_rate", "excess", "changeable_rate"}
    assert {row["paired_by"] for row in rows} == {paired_by}
    assert {row["num_draws"] for row in rows} == {50}
    assert any(row["difference"] for row in rows)
    for row in rows:
        assert (row["low"] + row["high"]) / 2 == pytest.approx(row["difference"]), "around it, as of texts"


def test_a_text_that_is_alone_has_neither_interval_nor_draws(attacked, run_job, adversary, tmp_path):
    run = run_job(*adversary, "max_texts=1", f"store={attacked.path.parent}/store", f"run_dir={tmp_path}/run")
    row = summary(run, "swap_to_male")
    assert (row["flip_rate_low"], row["flip_rate_high"], row["status"]) == (None, None, "too_few_units")
    assert 'flip_rate: there is too little to go by: 1 of the unit "group", and 2 are needed' in row["reason"]
    assert "draws" not in run.published


@pytest.mark.slow
def test_replicas_in_files_have_to_be_the_same_for_what_depends_on_them(run_job, adversary, write_vectors, tmp_path):
    words, vectors = words_and_vectors()
    draws = np.random.default_rng(0)
    for name, noise in {"a_original": 0.0, "b_replica": 0.5, "c_replica": 0.5, "d_replica": 5.0}.items():
        write_vectors(tmp_path / f"{name}.bin", words, np.array(vectors) + draws.normal(0.0, noise, np.shape(vectors)))

    def ran(name, *files):
        paths = ",".join(f"{tmp_path}/{file}.bin" for file in files)
        settings = [f"embedding.path=[{paths}]", "embedding.replicas=true", f"store={tmp_path}/store"]
        return run_job(*adversary, *settings, "direction.kinds=[pair, swap]", f"run_dir={tmp_path}/{name}")

    first = ran("first", "a_original", "b_replica", "c_replica")
    assert {row["num_replicas"] for row in first.rows("summary", direction="pair_to_male", search="ladder")} == {2}
    assert check_draws(first) == len(first.rows("draws"))
    other = ran("other", "a_original", "b_replica", "d_replica")
    rows = compared(run_job, first, other, tmp_path / "store", tmp_path / "compared")
    pairing = {
        (json.loads(row["key"])["direction"], json.loads(row["key"])["search"], row["paired_by"]) for row in rows
    }
    assert ("pair_to_male", "ladder", "unpaired") in pairing
    # Counterparts are no matter of the embedding, and the released search takes the original alone.
    assert ("swap_to_male", "ladder", "items") in pairing
    assert {row[2] for row in pairing if row[1] == "greedy"} == {"items"}


# --- layouts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_cpus", "unit_texts"),
    [(2, "null"), pytest.param(1, 50, marks=pytest.mark.slow), pytest.param(4, 13, marks=pytest.mark.slow)],
)
def test_layout_changes_no_table(attacked, run_job, adversary, tmp_path, num_cpus, unit_texts):
    layout = [f"cluster.num_cpus={num_cpus}", f"unit_texts={unit_texts}"]
    run = run_job(*adversary, *layout, f"store={tmp_path}")
    assert run.stage("attack linear")["num_done"] > (32 if unit_texts == "null" else 1)
    assert run.digests == attacked.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_at_a_random_moment_changes_no_table(attacked, tiltmeter, outcome_of, tmp_path, adversary, victim):
    from tests.jobs.test_layouts import kill

    command = [*adversary, "unit_texts=5", f"store={tmp_path}/store", f"run_dir={tmp_path}/run", "cluster.num_cpus=2"]
    process = tiltmeter(*command)
    kill(process, victim, tmp_path, 4)
    if victim == "driver":
        process = tiltmeter(*command)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert outcome_of(tmp_path / "run").digests == attacked.digests


@pytest.mark.slow
def test_replicas_of_an_embedding_that_is_trained_are_searched_too(run_job, labelled, one_corpus, tmp_path):
    sentences = [row["text"] for row in csv.DictReader(labelled.open())]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(4 * sentences))
    trained = ["embedding.min_count=1", "embedding.num_replicas=2", "embedding.trainer.dimensions=8"]
    settings = [f"data.path={labelled}", *one_corpus("en", corpus), "corpus.format=text", *trained, *SMALL]
    settings += ["embedding.trainer.epochs=1", f"store={tmp_path}/store"]
    run = run_job("job=gender_adversary", *settings, f"run_dir={tmp_path}/first")
    assert {row["replica"] for row in run.rows("embeddings")} == {0, 1, 2}
    assert {row["direction"] for row in run.rows("candidates")} >= {"pair_to_female", "pair_to_male"}
    assert summary(run, "pair_to_female")["flip_rate"] is not None
    assert check_draws(run) == len(run.rows("draws"))
    later = run_job("job=gender_adversary", *settings, "candidates.top=1", f"run_dir={tmp_path}/later")
    rows = compared(run_job, run, later, tmp_path / "store", tmp_path / "compared")
    assert {row["paired_by"] for row in rows} == {"items"}
    of_replicas = [draw for draw in run.rows("draws") if "replicas" in json.loads(draw["scheme"])]
    keys = [json.loads(draw["key"]) for draw in of_replicas]
    of_embedding = ("pair_to_female", "pair_to_male", "neighbours")
    assert {(key["direction"], key["search"]) for key in keys} == {(name, "ladder") for name in of_embedding}
    [replicas] = {json.dumps(json.loads(draw["scheme"])["replicas"]) for draw in of_replicas}
    assert {"number": 2, "unit": "line", "seed": 0}.items() <= json.loads(replicas).items()


# --- refusals -------------------------------------------------------------------------------------------------------

SCORES = "+victim.mine={kind: sentiment, system: {kind: scores, path: a.csv}}"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (["search.budget=0"], r"search\.budget=0: .*greater than or equal to 1"),
        (["controls.number=0"], r"controls\.number=0: "),
        (["controls.number=38"], r"controls\.number=38: 2 tests, .* below 0\.051; set it to 39 or more"),
        (["victim=[linear,vader]", "direction.kinds=[pair,component]"], "8 tests, of 2 victims .* 159 or more"),
        ([SCORES], "a search asks about texts that nobody has seen before"),
        (["victim=vader", "victim.vader.cuts=[0.1]"], r"cuts=\[0\.1\]: must be 2, rising"),
        (["victim=vader", "victim.vader.classes=[any]", "victim.vader.cuts=[]"], "victim.vader.*classes"),
        (["embedding=encoder", "embedding.model=bert"], "has no vocabulary in which words are near each other"),
        (["corpus=dewiki"], "gendered words are swapped in English"),
        (["words.pairs=[[man, woman], [boy, woman]]"], "'woman' is in two pairs"),
        (["corpus=[enwiki_sample,simplewiki]"], "corpus: embeddings of .*: choose one corpus"),
        (["corpus=simplewiki", "corpus.simplewiki.slices=year"], "corpus.slices=year: makes several embeddings"),
    ],
)
def test_settings_that_can_not_be_are_refused(configured, setting, message):
    with pytest.raises(ConfigError, match=message):
        configured("job=gender_adversary", "data.path=a.csv", *setting)


@pytest.mark.parametrize(
    "settings",
    [
        ["controls.number=39"],
        ["controls.number=19", "direction.both=false"],
        ["controls.number=5", "controls.few=true"],
        ["controls.number=1", "direction.kinds=[swap, names]"],
        ["victim=[linear,vader]"],
    ],
)
def test_as_many_controls_as_a_family_needs_are_enough(configured, settings):
    assert configured("job=gender_adversary", "data.path=a.csv", *settings).controls.number > 0


def test_a_direction_without_vectors_is_refused(run_job, adversary, tmp_path):
    with pytest.raises(InputError, match=r"direction\.pair: the embedding has no vectors for nobody"):
        run_job(*adversary, "direction.pair=[nobody, woman]", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert json.loads((tmp_path / "run/run.json").read_text())["status"] == "failed"


def test_data_of_one_class_are_refused(run_job, adversary, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("text,label,author\n" + "".join(f"a film {number},good,a\n" for number in range(30)))
    with pytest.raises(InputError, match=r"data\.label: all texts that a victim learns are of the class 'good'"):
        run_job(*adversary, f"data.path={path}", f"store={tmp_path}/store")


@pytest.mark.parametrize("num_labels", [1, 2])
def test_a_transformer_with_one_class_is_refused(configured, write_bert, tmp_path, num_labels):
    from tiltmeter.jobs.adversary.victims import find_victim

    folder = write_bert(tmp_path / "bert", ["a"], "BertForSequenceClassification", num_labels=num_labels)
    config = configured(
        "job=gender_adversary", "data.path=a.csv", "victim=transformer", f"victim.transformer.model={folder}"
    )
    if num_labels == 2:
        assert find_victim("transformer", config.victim["transformer"], 0).load is not None
    else:
        with pytest.raises(CheckpointError, match=r"victim\.transformer\.model=.*tells no classes apart"):
            find_victim("transformer", config.victim["transformer"], 0)
