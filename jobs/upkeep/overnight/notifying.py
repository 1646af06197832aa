"""Telling people what came of a night: a message to a webhook, or to a command such as `mail`."""

import json
import os
import shlex
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import WorkFailed

WEBHOOK = "webhook"
URL, TOKEN = "TILTMETER_WEBHOOK", "TILTMETER_WEBHOOK_TOKEN"
_SECONDS = 60.0
_ATTEMPTS = 3


class NotificationFailed(WorkFailed):
    """Nobody could be told what came of a night; the message has no part of a credential."""


def check_notification(notify: str | None) -> None:
    """Refuse what nobody could be told by.

    Args:
        notify: ``job.notify``: ``webhook``, or the words of a command.

    Raises:
        ConfigError: if the webhook's URL is not in the environment, or there is no such command.
    """
    if notify == WEBHOOK:
        if urlsplit(os.environ.get(URL, "")).scheme not in ("http", "https"):
            raise ConfigError(f"job.notify={WEBHOOK}: posts to the URL in the environment variable {URL}: set it")
    elif notify is not None and shutil.which(_words(notify)[0]) is None:
        raise ConfigError(f"job.notify={notify}: there is no command {_words(notify)[0]}; or set job.notify={WEBHOOK}")


def _words(notify: str) -> list[str]:
    try:
        words = shlex.split(notify)
    except ValueError as error:
        raise ConfigError(f"job.notify={notify}: is not a command line ({error})") from error
    if not words:
        raise ConfigError(f"job.notify={notify!r}: must be {WEBHOOK}, a command, or null")
    return words


def notify(recipient: str, lines: Sequence[str], outcome: Mapping[str, Any]) -> None:
    """Tell what came of a night.

    A webhook gets a JSON object: ``text``, which many services show as it is, and the outcome; with the token in
    ``TILTMETER_WEBHOOK_TOKEN``, if it is set, as a bearer's. A command reads the text.

    Args:
        recipient: ``job.notify``.
        lines: of the text.
        outcome: the same as data.

    Raises:
        NotificationFailed: if it was not taken, after three attempts.
    """
    text = "\n".join(lines)
    if recipient == WEBHOOK:
        _post(json.dumps({"text": text, **outcome}, ensure_ascii=False).encode())
    else:
        _run(_words(recipient), text)


def _post(message: bytes) -> None:
    """Neither the URL, whose path may be the secret, nor the token is part of what is said when it fails."""
    token = os.environ.get(TOKEN)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(os.environ[URL], message, headers)  # noqa: S310 - http or https, as was checked
    try:
        _send(request)
    except urllib.error.HTTPError as error:
        raise NotificationFailed(f"job.notify={WEBHOOK}: {_host()} answered {error.code} {error.reason}") from None
    except OSError as error:
        complaint = getattr(error, "reason", None) or error
        raise NotificationFailed(f"job.notify={WEBHOOK}: {_host()} can't be reached ({complaint})") from None


def _host() -> str:
    return urlsplit(os.environ[URL]).hostname or "its host"


@retry(
    retry=retry_if_exception_type(OSError),
    stop=stop_after_attempt(_ATTEMPTS),
    wait=wait_random_exponential(max=5),
    reraise=True,
)
def _send(request: urllib.request.Request) -> None:
    with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310 - see _post
        pass


def _run(words: Sequence[str], text: str) -> None:
    try:
        done = subprocess.run(words, input=text.encode(), capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotificationFailed(f"job.notify: {words[0]} could not be run: {error}") from error
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip()
        raise NotificationFailed(f"job.notify: {words[0]} ended with status {done.returncode}: {complaint}")
