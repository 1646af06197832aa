"""EP and EG of Jaiswal and Mower Provost by loops over the words of a text, under every setting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobs.classifiers.privacy.by_hand import eg, ep
from tiltmeter.operators.classifiers.privacy.metrics import (
    UNBINNED,
    MetricConfig,
    emotion_generalization,
    emotion_privacy,
)

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
