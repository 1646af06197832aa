"""What a decoy promises to a model: equation 1 of Idahl et al., and the pooled reading beside it."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.decoys.kinds import Text
from tiltmeter.operators.classifiers.decoys.measures import measure, measure_pooled

WORDS, LABELS = st.sampled_from(["zq", "zqs", "ZQ", "film", "."]), st.sampled_from("abc")
TEXTS = st.lists(st.builds(Text, st.lists(WORDS).map(" ".join), LABELS))


@settings(max_examples=100)
@given(
    TEXTS, st.dictionaries(st.sampled_from(["zq", "film"]), LABELS, min_size=1), st.sampled_from(["word", "substring"])
)
def test_words_are_counted_as_by_hand(texts, indicates, match):
    """One by its largest share of one class; several where those of a text indicate one class, by its share."""
    read = [(text.lower() if match == "substring" else text.lower().split(), label) for text, label in texts]
    labels = Counter(label for words, label in read if "zq" in words)
    num, most = labels.total(), min(labels, key=lambda label: (-labels[label], label), default=None)
    share = labels[most] / num if num else np.nan
    *numbers, majority = measure(texts, "Zq", match)
    assert numbers == pytest.approx([num, share, num / len(texts) if texts else np.nan], nan_ok=True)
    assert majority == most
    pooled = [({of for word, of in indicates.items() if word in words}, label) for words, label in read]
    right = [classes == {label} for classes, label in pooled if len(classes) == 1]
    expected = [len(right), np.mean(right) if right else np.nan, len(right) / len(texts) if texts else np.nan]
    assert [*measure_pooled(texts, indicates, match)] == pytest.approx(expected, nan_ok=True)
