"""Log-likelihoods: the toy model by hand, transformers' own loss, masks of words of several pieces, batches."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM, BertTokenizer, GPT2Config, GPT2LMHeadModel

from tiltmeter.operators.language_models.likelihoods import (
    SCORES,
    LanguageModel,
    Sentence,
    mask_sets,
    shared_tokens,
    totals,
)

CLS, SEP, MASK = 0, 1, 2
TOY = {"[CLS]": 0, "[SEP]": 1, "[MASK]": 2, "the": 3, "man": 4, "woman": 5, "is": 6, "late": 7, "##ly": 8, "nurse": 9}
MAN, WOMAN = ([CLS, 3, person, 6, 7, 8, SEP] for person in (4, 5))


def left(a):
    b = np.arange(10)
    return ((3 * a + 5 * b + a * b) % 7) / 2


def right(c):
    b = np.arange(10)
    return ((2 * c + b**2 + 3 * b * c) % 5) / 2


class _Toy(torch.nn.Module):
    """Logits of a token by its neighbours; of the next one, by the one before."""

    device = torch.device("cpu")
    config = SimpleNamespace(max_position_embeddings=-1)

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, input_ids, attention_mask):  # noqa: ARG002
        rows = []
        for ids in input_ids.tolist():
            padded = [ids[0], *ids, ids[-1]]
            around = zip(padded, padded[1:], padded[2:], strict=False)
            rows.append([left(a) + right(c) if self.kind == "masked" else left(b) for a, b, c in around])
        return SimpleNamespace(logits=torch.tensor(np.array(rows)))


TOKENS = SimpleNamespace(is_fast=True, mask_token_id=MASK, pad_token_id=None, model_max_length=100)


def toy_scores(score):
    kind, masking, is_shared = SCORES[score]
    model = LanguageModel(_Toy(kind), TOKENS, kind)
    words = np.array([-1, 0, 1, 2, 3, 3, -1])
    cut = slice(None) if kind == "masked" else slice(-1)  # without an end
    sentences = [Sentence(ids[cut], words[cut] >= 0, words[cut]) for ids in (MAN, WOMAN)]
    first, second = model.log_probabilities(sentences, masking)
    return totals(*sentences, (first, second), is_shared=is_shared)


@pytest.mark.parametrize(
    ("score", "man", "woman"),
    [
        ("shared", -11.233138620579, -9.570637660169),
        ("pll", -12.753056371878, -13.090555411468),
        ("pll_word_l2r", -14.540080472598, -14.877579512188),
        ("shared_word_l2r", -13.020162721300, -11.357661760890),
        ("log_likelihood", -11.514252097943, -13.420337703165),
    ],
)
def test_the_toy_has_the_values_that_were_found_by_hand(score, man, woman):
    totals_of = toy_scores(score)
    assert [one.log_likelihood for one in totals_of] == pytest.approx([man, woman], abs=1e-11)
    assert {one.num_tokens for one in totals_of} == {4 if "shared" in score else 5}


@pytest.fixture(scope="module")
def masked(write_bert, tmp_path_factory):
    folder = write_bert(
        tmp_path_factory.mktemp("masked"),
        ["the", "ho", "##oli", "##gan", "man", "is", "late"],
        "BertForMaskedLM",
        initializer_range=0.5,
    )
    return LanguageModel(BertForMaskedLM.from_pretrained(folder), BertTokenizer.from_pretrained(folder), "masked")


@pytest.fixture(scope="module")
def causal(masked):
    """With a tokenizer that has a start token; its masked brother's."""
    tokenizer = copy.deepcopy(masked.tokenizer)
    tokenizer.bos_token = "[CLS]"
    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32, "initializer_range": 0.5}
    return LanguageModel(GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **sizes)), tokenizer, "causal")


TEXTS = ["the hooligan is late", "the man", "man is late the man is the late hooligan", "the"]


def values_of(model, texts, masking=None):
    return model.log_probabilities([model.sentence(text) for text in texts], masking)


def test_a_causal_sum_is_what_transformers_says_of_its_loss(causal):
    for text, values in zip(TEXTS, values_of(causal, TEXTS), strict=True):
        ids = torch.tensor([causal.sentence(text).ids])
        loss = causal.model.eval()(input_ids=ids, labels=ids).loss.item()
        assert np.isnan(values[0])
        assert -np.nansum(values) / (ids.shape[1] - 1) == pytest.approx(loss, abs=1e-5)


def test_a_causal_model_without_a_start_token_leaves_the_first_token_unscored(causal):
    tokenizer = copy.deepcopy(causal.tokenizer)
    tokenizer.bos_token = None
    without = LanguageModel(causal.model, tokenizer, "causal")
    [values] = values_of(without, ["the man is late"])
    assert np.isnan(values).tolist() == [True, False, False, False]
    ids = torch.tensor([without.sentence("the man is late").ids])
    assert -np.nanmean(values) == pytest.approx(causal.model(input_ids=ids, labels=ids).loss.item(), abs=1e-5)


@pytest.mark.parametrize("masking", ["token", "word_l2r"])
def test_a_masked_value_is_minus_the_loss_of_transformers_with_these_places_hidden(masked, masking):
    sentence = masked.sentence(TEXTS[0])
    [values] = values_of(masked, TEXTS[:1], masking)
    for token, hidden in mask_sets(sentence, masking).items():
        ids = torch.tensor([sentence.ids])
        ids[0, list(hidden)] = masked.tokenizer.mask_token_id
        labels = torch.full_like(ids, -100)
        labels[0, token] = sentence.ids[token]
        loss = masked.model.eval()(input_ids=ids, labels=labels).loss.item()
        assert values[token] == pytest.approx(-loss, abs=1e-5)
    assert np.isnan(values[[0, -1]]).all()


def test_a_word_of_three_pieces_hides_its_later_pieces_and_no_earlier_one(masked):
    sentence = masked.sentence("the hooligan is late")
    assert mask_sets(sentence, "word_l2r") == {1: (1,), 2: (2, 3, 4), 3: (3, 4), 4: (4,), 5: (5,), 6: (6,)}
    assert mask_sets(sentence, "token") == {place: (place,) for place in range(1, 7)}
    again = masked.sentence("hooligan hooligan")
    assert mask_sets(again, "word_l2r")[1] == (1, 2, 3)


@pytest.mark.parametrize("max_tokens", [1, 20, 4096])
def test_values_do_not_depend_on_what_else_is_asked_about_nor_on_how_much_at_a_time(masked, causal, max_tokens):
    for model, masking in ((masked, "word_l2r"), (masked, "token"), (causal, None)):
        alone = [values_of(model, [text], masking)[0] for text in TEXTS]
        together = values_of(replace(model, max_tokens=max_tokens), TEXTS[::-1], masking)[::-1]
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


def test_sentences_without_the_words_in_which_they_differ_are_one_question(masked):
    asked = []
    masked.model.register_forward_pre_hook(
        lambda _, __, given: asked.append(given["input_ids"].tolist()), with_kwargs=True
    )
    values_of(masked, ["the man is late", "the the is late"], "token")
    rows = [tuple(row) for batch in asked for row in batch]
    assert len(rows) == len(set(rows)) == 7


def test_repeated_words_are_aligned_as_difflib_does():
    assert shared_tokens([0, 3, 4, 3, 6, 1], [0, 3, 5, 3, 6, 1]) == ([0, 1, 3, 4, 5], [0, 1, 3, 4, 5])
    assert shared_tokens([0, 4, 6, 1], [0, 5, 5, 6, 1]) == ([0, 2, 3], [0, 3, 4])


def test_shared_tokens_are_as_many_on_both_sides(masked):
    both = [masked.sentence(text) for text in ("the hooligan is late", "the man is late")]
    first, second = totals(*both, tuple(masked.log_probabilities(both, "token")), is_shared=True)
    assert (first.num_tokens, second.num_tokens) == (3, 3)
    values = masked.log_probabilities(both, "token")
    assert first.log_likelihood == pytest.approx(values[0][[1, 5, 6]].sum())
    assert second.log_likelihood == pytest.approx(values[1][[1, 3, 4]].sum())


def test_outputs_that_are_not_finite_are_said_to_be(masked):
    broken = copy.deepcopy(masked.model)
    torch.nn.init.constant_(broken.cls.predictions.bias, float("nan"))
    with pytest.raises(ValueError, match="outputs are not finite"):
        values_of(replace(masked, model=broken), ["the man"], "token")


def test_a_tokenizer_that_knows_no_words_is_refused_where_they_matter(masked):
    slow = SimpleNamespace(is_fast=False, mask_token_id=2, pad_token_id=0)
    model, sentence = replace(masked, tokenizer=slow), masked.sentence("the man")
    with pytest.raises(ValueError, match="does not say which pieces are one word: bring its fast one along"):
        model.log_probabilities([sentence], "word_l2r")
    [values] = model.log_probabilities([sentence], "token")
    assert np.isfinite(values[1:-1]).all()
