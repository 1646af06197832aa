"""Matrix products by oneDNN, which comes with torch, in place of the BLAS that torch takes for them.

For single precision torch's packages take MKL, which on processors other than Intel's leaves their widest vectors
unused. With AVX-512 on such a processor, a layer takes less than half the time.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def linear_by_onednn() -> AbstractContextManager[object]:
    """Within this context, ``x W' + b`` of float32 tensors on the CPU is computed by oneDNN.

    That is all that torch's ``Linear`` layers do; sums may add up in another order than those of the BLAS. Nothing
    changes where gradients are recorded, or where torch comes without oneDNN.

    >>> import torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> with torch.inference_mode(), linear_by_onednn():
    ...     found = layer(torch.eye(2))
    >>> torch.allclose(found, layer(torch.eye(2)))
    True
    """
    import torch
    from torch.nn.functional import linear
    from torch.overrides import TorchFunctionMode

    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return nullcontext()

    def fits(tensor: torch.Tensor) -> bool:
        return tensor.dtype == torch.float32 and tensor.device.type == "cpu" and tensor.numel() > 0

    class OneDNN(TorchFunctionMode):
        def __torch_function__(
            self,
            func: Callable[..., Any],
            types: object,
            args: tuple[Any, ...] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            if func is linear and not kwargs and not torch.is_grad_enabled() and all(map(fits, args[:2])):
                x, weight, bias = (*args, None)[:3]
                return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
            return func(*args, **(kwargs or {}))

    return OneDNN()
