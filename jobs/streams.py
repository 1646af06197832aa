"""Standard output and error without credentials, whoever writes there, and wherever it can't be written."""

import codecs
import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOWrapper
from typing import Any, TextIO

from tiltmeter.storage.files.redaction import redacted_text

_STANDARD_ERROR = 2
_PLAIN = str.maketrans(
    {"−": "-", "–": "-", "—": "-", "‐": "-", "•": "*", "·": ".", "×": "x", "…": "...", "’": "'", "‘": "'"}
    | {"“": '"', "”": '"', "✓": "+", "≥": ">=", "≤": "<=", "→": "->", "\N{NO-BREAK SPACE}": " "}
)


class RedactedStream:
    """A text stream that leaves the credentials of URIs out; in all else, the stream that it writes to.

    Args:
        stream: to write to.
        lost: is told, once, of the error for which nothing more can be written, such as a full disk; None: the error
            is raised.
    """

    def __init__(self, stream: TextIO, lost: Callable[[OSError], None] | None = None) -> None:
        self._stream, self._lost = stream, lost

    def write(self, text: str) -> int:
        """Write a text; says that all of it was written."""
        with self._losing():
            self._stream.write(redacted_text(text))
        return len(text)

    def flush(self) -> None:
        """Write what has been kept back."""
        with self._losing():
            self._stream.flush()

    @contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._lost is None:
                raise
            # What is left, now and when the process ends, goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            self._lost(error)

    def __getattr__(self, name: str) -> Any:
        """Whatever else a stream has."""
        return getattr(self._stream, name)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Redact both standard streams for the length of a ``with`` block.

    A command that can't write to one of them (closed, a full disk, a terminal that is gone) goes on and keeps its
    status; the other stream says so, unless it was a pipe whose reader has seen enough. Characters that an encoding
    lacks are written in its own.
    """
    codecs.register_error("plain", _plain)
    _fill_descriptors()
    out, err = _redacted("standard output", 1, sys.stdout), _redacted("standard error", 2, sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield
        finally:
            out.flush()
            err.flush()


def _fill_descriptors() -> None:
    """A closed one would be given to the next file that is opened, and whoever prints would write into that."""
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= _STANDARD_ERROR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _redacted(name: str, descriptor: int, stream: TextIO | None) -> RedactedStream:
    stream = stream or open(descriptor, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="plain")

    def say_lost(error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            why = "is closed" if error.errno == errno.EBADF else f"can't be written ({error.strerror})"
            other = sys.stdout if descriptor == _STANDARD_ERROR else sys.stderr
            print(f"tiltmeter: {name} {why}; the command goes on without it", file=other, flush=True)

    return RedactedStream(stream, say_lost)


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """What stands for characters that an encoding lacks: such as others, or their numbers."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode(), error.end
