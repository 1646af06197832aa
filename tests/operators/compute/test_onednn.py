"""Layers by oneDNN, and the batches of texts that models take."""

import contextlib
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import linear
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel, T5Config, T5EncoderModel

from tiltmeter.operators.compute import onednn
from tiltmeter.operators.compute.batching import length_batches, longest_input
from tiltmeter.operators.compute.onednn import linear_by_onednn, tanh_layer

WITH_ONEDNN = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs a torch with oneDNN")


def called(function):
    """What a call gives, and the names of the operators that it ran."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        found = function()
    return found, {event.name for event in profile.events()}


def drawn(*shape, dtype=torch.float32):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(dtype)


@WITH_ONEDNN
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 4, 3)])
@pytest.mark.parametrize("bias", [drawn(16), None])
def test_layers_are_computed_by_onednn_within_the_context(shape, bias):
    x, weight = drawn(*shape), drawn(16, 3)
    with torch.inference_mode():
        with linear_by_onednn():
            found, names = called(lambda: linear(x, weight, bias))
        assert "mkldnn::_linear_pointwise" not in called(lambda: linear(x, weight, bias))[1], "outside of the context"
    assert "mkldnn::_linear_pointwise" in names
    torch.testing.assert_close(found, x @ weight.T + (0 if bias is None else bias))


@pytest.mark.parametrize("bias", [drawn(16, dtype=torch.float64), None])
def test_other_types_and_empty_tensors_are_left_to_torch(bias):
    weight = drawn(16, 3, dtype=torch.float64)
    for x in (drawn(2, 3, dtype=torch.float64), drawn(0, 3, dtype=torch.float64)):
        with torch.inference_mode(), linear_by_onednn():
            found, names = called(lambda x=x: linear(x, weight, bias=bias))
        assert "mkldnn::_linear_pointwise" not in names
        assert torch.equal(found, linear(x, weight, bias))


def test_gradients_are_recorded_as_ever():
    layer = torch.nn.Linear(3, 16)
    with linear_by_onednn():
        layer(drawn(2, 3)).sum().backward()
    torch.testing.assert_close(layer.bias.grad, torch.full((16,), 2.0))


@WITH_ONEDNN
def test_gradients_by_the_inputs_of_frozen_layers_are_computed_by_onednn():
    weight, x = drawn(16, 3), drawn(2, 3).requires_grad_()
    with linear_by_onednn():
        found, names = called(lambda: torch.autograd.grad(linear(x, weight).pow(2).sum(), [x])[0])
    assert "mkldnn::_linear_pointwise" in names
    assert not {"aten::mm", "aten::addmm"} & names
    torch.testing.assert_close(found, 2 * (x.detach() @ weight.T) @ weight)


def test_a_torch_without_onednn_computes_as_ever(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert isinstance(onednn.linear_by_onednn(), contextlib.nullcontext)


@pytest.mark.parametrize("outputs", [4, 16, 192])
def test_tanh_of_a_layer_is_that_of_its_sums(outputs):
    x, weight, bias = 8 * drawn(50, 3) - 4, drawn(outputs, 3), drawn(outputs) - 1
    with torch.inference_mode():
        found, names = called(lambda: tanh_layer(x, weight, bias))
    assert (torch.backends.mkldnn.is_available() and outputs >= 16) == ("mkldnn::_linear_pointwise" in names)
    exact = torch.tanh(x.double() @ weight.double().T + bias.double())
    torch.testing.assert_close(found.double(), exact, atol=5e-7, rtol=0)


LENGTHS = st.lists(st.integers(1, 40), max_size=60)


@given(LENGTHS, st.integers(1, 100))
def test_each_text_is_in_one_batch_and_batches_keep_the_bound_and_end_only_where_they_must(lengths, max_tokens):
    batches = length_batches(lengths, max_tokens)
    rows = np.concatenate([*batches, np.zeros(0, np.int64)])
    # From the shortest to the longest, and those of one length as they come.
    assert rows.tolist() == sorted(range(len(lengths)), key=lambda row: lengths[row])
    for batch in batches:
        assert len(batch) * max(lengths[row] for row in batch) <= max_tokens or len(batch) == 1
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
def test_a_model_takes_as_much_as_its_positions_and_its_tokenizer_allow(model, says, longest):
    assert longest_input(model, SimpleNamespace(model_max_length=says)) == longest
    with torch.inference_mode():
        model(input_ids=torch.full((1, longest), 3))
