"""The job `word_influence` on several checkpoints at once, with three classes."""

import random

import numpy as np
import polars as pl
import pytest
import torch

from tests.jobs.classifiers.rows import write_rows
from tiltmeter.jobs.classifiers.influence import probes
from tiltmeter.jobs.classifiers.influence.page import page
from tiltmeter.jobs.classifiers.influence.questions import context_of
from tiltmeter.jobs.classifiers.influence.tables import teacher_name
from tiltmeter.operators.classifiers.influence.parts_of_speech import tagged
from tiltmeter.operators.classifiers.influence.teachers import transformers_teacher
from tiltmeter.storage.models.load import load_classifier

NOUNS = ("film", "plot", "cast", "music", "movie", "scene", "story", "ending")
ADJECTIVES = ("lovely", "awful", "red", "wooden", "early", "local", "round", "modern")
OTHERS = ("the", "a", "has", "one", "no", ".")
CLASSES = ("bad", "good", "mixed")
SETTINGS = [
    *(
        "num_students=1",
        "student.hidden=8",
        "student.max_epochs=10",
        "student.dimensions=8",
        "student.random_words=2",
        "student.learning_rate=0.02",
    ),
    *("ratios.num_contexts=30", "ratios.max_words=20", "ratios.parts_of_speech=[NOUN, ADJ]", "masking.num_samples=20"),
    *("masking.max_texts=10", "masking.max_words=8", "intervals.num_resamples=50", "probes.positive=good"),
    *("probes.control=[lovely]", "probes.probe=[awful, modern]", "probes.num_checked=4"),
    *("probes.clearly_positive=[]", "probes.clearly_negative=[]"),
]


@pytest.fixture(scope="module")
def checkpoints(write_bert, tmp_path_factory):
    """Two versions of a classifier that have learnt nothing, and so turn with nearly any word."""
    place = tmp_path_factory.mktemp("checkpoints")
    names = {"id2label": dict(enumerate(CLASSES)), "label2id": {name: number for number, name in enumerate(CLASSES)}}
    words, head = [*NOUNS, *ADJECTIVES, *OTHERS], "BertForSequenceClassification"
    folders = {
        name: write_bert(place / name, words, head, initializer_range=spread, **names)
        for name, spread in (("checkpoint", 1.0), ("after", 1.5))
    }
    for folder in folders.values():
        make_classes_equally_likely(folder)
    return folders


def make_classes_equally_likely(folder):
    model, tokenizer = load_classifier(folder, "cpu", "models.checkpoint")
    teacher, rng = transformers_teacher(model, tokenizer), random.Random(1)
    logits = teacher.logits(teacher.states([review(rng).split() for _ in range(60)]))
    model.classifier.bias.data -= torch.tensor(np.median(logits, axis=0), dtype=torch.float32)
    model.save_pretrained(folder)


def review(rng):
    kinds = (ADJECTIVES, NOUNS, ADJECTIVES, NOUNS)
    return "the {} {} has one {} {}".format(*(rng.choice(words) for words in kinds))


@pytest.fixture(scope="module")
def versions(run_here, checkpoints, tmp_path_factory):
    rng, place = random.Random(0), tmp_path_factory.mktemp("versions")
    rows = [(review(rng), label) for label in CLASSES * 40]
    path = write_rows(place / "texts.csv", [["text", "label"], *rows])
    named = (f"models.checkpoint={checkpoints['checkpoint']}", f"models.checkpoints={{after: {checkpoints['after']}}}")
    given = ("job=word_influence", f"data.path={path}", *named, "models.revision=x", "models.device=auto")
    return run_here(
        *(*given, *SETTINGS, f"store={place}/store", f"run_dir={place}/run"), watched=[(probes, "sampled_probe")]
    )


def test_every_table_has_both_versions(versions):
    for name in ("students", "influences", "unlike_ratios", "counterfactuals", "masking", "probes", "vocabularies"):
        assert {row["model"] for row in versions.rows(name)} == {"checkpoint", "after"}, name


@pytest.mark.parametrize("name", ["checkpoint", "after"])
def test_ratios_are_those_of_the_checkpoint_itself(versions, checkpoints, name):
    """By brute force: all words of the part of speech, put into the text."""
    teacher = transformers_teacher(*load_classifier(checkpoints[name], "cpu", "models.checkpoint"))
    texts = {row["row"]: row["text"].split() for row in versions.rows("texts")}
    words = {row["word"]: row["part_of_speech"] for row in versions.rows("vocabularies", model=name, status="ok")}
    rows = versions.rows("unlike_ratios", model=name, status="ok")
    assert len(rows) == 30
    for row in rows:
        text, place = texts[row["row"]], row["place"]
        others = [word for word, tag in words.items() if tag == row["part_of_speech"] and word != text[place]]
        labels = teacher.labels([[*text[:place], word, *text[place + 1 :]] for word in others])
        expected = np.mean(np.array(teacher.classes)[labels] != row["label"])
        assert row["teacher_low"] == row["teacher_ratio"] == row["teacher_high"] == pytest.approx(expected)
        assert row["num_checked"] == row["num_words"] == len(others)


def test_words_of_more_classes_have_log_odds_of_the_texts_class(versions):
    rows = versions.rows("influences")
    assert all(row["score"] == row["support"] for row in rows)
    assert len({round(row["score"], 3) for row in rows}) > len(rows) / 2
    assert {row["label"] for row in rows} <= set(CLASSES)
    assert len({row["label"] for row in rows}) > 1


def test_probes_are_about_the_class_that_is_asked_for(versions, checkpoints):
    """By what the checkpoint says of each context with each word."""
    [(_, drawn)] = versions.units("influence_probe_contexts")
    contexts = {row["context"]: context_of(row) for ref in drawn.tables.values() for row in versions.read(ref)}
    calls = iter(versions.calls["sampled_probe"])
    for unit, done in versions.units("influence_probes"):
        name = unit.config["teacher"]
        teacher = transformers_teacher(*load_classifier(checkpoints[name], "cpu", "models.checkpoint"))
        steps = {row["context"]: row["step"] for row in versions.read(done.tables["flags"])}
        good = teacher.labels([contexts[number].text for number in steps]) == 1
        assert [step != "all" for step in steps.values()] == good.tolist()
        kept = [contexts[number] for number, step in steps.items() if step == "changeable"]
        for row in versions.rows("probes", model=name):
            call = next(calls)
            for word, said in zip((row["control"], row["probe"]), call["truth"], strict=True):
                labels = teacher.labels([kept[place].replaced(word) for place in call["rows"]])
                assert said.tolist() == (labels == 1).tolist()
            assert row["p_random"] is row["p_random_holm"] is None, "there are no more than 50 adjectives"
    assert any(row["num_checked"] < row["num_contexts"] for row in versions.rows("probes"))


def test_sentences_name_each_version(versions):
    frames = {name: pl.DataFrame(versions.rows(name)) for name in ("students", "unlike_ratios", "probes")}
    text = " ".join(page.sentences(frames))
    assert all(teacher_name(name) in text for name in ("checkpoint", "after"))


def test_the_words_are_tagged_as_they_are_meant():
    [tags] = tagged([["the", "red", "film", "has", "one", "lovely", "plot"]])
    assert (tags[1], tags[2], tags[6]) == ("ADJ", "NOUN", "NOUN")
