from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel, T5Config, T5EncoderModel

from tiltmeter.operators.compute.batching import length_batches, longest_input

LENGTHS = st.lists(st.integers(1, 40), max_size=60)


@given(LENGTHS, st.integers(1, 100))
def test_each_text_is_in_one_batch_and_batches_keep_the_bound(lengths, max_tokens) -> None:
    batches = length_batches(lengths, max_tokens)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[row] for row in batch)
        assert len(batch) * longest <= max_tokens or len(batch) == 1


@given(LENGTHS, st.integers(1, 100))
def test_batches_end_only_where_they_must(lengths, max_tokens) -> None:
    batches = length_batches(lengths, max_tokens)
    rows = np.concatenate([*batches, np.zeros(0, np.int64)])
    # From the shortest to the longest, and those of one length as they come.
    assert rows.tolist() == sorted(range(len(lengths)), key=lambda row: lengths[row])
    for batch, after in pairwise(batches):
        assert (len(batch) + 1) * lengths[after[0]] > max_tokens


SIZES = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}


@pytest.mark.parametrize(
    ("model", "says", "longest"),
    [
        (BertModel(BertConfig(vocab_size=4, max_position_embeddings=16, **SIZES)), 10**30, 16),
        (BertModel(BertConfig(vocab_size=4, max_position_embeddings=16, **SIZES)), 12, 12),
        (T5EncoderModel(T5Config(vocab_size=4, d_model=4, d_kv=4, d_ff=4, num_layers=1, num_heads=1)), 12, 12),
        (RobertaModel(RobertaConfig(vocab_size=4, max_position_embeddings=18, pad_token_id=1, **SIZES)), 10**30, 16),
    ],
)
def test_a_model_takes_as_much_as_its_positions_and_its_tokenizer_allow(model, says, longest) -> None:
    assert longest_input(model, SimpleNamespace(model_max_length=says)) == longest
    with torch.inference_mode():
        model(input_ids=torch.full((1, longest), 3))
