import contextlib

import pytest
import torch
from torch.nn.functional import linear

from tiltmeter.operators.compute import onednn
from tiltmeter.operators.compute.onednn import linear_by_onednn, tanh_layer


def called(function):
    """What a call gives, and the names of the operators that it ran."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        found = function()
    return found, {event.name for event in profile.events()}


def drawn(*shape, dtype=torch.float32):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(dtype)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs a torch with oneDNN")
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 4, 3)])
@pytest.mark.parametrize("bias", [drawn(16), None])
def test_layers_are_computed_by_onednn_within_the_context(shape, bias) -> None:
    x, weight = drawn(*shape), drawn(16, 3)
    with torch.inference_mode():
        with linear_by_onednn():
            found, names = called(lambda: linear(x, weight, bias))
        assert "mkldnn::_linear_pointwise" not in called(lambda: linear(x, weight, bias))[1], "outside of the context"
    assert "mkldnn::_linear_pointwise" in names
    torch.testing.assert_close(found, x @ weight.T + (0 if bias is None else bias))


@pytest.mark.parametrize("bias", [drawn(16, dtype=torch.float64), None])
def test_other_types_and_empty_tensors_are_left_to_torch(bias) -> None:
    weight = drawn(16, 3, dtype=torch.float64)
    for x in (drawn(2, 3, dtype=torch.float64), drawn(0, 3, dtype=torch.float64)):
        with torch.inference_mode(), linear_by_onednn():
            found, names = called(lambda x=x: linear(x, weight, bias=bias))
        assert "mkldnn::_linear_pointwise" not in names
        assert torch.equal(found, linear(x, weight, bias))


def test_gradients_are_recorded_as_ever() -> None:
    layer = torch.nn.Linear(3, 16)
    with linear_by_onednn():
        layer(drawn(2, 3)).sum().backward()
    torch.testing.assert_close(layer.bias.grad, torch.full((16,), 2.0))


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs a torch with oneDNN")
def test_gradients_by_the_inputs_of_frozen_layers_are_computed_by_onednn() -> None:
    weight, x = drawn(16, 3), drawn(2, 3).requires_grad_()
    with linear_by_onednn():
        found, names = called(lambda: torch.autograd.grad(linear(x, weight).pow(2).sum(), [x])[0])
    assert "mkldnn::_linear_pointwise" in names
    assert not {"aten::mm", "aten::addmm"} & names
    torch.testing.assert_close(found, 2 * (x.detach() @ weight.T) @ weight)


def test_a_torch_without_onednn_computes_as_ever(monkeypatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert isinstance(onednn.linear_by_onednn(), contextlib.nullcontext)


@pytest.mark.parametrize("outputs", [4, 16, 192])
def test_tanh_of_a_layer_is_that_of_its_sums(outputs) -> None:
    x, weight, bias = 8 * drawn(50, 3) - 4, drawn(outputs, 3), drawn(outputs) - 1
    with torch.inference_mode():
        found, names = called(lambda: tanh_layer(x, weight, bias))
    assert (torch.backends.mkldnn.is_available() and outputs >= 16) == ("mkldnn::_linear_pointwise" in names)
    exact = torch.tanh(x.double() @ weight.double().T + bias.double())
    torch.testing.assert_close(found.double(), exact, atol=5e-7, rtol=0)
