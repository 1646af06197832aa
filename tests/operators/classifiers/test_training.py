"""Classifiers that are trained: encoders, heads, the loop, weights as plain data; and one rule for what they answer."""

from dataclasses import asdict

import numpy as np
import pydantic
import pytest
import torch
from transformers import BertModel, BertTokenizer

from tiltmeter.operators.classifiers.answers import UNREAD, answers, ask, is_right
from tiltmeter.operators.classifiers.attribution.attribute import Attribution
from tiltmeter.operators.classifiers.networks import (
    check_tokens,
    outputs,
    small_network,
    text_classifier,
    transformer_network,
)
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary, initial_vectors
from tiltmeter.operators.classifiers.trained import Model, SmallModel, TransformerModel, small_classifier, weights_of
from tiltmeter.operators.classifiers.trained import transformer_classifier as fine_tuned_classifier
from tiltmeter.operators.classifiers.training import UNLABELLED, Labelled, TrainingConfig, learning_rate_factor, train
from tiltmeter.operators.text.tokenised import tokenise

SMALL = SmallEncoderConfig(dimensions=8, hidden=8, min_count=1, dropout=0.2)
LABEL = {"label": Head(("bad", "good"))}
TRAINING = TrainingConfig(learning_rate=1e-2, max_epochs=10, max_tokens=128)


def made_up(num, seed):
    """Texts with a word that tells the class and one that tells the gender, in any order, among others."""
    rng = np.random.default_rng(seed)
    label, gender = rng.integers(0, 2, (2, num))
    texts = []
    for of, by in zip(label, gender, strict=True):
        words = [["awful", "lovely"][of], ["she", "he"][by], *rng.choice(["the", "film", "was", "so"], 3)]
        texts.append(" ".join(rng.permutation(words)))
    return texts, {"label": label, "gender": gender}


TEXTS, CLASSES = made_up(160, 0)
HELD_OUT, HELD_OUT_CLASSES = made_up(60, 1)
VOCABULARY = Vocabulary.of(TEXTS, SMALL)
READ, READ_HELD_OUT = VOCABULARY.tokenise(TEXTS), VOCABULARY.tokenise(HELD_OUT)


def trained(heads=LABEL, seed=0, config=TRAINING, classes=CLASSES, held_out=HELD_OUT_CLASSES, **how):
    network = small_network(VOCABULARY, SMALL, heads, seed)
    parts = Labelled(READ, classes), Labelled(READ_HELD_OUT, held_out)
    return network, train(network, heads, *parts, config, seed, **how)


@pytest.fixture(scope="module")
def plain():
    return trained()


def accuracy(network, name="label"):
    return (outputs(network, READ_HELD_OUT).logits[name].argmax(axis=1) == HELD_OUT_CLASSES[name]).mean()


def attacked(network):
    """How well a linear attacker tells the gender from the representation."""
    from sklearn.linear_model import LogisticRegression

    attacker = LogisticRegression(max_iter=1000).fit(outputs(network, READ).representation, CLASSES["gender"])
    return attacker.score(outputs(network, READ_HELD_OUT).representation, HELD_OUT_CLASSES["gender"])


@pytest.mark.long
def test_a_classifier_learns_the_same_bits_again_and_others_by_another_seed(plain):
    network, history = plain
    assert accuracy(network) == history[-1].development_uar == 1.0
    assert history[-1].loss < 0.3 * history[0].loss
    assert not network.training
    state = torch.get_rng_state()
    again, repeated = trained()
    assert torch.equal(torch.get_rng_state(), state)
    assert repeated == history
    for one, other in zip(weights_of(again).values(), weights_of(network).values(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert trained(seed=1)[1] != history


RARE = {"label": np.where((CLASSES["label"] == 1) & (np.arange(160) % 4 > 0), UNLABELLED, CLASSES["label"])}
"""Of which the second class has a third as many texts as the first."""
ALL_EPOCHS = {"learning_rate": 1e-2, "max_epochs": 6, "patience": None, "batch_size": 50, "class_weights": "equal"}


@pytest.mark.parametrize(
    ("settings", "step"),
    [({"learning_rate": 3e-3, "max_epochs": 40, "patience": 3, "max_tokens": 64}, 3), (ALL_EPOCHS, 1)],
    ids=["patience", "all epochs"],
)
def test_training_ends_when_the_weighted_loss_stops_falling_or_after_all_epochs(settings, step):
    """Every third held-out label is wrong, or all are: a model that is ever surer of itself gets worse there."""
    config, gold = TrainingConfig(**settings), HELD_OUT_CLASSES["label"]
    held_out = np.where(np.arange(60) % step == 0, 1 - gold, gold)
    network, history = trained(config=config, classes=RARE, held_out={"label": held_out})
    losses = [epoch.development_loss for epoch in history]
    best = int(np.argmin(losses))
    assert (len(history), best > 0) == ((best + 4, True) if config.patience else (6, False))
    assert 0.05 < losses[-1] - losses[best] < 40
    counts = np.bincount(RARE["label"][RARE["label"] != UNLABELLED])
    weights = torch.tensor(counts.sum() / (2 * counts), dtype=torch.float32) if config.patience else None
    logits = torch.from_numpy(outputs(network, READ_HELD_OUT).logits["label"])
    own = torch.nn.functional.cross_entropy(logits, torch.from_numpy(held_out), weights, reduction="sum") / 60
    assert own.item() == pytest.approx(losses[best] if config.patience else losses[-1], rel=1e-4)


@pytest.mark.parametrize(
    ("settings", "factors"),
    [
        ({}, [1, 1, 1]),
        ({"warmup": 1.0}, [1 / 3, 2 / 3, 1]),
        ({"warmup": 0.5}, [1 / 2, 1, 1]),
        ({"schedule": "linear"}, [1, 2 / 3, 1 / 3]),
        ({"schedule": "linear", "warmup": 0.5}, [1 / 2, 1, 1 / 2]),
        ({"schedule": "linear", "warmup": 1.0}, [1 / 3, 2 / 3, 1]),
    ],
)
def test_the_learning_rate_of_three_steps_is_that_computed_by_hand(settings, factors):
    config = TrainingConfig(**settings)
    assert [learning_rate_factor(step, 3, config) for step in (1, 2, 3)] == pytest.approx(factors)


ONE_BATCH = {"optimizer": "adamw", "patience": None, "batch_size": 160, "learning_rate": 0.01}


def weights_before():
    return weights_of(small_network(VOCABULARY, SMALL, LABEL, 0))


def test_each_step_moves_a_weight_of_constant_slope_by_its_learning_rate():
    def slope(network, inputs, rows):
        assert len(rows) == 160
        return 1e6 * network.get_input_embeddings().weight[2:].sum()

    before = weights_before()["encoder.embedding.weight"][2:]
    config = TrainingConfig(**ONE_BATCH, max_epochs=4, warmup=1.0)
    after = weights_of(trained(config=config, penalty=slope)[0])["encoder.embedding.weight"][2:]
    np.testing.assert_allclose(after - before, -0.01 * (1 + 2 + 3 + 4) / 4, rtol=1e-3)


def test_weights_of_matrices_decay_and_biases_do_not():
    before = weights_before()
    free, decayed = (
        weights_of(trained(config=TrainingConfig(**ONE_BATCH, max_epochs=1, weight_decay=decay))[0])
        for decay in (0.0, 0.5)
    )
    for name, weights in before.items():
        expected = free[name] - 0.01 * 0.5 * weights * (weights.ndim > 1)
        np.testing.assert_allclose(decayed[name], expected, atol=1e-6)
    assert {weights.ndim for weights in before.values()} == {1, 2, 3}


def test_gradients_are_shortened_to_their_greatest_length():
    before = weights_before()
    config = TrainingConfig(max_epochs=1, max_gradient_norm=1e-12)  # far below what RMSprop adds to its divisor
    after = weights_of(trained(config=config)[0])
    assert max(np.abs(after[name] - before[name]).max() for name in before) < 1e-5
    assert np.abs(weights_of(trained(config=TrainingConfig(max_epochs=1))[0])["heads.label.bias"]).max() > 1e-3


def test_batches_of_a_size_hold_each_text_once_in_an_epoch():
    batches = []

    def listen(network, inputs, rows):
        batches.append(rows)
        return network.get_input_embeddings().weight.sum() * 0.0

    trained(config=TrainingConfig(max_epochs=2, batch_size=50), penalty=listen)
    assert sorted(map(len, batches[:4])) == sorted(map(len, batches[4:])) == [10, 50, 50, 50]
    for epoch in (batches[:4], batches[4:]):
        assert sorted(np.concatenate(epoch).tolist()) == list(range(160))


@pytest.mark.long
def test_an_adversary_hides_what_it_looks_for_and_a_second_task_does_not():
    gender = {"gender": Head(("female", "male"), weight=1.0)}
    told, _ = trained(LABEL | gender)
    hidden, _ = trained(LABEL | {"gender": Head(("female", "male"), weight=1.0, adversarial=True, hidden=8)})
    assert accuracy(told) == accuracy(hidden) == accuracy(told, "gender") == 1.0
    assert attacked(told) == 1.0
    assert attacked(hidden) < 0.75


def test_representations_do_not_depend_on_padding_and_the_vector_of_padding_stays_zero(plain):
    network, _ = plain
    texts = VOCABULARY.tokenise(["lovely", "the film was so so so awful , and unheard of"])
    together = outputs(network, texts).representation
    for row, text in enumerate(texts):
        np.testing.assert_allclose(outputs(network, [text]).representation[0], together[row], atol=1e-6)
    assert not weights_of(network)["encoder.embedding.weight"][0].any()


def test_given_vectors_keep_their_directions():
    given = {"film": np.array([3.0, 4.0]), "he": np.array([-6.0, 0.0]), "unheard": np.ones(2)}
    rows = initial_vectors(VOCABULARY, SMALL, 0, given)
    film, he = (rows[2 + VOCABULARY.words.index(word)] for word in ("film", "he"))
    np.testing.assert_allclose(film / he[0], [-0.5, -4 / 6], rtol=1e-6)
    assert np.concatenate([film, he]).std() < 0.11
    assert rows.shape == (2 + len(VOCABULARY.words), 2)
    np.testing.assert_array_equal(rows, initial_vectors(VOCABULARY, SMALL, 0, given))


def test_the_vocabulary_has_frequent_words_and_known_ones():
    config = SmallEncoderConfig(min_count=2)
    texts = ["Good films, don’t they?", "good GOOD Films.", "don't"]
    assert Vocabulary.of(texts, config).words == ("good", "don't", "films")
    assert Vocabulary.of(texts, SmallEncoderConfig(min_count=1, max_vocabulary=2)).words == ("good", "don't")
    assert Vocabulary.of(texts, config, known=["they", "absent"]).words == ("good", "don't", "films", "they")
    [read] = Vocabulary(["good"], SmallEncoderConfig(max_words=2)).tokenise(["Good bad good"])
    assert (read.words, read.inputs["input_ids"], read.truncated) == (("Good", "bad", "good"), [2, 1], True)


@pytest.mark.parametrize("text", ["她是一名护士。", "彼女は看護師です。", "เธอเป็นพยาบาล"])
def test_a_script_without_spaces_gives_no_vocabulary_of_characters(text):
    with pytest.raises(ValueError, match=r"\d\d% of the words .* single characters .* train a checkpoint"):
        Vocabulary.of([text, "A word"], SMALL)
    assert "nurse" in Vocabulary.of([text, " ".join(100 * ["the nurse"])], SMALL).words
    assert Vocabulary.of([], SMALL).words == ()


@pytest.mark.long
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_a_model_of_transformers_is_fine_tuned_by_the_same_loop(pooling, tmp_path, write_bert):
    folder = write_bert(tmp_path, ["awful", "lovely", "she", "he", "the", "film", "was", "so"])
    encoder, tokenizer = BertModel.from_pretrained(folder), BertTokenizer.from_pretrained(folder)
    network = transformer_network(encoder, LABEL, 0, pooling)
    read, held_out = (tokenise(network.encoder.model, tokenizer, texts) for texts in (TEXTS[:80], HELD_OUT))
    parts = Labelled(read, {"label": CLASSES["label"][:80]}), Labelled(held_out, HELD_OUT_CLASSES)
    history = train(network, LABEL, *parts, TrainingConfig(learning_rate=3e-3, max_epochs=8, max_tokens=128), 0)
    assert history[-1].development_uar > 0.95
    model = TransformerModel("tiny", "1", pooling, LABEL, tuple(history))
    again = fine_tuned_classifier(model, weights_of(network), BertModel.from_pretrained(folder), tokenizer)
    assert again.classes == ("bad", "good")
    np.testing.assert_array_equal(
        outputs(again.network, held_out).logits["label"], outputs(network, held_out).logits["label"]
    )


def test_a_trained_classifier_comes_back_from_plain_data(plain):
    network, history = plain
    model = SmallModel(SMALL, VOCABULARY.words, LABEL, tuple(history))
    assert pydantic.TypeAdapter(Model).validate_python(asdict(model)) == model
    again = small_classifier(model, weights_of(network))
    assert again.classes == text_classifier(network, VOCABULARY.tokenise, LABEL).classes
    expected = outputs(network, READ_HELD_OUT)
    np.testing.assert_array_equal(
        outputs(again.network, again.tokenise(HELD_OUT)).logits["label"], expected.logits["label"]
    )
    with pytest.raises(ValueError, match="the weights are not those of the model"):
        small_classifier(SmallModel(SMALL, VOCABULARY.words, LABEL | {"gender": LABEL["label"]}), weights_of(network))


def test_what_cannot_be_learnt_is_refused():
    network = small_network(VOCABULARY, SMALL, LABEL, 0)
    whole, held_out = Labelled(READ, CLASSES), Labelled(READ_HELD_OUT, HELD_OUT_CLASSES)
    for training, development, message in (
        (Labelled([], {"label": np.array([], dtype=int)}), held_out, "0 training texts"),
        (Labelled(READ, {"label": CLASSES["label"][1:]}), held_out, "160 training texts: must be at least one"),
        (Labelled(READ, {"label": np.zeros(160, dtype=int)}), held_out, "class 'good' of label has no training text"),
        (whole, Labelled(READ_HELD_OUT, {"label": np.full(60, UNLABELLED)}), "no development text has a class"),
    ):
        with pytest.raises(ValueError, match=message):
            train(network, LABEL, training, development, TRAINING, 0)
    with pytest.raises(ValueError, match="1 texts have no token"):
        check_tokens(VOCABULARY.tokenise(["", "good"]))
    with pytest.raises(ValueError, match="training diverges: set the learning rate"):
        trained(penalty=lambda network, *_: network.get_input_embeddings().weight.sum() * float("inf"))


def test_a_head_of_one_class_is_refused():
    with pytest.raises(pydantic.ValidationError):
        Head(("only",))


# --- answers ---------------------------------------------------------------------------------------------------------


def test_a_text_of_which_nothing_is_read_is_never_right_and_the_first_of_equal_classes_is_the_answer():
    probabilities = np.array([[np.nan, np.nan, np.nan], [0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [-3.0, -1.0, -2.0]])
    assert answers(probabilities).tolist() == [UNREAD, 0, 1, 1]
    classes = ("a", "b", "c")
    for label, right in {"a": [0, 1, 0, 0], "b": [0, 0, 1, 1], "c": [0, 0, 0, 0]}.items():
        assert is_right(probabilities, classes, [label] * 4).tolist() == [bool(one) for one in right]
    for row, number in (([np.nan, np.nan], UNREAD), ([0.5, 0.5], 0), ([0.1, 0.9], 1)):
        assert Attribution((), np.empty(0), False, np.array(row), 0, 0.0, 0.0, 0.0).predicted == number


class Told:
    classes = ("bad", "good")

    def probabilities(self, texts, /):
        return np.array([{"fine": [0.2, 0.8], "poor": [0.6, 0.4]}.get(text, [np.nan, np.nan]) for text in texts])


def test_whatever_has_classes_and_probabilities_can_be_asked():
    said = ask(Told(), ["fine", "unread", "poor"])
    assert said.predicted == ["good", None, "bad"]
    assert said.right(["good", "bad", "good"]).tolist() == [True, False, False]
    assert said.is_read.tolist() == [True, False, True]
