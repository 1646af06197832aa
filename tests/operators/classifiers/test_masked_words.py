"""A masked language model asked for whole words, and words drawn beside those that it has."""

from collections import Counter

import numpy as np
import pytest
import torch
import transformers

from tiltmeter.operators.classifiers.masked_words import MaskedReader, Pool, drawn_words, most_probable

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
SIZES = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}


@pytest.fixture(scope="module")
def roberta():
    """A model whose pieces have a sign of the space before them, in capitals and without."""
    letters = sorted({*"filmFoxs", "\u0120"})
    steps = [
        "i l",
        "il m",
        "\u0120 f",
        "\u0120 F",
        "\u0120f ilm",
        "\u0120F ilm",
        "f ilm",
        "\u0120 o",
        "o x",
        "\u0120o x",
    ]
    pieces = [*SPECIAL, *letters, *(step.replace(" ", "") for step in steps)]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    merges = [tuple(step.split()) for step in steps]
    tokenizer = transformers.RobertaTokenizer(vocab=vocabulary, merges=merges)
    torch.manual_seed(0)
    config = transformers.RobertaConfig(
        vocab_size=len(pieces), max_position_embeddings=14, pad_token_id=1, initializer_range=0.8, **SIZES
    )
    return transformers.RobertaForMaskedLM(config), tokenizer


def test_whole_words_are_pieces_after_a_space_and_their_spellings_add_up(roberta):
    model, tokenizer = roberta
    reader = MaskedReader(model, tokenizer)
    assert reader.words == ["film", "ox"], "no piece within a word, and no letter"
    [values] = reader.log_probabilities(["(Film,", "ox"], [0])
    inputs = tokenizer("(<mask>, ox", return_tensors="pt")
    place = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    with torch.no_grad():
        shares = model(**inputs).logits[0, place].double().softmax(0)
    numbers = [tokenizer.convert_tokens_to_ids(piece) for piece in ("\u0120film", "\u0120Film")]
    assert np.exp(values[0]) == pytest.approx(float(shares[numbers].sum()), rel=1e-4)


def test_places_that_are_asked_about_together_are_as_each_by_itself(roberta):
    reader, tokens = MaskedReader(*roberta), ["film", "oxs", "<mask>", "films", "ox", *(["film"] * 40)]
    places = list(range(len(tokens)))
    together = reader.log_probabilities(tokens, places)
    assert together.shape == (45, 2)
    assert together == pytest.approx(np.concatenate([reader.log_probabilities(tokens, [at]) for at in places]))
    assert reader.log_probabilities(tokens, []).shape == (0, 2)
    assert (together == together.round(4)).all()


def test_words_beyond_what_can_be_read_do_not_matter(roberta):
    reader = MaskedReader(*roberta)
    near, far = ["ox"] * 60, ["ox"] * 60
    far[0] = far[59] = "film"
    near[31] = "film"
    plain, others, changed = (reader.log_probabilities(one, [30]) for one in (["ox"] * 60, far, near))
    assert (plain == others).all()
    assert (plain != changed).any()


def test_damaged_models_and_those_without_words_are_refused(roberta):
    model, tokenizer = roberta
    broken = transformers.RobertaForMaskedLM(model.config)
    broken.lm_head.bias.data[:] = np.nan
    with pytest.raises(ValueError, match=r"^masked_model\.model: its outputs are not finite: its weights are damaged"):
        MaskedReader(broken, tokenizer).log_probabilities(["ox"], [0])
    bare = transformers.BertTokenizer(vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "##s": 5})
    with pytest.raises(ValueError, match=r"^masked_model\.model: no piece of its tokenizer is a whole word; choose"):
        MaskedReader(model, bare)


def test_the_most_probable_are_those_of_a_sort():
    draws = np.random.default_rng(0)
    for top in (1, 3, 50):
        values, allowed = draws.normal(size=30).round(1), draws.random(30) < 0.7
        order = sorted(np.flatnonzero(allowed), key=lambda place: (-values[place], place))
        assert most_probable(values, allowed, top).tolist() == order[:top]


def test_a_window_has_the_words_whose_ranks_are_nearest():
    counts = Counter({f"w{number:02}": 100 // (number + 1) for number in range(40)})
    pool = Pool.of([*reversed(counts.items())])
    assert pool.words == [word for word, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    for count in (0, 1, 2, 7, 33, 100, 400):
        rank = sum(other > count for other in pool.counts)
        places = pool.around(count, 6)
        assert places.size == 6
        assert (np.diff(places) == 1).all()
        inner = 3 <= rank <= 37
        assert (places[0] == rank - 3) if inner else (places[0] in (0, 34))
    assert pool.around(5, 100).tolist() == list(range(40))
    assert Pool.of([]).around(5, 100).size == 0


def test_controls_draw_each_word_as_often_and_none_twice():
    keys = np.random.default_rng(0).random((6000, 4))
    words = np.array([3, 5, 7, 9])
    drawn = drawn_words([words, words[1:]], [keys, np.random.default_rng(1).random((6000, 3))])
    assert (drawn[:, 0] != drawn[:, 1]).all()
    shares = Counter(drawn[:, 0].tolist())
    assert [shares[word] / 6000 for word in words.tolist()] == pytest.approx([0.25] * 4, abs=0.02)
    first = Counter(drawn[:, 1].tolist())
    assert [first[word] / 6000 for word in (5, 7, 9)] == pytest.approx([1 / 3] * 3, abs=0.02)
    fewer = drawn_words([words, words[1:]], [keys[:10], np.random.default_rng(1).random((6000, 3))[:10]])
    assert (fewer == drawn[:10]).all(), "a control depends on its own keys"
    barred = drawn_words([words[:2]], [keys[:, :2]])[:, 0]
    told = drawn[:, 0]
    assert (barred[np.isin(told, words[:2])] == told[np.isin(told, words[:2])]).all(), "the same wherever it may"
    assert drawn_words([], []).shape == (0, 0)
