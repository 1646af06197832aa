"""Errors that end the command with a sentence for its user; everything else that goes wrong is a fault of ours."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Self

_MOST_CHOICES = 20
_MOST_COMPARED = 50_000
_ALIKE = 0.66
"""Of letters in their order, at least, that two names share: one edit in three letters, two in six."""


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


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The name that was most likely meant by a word that is none of those that are known: the one that shares most
    letters in their order (Ratcliff and Obershelp 1988), whatever their case and what stands between words.

    >>> nearest("jbo", ["job", "seed"]), nearest("Gender-Survey", ["gender_survey", "survey"]), nearest("x", ["seed"])
    ('job', 'gender_survey', None)
    """
    names = {_folded(name): name for name in reversed([*islice(map(str, known), _MOST_COMPARED)])}
    similar = get_close_matches(_folded(word), names, 1, _ALIKE)
    return names[similar[0]] if similar else None


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip()).casefold()


def meant(word: str, known: Iterable[str]) -> str:
    """What to ask of a name that is none of those that are known: the nearest one, or nothing.

    >>> meant("glov", ["encoder", "glove"]), meant("x", ["encoder", "glove"])
    ('; did you mean glove?', '')
    """
    name = nearest(word, known)
    return f"; did you mean {name}?" if name else ""


def meant_path(path: str) -> str:
    """The same of a path that leads nowhere: the nearest name in its folder."""
    place = Path(path)
    is_lost = place.parent.is_dir() and not place.exists() and "*" not in path
    return meant(place.name, sorted(os.listdir(place.parent))) if is_lost else ""


def choices(word: str, known: Sequence[str], written: Callable[[str], str] = str) -> str:
    """What there is in place of a word that is not there, as :func:`listing` has it, and which of them was meant.

    >>> choices("texd", ["text", "label"]), choices("x", ["text", "label"], repr)
    ('text, label (did you mean text?)', "'text', 'label'")
    """
    name = nearest(word, known) if len(known) > 1 else None
    return listing(word, known, written) + (f" (did you mean {written(name)}?)" if name else "")


def listing(word: str, known: Sequence[str], written: Callable[[str], str] = str) -> str:
    """All that there is in place of a word, or of very much what is most like the word.

    >>> listing("texd", ["text", "label"]), listing("texd", ["text", "texts", *"abcdefghijklmnopqrstuvwxyz"], repr)
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
