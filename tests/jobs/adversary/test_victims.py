"""Every kind of victim in one run, each held against itself outside of it; and what is refused before a run."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.calibration.adversary_worlds import Held
from tests.storage.models.test_gru_files import network
from tiltmeter.jobs.adversary.config import find_sources
from tiltmeter.jobs.adversary.training import load_trained, train_victims
from tiltmeter.jobs.adversary.victims import find_victim
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.splits import split_texts
from tiltmeter.operators.classifiers.adversary.victims import class_weights
from tiltmeter.operators.sentiment.lexicons import vader_scores
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.gru_files import gru_content

from .conftest import FEMALE, MALE, NOUNS, OTHERS

VICTIMS = ("linear_masked", "vader", "textblob", "small_encoder", "transformer", "gru")
CUTS = [-0.05, 0.05]
QUICK = [f"victim.small_encoder.training.{name}" for name in ("max_tokens=64", "learning_rate=0.01")]


@pytest.fixture(scope="module")
def settings(adversary, write_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("victims")
    words = ["the", "of", "a", "no", *MALE, *FEMALE, *NOUNS, *OTHERS]
    bert = write_bert(folder / "bert", words, "BertForSequenceClassification", num_labels=2, initializer_range=0.8)
    gru = network()
    vocabulary = words[: gru.weights["embedding.weight"].shape[0] - 1]
    embedding = np.random.default_rng(0).normal(size=(len(vocabulary) + 1, 3)).astype(np.float32)
    content = network({**gru.description, "vocabulary": vocabulary}, embedding__weight=embedding)
    (folder / "gru.safetensors").write_bytes(gru_content(content))
    return [
        *(setting for setting in adversary if not setting.startswith("victim")),
        f"victim=[{','.join(VICTIMS)}]",
        *(
            "victim.linear_masked.linear.min_count=2",
            "direction.kinds=[pair, swap]",
            "controls.number=2",
            "controls.few=true",
        ),
        *(f"victim.transformer.model={bert}", f"victim.gru.system.path={folder}/gru.safetensors", *QUICK),
    ]


@pytest.fixture(scope="module")
def victims(run_job, settings, tmp_path_factory):
    place = tmp_path_factory.mktemp("victims")
    return run_job(*settings, f"store={place}/store", f"run_dir={place}/run")


@pytest.mark.slow
def test_every_victim_is_asked_about_every_text(victims):
    for victim in VICTIMS:
        texts = victims.rows("texts", victim=victim)
        assert {row["status"] for row in texts} == {"ok", "no_candidate"}
        assert all(row["predicted"] for row in texts)
        assert {row["direction"] for row in victims.rows("summary", victim=victim)} == {
            f"{kind}_to_{gender}" for kind in ("pair", "swap") for gender in ("female", "male")
        }


@pytest.mark.slow
def test_what_cannot_read_gender_is_not_moved_by_it(victims):
    swaps = [row for row in victims.rows("attacks", victim="linear_masked") if row["direction"].startswith("swap")]
    for row in swaps:
        assert row["status"] in ("robust_proven", "not_found", "no_candidate")
        if row["status"] != "no_candidate":
            assert row["probability_after"] == row["probability_before"]
    assert {row["status"] for row in swaps} >= {"robust_proven"}
    changes = victims.rows("substitutions", victim="linear_masked", kind="definitional")
    assert {row["is_known"] for row in changes} == {False}


@pytest.mark.slow
def test_an_encoder_that_has_learnt_gender_is_moved_by_it(victims):
    rates = {
        victim: victims.rows("summary", victim=victim, direction="swap_to_female", stratum="male", search="swap")
        for victim in ("small_encoder", "linear_masked", "vader")
    }
    [learnt], [masked], [vader] = rates.values()
    assert learnt["changeable_rate"] > 0.6
    assert (masked["flip_rate"], vader["flip_rate"]) == (0.0, 0.0)


@pytest.mark.slow
def test_probabilities_are_those_of_the_victim_on_the_texts_themselves(victims, configured, settings):
    """Those that are as they are, loaded once more and asked about the text and what it became."""
    config = configured(*settings)
    texts = {row["row"]: row["text"] for row in victims.rows("texts", victim="vader")}
    for name in ("vader", "textblob", "transformer", "gru"):
        reader = find_victim(name, config.victim[name], config.seed).load(None, "cpu")
        rows = [row for row in victims.rows("attacks", victim=name) if row["changed_text"]][:40]
        for column, read in (
            ("before", [texts[row["row"]] for row in rows]),
            ("after", [r["changed_text"] for r in rows]),
        ):
            found = np.array([row[f"probability_{column}"] for row in rows])
            values = reader.read([" ".join(text.split()) for text in read])
            labels = reader.read([" ".join(texts[row["row"]].split()) for row in rows]).argmax(axis=1)
            np.testing.assert_allclose(found, values[np.arange(len(rows)), labels], rtol=1e-5)


@pytest.mark.slow
def test_the_verdict_of_a_score_is_the_class_that_it_lies_in(victims):
    rows = victims.rows("texts", victim="vader")
    weights = class_weights(np.asarray(vader_scores([" ".join(row["text"].split()) for row in rows])), CUTS)
    names = np.array(["negative", "neutral", "positive"])
    assert [row["predicted"] for row in rows] == names[weights.argmax(axis=1)].tolist()


@pytest.mark.slow
def test_layout_changes_no_table_of_any_victim(victims, run_job, settings, tmp_path):
    run = run_job(*settings, "cluster.num_cpus=2", "unit_texts=11", f"store={tmp_path}")
    assert run.digests == victims.digests


SYSTEM = ["victim=vader", "victim.vader.classes=[low, middle, high]", "victim.vader.cuts=[-0.3, 0.5]"]


def test_systems_are_read_by_their_own_classes_and_cuts(configured):
    config = configured("job=gender_adversary", "data.path=a.csv", *SYSTEM)
    reader = find_victim("vader", config.victim["vader"], 0).load(None, "cpu")
    texts = ["a hero", "a war", "a lamp", "the best hero is a lovely hero", "kill"]
    scores, weights = np.asarray(vader_scores(texts)), reader.read(texts)
    np.testing.assert_allclose(weights, class_weights(scores, [-0.3, 0.5]))
    names = [reader.classes[place] for place in weights.argmax(axis=1)]
    assert names == [("low", "middle", "high")[int(score > -0.3) + int(score > 0.5)] for score in scores]
    assert len({*names}) == 3


def test_whatever_decides_what_a_victim_says_is_in_its_identity(configured):
    def identity(*settings):
        [(name, victim)] = configured("job=gender_adversary", "data.path=a.csv", *settings).victim.items()
        return str(find_victim(name, victim, 0).identity)

    linear = ("victim=linear", "victim.linear.linear.min_count=3"), ("victim=linear", "victim.linear.masked=true")
    others = ("victim=linear",), ("victim=vader",), SYSTEM, SYSTEM[:2], ["victim=textblob"]
    assert len({identity(*settings) for settings in (*linear, *others)}) == 7


def test_an_encoder_learns_by_the_seed(configured, adversary):
    usual = [setting for setting in adversary if not setting.startswith("victim")]
    config = configured(*usual, "victim=small_encoder", "victim.small_encoder.training.max_epochs=1")
    sources, held = find_sources(config), Held()
    texts = split_texts(held, read_labelled_data(held, config.data, sources.labelled, 0), 0)
    models = [train_victims(held, replace(config, seed=seed), sources, texts)["small_encoder"] for seed in (0, 1, 0)]
    readers = [load_trained(held, model, "cpu") for model in models]
    first, second, same = (reader.read(["The film of a man"]) for reader in readers)
    assert first.tolist() == same.tolist() != second.tolist()
    assert readers[0].classes == ("bad", "good", "odd")


@pytest.mark.parametrize(
    ("label", "message"),
    [(" good ", "all texts that a victim learns are of the class 'good'"), ("", "no text has a class")],
)
def test_a_file_without_two_classes_is_refused_before_anything_is_started(
    configured, adversary, tmp_path, label, message
):
    path = tmp_path / "one.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text", "label", "author"], *([f"film {at}", label, "a"] for at in range(9))])
    config = configured(*adversary, f"data.path={path}")
    with pytest.raises(InputError, match=rf"data\.label: {message}"):
        find_sources(config)
