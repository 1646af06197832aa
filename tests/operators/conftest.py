"""Work that is counted, as it is the same on every machine, and models that are too small for several threads."""

import sys

import pytest


@pytest.fixture(scope="session")
def num_lines():
    """Counts the lines of Python that an action runs, those of libraries included, not what they compile."""

    def count(action):
        total = 0

        def trace(frame, event, argument):
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
def one_thread():
    """Threads that wait for each other take longer than models of a few dimensions."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
