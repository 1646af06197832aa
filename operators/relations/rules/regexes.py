"""Regular expressions that come as data: those that may take exponential time are refused, and all have a time limit.

Two ways lead to exponential time: a repeated group that itself repeats, such as ``(a+)+``, which is refused when it is
read, and options that begin alike under a repetition, such as ``(a|aa)+``, which the time limit ends.
"""

from functools import lru_cache
from typing import Any

import regex

SECONDS = 0.5
"""What the match of one expression with one word may take: a sane one takes a millionth of it."""

_MOST_CHARACTERS = 4_000
_MOST_ALTERNATIVES = 500
_ESCAPED = regex.compile(r"\\(.)", regex.DOTALL)
_REPEAT = regex.compile(r"\{(\d*)(,?)(\d*)\}")
_LITERAL = regex.compile(r"[\p{L}\p{N}\s'\",;:!&%#@_<>=~`/-]*")
_FORBIDDEN = regex.compile(r"\\[1-9gkKRXNG]|\(\?(?!:)|\{[a-z]")


class RuleError(ValueError):
    """A rule can't be used: the message quotes it and says why."""


class RegexTimeout(RuleError):
    """The match of an expression with a word took more than ``SECONDS``."""


def slashes_bare(pattern: str) -> str:
    r"""The expression with ``/`` for ``\/``, which is how it is kept.

    >>> slashes_bare(r"1\/2\\")
    '1/2\\\\'
    """
    return str(_ESCAPED.sub(lambda match: "/" if match[1] == "/" else match[0], pattern))


def check_regex(pattern: str) -> None:
    """Refuse an expression that isn't one, or is none for data.

    Raises:
        RuleError: naming it, if it is empty, doesn't compile, is longer than 4,000 characters, does more than match
            plainly, or repeats a group that may itself be of different lengths.
    """
    if not pattern:
        raise RuleError("a regular expression is empty")
    if len(pattern) > _MOST_CHARACTERS:
        raise RuleError(f"/{pattern[:40]}.../ has {len(pattern)} characters: must have at most {_MOST_CHARACTERS}")
    if match := _FORBIDDEN.search(_ESCAPED.sub(lambda match: "" if match[1] == "\\" else match[0], pattern)):
        raise RuleError(
            f"/{pattern}/ has {match[0]!r}: rules may not refer back, look around, set flags or match roughly"
        )
    _compiled(pattern)
    if _repeats_repetition(pattern):
        raise RuleError(f"/{pattern}/ repeats what repeats itself, which may take exponential time")


def full_match(pattern: str, text: str) -> bool:
    """Whether the whole text matches.

    Raises:
        RegexTimeout: naming both, if it takes longer than ``SECONDS``.
    """
    return _full_match(pattern, text)


@lru_cache(maxsize=2**17)
def _full_match(pattern: str, text: str) -> bool:
    try:
        return _compiled(pattern).fullmatch(text, timeout=SECONDS) is not None
    except TimeoutError as error:
        raise RegexTimeout(f"/{pattern}/ takes more than {SECONDS} seconds with {text[:40]!r}") from error


@lru_cache(maxsize=2**14)
def _compiled(pattern: str) -> Any:
    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise RuleError(f"/{pattern}/ is no regular expression: {error}") from error


def _repeats_repetition(pattern: str) -> bool:
    """Whether a group that repeats holds something whose number of repetitions is open."""
    is_open, is_open_before, position = [False], False, 0
    while position < len(pattern):
        character, is_closed = pattern[position], False
        if character == "\\":
            position += 1
        elif character == "[":
            position = _class_end(pattern, position)
        elif character == "(":
            is_open.append(False)
        elif character == ")":
            is_open_before, is_closed = is_open.pop(), True
        position += 1
        low, high, position = _quantifier(pattern, position)
        if (low, high) != (1, 1) and character not in "(|^":
            if is_closed and is_open_before and high != 1:
                return True
            is_open[-1] |= low != high
        if is_closed:
            is_open[-1] |= is_open_before
    return False


def _class_end(pattern: str, start: int) -> int:
    """Where the bracket that opens at ``start`` closes; a bracket right behind the first belongs to the class."""
    position = start + 2 if pattern[start + 1 : start + 2] == "^" else start + 1
    position += pattern[position : position + 1] == "]"
    while position < len(pattern) and pattern[position] != "]":
        position += 2 if pattern[position] == "\\" else 1
    return position


def _quantifier(pattern: str, position: int) -> tuple[int, int | None, int]:
    """The least and greatest number of repetitions that are asked for at a position (None: any), and where it ends."""
    signs: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
    if pattern[position : position + 1] in signs:
        low, high = signs[pattern[position]]
        end = position + 1
    elif (match := _REPEAT.match(pattern, position)) and (match[1] or match[3]):
        low = int(match[1] or 0)
        high = int(match[3]) if match[3] else None if match[2] else low
        end = match.end()
    else:
        return 1, 1, position
    return low, high, end + (pattern[end : end + 1] in ("?", "+"))


@lru_cache(maxsize=2**14)
def alternatives(pattern: str) -> frozenset[str] | None:
    """All texts that an expression matches, where it is plain text or plain texts with ``|`` between them.

    >>> sorted(alternatives("wife|husband")), alternatives("wi.e")
    (['husband', 'wife'], None)
    """
    options = pattern.split("|")
    if len(options) > _MOST_ALTERNATIVES or not all(_LITERAL.fullmatch(option) for option in options):
        return None
    return frozenset(options)
