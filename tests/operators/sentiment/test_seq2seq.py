import io
import json

import pytest
import sentencepiece
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.generation import utils as generation

from tiltmeter.operators.sentiment.seq2seq import Seq2SeqConfig, translate_texts
from tiltmeter.storage.models.load import load_translator

pytestmark = pytest.mark.usefixtures("one_thread")

TEXTS = ["the nurse saw the doctor", "hey boy, how are you?", "she feels sad", "he feels angry and sad", "a", "Ωμέγα"]
POSITIONS = 24
SIZES = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "max_position_embeddings": POSITIONS,
    "init_std": 0.6,
}


@pytest.fixture(scope="module")
def pieces():
    """A SentencePiece model as its file, and its pieces."""
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS[:4] * 3), model_writer=file, vocab_size=40, hard_vocab_limit=False, minloglevel=2
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
    names = [processor.IdToPiece(number) for number in range(processor.GetPieceSize())]
    return file.getvalue(), [name for name in names if name not in ("<unk>", "<s>", "</s>")]


def _loaded(folder, model, kind, vocabulary, files):
    # Else it would say one word again and again, whatever the text.
    model.generation_config.no_repeat_ngram_size = 1
    model.save_pretrained(folder)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(vocabulary)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    return load_translator(str(folder), "cpu", "translator.es.there")


@pytest.fixture(scope="module")
def marian(tmp_path_factory, pieces):
    file, names = pieces
    vocabulary = ["</s>", "<unk>", *names, "<pad>"]
    padding = len(vocabulary) - 1
    special = {"pad_token_id": padding, "decoder_start_token_id": padding, "eos_token_id": 0, "forced_eos_token_id": 0}
    torch.manual_seed(1)
    model = transformers.MarianMTModel(transformers.MarianConfig(vocab_size=len(vocabulary), **special, **SIZES))
    model.generation_config.update(num_beams=2, bad_words_ids=[[padding]])
    files = {"source.spm": file, "target.spm": file}
    return _loaded(tmp_path_factory.mktemp("marian"), model, "MarianTokenizer", vocabulary, files)


@pytest.fixture(scope="module")
def m2m100(tmp_path_factory, pieces):
    file, names = pieces
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", *names]
    torch.manual_seed(2)
    model = transformers.M2M100ForConditionalGeneration(
        transformers.M2M100Config(vocab_size=len(vocabulary) + 110, **SIZES)
    )
    files = {"sentencepiece.bpe.model": file}
    return _loaded(tmp_path_factory.mktemp("m2m100"), model, "M2M100Tokenizer", vocabulary, files)


@pytest.fixture(scope="module")
def nllb(pieces):
    names = ["<s>", "<pad>", "</s>", "<unk>", *(name.removeprefix("▁") for name in pieces[1])]
    tokenizer = transformers.NllbTokenizer(vocab={name: number for number, name in enumerate(dict.fromkeys(names))})
    torch.manual_seed(3)
    return transformers.M2M100ForConditionalGeneration(
        transformers.M2M100Config(vocab_size=len(tokenizer), **SIZES)
    ), tokenizer


def translated(translator, texts, **settings):
    return translate_texts(*translator, texts, Seq2SeqConfig(**settings))


def alone(translator, text, **settings):
    model, tokenizer = translator
    generated = model.generate(**tokenizer(text, return_tensors="pt"), do_sample=False, **settings)
    return tokenizer.decode(generated[0], skip_special_tokens=True)


@pytest.mark.parametrize("num_beams", [1, 3])
@pytest.mark.parametrize("max_tokens", [1, 12, 500])
def test_texts_are_translated_as_each_would_be_alone(marian, num_beams, max_tokens) -> None:
    expected = [alone(marian, text, num_beams=num_beams, max_new_tokens=10) for text in TEXTS]
    found = translated(marian, TEXTS, num_beams=num_beams, max_tokens=max_tokens, max_new_tokens=10)
    assert found == expected
    assert len(set(found)) > 3


@given(st.lists(st.sampled_from(TEXTS), max_size=12))
@settings(max_examples=10)
def test_other_texts_do_not_matter(marian, texts) -> None:
    each = {text: translated(marian, [text], max_new_tokens=4)[0] for text in texts}
    assert translated(marian, texts, max_new_tokens=4) == [each[text] for text in texts]


def test_beams_are_those_of_the_model_unless_they_are_set(marian) -> None:
    assert translated(marian, TEXTS, max_new_tokens=10) == translated(marian, TEXTS, max_new_tokens=10, num_beams=2)
    assert translated(marian, TEXTS, max_new_tokens=10) != translated(marian, TEXTS, max_new_tokens=10, num_beams=1)


def test_nothing_is_drawn_whatever_the_model_would_do(marian) -> None:
    model = marian[0]
    expected = translated(marian, TEXTS, max_new_tokens=6)
    model.train()
    model.generation_config.do_sample = True
    state = torch.get_rng_state()
    assert translated(marian, TEXTS, max_new_tokens=6) == expected
    assert torch.equal(torch.get_rng_state(), state)
    model.generation_config.do_sample = False


def test_no_translation_is_longer_than_what_is_set_or_than_the_model(marian, monkeypatch) -> None:
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


def test_blanks_are_left_as_they_are(marian) -> None:
    found = translated(marian, ["", "she feels sad", " \n", "she feels sad"], max_new_tokens=5)
    assert found[0] == ""
    assert found[2] == " \n"
    assert found[1] == found[3] != ""
    assert translated(marian, []) == []


@pytest.mark.parametrize(
    ("name", "codes"), [("m2m100", ("en", "da")), ("m2m100", ("da", "en")), ("nllb", ("dan_Latn", "spa_Latn"))]
)
def test_codes_say_from_what_and_into_what(request, name, codes) -> None:
    (source, target), translator = codes, request.getfixturevalue(name)
    tokenizer = translator[1]
    tokenizer.src_lang = "eng_Latn" if name == "nllb" else "af"
    texts = ["she feels"] if name == "nllb" else TEXTS
    found = translated(translator, texts, source_code=source, target_code=target, max_new_tokens=6)
    tokenizer.src_lang = source
    first, forced = tokenizer.convert_tokens_to_ids([f"__{code}__" if name == "m2m100" else code for code in codes])
    assert tokenizer("she")["input_ids"][0] == first
    assert found == [alone(translator, text, max_new_tokens=6, forced_bos_token_id=forced) for text in texts]


@pytest.mark.parametrize(
    ("name", "codes", "message"),
    [
        ("m2m100", {}, r"source_code=None: must be a language code of the model, one of af, am, ar"),
        ("m2m100", {"source_code": "en"}, r"target_code=None: must be a language code"),
        ("m2m100", {"source_code": "en", "target_code": "dan_Latn"}, r"target_code=dan_Latn: must be a language code"),
        (
            "nllb",
            {"source_code": "eng_Latn", "target_code": "es"},
            r"target_code=es: .* of the model, one of ace_Arab, ",
        ),
        (
            "marian",
            {"target_code": "es"},
            r"target_code=es: the model's tokenizer has no language codes; set target_code=n",
        ),
    ],
)
def test_codes_that_a_model_needs_are_asked_for_and_others_refused(request, name, codes, message) -> None:
    with pytest.raises(ValueError, match=message):
        translated(request.getfixturevalue(name), ["she"], **codes)


def test_a_text_that_would_lose_its_end_has_no_translation(marian) -> None:
    text = "she feels sad " * 20
    assert len(marian[1](text)["input_ids"]) > POSITIONS
    [short, long] = translated(marian, ["she", text])
    assert (short, long) == (translated(marian, ["she"])[0], None)
