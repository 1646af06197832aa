"""Telling people what came of a night, by a command that reads it."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.upkeep.overnight.outcome import as_json
from tiltmeter.storage.errors import WorkFailed
from tiltmeter.storage.files.redaction import redacted_text

VARIABLES = "TILTMETER_NOTIFY_"
"""How the names of variables begin that are for the command alone."""

_SECONDS = 60.0
_MOST_BYTES = 2000
"""Of what the command says, the last."""


class NotificationFailed(WorkFailed):
    """Nobody could be told what came of a night; the message has no part of a credential in a URI."""


def check_command(command: str | None) -> None:
    """Refuse what nobody could be told by.

    Args:
        command: ``notify.command``: its words, or None.

    Raises:
        ConfigError: if it is no command line, or there is no such command.
    """
    if command is not None and shutil.which(_words(command)[0]) is None:
        raise ConfigError(f"notify.command={redacted_text(command)}: there is no command {_words(command)[0]}")


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"notify.command={redacted_text(command)}: is not a command line ({error})") from error
    if not words:
        raise ConfigError(f"notify.command={command!r}: must be a command that reads the outcome, or null")
    return words


def notify(command: str, lines: Sequence[str], outcome: Mapping[str, Any]) -> None:
    """Tell what came of a night: the command reads a JSON object, of the outcome and of ``text`` for people.

    Args:
        command: its words; no shell reads them.
        lines: of the text.
        outcome: the same as data.

    Raises:
        NotificationFailed: if the command can't be run, takes longer than a minute, or ends with another status than 0.
        ConfigError: as :func:`check_command`.
    """
    check_command(command)
    words = _words(command)
    # What it starts may hold a pipe open long after it has ended; a file makes nobody wait.
    with tempfile.TemporaryFile() as complaint:
        try:
            status = _run(words, as_json({"text": "\n".join(lines), **outcome}), complaint.fileno())
        except subprocess.TimeoutExpired as error:
            raise NotificationFailed(f"notify.command: {words[0]} took longer than {_SECONDS:.0f} s") from error
        except OSError as error:
            raise NotificationFailed(f"notify.command: {words[0]} could not be run: {error}") from error
        if status:
            complaint.seek(max(0, complaint.seek(0, os.SEEK_END) - _MOST_BYTES))
            message = redacted_text(complaint.read().decode(errors="replace").strip())
            raise NotificationFailed(f"notify.command: {words[0]} ended with status {status}: {message}")


def _run(words: Sequence[str], message: bytes, complaint: int) -> int:
    """The status of a command in a session of its own, of which nothing is left that takes too long."""
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=complaint, start_new_session=True
    )
    try:
        process.communicate(message, _SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode
