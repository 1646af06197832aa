"""Standard output and error without credentials, whoever writes there."""

from typing import Any, TextIO

from tiltmeter.storage.files.redaction import redacted_text


class RedactedStream:
    """A text stream that leaves the credentials of URIs out; in all else, the stream that it writes to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; says that all of it was written."""
        self._stream.write(redacted_text(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Whatever else a stream has."""
        return getattr(self._stream, name)
