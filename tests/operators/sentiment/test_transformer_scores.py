from copy import deepcopy

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import ByteLevelBPETokenizer

from tiltmeter.operators.sentiment.transformer_scores import (
    ClassifierConfig,
    classify,
    label_values,
    score_texts,
    sentiments,
)
from tiltmeter.storage.models.load import load_classifier

pytestmark = pytest.mark.usefixtures("one_thread")

WORDPIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "not", "##ly", "she", "he", "feels"]
LABELS = {0: "NEGATIVE", 1: "POSITIVE"}
# Spread out, so that texts differ in more than rounding.
BERT = transformers.BertConfig(
    vocab_size=12,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=12,
    initializer_range=0.15,
    id2label=LABELS,
)
TEXTS = ["good", "not good", "she feels bad", "he feels not badly", "", "unheard", "he he he he he he he"]
LONG = "she feels good " * 10


def loaded(folder, config):
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDPIECES))
    torch.manual_seed(0)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return load_classifier(str(folder), "cpu", "sentiment.mine.model")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("classifier")


@pytest.fixture(scope="module")
def bert(folder):
    return loaded(folder, BERT)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """A model that puts nothing around a text."""
    folder = tmp_path_factory.mktemp("gpt2")
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXTS, vocab_size=262, special_tokens=["<|endoftext|>"], show_progress=False)
    trained.save_model(str(folder))
    tokenizer = transformers.GPT2Tokenizer.from_pretrained(folder, pad_token="<|endoftext|>")
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 1, "n_positions": 40}
    return transformers.GPT2ForSequenceClassification(
        transformers.GPT2Config(vocab_size=262, pad_token_id=0, **sizes)
    ), tokenizer


def found(classifier, texts, **settings):
    return classify(*classifier, texts, ClassifierConfig(**settings))


def by_hand(classifier, text):
    """From a forward pass of the text alone."""
    model, tokenizer = classifier
    with torch.no_grad():
        outputs = model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=12)).logits[0].double()
    return (outputs.exp() / outputs.exp().sum()).numpy()


def test_probabilities_are_those_of_each_text_alone(bert) -> None:
    texts = [*TEXTS, "he " * 10, "he " * 11, LONG]  # the tenth word is the last that the model takes
    probabilities, truncated = found(bert, texts, max_tokens=24)
    np.testing.assert_allclose(probabilities, [by_hand(bert, text) for text in texts], atol=1e-6)
    assert probabilities.dtype == np.float32
    assert truncated.tolist() == [False] * (len(TEXTS) + 1) + [True, True]
    assert np.ptp(probabilities[:, 0]) > 0.1


def test_scores_are_those_of_the_pipeline(folder, bert) -> None:
    results = transformers.pipeline("text-classification", model=str(folder))(TEXTS)
    expected = [result["score"] * {"POSITIVE": 1, "NEGATIVE": -1}[result["label"]] for result in results]
    np.testing.assert_allclose(score_texts(*bert, TEXTS, ClassifierConfig(score="confidence"))[0], expected, atol=1e-6)


@given(st.lists(st.sampled_from([*TEXTS, LONG]), max_size=20), st.integers(1, 100))
@settings(max_examples=30)
def test_what_else_is_asked_for_moves_no_score_by_a_millionth(bert, texts, max_tokens) -> None:
    alone = {text: score_texts(*bert, [text], ClassifierConfig())[0][0] for text in texts}
    scores, _ = score_texts(*bert, texts, ClassifierConfig(max_tokens=max_tokens))
    assert found(bert, texts).probabilities.shape == (len(texts), 2)
    np.testing.assert_allclose(scores, [alone[text] for text in texts], atol=1e-6)
    np.testing.assert_array_equal(scores, score_texts(*bert, texts, ClassifierConfig(max_tokens=max_tokens))[0])


def test_a_text_is_computed_once(bert, monkeypatch) -> None:
    expected = found(bert, ["good", "bad"]).probabilities
    rows, forward = [], bert[0].forward

    def counted(**inputs):
        rows.extend(inputs["input_ids"].tolist())
        return forward(**inputs)

    monkeypatch.setattr(bert[0], "forward", counted)
    np.testing.assert_array_equal(found(bert, ["good", "bad", "good"]).probabilities, expected[[0, 1, 0]])
    assert rows == [[2, 5, 3], [2, 6, 3]]  # [CLS] good [SEP], [CLS] bad [SEP]


def test_dropout_is_off_and_nothing_is_drawn(bert) -> None:
    expected = found(bert, TEXTS).probabilities
    bert[0].train()
    state = torch.get_rng_state()
    np.testing.assert_array_equal(found(bert, TEXTS).probabilities, expected)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_text_without_any_token_has_no_score_and_a_tokenizer_has_to_pad(gpt2) -> None:
    probabilities, _ = found(gpt2, ["good", "", "not good at all"])
    assert np.isnan(probabilities).any(axis=1).tolist() == [False, True, False]
    unpadded = deepcopy(gpt2[1])
    unpadded.pad_token = None
    with pytest.raises(ValueError, match=r"has no padding token.*pad_token"):
        found((gpt2[0], unpadded), ["good"])
    np.testing.assert_allclose(probabilities[2], found(gpt2, ["not good at all"]).probabilities[0], atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "values", "expected"),
    [
        (["NEGATIVE", "POSITIVE"], None, [-1, 1]),
        (["positive", "neutral", "negative"], None, [1, 0, -1]),
        (["Neg", "Neu", "Pos"], None, [-1, 0, 1]),
        (["1 star", "2 stars", "3 stars", "4 stars", "5 stars"], None, [-1, -0.5, 0, 0.5, 1]),
        (["3 stars", "2 stars", "1 star"], None, [1, 0, -1]),
        (["LABEL_0", "LABEL_1"], {"LABEL_1": 0.5, "LABEL_0": -1.0}, [-1.0, 0.5]),
        (["0", "ma\u0302le"], {"m\u00e2le": 0.5, 0: -1.0}, [-1.0, 0.5]),
    ],
)
def test_labels_that_say_what_they_are_worth_or_are_told(labels, values, expected) -> None:
    """Whatever form of a character they have, and where YAML takes them for numbers."""
    assert label_values(dict(reversed([*enumerate(labels)])), ClassifierConfig(values).labels).tolist() == expected


@pytest.mark.parametrize("names", [["LABEL_0", "LABEL_1"], ["joy", "positive"], ["1 star", "3 stars"]])
def test_labels_that_do_not_say_what_they_are_worth_are_refused(names) -> None:
    values = rf"\{{{names[0]}: -1, {names[1]}: 1\}}"
    message = rf"labels, {names[0]}, {names[1]}, do not say.*set sentiment\.<name>\.classifier\.labels.*{values}"
    with pytest.raises(ValueError, match=message):
        label_values(dict(enumerate(names)))


@pytest.mark.parametrize("labels", [{"NEGATIVE": -1.0}, {"NEGATIVE": -1.0, "POSITIVE": 1.0, "NEUTRAL": 0.0}, {}])
def test_values_of_other_labels_are_refused(bert, labels) -> None:
    known = "the model's labels are NEGATIVE, POSITIVE"
    with pytest.raises(ValueError, match=rf"labels=\{{.*\}}: {known}; set sentiment\.<name>\.classifier\.labels"):
        score_texts(*bert, ["good"], ClassifierConfig(labels=labels))


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("expected", [-0.35, 0.2, -0.3, np.nan]),
        ("confidence", [-0.5, 0.3, -0.4, np.nan]),
        ("top", [-1.0, 0.5, -1.0, np.nan]),  # of a tie the first
    ],
)
def test_scores_by_hand(score, expected) -> None:
    probabilities = [[0.5, 0.2, 0.3], [0.1, 0.3, 0.6], [0.4, 0.4, 0.2], [np.nan] * 3]
    found = sentiments(np.array(probabilities, np.float32), np.array([-1.0, 0.0, 0.5]), score)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("keys", [{"problem_type": "multi_label_classification"}, {"id2label": {0: "LABEL_0"}}])
def test_models_whose_labels_do_not_exclude_each_other_are_refused(tmp_path, keys) -> None:
    with pytest.raises(ValueError, match=r"the model has \d labels and problem_type=|tells no classes apart"):
        found(loaded(tmp_path, transformers.BertConfig(**BERT.to_dict() | keys)), ["good"])


def test_outputs_that_are_not_finite_are_refused(tmp_path) -> None:
    model, tokenizer = loaded(tmp_path, BERT)
    model.classifier.bias.data[0] = torch.nan
    with pytest.raises(ValueError, match=r"outputs are not finite.*set the system's model"):
        found((model, tokenizer), ["good"])
