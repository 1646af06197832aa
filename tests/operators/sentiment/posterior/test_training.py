"""The classifier of vectors, and reviews whose words speak for a label by design."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss, roc_auc_score

from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.posterior import training
from tiltmeter.operators.sentiment.posterior.made_up import NEGATIVE, POSITIVE, reviews
from tiltmeter.operators.sentiment.posterior.networks import Network, arrays, network_of, scores
from tiltmeter.operators.sentiment.posterior.samplers.nuts import _score
from tiltmeter.operators.sentiment.posterior.training import (
    ClassifierConfig,
    area,
    cooled,
    quality,
    temperature,
    trained,
)


@pytest.fixture(scope="module")
def linear():
    """Labels by a known score, vectors far from standardised."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(2000, 4)) * [1, 5, 0.1, 2] + [3, -10, 0, 1]
    logits = (vectors - [3, -10, 0, 1]) @ [1.5, 0.2, -5, 0.5]
    return vectors, rng.random(2000) < 1 / (1 + np.exp(-logits)), logits


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_a_known_score_is_learnt(linear, hidden):
    vectors, is_positive, logits = linear
    network = trained(vectors, is_positive, ClassifierConfig(hidden=hidden, learning_rate=0.02), 0, 0)
    assert np.corrcoef(scores(network, vectors), logits)[0, 1] > 0.97


@pytest.mark.parametrize("fixed", ["keyed_generator", "torch_random"])
def test_the_parts_and_the_start_of_a_training_follow_its_seed_and_number(linear, monkeypatch, fixed):
    """Each of both by itself, where the other is the same for all."""
    made = getattr(training, fixed)
    monkeypatch.setattr(training, fixed, lambda *_: made(0, Stream.CLASSIFIER_TRAINING, 0, 0))
    config = ClassifierConfig(hidden=(3,), max_epochs=2)
    one, same, *others = (trained(*linear[:2], config, *of).weights[0] for of in ((0, 1), (0, 1), (0, 2), (1, 1)))
    assert (one == same).all()
    assert all((one != other).any() for other in others)
    assert (others[0] != others[1]).any()


def test_one_label_is_refused(linear):
    message = r"2000 texts to learn, all with the same label .* set data\.path .*classifier\.folds"
    with pytest.raises(ValueError, match=message):
        trained(linear[0], np.ones(2000, dtype=bool), ClassifierConfig(), 0, 0)


@pytest.mark.parametrize("activation", ["softplus", "relu"])
def test_scores_are_those_of_torch_and_nuts_has_the_same(activation):
    rng = np.random.default_rng(0)
    (first, last), (offset, bias) = parts = [
        [rng.normal(size=size) for size in of] for of in (((5, 4), (4, 1)), (4, 1))
    ]
    vectors, inner = rng.normal(size=(20, 5)), getattr(torch.nn.functional, activation)
    expected = inner(torch.from_numpy(vectors @ first + offset)).numpy() @ last[:, 0] + bias
    assert scores(Network(*parts, activation), vectors) == pytest.approx(expected)
    assert [float(_score(vector, *parts, activation)) for vector in vectors] == pytest.approx(expected, abs=1e-5)


def test_weights_come_back(linear):
    vectors, is_positive, _ = linear
    network = trained(vectors, is_positive, ClassifierConfig(hidden=(3,), max_epochs=1), 0, 0)
    again = network_of(arrays(network), "softplus")
    assert (scores(again, vectors) == scores(network, vectors)).all()
    with pytest.raises(ValueError, match="layers that follow each other"):
        network_of({"weights_0": np.ones((4, 3)), "biases_0": np.ones(3)}, "relu")
    with pytest.raises(ValueError, match="no biases_0"):
        network_of({"weights_0": np.ones((4, 1))}, "relu")


def test_temperature_is_what_logits_were_multiplied_by_and_cooling_divides_by_it(linear):
    vectors, is_positive, logits = linear
    assert temperature(3 * logits, is_positive) == pytest.approx(3, rel=0.1)
    network = trained(vectors, is_positive, ClassifierConfig(hidden=(3,), max_epochs=1, development=0.999), 0, 0)
    assert np.isfinite(scores(network, np.eye(4))).all(), "something is left to learn"
    assert scores(cooled(network, 2.5), vectors) == pytest.approx(scores(network, vectors) / 2.5)


def test_quality_is_that_of_scikit_learn(linear):
    _, is_positive, logits = linear
    found = quality(logits, is_positive)
    assert found.auc == pytest.approx(roc_auc_score(is_positive, logits))
    assert found.log_loss == pytest.approx(log_loss(is_positive, 1 / (1 + np.exp(-logits))))
    assert found.calibration_error < 0.03 < quality(5 * logits, is_positive).calibration_error
    assert area(np.ones(4), np.array([True, True, False, False])) == 0.5


def test_made_up_words_speak_for_a_label_as_they_were_made_to():
    texts = reviews(2000, 20, seed=0)
    words = {
        label: [word for text in texts if text.label == label for word in text.text.split()]
        for label in ("positive", "negative")
    }
    odds = {
        side: np.log(
            sum(word in chosen for word in words["positive"]) / sum(word in chosen for word in words["negative"])
        )
        for side, chosen in {"positive": set(POSITIVE), "negative": set(NEGATIVE)}.items()
    }
    assert odds["positive"] == pytest.approx(np.log(4), abs=0.1)
    assert odds["negative"] == pytest.approx(-np.log(4), abs=0.1)


def test_noise_is_not_learnt_by_heart():
    """The part that tells when to stop has other texts than the rest, and the weights are those before it got worse."""
    rng = np.random.default_rng(1)
    vectors, labels = rng.normal(size=(120, 20)), rng.random(120) < 0.6
    config = ClassifierConfig((30,), learning_rate=0.02, batch=20, max_epochs=60, patience=60, development=0.4)
    networks = [trained(vectors, labels, config, 0, number) for number in range(3)]
    assert max(np.abs(scores(network, vectors)).mean() for network in networks) < 2  # and 7 of what is learnt by heart


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0.01),
        ("weight_decay", 9.0),
        ("batch", 20),
        ("max_epochs", 3),
        ("development", 0.5),
        ("activation", "relu"),
    ],
)
def test_every_setting_of_a_training_changes_it(linear, name, value):
    vectors, is_positive = linear[0][:200], linear[1][:200]
    usual = ClassifierConfig(hidden=(3,), max_epochs=2)
    other = dataclasses.replace(usual, **{name: value})
    one, another = (trained(vectors, is_positive, config, 0, 0) for config in (usual, other))
    assert np.abs(scores(one, vectors) - scores(another, vectors)).max() > 1e-4
