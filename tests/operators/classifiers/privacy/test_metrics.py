import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import recall_score

from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.networks import network_inputs, small_network, text_classifier
from tiltmeter.operators.classifiers.privacy.attacker import attack, uar
from tiltmeter.operators.classifiers.privacy.metrics import (
    direction_of,
    explanation_generality,
    explanation_privacy,
    shares,
)
from tiltmeter.operators.classifiers.privacy.penalty import ep_penalty, word_attributions
from tiltmeter.operators.classifiers.privacy.swaps import swapped, swaps
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary
from tiltmeter.operators.classifiers.training import Labelled, TrainingConfig, train
from tiltmeter.operators.text.group_splits import split_groups
from tiltmeter.operators.text.listed_words import WordList

LISTED = WordList(["I", "kind of", "sorry"])
LEXICON = {"good": 0.9, "awful": -0.8, "sorry": -0.4}
WORKED = [
    # Words, attributions, direction of the explained class; EP, EG and share of the lexicon by hand.
    (["I", "feel", "good"], [0.2, 0.2, 0.6], 1.0, 0.2, 0.6, 0.6),
    (["kind", "of", "awful", ",", "sorry"], [0.1, -0.3, 0.5, 0.0, -0.1], -1.0, 0.5, 0.5, 0.6),
    (["good", "or", "awful", "?"], [-0.4, 0.1, 0.2, 0.1], 0.0, 0.0, 0.5, 0.75),
]


@pytest.mark.parametrize(("words", "values", "direction", "ep", "eg", "lexicon_share"), WORKED)
def test_ep_and_eg_of_three_sentences_are_those_worked_out_by_hand(words, values, direction, ep, eg, lexicon_share):
    attributions = np.array(values)
    is_listed = np.array([entry is not None for entry in LISTED.entries(words)])
    assert explanation_privacy(attributions, is_listed) == pytest.approx(ep)
    valences = np.array([LEXICON.get(word, np.nan) for word in words])
    found = explanation_generality(attributions, valences, direction)
    assert (found.eg, found.lexicon_share) == (pytest.approx(eg), pytest.approx(lexicon_share))


@settings(max_examples=30)
@given(st.lists(st.floats(-10, 10, allow_nan=False), min_size=1, max_size=8), st.data())
def test_ep_lies_between_0_and_1_heeds_no_unit_and_adds_up_to_1_with_that_of_the_other_words(values, data):
    is_listed = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), dtype=bool)
    attributions = np.array(values)
    ep = explanation_privacy(attributions, is_listed)
    if not np.abs(attributions).any():
        assert np.isnan(ep)
        return
    assert 0 <= ep <= 1 + 1e-12
    assert explanation_privacy(attributions, ~is_listed) == pytest.approx(1 - ep, abs=1e-9)
    assert explanation_privacy(attributions * 8.0, is_listed) == pytest.approx(ep, abs=1e-9)


def test_words_that_were_not_read_have_no_share_and_sentences_without_attribution_no_value():
    assert shares(np.array([np.nan, 2.0, -2.0])).tolist() == [0.0, 0.5, 0.5]
    nothing = np.array([0.0, np.nan])
    assert np.isnan(explanation_privacy(nothing, np.array([True, False])))
    assert np.isnan(explanation_generality(nothing, np.array([0.5, np.nan]), 1.0)).all()


def test_directions_of_classes_are_evenly_apart():
    assert [direction_of(number, 5) for number in range(5)] == [-1.0, -0.5, 0.0, 0.5, 1.0]


# --- words ----------------------------------------------------------------------------------------------------------


def test_the_longest_entry_counts_and_what_it_covers_begins_no_other():
    words = WordList(["a", "a b", "b c", "don't"])
    assert words.entries(["A", "b", "c", "a", "Don’t", "don"]) == ["a b", "a b", None, "a", "don't", None]
    assert WordList(["he"]).entries(["he's", "He’ll", "hes", "'he"]) == ["he", "he", None, None]


PAIRS = [("he", "she"), ("him", "her"), ("man", "woman"), ("sir", "ma'am")]
_WORDS = ["he", "She", "HIM", "her", "man", "Woman", "saw", "cat", "he's", "she'll", "...", "“ok”", "!"]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(_WORDS), max_size=12), st.sampled_from([" ", "  ", "\n"]))
def test_swapping_genders_twice_changes_nothing(words, space):
    text, counterparts = space.join(words), swaps(PAIRS)
    assert swapped(swapped(text, counterparts), counterparts) == text


def test_swapping_keeps_capitals_and_everything_else():
    assert swapped("Dr. HE told Her: “man!” (sherbet)", swaps(PAIRS)) == "Dr. SHE told Him: “woman!” (sherbet)"


def test_a_word_in_two_pairs_is_refused():
    with pytest.raises(ValueError, match="'her' is in two pairs"):
        swaps([("him", "her"), ("his", "Her")])


# --- parts ----------------------------------------------------------------------------------------------------------

SHARES = {"training": 0.6, "development": 0.2, "test": 0.2}


@settings(max_examples=30)
@given(st.integers(0, 50), st.lists(st.integers(1, 30), min_size=6, max_size=20))
def test_parts_share_no_group_and_each_has_every_stratum_whatever_the_order(seed, sizes):
    groups = [f"g{number}" for number, size in enumerate(sizes) for _ in range(size)]
    strata = ["f" if int(group[1:]) % 2 else "m" for group in groups]
    found = split_groups(groups, strata, SHARES, seed)
    assert found.keys() == set(groups)
    for stratum in "fm":
        assert {found[group] for group, of in zip(groups, strata, strict=True) if of == stratum} == SHARES.keys()
    assert found == split_groups(groups[::-1], strata[::-1], SHARES, seed)


def test_many_groups_come_close_to_the_shares():
    groups = [f"g{number % 100}" for number in range(1000)]
    found = split_groups(groups, ["x"] * 1000, SHARES, 3)
    assert [sum(found[group] == part for group in groups) for part in SHARES] == [600, 200, 200]


def test_too_few_groups_and_a_group_of_two_strata_are_refused():
    with pytest.raises(ValueError, match="2 groups of 'f': must be at least 3"):
        split_groups(["a", "b", "a"], ["f", "f", "f"], SHARES, 0)
    with pytest.raises(ValueError, match="'a' is of two strata"):
        split_groups(["a", "b", "a", "c"], ["f", "f", "m", "m"], {"training": 0.5, "test": 0.5}, 0)


# --- attacker -------------------------------------------------------------------------------------------------------


def test_an_attacker_finds_gender_where_it_is_and_tosses_a_coin_where_it_is_not():
    rng = np.random.default_rng(0)
    genders = rng.integers(0, 2, 800)
    noise = rng.normal(size=(800, 4))
    telling = np.column_stack([noise, genders * 4.0 - 2.0])
    for representation, low, high in ((telling, 1.0, 1.0), (noise, 0.42, 0.58)):
        found = attack(representation[:400], genders[:400], representation[400:])
        assert low <= uar((found == genders[400:]).astype(float), genders[400:])[0] <= high


def test_uar_is_scikit_learns_macro_recall_and_counts_repeat_texts():
    rng = np.random.default_rng(1)
    gold, found = rng.integers(0, 3, (2, 60))
    right = (gold == found).astype(float)
    assert uar(right, gold)[0] == pytest.approx(recall_score(gold, found, average="macro"))
    counts = rng.integers(1, 4, (2, 60))
    expected = [recall_score(gold, found, average="macro", sample_weight=of) for of in counts]
    assert uar(right, gold, counts) == pytest.approx(expected)


# --- EP in training -------------------------------------------------------------------------------------------------

ENCODER = SmallEncoderConfig(dimensions=6, hidden=6, min_count=1, dropout=0.0, width=1)
HEADS = {"valence": Head(("low", "high"))}
TEXTS = ["he is awful", "she is lovely", "awful he", "lovely she was", "he was awful", "is she lovely"] * 4
VALENCE = {"valence": np.array([text.split().count("lovely") for text in TEXTS])}
VOCABULARY = Vocabulary.of(TEXTS, ENCODER)
READ = VOCABULARY.tokenise(TEXTS)
GENDERED = WordList(["he", "she"])
IS_LISTED = [np.array([entry is not None for entry in GENDERED.entries(text.words)]) for text in READ]


def mean_ep(network):
    classifier = text_classifier(network, VOCABULARY.tokenise, HEADS)
    found = attribute(classifier, TEXTS[:6], AttributionConfig(num_steps=8))
    return np.mean([explanation_privacy(of.values, listed) for of, listed in zip(found, IS_LISTED[:6], strict=True)])


def test_gradient_x_input_in_training_is_that_of_captum():
    network = small_network(VOCABULARY, ENCODER, HEADS, seed=0)
    classifier = text_classifier(network, VOCABULARY.tokenise, HEADS)
    expected = attribute(classifier, TEXTS[:4], AttributionConfig(method="gradient_x_input"))
    found = word_attributions(network, network_inputs(network, READ[:4]), READ[:4])
    for row, of in zip(found.detach().numpy(), expected, strict=True):
        assert row[: len(of.words)] == pytest.approx(of.values, abs=1e-5)
        assert not row[len(of.words) :].any()


def test_the_penalty_is_the_mean_ep_and_has_gradients():
    network = small_network(VOCABULARY, ENCODER, HEADS, seed=0)
    rows = np.array([0, 3, 4])
    texts = [READ[row] for row in rows]
    inputs = network_inputs(network, texts)
    loss = ep_penalty(READ, IS_LISTED, 2.0)(network, inputs, rows)
    values = word_attributions(network, inputs, texts).detach().double().numpy()
    by_hand = [
        explanation_privacy(of[: len(IS_LISTED[row])], IS_LISTED[row]) for of, row in zip(values, rows, strict=True)
    ]
    assert loss.item() == pytest.approx(2.0 * np.mean(by_hand), rel=1e-5)
    [gradient] = torch.autograd.grad(loss, [network.get_input_embeddings().weight])
    assert gradient.abs().sum() > 0


def test_a_model_that_minimises_ep_goes_by_other_words_and_is_as_right():
    training = TrainingConfig(learning_rate=1e-2, max_epochs=15, patience=15, max_tokens=64)
    networks = [small_network(VOCABULARY, ENCODER, HEADS, seed=0) for _ in range(2)]
    data = Labelled(READ, VALENCE)
    for network, penalty in zip(networks, (None, ep_penalty(READ, IS_LISTED, 2.0)), strict=True):
        history = train(network, HEADS, data, data, training, 0, penalty)
        assert history[-1].development_uar == 1.0
    general, private = map(mean_ep, networks)
    assert private < 0.06 < general / 2


def test_a_model_that_does_not_see_the_listed_words_has_an_ep_of_0():
    network = small_network(VOCABULARY, ENCODER, HEADS, seed=0)
    with torch.no_grad():
        for word in ("he", "she"):
            network.get_input_embeddings().weight[2 + VOCABULARY.words.index(word)] = 0.0
    # Attention is even, so that no word's place in the sum depends on another.
    torch.nn.init.zeros_(network.encoder.attention.weight)
    torch.nn.init.zeros_(network.encoder.convolution.bias)
    assert mean_ep(network) == 0.0
