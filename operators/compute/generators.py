"""Random numbers of numpy and torch as a function of a key; torch's for as long as a block lasts."""

from collections.abc import Iterator, Sequence
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
    return np.random.Generator(keyed_bits(seed, stream, (0, *key, *[0] * (3 - len(key)))))


def keyed_bits(seed: int, stream: int, counter: Sequence[int]) -> np.random.Philox:
    """The Philox generator whose draws follow a counter.

    Args:
        seed, stream: as for :func:`keyed_generator`.
        counter: ``[4]`` numbers of 64 bits, the lowest first; draws add 1 to the lowest, so that keys that differ in
            it alone share numbers.
    """
    key, start = (np.array(numbers, dtype=np.uint64) for numbers in ((seed, stream), counter))
    return np.random.Philox(key=key, counter=start)


@contextmanager
def torch_random(seed: int, stream: int, *key: int, device: "torch.device | None" = None) -> Iterator[None]:
    """What torch draws, on the CPU and on a device, depends on the key alone; afterwards all is as it was before.

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
