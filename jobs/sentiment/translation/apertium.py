"""The rule-based translation engine Apertium, kept running from text to text.

Forcada et al. 2011, *Apertium: a free/open-source platform for rule-based machine translation*, Machine Translation 25.
A direction, such as ``eng-spa``, is a pipe of programs that analyse words, choose among the analyses (the tagger),
transfer and generate. They write out what they have whenever they read a NUL. The command ``apertium`` loses NULs where
it reads plain text and holds back the last one where it does not, so the pipe is run without it.
"""

import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Self

from tiltmeter.jobs.runtime import subprocesses as programs
from tiltmeter.jobs.sentiment.translation.pipes import PipeFailure, TextPipe
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.store.identity import digest

VERSION = "apertium/1"

_NUL_FLUSHING = "apertium-wblank-mode"
"""Prints a direction's pipe, in which each program is told to write out at NUL."""

_TAGGER = "apertium-tagger"
_ARGUMENTS = ("-n", "")
"""What a pipe calls $1 makes the generator leave unknown words without a star; $2, for the tagger, is not needed."""

_END = b"[]\0"
"""Without the brackets, which stand for a blank, a text loses its full stop and its last words are held back. Besides,
programs write more NULs when they end."""

_SHOWN_CHARACTERS = 80

_CODES = (
    "af-afr an-arg be-bel bg-bul br-bre ca-cat cy-cym da-dan en-eng eo-epo es-spa eu-eus fi-fin fr-fra gl-glg hi-hin "
    "id-ind is-isl it-ita kk-kaz mk-mkd mt-mlt nb-nob nl-nld nn-nno oc-oci pl-pol pt-por ro-ron ru-rus sc-srd sh-hbs "
    "sl-slv sv-swe tr-tur tt-tat uk-ukr ur-urd"
)
"""Of ISO 639-1, by which older directions are named, and of ISO 639-3, by which newer ones are."""

_ISO_639_3 = dict(pair.split("-") for pair in _CODES.split())

_RESERVED = re.compile(r"[\\\[\]{}$/@<>]")
_HIDDEN = re.compile(r"(?:[~^\0\ud800-\udfff\uffff]|\s{2,}|[^\S ])+")
"""What the engine can't read, or takes for the end, for a mark of its own (even behind a backslash), or for a space."""

_BLANK_OR_ESCAPED = re.compile(r"\[([\d ]*)\]|\\(.)")


class TranslationError(Refusal, ValueError):
    """Nothing translates from one language to another, or what should has failed; the message says which."""


def installed_directions() -> frozenset[str]:
    """The directions that this machine has data for; none without Apertium."""
    return frozenset(_modes())


def _modes() -> dict[str, Path]:
    """The files that describe the pipes of directions."""
    program = programs.find(_NUL_FLUSHING)
    if program is None:
        return {}
    folder = os.environ.get("APERTIUM_DATADIR") or Path(program).resolve().parents[1] / "share" / "apertium"
    return {file.stem: file for file in Path(folder, "modes").glob("*.mode")}


def direction(source: str, target: str) -> str:
    """The installed direction from one language to another.

    Args:
        source, target: codes of ISO 639-1, such as ``en``, or of ISO 639-3 for a language without one.

    Raises:
        TranslationError: if there is none, with what is installed and how to install more.
    """
    names = ["-".join(codes) for codes in product(_codes(source), _codes(target))]
    installed = [name for name in names if name in installed_directions()]
    if not installed:
        raise _not_installed(f"from {source!r} to {target!r}")
    return installed[0]


def _codes(language: str) -> list[str]:
    return [_ISO_639_3[language], language] if language in _ISO_639_3 else [language]


def _not_installed(wanted: str) -> TranslationError:
    installed = ", ".join(sorted(installed_directions())) or "none"
    return TranslationError(
        f"translator=apertium: no direction {wanted} is installed (installed: {installed}); install English and "
        "Spanish with 'apt-get install apertium apertium-eng-spa', another pair with 'apt-get install apertium "
        "apertium-<pair>' ('apt-cache search apertium' lists them), or set translator=marian"
    )


def version(mode: str) -> str:
    """What the translations of a direction depend on: the release of the engine and a digest of the direction's data.

    Raises:
        TranslationError: if the direction is not installed.
    """
    pipe = _mode_file(mode).read_text()
    data = [hashlib.blake2b(Path(word).read_bytes()).hexdigest() for word in shlex.split(pipe) if Path(word).is_file()]
    return f"{_output_of('apertium', '-V')} {mode} {digest([VERSION, pipe, data])}"


def _mode_file(mode: str) -> Path:
    modes = _modes()
    if mode not in modes:
        raise _not_installed(repr(mode))
    return modes[mode]


def _output_of(*command: str) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=programs.environment())
    return ran.stdout.strip()


class Apertium:
    """One direction, whose programs stay alive from text to text. No text's translation depends on other texts.

    The programs start when they are first needed. They end with :meth:`close`, with the context whose manager this is,
    and with the process that started them, even if that is killed.

    Attributes:
        mode: the direction.
    """

    def __init__(self, mode: str, timeout: float = 60.0) -> None:
        """Find the programs.

        Args:
            mode: a direction, see :func:`direction`.
            timeout: seconds after which a program that neither reads nor writes counts as hung.

        Raises:
            TranslationError: if the direction is not installed.
        """
        self.mode = mode
        self._timeout = timeout
        self._programs = _output_of(_NUL_FLUSHING, "-z", str(_mode_file(mode))).split(" | ")
        self._parts: list[TextPipe | _Tagger] = []

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translate each text by itself.

        Unknown words stay as they are. No text is given a full stop to be translated with. White space is kept, except
        for the blanks that the engine leaves where it drops a word.

        Raises:
            TranslationError: if a program ends or hangs, with the first text that it has not done. All are ended then,
                and start anew with the next call.
        """
        self._parts = self._parts or self._started()
        passed = [_to_engine(text) for text in texts]
        try:
            for part in self._parts:
                passed = list(self._through(part, passed, texts))
        except BaseException:  # what is still on its way would be taken for answers to the next texts
            self.close()
            raise
        return [_from_engine(answer, text) for answer, text in zip(passed, texts, strict=True)]

    def _started(self) -> "list[TextPipe | _Tagger]":
        """The tagger by itself, and what comes before and after it."""
        groups = groupby(self._programs, lambda program: program.startswith(_TAGGER))
        return [(_Tagger if tags else _pipe)([*programs], self._timeout) for tags, programs in groups]

    def _through(self, part: "TextPipe | _Tagger", passed: Sequence[bytes], texts: Sequence[str]) -> Iterator[bytes]:
        num_done = 0
        try:
            for answer in part.answers(passed):
                yield answer
                num_done += 1
        except PipeFailure as failure:
            text = texts[num_done]
            shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
            raise TranslationError(f"translator=apertium: {self.mode} {failure} before it did {shown!r}") from failure

    def close(self) -> None:
        """End the programs."""
        while self._parts:
            self._parts.pop().stop()

    def __enter__(self) -> Self:
        """The engine."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()


def _pipe(programs: Sequence[str], timeout: float) -> TextPipe:
    return TextPipe(programs, _ARGUMENTS, _END, timeout)


class _Tagger:
    """The tagger, started anew after it has met a combination of analyses that its model lacks.

    It then treats unknown words in another way than before, and all later texts would depend on that one. In its
    debugging mode it writes an error whenever this happens.
    """

    def __init__(self, programs: Sequence[str], timeout: float) -> None:
        self._programs = [program.replace(_TAGGER, f"{_TAGGER} -d", 1) for program in programs]
        self._timeout = timeout
        self._pipe = _pipe(self._programs, timeout)

    def answers(self, texts: Sequence[bytes]) -> Iterator[bytes]:
        """As :meth:`TextPipe.answers`."""
        for text in texts:
            if self._pipe.has_complained:
                self._pipe.stop(patience=0.0)
                self._pipe = _pipe(self._programs, self._timeout)
            yield from self._pipe.answers([text])

    def stop(self) -> None:
        """As :meth:`TextPipe.stop`."""
        self._pipe.stop()


def _to_engine(text: str) -> bytes:
    """In Apertium's stream format: backslashes before reserved characters, numbers in brackets for hidden ones."""
    return _HIDDEN.sub(_numbered, _RESERVED.sub(r"\\\g<0>", text.strip())).encode()


def _numbered(hidden: re.Match[str]) -> str:
    return f"[{' '.join(str(ord(character)) for character in hidden[0])}]"


def _from_engine(answer: bytes, text: str) -> str:
    spaced = re.sub(" {2,}", " ", answer.decode()).strip(" ")
    before, after = len(text) - len(text.lstrip()), len(text.rstrip())
    return text[:before] + _BLANK_OR_ESCAPED.sub(_restored, spaced) + text[max(before, after) :]


def _restored(match: re.Match[str]) -> str:
    numbers, escaped = match.groups()
    return escaped or "".join(chr(int(number)) for number in numbers.split())
