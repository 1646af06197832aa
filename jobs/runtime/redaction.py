"""Standard output and error without credentials, whoever writes there."""

from typing import Any, TextIO

from tiltmeter.storage.files.files import redacted


class Discreet:
    """A text stream that leaves the keys of URIs out; in all else, the stream that it writes to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; says that all of it was written."""
        self._stream.write(redacted(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Whatever else a stream has."""
        return getattr(self._stream, name)
