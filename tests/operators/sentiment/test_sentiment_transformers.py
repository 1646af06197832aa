"""Translators and classifiers of transformers: every text as it would be alone."""

from copy import deepcopy

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import ByteLevelBPETokenizer
from transformers.generation import utils as generation

from tests.fixtures.translators import SIZES, pieces_of, write_translator
from tiltmeter.operators.sentiment.seq2seq import Seq2SeqConfig, translate_texts
from tiltmeter.operators.sentiment.transformer_scores import (
    ClassifierConfig,
    classify,
    label_values,
    score_texts,
    sentiments,
)
from tiltmeter.storage.models.load import load_classifier, load_translator

pytestmark = pytest.mark.usefixtures("one_thread")

# --- translators ----------------------------------------------------------------------------------------------------

TEXTS = ("the nurse saw the doctor", "hey boy, how are you?", "she feels sad", "he feels angry and sad", "a", "Ωμέγα")
POSITIONS = 24


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    settings = {"num_beams": 2, "forced_eos_token_id": 0}
    folder = write_translator(tmp_path_factory.mktemp("marian"), "Marian", TEXTS[:4], POSITIONS, **settings)
    return load_translator(folder, "cpu", "translator.es.there")


@pytest.fixture(scope="module")
def m2m100(tmp_path_factory):
    folder = write_translator(tmp_path_factory.mktemp("m2m100"), "M2M100", TEXTS[:4], POSITIONS)
    return load_translator(folder, "cpu", "translator.es.there")


@pytest.fixture(scope="module")
def nllb():
    pieces = (piece.removeprefix("▁") for piece in pieces_of(*TEXTS[:4])[1])
    names = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", *pieces])
    tokenizer = transformers.NllbTokenizer(vocab={name: number for number, name in enumerate(names)})
    torch.manual_seed(3)
    config = transformers.M2M100Config(vocab_size=len(tokenizer), max_position_embeddings=POSITIONS, **SIZES)
    return transformers.M2M100ForConditionalGeneration(config), tokenizer


def translated(translator, texts, **settings):
    return translate_texts(*translator, texts, Seq2SeqConfig(**settings))


def alone(translator, text, **settings):
    model, tokenizer = translator
    generated = model.generate(**tokenizer(text, return_tensors="pt"), do_sample=False, **settings)
    return tokenizer.decode(generated[0], skip_special_tokens=True)


@pytest.mark.long
@pytest.mark.parametrize("num_beams", [1, 3])
@pytest.mark.parametrize("max_tokens", [1, 12, 500])
def test_texts_are_translated_as_each_would_be_alone(marian, num_beams, max_tokens):
    """In whatever order, and a text that comes again."""
    expected = [alone(marian, text, num_beams=num_beams, max_new_tokens=10) for text in TEXTS]
    more = [*TEXTS[::-1], *TEXTS[1:4]]
    found = translated(marian, more, num_beams=num_beams, max_tokens=max_tokens, max_new_tokens=10)
    assert found == [*expected[::-1], *expected[1:4]]
    assert len(set(found)) > 3


def test_beams_are_those_of_the_model_unless_they_are_set(marian):
    assert translated(marian, TEXTS, max_new_tokens=10) == translated(marian, TEXTS, max_new_tokens=10, num_beams=2)
    assert translated(marian, TEXTS, max_new_tokens=10) != translated(marian, TEXTS, max_new_tokens=10, num_beams=1)


def test_nothing_is_drawn_whatever_the_model_would_do(marian):
    model = marian[0]
    expected = translated(marian, TEXTS, max_new_tokens=6)
    model.train()
    model.generation_config.do_sample = True
    state = torch.get_rng_state()
    assert translated(marian, TEXTS, max_new_tokens=6) == expected
    assert torch.equal(torch.get_rng_state(), state)
    model.generation_config.do_sample = False


def test_no_translation_is_longer_than_what_is_set_or_than_the_model(marian, monkeypatch):
    model, tokenizer = marian
    model.generation_config.max_length = 20
    for name, value in (("suppress_tokens", [tokenizer.eos_token_id]), ("forced_eos_token_id", None)):
        monkeypatch.setattr(model.generation_config, name, value)  # so that none ends by itself
    warnings = []
    monkeypatch.setattr(generation.logger, "warning", warnings.append)
    short, long = (translated(marian, ["he feels sad"], max_new_tokens=number)[0] for number in (3, 10**6))
    # One more than was generated, for the space before.
    assert 1 < len(tokenizer.tokenize(short)) <= 4 < len(tokenizer.tokenize(long)) <= POSITIONS + 1
    assert warnings == []  # which come where settings contradict each other


def test_blanks_are_left_as_they_are(marian):
    found = translated(marian, ["", "she feels sad", " \n", "she feels sad"], max_new_tokens=5)
    assert found[0] == ""
    assert found[2] == " \n"
    assert found[1] == found[3] != ""
    assert translated(marian, []) == []


@pytest.mark.parametrize(
    ("name", "codes"), [("m2m100", ("en", "da")), ("m2m100", ("da", "en")), ("nllb", ("dan_Latn", "spa_Latn"))]
)
def test_codes_say_from_what_and_into_what(request, name, codes):
    (source, target), translator = codes, request.getfixturevalue(name)
    tokenizer = translator[1]
    tokenizer.src_lang = "eng_Latn" if name == "nllb" else "af"
    texts = ["she feels"] if name == "nllb" else TEXTS
    found = translated(translator, texts, source_code=source, target_code=target, max_new_tokens=6)
    tokenizer.src_lang = source
    first, forced = tokenizer.convert_tokens_to_ids([f"__{code}__" if name == "m2m100" else code for code in codes])
    assert tokenizer("she")["input_ids"][0] == first
    assert found == [alone(translator, text, max_new_tokens=6, forced_bos_token_id=forced) for text in texts]


BOTH = {"source_code": "en", "target_code": "dan_Latn"}


@pytest.mark.parametrize(
    ("name", "codes", "message"),
    [
        ("m2m100", {}, r"source_code=None: must be a language code of the model, one of af, am, ar"),
        ("m2m100", {"source_code": "en"}, r"target_code=None: must be a language code"),
        ("m2m100", BOTH, r"target_code=dan_Latn: must be a language code"),
        ("nllb", BOTH | {"source_code": "eng_Latn", "target_code": "es"}, r"es: .* of the model, one of ace_Arab, "),
        ("marian", {"target_code": "es"}, r"target_code=es: the model's tokenizer has no language codes; set targ"),
    ],
)
def test_codes_that_a_model_needs_are_asked_for_and_others_refused(request, name, codes, message):
    with pytest.raises(ValueError, match=message):
        translated(request.getfixturevalue(name), ["she"], **codes)


def test_a_text_that_would_lose_its_end_has_no_translation(marian):
    text = "she feels sad " * 20
    assert len(marian[1](text)["input_ids"]) > POSITIONS
    [short, long] = translated(marian, ["she", text])
    assert (short, long) == (translated(marian, ["she"])[0], None)


# --- classifiers ----------------------------------------------------------------------------------------------------

SAID = ["good", "not good", "she feels bad", "he feels not badly", "", "unheard", "he he he he he he he"]
LONG = "she feels good " * 10
PIECES = ["good", "bad", "not", "##ly", "she", "he", "feels"]
USUAL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
USUAL |= {"max_position_embeddings": 12, "initializer_range": 0.15, "id2label": {0: "NEGATIVE", 1: "POSITIVE"}}
"""Spread out, so that texts differ in more than rounding."""


@pytest.fixture(scope="module")
def loaded(write_bert, tmp_path_factory):
    """A classifier with some settings unlike the usual, and its folder."""

    def loaded(**settings):
        folder = tmp_path_factory.mktemp("classifier")
        write_bert(folder, PIECES, "BertForSequenceClassification", **(USUAL | settings))
        return load_classifier(str(folder), "cpu", "sentiment.mine.model"), folder

    return loaded


@pytest.fixture(scope="module")
def bert(loaded):
    return loaded()[0]


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """A model that puts nothing around a text."""
    folder = tmp_path_factory.mktemp("gpt2")
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(SAID, vocab_size=262, special_tokens=["<|endoftext|>"], show_progress=False)
    trained.save_model(str(folder))
    tokenizer = transformers.GPT2Tokenizer.from_pretrained(folder, pad_token="<|endoftext|>")
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 1, "n_positions": 40}
    config = transformers.GPT2Config(vocab_size=262, pad_token_id=0, **sizes)
    return transformers.GPT2ForSequenceClassification(config), tokenizer


def found(classifier, texts, **settings):
    return classify(*classifier, texts, ClassifierConfig(**settings))


def by_hand(classifier, text):
    """From a forward pass of the text alone."""
    model, tokenizer = classifier
    with torch.no_grad():
        outputs = model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=12)).logits[0].double()
    return (outputs.exp() / outputs.exp().sum()).numpy()


def test_probabilities_are_those_of_each_text_alone(bert):
    texts = [*SAID, "he " * 10, "he " * 11, LONG]  # the tenth word is the last that the model takes
    probabilities, truncated = found(bert, texts, max_tokens=24)
    np.testing.assert_allclose(probabilities, [by_hand(bert, text) for text in texts], atol=1e-6)
    assert probabilities.dtype == np.float32
    assert truncated.tolist() == [False] * (len(SAID) + 1) + [True, True]
    assert np.ptp(probabilities[:, 0]) > 0.1


def test_scores_are_those_of_the_pipeline(loaded):
    classifier, folder = loaded()
    results = transformers.pipeline("text-classification", model=str(folder))(SAID)
    expected = [result["score"] * {"POSITIVE": 1, "NEGATIVE": -1}[result["label"]] for result in results]
    np.testing.assert_allclose(
        score_texts(*classifier, SAID, ClassifierConfig(score="confidence"))[0], expected, atol=1e-6
    )


@pytest.mark.long
@given(st.lists(st.sampled_from([*SAID, LONG]), max_size=20), st.integers(1, 100))
@settings(max_examples=30)
def test_what_else_is_asked_for_moves_no_score_by_a_millionth(bert, texts, max_tokens):
    alone = {text: score_texts(*bert, [text], ClassifierConfig())[0][0] for text in texts}
    scores, _ = score_texts(*bert, texts, ClassifierConfig(max_tokens=max_tokens))
    assert found(bert, texts).probabilities.shape == (len(texts), 2)
    np.testing.assert_allclose(scores, [alone[text] for text in texts], atol=1e-6)
    np.testing.assert_array_equal(scores, score_texts(*bert, texts, ClassifierConfig(max_tokens=max_tokens))[0])


def test_a_text_is_computed_once(bert, monkeypatch):
    expected = found(bert, ["good", "bad"]).probabilities
    rows, forward = [], bert[0].forward

    def counted(**inputs):
        rows.extend(inputs["input_ids"].tolist())
        return forward(**inputs)

    monkeypatch.setattr(bert[0], "forward", counted)
    np.testing.assert_array_equal(found(bert, ["good", "bad", "good"]).probabilities, expected[[0, 1, 0]])
    assert rows == [[2, 5, 3], [2, 6, 3]]  # [CLS] good [SEP], [CLS] bad [SEP]


def test_dropout_is_off_and_nothing_is_drawn(bert):
    expected = found(bert, SAID).probabilities
    bert[0].train()
    state = torch.get_rng_state()
    np.testing.assert_array_equal(found(bert, SAID).probabilities, expected)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_text_without_any_token_has_no_score_and_a_tokenizer_has_to_pad(gpt2):
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
def test_labels_that_say_what_they_are_worth_or_are_told(labels, values, expected):
    """Whatever form of a character they have, and where YAML takes them for numbers."""
    assert label_values(dict(reversed([*enumerate(labels)])), ClassifierConfig(values).labels).tolist() == expected


@pytest.mark.parametrize("names", [["LABEL_0", "LABEL_1"], ["joy", "positive"], ["1 star", "3 stars"]])
def test_labels_that_do_not_say_what_they_are_worth_are_refused(names):
    values = rf"\{{{names[0]}: -1, {names[1]}: 1\}}"
    message = rf"labels, {names[0]}, {names[1]}, do not say.*set sentiment\.<name>\.classifier\.labels.*{values}"
    with pytest.raises(ValueError, match=message):
        label_values(dict(enumerate(names)))


@pytest.mark.parametrize("labels", [{"NEGATIVE": -1.0}, {"NEGATIVE": -1.0, "POSITIVE": 1.0, "NEUTRAL": 0.0}, {}])
def test_values_of_other_labels_are_refused(bert, labels):
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
def test_scores_by_hand(score, expected):
    probabilities = [[0.5, 0.2, 0.3], [0.1, 0.3, 0.6], [0.4, 0.4, 0.2], [np.nan] * 3]
    found = sentiments(np.array(probabilities, np.float32), np.array([-1.0, 0.0, 0.5]), score)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("keys", [{"problem_type": "multi_label_classification"}, {"id2label": {0: "LABEL_0"}}])
def test_models_whose_labels_do_not_exclude_each_other_are_refused(loaded, keys):
    with pytest.raises(ValueError, match=r"the model has \d labels and problem_type=|tells no classes apart"):
        found(loaded(**keys)[0], ["good"])


def test_outputs_that_are_not_finite_are_refused(loaded):
    model, tokenizer = loaded()[0]
    model.classifier.bias.data[0] = torch.nan
    with pytest.raises(ValueError, match=r"outputs are not finite.*set the system's model"):
        found((model, tokenizer), ["good"])
