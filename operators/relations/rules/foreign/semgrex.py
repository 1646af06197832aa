"""The part of CoreNLP's Semgrex (Chambers et al. 2007) in which rules over trees are released: ``entity`` names the
subject and ``slot`` the object."""

import regex

from tiltmeter.operators.relations.instances import Role
from tiltmeter.operators.relations.rules.foreign.lexing import Parts, test_of, value_of
from tiltmeter.operators.relations.rules.grammar import (
    Argument,
    Branch,
    Choice,
    DependencyRule,
    Edge,
    Node,
    Test,
    Token,
)
from tiltmeter.operators.relations.rules.regexes import RuleError

_TEXT, _EXPRESSION = r'"(?:[^"\\]|\\.)*"', r"/(?:[^/\\]|\\.)*/"
_PARTS = regex.compile(
    rf"\s*(?:\?|[<>](?:{_EXPRESSION}|{_TEXT}|[\w:.]+)|{_EXPRESSION}|{_TEXT}|[()\[\]{{}}|;:=]|[\w.-]+)\s*"
)
_ROLES: dict[str, Role] = {"entity": "subject", "slot": "object"}


def rule_of_semgrex(pattern: str) -> DependencyRule:
    """The rule of a pattern.

    Raises:
        RuleError: quoting it and saying what is not understood.

    >>> from tiltmeter.operators.relations.rules.printing import printed
    >>> printed(rule_of_semgrex("{lemma:/wed/} >nsubj {}=entity >/dobj|obj/ {ner:PERSON}=slot"))
    '[lemma=~/wed/] >nsubj SUBJ >/dobj|obj/ OBJ[ner="PERSON"]'
    """
    try:
        parts = Parts(pattern, _PARTS)
        node = _pattern(parts)
        if parts.next:
            raise RuleError(f"{parts.next!r} stands behind the end")
        return DependencyRule(node)
    except RuleError as error:
        raise RuleError(f"{pattern[:200]!r} is not understood as Semgrex: {error}") from error


def _pattern(parts: Parts) -> Node:
    """A node, or a pattern in brackets, with all that starts from it."""
    node = _target(parts)
    return Node(node.token, node.branches + _branches(parts))


def _branches(parts: Parts) -> tuple[Branch, ...]:
    branches: list[Branch] = []
    while parts.next[:1] in ("?", "<", ">", "["):
        branches.append(_choice(parts) if parts.next == "[" else _edge(parts))
    return tuple(branches)


def _choice(parts: Parts) -> Branch:
    parts.take("[")
    options = [_branches(parts)]
    while parts.skip("|"):
        options.append(_branches(parts))
    parts.take("]")
    return Choice(tuple(options))


def _edge(parts: Parts) -> Edge:
    is_optional = parts.skip("?")
    sign = parts.take()
    if sign[0] not in "<>":
        raise RuleError(f"{sign!r} stands where a dependency must")
    if parts.skip("="):
        parts.take()
    return Edge(value_of(sign[1:]), _target(parts), is_to_head=sign[0] == "<", is_optional=is_optional)


def _target(parts: Parts) -> Node:
    if parts.skip("("):
        node = _pattern(parts)
        parts.take(")")
        return node
    tests = _tests(parts)
    role = _ROLES.get(parts.take()) if parts.skip("=") else None
    return Node(Token(tests) if role is None else Argument(role, tests))


def _tests(parts: Parts) -> tuple[Test, ...]:
    parts.take("{")
    tests: list[Test] = []
    while not parts.skip("}"):
        name = parts.take()
        parts.take(":")
        tests.append(test_of(name, parts.take()))
        if parts.next != "}":
            parts.take(";")
    return tuple(tests)
