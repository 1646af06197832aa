"""Vectors of sentences by a loop of our own, what other programs made of the same files, and means of words."""

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import save_file

from tiltmeter.operators.embedding.encoders.sentences import (
    Sentence,
    context_keys,
    encode_sentences,
    mean_of_rows,
    word_means,
)
from tiltmeter.operators.embedding.encoders.words import EncoderConfig, pooled_as_stated
from tiltmeter.storage.models.load import load_encoder
from tiltmeter.storage.models.sentence_folders import load_static

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "this", "is", "nurse", "doc", "##tor", ".", "##s", "a"]
TEXTS = ["this is a nurse.", "doctors", "This is: a doctor is this."]
PLACES = [(10, 15), (0, 7), (11, 17)]
SENTENCES = [Sentence(text, *place) for text, place in zip(TEXTS, PLACES, strict=True)]
IDS = [[2, 5, 6, 12, 7, 10, 3], [2, 8, 9, 11, 3], [2, 5, 6, 1, 12, 8, 9, 6, 5, 10, 3]]
OF_WORD = [[4], [1, 2, 3], [5, 6]]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """With weights by a formula, which the other programs had, too."""
    folder = tmp_path_factory.mktemp("bert")
    sizes = {"hidden_size": 6, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    model = transformers.BertModel(transformers.BertConfig(vocab_size=13, max_position_embeddings=16, **sizes))
    with torch.no_grad():
        for number, tensor in enumerate(model.parameters()):
            if tensor.ndim > 1:
                values = np.sin(12.9898 * (np.arange(tensor.numel()) + 1.0) * (number + 1.0)) * 0.9
                tensor.copy_(torch.tensor(values.reshape(tensor.shape)))
    model.save_pretrained(folder)
    transformers.BertTokenizer(vocab={word: number for number, word in enumerate(WORDS)}).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def loaded(bert):
    return load_encoder(str(bert), "cpu", "embedding.model")


def states(model, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states[-1][0].numpy()


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("pooled", ["word", "text"])
@pytest.mark.parametrize(
    ("pooling", "pool_special"), [("mean", False), ("first", False), ("last", True), ("mean", True)]
)
def test_a_sentence_is_pooled_over_its_tokens_or_its_words(loaded, pooled, pooling, pool_special, special):
    config = EncoderConfig(pooling=pooling, pool_special=pool_special, batch_size=2)
    found = encode_sentences(*loaded, SENTENCES, config, pooled=pooled, special=special)
    for vector, ids, of_word in zip(found, IDS, OF_WORD, strict=True):
        hidden = states(loaded[0], ids if special else ids[1:-1])
        around = 1 if special else 0
        whole = range(len(hidden)) if pool_special else range(around, len(hidden) - around)
        tokens = [place - (not special) for place in of_word] if pooled == "word" else list(whole)
        chosen = {"mean": tokens, "first": tokens[:1], "last": tokens[-1:]}[pooling]
        np.testing.assert_allclose(vector, hidden[chosen].mean(axis=0), atol=1e-5)


def test_other_sentences_change_no_bit_and_lost_ones_are_nan(loaded):
    config = EncoderConfig(batch_size=4)
    each = [encode_sentences(*loaded, [one], config)[0] for one in SENTENCES]
    lost = [Sentence("this is a xyz", 10, 13), Sentence("this " * 20 + "nurse", 100, 105)]
    found = encode_sentences(*loaded, [lost[0], *SENTENCES[::-1], lost[1]], config)
    np.testing.assert_array_equal(found[1:4], each[::-1])
    assert np.isnan(found[[0, 4]]).all()
    assert np.isnan(encode_sentences(*loaded, SENTENCES, config, most_tokens=6)).all(axis=1).tolist() == [
        True,
        False,
        True,
    ]


# By sentence-transformers 6.2.0, of folders that it saved with these weights: SentenceTransformer(...).encode(TEXTS).
STATED = {
    "cls": [
        [0.996412, -0.53793, 0.440789, -0.131406, -1.83504, 1.067174],
        [1.343311, -0.85115, 0.112515, 0.333036, -1.674641, 0.736929],
        [1.112476, -0.672595, 0.403858, 0.136153, -1.840553, 0.860662],
    ],
    "max": [
        [1.316741, 0.71247, 1.573389, 0.594633, 1.173628, 1.067174],
        [1.652554, -0.61183, 0.884579, 0.96174, 0.449154, 0.736929],
        [1.845143, 0.435359, 1.301507, 0.858887, 0.889499, 1.082742],
    ],
    "mean_sqrt_len_tokens": [
        [2.111958, -0.480782, -0.728375, 0.085717, -1.580915, 0.592398],
        [2.974801, -1.864472, -1.039636, 1.14264, -1.936109, 0.722777],
        [4.224216, -1.598602, -1.992888, 1.031348, -2.380431, 0.716357],
    ],
    "weightedmean": [
        [0.919666, -0.253528, -0.274756, 0.108222, -0.679915, 0.180312],
        [1.405005, -0.845609, -0.663604, 0.47844, -0.71129, 0.337059],
        [1.375743, -0.549698, -0.703938, 0.322571, -0.714057, 0.269379],
    ],
    "mean": [
        [0.798245, -0.181719, -0.2753, 0.032398, -0.59753, 0.223906],
        [1.330371, -0.833817, -0.46494, 0.511004, -0.865854, 0.323236],
        [1.273649, -0.481997, -0.600878, 0.310963, -0.717727, 0.21599],
    ],
}


def test_pooling_as_stated_is_that_of_sentence_transformers(loaded):
    for mode, expected in STATED.items():
        found = encode_sentences(*loaded, SENTENCES, EncoderConfig(pooling="stated"), modes=[mode])
        np.testing.assert_allclose(found, expected, atol=1.5e-6)
    both = encode_sentences(*loaded, SENTENCES, EncoderConfig(pooling="stated"), modes=["cls", "mean"])
    np.testing.assert_allclose(both, np.hstack([STATED["cls"], STATED["mean"]]), atol=1.5e-6)
    last = pooled_as_stated(states(loaded[0], IDS[1])[None], ["lasttoken"])
    # Its output had length 1.
    np.testing.assert_allclose(
        last[0] / np.linalg.norm(last), [0.653003, -0.382831, -0.044758, 0.161111, -0.595982, 0.209457], atol=1.5e-6
    )


def test_a_table_of_tokens_is_pooled_as_by_model2vec(bert, tmp_path):
    """By model2vec 0.10.0: StaticModel(vectors, tokenizer, weights=..., token_mapping=...).encode(TEXTS)."""
    (tmp_path / "tokenizer.json").write_bytes((bert / "tokenizer.json").read_bytes())
    (tmp_path / "config.json").write_text('{"normalize": false, "model_type": "model2vec"}')
    table = np.sin(np.arange(13 * 4)).reshape(13, 4).astype(np.float32)
    weights, mapping = np.linspace(0.5, 2, 13).astype(np.float32), np.arange(13) % 5
    save_file({"embeddings": table[:5], "weights": weights, "mapping": mapping}, tmp_path / "model.safetensors")
    expected = [
        [0.478616, 0.522295, 0.085778, -0.429603],
        [-0.897236, -0.910001, -0.086116, 0.816944],
        [-0.148249, 0.107599, 0.264521, 0.178244],
    ]
    np.testing.assert_allclose(
        mean_of_rows(*load_static(str(tmp_path), "embedding.model"), SENTENCES), expected, atol=1.5e-6
    )
    save_file({"embeddings": table}, tmp_path / "model.safetensors")
    static = load_static(str(tmp_path), "embedding.model")
    found = mean_of_rows(*static, [*SENTENCES, Sentence("nurse xyz", 0, 5), Sentence("nurse xyz", 6, 9)])
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    np.testing.assert_allclose(unit[0], [0.137994, -0.57966, -0.764378, -0.24633], atol=1.5e-6)
    np.testing.assert_allclose(unit[3], [0.210692, -0.51613, -0.768425, -0.314233], atol=1.5e-6)
    assert np.isnan(found[4]).all()
    word = mean_of_rows(*static, SENTENCES[1:2], pooled="word")
    np.testing.assert_allclose(word[0], table[[8, 9, 11]].mean(axis=0), atol=1e-6)
    assert np.isnan(mean_of_rows(*static, SENTENCES, most_tokens=4)).all(axis=1).tolist() == [True, False, True]


def test_means_of_words_are_weighted_means_of_unit_vectors():
    rng = np.random.default_rng(0)
    vectors, words = rng.standard_normal((7, 3)), np.array([0, 0, 0, 2, 2, 3, 3])
    weights = np.array([1, 2, 3, 1, 0, 0, 0], np.uint8)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = word_means(vectors, words, weights, 4)
    np.testing.assert_allclose(found[[0, 2]], [(unit[0] + 2 * unit[1] + 3 * unit[2]) / 6, unit[3]])
    assert np.isnan(found[[1, 3]]).all()


def test_the_draw_of_a_context_is_its_own():
    words, documents = np.array([1, 1, 2, 1], np.uint64), np.array([5, 6, 5, 5], np.uint64)
    lines, places = np.array([0, 0, 0, 1], np.int32), np.array([2, 2, 2, 2], np.int32)
    keys = context_keys(3, words, documents, lines, places)
    assert len(set(keys.tolist())) == 4
    one = context_keys(3, words[[2]], documents[[2]], lines[[2]], places[[2]])
    assert one == keys[[2]]
    assert context_keys(4, words, documents, lines, places)[0] != keys[0]
