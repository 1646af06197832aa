"""From print to rule: the reverse of :mod:`.printing`, which also reads what people write with other spaces."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import regex

from tiltmeter.operators.relations.instances import Field, Role
from tiltmeter.operators.relations.rules.grammar import (
    Argument,
    Branch,
    Choice,
    DependencyRule,
    Edge,
    Group,
    Item,
    Node,
    Quantifier,
    Rule,
    Side,
    SurfaceRule,
    Test,
    Token,
    Value,
)
from tiltmeter.operators.relations.rules.regexes import RuleError

_TEXT = r'"(?:[^"\\]|\\.)*"'
_EXPRESSION = r"/(?:[^/\\]|\\.)+/"
_TEST = rf"\s*\w+\s*(?:=~\s*{_EXPRESSION}|=\s*{_TEXT})\s*"
_BRACKET = rf"\[(?:{_TEST}(?:&{_TEST})*)?\s*\]"
_LEXEMES = regex.compile(
    rf"\s*(?:(?P<argument>(?:SUBJ|OBJ)(?:{_BRACKET})?(?:\{{1\}})?)"
    rf"|(?P<token>{_TEXT}|{_EXPRESSION}|{_BRACKET})"
    rf"|(?P<edge>\??[<>](?:{_TEXT}|{_EXPRESSION}|[\w:]+))"
    r"|(?P<quantifier>[?*+]|\{\d{1,3}(?:,\d{0,3})?\})"
    r"|(?P<mark>[()|]))\s*",
    regex.DOTALL,
)
_TESTS = regex.compile(rf"(?P<field>\w+)\s*=(?P<sign>~?)\s*(?P<value>{_EXPRESSION}|{_TEXT})", regex.DOTALL)
_SIGNS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_ROLES: dict[str, Role] = {"SUBJ": "subject", "OBJ": "object"}
_DEPTH = 20

Kind = Literal["argument", "token", "edge", "quantifier", "mark"]


class Lexeme(NamedTuple):
    """A part of a print, and which part of the language it is."""

    kind: Kind
    text: str


def parsed(text: str) -> Rule:
    """The rule of a print.

    Raises:
        RuleError: quoting the text and where it stops being a rule.

    >>> parsed('SUBJ "," "wife" "of" OBJ').arguments[1]
    Argument(role='object', tests=(), is_single=False)
    """
    return from_symbols([lexeme.text for lexeme in lexemes(text)])


def from_symbols(symbols: Sequence[str]) -> Rule:
    """The rule of its symbols, as :func:`.printing.rule_symbols` gives them.

    Raises:
        RuleError: quoting them and saying where they stop being a rule.
    """
    try:
        return _Parser([lexeme(symbol) for symbol in symbols]).rule()
    except RuleError as error:
        raise RuleError(f"{' '.join(symbols)!r} is no rule: {error}") from error


def lexemes(text: str) -> list[Lexeme]:
    """The parts of a print in their order.

    Raises:
        RuleError: naming the first character that starts none.
    """
    parts, position = [], 0
    while position < len(text):
        if not (match := _LEXEMES.match(text, position)):
            raise RuleError(f"{text!r} is no rule: nothing of the language starts with {text[position:][:20]!r}")
        parts.append(_lexeme(match))
        position = match.end()
    return parts


@lru_cache(maxsize=2**16)
def lexeme(symbol: str) -> Lexeme:
    """What one symbol is.

    Raises:
        RuleError: if it is none.
    """
    if not (match := _LEXEMES.fullmatch(symbol)):
        raise RuleError(f"{symbol!r} is no symbol of the language")
    return _lexeme(match)


def _lexeme(match: "regex.Match[str]") -> Lexeme:
    [(kind, text)] = [(kind, text) for kind, text in match.groupdict().items() if text is not None]
    return Lexeme(kind, text)


@lru_cache(maxsize=2**16)
def parsed_token(symbol: str) -> Token:
    """The token of a symbol of the kind ``token``."""
    return Token(_tests(symbol)) if symbol.startswith("[") else Token((Test("word", _value(symbol)),))


@lru_cache(maxsize=2**12)
def parsed_argument(symbol: str) -> Argument:
    """The argument of a symbol of the kind ``argument``."""
    name = "SUBJ" if symbol.startswith("SUBJ") else "OBJ"
    rest = symbol.removeprefix(name)
    return Argument(_ROLES[name], _tests(rest), is_single=rest.endswith("{1}"))


def parsed_quantifier(symbol: str) -> Quantifier:
    """The quantifier of a symbol of that kind."""
    if symbol in _SIGNS:
        return Quantifier(*_SIGNS[symbol])
    low, comma, high = symbol.strip("{}").partition(",")
    return Quantifier(int(low), int(high) if high else None if comma else int(low))


def parsed_edge(symbol: str, target: Node | None = None) -> Edge:
    """The dependency of a symbol of the kind ``edge``; without a target, to any token."""
    name = symbol.lstrip("?")
    relation = Value(name[1:]) if name[1] not in '/"' else _value(name[1:])
    return Edge(relation, target or Node(Token()), is_to_head=name[0] == "<", is_optional=symbol[0] == "?")


def _tests(text: str) -> tuple[Test, ...]:
    return tuple(Test(_field(match["field"]), _value(match["value"])) for match in _TESTS.finditer(text))


def _field(name: str) -> Field:
    return name  # type: ignore[return-value]  # Test refuses what is no field.


def _value(text: str) -> Value:
    if text.startswith("/"):
        return Value(text[1:-1], is_regex=True)
    try:
        return Value(json.loads(text, strict=False))
    except json.JSONDecodeError as error:
        raise RuleError(f"{text} is no text in quotes: {error.msg}") from error


class _Parser:
    """Reads lexemes from left to right, each once."""

    def __init__(self, parts: Sequence[Lexeme]) -> None:
        self._parts, self._position, self._depth = parts, 0, 0

    def rule(self) -> Rule:
        is_dependency = any(part.kind == "edge" for part in self._parts)
        rule: Rule = DependencyRule(self._node()) if is_dependency else self._surface()
        if self._position < len(self._parts):
            raise self._unexpected("the end of the rule")
        return rule

    def _surface(self) -> SurfaceRule:
        sides, arguments = [self._side()], []
        while self._kind == "argument":
            arguments.append(parsed_argument(self._next()))
            sides.append(self._side())
        return SurfaceRule(tuple(sides), tuple(arguments))

    def _side(self) -> Side:
        items = []
        while self._kind == "token" or self._text == "(":
            atom = self._group() if self._text == "(" else parsed_token(self._next())
            items.append(Item(atom, parsed_quantifier(self._next()) if self._kind == "quantifier" else None))
        return tuple(items)

    def _group(self) -> Group:
        self._open()
        options = [self._side()]
        while self._text == "|":
            self._next()
            options.append(self._side())
        self._close()
        return Group(tuple(options))

    def _node(self) -> Node:
        if self._kind not in ("token", "argument"):
            raise self._unexpected("a token or an argument")
        is_argument = self._kind == "argument"
        token = parsed_argument(self._next()) if is_argument else parsed_token(self._next())
        return Node(token, self._branches())

    def _branches(self) -> tuple[Branch, ...]:
        branches: list[Branch] = []
        while self._kind == "edge" or self._text == "(":
            branches.append(self._edge() if self._kind == "edge" else self._choice())
        return tuple(branches)

    def _edge(self) -> Edge:
        symbol = self._next()
        return parsed_edge(symbol, self._target())

    def _target(self) -> Node:
        if self._text == "(":
            self._open()
            node = self._node()
            self._close()
            return node
        if self._kind not in ("token", "argument"):
            raise self._unexpected("a token, an argument or '('")
        is_argument = self._kind == "argument"
        return Node(parsed_argument(self._next()) if is_argument else parsed_token(self._next()))

    def _choice(self) -> Choice:
        self._open()
        options = [self._branches()]
        while self._text == "|":
            self._next()
            options.append(self._branches())
        self._close()
        return Choice(tuple(options))

    def _open(self) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            raise RuleError(f"more than {_DEPTH} brackets stand inside of each other")
        self._next()

    def _close(self) -> None:
        if self._text != ")":
            raise self._unexpected("')'")
        self._depth -= 1
        self._next()

    @property
    def _kind(self) -> str:
        return self._parts[self._position].kind if self._position < len(self._parts) else "end"

    @property
    def _text(self) -> str:
        return self._parts[self._position].text if self._position < len(self._parts) else ""

    def _next(self) -> str:
        text = self._parts[self._position].text
        self._position += 1
        return text

    def _unexpected(self, expected: str) -> RuleError:
        text = repr(self._text) if self._position < len(self._parts) else "nothing"
        return RuleError(f"part {self._position + 1} is {text}, and must be {expected}")
