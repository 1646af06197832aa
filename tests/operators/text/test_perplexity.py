"""A language model against the formulas of Kneser and Ney, counted anew for each word."""

from collections import Counter
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.text.perplexity import KneserNey

texts_of = st.lists(st.sampled_from("abcd"), max_size=6)
MODELS = st.tuples(st.lists(texts_of, min_size=1, max_size=4), st.integers(1, 4), st.sampled_from([0.3, 0.75]))


def log_probabilities(model, words):
    """The longest n-grams by how often they come, shorter ones by how many words come before them."""
    texts, order, discount = model
    known = {word for text in texts for word in text} | {"</s>", "<unk>"}

    def padded(text):
        return ["<s>"] * (order - 1) + [word if word in known else "<unk>" for word in text] + ["</s>"]

    def grams(text):
        return [tuple(text[end - order : end]) for end in range(order, len(text) + 1)]

    def probability(gram, counts):
        if not gram:
            return 1 / len(known)
        shorter = probability(gram[1:], Counter(one[1:] for one in counts))
        after = [num for one, num in counts.items() if one[:-1] == gram[:-1]]
        kept = max(counts[gram] - discount, 0) + discount * len(after) * shorter
        return kept / sum(after) if after else shorter

    counts = Counter(gram for text in texts for gram in grams(padded(text)))
    return [log(probability(gram, counts)) for gram in grams(padded(words))]


@given(MODELS, st.lists(st.lists(st.sampled_from("abcde"), max_size=5), min_size=1, max_size=3))
def test_words_are_as_likely_as_the_formulas_say(model, texts):
    made, expected = KneserNey(*model), [log_probabilities(model, words) for words in texts]
    for words, logs in zip(texts, expected, strict=True):
        assert made.log_probabilities(words).tolist() == pytest.approx(logs)
    every = [one for logs in expected for one in logs]
    assert made.perplexity(texts) == pytest.approx(exp(-sum(every) / len(every)))


@given(MODELS, st.lists(st.sampled_from("abcde"), min_size=1, max_size=6), st.data())
def test_gains_are_what_the_whole_text_gains(model, words, data):
    made, before = KneserNey(*model), log_probabilities(model, words)
    texts = [[*words[:place], "b", *words[place:]] for place in range(len(words) + 1)]
    expected = [sum(log_probabilities(model, text)) - sum(before) for text in texts]
    assert made.insertion_gains(words, "b").tolist() == pytest.approx(expected)
    place = data.draw(st.integers(0, len(words) - 1))
    changed = [log_probabilities(model, [*words[:place], other, *words[place + 1 :]]) for other in "ace"]
    gains = made.substitution_gains(words, place, "ace")
    assert gains.tolist() == pytest.approx([sum(after) - sum(before) for after in changed])
    gains = made.substitution_gains(words, place, "ace", prefix_only=True)
    assert gains.tolist() == pytest.approx([after[place] - before[place] for after in changed])


def test_what_is_no_model_is_refused():
    for wrong in (([], 3, 0.75), ([["a"]], 0, 0.75), ([["a"]], 3, 0.0), ([["a"]], 3, 1.0)):
        with pytest.raises(ValueError, match="must be at least one text, an order from 1"):
            KneserNey(*wrong)
    with pytest.raises(ValueError, match="no texts"):
        KneserNey([["a"]]).perplexity([])
