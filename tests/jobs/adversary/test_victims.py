"""Victims one by one; in a run, see :mod:`.test_by_hand`."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.calibration.adversary import Held, run_of
from tiltmeter.jobs.adversary.config import find_sources
from tiltmeter.jobs.adversary.job import train_victims
from tiltmeter.jobs.adversary.victims import find_victim
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.splits import split_texts
from tiltmeter.operators.sentiment.transformer_scores import ClassifierConfig, classify
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.load import load_classifier


@pytest.mark.slow
def test_layout_changes_no_table_of_any_victim(victims, run_job, every_victim, tmp_path):
    run = run_job(*every_victim, "cluster.num_cpus=2", "unit_texts=5", f"store={tmp_path}")
    assert run.digests == victims.digests


def test_a_revision_names_the_model_of_the_hub_that_is_read(configured, hub, write_bert):
    for tag, spread in (("main", 0.5), ("second", 1.0)):
        write_bert(hub("bert", tag), ["film"], "BertForSequenceClassification", initializer_range=spread)
    settings = ["victim=transformer", "victim.transformer.model=we/bert"]
    read = []
    for revision in ("null", "second"):
        config = configured(
            "job=gender_adversary", "data.path=a.csv", *settings, f"victim.transformer.revision={revision}"
        )
        reader = find_victim("transformer", config.victim["transformer"], 0).load(None, None, "cpu")
        read.append(reader.read(["film"]))
    for tag, found in zip(("main", "second"), read, strict=True):
        model = load_classifier(str(hub("bert", tag)), "cpu", "model")
        assert found == pytest.approx(classify(*model, ["film"], ClassifierConfig()).probabilities)
    assert np.abs(read[0] - read[1]).max() > 0.01


def test_whatever_decides_what_a_victim_says_is_in_its_identity(configured):
    def identity(*settings):
        [(name, victim)] = configured("job=gender_adversary", "data.path=a.csv", *settings).victim.items()
        return str(find_victim(name, victim, 0).settings)

    linear = ("victim=linear", "victim.linear.linear.min_count=3"), ("victim=linear", "victim.linear.masked=true")
    named = ("victim=vader", "victim.vader.classes=[low, middle, high]")
    others = (
        ("victim=linear",),
        ("victim=vader",),
        named,
        (*named, "victim.vader.cuts=[-0.3, 0.5]"),
        ["victim=textblob"],
    )
    assert len({identity(*settings) for settings in (*linear, *others)}) == 7


def test_an_encoder_learns_by_the_seed(configured, adversary):
    usual = [setting for setting in adversary if not setting.startswith("victim")]
    config = configured(*usual, "victim=small_encoder", "victim.small_encoder.training.max_epochs=1")
    sources, held = find_sources(config), Held()
    texts = split_texts(held, read_labelled_data(held, config.data, sources.labelled, 0), 0)
    seeded = [run_of(held, replace(config, seed=seed), sources.victims) for seed in (0, 1, 0)]
    models = [train_victims(run, texts)["small_encoder"] for run in seeded]
    readers = [sources.victims["small_encoder"].load(held, model, "cpu") for model in models]
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
