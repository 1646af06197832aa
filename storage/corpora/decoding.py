"""From bytes to text; what is not valid becomes U+FFFD and is counted."""

import codecs

from tiltmeter.storage.corpora.pages import Repairs

REPLACEMENT = "\ufffd"

_REPLACEMENT_UTF8 = REPLACEMENT.encode()


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
