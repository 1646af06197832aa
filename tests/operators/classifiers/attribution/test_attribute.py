"""Attributions of words: of networks by hand and by definition, of models of transformers by a plain call of captum."""

from copy import deepcopy
from itertools import permutations

import numpy as np
import pydantic
import pytest
import torch
from captum.attr import LayerIntegratedGradients
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import ByteLevelBPETokenizer
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertTokenizer,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2Tokenizer,
    RobertaConfig,
    RobertaForSequenceClassification,
    RobertaTokenizer,
    T5Config,
    T5ForSequenceClassification,
)

from tiltmeter.operators.classifiers.attribution.attribute import attribute, predict, transformers_classifier
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, TextClassifier
from tiltmeter.operators.classifiers.networks import small_network, text_classifier
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary
from tiltmeter.operators.text.tokenised import NO_WORD, tokenise

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
def test_every_method_finds_the_weights_of_a_linear_model(method, target):
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
def test_attributions_of_a_square_by_hand(method, text, expected):
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


def test_kernel_shap_tends_to_shapley_values():
    numbers = {"good": 2.0, "not": -0.5, "film": 1.5}
    exact = shapley(lambda total: total**3, list(numbers.values()))
    classifier = summed(numbers, f=lambda total: total**3)
    found = values(classifier, "good not film", method="kernel_shap", num_samples=1000)
    np.testing.assert_allclose(found, exact, atol=0.05 * np.abs(exact).max())
    assert found.sum() == pytest.approx(3.0**3, abs=1e-3)


@pytest.mark.parametrize("method", [*EXACT, "random"])
def test_a_single_word_has_all_of_the_difference(method):
    found = values(summed({"good": 2.0}), "good", method=method)
    assert found == pytest.approx([2.0], abs=1e-4) or (method == "random" and -1 <= found[0] < 1)


def test_log_odds_logits_and_probabilities_are_what_is_explained():
    classifier = summed(NUMBERS)
    for output, ends in {"log_odds": (2.0, 0.0), "logit": (2.0, 0.0), "probability": (0.8807971, 0.5)}.items():
        [found] = attribute(classifier, ["good"], AttributionConfig(output=output))
        np.testing.assert_allclose((found.output, found.baseline), ends, atol=1e-6)
        assert found.values.sum() == pytest.approx(ends[0] - ends[1], abs=1e-5)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), st.sampled_from(["log_odds", "logit", "probability"]))
@settings(max_examples=20)
def test_integrated_gradients_add_up_to_the_change_in_the_output(small, words, output):
    [found] = attribute(small, [" ".join(words)], AttributionConfig(output=output, num_steps=64))
    assert abs(found.delta) < 1e-3
    assert found.delta == pytest.approx(found.values.sum() - (found.output - found.baseline), abs=1e-9)


@pytest.mark.parametrize(
    ("f", "num_nodes"),
    [(torch.sin, 21), (lambda total: total**20, 21), (lambda total: (total - 0.7).abs(), 21 + 50)],
)
def test_no_more_nodes_are_taken_than_the_path_asks_for(f, num_nodes):
    """A kink, which few nodes cannot see, shows in the nested rule's difference."""
    classifier = summed({"good": 2.0}, f=f)
    [found] = attribute(classifier, ["good"], AttributionConfig(max_tokens=10_000))
    [exact] = attribute(classifier, ["good"], AttributionConfig(tolerance=None, num_steps=500))
    assert found.values == pytest.approx(exact.values, rel=3e-2 if num_nodes > 21 else 1e-4)
    classifier.network.sizes.clear()
    attribute(classifier, ["good"], AttributionConfig(max_tokens=10_000))
    ends = 3  # the logits, and the text and its baseline once more
    assert sum(classifier.network.sizes) == num_nodes + ends


def test_predicted_classes_are_explained_unless_others_are_asked_for(small):
    assert (attribute(small, [], AttributionConfig()), len(predict(small, []))) == ([], 0)
    probabilities = predict(small, TEXTS)
    for row, found in enumerate(attribute(small, TEXTS, AttributionConfig())):
        assert found.target == found.predicted == probabilities[row].argmax()
        np.testing.assert_allclose(found.probabilities, probabilities[row], atol=1e-6)
    given = attribute(small, TEXTS, AttributionConfig(), targets=[2, None, 0, 1, 2, 1])
    assert [found.target for found in given] == [2, int(probabilities[1].argmax()), 0, 1, 2, 1]


@pytest.mark.long
@pytest.mark.parametrize("method", [*EXACT, "random"])
def test_a_text_has_the_same_attributions_alone_and_among_others(small, method):
    config = AttributionConfig(method=method, num_samples=20)
    for text, found in zip(TEXTS, attribute(small, TEXTS, config), strict=True):
        [alone] = attribute(small, [text], config)
        np.testing.assert_allclose(found.values, alone.values, atol=1e-5)
        assert found.words == alone.words


@pytest.mark.long
@pytest.mark.parametrize("method", ["integrated_gradients", "occlusion", "kernel_shap"])
@pytest.mark.parametrize("error", [MemoryError, RuntimeError, torch.OutOfMemoryError])
def test_batches_halve_when_memory_runs_out(method, error):
    numbers = NUMBERS | {"she": 1.0}
    config = AttributionConfig(method=method, num_steps=8, num_samples=16, max_tokens=1000)
    expected = attribute(summed(numbers, f=torch.tanh), TEXTS, config)
    short = summed(numbers, f=torch.tanh, fails_above=30, error=error)
    for found, whole in zip(attribute(short, TEXTS, config), expected, strict=True):
        np.testing.assert_allclose(found.values, whole.values, atol=1e-6)
    assert max(short.network.sizes) > 30


def test_memory_that_does_not_suffice_for_one_text_is_an_error_and_others_are_not_taken_for_a_lack_of_it():
    with pytest.raises(MemoryError, match="not enough memory"):
        attribute(summed(NUMBERS, fails_above=2), ["good bad film"], AttributionConfig())
    classifier = summed(NUMBERS, f=lambda total: total @ total.new_zeros(total.numel() + 1))
    with pytest.raises(RuntimeError, match="size"):
        attribute(classifier, ["good bad film"], AttributionConfig())
    assert len(classifier.network.sizes) == 1


@given(st.integers(1, 60), st.integers(1, 9))
@settings(max_examples=15)
def test_the_network_is_never_given_more_tokens_than_the_bound(max_tokens, num_steps):
    classifier = summed(NUMBERS)
    attribute(classifier, TEXTS, AttributionConfig(max_tokens=max_tokens, num_steps=num_steps))
    assert max(classifier.network.sizes) <= max(max_tokens, 9)  # the longest text has nine words


def test_words_beyond_the_limit_and_texts_without_words_have_no_attribution():
    few = Vocabulary(WORDS, SmallEncoderConfig(max_words=2))
    classifier = summed(NUMBERS)._replace(tokenise=few.tokenise)
    empty, long = attribute(classifier, [" ", "good film bad bad"], AttributionConfig())
    assert (empty.words, empty.predicted) == ((), -1)
    assert np.isnan([empty.output, empty.delta, *empty.probabilities]).all()
    assert (long.words, long.truncated) == (("good", "film", "bad", "bad"), True)
    np.testing.assert_allclose(long.values, [2.0, 0.25, np.nan, np.nan], atol=1e-5)
    assert long.delta == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("method", ["lime", "kernel_shap"])
def test_as_many_samples_are_read_as_are_asked_for(method):
    few, many = summed(NUMBERS), summed(NUMBERS)
    for classifier, num_samples in ((few, 12), (many, 29)):
        values(classifier, "not the bad film", method=method, num_samples=num_samples)
    assert sum(many.network.sizes) - sum(few.network.sizes) == 17 * 4


def test_draws_hang_on_the_seed_and_the_text_alone(small):
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


def test_the_network_is_left_as_it_was_but_for_dropout(small):
    small.network.train()
    before = {name: weight.clone() for name, weight in small.network.named_parameters()}
    attribute(small, TEXTS, AttributionConfig())
    assert not small.network.training
    for name, weight in small.network.named_parameters():
        assert torch.equal(weight, before[name])
        assert (weight.requires_grad, weight.grad) == (True, None)


def test_targets_that_are_no_class_and_outputs_that_are_none_are_refused():
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
def test_configs_that_cannot_be_are_refused(wrong):
    with pytest.raises(pydantic.ValidationError, match=next(iter(wrong))):
        AttributionConfig(**wrong)


# --- models of transformers -------------------------------------------------------------------------------------------

WORDPIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "not", "##ly", "she", "he", "feels", "##s"]
PIECED = ["good", "She feels badly.", "he feels not goods", "unheard bad", "he he he she he he not bad"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


@pytest.fixture(scope="module")
def bert():
    """Spread out, so that words differ in more than rounding."""
    tokenizer = BertTokenizer(vocab={piece: number for number, piece in enumerate(WORDPIECES)})
    torch.manual_seed(0)
    config = BertConfig(vocab_size=13, max_position_embeddings=12, initializer_range=0.3, num_labels=3, **SIZES)
    return BertForSequenceClassification(config).eval(), tokenizer


@pytest.fixture(scope="module")
def byte_pairs(tmp_path_factory):
    trained, folder = ByteLevelBPETokenizer(), tmp_path_factory.mktemp("byte_pairs")
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trained.train_from_iterator(PIECED * 3, vocab_size=280, special_tokens=special, show_progress=False)
    trained.save_model(str(folder))
    return folder


@pytest.fixture(scope="module")
def gpt2(byte_pairs):
    """A model that looks for the last token before the padding, and puts nothing around a text."""
    tokenizer = GPT2Tokenizer.from_pretrained(byte_pairs, pad_token="<pad>")
    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 40, "initializer_range": 0.3}
    return GPT2ForSequenceClassification(GPT2Config(vocab_size=280, pad_token_id=1, **sizes)).eval(), tokenizer


@pytest.fixture(scope="module")
def roberta(byte_pairs):
    """A model that counts positions from the padding token on."""
    tokenizer = RobertaTokenizer.from_pretrained(byte_pairs)
    torch.manual_seed(0)
    config = RobertaConfig(vocab_size=280, max_position_embeddings=42, pad_token_id=1, initializer_range=0.3, **SIZES)
    return RobertaForSequenceClassification(config).eval(), tokenizer


def by_captum(model, tokenizer, text, target, num_steps):
    """Attributions of tokens by a plain call, of the text alone."""
    inputs = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
    is_special = inputs.pop("special_tokens_mask").bool()
    baseline = inputs["input_ids"].where(is_special, torch.tensor(tokenizer.pad_token_id))

    def forward(ids, mask):
        return model(input_ids=ids, attention_mask=mask).logits

    method = LayerIntegratedGradients(forward, model.get_input_embeddings())
    asked = {"target": target, "additional_forward_args": inputs["attention_mask"], "n_steps": num_steps}
    return method.attribute(inputs["input_ids"], baselines=baseline, **asked).sum(dim=2)[0].numpy()


def test_values_are_those_of_a_plain_call_of_captum(bert):
    model, tokenizer = bert
    config = AttributionConfig(output="logit", num_steps=20, max_tokens=300)
    for text, found in zip(PIECED, attribute(transformers_classifier(*bert), PIECED, config), strict=True):
        tokens = by_captum(model, tokenizer, text, found.predicted, 20)
        [read] = tokenise(model, tokenizer, [text])
        sums = [tokens[read.word_of == word].sum() for word in range(len(found.words))]
        np.testing.assert_allclose(found.values, sums, atol=1e-4 * np.abs(tokens).max())
        assert tokens[read.word_of == NO_WORD] == pytest.approx(0.0, abs=1e-12)


def test_tokens_are_added_up_to_words_and_those_beyond_the_limit_have_no_attribution(bert):
    [read] = tokenise(*bert, ["She feels badly."])
    assert read.words == ("She", "feels", "badly", ".")
    assert read.inputs["input_ids"] == [2, 9, 11, 6, 8, 1, 3]
    assert read.word_of.tolist() == [NO_WORD, 0, 1, 2, 2, 3, NO_WORD]
    assert not read.truncated
    [found] = attribute(transformers_classifier(*bert), ["he " * 9 + "badly good"], AttributionConfig(num_steps=5))
    assert (found.truncated, len(found.words)) == (True, 11)
    assert np.isfinite(found.values).tolist() == [True] * 10 + [False]  # of badly, one token was read


@pytest.mark.long
@pytest.mark.parametrize("name", ["bert", "gpt2", "roberta"])
@pytest.mark.parametrize("method", ["integrated_gradients", "occlusion"])
def test_a_text_in_pieces_has_the_same_attributions_alone_and_among_others(name, method, request):
    classifier = transformers_classifier(*request.getfixturevalue(name))
    config = AttributionConfig(method=method, output="logit", num_steps=100)
    for text, found in zip(PIECED, attribute(classifier, PIECED, config), strict=True):
        [alone] = attribute(classifier, [text], config)
        np.testing.assert_allclose(found.values, alone.values, atol=1e-4 * np.abs(alone.values).max())
        assert np.abs(found.values).max() > 0.01
        assert method == "occlusion" or abs(found.delta) < 2e-3 * max(1.0, abs(found.output - found.baseline))


def test_outputs_of_whole_texts_are_those_of_the_model(roberta):
    model, tokenizer = roberta
    classifier = transformers_classifier(*roberta)
    for text, found in zip(PIECED, attribute(classifier, PIECED, AttributionConfig(output="logit")), strict=True):
        with torch.no_grad():
            logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
        assert found.output == pytest.approx(logits[found.predicted].item(), abs=1e-5)
        np.testing.assert_allclose(found.probabilities, logits.softmax(dim=0), atol=1e-6)


def test_an_empty_text_is_classified_and_nothing_is_attributed(bert, gpt2):
    [found] = attribute(transformers_classifier(*bert), [""], AttributionConfig())
    assert (found.words, found.values.size, found.predicted >= 0) == ((), 0, True)
    [nothing] = attribute(transformers_classifier(*gpt2), [""], AttributionConfig())
    assert nothing.predicted == -1
    assert np.isnan(predict(transformers_classifier(*gpt2), ["good", ""])).any(axis=1).tolist() == [False, True]


def test_what_a_token_reaches_over_is_one_word(gpt2):
    model, tokenizer = gpt2
    tokenizer = deepcopy(tokenizer)
    tokenizer.add_tokens(["d.b"])
    [read] = tokenise(model, tokenizer, ["good.bad not"])
    assert read.words == ("good.bad", "not")
    assert set(read.word_of.tolist()) == {0, 1}


def test_models_and_tokenizers_that_cannot_serve_are_refused(bert):
    model, tokenizer = bert
    padless, slow = deepcopy(tokenizer), type("Slow", (), {"is_fast": False})
    padless.pad_token = None
    t5 = T5ForSequenceClassification(T5Config(vocab_size=13, d_model=4, d_kv=2, d_ff=4, num_layers=1, num_heads=1))
    for of, reader, message in (
        (model, padless, "has no padding token"),
        (t5, tokenizer, "T5ForSequenceClassification reads a text by an encoder and again"),
    ):
        with pytest.raises(ValueError, match=message):
            transformers_classifier(of, reader)
    with pytest.raises(ValueError, match=r"Slow does not say which characters .* tokenizer\.json"):
        tokenise(model, slow(), ["good"])
