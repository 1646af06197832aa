"""The job `gender_adversary` on sentences in which gender decides, and on those in which it does not."""

import csv
import json

import numpy as np
import pytest

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.classifiers.adversary.spaces import change_limit
from tiltmeter.storage.errors import InputError

from .conftest import NOUNS, OTHERS, SMALL

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
    assert row["fall_p_value"] == 1 / 20
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


def test_excess_at_equal_size_takes_the_line_through_the_controls_off(attacked):
    rows, row = attacked.rows("controls", direction="pair_to_female"), summary(attacked, "pair_to_female")
    sizes = {
        attack["row"]: attack["log10_size"] or 0.0
        for attack in attacked.rows("attacks", direction="pair_to_female", search="ladder")
    }
    mean = sum(sizes.values()) / len(sizes)
    points = [(mean, row["flip_rate"]), *((control["log10_size"], control["flip_rate"]) for control in rows)]
    slope = np.polyfit(*zip(*points, strict=True), 1)[0]
    assert row["size_slope"] == pytest.approx(slope)
    expected = row["excess"] - slope * (mean - np.mean([control["log10_size"] for control in rows]))
    assert row["size_excess"] == pytest.approx(expected)
    assert 0.05 <= row["size_p_value"] <= 1.0


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
    assert len(rows) == 19
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


# --- layouts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_cpus", "unit_texts"),
    [(2, 7), pytest.param(1, 50, marks=pytest.mark.slow), pytest.param(4, 13, marks=pytest.mark.slow)],
)
def test_layout_changes_no_table(attacked, run_job, adversary, tmp_path, num_cpus, unit_texts):
    layout = [f"cluster.num_cpus={num_cpus}", f"unit_texts={unit_texts}"]
    run = run_job(*adversary, *layout, f"store={tmp_path}")
    assert run.stage("attack linear")["num_done"] > 1
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


def test_replicas_of_an_embedding_that_is_trained_are_searched_too(run_job, labelled, one_corpus, tmp_path):
    sentences = [row["text"] for row in csv.DictReader(labelled.open())]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(4 * sentences))
    trained = ["embedding.min_count=1", "embedding.num_replicas=2", "embedding.trainer.dimensions=8"]
    settings = [f"data.path={labelled}", *one_corpus("en", corpus), "corpus.format=text", *trained, *SMALL]
    run = run_job("job=gender_adversary", *settings, "embedding.trainer.epochs=1", f"store={tmp_path}/store")
    assert {row["replica"] for row in run.rows("embeddings")} == {0, 1, 2}
    assert {row["direction"] for row in run.rows("candidates")} >= {"pair_to_female", "pair_to_male"}
    assert summary(run, "pair_to_female")["flip_rate"] is not None


# --- refusals -------------------------------------------------------------------------------------------------------

SCORES = "+victim.mine={kind: sentiment, system: {kind: scores, path: a.csv}}"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (["search.budget=0"], r"search\.budget=0: .*greater than or equal to 1"),
        (["controls.number=0"], r"controls\.number=0: "),
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
        with pytest.raises(InputError, match=r"victim\.transformer\.model=.*has one class"):
            find_victim("transformer", config.victim["transformer"], 0)
