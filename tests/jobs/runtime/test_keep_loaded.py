"""What a worker process keeps loaded."""

import pytest

from tiltmeter.jobs.runtime.keep_loaded import resident


@pytest.fixture
def events():
    return []


@pytest.fixture
def use(events):
    def use(key):
        def load(closing):
            events.append(f"load {key}")
            closing.callback(events.append, f"close {key}")
            return key.upper()

        return resident(key, load)

    return use


def test_it_is_loaded_once_and_closed_when_another_comes(use, events):
    for key in ("a", "a", "b"):
        with use(key) as loaded:
            assert loaded == key.upper()
    assert events == ["load a", "close a", "load b"]
    with pytest.raises(ZeroDivisionError), use("b"):
        _ = 1 / 0
    assert events[-1] == "close b"


def test_what_could_not_be_loaded_is_closed_and_forgotten(events):
    def load(closing):
        closing.callback(events.append, "close half")
        raise OSError("no model")

    for _ in range(2):
        with pytest.raises(OSError, match="no model"), resident("broken", load):
            pass
    assert events == ["close half", "close half"]
