"""The symbols that a decoder knows, and which of them a sentence passes."""

from collections.abc import Iterable

from tiltmeter.operators.relations.rules.grammar import Argument, Edge, Quantifier, Token
from tiltmeter.operators.relations.rules.parsing import (
    lexeme,
    parsed_argument,
    parsed_edge,
    parsed_quantifier,
    parsed_token,
)
from tiltmeter.operators.relations.rules.reading import Reading

END = "<end>"
"""What a decoder writes behind a rule."""


class RuleVocabulary:
    """The symbols that a decoder knows, by their kind.

    Raises:
        RuleError: if one is no symbol of the language.
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        self.tokens: dict[str, Token] = {}
        self.arguments: dict[str, Argument] = {}
        self.quantifiers: dict[str, Quantifier] = {}
        self.marks: set[str] = set()
        self.edges: dict[str, Edge] = {}
        for symbol in symbols:
            self._add(symbol)
        self._by_word: dict[str, list[str]] = {}
        self._others: dict[str, Token] = {}
        for symbol, token in self.tokens.items():
            if len(token.tests) == 1 and token.tests[0].field == "word" and not token.tests[0].value.is_regex:
                self._by_word.setdefault(token.tests[0].value.text, []).append(symbol)
            else:
                self._others[symbol] = token

    def _add(self, symbol: str) -> None:
        match lexeme(symbol).kind:
            case "token":
                self.tokens[symbol] = parsed_token(symbol)
            case "argument":
                self.arguments[symbol] = parsed_argument(symbol)
            case "quantifier":
                self.quantifiers[symbol] = parsed_quantifier(symbol)
            case "mark":
                self.marks.add(symbol)
            case "edge":
                self.edges[symbol] = parsed_edge(symbol)

    def passing(self, reading: Reading) -> list[frozenset[str]]:
        """The symbols that each token of a sentence passes."""
        words = reading.instance.sentence.tokens
        passing = [set(self._by_word.get(word, ())) for word in words]
        for symbol, token in self._others.items():
            bits = reading.token_bits(token)
            while bits:
                lowest = bits & -bits
                passing[lowest.bit_length() - 1].add(symbol)
                bits ^= lowest
        return [frozenset(symbols) for symbols in passing]
