import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate import bleu_score

from tiltmeter.operators.relations.bleu import bleu, bleu_counts, corpus_bleu, published_tokens

tokens = st.lists(st.sampled_from("abc"), max_size=9)
pairs = st.lists(st.tuples(st.lists(tokens, min_size=1, max_size=3), tokens), min_size=1, max_size=5)


def of_nltk(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bleu_score.corpus_bleu(*map(list, zip(*corpus, strict=True)))


@given(pairs)
def test_bleu_is_that_of_nltk(corpus):
    assert corpus_bleu(*zip(*corpus, strict=True)) == pytest.approx(of_nltk(corpus), rel=1e-12, abs=1e-12)


def test_counts_add_up_in_resamples():
    counts = np.stack([bleu_counts([list("abcde")], list(text)) for text in ("abcde", "abxde", "edcba")])
    weights = np.array([[1, 1, 1], [2, 1, 0]])
    expected = [
        of_nltk([([list("abcde")], list(text)) for text in texts])
        for texts in (
            ("abcde", "abxde", "edcba"),
            ("abcde", "abcde", "abxde"),
        )
    ]
    assert bleu(weights @ counts) == pytest.approx(expected, rel=1e-12)


def test_nothing_written_scores_nothing():
    assert corpus_bleu([[["a"]]], [[]]) == 0.0
    with pytest.raises(ValueError, match="one reference at least"):
        bleu_counts([], ["a"])


def test_published_tokens_have_no_commas():
    assert published_tokens('"," "president"') == published_tokens('"" "president"')
    text = "( ([ { x:true } ]+ ) /(a|b)-c/ )"
    assert " ".join(published_tokens(text)) == "( ( [ { x : true } ] + ) / ( a | b ) - c / )"
