"""The GRU against its equations word by word, what its training learns, keeps and stops by."""

import dataclasses
import itertools

import numpy as np
import pydantic
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.sentiment.gru import GRUConfig, TrainedGRU, score
from tiltmeter.operators.sentiment.gru_training import LabelledTexts, numeric_values, train
from tiltmeter.operators.text.tokens import Tokenizer

SMALL = GRUConfig(
    dimensions=8, hidden=8, min_count=1, dropout=0.1, learning_rate=0.05, max_epochs=30, patience=30, max_tokens=32
)
VALUES = {"good": 1.0, "bad": -1.0, "mixed": 0.25}
PRAISE, BLAME = ["good", "fine", "great"], ["bad", "poor", "awful"]
TEXTS = [
    "",
    "good",
    "a film",
    "never bad",
    "Alonzo is great",
    "a film that is not fine, and awful music",
    "a poor plot",
]


def made_up() -> LabelledTexts:
    """Reviews in which "not" turns the judgement, so that no sum over words tells the classes apart."""
    rows = []
    for (same, opposite), label in zip(itertools.permutations([PRAISE, BLAME]), ["good", "bad"], strict=True):
        rows += [(f"The {thing} is {word}.", label) for word in same for thing in ("film", "plot", "music")]
        rows += [(f"{word}, but long", "mixed") for word in same]
        rows += [(f"not {word}", label) for word in opposite]
    texts, labels = zip(*rows, strict=True)
    return LabelledTexts(texts, labels)


@pytest.fixture(scope="module")
def trained():
    return train(made_up(), made_up(), VALUES, SMALL, seed=0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def read_by_hand(trained: TrainedGRU, words: list[str]) -> np.ndarray:
    """The probabilities of the classes in float64, word by word, by the equations of the unit."""
    weights = {name: weight.astype(np.float64) for name, weight in trained.weights.items()}
    rows = {word: 1 + row for row, word in enumerate(trained.description.vocabulary)}
    inputs = [weights["embedding.weight"][rows.get(word, 0)] for word in words]
    for layer in (0, 1):
        (w, u), (b, c) = (
            [weights[f"gru.{kind}_{side}_l{layer}"] for side in ("ih", "hh")] for kind in ("weight", "bias")
        )
        state, outputs = np.zeros(u.shape[1]), []
        for x in inputs:
            (reset_x, update_x, new_x), (reset_h, update_h, new_h) = np.split(w @ x + b, 3), np.split(u @ state + c, 3)
            update = sigmoid(update_x + update_h)
            new = np.tanh(new_x + sigmoid(reset_x + reset_h) * new_h)
            state = (1 - update) * new + update * state
            outputs.append(state)
        inputs = outputs
    exponentials = np.exp(weights["output.weight"] @ inputs[-1] + weights["output.bias"])
    return exponentials / exponentials.sum()


def test_negation_is_learnt(trained):
    texts, labels = made_up()
    np.testing.assert_allclose(score(trained, texts), [VALUES[label] for label in labels], atol=0.1)
    assert trained.description.history[-1].development_accuracy == 1


@pytest.mark.parametrize("words", [["the", "film", "is", "not", "good"], ["good"], ["an", "unheard", "of", "music"]])
def test_a_score_is_the_expected_value_by_the_equations(trained, words):
    """Or the value of the top class, as in the published program. The classes by value: bad, mixed, good."""
    probabilities, values = read_by_hand(trained, words), np.array([-1, 0.25, 1])
    assert score(trained, [" ".join(words)])[0] == pytest.approx(probabilities @ values, abs=1e-6)
    assert score(trained, [" ".join(words)], "top")[0] == values[probabilities.argmax()]


@pytest.mark.long
@given(st.data())
@settings(max_examples=30)
def test_other_texts_do_not_change_a_bit(trained, data):
    each = {text: score(trained, [text])[0] for text in TEXTS}
    texts = data.draw(st.lists(st.sampled_from(TEXTS), max_size=40))
    assert score(trained, texts).tolist() == [each[text] for text in texts]


def test_unknown_words_are_all_alike_and_no_word_is_an_unknown_one(trained):
    scores = score(trained, ["Alonzo is great", "Jamel is great!", "Ωμέγα IS GREAT", "", "...", "Alonzo"])
    assert scores[0] == scores[1] == scores[2]
    assert scores[3] == scores[4] == scores[5]


def test_the_same_seed_gives_the_same_bits():
    def weights(seed, values=VALUES):
        config = dataclasses.replace(SMALL, max_epochs=2)
        found = train(made_up(), made_up(), values, config, seed).weights
        return {name: weight.tobytes() for name, weight in found.items()}

    assert weights(0) == weights(0, dict(reversed(VALUES.items())))
    assert all(weight != other for weight, other in zip(weights(0).values(), weights(1).values(), strict=True))


def test_nothing_else_of_the_process_changes(trained):
    state, num_threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(num_threads + 1)
    train(made_up(), made_up(), VALUES, dataclasses.replace(SMALL, max_epochs=1), seed=0)
    score(trained, TEXTS)
    found = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    assert (found, torch.equal(torch.get_rng_state(), state)) == (num_threads + 1, True)


def test_training_ends_when_the_development_loss_no_longer_falls_and_keeps_the_best_weights():
    texts, labels = made_up()
    turned = LabelledTexts(texts, [{"good": "bad", "bad": "mixed", "mixed": "good"}[label] for label in labels])
    stopped = train(made_up(), turned, VALUES, dataclasses.replace(SMALL, patience=4), seed=0)
    losses = [epoch.development_loss for epoch in stopped.description.history]
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + 4 < SMALL.max_epochs
    classes = list(stopped.description.values)
    probabilities = np.array([read_by_hand(stopped, Tokenizer("en")(text)) for text in texts])
    chosen = [classes.index(label) for label in turned.labels]
    found = -np.log(probabilities[np.arange(len(texts)), chosen]).mean()
    assert found == pytest.approx(losses[best], abs=1e-6)
    accuracy = (probabilities.argmax(axis=1) == chosen).mean()
    assert stopped.description.history[best].development_accuracy == pytest.approx(accuracy)


def test_the_training_loss_is_the_mean_over_texts():
    """Of batches of unlike size; without dropout and with tiny steps, it is that of the same texts afterwards."""
    config = dataclasses.replace(SMALL, dropout=0.0, learning_rate=1e-12, max_epochs=1)
    [epoch] = train(made_up(), made_up(), VALUES, config, seed=0).description.history
    assert epoch.loss == pytest.approx(epoch.development_loss, abs=1e-6)


def test_the_vocabulary_is_of_the_most_frequent_words_of_the_training_texts():
    training = LabelledTexts(["b b b c", "A a, d c e"], ["good", "bad"])
    development = LabelledTexts(["f f f"], ["good"])

    def vocabulary(**settings):
        config = dataclasses.replace(SMALL, max_epochs=1, **settings)
        return train(training, development, VALUES, config, seed=0).description.vocabulary

    assert vocabulary(min_count=2) == ("b", "a", "c")
    assert vocabulary(min_count=1, max_vocabulary=4) == ("b", "a", "c", "d")


@pytest.mark.long
def test_texts_longer_than_a_batch_are_learnt_from():
    long = LabelledTexts(["good " * 40, "bad " * 35, "good"], ["good", "bad", "good"])
    np.testing.assert_allclose(score(train(long, long, VALUES, SMALL, seed=0), long.texts), [1, -1, 1], atol=0.1)


@pytest.mark.slow
def test_film_reviews(data_file):
    def read(name: str) -> LabelledTexts:
        rows = data_file(f"sentiment/sst2/{name}.tsv").read_text().splitlines()
        return LabelledTexts(*zip(*(row.rsplit("\t", 1) for row in rows), strict=True))

    found = train(read("train"), read("dev"), {"1": 1, "0": -1}, GRUConfig(), seed=0)
    texts, labels = read("test")
    assert np.mean((score(found, texts) > 0) == (np.array(labels) == "1")) > 0.78


@pytest.mark.parametrize("label", ["good", "2", "-1.01", "nan", ""])
def test_labels_without_a_value_are_refused(label):
    assert numeric_values(["1", "-1", "0.5", "-1"]) == {"1": 1, "-1": -1, "0.5": 0.5}
    with pytest.raises(ValueError, match=rf"label '{label}': is not a number in \[-1, 1\]; set the GRU's values"):
        numeric_values(["1", label])


USELESS = [
    ([], [], "0 training texts with 0 labels"),
    (["good"], ["good", "bad"], "1 training texts with 2 labels: must be as many"),
    (["good"], ["fine"], "label 'fine' of a training text: must be one of bad, mixed, good; set"),
]


@pytest.mark.parametrize(("texts", "labels", "message"), USELESS)
def test_texts_that_nothing_can_be_learnt_from_are_refused(texts, labels, message):
    part = LabelledTexts(texts, labels)
    with pytest.raises(ValueError, match=message):
        train(part, made_up(), VALUES, SMALL, seed=0)
    with pytest.raises(ValueError, match=message.replace("training", "development")):
        train(made_up(), part, VALUES, SMALL, seed=0)


@pytest.mark.parametrize("values", [{"good": 1.0, "bad": -1.5}, {"good": 1.0, "bad": float("nan")}, {"good": 1.0}])
def test_values_that_cannot_be_are_refused(values):
    only = LabelledTexts(["good"], ["good"])
    with pytest.raises(pydantic.ValidationError, match="values"):
        train(only, only, values, SMALL, seed=0)
