"""Telling people what came of a night: a message to a webhook, or to a command such as `mail`."""

import os
import re
import shlex
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.upkeep.overnight.outcome import as_json
from tiltmeter.storage.errors import WorkFailed

WEBHOOK = "webhook"
URL, TOKEN = "TILTMETER_WEBHOOK", "TILTMETER_WEBHOOK_TOKEN"
_SECONDS = 60.0
_ATTEMPTS = 3
_VISIBLE = re.compile(r"[!-~]*")
"""What a URL or a header may consist of; libraries quote the whole of one that holds anything else."""


class NotificationFailed(WorkFailed):
    """Nobody could be told what came of a night; the message has no part of a credential."""


def check_notification(notify: str | None) -> None:
    """Refuse what nobody could be told by.

    Args:
        notify: ``job.notify``: ``webhook``, or the words of a command.

    Raises:
        ConfigError: if the webhook's URL is not in the environment, if it or the token can't be sent as it is, or if
            there is no such command; without a part of the URL or the token.
    """
    if notify == WEBHOOK:
        if not _is_address(os.environ.get(URL, "")):
            raise ConfigError(
                f"job.notify={WEBHOOK}: posts to the URL in the environment variable {URL}: set it to one of http or "
                f"https, without a space or a user and password; a token has its place in {TOKEN}"
            )
        if not _VISIBLE.fullmatch(os.environ.get(TOKEN, "")):
            raise ConfigError(
                f"job.notify={WEBHOOK}: the token in the environment variable {TOKEN} holds a space, the end of a "
                "line or a character beyond ASCII: set it without"
            )
    elif notify is not None and shutil.which(_words(notify)[0]) is None:
        raise ConfigError(f"job.notify={notify}: there is no command {_words(notify)[0]}; or set job.notify={WEBHOOK}")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_whole and parts.scheme in ("http", "https") and "@" not in parts.netloc and bool(_VISIBLE.fullmatch(url))


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
        ConfigError: as :func:`check_notification`.
    """
    check_notification(recipient)
    text = "\n".join(lines)
    if recipient == WEBHOOK:
        _post(as_json({"text": text, **outcome}))
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
    except HTTPException as error:
        raise NotificationFailed(f"job.notify={WEBHOOK}: {_host()} speaks no HTTP ({type(error).__name__})") from None


def _host() -> str:
    return urlsplit(os.environ[URL]).hostname or "its host"


class _Staying(urllib.request.HTTPRedirectHandler):
    """Whom an answer names would get the token, and no message: it is asked for by another method, without a body."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """To nowhere: the answer is an error."""


_OPENER = urllib.request.build_opener(_Staying)


@retry(
    retry=retry_if_exception_type(OSError),
    stop=stop_after_attempt(_ATTEMPTS),
    wait=wait_random_exponential(max=5),
    reraise=True,
)
def _send(request: urllib.request.Request) -> None:
    with _OPENER.open(request, timeout=_SECONDS):
        pass


def _run(words: Sequence[str], text: str) -> None:
    try:
        done = subprocess.run(words, input=text.encode(), capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotificationFailed(f"job.notify: {words[0]} could not be run: {error}") from error
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip()
        raise NotificationFailed(f"job.notify: {words[0]} ended with status {done.returncode}: {complaint}")
