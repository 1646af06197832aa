"""The job `gender_adversary`: its draws and later runs, layouts, embeddings that are trained, and what it refuses.

What it computes is in :mod:`.test_by_hand`.
"""

import csv
import json

import pytest

from tests.jobs.test_layouts import survive
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.adversary.victims import find_victim
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.checkpoints import CheckpointError

from .conftest import SMALL, words_and_vectors


def test_tables_have_what_was_asked_for_and_rows_without_an_attack_say_why(attacked):
    assert {"texts", "candidates", "attacks", "substitutions", "controls", "summary"} <= attacked.published
    left_out = {row["row"]: (row["status"], bool(row["reason"])) for row in attacked.rows("texts", victim="")}
    assert left_out == {0: ("no_text", True), 86: ("no_label", True)}
    [bare] = attacked.rows("texts", victim="linear", text="42, 3!")
    assert "any direction" in bare["reason"]
    attacks = attacked.rows("attacks", row=bare["row"], victim="linear")
    assert {row["direction"] for row in attacks} >= {"pair_to_female", "names_to_male", "neighbours"}
    assert {row["status"] for row in attacks} == {"no_candidate"}
    assert all(row["reason"] for row in attacks)
    assert attacks[0]["probability_before"] > 1 / 3


# --- draws ----------------------------------------------------------------------------------------------------------


def compared(run_here, before, after, store, where):
    """Rows of the table `differences` of numbers that have draws in both runs: those of too few texts have none."""
    runs = f"runs=[{before.path},{after.path}]"
    rows = run_here("job=compare", runs, f"store={store}", f"run_dir={where}").rows("differences", table="summary")
    return [row for row in rows if row["num_draws"]]


def test_draws_of_a_stratum_are_of_one_scheme_with_replicas_where_candidates_depend_on_them(attacked):
    items = {}
    for draw in attacked.rows("draws"):
        key, scheme = json.loads(draw["key"]), json.loads(draw["scheme"])
        items.setdefault(key["stratum"], set()).add(scheme["items"])
        of_embedding = key["direction"].startswith(("pair", "component", "neighbours")) and key["search"] == "ladder"
        has_replicas = of_embedding and draw["column"] != "changeable_rate"
        assert scheme.get("replicas", {}).get("number") == (2 if has_replicas else None)
    assert {len(schemes) for schemes in items.values()} == {1}
    assert len(set.union(*items.values())) == len(items) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "paired_by"), [("candidates.top=1", "items"), ("max_texts=20", "unpaired"), ("seed=1", "unpaired")]
)
def test_a_later_run_is_judged_text_by_text_if_its_texts_are_the_same(
    attacked, run_here, adversary, tmp_path, setting, paired_by
):
    store = attacked.path.parent / "store"
    later = run_here(*adversary, setting, f"store={store}", f"run_dir={tmp_path}/later")
    rows = compared(run_here, attacked, later, store, tmp_path / "compared")
    assert {row["column"] for row in rows} == {"flip_rate", "excess", "changeable_rate"}
    assert {row["paired_by"] for row in rows} == {paired_by}
    assert {row["num_draws"] for row in rows} == {20}
    assert any(row["difference"] for row in rows)
    for row in rows:
        assert (row["low"] + row["high"]) / 2 == pytest.approx(row["difference"]), "around it, as of texts"


@pytest.mark.slow
def test_replicas_in_files_have_to_be_the_same_for_what_depends_on_them(
    attacked, run_here, adversary, write_vectors, tmp_path
):
    [path] = [setting for setting in adversary if setting.startswith("embedding.path=")]
    other = write_vectors(tmp_path / "other.bin", *words_and_vectors(0.9))
    store = attacked.path.parent / "store"
    settings = [f"{path.rpartition(',')[0]},{other}]", f"store={store}", f"run_dir={tmp_path}/later"]
    rows = compared(run_here, attacked, run_here(*adversary, *settings), store, tmp_path / "compared")
    pairing = {(*map(json.loads(row["key"]).get, ("direction", "search")), row["paired_by"]) for row in rows}
    assert ("pair_to_male", "ladder", "unpaired") in pairing
    # Counterparts are no matter of the embedding, and the released search takes the original alone.
    assert ("swap_to_male", "ladder", "items") in pairing
    assert {row[2] for row in pairing if row[1] == "greedy"} == {"items"}


# --- layouts --------------------------------------------------------------------------------------------------------


def test_two_workers_and_odd_units_give_the_same_tables(attacked, run_job, adversary, tmp_path):
    run = run_job(*adversary, "cluster.num_cpus=2", "unit_texts=9", f"store={tmp_path}")
    assert run.stage("attack linear")["num_done"] > 3
    assert run.digests == attacked.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_tables_survive_a_kill(tiltmeter, outcome_of, tmp_path, attacked, adversary, victim):
    survive(tiltmeter, outcome_of, tmp_path, adversary, victim, attacked)


@pytest.mark.slow
def test_replicas_of_an_embedding_that_is_trained_are_searched_too(run_job, labelled, one_corpus, tmp_path):
    sentences = [row["text"] for path in labelled.values() for row in csv.DictReader(path.open())]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(4 * sentences))
    trained = ["embedding.min_count=1", "embedding.num_replicas=2", "embedding.trainer.dimensions=8"]
    files = [f"data.{'path' if part == 'training' else part}={path}" for part, path in labelled.items()]
    settings = [*files, *one_corpus("en", corpus), "corpus.format=text", *trained, *SMALL]
    settings += ["embedding.trainer.epochs=1", f"store={tmp_path}/store"]
    run = run_job("job=gender_adversary", *settings, f"run_dir={tmp_path}/first")
    assert {row["replica"] for row in run.rows("embeddings")} == {0, 1, 2}
    assert {row["direction"] for row in run.rows("candidates")} >= {"pair_to_female", "pair_to_male"}
    later = run_job("job=gender_adversary", *settings, "candidates.top=1", f"run_dir={tmp_path}/later")
    rows = compared(run_job, run, later, tmp_path / "store", tmp_path / "compared")
    assert {row["paired_by"] for row in rows} == {"items"}
    schemes = [json.loads(draw["scheme"]) for draw in run.rows("draws")]
    [replicas] = {json.dumps(scheme["replicas"]) for scheme in schemes if "replicas" in scheme}
    assert {"number": 2, "unit": "line", "seed": 3}.items() <= json.loads(replicas).items()


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [["controls.number=39"], ["controls.number=1", "direction.kinds=[swap, names]"]])
def test_as_many_controls_as_a_family_needs_are_enough(configured, settings):
    assert configured("job=gender_adversary", "data.path=a.csv", *settings).controls.number > 0


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ("direction.pair=[nobody, woman]", InputError, r"direction\.pair: the embedding has no vectors for nobody"),
        (
            "direction.pairs=[[no, body], [man, woman]]",
            InputError,
            r"direction\.pairs: .* for body, no, so there is no",
        ),
        ("candidates.min_count=1000", UnitsFailed, r"candidates\.min_count=1000: no word of the embedding occurs so"),
    ],
)
def test_words_that_are_not_there_are_refused(run_here, adversary, tmp_path, setting, error, message):
    with pytest.raises(error, match=message):
        run_here(*adversary, setting, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert json.loads((tmp_path / "run/run.json").read_text())["status"] == "failed"


def test_a_transformer_with_one_class_is_refused(configured, write_bert, tmp_path):
    folder = write_bert(tmp_path / "bert", ["a"], "BertForSequenceClassification", num_labels=1)
    settings = ["victim=transformer", f"victim.transformer.model={folder}"]
    victims = configured("job=gender_adversary", "data.path=a.csv", *settings).victim
    with pytest.raises(CheckpointError, match=r"victim\.transformer\.model=.*tells no classes apart"):
        find_victim("transformer", victims["transformer"], 0)
