from copy import deepcopy

import numpy as np
import pytest
import torch
from captum.attr import LayerIntegratedGradients
from tokenizers import ByteLevelBPETokenizer
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
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.text.tokenised import NO_WORD, tokenise

WORDPIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "not", "##ly", "she", "he", "feels", "##s"]
TEXTS = ["good", "She feels badly.", "he feels not goods", "unheard bad", "he he he she he he not bad"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


@pytest.fixture(scope="module")
def bert():
    """Spread out, so that words differ in more than rounding."""
    tokenizer = BertTokenizer(vocab={piece: number for number, piece in enumerate(WORDPIECES)})
    torch.manual_seed(0)
    config = BertConfig(vocab_size=13, max_position_embeddings=12, initializer_range=0.3, num_labels=3, **SIZES)
    return BertForSequenceClassification(config).eval(), tokenizer


def byte_pairs(folder):
    trained = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trained.train_from_iterator(TEXTS * 3, vocab_size=280, special_tokens=special, show_progress=False)
    trained.save_model(str(folder))
    return folder


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """A model that looks for the last token before the padding, and puts nothing around a text."""
    tokenizer = GPT2Tokenizer.from_pretrained(byte_pairs(tmp_path_factory.mktemp("gpt2")), pad_token="<pad>")
    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 40, "initializer_range": 0.3}
    return GPT2ForSequenceClassification(GPT2Config(vocab_size=280, pad_token_id=1, **sizes)).eval(), tokenizer


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    """A model that counts positions from the padding token on."""
    tokenizer = RobertaTokenizer.from_pretrained(byte_pairs(tmp_path_factory.mktemp("roberta")))
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


def test_values_are_those_of_a_plain_call_of_captum(bert) -> None:
    model, tokenizer = bert
    config = AttributionConfig(output="logit", num_steps=20, max_tokens=300)
    for text, found in zip(TEXTS, attribute(transformers_classifier(*bert), TEXTS, config), strict=True):
        tokens = by_captum(model, tokenizer, text, found.predicted, 20)
        [read] = tokenise(model, tokenizer, [text])
        sums = [tokens[read.word_of == word].sum() for word in range(len(found.words))]
        np.testing.assert_allclose(found.values, sums, atol=1e-4 * np.abs(tokens).max())
        assert tokens[read.word_of == NO_WORD] == pytest.approx(0.0, abs=1e-12)


def test_tokens_are_added_up_to_words(bert) -> None:
    [read] = tokenise(*bert, ["She feels badly."])
    assert read.words == ("She", "feels", "badly", ".")
    assert read.inputs["input_ids"] == [2, 9, 11, 6, 8, 1, 3]
    assert read.word_of.tolist() == [NO_WORD, 0, 1, 2, 2, 3, NO_WORD]
    assert not read.truncated


@pytest.mark.parametrize("name", ["bert", "gpt2", "roberta"])
@pytest.mark.parametrize("method", ["integrated_gradients", "occlusion"])
def test_a_text_has_the_same_attributions_alone_and_among_others(name, method, request) -> None:
    classifier = transformers_classifier(*request.getfixturevalue(name))
    config = AttributionConfig(method=method, output="logit", num_steps=100)
    for text, found in zip(TEXTS, attribute(classifier, TEXTS, config), strict=True):
        [alone] = attribute(classifier, [text], config)
        np.testing.assert_allclose(found.values, alone.values, atol=1e-4 * np.abs(alone.values).max())
        assert np.abs(found.values).max() > 0.01
        assert method == "occlusion" or abs(found.delta) < 2e-3 * max(1.0, abs(found.output - found.baseline))


def test_outputs_of_whole_texts_are_those_of_the_model(roberta) -> None:
    model, tokenizer = roberta
    classifier = transformers_classifier(*roberta)
    for text, found in zip(TEXTS, attribute(classifier, TEXTS, AttributionConfig(output="logit")), strict=True):
        with torch.no_grad():
            logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
        assert found.output == pytest.approx(logits[found.predicted].item(), abs=1e-5)
        np.testing.assert_allclose(found.probabilities, logits.softmax(dim=0), atol=1e-6)


def test_words_beyond_the_limit_of_the_model_are_kept_without_attribution(bert) -> None:
    [found] = attribute(transformers_classifier(*bert), ["he " * 9 + "badly good"], AttributionConfig(num_steps=5))
    assert found.truncated
    assert len(found.words) == 11
    assert np.isfinite(found.values).tolist() == [True] * 10 + [False]  # of badly, one token was read


def test_an_empty_text_is_classified_and_nothing_is_attributed(bert, gpt2) -> None:
    [found] = attribute(transformers_classifier(*bert), [""], AttributionConfig())
    assert (found.words, found.values.size) == ((), 0)
    assert found.predicted >= 0
    [nothing] = attribute(transformers_classifier(*gpt2), [""], AttributionConfig())
    assert nothing.predicted == -1
    assert np.isnan(predict(transformers_classifier(*gpt2), ["good", ""])).any(axis=1).tolist() == [False, True]


def test_what_a_token_reaches_over_is_one_word(gpt2) -> None:
    model, tokenizer = gpt2
    tokenizer = deepcopy(tokenizer)
    tokenizer.add_tokens(["d.b"])
    [read] = tokenise(model, tokenizer, ["good.bad not"])
    assert read.words == ("good.bad", "not")
    assert set(read.word_of.tolist()) == {0, 1}


def test_models_and_tokenizers_that_cannot_serve_are_refused(bert) -> None:
    model, tokenizer = bert
    padless = deepcopy(tokenizer)
    padless.pad_token = None
    with pytest.raises(ValueError, match="has no padding token"):
        transformers_classifier(model, padless)
    t5 = T5ForSequenceClassification(T5Config(vocab_size=13, d_model=4, d_kv=2, d_ff=4, num_layers=1, num_heads=1))
    with pytest.raises(ValueError, match="T5ForSequenceClassification reads a text by an encoder and again"):
        transformers_classifier(t5, tokenizer)
    slow = type("Slow", (), {"is_fast": False})
    with pytest.raises(ValueError, match=r"Slow does not say which characters .* tokenizer\.json"):
        tokenise(model, slow(), ["good"])
