"""Signals that ask a process to end, as it gets them from the kernel."""

import signal
import time

import pytest

from tiltmeter.cluster import interrupts
from tiltmeter.cluster.interrupts import SIGNALS, Interrupted, answered, interruption, kept_waiting, prevailing


@pytest.fixture(autouse=True)
def handlers():
    """Those of the process, which come back with the end of a test."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield before
    interrupts._received.clear()
    for number, handler in before.items():
        signal.signal(number, handler)


def send_all_after(number):
    try:
        signal.raise_signal(number)
    finally:
        for following in (number, *SIGNALS):
            signal.raise_signal(following)


@pytest.mark.parametrize(
    ("number", "status", "message"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "interrupted by SIGTERM"),
        (signal.SIGHUP, 129, "interrupted by SIGHUP"),
        (signal.SIGQUIT, 131, "interrupted by SIGQUIT"),
    ],
)
def test_the_first_signal_interrupts_and_those_after_it_do_not(number, status, message):
    with pytest.raises(KeyboardInterrupt) as first, answered():
        send_all_after(number)
    assert (first.value.exit_status, str(first.value)) == (status, message)
    assert str(interruption()) == message


def test_without_a_signal_the_handlers_are_as_before_and_what_is_ignored_stays_so(handlers):
    with answered():
        assert signal.getsignal(signal.SIGTERM) != handlers[signal.SIGTERM]
    assert {number: signal.getsignal(number) for number in SIGNALS} == handlers
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with answered():
        signal.raise_signal(signal.SIGHUP)
    assert interruption() is None


def test_a_signal_waits_for_the_end_of_a_block_and_finds_its_handler_there():
    events = []

    def work():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as a library might
        events.append("done")

    with pytest.raises(Interrupted), answered(), kept_waiting():
        work()
    assert events == ["done"]
    assert str(interruption()) == "interrupted by SIGTERM"


class Freed:
    """Meets a signal as it is freed, where nothing can be raised."""

    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def free_and_wait():
    Freed()
    time.sleep(10)


def test_a_signal_while_an_object_is_freed_comes_again():
    with pytest.raises(Interrupted, match="SIGTERM"), answered():
        free_and_wait()


def lose_a_process(number):
    try:
        signal.raise_signal(number)
    except KeyboardInterrupt as error:
        raise RuntimeError("the raylet is gone") from error


def test_what_comes_of_a_signal_is_the_signal_and_no_other_error():
    with pytest.raises(Interrupted) as ended, answered(), prevailing():
        lose_a_process(signal.SIGTERM)
    assert isinstance(ended.value.__cause__, RuntimeError)
    interrupts._received.clear()
    with pytest.raises(RuntimeError), prevailing():
        raise RuntimeError("a mistake of ours")
