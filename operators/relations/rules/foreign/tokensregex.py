"""The part of CoreNLP's Tokensregex (Chang and Manning 2014) in which rules over tokens are released.

The released rules mark the subject as ``kbpentity`` and the object as ``slotvalue``. Most have it between quotes, as if
it were a word, which it isn't; and a quote that closes late belongs to the word behind it.
"""

from typing import NamedTuple

import regex

from tiltmeter.operators.relations.instances import Role
from tiltmeter.operators.relations.rules.foreign.lexing import Parts, test_of, value_of
from tiltmeter.operators.relations.rules.grammar import Argument, Group, Item, Quantifier, SurfaceRule, Test, Token
from tiltmeter.operators.relations.rules.parsing import parsed_quantifier
from tiltmeter.operators.relations.rules.regexes import RuleError

_TEXT, _EXPRESSION = r'"(?:[^"\\]|\\.)*"', r"/(?:[^/\\]|\\.)*/"
_PARTS = regex.compile(rf"\s*(?:{_TEXT}|{_EXPRESSION}|\{{\d+(?:,\d*)?\}}|::EXISTS|[()\[\]{{}}|&;:?*+]|[\w.-]+)\s*")
_QUOTED = regex.compile(r"""\"(\(\[\s*\{[^"{}]*\}\s*\]\+?\s*\))(['"]?)\"""")
_ROLES: dict[str, Role] = {"kbpentity": "subject", "slotvalue": "object"}


class _Match(NamedTuple):
    """A token between brackets: the tests, and the argument that it marks."""

    tests: tuple[Test, ...]
    role: Role | None


_Element = Item | Argument


def rule_of_tokensregex(pattern: str) -> SurfaceRule:
    """The rule of a pattern.

    Raises:
        RuleError: quoting it and saying what is not understood.

    >>> from tiltmeter.operators.relations.rules.printing import printed
    >>> printed(rule_of_tokensregex('( "([ { kbpentity:true } ]+ )" "," [{lemma:/wife/}] ([ { slotvalue:true } ]+ ) )'))
    'SUBJ "," [lemma=~/wife/] OBJ'
    """
    try:
        parts = Parts(_unquoted(pattern), _PARTS)
        elements = _sequence(parts)
        if parts.next:
            raise RuleError(f"{parts.next!r} stands behind the end")
        return _rule(elements)
    except RuleError as error:
        raise RuleError(f"{pattern[:200]!r} is not understood as Tokensregex: {error}") from error


def _unquoted(pattern: str) -> str:
    return str(_QUOTED.sub(lambda match: f'{match[1]} "{match[2]}"' if match[2] else match[1], pattern))


def _rule(elements: list[_Element]) -> SurfaceRule:
    sides: list[list[Item]] = [[]]
    arguments = []
    for element in elements:
        if isinstance(element, Argument):
            arguments.append(element)
            sides.append([])
        else:
            sides[-1].append(element)
    return SurfaceRule(tuple(map(tuple, sides)), tuple(arguments))


def _sequence(parts: Parts) -> list[_Element]:
    elements: list[_Element] = []
    while parts.next not in ("", ")", "|"):
        elements += _group(parts) if parts.next == "(" else _single(parts)
    return elements


def _group(parts: Parts) -> list[_Element]:
    """What is in brackets: without options and quantifier, as if there were none."""
    parts.take("(")
    options = [_sequence(parts)]
    while parts.skip("|"):
        options.append(_sequence(parts))
    parts.take(")")
    quantifier = _quantifier(parts)
    if quantifier is None and len(options) == 1:
        return options[0]
    items = [tuple(element for element in option if isinstance(element, Item)) for option in options]
    if sum(map(len, items)) < sum(map(len, options)):
        raise RuleError("an argument stands in brackets that are optional or repeated")
    return [Item(Group(tuple(items)), quantifier)]


def _single(parts: Parts) -> list[_Element]:
    if parts.next != "[":
        token = Token((Test("word", value_of(parts.take())),))
        return [Item(token, _quantifier(parts))]
    matches = _bracket(parts)
    quantifier = _quantifier(parts)
    roles = {match.role for match in matches}
    if roles == {None}:
        tokens = [Item(Token(match.tests)) for match in matches]
        atom = tokens[0].atom if len(tokens) == 1 else Group(tuple((token,) for token in tokens))
        return [Item(atom, quantifier)]
    if len(matches) > 1 or quantifier not in (None, Quantifier(1, None)):
        raise RuleError("an argument is one of several options, or is repeated")
    [match] = matches
    return [Argument(_ROLES["kbpentity"] if match.role is None else match.role, match.tests, quantifier is None)]


def _bracket(parts: Parts) -> list[_Match]:
    """The options that are between square brackets; of ``[]`` one that tests nothing."""
    parts.take("[")
    if parts.skip("]"):
        return [_Match((), None)]
    matches = [_all_of(parts)]
    while parts.skip("|"):
        matches.append(_all_of(parts))
    parts.take("]")
    return matches


def _all_of(parts: Parts) -> _Match:
    match = _attributes(parts)
    while parts.skip("&"):
        other = _attributes(parts)
        match = _Match(match.tests + other.tests, match.role or other.role)
    return match


def _attributes(parts: Parts) -> _Match:
    parts.take("{")
    tests: list[Test] = []
    role = None
    while True:
        name = parts.take()
        exists = parts.skip("::EXISTS")
        written = "true" if exists else _written(parts)
        if name in _ROLES and written == "true":
            role = _ROLES[name]
        else:
            tests.append(test_of(name, written))
        if not parts.skip(";"):
            parts.take("}")
            return _Match(tuple(tests), role)


def _written(parts: Parts) -> str:
    parts.take(":")
    return parts.take()


def _quantifier(parts: Parts) -> Quantifier | None:
    is_one = parts.next in ("?", "*", "+") or (len(parts.next) > 2 and parts.next[0] == "{" and parts.next[1].isdigit())
    return parsed_quantifier(parts.take()) if is_one else None
