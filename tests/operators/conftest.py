"""Work that is counted, as it is the same on every machine, and models that are too small for several threads."""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest


@pytest.fixture(scope="session")
def num_lines() -> Callable[[Callable[[], object]], int]:
    """Counts the lines of Python that an action runs, those of libraries included, not what they compile."""

    def count(action: Callable[[], object]) -> int:
        total = 0

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal total
            total += event == "line"
            return trace

        former = sys.gettrace()
        sys.settrace(trace)
        try:
            action()
        finally:
            sys.settrace(former)
        return total

    return count


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Threads that wait for each other take longer than models of a few dimensions."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
