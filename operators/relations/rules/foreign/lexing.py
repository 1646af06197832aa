"""Parts of a pattern, read from left to right, and what the three languages write alike."""

import regex

from tiltmeter.operators.relations.instances import Field
from tiltmeter.operators.relations.rules.grammar import Test, Value
from tiltmeter.operators.relations.rules.regexes import RuleError

_FIELDS: dict[str, Field] = {
    "word": "word",
    "lemma": "lemma",
    "pos": "pos",
    "tag": "pos",
    "ner": "ner",
    "entity": "ner",
}
_QUOTED = regex.compile(r"\\Q(.*?)\\E", regex.DOTALL)
_ESCAPED = regex.compile(r"\\(.)", regex.DOTALL)


class Parts:
    """The parts of a text by a regular expression of which each alternative is one part.

    Raises:
        RuleError: quoting the place, if something is none.
    """

    def __init__(self, text: str, parts: "regex.Pattern[str]") -> None:
        self._parts: list[str] = []
        self._position = 0
        place = 0
        while place < len(text := text.rstrip()):
            if not (match := parts.match(text, place)) or match.end() == place:
                raise RuleError(f"nothing of the language starts with {text[place:][:20].strip()!r}")
            self._parts.append(match[0].strip())
            place = match.end()

    @property
    def next(self) -> str:
        """The part that is read next; empty at the end."""
        return self._parts[self._position] if self._position < len(self._parts) else ""

    def take(self, *expected: str) -> str:
        """The next part, which is one of those that are expected, if any are.

        Raises:
            RuleError: if it is another.
        """
        part = self.next
        if not part or (expected and part not in expected):
            raise RuleError(f"{part or 'the end'!r} stands where {' or '.join(map(repr, expected)) or 'more'} must")
        self._position += 1
        return part

    def skip(self, part: str) -> bool:
        """Whether this part came next, which is then taken."""
        is_next = self.next == part
        self._position += is_next
        return is_next


def test_of(name: str, written: str) -> Test:
    """The test of an attribute.

    Raises:
        RuleError: if it is of no field that rules test.
    """
    if name not in _FIELDS:
        raise RuleError(f"rules here test {', '.join(_FIELDS)}, and not {name!r}")
    return Test(_FIELDS[name], value_of(written))


def value_of(written: str) -> Value:
    r"""A text with or without quotes, or an expression between slashes, in which ``\Q...\E`` is plain text."""
    if len(written) > 1 and written[0] == written[-1] == "/":
        return Value(str(_QUOTED.sub(lambda match: regex.escape(match[1]), written[1:-1])), is_regex=True)
    if len(written) > 1 and written[0] == written[-1] == '"':
        return Value(str(_ESCAPED.sub(r"\1", written[1:-1])))
    return Value(written)
