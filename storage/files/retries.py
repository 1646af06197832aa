"""Retries for a store that is slow, away or busy: a transient error is waited for, a bounded time."""

import errno
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

T = TypeVar("T")

_LONGEST_PAUSE = 10.0

_TRANSIENT_NUMBERS = frozenset(
    {
        *(errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EREMOTEIO, errno.ENOLINK),
        *(errno.ECONNABORTED, errno.ECONNREFUSED, errno.ECONNRESET, errno.ENOTCONN, errno.EPIPE),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH),
    }
)
"""What a network file system says while its server is away or starts again."""

_TRANSIENT_ANSWERS = re.compile(
    r"AWS Error (NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|THROTTLING|REQUEST_TIMEOUT"
    r"|UNKNOWN \(HTTP status (408|429|5\d\d)\))"
)
"""What Arrow says of an object store that can't be reached, has an error of its own, or asks for fewer requests."""


def is_transient(error: BaseException | None) -> bool:
    """Whether the same operation may succeed a little later; not on a full disk, or without a bucket.

    >>> is_transient(OSError(errno.ESTALE, "Stale file handle"))
    True
    >>> is_transient(OSError(errno.ENOSPC, "No space left on device"))
    False
    """
    if not isinstance(error, OSError):
        return False
    return error.errno in _TRANSIENT_NUMBERS or bool(_TRANSIENT_ANSWERS.search(str(error)))


@dataclass
class Retries:
    """Calls operations on a store, again and again while their errors are transient, with growing random pauses.

    A store that stayed away for all that time is asked once per operation from then on, until it answers: it costs a
    process that time once, and not once per unit.

    Attributes:
        seconds: after which no operation begins again.
    """

    seconds: float = 120.0
    _is_spent: bool = field(default=False, repr=False)

    def __call__(self, operation: Callable[[], T]) -> T:
        """What an operation returns, which must do no harm when it is repeated.

        Raises:
            OSError: its last error.
        """
        try:
            result = self._attempts()(operation)
        except OSError as error:
            self._is_spent = is_transient(error)
            raise
        self._is_spent = False
        return result

    def _attempts(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(is_transient),
            wait=wait_random_exponential(multiplier=0.5, max=_LONGEST_PAUSE),
            stop=stop_after_delay(0 if self._is_spent else self.seconds),
            reraise=True,
        )


with_retries = Retries()
"""Of this process, shared by all of its threads."""
