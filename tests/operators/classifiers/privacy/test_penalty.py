"""EP in training."""

import numpy as np
import pytest
import torch

from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.networks import network_inputs, small_network, text_classifier
from tiltmeter.operators.classifiers.privacy.metrics import MetricConfig, explanation, weights
from tiltmeter.operators.classifiers.privacy.penalty import ep_penalty, general_attributions, word_attributions
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary
from tiltmeter.operators.text.listed_words import WordList

ENCODER = SmallEncoderConfig(dimensions=6, hidden=6, min_count=1, dropout=0.0, width=1)
HEADS = {"valence": Head(("low", "high"))}
TEXTS = ["he is awful", "she is lovely", "awful he", "lovely she was", "he was awful", "is she lovely"] * 4
VALENCE = {"valence": np.array([text.split().count("lovely") for text in TEXTS])}
VOCABULARY = Vocabulary.of(TEXTS, ENCODER)
READ = VOCABULARY.tokenise(TEXTS)
GENDERED = WordList(["he", "she"])
IS_LISTED = [np.array([entry is not None for entry in GENDERED.entries(text.words)]) for text in READ]


GENERAL = [np.array([0.5, -0.1, 0.3])[: len(text.words)] for text in READ]
"""As a model might have them: of "he is awful", "he" is in the explanation, and of "awful he", "he" is not."""


def test_gradient_x_input_in_training_is_that_of_captum():
    network = small_network(VOCABULARY, ENCODER, HEADS, seed=0)
    classifier = text_classifier(network, VOCABULARY.tokenise, HEADS)
    expected = attribute(classifier, TEXTS[:4], AttributionConfig(method="gradient_x_input"))
    found = word_attributions(network, network_inputs(network, READ[:4]), READ[:4])
    for row, of in zip(found.detach().numpy(), expected, strict=True):
        assert row[: len(of.words)] == pytest.approx(of.values, abs=1e-5)
        assert not row[len(of.words) :].any()


ROWS = np.array([0, 2, 4])


def loss_of(network, config, rows=ROWS, weight=2.0):
    inputs = network_inputs(network, [READ[row] for row in rows])
    return ep_penalty(READ, IS_LISTED, GENERAL, weight, config)(network, inputs, rows)


def relaxed(general, other, is_listed, config):
    """EP' by its definition; None where G is 0."""
    is_general, is_other = explanation(general, config), explanation(other, config)
    num = (is_general & is_listed).sum() if config.denominator == "listed" else is_general.sum()
    sums = [
        weights(values, config.scale)[members & is_listed].sum()
        for values, members in ((general, is_general), (other, is_other))
    ]
    return (sums[0] - sums[1]) / num if num else None


@pytest.mark.parametrize(
    "config",
    [
        MetricConfig(),
        MetricConfig(scale="share"),
        MetricConfig(sign="any", threshold=0.4, scale="maximum", denominator="all"),
        MetricConfig(sign="any", top_k=1),
    ],
)
def test_the_penalty_is_minus_the_mean_ep_of_texts_that_have_one_and_has_gradients(config):
    """Of a network whose explanations have listed words by all of these."""
    network = small_network(VOCABULARY, ENCODER, HEADS, seed=1)
    texts = [READ[row] for row in ROWS]
    values = word_attributions(network, network_inputs(network, texts), texts).detach().double().numpy()
    by_hand = [
        relaxed(GENERAL[row], of[: len(IS_LISTED[row])], IS_LISTED[row], config)
        for of, row in zip(values, ROWS, strict=True)
    ]
    eps = [ep for ep in by_hand if ep is not None]
    loss = loss_of(network, config)
    assert loss.item() == pytest.approx(-2.0 * np.mean(eps), rel=1e-4)
    vectors = network.get_input_embeddings().weight
    [gradient] = torch.autograd.grad(loss, [vectors])
    with torch.no_grad():
        vectors.sub_(1e-3 * gradient / gradient.norm())
    assert loss_of(network, config).item() - loss.item() == pytest.approx(-1e-3 * gradient.norm().item(), rel=0.1)


def test_texts_without_listed_words_in_generals_explanation_have_no_part_in_it():
    network = small_network(VOCABULARY, ENCODER, HEADS, seed=0)
    assert IS_LISTED[2].tolist() == [False, True]  # "awful he", of which General's explanation has "awful" alone
    assert loss_of(network, MetricConfig(), np.array([2])).item() == 0.0


def test_a_count_has_no_gradient_and_is_refused():
    with pytest.raises(ValueError, match="'count', which has no gradient"):
        ep_penalty(READ, IS_LISTED, GENERAL, 1.0, MetricConfig(scale="count"))


def test_attributions_of_many_texts_are_those_of_each():
    network = small_network(VOCABULARY, ENCODER, HEADS, seed=0)
    together = general_attributions(network, READ[:6], max_tokens=8)
    for text, values in zip(READ[:6], together, strict=True):
        alone = word_attributions(network, network_inputs(network, [text]), [text]).detach().numpy()[0]
        assert values == pytest.approx(alone, abs=1e-6)
