"""Signals that ask a command to end: whichever comes first interrupts it as Ctrl-C does, and those after it wait."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

_SECONDS_TO_REPEAT = 0.1
_OFFSET = 128
_received: list[signal.Signals] = []


class Interrupted(KeyboardInterrupt):
    """The process was asked to end by a signal.

    Attributes:
        exit_status: as a shell tells of a process that the signal ended.
    """

    def __init__(self, number: signal.Signals) -> None:
        self.exit_status = _OFFSET + number
        super().__init__("interrupted" if number == signal.SIGINT else f"interrupted by {number.name}")


@contextmanager
def answered() -> Iterator[None]:
    """Raise :class:`Interrupted` in the block at the first signal; those that follow change nothing, so that what the
    first began comes to its end. A signal that the process ignores, as under nohup, stays ignored.
    """
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    swallowed, sys.unraisablehook = sys.unraisablehook, _repeat
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        atexit.register(_ignore)
        sys.unraisablehook = swallowed
        if not _received:
            for number, handler in handlers.items():
                signal.signal(number, handler)


@contextmanager
def prevailing() -> Iterator[None]:
    """Raise what a signal raised in place of any other error that came of it, such as that a process is gone.

    Raises:
        Interrupted: if a signal came.
    """
    try:
        yield
    except SystemExit:
        raise
    except BaseException as error:
        if first := interruption():
            raise first from error
        raise


def interruption() -> Interrupted | None:
    """What a signal has raised; None if none came."""
    return Interrupted(_received[0]) if _received else None


def _interrupt(number: int, _: FrameType | None) -> None:
    if not _received:
        _received.append(signal.Signals(number))
        raise Interrupted(_received[0])


def _ignore() -> None:
    """All is done and said: libraries put their things away as the process ends."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _repeat(swallowed: "sys.UnraisableHookArgs") -> None:
    """A signal that came while Python freed an object would be lost."""
    if isinstance(swallowed.exc_value, Interrupted):
        number = _received.pop()
        threading.Timer(_SECONDS_TO_REPEAT, os.kill, (os.getpid(), number)).start()
    else:
        sys.__unraisablehook__(swallowed)


@contextmanager
def kept_waiting() -> Iterator[None]:
    """Keep signals until the block ends, and their handlers, in whose place a library puts others."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers: dict[signal.Signals, Any] = {number: signal.getsignal(number) for number in SIGNALS}
    waiting: list[int] = []
    for number, handler in handlers.items():
        if callable(handler):
            signal.signal(number, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if waiting:
            handlers[signal.Signals(waiting[0])](waiting[0], None)
