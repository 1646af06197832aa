import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads that wait for each other take longer than networks of this size."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
