from itertools import permutations

import numpy as np
import pydantic
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tiltmeter.operators.classifiers.attribution.attribute import attribute, predict
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, TextClassifier
from tiltmeter.operators.classifiers.networks import small_network, text_classifier
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary

WORDS = ["good", "bad", "not", "she", "he", "the", "film", ".", "zq0"]
CONFIG = SmallEncoderConfig(dimensions=6, hidden=5, dropout=0.5)
VOCABULARY = Vocabulary(WORDS, CONFIG)
TEXTS = ["Good film.", "not good", "she", "unheard film", "He the the film bad not good she.", "good good"]


class Summed(nn.Module):
    """Class 1 has the score f(sum of the words' numbers), class 0 has 0."""

    def __init__(self, numbers, f=lambda total: total, padding=0.0, fails_above=10**9, error=MemoryError):
        super().__init__()
        weights = torch.zeros(2 + len(WORDS), 1)
        weights[0] = padding
        for word, number in numbers.items():
            weights[2 + WORDS.index(word)] = number
        self.embedding = nn.Embedding.from_pretrained(weights, freeze=False)
        self.f, self.fails_above, self.error, self.sizes = f, fails_above, error, []

    def get_input_embeddings(self):
        return self.embedding

    def forward(self, input_ids, attention_mask):
        self.sizes.append(input_ids.numel())
        if input_ids.numel() > self.fails_above:
            raise self.error("not enough memory: you tried to allocate 9 bytes")
        scores = self.f((self.embedding(input_ids)[:, :, 0] * attention_mask).sum(dim=1))
        return torch.stack([torch.zeros_like(scores), scores], dim=1)


def summed(numbers, **how):
    return TextClassifier(Summed(numbers, **how), VOCABULARY.tokenise, 0, ("no", "yes"))


@pytest.fixture(scope="module")
def small():
    """A network whose decisions depend on words and their order."""
    heads = {"label": Head(("negative", "neutral", "positive"))}
    network = small_network(VOCABULARY, CONFIG, heads, seed=1)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(3.0)
    return text_classifier(network, VOCABULARY.tokenise, heads)


def values(classifier, text, *, target=1, **how):
    [found] = attribute(classifier, [text], AttributionConfig(**how), targets=[target])
    return found.values


NUMBERS = {"good": 2.0, "bad": -3.0, "not": -0.5, "film": 0.25}
EXACT = ["integrated_gradients", "gradient_x_input", "occlusion", "lime", "kernel_shap"]


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("target", [0, 1])
def test_every_method_finds_the_weights_of_a_linear_model(method, target) -> None:
    text, how = "Not the bad film she", {"num_samples": 64, "num_steps": 3}
    found = values(summed(NUMBERS, padding=0.75), text, target=target, method=method, **how)
    differences = np.array([-0.5, 0.0, -3.0, 0.25, 0.0]) - 0.75
    np.testing.assert_allclose(found, (2 * target - 1) * differences, atol=1e-4)


@pytest.mark.parametrize(
    ("method", "text", "expected"),
    [
        # f = (2 - 3)^2; the path gives each word its number times the sum, the gradient at the end twice that.
        ("integrated_gradients", "good bad", [-2.0, 3.0]),
        ("gradient_x_input", "good bad", [-4.0, 6.0]),
        # f = 1.75^2 with all three words; 0.25^2 without good, 2.25^2 without not, 1.5^2 without film.
        ("occlusion", "good not film", [1.75**2 - 0.25**2, 1.75**2 - 2.25**2, 1.75**2 - 1.5**2]),
    ],
)
def test_attributions_of_a_square_by_hand(method, text, expected) -> None:
    squared = summed(NUMBERS, f=lambda total: total**2)
    np.testing.assert_allclose(values(squared, text, method=method), expected, atol=1e-5)


def shapley(f, numbers):
    """By all orders in which words may come in."""
    found, orders = np.zeros(len(numbers)), list(permutations(range(len(numbers))))
    for order in orders:
        for place, word in enumerate(order):
            before = sum(numbers[other] for other in order[:place])
            found[word] += (f(before + numbers[word]) - f(before)) / len(orders)
    return found


def test_kernel_shap_tends_to_shapley_values() -> None:
    numbers = {"good": 2.0, "not": -0.5, "film": 1.5}
    exact = shapley(lambda total: total**3, list(numbers.values()))
    classifier = summed(numbers, f=lambda total: total**3)
    found = values(classifier, "good not film", method="kernel_shap", num_samples=1000)
    np.testing.assert_allclose(found, exact, atol=0.05 * np.abs(exact).max())
    assert found.sum() == pytest.approx(3.0**3, abs=1e-3)


@pytest.mark.parametrize("method", [*EXACT, "random"])
def test_a_single_word_has_all_of_the_difference(method) -> None:
    found = values(summed({"good": 2.0}), "good", method=method)
    assert found == pytest.approx([2.0], abs=1e-4) or (method == "random" and -1 <= found[0] < 1)


def test_log_odds_logits_and_probabilities_are_what_is_explained() -> None:
    classifier = summed(NUMBERS)
    for output, ends in {"log_odds": (2.0, 0.0), "logit": (2.0, 0.0), "probability": (0.8807971, 0.5)}.items():
        [found] = attribute(classifier, ["good"], AttributionConfig(output=output))
        np.testing.assert_allclose((found.output, found.baseline), ends, atol=1e-6)
        assert found.values.sum() == pytest.approx(ends[0] - ends[1], abs=1e-5)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), st.sampled_from(["log_odds", "logit", "probability"]))
@settings(max_examples=20)
def test_integrated_gradients_add_up_to_the_change_in_the_output(small, words, output) -> None:
    [found] = attribute(small, [" ".join(words)], AttributionConfig(output=output, num_steps=64))
    assert abs(found.delta) < 1e-3
    assert found.delta == pytest.approx(found.values.sum() - (found.output - found.baseline), abs=1e-9)


@pytest.mark.parametrize(
    ("f", "num_nodes"),
    [(torch.sin, 21), (lambda total: total**20, 21), (lambda total: (total - 0.7).abs(), 21 + 50)],
)
def test_no_more_nodes_are_taken_than_the_path_asks_for(f, num_nodes) -> None:
    """A kink, which few nodes cannot see, shows in the nested rule's difference."""
    classifier = summed({"good": 2.0}, f=f)
    [found] = attribute(classifier, ["good"], AttributionConfig(max_tokens=10_000))
    [exact] = attribute(classifier, ["good"], AttributionConfig(tolerance=None, num_steps=500))
    assert found.values == pytest.approx(exact.values, rel=3e-2 if num_nodes > 21 else 1e-4)
    classifier.network.sizes.clear()
    attribute(classifier, ["good"], AttributionConfig(max_tokens=10_000))
    ends = 3  # the logits, and the text and its baseline once more
    assert sum(classifier.network.sizes) == num_nodes + ends


def test_predicted_classes_are_explained_unless_others_are_asked_for(small) -> None:
    probabilities = predict(small, TEXTS)
    for row, found in enumerate(attribute(small, TEXTS, AttributionConfig())):
        assert found.target == found.predicted == probabilities[row].argmax()
        np.testing.assert_allclose(found.probabilities, probabilities[row], atol=1e-6)
    given = attribute(small, TEXTS, AttributionConfig(), targets=[2, None, 0, 1, 2, 1])
    assert [found.target for found in given] == [2, int(probabilities[1].argmax()), 0, 1, 2, 1]


@pytest.mark.parametrize("method", [*EXACT, "random"])
def test_a_text_has_the_same_attributions_alone_and_among_others(small, method) -> None:
    config = AttributionConfig(method=method, num_samples=20)
    for text, found in zip(TEXTS, attribute(small, TEXTS, config), strict=True):
        [alone] = attribute(small, [text], config)
        np.testing.assert_allclose(found.values, alone.values, atol=1e-5)
        assert found.words == alone.words


@pytest.mark.parametrize("method", ["integrated_gradients", "occlusion", "kernel_shap"])
@pytest.mark.parametrize("error", [MemoryError, RuntimeError, torch.OutOfMemoryError])
def test_batches_halve_when_memory_runs_out(method, error) -> None:
    numbers = NUMBERS | {"she": 1.0}
    config = AttributionConfig(method=method, num_steps=8, num_samples=16, max_tokens=1000)
    expected = attribute(summed(numbers, f=torch.tanh), TEXTS, config)
    short = summed(numbers, f=torch.tanh, fails_above=30, error=error)
    for found, whole in zip(attribute(short, TEXTS, config), expected, strict=True):
        np.testing.assert_allclose(found.values, whole.values, atol=1e-6)
    assert max(short.network.sizes) > 30


def test_memory_that_does_not_suffice_for_one_text_is_an_error_and_others_are_not_taken_for_a_lack_of_it() -> None:
    with pytest.raises(MemoryError, match="not enough memory"):
        attribute(summed(NUMBERS, fails_above=2), ["good bad film"], AttributionConfig())
    classifier = summed(NUMBERS, f=lambda total: total @ total.new_zeros(total.numel() + 1))
    with pytest.raises(RuntimeError, match="size"):
        attribute(classifier, ["good bad film"], AttributionConfig())
    assert len(classifier.network.sizes) == 1


@given(st.integers(1, 60), st.integers(1, 9))
@settings(max_examples=15)
def test_the_network_is_never_given_more_tokens_than_the_bound(max_tokens, num_steps) -> None:
    classifier = summed(NUMBERS)
    attribute(classifier, TEXTS, AttributionConfig(max_tokens=max_tokens, num_steps=num_steps))
    assert max(classifier.network.sizes) <= max(max_tokens, 9)  # the longest text has nine words


def test_words_beyond_the_limit_and_texts_without_words_have_no_attribution() -> None:
    few = Vocabulary(WORDS, SmallEncoderConfig(max_words=2))
    classifier = summed(NUMBERS)._replace(tokenise=few.tokenise)
    empty, long = attribute(classifier, [" ", "good film bad bad"], AttributionConfig())
    assert (empty.words, empty.predicted) == ((), -1)
    assert np.isnan([empty.output, empty.delta, *empty.probabilities]).all()
    assert long.words == ("good", "film", "bad", "bad")
    assert long.truncated
    np.testing.assert_allclose(long.values, [2.0, 0.25, np.nan, np.nan], atol=1e-5)
    assert long.delta == pytest.approx(0.0, abs=1e-5)


def test_no_texts_have_no_attributions(small) -> None:
    assert attribute(small, [], AttributionConfig()) == []
    assert predict(small, []).shape[0] == 0


@pytest.mark.parametrize("method", ["lime", "kernel_shap"])
def test_as_many_samples_are_read_as_are_asked_for(method) -> None:
    def num_tokens(num_samples):
        classifier = summed(NUMBERS)
        values(classifier, "not the bad film", method=method, num_samples=num_samples)
        return sum(classifier.network.sizes)

    assert num_tokens(29) - num_tokens(12) == 17 * 4


def test_draws_hang_on_the_seed_and_the_text_alone(small) -> None:
    for method in ("random", "lime", "kernel_shap"):
        config = AttributionConfig(method=method, num_samples=12)
        state = torch.get_rng_state()
        first = [found.values for found in attribute(small, TEXTS, config, seed=3)]
        again = [found.values for found in attribute(small, TEXTS[::-1], config, seed=3)][::-1]
        assert torch.equal(torch.get_rng_state(), state)
        for one, other in zip(first, again, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
        assert np.abs(first[4] - attribute(small, TEXTS, config, seed=4)[4].values).max() > 1e-4
    one, other = attribute(small, ["good film", "bad film"], AttributionConfig(method="random"), seed=3)
    assert one.values.tolist() != other.values.tolist()


def test_the_network_is_left_as_it_was_but_for_dropout(small) -> None:
    small.network.train()
    before = {name: weight.clone() for name, weight in small.network.named_parameters()}
    attribute(small, TEXTS, AttributionConfig())
    assert not small.network.training
    for name, weight in small.network.named_parameters():
        assert torch.equal(weight, before[name])
        assert weight.requires_grad
        assert weight.grad is None


def test_targets_that_are_no_class_and_outputs_that_are_none_are_refused() -> None:
    network = Summed(NUMBERS)
    network.forward = lambda input_ids, **_: torch.ones(len(input_ids), 1)
    single = TextClassifier(network, VOCABULARY.tokenise, 0, ("yes",))
    for classifier, targets, message in (
        (summed(NUMBERS), [2], "target 2: the network has the classes 0 to 1"),
        (summed({"good": float("inf")}), None, "outputs are not finite"),
        (single, None, "1 outputs for 1 classes: must be as many, and two or more"),
    ):
        with pytest.raises(ValueError, match=message):
            attribute(classifier, ["good"], AttributionConfig(), targets=targets)


@pytest.mark.parametrize(
    "wrong", [{"method": "saliency"}, {"output": "loss"}, {"num_steps": 0}, {"num_samples": 1}, {"max_tokens": 0}]
)
def test_configs_that_cannot_be_are_refused(wrong) -> None:
    with pytest.raises(pydantic.ValidationError, match=next(iter(wrong))):
        AttributionConfig(**wrong)
