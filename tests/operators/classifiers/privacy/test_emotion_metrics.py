"""EP and EG of Jaiswal and Mower Provost, worked out by hand for three texts each under every setting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.privacy.metrics import (
    UNBINNED,
    MetricConfig,
    attribution_difference,
    emotion_generalization,
    emotion_privacy,
    explanation,
    opposite_bins,
    weights,
)

NAN = float("nan")

# --- EP -------------------------------------------------------------------------------------------------------------

PAIRS = [
    # Words with an L are listed; attributions by General and by the other model.
    (["I L", "feel", "good"], [0.4, 0.2, -0.6], [-0.2, 0.1, 0.5]),
    (["kind L", "of L", "awful", ",", "sorry L"], [0.1, 0.2, 0.5, 0.0, -0.2], [0.1, -0.3, 0.6, 0.0, 0.5]),
    (["good", "or", "awful"], [0.4, 0.1, -0.2], [0.1, 0.1, 0.1]),
]
EPS = [
    # I is left out; "of" is left out and "sorry" is new; no word is listed.
    ({}, [0.4, (0.2 - 0.5) / 2, NAN]),
    ({"denominator": "all"}, [0.4 / 2, (0.2 - 0.5) / 3, 0.0]),
    ({"scale": "share"}, [0.4 / 1.2, (0.2 / 1.0 - 0.5 / 1.5) / 2, NAN]),
    ({"scale": "maximum"}, [0.4 / 0.6, (0.2 / 0.5 - 0.5 / 0.6) / 2, NAN]),
    ({"scale": "count"}, [1.0, (1 - 1) / 2, NAN]),
    # Of any sign, all words with an attribution are in both explanations.
    ({"sign": "any"}, [0.0, 0.0, NAN]),
    ({"sign": "any", "denominator": "all"}, [0.0, 0.0, 0.0]),
    # At least half of the largest: I, good | good; awful | of, awful, sorry; good, awful | all three.
    ({"sign": "any", "threshold": 0.5}, [0.4, NAN, NAN]),
    ({"sign": "any", "threshold": 0.5, "denominator": "all"}, [0.4 / 2, -(0.3 + 0.5) / 1, 0.0]),
    # The heaviest one: I | good; awful | awful; good | good.
    ({"top_k": 1}, [0.4, NAN, NAN]),
    ({"top_k": 1, "denominator": "all"}, [0.4, 0.0, 0.0]),
    # The two heaviest: I, good | I, good; of, awful | awful, sorry ("of" is before the "sorry" that weighs as much).
    ({"sign": "any", "top_k": 2}, [0.0, 0.2 - 0.5, NAN]),
]


def listed(words):
    return np.array([word.endswith(" L") for word in words])


@pytest.mark.parametrize(("choice", "expected"), EPS)
def test_ep_of_three_texts_is_that_worked_out_by_hand(choice, expected):
    config = MetricConfig(**choice)
    results = [
        emotion_privacy(np.array(general), np.array(other), listed(words), config) for words, general, other in PAIRS
    ]
    assert [result.ep for result in results] == pytest.approx(expected, nan_ok=True)
    assert [result.parts.sum() for result in results] == pytest.approx(expected, nan_ok=True)


def test_the_words_of_equation_1_are_counted():
    config = MetricConfig()
    _, (words, general, other), _ = PAIRS
    result = emotion_privacy(np.array(general), np.array(other), listed(words), config)
    assert (result.num_general, result.num_avoided, result.num_added) == (2, 1, 1)
    assert result.parts.tolist() == pytest.approx([0.0, 0.1, 0.0, 0.0, -0.25])


ATTRIBUTIONS = st.lists(st.tuples(*[st.floats(-10, 10, allow_nan=False)] * 2, st.booleans()), min_size=1, max_size=8)
CONFIGS = st.builds(
    MetricConfig,
    sign=st.sampled_from(["positive", "any"]),
    threshold=st.sampled_from([0.0, 0.3, 1.0]),
    top_k=st.sampled_from([None, 1, 3]),
    scale=st.sampled_from(["raw", "maximum", "share", "count"]),
    denominator=st.sampled_from(["listed", "all"]),
)


@settings(max_examples=80)
@given(ATTRIBUTIONS, CONFIGS)
def test_ep_is_equation_1_by_sets_and_0_of_the_same_explanation(rows, config):
    general, other, is_listed = (np.array(column) for column in zip(*rows, strict=True))
    result = emotion_privacy(general, other, is_listed, config)
    e_general, e_other = (set(np.flatnonzero(explanation(values, config))) for values in (general, other))
    chosen = set(np.flatnonzero(is_listed))
    avoided = sum(weights(general, config.scale)[place] for place in (e_general - e_other) & chosen)
    added = sum(weights(other, config.scale)[place] for place in (e_other - e_general) & chosen)
    num = len(e_general & chosen) if config.denominator == "listed" else len(e_general)
    expected = (avoided - added) / num if num else NAN
    assert result.ep == pytest.approx(expected, nan_ok=True)
    itself = emotion_privacy(general, general, is_listed, config)
    assert itself.ep == 0.0 or (num == 0 and np.isnan(itself.ep))


def test_words_that_a_model_has_not_read_explain_nothing():
    config = MetricConfig(sign="any")
    assert explanation(np.array([NAN, 0.0, -1.0]), config).tolist() == [False, False, True]
    difference = attribution_difference(np.array([1.0, 2.0]), np.array([1.0, NAN]), config)
    assert difference.weights.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("wrong", [{"sign": "negative"}, {"threshold": 1.5}, {"top_k": 0}, {"scale": "sum"}, {"g": 1}])
def test_settings_that_there_are_not_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MetricConfig(**wrong)


# --- EG -------------------------------------------------------------------------------------------------------------

LOW, MID, HIGH = range(3)
JUDGED = [
    # Attributions, bins of the words, gold: "good" speaks against high; "sorry" against low; "usual" against mid.
    ([0.4, 0.2, -0.6], [UNBINNED, UNBINNED, HIGH], HIGH),
    ([0.1, 0.2, 0.5, 0.0, -0.2], [UNBINNED, UNBINNED, LOW, UNBINNED, LOW], LOW),
    ([0.4, 0.1, -0.2, 0.0, -0.3], [HIGH, UNBINNED, LOW, UNBINNED, MID], MID),
]
EGS = [
    ({}, [1 - 0.6 / 3, 1 - 0.2 / 5, 1 - 0.3 / 5]),
    ({"opposite_of_middle": "others"}, [1 - 0.6 / 3, 1 - 0.2 / 5, 1 - (0.3 + 0.4) / 5]),
    ({"scale": "share"}, [1 - 0.5 / 3, 1 - 0.2 / 5, 1 - 0.3 / 5]),
    ({"scale": "maximum"}, [1 - 1 / 3, 1 - 0.4 / 5, 1 - 0.75 / 5]),
    ({"scale": "count"}, [1 - 1 / 3, 1 - 1 / 5, 1 - 1 / 5]),
    ({"threshold": 0.5}, [1 - 0.6 / 3, 1.0, 1 - 0.3 / 5]),
    ({"top_k": 1}, [1 - 0.6 / 3, 1.0, 1.0]),
    # The sign is that of equation 1; both signs count here.
    ({"sign": "any"}, [1 - 0.6 / 3, 1 - 0.2 / 5, 1 - 0.3 / 5]),
]


@pytest.mark.parametrize(("choice", "expected"), EGS)
def test_eg_of_three_texts_is_that_worked_out_by_hand(choice, expected):
    config = MetricConfig(**choice)
    results = [
        emotion_generalization(np.array(values), np.array(bins), gold, 3, config).eg for values, bins, gold in JUDGED
    ]
    assert results == pytest.approx(expected)


JUDGED_WORDS = st.tuples(st.sampled_from([-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0]), st.integers(UNBINNED, 3))


@settings(max_examples=80)
@given(st.lists(JUDGED_WORDS, min_size=1, max_size=8), st.integers(0, 3), CONFIGS)
def test_eg_is_equation_2_by_sums(words, gold, config):
    """What speaks against the gold class and is of its bin, and what speaks for it and is of the opposite one."""
    values, bins = (np.array(column) for column in zip(*words, strict=True))
    explained = explanation(values, MetricConfig("any", config.threshold, config.top_k))
    counted = [
        (value < 0, weight)
        for value, number, is_shown, weight in zip(values, bins, explained, weights(values, config.scale), strict=True)
        if is_shown and number == (gold if value < 0 else 3 - gold)
    ]
    result = emotion_generalization(values, bins, gold, 4, config)
    if not values.any():
        assert np.isnan(result.eg)
        return
    num_against = sum(is_against for is_against, _ in counted)
    eg = 1 - sum(weight for _, weight in counted) / len(words)
    assert result == (pytest.approx(eg), num_against, len(counted) - num_against)


def test_bins_are_opposite_by_their_distance_from_the_middle():
    assert [opposite_bins(number, 4, "none") for number in range(4)] == [[3], [2], [1], [0]]
    assert [opposite_bins(number, 5, "others") for number in (0, 2)] == [[4], [0, 1, 3, 4]]


def test_a_text_without_attribution_has_no_eg():
    result = emotion_generalization(np.array([0.0, NAN]), np.array([LOW, HIGH]), LOW, 3, MetricConfig())
    assert np.isnan(result.eg)
