"""Linear layers by oneDNN, which comes with torch, in place of the BLAS that torch takes for them.

For single precision torch's packages take MKL, which on processors other than Intel's leaves their widest vectors
unused. With AVX-512 on such a processor, a layer takes less than half the time.

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

_FEWEST_OUTPUTS = 16
"""With fewer, a layer takes no less time by oneDNN, but more."""


def linear_by_onednn() -> AbstractContextManager[object]:
    """Within this context, ``x W' + b`` of float32 tensors on the CPU is computed by oneDNN, and its gradient by x.

    That is all that torch's ``Linear`` layers do, if gradients of W and b are not asked for; where they are, or torch
    comes without oneDNN, nothing changes. Sums may add up in another order than those of the BLAS.

    >>> weight = torch.arange(32.0).reshape(16, 2)  # whole numbers: their sums are exact in any order
    >>> x = torch.ones(3, 2, requires_grad=True)
    >>> with linear_by_onednn():
    ...     [gradient] = torch.autograd.grad(torch.nn.functional.linear(x, weight).sum(), [x])
    >>> gradient[0].tolist(), weight.sum(dim=0).tolist()
    ([240.0, 256.0], [240.0, 256.0])
    """
    return _OneDNN() if torch.backends.mkldnn.is_available() else nullcontext()  # type: ignore[no-untyped-call]


def tanh_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``tanh(x W' + b)`` without gradients.

    By oneDNN, tanh is taken of sums that are still in the processor's cache, with its widest vectors.

    >>> with torch.no_grad():
    ...     tanh_layer(torch.zeros(2, 3), torch.ones(16, 3), torch.full((16,), torch.inf)).sum().item()
    32.0
    """
    if torch.backends.mkldnn.is_available() and _fits(x, weight, bias):  # type: ignore[no-untyped-call]
        return _product(x, weight, bias, "tanh")
    return linear(x, weight, bias).tanh_()


class _OneDNN(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self._transposed: dict[Tensor, Tensor] = {}

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is not linear or kwargs or not _fits(*args):
            return func(*args, **(kwargs or {}))
        x, weight, bias = (*args, None)[:3]
        if not torch.is_grad_enabled():
            return _product(x, weight, bias)
        if weight not in self._transposed:
            self._transposed[weight] = weight.detach().t().contiguous()
        return _Linear.apply(x, weight, bias, self._transposed[weight])  # type: ignore[no-untyped-call]


def _fits(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> bool:
    if torch.is_grad_enabled() and (weight.requires_grad or (bias is not None and bias.requires_grad)):
        return False
    if x.numel() == 0 or len(weight) < _FEWEST_OUTPUTS:
        return False
    return all(tensor.dtype == torch.float32 and tensor.device.type == "cpu" for tensor in (x, weight))


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, transposed: Tensor) -> Tensor:
        """``x W' + b``."""
        ctx.transposed = transposed
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        """Of x alone: the gradient of the outputs, times W."""
        return _product(gradients[0].contiguous(), ctx.transposed, None), None, None, None


def _product(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none") -> Tensor:
    outputs: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, activation, [], "")
    return outputs
