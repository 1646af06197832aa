"""Errors that end the command with a sentence for its user; everything else that goes wrong is a fault of ours."""

import os
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Self

_MOST_CHOICES = 20
_MOST_COMPARED = 50_000


class Refusal(Exception):
    """What the user can fix: the message names the value, what is allowed, and where to set it."""


class WorkFailed(RuntimeError):
    """Part of the work failed, and the rest was done; the message names what failed."""


class LimitExceeded(RuntimeError):
    """All work was done, and what came of it exceeds a limit that the user set; the message says which and how."""


class InputError(Refusal, ValueError):
    """A file that the user names can't be used; the message names it and, where known, the line, page, row or byte.

    Attributes:
        is_unreadable: whether it is damaged or can't be reached; what it holds can't be told then, and others may be
            sound.
    """

    def __init__(self, message: str, *, is_unreadable: bool = False) -> None:
        super().__init__(message)
        self.is_unreadable = is_unreadable


class StorageError(Refusal, OSError):
    """A file of ours could not be read or written; the message names it and the setting that moves it elsewhere."""

    @classmethod
    def writing(cls, place: str | os.PathLike[str], error: OSError, setting: str) -> Self:
        """What to say when ``place`` can't be written: ``setting`` such as ``run_dir=<path>`` chooses another."""
        reason = error.strerror or str(error)
        return cls(f"cannot write {place}: {reason}; choose another place with {setting}")


def choices(word: str, known: Sequence[str], written: Callable[[str], str] = str) -> str:
    """What there is in place of a word that is not there: all of it, or of very much what is most like the word.

    >>> choices("texd", ["text", "label"]), choices("texd", ["text", "texts", *"abcdefghijklmnopqrstuvwxyz"], repr)
    ('text, label', "'text', 'texts' and 26 others")

    Args:
        word: that somebody wrote.
        known: such as the columns of a file.
        written: how a message shows one.
    """
    shown = list(known)
    if len(shown) > _MOST_CHOICES:
        similar = get_close_matches(word, islice(known, _MOST_COMPARED), _MOST_CHOICES // 2)
        shown = similar or shown[: _MOST_CHOICES // 2]
    others = len(known) - len(shown)
    return ", ".join(map(written, shown)) + (f" and {others:,} others" if others else "")
