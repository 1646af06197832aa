"""Which tokens of an instance pass a test, as bits of a number (bit p is token p), each looked up once."""

from functools import cached_property

from tiltmeter.operators.relations.instances import FIELDS, Field, Instance, Role, Span
from tiltmeter.operators.relations.rules.grammar import Argument, Test, Token
from tiltmeter.operators.relations.rules.regexes import full_match


def span_bits(span: Span) -> int:
    """Bits of the tokens of a span.

    >>> bin(span_bits(Span(1, 3)))
    '0b110'
    """
    return (1 << span.end) - (1 << span.start)


class Reading:
    """An instance, as rules look at it."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.length = len(instance.sentence.tokens)
        self._passing: dict[Test, int] = {}
        self._by_value: dict[Field, dict[str, int]] = {}

    @cached_property
    def all_bits(self) -> int:
        return (1 << self.length) - 1

    def token_bits(self, token: Token | Argument) -> int:
        """The tokens that pass all tests; of an argument, those of its span that do."""
        bits = span_bits(self.instance.span(token.role)) if isinstance(token, Argument) else self.all_bits
        for test in token.tests:
            bits &= self.test_bits(test)
        return bits

    def holds(self, argument: Argument) -> bool:
        """Whether each token of an argument passes its tests, and it is one token if it must be."""
        bits = span_bits(self.instance.span(argument.role))
        return self.token_bits(argument) == bits and (not argument.is_single or bits.bit_count() == 1)

    def test_bits(self, test: Test) -> int:
        """The tokens that pass a test; none where the sentence lacks the annotation."""
        if (bits := self._passing.get(test)) is None:
            bits = self._passing[test] = self._tested(test)
        return bits

    def value_bits(self, field: Field) -> dict[str, int]:
        """Of each value of a field, the tokens that have it."""
        if (by_value := self._by_value.get(field)) is None:
            by_value = self._by_value[field] = {}
            for position, value in enumerate(self.instance.values[field] or ()):
                by_value[value] = by_value.get(value, 0) | 1 << position
        return by_value

    def roles(self) -> tuple[Role, Role]:
        """The arguments in the order in which they stand."""
        return ("subject", "object") if self.instance.is_subject_first else ("object", "subject")

    def values_at(self, position: int) -> list[tuple[Field, str]]:
        """The values of a token, each with its field."""
        columns = ((field, self.instance.values[field]) for field in FIELDS)
        return [(field, values[position]) for field, values in columns if values is not None]

    def _tested(self, test: Test) -> int:
        by_value = self.value_bits(test.field)
        if not test.value.is_regex:
            return by_value.get(test.value.text, 0)
        bits = 0
        for value, places in by_value.items():
            if full_match(test.value.text, value):
                bits |= places
        return bits
