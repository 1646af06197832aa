import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import ByteLevelBPETokenizer

from tiltmeter.operators.embedding.encoders.words import EncoderConfig, encode_words
from tiltmeter.storage.models.load import load_encoder

pytestmark = pytest.mark.usefixtures("one_thread")

# Spread out, so that no layer is close to the identity.
WIDE = {"hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
BERT = transformers.BertConfig(vocab_size=12, max_position_embeddings=16, initializer_range=0.2, **WIDE)
WORDPIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "nurse", "doc", "##tor", "a", "##b", "new", "##s"]
WORDS = ["nurse", "doctor", "docs", "news", "new", "ab", "abs", "abbbb", "newtors", "new nurse", "a"]
TEXT = ["the nurse saw the nurse and the doctor", "a doctor and a nurse saw the nurse"] * 4


def _loaded(folder, model):
    model.save_pretrained(folder)
    return load_encoder(str(folder), "cpu", "embedding.model")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    (folder / "vocab.txt").write_text("\n".join(WORDPIECES))
    torch.manual_seed(0)
    return _loaded(folder, transformers.BertModel(BERT))


def _byte_level(kind, special, **sizes):
    """A fixture: a model of a kind whose tokenizer reads bytes."""

    @pytest.fixture(scope="module", name=kind)
    def make(tmp_path_factory):
        folder = tmp_path_factory.mktemp(kind)
        tokenizer = ByteLevelBPETokenizer()
        tokenizer.train_from_iterator(TEXT, 290, 2, show_progress=False, special_tokens=special)
        tokenizer.save_model(str(folder))
        torch.manual_seed(1)
        config = transformers.AutoConfig.for_model(kind, vocab_size=290, **sizes)
        return _loaded(folder, transformers.AutoModel.from_config(config))

    return make


SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
roberta = _byte_level("roberta", ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], max_position_embeddings=20, **SIZES)
gpt2 = _byte_level("gpt2", ["<|endoftext|>"], n_embd=16, n_layer=2, n_head=2, n_positions=20)


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    pieces = ["<pad>", "</s>", "<unk>", "▁", "▁nurse", "▁doc", "tor", "a", "b"]
    folder = tmp_path_factory.mktemp("t5")
    vocabulary = [(piece, -float(row)) for row, piece in enumerate(pieces)]
    transformers.T5Tokenizer(vocab=vocabulary, extra_ids=0).save_pretrained(folder)
    torch.manual_seed(3)
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    return _loaded(folder, transformers.T5Model(transformers.T5Config(vocab_size=9, **sizes)))


def states(model, ids):
    """Each layer's ``[tokens, dims]`` for one text, padded by nothing."""
    with torch.no_grad():
        found = model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
    return np.stack([layer[0].numpy() for layer in found])


def encoded(encoder, words, **settings):
    return encode_words(*encoder, words, EncoderConfig(**settings))


@pytest.mark.long
@pytest.mark.parametrize(
    ("pooling", "pool_special", "tokens"),
    [
        *(("first", False, [1]), ("last", False, [3]), ("mean", False, [1, 2, 3])),
        *(("first", True, [0]), ("last", True, [4]), ("mean", True, [0, 1, 2, 3, 4])),
    ],
)
@pytest.mark.parametrize("layers", [(0,), (3,), (-4,), (-1,), (-4, -3, -2, -1), (2, 0)])
def test_layers_are_summed_and_tokens_pooled_with_and_without_special_ones(
    bert, pooling, pool_special, tokens, layers
) -> None:
    expected = states(bert[0], [2, 6, 7, 11, 3])[list(layers)].sum(axis=0)  # [CLS] doc ##tor ##s [SEP]
    found = encoded(bert, ["nurse", "doctors"], pooling=pooling, pool_special=pool_special, layers=layers)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[1], expected[tokens].mean(axis=0), atol=1e-5)


@pytest.mark.long
@given(st.data())
@settings(max_examples=12)
def test_other_words_do_not_change_a_bit(bert, data) -> None:
    each = {word: encoded(bert, [word], layers=(0, -1), batch_size=4)[0] for word in WORDS}
    words = data.draw(st.lists(st.sampled_from(WORDS), max_size=30))
    found = encoded(bert, words, layers=(0, -1), batch_size=4)
    assert found.shape == (len(words), 96)
    for word, vector in zip(words, found, strict=True):
        np.testing.assert_array_equal(vector, each[word])


def test_nothing_is_drawn_and_what_a_tokenizer_comes_with_is_not_applied(bert) -> None:
    expected = encoded(bert, WORDS)
    bert[0].train()
    bert[1].backend_tokenizer.enable_padding(length=12)
    bert[1].backend_tokenizer.enable_truncation(max_length=3)
    state = torch.get_rng_state()
    np.testing.assert_array_equal(encoded(bert, WORDS), expected)
    assert torch.equal(torch.get_rng_state(), state)


def test_words_without_a_vector(bert) -> None:
    # Unknown, nothing, blank, unknown, and one token more than 16 positions: [CLS], 15 word pieces, [SEP].
    absent = ["engineer", "", " ", "Ωμέγα", "a" + "b" * 14]
    found = encoded(bert, ["nurse", *absent, "a" + "b" * 13, "nurse engineer"], pool_special=True)
    assert np.isnan(found).all(axis=1).tolist() == [False] + [True] * 5 + [False, False]
    np.testing.assert_array_equal(found[[0]], encoded(bert, ["nurse"], pool_special=True))


@pytest.mark.parametrize(("name", "around"), [("roberta", ([0], [2])), ("gpt2", ([], []))])
def test_byte_level_words_are_read_as_within_a_text(request, name, around) -> None:
    model, tokenizer = encoder = request.getfixturevalue(name)
    nurse, doctor = tokenizer.convert_tokens_to_ids(["Ġnurse", "Ġdoctor"])
    assert tokenizer.tokenize("the nurse")[-1] == "Ġnurse"
    found = encoded(encoder, ["nurse", "doctor"], layers=(-2, -1))
    for vector, token in zip(found, (nurse, doctor), strict=True):
        expected = states(model, [*around[0], token, *around[1]])[[-2, -1], len(around[0])].sum(axis=0)
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_decoder_sees_what_comes_before(gpt2) -> None:
    model, tokenizer = gpt2
    ids = tokenizer(" nurses")["input_ids"]
    assert len(ids) > 1
    np.testing.assert_allclose(encoded(gpt2, ["nurses"], pooling="last"), states(model, ids)[-1, -1:], atol=1e-5)
    # To its first token the end of the word is unknown.
    first = encoded(gpt2, ["nurses", "nurse"], pooling="first")
    np.testing.assert_allclose(first[0], first[1], atol=1e-5)
    # Words of bytes are never unknown, but may be nothing.
    assert np.isnan(encoded(gpt2, ["", "Ωμ", "nurse"])).all(axis=1).tolist() == [True, False, False]


def test_t5_is_its_encoder(t5) -> None:
    assert t5[1].tokenize("ω")[0] == "▁", "a space before what SentencePiece cannot read"
    assert np.isnan(encoded(t5, ["nurse", "ω", "aω"])).all(axis=1).tolist() == [False, True, False]
    expected = states(t5[0], [5, 6, 1])[-1]  # ▁doc tor </s>
    np.testing.assert_allclose(encoded(t5, ["doctor"]), [expected[:2].mean(axis=0)], atol=1e-5)
    np.testing.assert_allclose(encoded(t5, ["doctor"], pooling="last", pool_special=True), [expected[2]], atol=1e-5)


def test_checkpoints_in_half_precision_are_computed_in_full_and_states_that_are_not_finite_refused(
    bert, tmp_path
) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(WORDPIECES))
    torch.manual_seed(0)
    model = transformers.BertModel(BERT)
    half = _loaded(tmp_path, model.half())
    assert half[0].dtype == torch.float32
    np.testing.assert_allclose(encoded(half, WORDS), encoded(bert, WORDS), atol=0.05)
    model.embeddings.word_embeddings.weight.data[8] = torch.inf
    with pytest.raises(ValueError, match=r"hidden states for 'ab' are not finite.*embedding\.model"):
        encoded(_loaded(tmp_path, model), ["nurse", "ab"])


LACKING = r"has 3 layers.*none is {}; set embedding.encoder.layers to numbers from -4 to 3"


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((-1, 4), LACKING.format(4)),
        ((-1, -5), LACKING.format(-5)),
        ((-1, 3), r"layers=\(-1, 3\): names one state twice"),
    ],
)
def test_layers_that_a_model_lacks_or_has_once_are_refused(bert, layers, message) -> None:
    with pytest.raises(ValueError, match=message):
        encoded(bert, ["nurse"], layers=layers)
