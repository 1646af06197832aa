"""EP and EG of Jaiswal and Mower Provost by loops over the words of a text, under every setting; EP in training."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobs.classifiers.privacy.by_hand import eg, ep
from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.networks import network_inputs, small_network, text_classifier
from tiltmeter.operators.classifiers.privacy.bins import binned, check_bins
from tiltmeter.operators.classifiers.privacy.metrics import (
    UNBINNED,
    MetricConfig,
    emotion_generalization,
    emotion_privacy,
    explanation,
    weights,
)
from tiltmeter.operators.classifiers.privacy.penalty import ep_penalty, general_attributions, word_attributions
from tiltmeter.operators.classifiers.privacy.shares import lexicon_shares, listed_share, shares
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary
from tiltmeter.operators.text.listed_words import WordList

NAN = float("nan")
VALUES = st.none() | st.sampled_from([-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0]) | st.floats(-10, 10, width=16)
"""Of a word; None: it was not read."""

CONFIGS = st.builds(
    MetricConfig,
    sign=st.sampled_from(["positive", "any"]),
    threshold=st.sampled_from([0.0, 0.3, 1.0]),
    top_k=st.sampled_from([None, 1, 3]),
    scale=st.sampled_from(["raw", "maximum", "share", "count"]),
    denominator=st.sampled_from(["listed", "all"]),
    opposite_of_middle=st.sampled_from(["none", "others"]),
)


@pytest.mark.long
@settings(max_examples=150)
@given(st.lists(st.tuples(VALUES, VALUES, st.booleans()), min_size=1, max_size=8), CONFIGS)
def test_ep_is_equation_1_by_loops(rows, config):
    general, other, is_listed = zip(*rows, strict=True)
    expected, counts = ep(general, other, {*np.flatnonzero(is_listed).tolist()}, config)
    result = emotion_privacy(np.array(general, float), np.array(other, float), np.array(is_listed), config)
    assert [result.num_general, result.num_avoided, result.num_added] == counts
    assert result.ep == pytest.approx(NAN if expected is None else expected, nan_ok=True)
    assert result.parts.sum() == pytest.approx(result.ep, nan_ok=True)


def test_each_word_has_its_part_of_ep():
    values = np.array([[0.1, 0.2, 0.5, 0.0, -0.2], [0.1, -0.3, 0.6, 0.0, 0.5]])
    result = emotion_privacy(*values, np.array([True, True, False, False, True]))
    assert result.parts.tolist() == pytest.approx([0.0, 0.1, 0.0, 0.0, -0.25])


@pytest.mark.long
@settings(max_examples=150)
@given(
    st.lists(st.tuples(VALUES, st.integers(UNBINNED, 4)), min_size=1, max_size=8),
    st.integers(0, 4),
    st.sampled_from([3, 4, 5]),
    CONFIGS,
)
def test_eg_is_equation_2_by_sums(words, gold, num_bins, config):
    """What speaks against the gold class and is of its bin, and what speaks for it and is of the opposite one."""
    values, bins = zip(*words, strict=True)
    result = emotion_generalization(np.array(values, float), np.array(bins), gold % num_bins, num_bins, config)
    known = {place: number for place, number in enumerate(bins) if number != UNBINNED}
    expected, counts = eg(values, known, gold % num_bins, num_bins, config)
    assert [result.num_against, result.num_opposite] == counts
    assert result.eg == pytest.approx(expected if any(values) else NAN, nan_ok=True)


@pytest.mark.parametrize("wrong", [{"sign": "negative"}, {"threshold": 1.5}, {"top_k": 0}, {"scale": "sum"}, {"g": 1}])
def test_settings_that_there_are_not_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MetricConfig(**wrong)


# --- ratings as classes: the bins of Jaiswal and Mower Provost 2022, section 4.1 --------------------------------------


FIVE = {"low": (1, 2.75), "mid": (2.75, 3.25), "high": (3.25, 5)}
NINE = {"low": (1, 3.75), "mid": (3.75, 4.25), "high": (4.25, 9)}


@pytest.mark.parametrize(
    ("bins", "ratings"),
    [
        (FIVE, {"low": [1, 2.5, 2.75], "mid": [2.7500001, 3, 3.25], "high": [3.2500001, 5]}),
        (NINE, {"low": [1, 3.75], "mid": [4, 4.25], "high": [4.3]}),
    ],
)
def test_a_rating_where_bins_meet_is_of_the_lower_one(bins, ratings):
    for name, of_bin in ratings.items():
        assert {binned(rating, bins) for rating in of_bin} == {name}


@pytest.mark.parametrize("rating", [0.99, 5.01, float("nan"), float("inf"), float("-inf")])
def test_what_is_outside_the_scale_is_refused(rating):
    with pytest.raises(ValueError, match="must be a number from 1 to 5"):
        binned(rating, FIVE)


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        (FIVE | {"mid": (2.5, 3.25)}, "low and mid overlap from 2.5 to 2.75"),
        (FIVE | {"mid": (3, 3.25)}, "low and mid leave out ratings from 2.75 to 3"),
        (FIVE | {"mid": (3.25, 2.75)}, "mid reaches from 3.25 to 2.75: must be two numbers, the lower one first"),
        (FIVE | {"high": (3.25, float("inf"))}, "high reaches from 3.25 to inf"),
        (FIVE | {"low": (NAN, 2.75)}, "low reaches from nan to 2.75"),
        ({"low": (1, 5)}, "must have a bin for each of two classes"),
    ],
)
def test_bins_that_are_no_scale_are_refused(bins, message):
    check_bins("data.bins", FIVE)
    with pytest.raises(ValueError, match=f"^data.bins: {message}"):
        check_bins("data.bins", bins)


# --- shares of attributions -------------------------------------------------------------------------------------------


LISTED = WordList(["I", "kind of", "sorry"])
LEXICON = {"good": 0.9, "awful": -0.8, "sorry": -0.4}
WORKED = [
    # Words, attributions, direction of the explained class; shares on L, with the right sign and with any, by hand.
    (["I", "feel", "good"], [0.2, 0.2, 0.6], 1.0, 0.2, 0.6, 0.6),
    (["kind", "of", "awful", ",", "sorry"], [0.1, -0.3, 0.5, 0.0, -0.1], -1.0, 0.5, 0.5, 0.6),
    (["good", "or", "awful", "?"], [-0.4, 0.1, 0.2, 0.1], 0.0, 0.0, 0.5, 0.75),
]


@pytest.mark.parametrize(("words", "values", "direction", "on_list", "right_sign", "any_sign"), WORKED)
def test_shares_of_three_sentences_are_those_by_hand(words, values, direction, on_list, right_sign, any_sign):
    attributions, valences = np.array(values), np.array([LEXICON.get(word, np.nan) for word in words])
    is_listed = np.array([entry is not None for entry in LISTED.entries(words)])
    assert listed_share(attributions, is_listed) == pytest.approx(on_list)
    assert lexicon_shares(attributions, valences, direction) == pytest.approx((right_sign, any_sign))


@settings(max_examples=30)
@given(st.lists(st.tuples(st.floats(-10, 10), st.booleans()), min_size=1, max_size=8))
def test_a_share_lies_between_0_and_1_heeds_no_unit_and_adds_up_to_1_with_that_of_the_other_words(words):
    attributions, is_listed = (np.array(column) for column in zip(*words, strict=True))
    share = listed_share(attributions, is_listed)
    if not np.abs(attributions).any():
        assert np.isnan(share)
        return
    assert 0 <= share <= 1 + 1e-12
    assert listed_share(attributions, ~is_listed) == pytest.approx(1 - share, abs=1e-9)
    assert listed_share(attributions * 8.0, is_listed) == pytest.approx(share, abs=1e-9)


def test_words_that_were_not_read_have_no_share_and_sentences_without_attribution_no_value():
    assert shares(np.array([np.nan, 2.0, -2.0])).tolist() == [0.0, 0.5, 0.5]
    nothing = np.array([0.0, np.nan])
    assert np.isnan(listed_share(nothing, np.array([True, False])))
    assert np.isnan(lexicon_shares(nothing, np.array([0.5, np.nan]), 1.0)).all()


# --- EP in training ---------------------------------------------------------------------------------------------------


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


def test_texts_without_listed_words_in_generals_explanation_have_no_part_in_it_and_counts_are_refused():
    network = small_network(VOCABULARY, ENCODER, HEADS, seed=0)
    assert IS_LISTED[2].tolist() == [False, True]  # "awful he", of which General's explanation has "awful" alone
    assert loss_of(network, MetricConfig(), np.array([2])).item() == 0.0
    with pytest.raises(ValueError, match="'count', which has no gradient"):
        ep_penalty(READ, IS_LISTED, GENERAL, 1.0, MetricConfig(scale="count"))


def test_attributions_of_many_texts_are_those_of_each():
    network = small_network(VOCABULARY, ENCODER, HEADS, seed=0)
    together = general_attributions(network, READ[:6], max_tokens=8)
    for text, values in zip(READ[:6], together, strict=True):
        alone = word_attributions(network, network_inputs(network, [text]), [text]).detach().numpy()[0]
        assert values == pytest.approx(alone, abs=1e-6)
