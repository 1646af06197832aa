"""Work that is counted, as it is the same on every machine."""

import sys
from collections.abc import Callable
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
