"""torch's random numbers as a function of a key, for as long as a block lasts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def keyed_generator(seed: int, stream: int, *key: int) -> np.random.Generator:
    """numpy's random numbers for one purpose and key, by the Philox generator.

    Args:
        seed: of the run, 0 <= seed < 2^64.
        stream: what the draw is about.
        key: at most three numbers of 64 bits.

    >>> [int(keyed_generator(0, 13, key).integers(100)) for key in (5, 6, 5)]
    [44, 51, 44]
    """
    counter = np.array([0, *key, *[0] * (3 - len(key))], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=np.array([seed, stream], dtype=np.uint64), counter=counter))


@contextmanager
def torch_random(seed: int, stream: int, *key: int, device: "torch.device | None" = None) -> Iterator[None]:
    """What torch draws, on the CPU and on a device, hangs on the key alone; afterwards all is as it was before.

    Args:
        seed, stream, key: as for :func:`keyed_generator`.
        device: a GPU that draws as well.

    >>> import torch
    >>> with torch_random(0, 13, 5):
    ...     first = torch.rand(2)
    >>> with torch_random(0, 13, 5):
    ...     bool((torch.rand(2) == first).all())
    True
    """
    import torch

    on_gpu = device is not None and device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if on_gpu else []):
        drawn = int(keyed_generator(seed, stream, *key).integers(2**63))
        torch.default_generator.manual_seed(drawn)  # torch.manual_seed would seed every GPU as well
        if on_gpu:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(drawn)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Several threads divide sums among them, and last bits would depend on their number."""
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(num_threads)
