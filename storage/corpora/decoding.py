"""From bytes to text; what is not valid becomes U+FFFD and is counted."""

import codecs

from tiltmeter.storage.corpora.pages import Repairs

REPLACEMENT = "\ufffd"

_REPLACEMENT_UTF8 = REPLACEMENT.encode()

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",  # begins with the mark of UTF-16
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def encoding_of(start: bytes) -> str | None:
    """The encoding that a mark of byte order tells, but for that of UTF-8."""
    return next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), None)


class Decoder:
    """Decodes a stream piece by piece; where the pieces end makes no difference."""

    def __init__(self, encoding: str, repairs: Repairs) -> None:
        self._replacing = codecs.getincrementaldecoder(encoding)("replace")
        self._ignoring = codecs.getincrementaldecoder(encoding)("ignore")
        self._repairs = repairs

    def decode(self, piece: bytes, *, final: bool = False) -> str:
        """The text of the next piece."""
        state = self._replacing.getstate()
        text = self._replacing.decode(piece, final)
        if REPLACEMENT in text:
            # The text may hold this character of its own: only what ignoring errors leaves out was put there.
            self._ignoring.setstate(state)
            num_genuine = self._ignoring.decode(piece, final).count(REPLACEMENT)
            self._repairs.num_replaced += text.count(REPLACEMENT) - num_genuine
        return text


def decoded(content: bytes, repairs: Repairs) -> str:
    """UTF-8 bytes as text."""
    text = content.decode("utf-8", "replace")
    if REPLACEMENT in text:
        repairs.num_replaced += text.count(REPLACEMENT) - content.count(_REPLACEMENT_UTF8)
    return text
